"""Compares the arguments of a call with the annotations, after the call has failed.

A wrong kind of argument fails somewhere deep inside, with an error of Python or of another library.
Only then are the arguments compared with the annotations of the function that the user called, so a
call that works costs nothing, and an error in this library stays what it is.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from numbers import Integral, Real
from typing import Any, NamedTuple

_TAKES_ARGS = 0x04  # inspect.CO_VARARGS
_TAKES_KEYWORDS = 0x08  # inspect.CO_VARKEYWORDS
_MOST_QUOTED = 60
_MOST_ITEMS = 1000  # of a list, whose items are compared as well


class ArgumentMismatch(NamedTuple):
    """An argument that does not have the annotated kind.

    Parameters
    ----------
    parameter : str
        The parameter, as the caller writes it.
    expected : str
        The kinds that it can have, such as "str or None".
    value : object
        What the caller passed.
    item : object
        The first item of another kind, if the argument is a list of such items; else `value`.
    """

    parameter: str
    expected: str
    value: object
    item: object


class _Kind(NamedTuple):
    """A kind of value: its name, whether a value is one, and the kind of its items."""

    name: str
    accepts: Callable[[Any], bool]
    items: _Kinds | None = None


# None: the annotation says nothing that can be checked.
_Kinds = list[_Kind]

_BY_NAME: dict[str, _Kind] = {
    "str": _Kind("str", lambda value: isinstance(value, str)),
    "int": _Kind("int", lambda value: isinstance(value, Integral) and _fits_float(value)),
    "float": _Kind("number", lambda value: isinstance(value, Real) and _fits_float(value)),
    "bool": _Kind("bool", lambda value: isinstance(value, Integral) or _is_numpy_bool(value)),
    "bytes": _Kind("bytes", lambda value: isinstance(value, bytes)),
    "Path": _Kind("path", lambda value: isinstance(value, os.PathLike)),
    "None": _Kind("None", lambda value: value is None),
}
_CONTAINERS: dict[str, _Kind] = {
    **dict.fromkeys(
        ("Iterable", "Iterator", "Sequence", "Collection", "list", "tuple", "set", "frozenset"),
        _Kind("iterable", lambda value: isinstance(value, Iterable)),
    ),
    **dict.fromkeys(
        ("Mapping", "dict"), _Kind("mapping", lambda value: isinstance(value, Mapping))
    ),
    "Callable": _Kind("callable", callable),
}


def find_mismatch(
    function: Callable[..., Any], args: Sequence[object], keywords: Mapping[str, object]
) -> ArgumentMismatch | None:
    """The first argument of a call that does not have the kind of its annotation.

    Parameters
    ----------
    function : callable
        A function whose annotations are texts, as ``from __future__ import annotations`` makes
        them.
    args, keywords : sequence, mapping
        The arguments of the call.

    Returns
    -------
    ArgumentMismatch or None
        None if all arguments fit, or their annotations say nothing that can be checked.

    Examples
    --------
    >>> def mean(values: Iterable[float], *, level: float = 0.95) -> float: ...
    >>> find_mismatch(mean, [[1, "x"]], {})
    ArgumentMismatch(parameter='values', expected='iterable of number', value=[1, 'x'], item='x')
    >>> find_mismatch(mean, [[1]], {"level": None})
    ArgumentMismatch(parameter='level', expected='number', value=None, item=None)
    """
    names = function.__globals__
    iterators = []
    for parameter, annotation, value in _annotated(function, args, keywords):
        kinds = _kinds_of(_parse(annotation), names)
        if kinds is None:
            continue
        item = _misfit(kinds, value)
        if item is not _FITS:
            return ArgumentMismatch(parameter, _describe(kinds), value, item)
        if isinstance(value, Iterator):
            iterators.append(ArgumentMismatch(parameter, _describe(kinds), value, value))
    # If all else fits, the items of an iterator are the likely cause; they are consumed by now.
    return iterators[0] if iterators else None


def _annotated(
    function: Callable[..., Any], args: Sequence[object], keywords: Mapping[str, object]
) -> Iterable[tuple[str, Any, object]]:
    """The parameters of a call with their annotations and values."""
    code = function.__code__
    annotations = {k: v for k, v in function.__annotations__.items() if k != "return"}
    positional = code.co_varnames[: code.co_argcount]
    rest = code.co_argcount + code.co_kwonlyargcount
    values = [*zip(positional, args, strict=False)]
    if code.co_flags & _TAKES_ARGS:
        values += [(code.co_varnames[rest], value) for value in args[len(positional) :]]
        rest += 1
    values += list(keywords.items())
    if code.co_flags & _TAKES_KEYWORDS:
        options = _options(annotations.pop(code.co_varnames[rest], ""), function.__globals__)
        annotations = {**options, **annotations}
    return [(name, annotations[name], value) for name, value in values if name in annotations]


def _options(annotation: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """The annotations of the keywords in ``**options: Unpack[Options]``."""
    node = _parse(annotation)
    if isinstance(node, ast.Subscript) and _last_name(node.value) == "Unpack":
        name = _last_name(node.slice) or ""
        options = names.get(name) or _own_kind(name)
        return dict(getattr(options, "__annotations__", {}))
    return {}


# -- annotations


def _parse(annotation: Any) -> Any:
    """An annotation as a syntax tree, if it is a text; else itself."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    try:
        return ast.parse(annotation, mode="eval").body
    except SyntaxError:
        return object


def _kinds_of(annotation: Any, names: Mapping[str, Any]) -> _Kinds | None:
    """The kinds of an annotation; None if it has one that cannot be checked."""
    if isinstance(annotation, ast.BinOp):
        return _union([_kinds_of(annotation.left, names), _kinds_of(annotation.right, names)])
    if isinstance(annotation, ast.Subscript):
        return _generic(_last_name(annotation.value), annotation.slice, names)
    if isinstance(annotation, ast.Constant):
        return [_BY_NAME["None"]] if annotation.value is None else None
    if isinstance(annotation, ast.AST):
        name = _last_name(annotation)
        if name in _BY_NAME or name in _CONTAINERS:
            return [_BY_NAME.get(name) or _CONTAINERS[name]]
        if isinstance(annotation, ast.Attribute) and isinstance(annotation.value, ast.Name):
            module = names.get(annotation.value.id)
            return _kinds_of_object(getattr(module, annotation.attr, None), names)
        return _kinds_of_object(names.get(name or "") or _own_kind(name), names)
    return _kinds_of_object(annotation, names)


def _own_kind(name: str | None) -> Any:
    """A class of this package, or an alias, that a module names for type checkers only."""
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] == __name__.partition(".")[0]:
            member = vars(module).get(name or "")
            if isinstance(member, type) or typing.get_origin(member) is not None:
                return member
    return None


def _kinds_of_object(annotation: Any, names: Mapping[str, Any]) -> _Kinds | None:
    """The kinds of an annotation that is a class, or an alias of a union."""
    if annotation is type(None):
        return [_BY_NAME["None"]]
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return _union([_kinds_of(_parse(a), names) for a in typing.get_args(annotation)])
    if origin is typing.Literal:
        return [_choice(typing.get_args(annotation))]
    if origin is not None:
        return _container(origin.__name__, typing.get_args(annotation), names)
    if not isinstance(annotation, type) or annotation in (object, Any):
        return None
    if annotation.__name__ in _BY_NAME:
        return [_BY_NAME[annotation.__name__]]
    if annotation.__name__ in _CONTAINERS:
        return [_CONTAINERS[annotation.__name__]]
    if getattr(annotation, "_is_protocol", False):
        return _kinds_of_protocol(annotation)
    return [_Kind(annotation.__name__, lambda value: isinstance(value, annotation))]


def _kinds_of_protocol(protocol: type) -> _Kinds | None:
    """A protocol, recognised by the names of its members."""
    members = [name for name in vars(protocol) if not name.startswith("_")]
    if not members:
        return None
    # Looked up on the class, because a property may compute something.
    return [
        _Kind(
            protocol.__name__, lambda value: all(hasattr(type(value), member) for member in members)
        )
    ]


def _generic(name: str | None, inner: ast.expr, names: Mapping[str, Any]) -> _Kinds | None:
    if name == "Literal":
        values = [n.value for n in ast.walk(inner) if isinstance(n, ast.Constant)]
        return [_choice(values)]
    return _container(name or "", inner.elts if isinstance(inner, ast.Tuple) else [inner], names)


def _container(name: str, items: Sequence[Any], names: Mapping[str, Any]) -> _Kinds | None:
    """The kind of a container, with that of its items if they are all of one kind."""
    container = _CONTAINERS.get(name)
    if container is None:
        return None
    if container.name == "mapping" and len(items) == 2:
        return [container._replace(items=_kinds_of(_parse(items[1]), names))]
    if container.name != "iterable" or len(items) != 1:
        return [container]
    return [container._replace(items=_kinds_of(_parse(items[0]), names))]


def _choice(values: Iterable[Any]) -> _Kind:
    listed = tuple(values)
    kinds = {type(value) for value in listed}
    return _Kind(" or ".join(map(repr, listed)), lambda value: type(value) in kinds)


def _union(parts: list[_Kinds | None]) -> _Kinds | None:
    if any(part is None for part in parts):
        return None
    return [kind for part in parts for kind in part or ()]


def _last_name(node: Any) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


# -- values

_FITS = object()


def _misfit(kinds: _Kinds, value: object) -> object:
    """The value, or the first of its items, that is of none of the kinds; `_FITS` if all fit."""
    fitting = [kind for kind in kinds if kind.accepts(value)]
    if not fitting:
        return value
    if any(kind.items is None for kind in fitting):
        return _FITS
    # The items of an iterator are consumed by now, so that they cannot be compared.
    if isinstance(value, Iterator):
        return _FITS
    items = [inner for kind in fitting for inner in kind.items or ()]
    if isinstance(value, str) and all(kind.name != "str" for kind in items):
        return value
    try:
        is_mapping = isinstance(value, Mapping) and any(k.name == "mapping" for k in fitting)
        parts: Any = value.values() if is_mapping else value  # type: ignore[attr-defined]
        first = list(islice(iter(parts), _MOST_ITEMS))
    except TypeError:  # such as an array without dimensions
        return value
    return next((item for item in first if _misfit(items, item) is not _FITS), _FITS)


def _fits_float(value: Real) -> bool:
    """Whether a number is not an integer that no float can hold, and that cannot be written."""
    return not isinstance(value, int) or value.bit_length() <= sys.float_info.max_exp


def _is_numpy_bool(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.bool_)


def _describe(kinds: _Kinds) -> str:
    names = [
        f"{kind.name} of {_describe(kind.items)}" if kind.items else kind.name for kind in kinds
    ]
    distinct = list(dict.fromkeys(names))
    return " or ".join([", ".join(distinct[:-1]), distinct[-1]] if distinct[1:] else distinct)


# -- descriptions


def quote_briefly(text: str) -> str:
    """A text in quotes, cut if it is long."""
    return repr(text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}...")


def describe_kind(value: object) -> str:
    """What a value is, for an error message.

    Examples
    --------
    >>> describe_kind(None), describe_kind(5), describe_kind(["a", "b"]), describe_kind(dict)
    ('None', 'the number 5', 'a list of 2 items', 'the class dict')
    >>> describe_kind("run.csv"), describe_kind(object())
    ("the text 'run.csv'", 'an object')
    """
    kind = type(value).__name__
    if isinstance(value, bytes):
        return f"{len(value)} byte{'s' * (len(value) != 1)}"
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float | complex):
        return _describe_number(value)
    if isinstance(value, str):
        return f"the text {quote_briefly(value)}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__}"
    if inspect.iscoroutine(value) or inspect.isasyncgen(value) or inspect.isawaitable(value):
        value_kind = "an async generator" if inspect.isasyncgen(value) else "a coroutine"
        return f"{value_kind}, which has to be awaited first"
    if inspect.isroutine(value):
        return f"the function {getattr(value, '__name__', kind)}"
    if isinstance(value, list | tuple | set | frozenset | Mapping) and isinstance(value, Sized):
        thing = "key" if isinstance(value, Mapping) else "item"
        return f"{_with_article(kind)} of {len(value)} {thing}{'s' * (len(value) != 1)}"
    return _with_article(kind)


def _describe_number(value: complex) -> str:
    # Python refuses to write an integer of more than 4,300 digits.
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    return f"the number {value}"


def _with_article(kind: str) -> str:
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"

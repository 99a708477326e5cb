"""A Python function as a target."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from rageval_report._registry import load
from rageval_report.errors import DataError, MissingDependencyError, check_choice
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import ResponsePaths, TargetReply, record_fields
from rageval_report.runner.target_errors import TargetError
from rageval_report.runner.targets.base import Target, digest_of

Argument = Literal["question", "query"]


@dataclass(frozen=True)
class FunctionSettings:
    """How a function is called.

    Parameters
    ----------
    function : str
        Such as "module:function".
    argument : {"question", "query"}
        Whether it takes the question, or a dict of ``query_id``, ``question`` and `fields`.
    fields : tuple of str
        Names of metadata in that dict.
    response : ResponsePaths
        The paths of the fields in its return value.
    """

    function: str
    argument: Argument = "question"
    fields: tuple[str, ...] = ()
    response: ResponsePaths = field(default_factory=ResponsePaths)


class FunctionTarget(Target):
    """A function of a question that returns the answer, or a mapping that contains it.

    Parameters
    ----------
    settings : FunctionSettings
        How it is called.
    function : callable, optional
        The function itself; imported from `settings` if omitted.

    Raises
    ------
    DataError
        If there is no such function, or it is asynchronous.

    Examples
    --------
    >>> target = FunctionTarget.of(lambda question: f"{question} I don't know.")
    >>> target.ask(Query(0, "a", "Why?", {})).fields
    {'answer': "Why? I don't know."}
    """

    settings_type = FunctionSettings

    def __init__(self, settings: FunctionSettings, function: Callable[[Any], Any] | None = None):
        check_choice("argument", settings.argument, get_args(Argument))
        if settings.fields and settings.argument != "query":
            raise DataError(
                "fields needs argument: query; with argument: question no fields are passed"
            )
        self._settings = settings
        self._function = function or import_function(settings.function)
        # It would return a coroutine, never an answer.
        if inspect.iscoroutinefunction(self._function):
            raise DataError(
                f"{settings.function} is asynchronous; pass a normal function that calls it, e.g. "
                "with asyncio.run"
            )

    @classmethod
    def of(cls, function: Callable[[Any], Any]) -> FunctionTarget:
        """The target that calls this function with a question."""
        name = getattr(function, "__qualname__", type(function).__name__)
        module = getattr(function, "__module__", None) or "__main__"
        return cls(FunctionSettings(f"{module}:{name}"), function)

    def ask(self, query: Query) -> TargetReply:
        """Call the function."""
        settings = self._settings
        by_fields = settings.argument == "query"
        argument = query.request_fields(settings.fields) if by_fields else query.question
        started = time.perf_counter()
        try:
            returned = self._function(argument)
        # A function may raise it itself, to say the kind of its failure, such as "busy".
        except TargetError:
            raise
        except Exception as exc:  # any error of a user's function means no answer to this query
            raise TargetError(f"{type(exc).__name__}: {exc}", "exception") from exc
        latency_ms = 1000 * (time.perf_counter() - started)
        fields = record_fields(returned, settings.response)
        return TargetReply(fields, latency_ms, document=returned)

    def identity(self) -> dict[str, Any]:
        """The name of the function, and a digest of how it is called."""
        settings = self._settings
        digest = digest_of(settings.argument, asdict(settings.response), settings.fields)
        return {"target": "callable", "function": settings.function, "settings": digest}


def import_function(place: str) -> Callable[..., Any]:
    """The function that "module:function" names.

    Raises
    ------
    DataError
        If there is no such module or function.

    Examples
    --------
    >>> import_function("math:sqrt")(4)
    2.0
    """
    module, _, name = place.partition(":")
    if not module or not name:
        raise DataError(f"function must be 'module:function'; got {place!r}")
    try:
        function: object = load(place)
    except MissingDependencyError as exc:
        # The function's own module was found, but one that it imports was not: that is not a wrong
        # path.
        if exc.package != module.partition(".")[0]:
            raise
        raise DataError(
            f"{place}: no module is named {module!r}; run in its folder, or set PYTHONPATH"
        ) from exc
    except AttributeError as exc:
        raise DataError(f"{place}: the module has no function {name!r}") from exc
    if not callable(function):
        raise DataError(f"{place} is not a function: it is {type(function).__name__}")
    return function

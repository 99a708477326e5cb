"""A command is a class of its options, and the name of the function that runs it.

`option` and `argument` declare a field and what click reads into it, in one place; `Command` makes
the click command, and the docstring of the class is its help page. The modules that declare options
import click only, so help is fast: the library is imported by the body, when the command runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, dataclass_transform

import click

from rageval_report._registry import load

if TYPE_CHECKING:
    _TextType = click.ParamType[str]  # generic for type checkers only: click 8.1 is not
else:
    _TextType = click.ParamType

_AnyOptions = TypeVar("_AnyOptions", bound="Options")
Body: TypeAlias = Callable[[object], int | None]
ParameterMaker: TypeAlias = Callable[[str, str], click.Parameter]

_TYPES: dict[str, click.ParamType[Any]] = {
    "int": click.INT,
    "float": click.FLOAT,
    "Path": click.Path(path_type=Path),
}

LONGEST_SENTENCE = 200  # of a command in a list: whole sentences, which are wrapped
_WIDE = 76  # columns of help in a terminal of 78, in which names of options have half a line

WORDS = "rageval_report.words"  # of click's context: the words after the command

_Parser: TypeAlias = Callable[[str], object]
_Callback: TypeAlias = Callable[[click.Context, click.Parameter, Any], object]


def examples_text(*lines: str) -> str:
    r"""The end of a help page: commands to copy, each on a line of its own.

    Examples
    --------
    >>> examples_text("rageval-report demo")
    '\x08\nExamples:\n  rageval-report demo'
    """
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def option(
    *flags: str,
    help: str | Callable[[], str] | None = None,  # noqa: A002  (click's name)
    metavar: str | None = None,
    type: click.ParamType[Any] | None = None,  # noqa: A002
    default: object = None,
    show_default: bool | str | None = None,
    required: bool = False,
    multiple: bool = False,
    hidden: bool = False,
    parse: _Parser | None = None,
    parse_all: Callable[[tuple[str, ...]], object] | None = None,
) -> Any:
    """A field that an option of the command line sets.

    Parameters
    ----------
    *flags : str
        As "--output" and "-o".
    help : str or callable, optional
        The help text, or a function that makes it when help is shown, if it lists what plug-ins may
        add to.
    metavar, default, required, multiple
        As for `click.option`.
    type : click.ParamType, optional
        What checks a value; if omitted, the annotation of the field says it: an option annotated
        ``bool`` is a flag, and one annotated ``int``, ``float`` or ``Path`` makes such values.
    show_default : bool or str, optional
        Whether, or as what, help shows the default; if omitted, it is shown where there is one.
    hidden : bool, default False
        Whether help leaves the option out, as an earlier spelling of another one.
    parse : callable, optional
        It turns the text of the option into its value, each text of a multiple option.
    parse_all : callable, optional
        It turns all texts of a multiple option into one value.
    """
    shows = default not in (None, ()) if show_default is None else show_default

    # click takes a default that is None for a value, so that nothing would be missing.
    defaults = {} if default is None else {"default": default}

    def parameter(name: str, annotation: str) -> click.Parameter:
        is_parsed = parse is not None or parse_all is not None
        return _Option(
            [*flags, name],
            late_help=help if callable(help) else None,
            help=None if callable(help) else help,
            metavar=metavar,
            type=type or (None if is_parsed else _TYPES.get(_plain(annotation))),
            show_default=shows,
            required=required,
            multiple=multiple,
            hidden=hidden,
            is_flag=annotation.removesuffix(" | None") == "bool" or None,
            callback=_callback(parse, parse_all),
            # Of a flag that may be undecided, click would make a default of False.
            **({"default": None} if annotation == "bool | None" else defaults),
        )

    return parameter


class _Option(click.Option):
    """An option whose help may be made when it is shown."""

    heading = ""

    def __init__(self, *args: Any, late_help: Callable[[], str] | None, **settings: Any):
        super().__init__(*args, **settings)
        self._late_help = late_help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        # Made now and not at import, because it reads a table that loads plug-ins.
        if self._late_help is not None:
            self.help = self._late_help()
        return super().get_help_record(ctx)


class TableChoice(_TextType):
    """A name of a table, which is read when a value is checked or help is shown, not before.

    Parameters
    ----------
    what : str
        What the names are, such as "format".
    names : callable
        It returns the names.
    """

    def __init__(self, what: str, names: Callable[[], Sequence[str]]):
        self.name = what
        self._names = names

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The names, as `click.Choice` shows them."""
        del param, ctx
        return f"[{'|'.join(self._names())}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if it is one of the table."""
        names = self._names()
        if value not in names:
            listed = ", ".join(map(repr, names))
            self.fail(f"{value!r} is not one of {listed}.", param, ctx)
        return value


def argument(
    *,
    metavar: str,
    nargs: int = 1,
    required: bool = True,
    type: click.ParamType[Any] | None = None,  # noqa: A002
) -> Any:
    """A field that a word of the command line sets, or several words where `nargs` is -1."""

    def parameter(name: str, annotation: str) -> click.Parameter:
        kind = type or _TYPES.get(_plain(annotation))
        return click.Argument([name], metavar=metavar, nargs=nargs, required=required, type=kind)

    return parameter


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
class Options:
    """The values of a command's options: for type checkers a frozen dataclass.

    At run time it is lighter than one: help, which makes sixty such classes, takes 20 ms less. A
    class may have a ``heading``, without an annotation: that of its own options in help.
    """

    def __init__(self, **values: object):
        if unset := set(_annotations(type(self))) - set(values):
            raise TypeError(f"{type(self).__name__} needs {', '.join(sorted(unset))}")
        self.__dict__.update(values)

    def converted_to(self, kind: type[_AnyOptions], **changes: object) -> _AnyOptions:
        """The values of options of the same names, as the options of another command.

        Parameters
        ----------
        kind : type
            The class of the other options.
        **changes
            Values that differ, or that these options do not have.
        """
        own = {name: value for name, value in vars(self).items() if name in _annotations(kind)}
        return kind(**{**own, **changes})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"options cannot be changed; tried to set {name} to {value!r}")


def parameters_of(options: type[Options]) -> list[click.Parameter]:
    """The parameters of click for a class of options: its own first, then the inherited ones."""
    parameters = []
    for name, annotation in _annotations(options).items():
        make_parameter: ParameterMaker = getattr(options, name)
        parameter = make_parameter(name, annotation)
        if isinstance(parameter, _Option):
            parameter.heading = _heading_of(options, name)
        parameters.append(parameter)
    return parameters


def _heading_of(options: type[Options], name: str) -> str:
    """The heading of an option in help: that of the class which declares it."""
    levels = (level for level in options.__mro__ if name in inspect.get_annotations(level))
    return str(vars(next(levels)).get("heading", ""))


def _annotations(options: type[Options]) -> dict[str, str]:
    annotations: dict[str, str] = {}
    for level in options.__mro__:
        for name, annotation in inspect.get_annotations(level).items():
            annotations.setdefault(name, annotation)
    return annotations


def _plain(annotation: str) -> str:
    """The annotation of one value: ``int`` for ``int | None`` and ``tuple[int, ...]``."""
    plain = annotation.removesuffix(" | None")
    return plain.removeprefix("tuple[").removesuffix(", ...]")


class Command(click.Command):
    """A click command made of a class of options.

    Parameters
    ----------
    options : type
        A class of options. The help page lists its own first, then those of its base classes.
    body : str
        "module:function" of the function that takes such options; it returns the exit code, or None
        for 0.
    examples : sequence of str
        Commands to copy, for the end of the help page.
    name : str, optional
        The name of the command; the function's name if omitted.
    """

    def __init__(
        self,
        options: type[Options],
        body: str,
        *,
        examples: Sequence[str],
        name: str | None = None,
    ):
        self.options = options
        self.body = body
        self.examples = tuple(examples)
        super().__init__(
            name or body.rpartition(":")[2],
            callback=self._run,
            params=parameters_of(options),
            help=inspect.getdoc(options),
            epilog=examples_text(*examples),
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options under their headings; those without one come first, with --help."""
        records: dict[str, list[tuple[str, str]]] = {}
        for parameter in sorted(
            self.get_params(ctx), key=lambda parameter: parameter.name == "help"
        ):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                records.setdefault(getattr(parameter, "heading", ""), []).append(record)
        for heading, rows in sorted(records.items(), key=lambda item: item[0] != ""):
            with formatter.section(heading or "Options"):
                # In a narrow terminal the sentences need the room more than the names.
                formatter.write_dl(rows, col_max=30 if formatter.width >= _WIDE else 20)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words, and keep them for `words_of`."""
        ctx.meta[WORDS] = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as exc:
            exc.ctx = exc.ctx or ctx  # of an option without its value, click does not say it
            raise

    def _run(self, **values: object) -> int | None:
        body: Body = load(self.body)  # the only place where the command line imports its bodies
        return body(self.options(**values))


def words_of(options: type[Options], *more: str) -> list[str]:
    """The options of a class that are on the command line that runs, as the user wrote them.

    Parameters
    ----------
    options : type
        A class of options, such as `rageval_report.cli.options.LoadingOptions`.
    *more : str
        Names of further options.

    Returns
    -------
    list of str
        Flags and values; empty outside of a command.
    """
    context = click.get_current_context(silent=True)
    if context is None or WORDS not in context.meta:
        return []
    names = {*_annotations(options), *more}
    parser = context.command.make_parser(context)
    values, _, _ = parser.parse_args(args=list(context.meta[WORDS]))
    return [
        word
        for parameter in context.command.params
        if isinstance(parameter, click.Option) and parameter.name in names
        for word in _option_words(parameter, values.get(parameter.name))
    ]


def _option_words(parameter: click.Option, value: Any) -> list[str]:
    """The words that set an option to a value, or to several; none if it is not set."""
    if value is None or value is False or not isinstance(value, str | list | tuple | bool):
        return []  # click has a mark of its own for options that are not set
    flag = max(parameter.opts, key=len)
    if parameter.is_flag:
        return [flag]
    texts = value if isinstance(value, list | tuple) else [value]
    return [word for text in texts for word in (flag, str(text))]


class Family(click.Group):
    """Commands under one name, as ``golden check`` and ``golden split``.

    Parameters
    ----------
    name : str
        The name of the family.
    description : str
        The text of its help page.
    commands : sequence of Command
        Its members; the help page of the family ends with their examples.
    default : str, optional
        The member that runs if none is named.
    """

    def __init__(
        self, name: str, description: str, commands: Sequence[Command], default: str | None = None
    ):
        examples = [example for command in commands for example in command.examples]
        super().__init__(
            name,
            commands=list(commands),
            help=inspect.cleandoc(description),
            epilog=examples_text(*examples),
        )
        self.default = default

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The members, each with a whole sentence."""
        rows = [
            (name, self.commands[name].get_short_help_str(LONGEST_SENTENCE))
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; those of the default member may do without its name."""
        if not args and self.default is None and not ctx.resilient_parsing:  # Tab asks so
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        is_help = bool(args) and args[0] in ctx.help_option_names
        if self.default and not is_help and (not args or args[0].startswith("-")):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def _callback(
    parse: _Parser | None, parse_all: Callable[[tuple[str, ...]], object] | None
) -> _Callback | None:
    if parse is None and parse_all is None:
        return None

    def callback(_context: click.Context, _parameter: click.Parameter, value: Any) -> object:
        if parse_all is not None:
            return parse_all(value)
        if parse is None or value is None:
            return value
        return tuple(map(parse, value)) if isinstance(value, tuple) else parse(value)

    return callback

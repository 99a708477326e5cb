"""A command: a function of `Options`, its arguments and options by name, and its help pages.

The docstring of the function is the help text. ``--help`` shows the options that most people use
and fits a screen; ``--help-all`` shows every option and example.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias, TypedDict, Unpack

import click

from rageval_report.cli.options import Options, make_option, read_table

Body: TypeAlias = Callable[[Options], int | None]

LONGEST_SENTENCE = 200  # of a command in a list: whole sentences, which are wrapped
_WIDE = 76  # columns of help in which names of options have half a line
_WORDS = "rageval_report.words"  # of click's context: the words after the command
_SHOWS_ALL = "rageval_report.shows_all"


class CommandRow(TypedDict, total=False):
    """A command in commands.toml.

    ``arguments``: as "BASELINE [CANDIDATE...]"; their values are ``options.baseline`` and
    ``options.candidates``. ``shown``, ``more``: names of options.toml with a "!" behind those that
    are required, and names of groups: the options in ``--help``, and those in ``--help-all`` only.
    ``examples``: command lines without the name of the program; ``--help`` shows the first.
    ``second_file``: what a user who names one FILE too many should do, with "{}" for that file.
    """

    arguments: str
    shown: str
    more: str
    examples: Sequence[str]
    second_file: str


@cache
def _table() -> dict[str, Any]:
    return read_table("commands.toml")


def command(name: str, **row: Unpack[CommandRow]) -> Callable[[Body], Command]:
    """Make a command of a function of `Options`; its docstring is the help text.

    Parameters
    ----------
    name : str
        Its name in commands.toml, such as "judge run".
    **row
        Its description as in `CommandRow`, if it is not in that file.
    """
    return lambda body: Command(name.rpartition(" ")[2], body, row or _table()[name])


class Command(click.Command):
    """A click command whose options come from the table; see `command`."""

    def __init__(self, name: str, body: Body, row: CommandRow):
        self.examples = tuple(f"rageval-report {line}" for line in row["examples"])
        self._second_file = row.get("second_file", "")
        shown = row.get("shown", "").split()
        self.shown = {_destination(option) for option in shown}
        super().__init__(
            name,
            callback=lambda **values: body(Options(**values)),
            params=[
                *map(_argument, row.get("arguments", "").split()),
                *map(_option, _with_groups([*shown, *row.get("more", "").split()])),
                _help_all_option(),
            ],
            help=inspect.getdoc(body),
            epilog=examples_text(*self.examples),
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options that people use; or all of them, under their headings."""
        shows_all = ctx.meta.get(_SHOWS_ALL, False)
        records: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None or parameter.name in ("help", "help_all"):
                continue
            if shows_all or parameter.name in self.shown:
                heading = getattr(parameter, "heading", "") if shows_all else ""
                records.setdefault(heading, []).append(record)
        if not shows_all:
            n_left = sum(isinstance(parameter, click.Option) for parameter in self.params)
            n_left -= len(records.get("", ())) + 1
            text = "All options and examples." if n_left else "All examples."
            records.setdefault("", []).append(("--help-all", text))
        for heading, rows in sorted(records.items(), key=lambda item: item[0] != ""):
            with formatter.section(heading or "Options"):
                # In a narrow terminal the sentences need the room more than the names.
                formatter.write_dl(rows, col_max=30 if formatter.width >= _WIDE else 20)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The first example, or all of them."""
        lines = self.examples if ctx.meta.get(_SHOWS_ALL) else self.examples[:1]
        with formatter.section("Examples" if len(lines) > 1 else "Example"):
            for line in lines:
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words, and keep them for `words_of`."""
        ctx.meta[_WORDS] = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as exc:
            exc.ctx = exc.ctx or ctx  # of an option without its value, click does not say it
            extra = re.match(r"Got unexpected extra arguments? \((.*)\)", exc.message)
            if not (extra and self._second_file):
                raise
            hint = f"{exc.message}. {self._second_file.format(extra[1])}"
            raise click.UsageError(hint, exc.ctx) from exc


def examples_text(*lines: str) -> str:
    r"""The end of a help page: commands to copy, each on a line of its own.

    Examples
    --------
    >>> examples_text("rageval-report demo")
    '\x08\nExamples:\n  rageval-report demo'
    """
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def words_of(*names: str) -> list[str]:
    """Some of the options on the command line that runs, as the user wrote them."""
    context = click.get_current_context(silent=True)
    if context is None or _WORDS not in context.meta:
        return []
    options = [option for option in context.command.params if option.name in names]
    is_flag = {
        flag: bool(getattr(option, "is_flag", False)) for option in options for flag in option.opts
    }
    words, kept = list(context.meta[_WORDS]), []
    for place, word in enumerate(words):
        flag, equals, _ = word.partition("=")
        if flag in is_flag:
            kept += words[place : place + (1 if equals or is_flag[flag] else 2)]
    return kept


def _with_groups(words: Sequence[str]) -> list[str]:
    """The options, and those of groups that are not among them."""
    groups: dict[str, str] = _table()["groups"]
    options = [word for word in words if word not in groups]
    for member in " ".join(groups[word] for word in words if word in groups).split():
        if _destination(member) not in map(_destination, options):
            options.append(member)
    return options


def group_of(*names: str) -> list[str]:
    """Where the values of groups of options go."""
    return [_destination(member) for name in names for member in _table()["groups"][name].split()]


def _destination(text: str) -> str:
    return text.rstrip("!").partition(":")[0]


def _option(text: str) -> click.Option:
    return make_option(text.rstrip("!"), required=text.endswith("!"))


def _argument(text: str) -> click.Argument:
    """The argument in FILE, [FILE], FILE... or [FILE...]."""
    word = text.strip("[].").lower()
    is_several = "..." in text
    return click.Argument(
        [f"{word}s" if is_several else word],
        metavar=text,
        nargs=-1 if is_several else 1,
        required=not text.startswith("["),
    )


def _help_all_option() -> click.Option:
    def show(ctx: click.Context, _parameter: click.Parameter, is_chosen: bool) -> None:
        if is_chosen and not ctx.resilient_parsing:
            ctx.meta[_SHOWS_ALL] = True
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    return click.Option(
        ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=show, hidden=True
    )


class Family(click.Group):
    """Commands under one name, as ``golden check`` and ``golden sample``.

    Parameters
    ----------
    name, description : str
        The name of the family, and the text of its help page.
    commands : sequence of Command
        Its members.
    default : str, optional
        The member that runs if the first word names none.
    """

    def __init__(
        self, name: str, description: str, commands: Sequence[Command], default: str | None = None
    ):
        super().__init__(
            name,
            commands=list(commands),
            help=inspect.cleandoc(description),
            epilog=examples_text(*(member.examples[0] for member in commands)),
        )
        self.default = default

    @property
    def examples(self) -> tuple[str, ...]:
        """The examples of all members."""
        members: Any = self.commands.values()
        return tuple(line for member in members for line in member.examples)

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
        if self.default and not is_help and (not args or args[0] not in self.commands):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

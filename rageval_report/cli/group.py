"""The table of commands, each loaded when it is needed; every error ends here as one line."""

from __future__ import annotations

import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import click

from rageval_report._registry import Registry, import_metadata
from rageval_report.cli.command import LONGEST_SENTENCE
from rageval_report.cli.output import INTERRUPTED, complain, note
from rageval_report.errors import RagevalError, RagevalWarning

# One more command is one name here; from outside `COMMANDS.add("name", command)`, or an entry point
# of the group "rageval_report.commands". Any command of click will do.
SECTIONS: dict[str, dict[str, str]] = {
    "Start here": {"demo": "demo", "inspect": "reading", "report": "reading", "compare": "compare"},
    "Look at queries": {
        "failures": "reading",
        "regressions": "compare",
        "outcomes": "compare",
        "slices": "compare",
    },
    "Decide": {"rank": "deciding", "gate": "deciding", "plan": "deciding"},
    "Over time": {"history": "runs", "noise": "runs"},
    "Draw and export": {"plot": "plot", "export": "reading"},
    "Make scores": {"score": "evaluate", "eval": "evaluate", "judge": "judge"},
    "Questions": {"golden": "golden", "datasets": "golden"},
}
_PLUGINS = "Of plug-ins"

COMMANDS: Registry[click.Command] = Registry(
    "command",
    {
        name: f"rageval_report.cli.{module}:{'evaluate' if name == 'eval' else name}"
        for section in SECTIONS.values()
        for name, module in section.items()
    },
    group="rageval_report.commands",
)

OK, FAILED, WRONG = 0, 1, 2
BUG = 70  # EX_SOFTWARE of sysexits.h, so that a bug is not mistaken for a gate that failed (1)
PIPE_CLOSED = 141  # as in shells: 128 and the number of SIGPIPE

_PACKAGE = __name__.partition(".")[0]


class _InterruptedError(click.Abort):
    """Ctrl-C; its text, if any, says what is kept."""


class CommandLine(click.Group):
    """Commands by name, from `COMMANDS`; an error becomes one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """The names, in the order in which a newcomer needs them."""
        return list(COMMANDS.loaded())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:  # noqa: ARG002
        """The command of that name."""
        return COMMANDS[cmd_name]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; ``help compare`` means ``compare --help``."""
        if args and args[0] == "help":
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name; a file in its place gets a hint."""
        if args[0] not in COMMANDS and Path(args[0]).is_file():
            verb = "report" if len(args) == 1 else "compare"
            raise click.UsageError(
                f"{args[0]} is a file, and the command comes first: {ctx.command_path} {verb} "
                f"{' '.join(args)}."
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in sections; those of plug-ins come last."""
        names = self.list_commands(ctx)
        built_in = {name for section in SECTIONS.values() for name in section}
        plugins = [name for name in names if name not in built_in]
        widest = max(map(len, names))
        for heading, section in {**SECTIONS, _PLUGINS: plugins}.items():
            rows = [
                # Padded, so that the sentences of all sections begin in one column.
                (name.ljust(widest), COMMANDS[name].get_short_help_str(LONGEST_SENTENCE))
                for name in section
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; if the reader of its output leaves early, as ``head`` does, it ends."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as exc:
            raise _InterruptedError(*exc.args) from exc  # click would write an empty line
        except BrokenPipeError as exc:
            # What Python still flushes on exit has no reader any more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(PIPE_CLOSED) from exc

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,  # as click has it: settings of the context
    ) -> Any:
        """Run, and exit with a code; without `standalone_mode`, raise what click raises."""
        run = functools.partial(
            super().main, args, prog_name, complete_var, standalone_mode=False, **extra
        )
        return sys.exit(_exit_code(run)) if standalone_mode else run()


def _exit_code(run: Callable[[], object]) -> int:
    """Run, and turn whatever is raised into one line and an exit code."""
    with warnings.catch_warnings():
        _show_warnings_as_notes()
        try:
            outcome = run()
        except (click.Abort, KeyboardInterrupt) as exc:
            complain("interrupted" + (f": {exc}" if str(exc) else ""))
            return INTERRUPTED
        except Exception as exc:
            return _code_of_error(exc)
    return outcome if isinstance(outcome, int) else OK


def _code_of_error(error: Exception) -> int:
    """Write the line about an error, and return the exit code."""
    if isinstance(error, click.UsageError):
        complain(f"{_as_sentence(error.format_message())} {_help_hint(error)}")
    elif isinstance(error, click.ClickException):
        complain(error.format_message())
    elif isinstance(error, RagevalError | OSError):
        complain(str(error))
    else:  # a fault of this package or of a plug-in: the traceback shows where
        traceback.print_exception(error)
        complain(_blame(error))
        return BUG
    return WRONG


def _as_sentence(message: str) -> str:
    """A message of click with a full stop, which some of them lack."""
    text = message.rstrip()
    return text if text.endswith((".", "?", "?)")) else f"{text}."


def _help_hint(exc: click.UsageError) -> str:
    """Where to read on; if something is missing, also a command that is complete."""
    path = exc.ctx.command_path if exc.ctx is not None else "rageval-report"
    examples = getattr(exc.ctx.command, "examples", ()) if exc.ctx is not None else ()
    if isinstance(exc, click.MissingParameter) and examples:
        return f"For example: {examples[0]}. See {path} --help"
    return f"See {path} --help"


def _blame(exc: Exception) -> str:
    """The last line about a bug: it names the plug-in whose code raised, if one did."""
    plugins = {
        point.module.partition(".")[0]: (point.name, distribution)
        for distribution in import_metadata().distributions()
        for point in distribution.entry_points
        if point.group.startswith(f"{_PACKAGE}.")
    }
    # From the innermost frame: other libraries are passed over, until the first package that is
    # ours or a plug-in's.
    for package in _packages_of(exc.__traceback__):
        if package == _PACKAGE:
            break
        if package in plugins:
            name, distribution = plugins[package]
            return (
                f"the plug-in {name!r} of {distribution.name} {distribution.version} raised "
                f"{type(exc).__name__}; please report it to its authors with the lines above"
            )
    return "this is a bug of rageval-report; please report it with the lines above"


def _packages_of(traceback_: TracebackType | None) -> list[str]:
    """The packages whose code ran, the innermost first."""
    frames = [frame for frame, _ in traceback.walk_tb(traceback_)]
    return [str(frame.f_globals.get("__name__")).partition(".")[0] for frame in reversed(frames)]


def _show_warnings_as_notes() -> None:
    """Show our own warnings as notes, and others as Python shows them."""
    show_as_python = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, RagevalWarning):
            note(str(message))
        else:
            show_as_python(message, category, filename, lineno, file, line)

    # Python shows a warning of one line of code once; two files may need the same note.
    warnings.simplefilter("always", RagevalWarning)
    warnings.showwarning = show

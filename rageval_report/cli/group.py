"""The group of commands: each loads when it is asked for, and every error ends here as one line."""

from __future__ import annotations

import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import click

from rageval_report._registry import Registry
from rageval_report.cli.notes import complain, note
from rageval_report.errors import RagevalError, RagevalWarning

_HERE = "rageval_report.cli"

COMMANDS: Registry[click.Command] = Registry(
    "command",
    {
        "demo": f"{_HERE}.demo:demo",
        "report": f"{_HERE}.describe:report",
        "thresholds": f"{_HERE}.describe:thresholds",
        "failures": f"{_HERE}.describe:failures",
        "compare": f"{_HERE}.compare:compare",
        "rank": f"{_HERE}.rank:rank",
        "history": f"{_HERE}.history:history",
        "repeats": f"{_HERE}.repeats:repeats",
        "calibrate": f"{_HERE}.calibrate:calibrate",
        "gate": f"{_HERE}.gate:gate",
        "score": f"{_HERE}.score:score",
        "eval": f"{_HERE}.eval.command:evaluate",
        "serve": f"{_HERE}.serve:serve",
        "judge": f"{_HERE}.judge.command:judge",
        "cache": f"{_HERE}.judge.cache:cache",
        "plot": f"{_HERE}.plot:plot",
        "export": f"{_HERE}.export:export",
        "formats": f"{_HERE}.export:formats",
        "golden": f"{_HERE}.golden.command:golden",
        "datasets": f"{_HERE}.datasets:datasets",
        "stats": f"{_HERE}.datasets:stats",
    },
)

FINE, WRONG = 0, 2
A_BUG = 70  # EX_SOFTWARE of sysexits.h: never to be taken for a gate that failed, which is 1
INTERRUPTED = 130  # as shells say: 128 and the number of the signal
PIPE_CLOSED = 141


class CommandLine(click.Group):
    """Commands by name, from `COMMANDS`; an error becomes one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """The names, in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:  # noqa: ARG002
        """The command of that name."""
        return COMMANDS[cmd_name]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for; a reader that left, as ``head`` does, ends it."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as exc:
            _let_go_of_standard_output()
            raise click.exceptions.Exit(PIPE_CLOSED) from exc

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, and exit with a code; without `standalone_mode`, raise what click raises."""
        run = functools.partial(
            super().main, args, prog_name, complete_var, standalone_mode=False, **extra
        )
        return sys.exit(_exit_code(run)) if standalone_mode else run()


def examples(*lines: str) -> str:
    """The end of a help page: commands to copy, kept on lines of their own."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _exit_code(run: Callable[[], object]) -> int:
    """Run, and say in one place what became of it."""
    with warnings.catch_warnings():
        _show_warnings_as_notes()
        try:
            outcome = run()
        except click.Abort:
            return INTERRUPTED
        except click.UsageError as exc:
            complain(f"{exc.format_message()} {_where_to_look(exc)}")
            return WRONG
        except click.ClickException as exc:
            complain(exc.format_message())
            return WRONG
        except (RagevalError, OSError) as exc:
            complain(str(exc))
            return WRONG
        except Exception as exc:  # nothing that a user did: whoever mends it needs the traceback
            traceback.print_exception(exc)
            complain("this is a bug of rageval-report; please report it with the lines above")
            return A_BUG
    return outcome if isinstance(outcome, int) else FINE


def _where_to_look(exc: click.UsageError) -> str:
    path = exc.ctx.command_path if exc.ctx is not None else "rageval-report"
    return f"See {path} --help"


def _show_warnings_as_notes() -> None:
    """What was mended or guessed is told in our words; other warnings as Python tells them."""
    as_ever = warnings.showwarning

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
            as_ever(message, category, filename, lineno, file, line)

    warnings.simplefilter("always", RagevalWarning)
    warnings.showwarning = show


def _let_go_of_standard_output() -> None:
    """Nobody reads any more: what Python still flushes on exit goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())

"""What the command line writes: results on standard output or in files, notes on standard error."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_report.cli.options import Options, read_table
from rageval_report.errors import DOUBT, DataError, UnknownNameError, is_doubt
from rageval_report.reports.formats import RENDERERS, Renderer, renderer_for

if TYPE_CHECKING:
    from rageval_report.reports.report import Report
    from rageval_report.results import Result

_DEFAULT_LIMIT = 20
INTERRUPTED = 130  # as in shells: 128 and the number of the signal
# The formats for people of which standard output gets the answer alone; HTML is a whole page.
_PRINTED = frozenset({"text", "markdown"})


# -- notes and complaints, one line each


def _role_options(match: re.Match[str]) -> str:
    """The options for ``roles={'column': 'role', ...}``."""
    pairs = re.findall(r"'(.+?)': '(\w+)'", match[0])
    return " ".join(f"--role {shlex.quote(f'{column}={role}')}" for column, role in pairs)


def note(text: str) -> None:
    """Write something that is not an error, unless the user chose --quiet."""
    context = click.get_current_context(silent=True)
    if context is None or not context.params.get("quiet"):
        click.echo(f"note: {_one_line(text)}", err=True)


def warn_of_doubts(notes: Iterable[str]) -> None:
    """Write the doubts among some notes, also with --quiet: a number may be wrong."""
    for text in dict.fromkeys(notes):
        if is_doubt(text):
            click.echo(f"doubt: {_one_line(text.removeprefix(DOUBT))}", err=True)


def complain(text: str) -> None:
    """Write what is wrong and what to do."""
    click.echo(f"rageval-report: {_one_line(text)}", err=True)


def for_command_line(text: str) -> str:
    """A message of the library, with its advice in terms of the command line.

    Examples
    --------
    >>> for_command_line("old.csv exists already; replace it with force=True")
    'old.csv exists already; replace it with --force'
    """
    for pattern, advice in _advice():
        is_roles = advice == "{roles}"
        text = pattern.sub(_role_options, text) if is_roles else pattern.sub(advice, text)
    return text


@cache
def _advice() -> list[tuple[re.Pattern[str], str]]:
    rows = read_table("advice.toml")["advice"]
    return [(re.compile(pattern), advice) for pattern, advice in rows]


def _one_line(text: str) -> str:
    """The text without line breaks, and control characters."""
    from rageval_report.reports.cells import clean

    return clean(for_command_line(text))


# -- colour of verdicts, where a person reads them in a terminal

# In a sentence, which begins with "- "; of several, the first decides.
_VERDICT = re.compile(
    r"(?P<yellow>no\s+difference\s+shown|not\s+shown\s+to\s+be\s+better|UNDECIDED|undecided)"
    r"|(?P<red>is\s+worse|FAILED|NOT\s+EVALUATED)"
    r"|(?P<green>is\s+better|shown\s+to\s+be\s+better|passed|equivalent)"
)
_SENTENCE = re.compile(r"^- .*\n(?:^  .*\n)*", re.MULTILINE)
# The last cell of a line of a table, such as the state of a gate.
_STATE = re.compile(
    r"(?<=[ ] )(?:(?P<green>passed)|(?P<red>failed|not evaluated)|(?P<yellow>undecided))(?= *$)",
    re.MULTILINE,
)


def _wants_colour() -> bool:
    """Whether text is coloured: --no-color, NO_COLOR (https://no-color.org), FORCE_COLOR decide."""
    context = click.get_current_context(silent=True)
    if (context is not None and context.params.get("no_color")) or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def with_colour(text: str) -> str:
    r"""A page of text with coloured verdicts.

    Examples
    --------
    >>> with_colour("- b is worse on recall@5 by 0.1\n")
    '- b \x1b[31mis worse\x1b[0m on recall@5 by 0.1\n'
    """
    text = _SENTENCE.sub(lambda sentence: _VERDICT.sub(_paint, sentence[0], count=1), text)
    return _STATE.sub(_paint, text)


def _paint(match: re.Match[str]) -> str:
    # Word by word, so that a colour does not run over the end of a line.
    return re.sub(r"\S+(?: +\S+)*", lambda part: click.style(part[0], fg=match.lastgroup), match[0])


# -- results


@dataclass(frozen=True)
class Output:
    """Where results are written, and in which format; checked before anything is computed.

    Parameters
    ----------
    renderer : Renderer
        The format.
    path : Path, optional
        The file; standard output if None.
    neutralise_formulas : bool
        Whether texts that a spreadsheet would compute get an apostrophe.
    verbose : bool
        Whether people get the whole results on standard output, too, as files do.
    """

    renderer: Renderer
    path: Path | None = None
    neutralise_formulas: bool = False
    verbose: bool = False

    @classmethod
    def of(cls, options: Options) -> Output:
        """The output that the options of a command ask for."""
        output = cls.to(options.path, options.format_name, force=options.force)
        if options.neutralise_formulas and not output.renderer.values_only:
            raise DataError(
                "--neutralise-formulas is for csv and tsv, which spreadsheets open; the format is "
                f"{output.renderer.cli_name}"
            )
        return replace(
            output, neutralise_formulas=options.neutralise_formulas, verbose=options.verbose
        )

    @classmethod
    def to(
        cls, path: Path | None, format_name: str | None = None, *, force: bool = False
    ) -> Output:
        """An output; the suffix of the file chooses the format if none is named."""
        path = None if path is not None and str(path) == "-" else path
        check_files(path, force=force)
        if format_name is not None:
            by_name = {renderer.cli_name: renderer for renderer in RENDERERS.loaded().values()}
            return cls(by_name[format_name], path)
        try:
            return cls(RENDERERS["text"] if path is None else renderer_for(path), path)
        except UnknownNameError as exc:
            raise DataError(
                f"{path}: the file name does not tell the format; end it in {' '.join(exc.known)}, "
                "or choose with --format"
            ) from exc

    def limit_rows(self, result: Result, limit: int | None) -> Result:
        """The first rows of a result: 20 for people and all for programs, unless a limit is set."""
        rows = self.most_rows(limit) or len(result.frame)
        if len(result.frame) <= rows:
            return result
        message = f"the first {rows} of {len(result.frame)} rows are shown; more with --limit"
        return replace(result, frame=result.frame.head(rows)).with_notes(message)

    def most_rows(self, limit: int | None) -> int | None:
        """The number of rows that are shown at most; None for all, which programs get."""
        return limit or (None if self.renderer.for_programs else _DEFAULT_LIMIT)

    @property
    def is_on_screen(self) -> bool:
        """Whether a person reads the result as text in a terminal."""
        return self.is_page_of_text and sys.stdout.isatty()

    @property
    def is_page_of_text(self) -> bool:
        """Whether the result is written as text to standard output."""
        return self.renderer.fits_terminal and self.path is None

    def write(
        self,
        *results: Result,
        what: str = "pipeline",
        names: Iterable[str] = (),
    ) -> None:
        """Write results, one after the other.

        Parameters
        ----------
        *results : Result
            The results.
        what : str
            What their names are: the column that holds them if tables are joined into one.
        names : iterable of str
            Their names; the titles if omitted.
        """
        # On standard error as well: results are often read by a program or written to a file.
        warn_of_doubts(message for result in results for message in result.notes)
        if self.renderer.values_only:  # it has no place for notes
            for message in dict.fromkeys(text for result in results for text in _words_of(result)):
                if not is_doubt(message):
                    note(message)
        by_name = dict(zip(names or (result.title for result in results), results, strict=True))
        self.write_text(self.text_of(by_name, what))

    def text_of(self, results: Mapping[str, Result], what: str) -> str:
        """The text of one file, or one page, that holds all results."""
        settings: dict[str, object] = {}
        if self.path is None and not self.verbose and self.renderer.name in _PRINTED:
            results = {name: result.printed() for name, result in results.items()}
            settings["signature"] = False
        results = {name: _with_advice(result) for name, result in results.items()}
        if self.neutralise_formulas:
            settings["neutralise_formulas"] = True
        if self.renderer.values_only and len(results) > 1:  # such a file holds one table
            return self.renderer.whole(_stack_tables(results, what), **settings)
        if self.is_on_screen:
            from rageval_report.reports.plain import NARROWEST, WIDTH

            settings["width"] = max(NARROWEST, min(WIDTH, shutil.get_terminal_size().columns))
        texts = [self.renderer.whole(result, **settings) for result in results.values()]
        return self.renderer.join_texts(texts)

    def write_page(self, page: Report, notes: Iterable[str]) -> None:
        """Write a page, and its doubts to standard error, as for every result."""
        warn_of_doubts(notes)
        self.write_text(page.to_html())

    def write_text(self, text: str) -> None:
        """Write a text of this format, with a line end."""
        text = text if text.endswith("\n") else f"{text}\n"
        if self.path is not None:
            write_file(self.path, text)
        elif self.renderer.name == "text" and _wants_colour():
            click.echo(with_colour(text), nl=False, color=True)
        else:
            click.echo(text, nl=False)

    def is_page(self, options: Options) -> bool:
        """Whether a page is written, and not only tables, as -o FILE.html does without --format."""
        is_html = self.path is not None and self.renderer.name == "html"
        is_page = is_html and options.format_name is None
        if (options.no_pictures or options.longest_text) and not is_page:
            raise click.UsageError("--no-pictures and --longest-text are for a page: -o FILE.html.")
        return is_page


def _words_of(result: Result) -> tuple[str, ...]:
    """The sentences that are in no column, and the notes."""
    sentences = () if "verdict" in result.frame else result.sentences
    return (*sentences, *result.notes)


def _with_advice(result: Result) -> Result:
    """The result with the advice of its notes in terms of the command line."""
    notes = tuple(map(for_command_line, result.notes))
    return result if notes == result.notes else replace(result, notes=notes)


def _stack_tables(results: Mapping[str, Result], what: str) -> Result:
    """One table of all rows, with the name of each result in the first column."""
    import pandas as pd

    frames = []
    for name, result in results.items():
        frame = result.frame if result.frame.index.name is None else result.frame.reset_index()
        if what not in frame:
            frame = frame.assign(**{what: name})[[what, *frame.columns]]
        frames.append(frame)
    return replace(next(iter(results.values())), frame=pd.concat(frames, ignore_index=True))


# -- files


def check_files(*paths: Path | None, force: bool) -> None:
    """Refuse files that exist and must not be replaced, before anything is computed."""
    from rageval_report.files.writing import check_free

    for path in filter(None, paths):
        check_free(path, force=force)


def write_file(path: Path, text: str, what: str = "") -> None:
    """Write a text to a file, and say so; `what` is written, such as "3 questions"."""
    from rageval_report.files.writing import write_atomically

    write_atomically(path, text)
    note(f"wrote {what} to {path}" if what else f"wrote {path}")


def draw(subject: object, kind: str, path: Path | None) -> None:
    """Draw a picture into a file, if one is wanted; its suffix chooses the format."""
    from rageval_report.plots import PLOTS, save_plot

    if path is not None:
        save_plot(subject, PLOTS[kind], path)
        note(f"wrote {path}")

"""Where results are written: standard output or a file, in a format of `rageval_report.render`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from rageval_report.cli.colour import echo_page
from rageval_report.cli.notes import for_command_line, note, warn_of_doubts
from rageval_report.cli.options import OutputOptions
from rageval_report.errors import DataError, UnknownNameError, is_doubt
from rageval_report.files.writing import check_free, write_atomically
from rageval_report.render import RENDERERS, Renderer, renderer_for
from rageval_report.render.plain_text import NARROWEST, WIDTH
from rageval_report.results import Result

_DEFAULT_LIMIT = 20
# The formats for people of which standard output gets the answer alone; HTML is a whole page.
_PRINTED = frozenset({"text", "markdown"})

Edit: TypeAlias = Callable[[str, int | None], str]


@dataclass(frozen=True)
class Output:
    """Where results are written, and in which format.

    Parameters
    ----------
    renderer : Renderer
        The format.
    path : Path, optional
        The file; standard output if None.
    force : bool
        Whether existing files are replaced.
    neutralise_formulas : bool
        Whether texts that a spreadsheet would compute get an apostrophe.
    verbose : bool
        Whether people get the whole results on standard output, too, as files do.
    """

    renderer: Renderer
    path: Path | None = None
    force: bool = False
    neutralise_formulas: bool = False
    verbose: bool = False

    @classmethod
    def of(cls, options: OutputOptions) -> Output:
        """The output that the options of a command ask for; see `to`."""
        output = cls.to(options.path, options.format_name, force=options.force)
        if options.neutralise_formulas and not output.renderer.values_only:
            raise DataError(
                "--neutralise-formulas is for csv and tsv, which spreadsheets open; the format is "
                f"{output.renderer.cli_name}"
            )
        return replace(
            output,
            neutralise_formulas=options.neutralise_formulas,
            verbose=options.verbose,
        )

    @classmethod
    def to(cls, path: Path | None, format_name: str | None, *, force: bool = False) -> Output:
        """An output, checked before anything is computed.

        Raises
        ------
        DataError
            If the file exists and must not be replaced, or its suffix stands for no format.
        """
        path = None if path is not None and str(path) == "-" else path
        check_files(path, force=force)
        if format_name is not None:
            return cls(_renderer_named(format_name), path, force)
        return cls(RENDERERS["text"] if path is None else _renderer_of(path), path, force)

    @classmethod
    def to_standard_output(cls, format_name: str | None = None, *, verbose: bool = False) -> Output:
        """Standard output in a format; as tables of text if it is None."""
        return replace(cls.to(None, format_name), verbose=verbose)

    def limit_rows(self, result: Result, limit: int | None) -> Result:
        """The first rows of a result: 20 for people and all for programs, unless a limit is set."""
        rows = self.most_rows(limit) or len(result.frame)
        n_left_out = len(result.frame) - rows
        if n_left_out <= 0:
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
        self, results: Mapping[str, Result], what: str = "pipeline", *, edit: Edit | None = None
    ) -> None:
        """Write the results, one after the other.

        Parameters
        ----------
        results : mapping of str to Result
            By name.
        what : str
            What the names are: the column that holds them if tables are joined into one.
        edit : callable, optional
            It is given a page of text on standard output and the width of the terminal, and returns
            the page that is written; other formats and files are not edited.
        """
        results = {name: _with_advice(result) for name, result in results.items()}
        # On standard error as well: results are often read by a program or written to a file.
        warn_of_doubts(
            dict.fromkeys(message for result in results.values() for message in result.notes)
        )
        if self.renderer.values_only:  # it has no place for notes
            notes = [message for result in results.values() for message in _words_of(result)]
            for message in dict.fromkeys(notes):
                if not is_doubt(message):
                    note(message)
        self.write_file(results, what, edit=edit)

    def write_file(
        self, results: Mapping[str, Result], what: str = "pipeline", *, edit: Edit | None = None
    ) -> None:
        """As `write`, for a second copy of results: without their doubts on standard error.

        Parameters
        ----------
        results, what, edit
            As for `write`.
        """
        if self.path is None and not self.verbose and self.renderer.name in _PRINTED:
            results = {name: result.printed() for name, result in results.items()}
        results = {name: _with_advice(result) for name, result in results.items()}
        text = joined_text(
            *(results, self.renderer, what),
            width=self._width,
            neutralise_formulas=self.neutralise_formulas,
        )
        if edit is not None and self.is_page_of_text:
            text = edit(text, self._width)
        self.write_page(text if text.endswith("\n") else f"{text}\n")

    def write_page(self, text: str) -> None:
        """Write a text of this format, with a mark in a file that can carry one.

        Parameters
        ----------
        text : str
            The whole text.
        """
        write_text(text, self.path, kind=self.renderer.name)

    @property
    def _width(self) -> int | None:
        """The width of the terminal, if a person looks at one."""
        return shutil.get_terminal_size().columns if self.is_on_screen else None


def _words_of(result: Result) -> tuple[str, ...]:
    """The sentences that are in no column, and the notes."""
    sentences = () if "verdict" in result.frame else result.sentences
    return (*sentences, *result.notes)


def _with_advice(result: Result) -> Result:
    """The result with the advice of its notes in terms of the command line."""
    notes = tuple(for_command_line(text) for text in result.notes)
    return result if notes == result.notes else replace(result, notes=notes)


def write_text(text: str, path: Path | None, what: str = "", *, kind: str = "") -> None:
    """Write a text to a file, with a note that says so, or to standard output.

    Parameters
    ----------
    text : str
        The whole text.
    path : Path, optional
        The file; standard output if None.
    what : str
        What is written, for the note, such as "3 questions".
    kind : str
        The format.
    """
    if path is None:
        echo_page(text, is_text=kind == "text")
        return
    write_atomically(path, text)
    note(f"wrote {what} to {path}" if what else f"wrote {path}")


def write_picture(path: Path, save: Callable[[Path], object]) -> None:
    """Write a picture.

    Parameters
    ----------
    path : Path
        The file; its suffix chooses the format.
    save : callable
        It draws the picture into the file that it is given.
    """
    with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
        drawn = Path(folder) / path.name
        save(drawn)
        write_atomically(path, drawn.read_bytes())


def check_files(*paths: Path | None, force: bool) -> None:
    """Refuse files that exist and must not be replaced, before anything is computed.

    Raises
    ------
    DataError
        If one exists, unless `force` is true.
    """
    for path in paths:
        if path is not None:
            check_free(path, force=force)


def joined_text(
    results: Mapping[str, Result],
    renderer: Renderer,
    what: str,
    *,
    width: int | None = None,
    neutralise_formulas: bool = False,
) -> str:
    """The text of one file that holds all results.

    Parameters
    ----------
    results : mapping of str to Result
        By name.
    renderer : Renderer
        The format.
    what : str
        What the names are: the column that holds them if tables are joined into one.
    width : int, optional
        The width of the page, for text.
    neutralise_formulas : bool, default False
        Whether texts that a spreadsheet would compute get an apostrophe, for CSV.

    Examples
    --------
    >>> runs = {name: Result(name, pd.DataFrame({"mean": [0.5]})) for name in ("old", "new")}
    >>> print(joined_text(runs, RENDERERS["csv"], "pipeline"), end="")
    pipeline,mean
    old,0.5
    new,0.5
    """
    # A CSV or JSON file holds one table.
    settings: dict[str, object] = {"neutralise_formulas": True} if neutralise_formulas else {}
    if renderer.values_only and len(results) > 1:
        return renderer.whole(_stack_tables(results, what), **settings)
    if width is not None:
        settings["width"] = max(NARROWEST, min(WIDTH, width))
    return renderer.join_texts([renderer.whole(result, **settings) for result in results.values()])


def _stack_tables(results: Mapping[str, Result], what: str) -> Result:
    """One table of all rows, with the name of each result in the first column."""
    frames = []
    for name, result in results.items():
        frame = result.frame if result.frame.index.name is None else result.frame.reset_index()
        if what not in frame:
            frame = frame.assign(**{what: name})[[what, *frame.columns]]
        frames.append(frame)
    return replace(next(iter(results.values())), frame=pd.concat(frames, ignore_index=True))


def _renderer_named(format_name: str) -> Renderer:
    """The format by its name on the command line."""
    renderers = {renderer.cli_name: renderer for renderer in RENDERERS.loaded().values()}
    return renderers[format_name]


def _renderer_of(path: Path) -> Renderer:
    """The format that the suffix of a file stands for."""
    try:
        return renderer_for(path)
    except UnknownNameError as exc:
        raise DataError(
            f"{path}: the file name does not tell the format; end it in {' '.join(exc.known)}, or "
            "choose with --format"
        ) from exc

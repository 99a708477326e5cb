"""What a format is: the functions that write it, its suffixes, its name on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rageval_report._registry import Registry, resolve
from rageval_report.errors import UnknownNameError, check_options
from rageval_report.files.writing import check_free, write_atomically

if TYPE_CHECKING:
    from rageval_report.results import Result

RenderFunction: TypeAlias = Callable[..., str]
JoinFunction: TypeAlias = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class Renderer:
    """A format: all that a caller, the command line included, must know of it.

    A function is given itself or as "module:attribute", which is imported on first use; so the
    formats can be listed without importing what writes them.

    Parameters
    ----------
    name : str
        Its name for `rageval_report.reports.formats.render`.
    render : callable or "module:attribute"
        The function from a `Result` and keywords to text, for a notebook or a log: it may leave
        out rows to fit.
    suffixes : tuple of str
        The suffixes of its files, such as ".md", the usual one first.
    render_file : callable or "module:attribute", optional
        The function that writes a file, or what the command line prints: everything, and a page
        that stands alone. `render` if omitted.
    cli_name : str
        Its name for ``--format``; `name` if omitted.
    for_programs : bool
        Whether programs read it, so that the command line writes every row and no hint for people.
    values_only : bool
        Whether it has no room for a title and notes, as CSV. Several results then become one table
        with a column of their names, and the command line prints notes on standard error.
    fits_terminal : bool
        Whether its functions take ``width=``, the columns of the terminal.
    join : callable or "module:attribute", optional
        The function from the texts of several results to the text of one file; two empty lines
        between them if omitted.

    Examples
    --------
    A format added from outside; ``rageval-report compare a.csv b.csv --format rst`` and
    ``-o out.rst`` write it too::

        RENDERERS.add("rst", Renderer("rst", render_rst, suffixes=(".rst",)))

    >>> import pandas as pd
    >>> from rageval_report.reports.formats import RENDERERS
    >>> from rageval_report.results import Result
    >>> csv, result = RENDERERS["csv"], Result("Means", pd.DataFrame({"mean": [0.5]}))
    >>> csv.suffixes, csv.whole(result).split(), csv.join_texts(["one text"])
    (('.csv',), ['mean', '0.5'], 'one text')
    """

    name: str
    render: RenderFunction | str
    suffixes: tuple[str, ...] = ()
    render_file: RenderFunction | str | None = None
    cli_name: str = ""
    for_programs: bool = False
    values_only: bool = False
    fits_terminal: bool = False
    join: JoinFunction | str | None = None

    def __post_init__(self) -> None:
        if not self.cli_name:
            object.__setattr__(self, "cli_name", self.name)

    def __call__(self, result: Result, **options: object) -> str:
        """The result as text for a notebook or a log."""
        return self._call(self.render, result, options)

    def whole(self, result: Result, **options: object) -> str:
        """The whole result as the text of a file."""
        return self._call(self.render_file or self.render, result, options)

    def join_texts(self, texts: Sequence[str]) -> str:
        """The texts of several results as the text of one file."""
        if len(texts) == 1:
            return texts[0]
        stripped = [text.rstrip("\n") for text in texts]
        if self.join is None:
            return "\n\n\n".join(stripped)
        join: JoinFunction = resolve(self.join)
        return join(stripped)

    def _call(
        self, function: RenderFunction | str, result: Result, options: dict[str, object]
    ) -> str:
        write: RenderFunction = resolve(function)
        parameters = list(inspect.signature(write).parameters.values())[1:]
        # A function from outside that takes any keyword checks them itself.
        if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
            known = [parameter.name for parameter in parameters]
            check_options(f"format {self.name!r}", options, known)
        return write(result, **options)


_HERE = "rageval_report.reports"
_TEXT = Renderer("text", f"{_HERE}.plain:render", (".txt",), f"{_HERE}.plain:render_file")
_MARKDOWN = Renderer(
    "markdown", f"{_HERE}.markdown:render", (".md",), f"{_HERE}.markdown:render_file"
)
_HTML = Renderer("html", f"{_HERE}.html:render", (".html", ".htm"), f"{_HERE}.html:page")
_JSON = Renderer("json", f"{_HERE}.data:render_json", (".json",), for_programs=True)
_CSV = Renderer("csv", f"{_HERE}.data:render_csv", (".csv",), for_programs=True, values_only=True)
_ENTRIES = (
    replace(_TEXT, cli_name="table", fits_terminal=True),
    _MARKDOWN,
    replace(_HTML, join=f"{_HERE}.html:join_pages"),
    Renderer("latex", f"{_HERE}.latex:render", (".tex",)),
    replace(_JSON, join=f"{_HERE}.data:join_json"),
    _CSV,
    replace(
        _CSV, name="tsv", render=f"{_HERE}.data:render_tsv", suffixes=(".tsv",), cli_name="tsv"
    ),
    Renderer("junit", f"{_HERE}.data:render_junit", (".xml",), for_programs=True),
)

RENDERERS: Registry[Renderer] = Registry(
    "format", {entry.name: entry for entry in _ENTRIES}, group="rageval_report.renderers"
)


def render(result: Result, format_name: str | Renderer, **options: object) -> str:
    """The result as text of a format.

    Parameters
    ----------
    result : Result
        What is shown.
    format_name : {"text", "markdown", "html", "latex", "json", "csv", "tsv", "junit"}
        Or any name added to `RENDERERS`, or an entry of it.
    **options
        The options of the format, as its function takes them: ``columns``, and of some formats
        ``width``, ``max_rows``, ``max_columns``, ``longest``, ``label``, ``delimiter`` and
        ``neutralise_formulas``.

    Examples
    --------
    >>> import pandas as pd
    >>> from rageval_report.results import Result
    >>> print(render(Result("Means", pd.DataFrame({"mean": [0.1]})), "csv"), end="")
    mean
    0.1
    """
    renderer = format_name if isinstance(format_name, Renderer) else RENDERERS[format_name]
    return renderer(result, **options)


def renderer_for(path: str | Path) -> Renderer:
    """The format that the suffix of a path stands for.

    Parameters
    ----------
    path : str or Path
        A file, or only its suffix, as ".md".

    Examples
    --------
    >>> renderer_for("means.htm").name
    'html'
    """
    suffix = (Path(path).suffix or str(path)).lower()
    by_suffix = {known: entry for entry in RENDERERS.values() for known in entry.suffixes}
    if suffix not in by_suffix:
        raise UnknownNameError("kind of file", suffix, by_suffix)
    return by_suffix[suffix]


def save(result: Result, path: str | Path, *, force: bool = True, **options: object) -> Path:
    """Write the whole result into a file; the suffix chooses the format.

    Parameters
    ----------
    result : Result
        What is written.
    path : str or Path
        Ends in .txt, .md, .html, .htm, .tex, .json, .csv, .tsv or .xml (JUnit), or in a suffix of a
        format added to `RENDERERS`.
    force : bool
        Whether an existing file is replaced, once the new one is complete; else it is an error.
    **options
        The options of the format, as in `render`.

    Examples
    --------
    >>> import pandas as pd
    >>> from rageval_report.results import Result
    >>> save(Result("Means", pd.DataFrame()), "means.doc")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    rageval_report.errors.UnknownNameError: no kind of file is named '.doc'. ...
    """
    renderer = renderer_for(path)
    check_free(path, force=force)
    text = renderer.whole(result, **options)
    return write_atomically(path, text if text.endswith("\n") else f"{text}\n")

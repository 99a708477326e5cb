"""A result becomes text, in one of the formats of `RENDERERS`, or a file of its suffix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack, overload

from rageval_report._registry import Registry
from rageval_report.errors import UnknownNameError
from rageval_report.files.writing import check_free, write_atomically
from rageval_report.render.formats import FormatName, Renderer, RenderOptions

if TYPE_CHECKING:
    from rageval_report.results import Result

__all__ = ["RENDERERS", "RenderOptions", "Renderer", "render", "renderer_for", "save"]

_HERE = "rageval_report.render"
_ENTRIES = (
    Renderer(
        "text",
        f"{_HERE}.plain_text:render",
        (".txt",),
        f"{_HERE}.plain_text:render_file",
        cli_name="table",
        fits_terminal=True,
    ),
    Renderer("markdown", f"{_HERE}.markdown:render", (".md",), f"{_HERE}.markdown:render_file"),
    Renderer(
        "html",
        f"{_HERE}.html:render",
        (".html", ".htm"),
        f"{_HERE}.html:page",
        join=f"{_HERE}.html:join_pages",
    ),
    Renderer("latex", f"{_HERE}.latex:render", (".tex",)),
    Renderer(
        "json",
        f"{_HERE}.data:render_json",
        (".json",),
        for_programs=True,
        join=f"{_HERE}.data:join_json",
    ),
    Renderer("csv", f"{_HERE}.data:render_csv", (".csv",), for_programs=True, values_only=True),
    Renderer("tsv", f"{_HERE}.data:render_tsv", (".tsv",), for_programs=True, values_only=True),
    Renderer("junit", f"{_HERE}.junit:render", (".xml",), for_programs=True),
)

RENDERERS: Registry[Renderer] = Registry(
    "format", {entry.name: entry for entry in _ENTRIES}, group="rageval_report.renderers"
)


@overload
def render(result: Result, format_name: FormatName, **options: Unpack[RenderOptions]) -> str: ...


@overload
def render(result: Result, format_name: Renderer, **options: object) -> str: ...


def render(result: Result, format_name: str | Renderer, **options: object) -> str:
    """The result as text of a format.

    Parameters
    ----------
    result : Result
        What is shown.
    format_name : {"text", "markdown", "html", "latex", "json", "csv", "tsv", "junit"}
        Or any name added to `RENDERERS`, or an entry of it. A format from outside is known to type
        checkers by its entry alone: ``render(result, RENDERERS["rst"])``.
    **options
        The options of the format; `RenderOptions` lists those of the built-in formats.

    Raises
    ------
    UnknownNameError
        If there is no such format.
    UnknownOptionError
        If the format has no such option.

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

    Raises
    ------
    UnknownNameError
        If no format has that suffix.

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


def save(
    result: Result, path: str | Path, *, force: bool = True, **options: Unpack[RenderOptions]
) -> Path:
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

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UnknownNameError
        If the suffix stands for no format.
    UnknownOptionError
        If the format has no such option.
    DataError
        If the file exists and may not be replaced, or cannot be written.

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

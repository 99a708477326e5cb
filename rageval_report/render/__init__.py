"""A result becomes text: one renderer a format, and a kind of file for each suffix.

One more format is one line: ``RENDERERS.add("rst", my_renderer)``, where a renderer is any
callable that takes a `Result` and keyword options and returns text.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from rageval_report._registry import Registry
from rageval_report.files.writing import check_free, write_atomically
from rageval_report.results import Result

Renderer: TypeAlias = Callable[..., str]

RENDERERS: Registry[Renderer] = Registry(
    "format",
    {
        "csv": "rageval_report.render.data:render_csv",
        "html": "rageval_report.render.html:render",
        "json": "rageval_report.render.data:render_json",
        "junit": "rageval_report.render.junit:render",
        "latex": "rageval_report.render.latex:render",
        "markdown": "rageval_report.render.markdown:render",
        "text": "rageval_report.render.text:render",
    },
)

# What is written into a file is whole: no row is left out for want of room.
FILES: Registry[Renderer] = Registry(
    "kind of file",
    {
        ".csv": "rageval_report.render.data:render_csv",
        ".htm": "rageval_report.render.html:page",
        ".html": "rageval_report.render.html:page",
        ".json": "rageval_report.render.data:render_json",
        ".md": "rageval_report.render.markdown:whole",
        ".tex": "rageval_report.render.latex:render",
        ".tsv": "rageval_report.render.data:render_tsv",
        ".txt": "rageval_report.render.text:whole",
        ".xml": "rageval_report.render.junit:render",
    },
)

__all__ = ["FILES", "RENDERERS", "Renderer", "render", "save"]


def render(result: Result, format_name: str, **options: Any) -> str:
    """The result as text of a format.

    Parameters
    ----------
    result : Result
        What is shown.
    format_name : {"text", "markdown", "html", "latex", "json", "csv", "junit"}
        Or any name added to `RENDERERS`.
    **options
        What the renderer of that format takes.

    Raises
    ------
    UnknownNameError
        If no renderer has that name.

    Examples
    --------
    >>> import pandas as pd
    >>> print(render(Result("Means", pd.DataFrame({"mean": [0.1]})), "csv"), end="")
    mean
    0.1
    """
    return RENDERERS[format_name](result, **options)


def save(result: Result, path: str | Path, *, force: bool = True, **options: Any) -> Path:
    """Write the whole result into a file; the suffix chooses the format.

    Parameters
    ----------
    result : Result
        What is written.
    path : str or Path
        Ends in .txt, .md, .html, .htm, .tex, .json, .csv, .tsv or .xml (JUnit).
    force : bool
        Whether a file that is there is replaced, when the new one is complete.
    **options
        What the renderer of that format takes.

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    UnknownNameError
        If the suffix stands for no format.
    DataError
        If the file is there and may not be replaced, or cannot be written.

    Examples
    --------
    >>> import pandas as pd
    >>> save(Result("Means", pd.DataFrame()), "means.doc")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    rageval_report.errors.UnknownNameError: no kind of file is named '.doc'. ...
    """
    kind = Path(path).suffix.lower() or str(path)
    render_file = FILES[kind]
    check_free(path, force=force)
    text = render_file(result, **options)
    return write_atomically(path, text if text.endswith("\n") else f"{text}\n")

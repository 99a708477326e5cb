"""One result, or several one after the other, as the text of one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas as pd

from rageval_report.render import FILES
from rageval_report.render.layout import NARROWEST
from rageval_report.render.text import WIDTH
from rageval_report.results import Result

_OF_VALUES = frozenset((".csv", ".tsv"))


def written(
    results: Mapping[str, Result], kind: str, what: str, *, width: int | None = None
) -> str:
    """The text of a file that holds all results.

    Parameters
    ----------
    results : mapping of str to Result
        By the name that tells them apart.
    kind : str
        A suffix of the table `rageval_report.render.FILES`.
    what : str
        What the names are: the column that holds them where tables become one.
    width : int, optional
        How wide a page of text may be.

    Examples
    --------
    >>> runs = {name: Result(name, pd.DataFrame({"mean": [0.5]})) for name in ("old", "new")}
    >>> print(written(runs, ".csv", "pipeline"), end="")
    pipeline,mean
    old,0.5
    new,0.5
    """
    render = FILES[kind]
    if width is not None:
        return _joined(results, kind, width=max(NARROWEST, min(WIDTH, width)))
    if len(results) > 1 and kind in _OF_VALUES:
        return render(_stacked(results, what))
    return _joined(results, kind)


def _joined(results: Mapping[str, Result], kind: str, **options: int) -> str:
    texts = [FILES[kind](result, **options) for result in results.values()]
    if len(texts) == 1:
        return texts[0]
    return _JOINED.get(kind, "\n\n\n".join)([text.rstrip("\n") for text in texts])


def _stacked(results: Mapping[str, Result], what: str) -> Result:
    """One table of all, the name of each first."""
    frames = []
    for name, result in results.items():
        frame = result.frame if result.frame.index.name is None else result.frame.reset_index()
        if what not in frame:
            frame = frame.assign(**{what: name})[[what, *frame.columns]]
        frames.append(frame)
    return replace(next(iter(results.values())), frame=pd.concat(frames, ignore_index=True))


def _json_array(texts: list[str]) -> str:
    return "[" + ",\n".join(texts) + "]"


def _one_page(pages: list[str]) -> str:
    """The first page with the contents of the others under its own."""
    first, end, rest = pages[0].partition("</body>")
    contents = [page.partition("<body")[2].partition(">")[2] for page in pages[1:]]
    return first + "\n".join(text.partition("</body>")[0] for text in contents) + end + rest


_JOINED: dict[str, Callable[[list[str]], str]] = {
    ".html": _one_page,
    ".htm": _one_page,
    ".json": _json_array,
}

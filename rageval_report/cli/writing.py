"""One result, or several one after the other, as the text of one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from rageval_report.render import renderer_for
from rageval_report.render.layout import NARROWEST
from rageval_report.render.plain_text import WIDTH
from rageval_report.results import Result


def written(
    results: Mapping[str, Result], kind: str, what: str, *, width: int | None = None
) -> str:
    """The text of a file that holds all results.

    Parameters
    ----------
    results : mapping of str to Result
        By the name that tells them apart.
    kind : str
        A suffix of the table `rageval_report.render.RENDERERS`.
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
    renderer = renderer_for(kind)
    if renderer.values_only and len(results) > 1:
        return renderer.whole(_stacked(results, what))
    options = {} if width is None else {"width": max(NARROWEST, min(WIDTH, width))}
    return renderer.join_texts([renderer.whole(result, **options) for result in results.values()])


def _stacked(results: Mapping[str, Result], what: str) -> Result:
    """One table of all, the name of each first."""
    frames = []
    for name, result in results.items():
        frame = result.frame if result.frame.index.name is None else result.frame.reset_index()
        if what not in frame:
            frame = frame.assign(**{what: name})[[what, *frame.columns]]
        frames.append(frame)
    return replace(next(iter(results.values())), frame=pd.concat(frames, ignore_index=True))

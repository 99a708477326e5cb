"""Why queries fail, for all pipelines side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pandas as pd

from rageval_report.analysis.breakdown import FINE, UNKNOWN
from rageval_report.results import Result
from rageval_report.scores.names import ShortNames

_TITLES = {FINE: "Nothing", UNKNOWN: "Not known"}


@dataclass(frozen=True)
class Causes:
    """Why queries fail.

    Parameters
    ----------
    sentence : str
        The most common cause of the last pipeline's failures.
    rows : tuple
        The causes that were measured: title, meaning, and a bar (name, n, width, share) per
        pipeline; what did not fail comes last.
    """

    template: ClassVar[str] = "causes.html.jinja"

    sentence: str
    rows: tuple[SimpleNamespace, ...]

    @classmethod
    def of(cls, causes: Sequence[Result], pipelines: Sequence[str], names: ShortNames) -> Causes:
        """The causes of some pipelines."""
        frames = [result.frame.set_index("cause") for result in causes]
        order = list(dict.fromkeys(name for frame in frames for name in frame.index))
        order.sort(key=lambda name: name in (FINE, UNKNOWN))
        largest = max(float(frame["share"].max()) for frame in frames) or 1.0
        rows = tuple(
            SimpleNamespace(
                title=_TITLES.get(name, name.capitalize()),
                meaning=str(next(f for f in frames if name in f.index).loc[name, "what"]),
                bars=tuple(
                    _bar(frame, name, names.of(pipeline), largest)
                    for frame, pipeline in zip(frames, pipelines, strict=True)
                ),
            )
            for name in order
            if any(_n(frame, name) for frame in frames)
        )
        return cls(_sentence(frames[-1], names.of(pipelines[-1])), rows)


def _n(frame: pd.DataFrame, name: str) -> int:
    n = frame["n"].reindex([name]).fillna(0).iloc[0]
    return int(n)


def _bar(frame: pd.DataFrame, name: str, pipeline: str, largest: float) -> SimpleNamespace:
    n = _n(frame, name)
    row = frame[["share", "ci_low", "ci_high"]].astype(float).reindex([name]).iloc[0]
    if math.isnan(row["share"]):
        return SimpleNamespace(name=pipeline, n="–", width="0", share="not measured")
    share, low, high = row.tolist()
    text = f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
    width = f"{100 * share / largest:.1f}"
    return SimpleNamespace(name=pipeline, n=str(n), width=width, share=text)


def _sentence(frame: pd.DataFrame, name: str) -> str:
    failing = {cause: _n(frame, cause) for cause in frame.index if cause not in (FINE, UNKNOWN)}
    total = sum(failing.values())
    if not total:
        return f"No query of {name} fails for a cause that is measured."
    cause = max(failing, key=lambda key: failing[key])
    verb = "query of" if total == 1 else "queries of"
    return (
        f"{total:,} {verb} {name} {'fails' if total == 1 else 'fail'}; most often the cause is "
        f"{cause} ({failing[cause]:,}): {frame['what'].astype(str)[cause]}."
    )

"""Whether a difference holds everywhere: groups of queries in rows, metrics in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from rageval_report.analysis.verdicts import MetricVerdict, verdicts_of
from rageval_report.render.cell_text import signed_number
from rageval_report.reports.sentences import correction_text
from rageval_report.reports.views.changed import view_address
from rageval_report.reports.views.strip import hover_text
from rageval_report.results import Result
from rageval_report.scores.names import ShortNames

_MOST_ROWS = 24
_NAMED = frozenset(("better", "worse", "equivalent"))


@dataclass(frozen=True)
class MatrixCell:
    """The difference of one metric in one group.

    Parameters
    ----------
    text : str
        The difference.
    shown : str
        What is shown; "undecided" gets no colour.
    hover : str
        The statistics in one line.
    """

    text: str
    shown: str
    hover: str


@dataclass(frozen=True)
class MatrixRow:
    """One group of queries."""

    label: str
    n: int
    cells: tuple[MatrixCell | None, ...]
    address: str = ""


@dataclass(frozen=True)
class SliceMatrix:
    """The differences of two pipelines in each group of queries.

    Parameters
    ----------
    by : str
        The column that divides the queries.
    sentence : str
        What is subtracted from what, and what the colours mean.
    metrics : tuple of str
        The headings of the columns.
    rows : tuple of MatrixRow
        All queries first.
    n_left_out : int
        The number of small groups that only the table has.
    """

    template: ClassVar[str] = "slice_matrix.html.jinja"

    by: str
    sentence: str
    metrics: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    n_left_out: int

    @classmethod
    def of(
        cls,
        slices: Result,
        overall: Sequence[MetricVerdict],
        names: ShortNames,
        labels: Mapping[str, str],
    ) -> SliceMatrix:
        """The matrix of one column of groups."""
        by, level = str(slices.settings["by"]), float(str(slices.settings["confidence_level"]))
        known = verdicts_of(slices.frame, alpha=1.0 - level, labels=labels)
        groups: dict[str, dict[str, MetricVerdict]] = {}
        for verdict, group in zip(known, slices.frame[by], strict=True):
            groups.setdefault(str(group), {})[verdict.metric] = verdict
        metrics = [verdict.metric for verdict in overall]
        words = (level, str(slices.settings["correction"]))
        rows = [
            _row(group, own, metrics, words, view_address(**{f"slice.{by}": group}))
            for group, own in groups.items()
        ]
        everything = _row("all queries", {own.metric: own for own in overall}, metrics, words)
        first = overall[0]
        sentence = (
            f"{names.of(first.candidate)} minus {names.of(first.baseline)} by {by}. Colour only "
            f"where a difference is shown ({correction_text(words[1])} over "
            f"{slices.settings['family_size']} tests)."
        )
        return cls(
            by,
            sentence,
            tuple(verdict.label for verdict in overall),
            (everything, *rows[:_MOST_ROWS]),
            max(len(rows) - _MOST_ROWS, 0),
        )


def _row(
    label: str,
    by_metric: Mapping[str, MetricVerdict],
    metrics: Sequence[str],
    words: tuple[float, str],
    address: str = "",
) -> MatrixRow:
    cells = tuple(_cell(by_metric[name], words) if name in by_metric else None for name in metrics)
    return MatrixRow(label, max(own.n for own in by_metric.values()), cells, address)


def _cell(verdict: MetricVerdict, words: tuple[float, str]) -> MatrixCell | None:
    if pd.isna(verdict.difference):
        return None
    shown = verdict.shown if verdict.shown in _NAMED else "undecided"
    return MatrixCell(signed_number(verdict.difference), shown, hover_text(verdict, *words))

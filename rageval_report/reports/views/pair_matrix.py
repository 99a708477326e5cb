"""Every pipeline against every other: on how many metrics a difference is shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rageval_report.analysis.rank import Ranking
from rageval_report.analysis.verdicts import MetricVerdict, of_shown, pair_text, verdicts_of
from rageval_report.reports.page_columns import DIGITS
from rageval_report.reports.ranking_sentences import RankedPipelines
from rageval_report.reports.views.changed import view_address
from rageval_report.reports.views.strip import hover_text
from rageval_report.scores.names import ShortNames
from rageval_report.scores.shown import BETTER, WORSE


@dataclass(frozen=True)
class PairCell:
    """The number of metrics on which the row is shown to be better, and worse."""

    better: int
    worse: int
    address: str

    @property
    def tone(self) -> str:
        """What is shown: "better", "worse", "both" or "none"."""
        if self.better and self.worse:
            return "both"
        return "better" if self.better else "worse" if self.worse else "none"


@dataclass(frozen=True)
class PairMatrix:
    """Pipelines in rows and columns, in the order of the leaderboard.

    Parameters
    ----------
    marks : tuple of str
        The shortest names of the pipelines.
    names : tuple of str
        Their short names.
    rows : tuple of tuple of PairCell or None
        None on the diagonal.
    """

    template: ClassVar[str] = "pair_matrix.html.jinja"

    marks: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[tuple[PairCell | None, ...], ...]

    @classmethod
    def of(cls, ranked: RankedPipelines, pairs: Sequence[Sequence[MetricVerdict]]) -> PairMatrix:
        """The matrix of all pairs.

        Parameters
        ----------
        ranked : RankedPipelines
            The pipelines.
        pairs : sequence of sequence of MetricVerdict
            One verdict per metric of each pair.
        """
        counts: dict[tuple[str, str], tuple[int, int]] = {}
        for pair in pairs:
            n_better, n_worse = len(of_shown(pair, BETTER)), len(of_shown(pair, WORSE))
            first, second = pair[0].baseline, pair[0].candidate
            counts[second, first] = (n_better, n_worse)
            counts[first, second] = (n_worse, n_better)
        rows = tuple(
            tuple(
                None
                if row == column
                else PairCell(*counts.get((row, column), (0, 0)), _address(row, column))
                for column in ranked.pipelines
            )
            for row in ranked.pipelines
        )
        return cls(
            tuple(ranked.names.mark_of(name) for name in ranked.pipelines),
            tuple(ranked.names.of(name) for name in ranked.pipelines),
            rows,
        )


def pairs_document(
    ranked: RankedPipelines,
    pairs: Sequence[Sequence[MetricVerdict]],
    *,
    level: object,
    correction: str,
) -> list[dict[str, Any]]:
    """Every pair for the script of the page, with its sentences in both directions.

    Parameters
    ----------
    ranked : RankedPipelines
        The pipelines, in the order of the page.
    pairs : sequence of sequence of MetricVerdict
        One verdict per metric of each pair.
    level : float
        The confidence level of the intervals.
    correction : str
        The correction of the p-values.
    """
    places = {name: place for place, name in enumerate(ranked.pipelines)}
    return [
        {
            "pair": [places[pair[0].baseline], places[pair[0].candidate]],
            "texts": list(both_pair_texts(pair, ranked.names)),
            "rows": [_row_document(verdict, (level, correction)) for verdict in pair],
        }
        for pair in pairs
    ]


def _row_document(verdict: MetricVerdict, words: tuple[object, str]) -> dict[str, Any]:
    values = (*verdict.means, verdict.difference, verdict.ci_low, verdict.ci_high)
    return {
        "metric": verdict.label,
        "up": verdict.greater_is_better,
        "share": verdict.is_share,
        "shown": verdict.shown,
        "numbers": [_rounded(value) for value in values],
        "counts": [verdict.wins, verdict.ties, verdict.losses],
        "hover": [hover_text(verdict, *words), hover_text(verdict.turned(), *words)],
    }


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.{DIGITS}g}")


def _address(row: str, column: str) -> str:
    return view_address(**{"base": column, "with": row})


def pair_verdicts(
    ranking: Ranking, labels: Mapping[str, str] | None = None
) -> list[list[MetricVerdict]]:
    """The verdicts of every pair of pipelines, one per metric, in the order of `Ranking.pairs`."""
    if not ranking.tests:
        return []
    frame = ranking.pairs.frame
    metrics = {name: ranking.blocks[name].metric for name in ranking.tests}
    frame = frame.assign(
        greater_is_better=frame["metric"].map(lambda name: metrics[name].greater_is_better),
        kind=frame["metric"].map(lambda name: metrics[name].kind),
    )
    pairs: dict[tuple[str, str], list[MetricVerdict]] = {}
    for verdict in verdicts_of(frame, alpha=ranking.alpha, labels=labels):
        pairs.setdefault((verdict.baseline, verdict.candidate), []).append(verdict)
    return list(pairs.values())


def both_pair_texts(verdicts: Sequence[MetricVerdict], names: ShortNames) -> tuple[str, str]:
    """The headlines of a pair: of the second beside the first, and the other way round."""
    return pair_text(verdicts, names), pair_text([own.turned() for own in verdicts], names)

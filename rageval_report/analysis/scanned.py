"""How the functions of this room recognise scans: evaluations whose scores stay in their files.

A scan knows itself how it is compared and ranked, because it stands above this room. A function
that takes evaluations asks `scans_among` once, and hands its arguments over to the first scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, Unpack

from rageval_report._argument_kinds import describe_kind
from rageval_report.errors import ArgumentKindError
from rageval_report.scores import Scored

if TYPE_CHECKING:  # commands ask what a scan is before they load what compares
    from rageval_report.analysis.comparing.keywords import ComparisonKeywords
    from rageval_report.analysis.gates.columns import RunGateKeywords
    from rageval_report.analysis.gates.grammar import Rule
    from rageval_report.analysis.ranking.keywords import RankingKeywords
    from rageval_report.results import Result


class Scanned(Protocol):
    """The scores of a pipeline in files: `rageval_report.scale.scan.EvaluationScan`."""

    @property
    def name(self) -> str:
        """The name of the pipeline."""

    def comparative_summary(self, *others: Self, **options: Unpack[ComparisonKeywords]) -> Result:
        """The comparison with others, this one as the baseline."""

    def rank_with(self, *others: Self, **options: Unpack[RankingKeywords]) -> Result:
        """The ranking of this one and others."""

    def gate(self, *rules: str | Rule, **options: Unpack[RunGateKeywords]) -> Result:
        """Whether the pipeline passes rules."""

    def collect(self) -> Any:
        """The evaluation of all rows, in memory."""

    def beside(self, evaluation: Scored) -> Self:
        """An evaluation in memory as a scan of the same engine."""


# What functions take that work in memory and over files alike.
ScoredOrScanned: TypeAlias = Scored | Scanned

_MEMBERS = ("collect", "comparative_summary", "gate")


def is_scan(run: object) -> bool:
    """Whether something is a scan.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> is_scan(RAGPipelineEvaluation("a", {"query_id": ["q1", "q2"], "recall": [0, 1]}))
    False
    """
    return all(hasattr(type(run), name) for name in _MEMBERS)


def scans_among(runs: Sequence[object], call: str) -> tuple[Any, ...]:
    """What a function was given, as scans if one of them is a scan; empty if none is.

    Parameters
    ----------
    runs : sequence
        Scans, and evaluations in memory, which become tables of the engine of the first scan.
    call : str
        What was called, such as "compare()".

    Raises
    ------
    ArgumentKindError
        If one is neither.
    """
    first: Any = next(filter(is_scan, runs), None)
    if first is None:
        return ()
    for run in runs:
        if not (is_scan(run) or hasattr(run, "scores")):
            raise ArgumentKindError(
                f"{call} takes scans and evaluations in memory; got {describe_kind(run)}"
            )
    return tuple(run if is_scan(run) else first.beside(run) for run in runs)

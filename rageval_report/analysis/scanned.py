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
    """The scores of a pipeline in files: `rageval_report.evaluation.scan.EvaluationScan`."""

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
    """The scans that a function was given, all of them; empty if it was given none.

    Parameters
    ----------
    runs : sequence
        What the caller passed.
    call : str
        What was called, such as "compare()".

    Raises
    ------
    ArgumentKindError
        If only some are scans; the error names the first that is not.
    """
    scans: list[Any] = [run for run in runs if is_scan(run)]
    if not scans:
        return ()
    if len(scans) < len(runs):
        other = next(run for run in runs if not is_scan(run))
        name = getattr(other, "name", None)
        what = repr(name) if isinstance(name, str) else describe_kind(other)
        raise ArgumentKindError(
            f"{call} takes either scans or evaluations in memory, not both: "
            f"{scans[0].name!r} is a scan, and {what} is not. Scan its file as well "
            "(RAGPipelineEvaluation.scan), or bring the scans into memory with .collect()"
        )
    return tuple(scans)

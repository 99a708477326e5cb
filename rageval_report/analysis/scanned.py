"""How the functions of this room recognise scans: evaluations whose scores stay in their files.

A scan stands above this room. It counts columns and pairs, and the functions here analyse them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeAlias

from rageval_report._argument_kinds import describe_kind
from rageval_report.errors import ArgumentKindError
from rageval_report.scores import Scored


class Scanned(Protocol):
    """The scores of a pipeline in files: `rageval_report.scale.scan.EvaluationScan`."""

    def collect(self) -> Any:
        """The evaluation of all rows, in memory."""

    def beside(self, evaluation: Scored) -> Self:
        """An evaluation in memory as a scan of the same engine."""


# What functions take that work in memory and over files alike.
ScoredOrScanned: TypeAlias = Scored | Scanned

_MEMBERS = ("collect", "beside", "counted_table")


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


def engine_setting(run: Any) -> dict[str, object]:
    """The engine of a scan as a setting of a result; nothing for scores in memory."""
    return {"engine": run.engine} if is_scan(run) else {}

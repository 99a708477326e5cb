"""What a scan cannot do, because it needs every score in memory: the error says what to do."""

from __future__ import annotations

from collections.abc import Iterable

from rageval_report.analysis.arguments import MeanKeywords
from rageval_report.analysis.cluster_labels import Clusters
from rageval_report.errors import DataError
from rageval_report.scores import Correct


class ClusteredMeanKeywords(MeanKeywords, total=False):
    """The keywords of means, and clusters."""

    clusters: Clusters | None


class ScanReportKeywords(ClusteredMeanKeywords, total=False):
    """The keywords of the page of a scan."""

    title: str | None
    by: str | Iterable[str] | None
    correct: Correct | None
    k: int | None
    pictures: bool
    longest_text: int | None
    metrics: str | Iterable[str] | None


def needs_memory(what: str) -> DataError:
    """The error for something that a scan cannot do.

    Parameters
    ----------
    what : str
        What needs the scores, such as "weights= of rank()".

    Examples
    --------
    >>> print(needs_memory("weights= of rank()"))
    weights= of rank() needs every score in memory; bring the scan into memory with .collect()
    """
    return DataError(
        f"{what} needs every score in memory; bring the scan into memory with .collect()"
    )

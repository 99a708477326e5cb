"""What a scan cannot do, because it needs every score in memory: the error says what to do."""

from __future__ import annotations

from collections.abc import Iterable

from rageval_report.analysis.arguments import MeanKeywords
from rageval_report.analysis.comparing.pairing import Clusters
from rageval_report.errors import DataError


class ClusteredMeanKeywords(MeanKeywords, total=False):
    """The keywords of means, and clusters, which a scan refuses."""

    clusters: Clusters | None


class ScanReportKeywords(MeanKeywords, total=False):
    """The keywords of the page of a scan."""

    title: str | None
    by: str | Iterable[str] | None
    pictures: bool
    longest_text: int | None
    metrics: str | Iterable[str] | None


def needs_memory(what: str) -> DataError:
    """The error for something that a scan cannot do.

    Parameters
    ----------
    what : str
        What needs the scores, such as "clusters= of gate()".

    Examples
    --------
    >>> print(needs_memory("clusters= of gate()"))
    clusters= of gate() needs every score in memory; bring the scan into memory with .collect()
    """
    return DataError(
        f"{what} needs every score in memory; bring the scan into memory with .collect()"
    )


def check_without_clusters(call: str, clusters: object) -> None:
    """Refuse clusters.

    Raises
    ------
    DataError
        If there are any.
    """
    if clusters is not None:
        raise needs_memory(f"clusters= of {call}")

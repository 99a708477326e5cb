"""What analyses need for some evaluations only, each loaded on its first use.

Intervals of clusters bring the tests of pairs, and hardly any report of one run has clusters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.analysis.cluster_means import cluster_intervals as cluster_intervals
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)

"""The functions behind the `report` methods of results.

Reports stand above the analyses, so no import leads there. A person who holds a comparison or a
ranking looks for its report there all the same; the function is loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rageval_report._registry import Registry

if TYPE_CHECKING:
    from rageval_report.reports.report import Report

REPORTS: Registry[Callable[..., Report]] = Registry(
    "report of a result",
    {
        "comparison": "rageval_report.reports:report_comparison",
        "ranking": "rageval_report.reports:report_ranking",
    },
)

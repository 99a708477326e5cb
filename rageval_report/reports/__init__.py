"""The report file: one page that holds verdicts, tables, pictures, slices and every query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.reports.build import report_evaluation as report_evaluation
    from rageval_report.reports.build import report_ranking as report_ranking
    from rageval_report.reports.comparison_report import report_comparison as report_comparison
    from rageval_report.reports.report import Report as Report
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)

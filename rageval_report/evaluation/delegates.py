"""The functions to which the methods of an evaluation hand over, each loaded on its first call.

An evaluation is often made to be asked one thing, so a script that asks for a report does not wait
until planning, gates, judges and thirty readers are loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.analysis.agreement import judges_agreement as judges_agreement
    from rageval_report.analysis.agreement import (
        judges_disagreements as judges_disagreements,
    )
    from rageval_report.analysis.breakdown import breakdown as breakdown
    from rageval_report.analysis.breakdown import check_cause as check_cause
    from rageval_report.analysis.breakdown import failure_causes as failure_causes
    from rageval_report.analysis.breakdown import (
        retrieval_by_generation as retrieval_by_generation,
    )
    from rageval_report.analysis.calibrate import calibrate as calibrate
    from rageval_report.analysis.compare import compare as compare
    from rageval_report.analysis.gate import gate as gate
    from rageval_report.analysis.outcomes import outcome_table as outcome_table
    from rageval_report.analysis.report import aggregated_report as aggregated_report
    from rageval_report.analysis.report import aggregated_scores as aggregated_scores
    from rageval_report.analysis.report import (
        comparative_detailed_report as comparative_detailed_report,
    )
    from rageval_report.analysis.report import detailed_report as detailed_report
    from rageval_report.analysis.report import evaluation_report as evaluation_report
    from rageval_report.analysis.report import report_of_means as report_of_means
    from rageval_report.analysis.slices import slice_summary as slice_summary
    from rageval_report.analysis.thresholds import below_threshold as below_threshold
    from rageval_report.analysis.thresholds import failures as failures
    from rageval_report.analysis.thresholds import find_thresholds as find_thresholds
    from rageval_report.analysis.weighted import weighted_score as weighted_score
    from rageval_report.plots import plot_named as plot_named
    from rageval_report.readers import pick_pipeline as pick_pipeline
    from rageval_report.readers import reason_to_refuse as reason_to_refuse
    from rageval_report.reports import report_evaluation as report_evaluation
    from rageval_report.reports.comparison_report import (
        correction_of_slices as correction_of_slices,
    )
    from rageval_report.reports.comparison_report import named_clusters as named_clusters
    from rageval_report.scale.scan import open_scan as open_scan
    from rageval_report.scale.tables import ScanOptions as ScanOptions
    from rageval_report.scores.frame_export import frame_for as frame_for
    from rageval_report.sources.base import SavedContent as SavedContent
    from rageval_report.sources.reading import read as read
    from rageval_report.sources.saving import save_evaluation as save_evaluation
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)

"""Golden sets: the right answers to questions; checked, split, made from documents, reviewed.

A golden set is a file of JSON Lines, one object per question (`GoldenItem`). Its format is
described in ``docs/golden.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.datasets.golden_items import GoldenItem as GoldenItem
    from rageval_report.datasets.golden_items import read_golden as read_golden
    from rageval_report.datasets.golden_items import write_golden as write_golden
    from rageval_report.datasets.golden_sets import golden_records as golden_records
    from rageval_report.golden.check import CHECKS as CHECKS
    from rageval_report.golden.check import Limits as Limits
    from rageval_report.golden.check import check_golden as check_golden
    from rageval_report.golden.filters import FILTERS as FILTERS
    from rageval_report.golden.generate import Generated as Generated
    from rageval_report.golden.generate import generate_golden as generate_golden
    from rageval_report.golden.golden_review import apply_review as apply_review
    from rageval_report.golden.golden_review import read_review as read_review
    from rageval_report.golden.golden_review import review_sheet as review_sheet
    from rageval_report.golden.ground_truths import ground_truth as ground_truth
    from rageval_report.golden.ground_truths import highly_relevant as highly_relevant
    from rageval_report.golden.prompts import load_prompts as load_prompts
    from rageval_report.golden.review_html import review_page as review_page
    from rageval_report.golden.sampling import sample_golden as sample_golden
    from rageval_report.golden.sampling import split_golden as split_golden
    from rageval_report.golden.source_documents import Documents as Documents
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)

"""Golden sets: the right answers to questions; checked, sampled, made from documents, reviewed.

A golden set is a file of JSON Lines, one object per question (`GoldenItem`). Its format is
described in ``docs/golden.md``.
"""

from __future__ import annotations

from rageval_report.records.golden import (
    Documents,
    GoldenItem,
    golden_records,
    highly_relevant,
    read_golden,
    sample_golden,
    write_golden,
)
from rageval_report.records.golden_checks import CHECKS, check_golden
from rageval_report.records.golden_drafts import (
    Generated,
    generate_golden,
    ground_truth,
)
from rageval_report.records.golden_review import (
    apply_review,
    read_review,
    review_page,
)

__all__ = [
    "CHECKS",
    "Documents",
    "Generated",
    "GoldenItem",
    "apply_review",
    "check_golden",
    "generate_golden",
    "golden_records",
    "ground_truth",
    "highly_relevant",
    "read_golden",
    "read_review",
    "review_page",
    "sample_golden",
    "write_golden",
]

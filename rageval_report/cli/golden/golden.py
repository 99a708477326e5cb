"""The commands on golden sets."""

from __future__ import annotations

from rageval_report.cli.command import Family
from rageval_report.cli.golden.evaluate import evaluate
from rageval_report.cli.golden.making import generate, ground_truth
from rageval_report.cli.golden.sets import check, records, review, sample, split

golden = Family(
    "golden",
    """
    Check, sample, split, make and review golden sets.

    A golden set holds one object per line: question, references, gold; see docs/golden.md.
    """,
    [check, sample, split, generate, ground_truth, review, records, evaluate],
)

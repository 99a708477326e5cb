"""A judge's answer becomes a verdict, or is said to hold none: it is never guessed.

JSON is looked for first, whole or among prose; then a verdict in plain words, in any of the
languages of `words`. What cannot be read raises `UnreadableError`, and the score is missing.
"""

from __future__ import annotations

from rageval_report.judges.parsing.grades import read_grade
from rageval_report.judges.parsing.lists import read_claims, read_verdicts
from rageval_report.judges.parsing.objects import UnreadableError
from rageval_report.judges.parsing.truths import read_preference, read_truth

__all__ = [
    "UnreadableError",
    "read_claims",
    "read_grade",
    "read_preference",
    "read_truth",
    "read_verdicts",
]

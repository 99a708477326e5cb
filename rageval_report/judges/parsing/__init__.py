"""A judge's answer becomes a verdict; an answer without a clear verdict is never guessed.

JSON is looked for first, alone or among prose; then a verdict in words, in any of the languages of
`words`. An answer that cannot be read raises `UnreadableError`, and the score is missing.
"""

from __future__ import annotations

from rageval_report.judges.parsing.choices import read_preference, read_truth
from rageval_report.judges.parsing.grades import read_grade
from rageval_report.judges.parsing.objects import UnreadableError
from rageval_report.judges.parsing.verdict_lists import read_claims, read_verdicts

__all__ = [
    "UnreadableError",
    "read_claims",
    "read_grade",
    "read_preference",
    "read_truth",
    "read_verdicts",
]

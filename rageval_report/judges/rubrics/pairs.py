"""Rubrics that lay two answers beside each other."""

from __future__ import annotations

from rageval_report.judges.rubric import Rubric

PREFERENCE = Rubric(
    "preference",
    "Which of two answers is better?",
    """Which of the two answers to the question is better?
{question}
{first}
{second}
Look first at whether they are right and answer what was asked, then at whether they are complete,
then at clarity. Length, tone and which of them stands first say nothing. Choose "tie" if you would
be as content with the one as with the other.""",
    kind="preference",
)

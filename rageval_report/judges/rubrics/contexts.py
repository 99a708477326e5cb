"""Rubrics of what was retrieved."""

from __future__ import annotations

from rageval_report.judges.rubric import Rubric

CONTEXT_RELEVANCE = Rubric(
    "context_relevance",
    "Which share of the retrieved contexts bears on the question?",
    """Which of the contexts bear on the question?
{question}
{contexts}
The verdict on a context is true if it holds something that helps to answer the question, even if
only a part of it; false if it is about something else, or shares words with the question only.""",
    kind="contexts",
    group="retrieval",
)

CONTEXT_PRECISION = Rubric(
    "context_precision",
    "Do the contexts that lead to the reference stand before the others?",
    """Which of the contexts lead to the reference answer?
{question}
{reference}
{contexts}
The verdict on a context is true if it holds a fact that the reference states or follows from; false
if the reference could be given as well without it.""",
    kind="contexts",
    combine="average_precision",
    group="retrieval",
    source="Es et al. 2023",
)

CONTEXT_UTILIZATION = Rubric(
    "context_utilization",
    "Which share of the retrieved contexts does the answer use?",
    """Which of the contexts does the answer use?
{question}
{answer}
{contexts}
The verdict on a context is true if the answer says something that the context states, in whatever
words; false if the answer could have been given as well without it. Whether the answer is right is
not asked here.""",
    kind="contexts",
    group="retrieval",
)

CONTEXT_RECALL = Rubric(
    "context_recall",
    "Which share of the reference's claims do the contexts support?",
    """Which of the claims do the contexts support?
{contexts}
{claims}
A claim is supported (verdict true) if a careful reader who knew nothing but the contexts would
agree to all of it; else it is not (verdict false), even if you know it to be true.""",
    kind="claims",
    extract="""Take the reference answer apart into its claims.
{question}
{reference}
A claim is one short sentence that can be checked by itself: put names where the text has pronouns,
and use the question only to understand what it is about. Keep every figure, name and date; add
nothing. Several references, with numbers, are wordings of one answer: take the first.""",
    group="retrieval",
    source="Es et al. 2023",
)

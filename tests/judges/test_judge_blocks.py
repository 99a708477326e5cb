"""Judged a table at a time: as all at once, with one budget, one brake and one account."""

from __future__ import annotations

import pandas as pd
import pytest

from rageval_report.errors import DataError, JudgeError
from rageval_report.judges import Reply, ScriptedChat, judge
from rageval_report.judges.judging import judge_blocks
from rageval_report.records import record_table

ROWS = [
    {
        "query_id": f"q{n}",
        "question": f"Why {n}?",
        "answer": None if n == 4 else f"So, {n}.",
        "error": "timeout: late" if n == 4 else None,
        "reference": [] if n == 2 else ["So."],
        "contexts": ["c" * 999],
    }
    for n in range(7)
]
TABLE = record_table(ROWS)
RUBRICS = ["coherence", "answer_correctness"]


def blocks():
    return [TABLE.iloc[start : start + 3] for start in range(0, 7, 3)]


def says(prompt):
    """A mark that hangs on what is judged, whatever the order."""
    return f'{{"reasoning": "as I see it", "score": {1 + sum(prompt.encode()) % 5}}}'


def kept(table):
    return table[["question"]]


def test_verdicts_notes_and_account_are_those_of_all_at_once():
    told = []
    whole = judge(TABLE, RUBRICS, says, n_repeats=2)
    found = judge_blocks(blocks, RUBRICS, says, kept=kept, n_repeats=2, tell=told.append)
    for name in ("scores", "states", "usage", "noise"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(whole, name))
    assert (found.notes, found.settings) == (whole.notes, whole.settings)
    assert told == [
        "coherence is not judged on 1 of 7 records: the pipeline failed (1)",
        "answer_correctness is not judged on 2 of 7 records: there is no reference (1), "
        "the pipeline failed (1)",
    ]
    assert list(found.records) == ["question"]


def test_one_budget_holds_for_all_tables():
    mark = Reply('{"reasoning": "so", "score": 5}', 200, 100)
    chat = ScriptedChat(lambda message: mark, model="m", max_tokens=100)
    costs = {"prices": {"m": (1.0, 10.0)}, "max_cost": 0.006, "concurrency": 1}
    found = judge_blocks(blocks, "coherence", chat, kept=kept, **costs)
    n = found.scores["coherence"].notna().sum()
    assert found.usage["cost_usd"].item() == pytest.approx(n * 0.0012)  # (200 + 100 * 10) / 1e6
    assert 3 < n < 6  # a table has three
    assert len(chat.asked) == n
    assert "not asked: the budget of 0.006 USD" in found.states["coherence_reason"].iloc[-1]


def test_a_judge_that_is_down_is_given_up_once_for_all():
    asked = []

    def down(prompt):
        asked.append(prompt)
        raise JudgeError("out of order")

    with pytest.raises(JudgeError, match="out of order"):
        judge_blocks(blocks, "coherence", down, kept=kept, give_up_after=2, concurrency=1)
    assert len(asked) == 2


def test_a_field_that_no_table_has_is_told_before_anybody_is_asked():
    asked = []
    bare = [table.drop(columns="reference") for table in blocks()]
    with pytest.raises(DataError, match="the records have no reference"):
        judge_blocks(lambda: bare, RUBRICS, asked.append, kept=kept)
    assert asked == []

"""Scored a table at a time: the same scores as all at once, with the texts cut."""

from __future__ import annotations

import pandas as pd
import pytest

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.judges import ScriptedChat
from rageval_report.metrics.views import Tools
from rageval_report.records import record_table
from rageval_report.scoring.blocks import score_blocks, shorten_records
from rageval_report.scoring.records import score_and_judge

METRICS = ["exact_match", "recall@1", "false_refusal", "hallucinated_answer", "latency_ms"]
METRICS += ["recall_similarity@5"]  # no record has what it needs


def row(n):
    """Some are unanswerable, some failed, and neither is spread evenly over the tables."""
    failed = {"error": "timeout: late"} if n in (5, 6) else {"answer": f"So. {n} {'x' * 300}"}
    return failed | {
        "query_id": f"q{n}",
        "question": f"Why {n}?",
        "reference": [f"So. {n} {'x' * 300}", "Because."],
        "relevant": ["d1"],
        "retrieved": ["d1", "d2"] if n % 2 else ["d2"],
        "contexts": ["c" * 999],
        "answerable": n not in (8, 9, 10, 11),
        "latency_ms": 10.0 + n,
        "topic": "a" if n % 3 else "b",
    }


TABLE = record_table([row(n) for n in range(12)])


def blocks(size=4):
    return [TABLE.iloc[start : start + size] for start in range(0, len(TABLE), size)]


@pytest.mark.parametrize("size", [1, 4, 5, 12])
def test_scores_and_states_are_those_of_all_at_once(size):
    whole = score_and_judge(TABLE, METRICS, lacking="unscored").evaluation
    found = score_blocks(lambda: blocks(size), METRICS).evaluation
    pd.testing.assert_frame_equal(found.scores, whole.scores)
    assert found.scores.index.dtype == whole.scores.index.dtype
    pd.testing.assert_frame_equal(found.states, whole.states)
    reasons = [name for name in whole.details if name.endswith(("_state", "_reason"))]
    assert reasons
    pd.testing.assert_frame_equal(
        found.details[reasons].astype(object), whole.details[reasons].astype(object)
    )


def test_texts_are_cut_and_lists_left_out_and_the_notes_say_so():
    found = score_blocks(blocks, METRICS, notes=("the texts are elsewhere",)).evaluation
    details = found.details
    assert not {"contexts", "retrieved", "relevant"} & set(details)
    assert details.loc["q1", "answer"] == "So. 1 " + "x" * 193 + "…"
    assert details.loc["q1", "reference"] == details.loc["q1", "answer"]
    assert details["topic"].tolist() == TABLE["topic"].tolist()
    assert found.notes[0] == "the texts are elsewhere"
    assert "texts are cut at 200 characters here" in found.notes[1]


def test_lists_and_objects_of_metadata_are_left_out():
    found = shorten_records(
        pd.DataFrame({"tags": [["a"], "b"], "level": [1, 2], "more": [{"x": 1}, None]})
    )
    assert found["tags"].tolist() == [None, "b"]
    assert found["level"].tolist() == [1, 2]
    assert found["more"].isna().all()


def test_what_is_judged_stands_beside_what_is_computed():
    chat = ScriptedChat(['{"reasoning": "well", "score": 5}'] * 10)
    found = score_blocks(blocks, ["exact_match", "coherence"], chat=chat)
    judged = found.evaluation.scores["coherence"]
    assert judged.notna().sum() == 10
    assert found.evaluation.scores["exact_match"].notna().sum() == 10
    assert found.evaluation.config["judge"] == found.judged.settings
    assert "contexts" not in found.evaluation.details


def test_without_a_record_there_is_nothing_to_score():
    with pytest.raises(DataError, match="there is none"):
        score_blocks(list, "exact_match")


def test_what_is_asked_wrongly_is_told_as_ever():
    with pytest.raises(DataError, match="coherence needs a judge"):
        score_blocks(blocks, "coherence")
    with pytest.raises(UnknownNameError, match="duplicates must be"):
        score_blocks(blocks, "exact_match", tools=Tools(duplicates="last"))

"""Queries: the same from a file or a table, drawn by a seed, their gold kept from the pipeline."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError, ReaderError
from rageval_report.runner.query_source import (
    Query,
    queries_of,
    sample_mask,
)

ROWS = [
    {"qid": "a", "query": "Why?", "relevant": ["d1"], "language": "en"},
    {"qid": "b", "query": "Wie?", "relevant": ["d2"], "language": "de"},
]


def test_a_file_and_a_table_give_the_same_queries(write):
    path = write("".join(json.dumps(row) + "\n" for row in ROWS), "queries.jsonl")
    from_file, from_table = queries_of(path), queries_of(ROWS)
    assert list(from_file) == list(from_table) == list(queries_of(pd.DataFrame(ROWS)))
    assert from_file.fingerprint == from_table.fingerprint


def test_another_question_is_another_fingerprint():
    changed = [{**ROWS[0], "query": "Why not?"}, ROWS[1]]
    assert queries_of(changed).fingerprint != queries_of(ROWS).fingerprint


def test_the_pipeline_is_never_shown_the_gold():
    gold = {
        "reference": "So.",
        "relevant_ids": ["d1"],
        "gold_contexts": ["..."],
        "answerable": True,
    }
    query = Query(0, "a", "Why?", {**gold, "response": "an earlier one", "language": "en"})
    assert query.public_fields == {"query_id": "a", "question": "Why?", "language": "en"}


@pytest.mark.parametrize(
    "name",
    [
        *("references", "ground_truth", "answers", "relevant_spans", "relevance", "Is Answerable"),
        *("query_type", "queryType", "difficulty", "is_unanswerable", "gold_doc_ids", "evidence"),
        *("expected_document_ids", "negative_references", "response_given", "latency_ms"),
        *("provenance", "passages", "supporting_facts", "error_kind"),
    ],
)
def test_no_name_under_which_sets_tell_the_gold_may_be_sent(name):
    query = Query(0, "a", "Why?", {"reference": "So.", "answer": "No.", name: "GOLD"})
    assert query.public_fields == {"query_id": "a", "question": "Why?"}
    assert query.kept_fields()[name if name in query.kept_fields() else f"{name}_given"] == "GOLD"


def test_gold_within_metadata_is_not_shown_and_what_is_not_gold_is():
    history = [{"question": "Who?", "answer": "Ann."}]
    told = {"query_type": "unanswerable", "relevant": {"d1": 2}, "language": "en"}
    query = Query(0, "a", "Why?", {"metadata": told, "history": history})
    assert query.public_fields["metadata"] == {"language": "en"}
    assert query.public_fields["history"] == history
    assert query.kept_fields()["metadata"] == told


def test_an_earlier_answer_is_kept_under_another_name():
    query = Query(0, "a", "Why?", {"response": "No.", "context": "...", "latency_ms": 3.0})
    assert query.kept_fields() == {
        "query_id": "a",
        "question": "Why?",
        "response_given": "No.",
        "context_given": "...",
        "latency_ms_given": 3.0,
    }


def test_what_an_earlier_run_kept_is_not_lost_to_what_this_one_keeps():
    given = {"latency_ms": 5, "latency_ms_given": 7, "topic": "x"}
    kept = Query(0, "a", "Why?", given).kept_fields()
    assert list(kept.values())[2:] == [5, 7, "x"]
    assert (kept["latency_ms_given_2"], kept["latency_ms_given"]) == (5, 7)


def test_a_file_without_ids_has_them_derived_from_its_questions(write):
    path = write('{"question": "Why?"}\n{"question": "How?"}\n')
    found = list(queries_of(path))
    assert len({query.query_id for query in found}) == 2


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"query_id": "b"}', "the question is missing"),
        ('{"question": "b"}', "the id is missing"),
        ('{"query_id": "b", "question": " "}', "expected a question that is a text; got ' '"),
        ('{"query_id": "b", "question": 3}', "expected a question that is a text; got 3"),
        ('{"query_id": 1.5, "question": "b"}', "expected an id \\(a text or an integer\\)"),
        ("[]", "expected one JSON object per line"),
    ],
)
def test_a_wrong_line_is_told_by_its_number(write, line, told):
    path = write('{"query_id": "a", "question": "Why?"}\n' + line + "\n")
    with pytest.raises(ReaderError, match="line 2: .*" + told):
        queries_of(path)


def test_ids_that_are_there_twice_are_named():
    with pytest.raises(DataError, match="appear more than once: 'a'"):
        queries_of([ROWS[0], ROWS[0]])


def test_a_file_without_queries_is_refused(write):
    with pytest.raises(ReaderError, match="expected one query per line; there is none"):
        queries_of(write("\n"))


def test_cells_of_a_table_become_what_json_has():
    frame = pd.DataFrame(
        {
            "query_id": [7],
            "question": ["Why?"],
            "tags": [np.array(["x", "y"])],
            "level": np.array([3], dtype=np.int8),
            "note": [np.nan],
            "day": [pd.Timestamp("2026-01-02")],
        }
    )
    (query,) = queries_of(frame)
    assert query.query_id == "7"
    assert json.loads(json.dumps(query.other_fields)) == {
        "tags": ["x", "y"],
        "level": 3,
        "note": None,
        "day": "2026-01-02T00:00:00",
    }


def queries_to_draw(n):
    return queries_of([{"query_id": f"q{row}", "question": "Why?"} for row in range(n)])


def test_a_draw_is_of_that_size_and_the_same_for_its_seed():
    queries = queries_to_draw(1000)
    masks = [sample_mask(queries, 100, seed) for seed in (0, 0, 1)]
    assert [mask.sum() for mask in masks] == [100, 100, 100]
    assert (masks[0] == masks[1]).all()
    assert (masks[0] != masks[2]).any()


def test_a_draw_of_more_than_there_are_is_all_of_them():
    assert sample_mask(queries_to_draw(5), 9, 0).all()
    assert sample_mask(queries_to_draw(5), None, 0).all()


def test_every_query_is_drawn_about_equally_often():
    queries = queries_to_draw(20)
    counts = sum(sample_mask(queries, 5, seed).astype(int) for seed in range(2000))
    # Binomial(2000, 1/4): mean 500, standard deviation 19.4; five of them on either side.
    assert abs(counts - 500).max() < 5 * 19.4


def sampled(rows, samples, seed):
    """The questions and grades of the sample, sorted."""
    queries = queries_of(rows)
    mask = sample_mask(queries, samples, seed)
    return sorted((q.question, q.other_fields["grade"]) for q in queries if mask[q.row])


@given(
    names=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    has_ids=st.booleans(),
    samples=st.integers(1, 12),
    seed=st.integers(0, 9),
    data=st.data(),
)
def test_shuffled_queries_have_the_same_sample(names, has_ids, samples, seed, data):
    # Without ids a question may repeat; the rows then differ in their grade.
    rows = [{"question": f"Question {name}?", "grade": row} for row, name in enumerate(names)]
    if has_ids:
        rows = [{"query_id": f"q{row}", **fields} for row, fields in enumerate(rows)]
    shuffled = data.draw(st.permutations(rows))
    assert sampled(shuffled, samples, seed) == sampled(rows, samples, seed)


def test_a_file_in_another_order_has_the_same_sample(tmp_path):
    rows = [{"query_id": f"q{row}", "question": "Why?", "grade": row} for row in range(50)]
    lines = [json.dumps(row) + "\n" for row in rows]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    (tmp_path / "b.jsonl").write_text("".join(sorted(lines)))
    first, second, table = (
        sampled(source, 7, 3) for source in (tmp_path / "a.jsonl", tmp_path / "b.jsonl", rows)
    )
    assert first == second == table

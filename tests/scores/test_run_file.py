"""Run files hold all that an evaluation holds: read back, it is equal."""

import json
import math
import re
from datetime import UTC, date, datetime

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, read_scores
from rageval_report.errors import DataError, ReaderError
from rageval_report.scores.run_file import (
    query_set,
    query_set_hash,
    run_document,
    time_of,
)

# -- what it says


RUN = RAGPipelineEvaluation(
    "hybrid",
    {
        "query_id": ["a", "b", "c"],
        "reference": ["x", "y", "z"],
        "recall": [0.5, math.nan, 1.0],
        "recall_state": ["scored", "failed", "scored"],
        "recall_reason": [None, "timeout", None],
        "my_cost_index": [1.0, 2.0, 6.0],
    },
    metrics={"my_cost_index": "lower"},
    config={"top_k": 5, "embedding": None},
)


def test_the_scorecard_and_the_states_stand_in_the_file():
    document = run_document(RUN, config=RUN.config)
    assert document["scorecard"]["retrieval"]["recall"] == {"mean": 0.75, "n": 2, "n_unscored": 1}
    assert document["queries"][1]["states"] == {"recall": "failed"}
    assert document["queries"][1]["details"]["recall_reason"] == "timeout"
    assert document["config"] == {"top_k": 5, "embedding": None}


def test_configuration_directions_states_and_notes_are_read_back(tmp_path):
    noted = RUN.with_notes("ids were guessed")
    again = RAGPipelineEvaluation.load(None, noted.save(tmp_path / "run.json"))
    assert again.name == "hybrid"
    assert again.config == RUN.config
    assert not again.metrics["my_cost_index"].greater_is_better
    assert again.states["recall"].tolist() == ["scored", "failed", "scored"]
    assert "ids were guessed" in again.notes


def test_the_hash_tells_query_sets_apart_and_not_their_order():
    assert query_set_hash(RUN) == query_set_hash(RAGPipelineEvaluation("other", RUN.data[::-1]))
    changed = RUN.data.assign(reference=["x", "y", "changed"])
    assert query_set_hash(RUN) != query_set_hash(RAGPipelineEvaluation("other", changed))


def saved_document(tmp_path, **changes):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run_document(RUN) | changes), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"format_version": 2}, "format version 2, written by rageval_report .* update"),
        (
            {"format_version": "1"},
            "format_version must be an integer >= 1; got '1'",
        ),
        ({"queries": {}}, "field 'queries' of the file must be a list"),
        ({"queries": [3]}, "field 'queries' of the file must be a list of objects"),
        ({"metrics": []}, "field 'metrics' of the file must be a dict"),
        (
            {"queries": [{"query_id": "a", "scores": 3}]},
            "field 'scores' of the file must be a dict",
        ),
        ({"queries": []}, "empty"),
    ],
)
def test_a_run_file_that_cannot_be_right_is_told(tmp_path, changes, told):
    with pytest.raises(ReaderError, match=told) as caught:
        read_scores(saved_document(tmp_path, **changes))
    assert re.search(r"run\.json", str(caught.value))


def test_a_time_without_a_zone_is_utc_and_a_day_its_first_moment():
    expected = datetime(2026, 8, 1, tzinfo=UTC)
    for told in (
        "2026-08-01",
        "2026-08-01T00:00",
        date(2026, 8, 1),
        datetime(2026, 8, 1),
        expected,
    ):
        assert time_of(told) == expected


@pytest.mark.parametrize("told", ["", "monday", "2026-13-01", 20260801, None, pd.NaT])
def test_what_is_no_time_says_what_one_looks_like(told):
    with pytest.raises(DataError, match="ISO 8601 format, such as 2026-08-01T09:30:00"):
        time_of(told)


def test_a_state_that_the_details_hold_is_read_back_as_it_was(tmp_path):
    data = {"query_id": ["q1", "q2"], "recall": [None, 0.5], "recall_state": ["failed", "odd"]}
    RAGPipelineEvaluation("a", data).save(tmp_path / "run.json")
    again = RAGPipelineEvaluation.load("a", tmp_path / "run.json")
    assert again.details["recall_state"].tolist() == ["failed", "odd"]


def test_a_query_is_its_id_and_its_reference_as_json_in_the_letters_of_the_text():
    rows = {"query_id": ["é", "b"], "recall": [0.5, 1.0], "reference": ["東京", None]}
    evaluation = RAGPipelineEvaluation("hybrid", rows)
    assert query_set(evaluation) == ['["é", "東京"]', '["b", null]']
    assert query_set(RAGPipelineEvaluation("x", {"query_id": ["a"], "recall": [1.0]})) == [
        '["a", null]'
    ]


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=20)
REFERENCES = st.one_of(st.none(), TEXTS)


def hash_of(ids, references=None):
    data = {"query_id": ids, "recall": [0.5] * len(ids)}
    if references is not None:
        data["reference"] = references
    return query_set_hash(RAGPipelineEvaluation("hybrid", data))


@given(st.dictionaries(TEXTS, REFERENCES, min_size=1, max_size=10), st.data())
@settings(max_examples=25)
def test_the_order_does_not_change_the_set(queries, data):
    shuffled = data.draw(st.permutations([*queries.items()]))
    ids, references = zip(*shuffled, strict=True)
    assert hash_of([*ids], [*references]) == hash_of([*queries], [*queries.values()])


@pytest.mark.parametrize(
    ("first", "second", "are_same"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", None], ["a", ""], False),
        ([1.0, float("nan")], [1, None], True),
        ([["x", "y"], "b"], [("x", "y"), "b"], True),
        ([["x", "y"], "b"], [["y", "x"], "b"], False),
        (["a", "b"], ["b", "a"], False),
    ],
)
def test_references_are_part_of_the_identity(first, second, are_same):
    assert (hash_of(["q1", "q2"], first) == hash_of(["q1", "q2"], second)) == are_same


def test_no_column_of_references_is_one_without_references():
    assert hash_of(["q1", "q2"], [None, None]) == hash_of(["q1", "q2"])

"""Run files hold all that an evaluation holds: read back, it is equal."""

import json
import math
import re
from datetime import UTC, date, datetime
from hashlib import blake2b

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rageval_report.scores.aggregate_rows import kinds_of_label

from rageval_report import RAGPipelineEvaluation, read_scores
from rageval_report.errors import DataError, ReaderError
from rageval_report.scores.run_file import (
    distinct_columns,
    parse_run_document,
    plain_value,
    query_set,
    query_set_hash,
    run_document,
    time_of,
)

HARD = [
    'He said "no"',
    "a\rb",
    "line\r\nbreak",
    "tab\t,;",
    "🦶 ümlaut \u2028 x",
    "",
    " ",
    "007",
    "1.50",
]
TEXTS = st.one_of(
    st.sampled_from(HARD),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
)
CELLS = st.recursive(
    st.none() | TEXTS | st.booleans() | st.integers(-(2**53), 2**53),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=5,
)
METRICS = ["recall@5", "faithfulness", "latency_ms", "Own Score"]


@st.composite
def evaluations(draw, cells=CELLS, details=("question", "answer", "contexts", "topic", "note_é")):
    """Evaluations of any texts, lists, missing scores, and orders of columns."""
    ids = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5)
    n = draw(st.integers(1, 5))
    # "SUM" names a total, and a table of totals alone is refused.
    ids = ids.filter(lambda text: text.strip() and not kinds_of_label(text))
    made = draw(st.lists(ids, min_size=n, max_size=n, unique=True))
    score = st.one_of(st.none(), st.floats(0, 1))
    columns = {
        name: draw(st.lists(score, min_size=n, max_size=n))
        for name in draw(st.lists(st.sampled_from(METRICS), min_size=1, unique=True))
    }
    for name in draw(st.lists(st.sampled_from(details), unique=True)):
        columns[name] = draw(st.lists(cells, min_size=n, max_size=n))
    order = draw(st.permutations(list(columns)))
    data = {"query_id": made, **{name: columns[name] for name in order}}
    asked = [name for name in order if name in METRICS]
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in data.items()})
    frame[asked] = frame[asked].astype(float)
    return RAGPipelineEvaluation(draw(TEXTS.filter(str.strip)), frame, metrics=asked)


def assert_equal(again, evaluation):
    assert list(again.scores.index) == list(evaluation.scores.index)
    assert list(again.scores) == list(evaluation.scores)
    np.testing.assert_array_equal(again.scores.to_numpy(), evaluation.scores.to_numpy())
    assert list(again.details) == list(evaluation.details)
    for name in evaluation.details:
        ours, theirs = (list(one.details[name]) for one in (evaluation, again))
        assert list(map(plain_value, theirs)) == list(map(plain_value, ours)), name


@given(evaluations())
@settings(max_examples=25)
def test_any_evaluation_survives_a_run_file(tmp_path_factory, evaluation):
    path = evaluation.save(tmp_path_factory.mktemp("run") / "run.json")
    again = RAGPipelineEvaluation.load(None, path, reader="run_file")
    assert again.name == evaluation.name
    assert_equal(again, evaluation)
    for name, metric in evaluation.metrics.items():
        told = again.metrics[name]
        assert (told.kind, told.bounds, told.title, told.greater_is_better) == (
            *(metric.kind, metric.bounds, metric.title, metric.greater_is_better),
        )
    pd.testing.assert_frame_equal(again.states, evaluation.states)


@given(evaluations())
@settings(max_examples=25)
def test_scores_and_details_survive_json_lines(tmp_path_factory, evaluation):
    path = evaluation.save(tmp_path_factory.mktemp("run") / "run.jsonl")
    again = RAGPipelineEvaluation.load(None, path, reader="jsonl", metrics=list(evaluation.scores))
    assert_equal(again, evaluation)


@given(evaluations(cells=st.none() | TEXTS))
@settings(max_examples=25)
def test_scores_and_texts_survive_parquet(tmp_path_factory, evaluation):
    path = evaluation.save(tmp_path_factory.mktemp("run") / "run.parquet")
    asked = list(evaluation.scores)
    again = RAGPipelineEvaluation.load(None, path, reader="parquet", metrics=asked)
    assert_equal(again, evaluation)


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@given(evaluation=evaluations(st.none() | TEXTS, ("question", "answer", "context", "reference")))
@settings(max_examples=25)
def test_scores_and_texts_survive_delimited_text(tmp_path_factory, suffix, evaluation):
    path = evaluation.save(tmp_path_factory.mktemp("run") / f"run.{suffix}")
    again = RAGPipelineEvaluation.load(None, path, reader=suffix, metrics=list(evaluation.scores))
    assert_equal(again, evaluation)


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
    path.write_text(json.dumps(without_digests(run_document(RUN) | changes)), encoding="utf-8")
    return path


def without_digests(document):
    """As an earlier version wrote it."""
    return {key: value for key, value in document.items() if "digest" not in key}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"format_version": 2}, "format version 2, written by rageval_report .* update"),
        (
            {"format_version": "1"},
            "format_version of the run file must be an integer >= 1; got '1'",
        ),
        ({"queries": {}}, "field 'queries' of the run file must be a list"),
        ({"queries": [3]}, "field 'queries' of the run file must be a list of objects"),
        ({"metrics": []}, "field 'metrics' of the run file must be an object"),
        ({"queries": [{"query_id": "a", "scores": 3}]}, "field 'scores' of query 'a' must be an"),
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


def test_a_file_tells_its_time_only_where_it_is_known():
    assert "created" not in run_document(RUN)
    told = run_document(RUN, created=datetime(2026, 8, 1, 9, 30, tzinfo=UTC))
    assert told["created"] == "2026-08-01T09:30:00+00:00"
    assert parse_run_document(told).created == datetime(2026, 8, 1, 9, 30, tzinfo=UTC)


def test_a_time_that_is_no_text_is_refused():
    with pytest.raises(DataError, match="field 'created' of the run file must be a text; got 5"):
        parse_run_document(without_digests(run_document(RUN) | {"created": 5}))


def test_a_table_of_results_is_an_object():
    document = without_digests(run_document(RUN)) | {"results": {"costs": [1, 2]}}
    with pytest.raises(DataError, match=r"results: 'costs' must be an object; got \[1, 2\]"):
        parse_run_document(document)


def test_a_state_that_the_details_hold_is_read_back_as_it_was(tmp_path):
    data = {"query_id": ["q1", "q2"], "recall": [None, 0.5], "recall_state": ["failed", "odd"]}
    RAGPipelineEvaluation("a", data).save(tmp_path / "run.json")
    again = RAGPipelineEvaluation.load("a", tmp_path / "run.json")
    assert again.details["recall_state"].tolist() == ["failed", "odd"]


def test_the_digest_of_a_query_is_half_of_the_digest_of_its_json():
    evaluation = RAGPipelineEvaluation("a", {"query_id": ["q1", "q2"], "recall": [0.5, 1.0]})
    document = json.loads(json.dumps(run_document(evaluation)))
    expected = []
    for query in document["queries"]:
        # As any version must compute it: the length in eight bytes, then the plainest JSON.
        text = json.dumps(query, sort_keys=True, separators=(",", ":")).encode()
        whole = blake2b(len(text).to_bytes(8, "big") + text, digest_size=16)
        expected.append(whole.hexdigest()[:16])
    assert document["query_digests"] == expected


def test_a_query_is_its_id_and_its_reference_as_json_in_the_letters_of_the_text():
    rows = {"query_id": ["é", "b"], "recall": [0.5, 1.0], "reference": ["東京", None]}
    evaluation = RAGPipelineEvaluation("hybrid", rows)
    assert query_set(evaluation) == ['["é", "東京"]', '["b", null]']
    assert query_set(RAGPipelineEvaluation("x", {"query_id": ["a"], "recall": [1.0]})) == [
        '["a", null]'
    ]


def test_details_with_reserved_names_get_columns_of_their_own():
    reserved = {"recall", "recall_detail"}
    names = ["recall", "recall_detail", "topic"]
    assert distinct_columns(names, reserved) == {
        "recall": "recall_detail_detail",
        "recall_detail": "recall_detail_detail_detail",
        "topic": "topic",
    }
    # The column of a detail that keeps its name is taken, wherever it stands.
    assert distinct_columns(["recall", "recall_detail"], {"recall"}) == {
        "recall": "recall_detail_detail",
        "recall_detail": "recall_detail",
    }

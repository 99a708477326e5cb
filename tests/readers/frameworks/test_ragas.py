from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import RagevalError, ReaderError
from rageval_report.readers import READERS, Source, read, recognise
from rageval_report.readers.cell_values import parse_list, parse_literal
from rageval_report.readers.frameworks.ragas import RAGAS
from rageval_report.scores import score_table
from rageval_report.scores.query_ids import ANSWER, CONTEXTS, REFERENCE, first_named

GOLDEN = Path(__file__).parents[2] / "golden" / "ragas"
TOLD = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
TEXT_FRAMES = ["frame.csv", "frame.json", "frame.jsonl", "frame_0.1.csv"]


@pytest.fixture(autouse=True)
def in_the_table(monkeypatch):
    monkeypatch.setitem(READERS._entries, "ragas", RAGAS)


def evaluation(path, **options):
    return RAGPipelineEvaluation.load(None, path, **options)


def rows_of(scores):
    return scores.astype(object).where(scores.notna(), None).to_dict(orient="records")


# -- what ragas 0.4.3 wrote


@pytest.mark.parametrize("name", TEXT_FRAMES)
def test_a_frame_has_the_scores_of_the_evaluation(name):
    assert recognise(Source(GOLDEN / name)) == "ragas"
    assert rows_of(evaluation(GOLDEN / name).scores) == TOLD["values"]


def test_a_parquet_frame_has_the_scores_of_the_evaluation():
    pytest.importorskip("pyarrow")
    [found] = read(GOLDEN / "frame.parquet", reader=RAGAS)
    assert rows_of(score_table(found.frame).scores) == TOLD["values"]
    assert found.frame["retrieved_contexts"].tolist()[0] == ["Rome is.", "It's old."]


@pytest.mark.parametrize("name", TEXT_FRAMES)
def test_a_score_whose_job_raised_failed(name):
    found = evaluation(GOLDEN / name)
    assert found.states["faithfulness"].tolist() == ["scored", "scored", "failed"]
    assert any("1 blank scores of 'faithfulness'" in note for note in found.notes)


@pytest.mark.parametrize("name", TEXT_FRAMES)
def test_texts_keep_their_names_and_lists_are_lists(name):
    details = evaluation(GOLDEN / name).details
    contexts, answers, references = (
        details[first_named(details, names)].tolist() for names in (CONTEXTS, ANSWER, REFERENCE)
    )
    assert contexts == [
        ["Rome is.", "It's old."],
        ['"Köln", says he', "line\nbreak"],
        ["only one"],
    ]
    assert answers[2] == "I don't know, \\d"
    assert references == ["Rome", "1.1 million", "Jane Austen"]


def test_all_containers_give_the_same_ids():
    ids = [evaluation(GOLDEN / name).scores.index.tolist() for name in TEXT_FRAMES]
    assert all(one == ids[0] for one in ids)


def test_noise_sensitivity_is_better_when_lower():
    found = evaluation(GOLDEN / "frame.csv")
    assert not found.metrics["noise_sensitivity(mode=relevant)"].greater_is_better


@pytest.mark.parametrize("name", ["experiment.csv", "experiment.jsonl"])
def test_an_experiment_has_the_values_of_its_results(name):
    found = evaluation(GOLDEN / name)
    by_question = dict(zip(found.details["user_input"], rows_of(found.scores), strict=True))
    asked = ["Capital of Italy?", "Größe von Köln?", 'Who wrote "Emma"?']
    assert [by_question[one]["score"] for one in asked] == TOLD["experiment"]
    reasons = dict(zip(found.details["user_input"], found.details["score_reason"], strict=True))
    assert reasons["Capital of Italy?"] == "it's there"


# -- made up


def test_the_question_of_a_conversation_is_what_the_user_said_last(write):
    talk = [
        {"type": "human", "content": "Hello"},
        {"type": "ai", "content": "Hi"},
        {"type": "human", "content": "Capital of Italy?"},
    ]
    frame = pd.DataFrame({"user_input": [talk], "reference": ["Rome"], "topic_adherence": [0.5]})
    for content in (frame.to_csv(index=False), frame.to_json(orient="records")):
        [found] = read(write(content))
        assert found.frame["user_input"].tolist() == ["Capital of Italy?"]
        assert found.frame["conversation"][0] == talk


def test_labels_of_results_that_are_no_scores_stay_details(write):
    path = write(
        "question,tone,recall\nWho?,MetricResult(value=polite),1\n"
        "When?,\"MetricResult(value=rude, reason='it shouts')\",0\n"
    )
    found = evaluation(path)
    assert list(found.scores) == ["recall"]
    assert found.details["tone"].tolist() == ["polite", "rude"]


def test_a_metric_that_failed_everywhere_is_kept(write):
    found = evaluation(write("user_input,response,faithfulness,recall\nWho?,He.,,1\n"))
    assert found.states["faithfulness"].tolist() == ["failed"]


def test_a_column_asked_for_as_the_id_keeps_its_name(write):
    path = write("user_input,response,recall\n001,He.,1\n")
    assert evaluation(path, query_id="user_input").scores.index.tolist() == ["001"]


def test_columns_may_be_picked(write):
    path = write("user_input,response,recall,mrr\nWho?,He.,1,0\n")
    assert list(evaluation(path, columns=["mrr"]).scores) == ["mrr"]


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_document_that_ends_in_the_middle_is_refused_with_its_line(write, share):
    content = (GOLDEN / "frame.json").read_bytes()
    with pytest.raises(
        ReaderError, match=r"line \d+: the JSON ends in the middle; the file may be cut"
    ):
        read(write(content[: int(share * len(content))]))


# -- lists written as text


@given(st.lists(st.text(max_size=20), max_size=6))
def test_any_list_of_texts_comes_back_from_what_python_writes(texts):
    assert parse_list(repr(texts)) == texts


@given(st.lists(st.text(max_size=20), max_size=6))
def test_any_list_of_texts_comes_back_from_json(texts):
    assert parse_list(json.dumps(texts)) == texts


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=9), max_size=6
    )
)
def test_any_array_of_texts_comes_back_from_what_numpy_writes(texts):
    with np.printoptions(threshold=100):
        assert parse_list(str(np.array(texts, dtype=object))) == texts


@pytest.mark.parametrize(
    "text",
    [
        "[__import__('os').system('true')]",
        "[open('x')]",
        "['a', b]",
        "[x for x in 'ab']",
        "['a' 'b' ... 'c']",
        "['a'",
        "[" * 5000 + "]" * 5000,
        "['" + "x" * 1_000_001 + "']",
        "['\\ud83d']",
        "[\x00]",
        "['\\x']",
    ],
)
def test_what_is_no_list_of_literals_stays_a_text(text):
    assert parse_list(text) is text


def test_a_long_literal_is_not_parsed():
    text = "[" + "1," * 60_000 + "]"
    assert parse_literal(text) is text


# -- files that nobody on the project wrote

MEANS = {  # as given with the files, to four digits
    "v1_ragas_evaluation_results": {
        "context_precision": 0.2083,
        "faithfulness": 0.5,
        "answer_relevancy": 0.8067,
    },
    "v2_ragas_evaluation": {
        "context_precision": 0.4167,
        "faithfulness": 0.5417,
        "answer_relevancy": 0.8334,
    },
    "v3_ragas_evaluation": {
        "context_precision": 0.4167,
        "faithfulness": 0.5417,
        "context_recall": 0.75,
    },
    "v4_ragas_evaluation": {
        "context_precision": 0.5417,
        "faithfulness": 0.7083,
        "context_recall": 1.0,
    },
    "v5_ragas_evaluation": {
        "context_precision": 0.375,
        "faithfulness": 0.8333,
        "context_recall": 0.5,
    },
}


@pytest.mark.parametrize("name", list(MEANS))
def test_means_of_real_files_are_those_given_with_them(real_data, name):
    path = real_data("ragas_elasticsearch_books") / f"{name}.csv"
    assert recognise(Source(path)) == "ragas"
    found = evaluation(path)
    assert found.name == name
    assert found.scores.mean().round(4).to_dict() == MEANS[name]
    assert all(isinstance(texts, list) and texts for texts in found.details["retrieved_contexts"])


def test_a_score_just_below_one_is_kept_as_it_is(real_data):
    [found] = read(real_data("ragas_elasticsearch_books/v4_ragas_evaluation.csv"))
    assert found.frame["context_precision"].max() == 0.9999999999


# -- damaged files

FILES = [(GOLDEN / name).read_bytes() for name in (*TEXT_FRAMES, "experiment.csv")]
PIECES = st.binary(max_size=3) | st.sampled_from([b'"', b",", b"\n", b"'", b"]", b"[", b"nan"])
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), PIECES), min_size=1, max_size=4)


@settings(
    max_examples=80,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.sampled_from(FILES), EDITS, st.sampled_from([None, RAGAS]))
def test_a_damaged_file_is_read_or_refused(tmp_path, content, edits, reader):
    for place, n_lost, piece in edits:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + n_lost :]
    path = tmp_path / "run"
    path.write_bytes(content)
    try:
        for one in read(path, reader=reader):
            assert len(one.frame)
            score_table(one.frame, known=one.metrics, only=one.metric_columns, unreadable="failed")
    except RagevalError:
        pass

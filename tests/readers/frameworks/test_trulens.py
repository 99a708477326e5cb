from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from damage import EDITS, VALUES, damage_settings, edited, is_read_or_refused
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import ReaderError
from rageval_report.readers import READERS, Source, read, recognise
from rageval_report.readers.frameworks.trulens import TRULENS
from rageval_report.readers.frameworks.trulens_results import judge_explanation
from rageval_report.scores import score_table

GOLDEN = Path(__file__).parents[2] / "golden" / "trulens"
TOLD = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))["values"]
FRAMES = ["records.csv", "records.json", "feedback.csv"]
METRICS = {"Groundedness": "groundedness", "Harm": "harm", "Tone": "tone"}


@pytest.fixture(autouse=True)
def in_the_table(monkeypatch):
    monkeypatch.setitem(READERS._entries, "trulens", TRULENS)


def evaluation(path, **options):
    return RAGPipelineEvaluation.load(None, path, **options)


# -- what trulens-core 2.16.0 wrote


@pytest.mark.parametrize("name", FRAMES)
def test_each_version_of_an_app_is_a_pipeline(name):
    assert recognise(Source(GOLDEN / name)) == "trulens"
    assert [one.pipeline for one in read(GOLDEN / name)] == ["1.1", "1.10"]


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("version", list(TOLD))
def test_a_frame_has_the_scores_that_were_put_in(name, version):
    found = evaluation(GOLDEN / name, pipeline=version)
    scores = found.scores.set_axis(found.details["question"], axis=0)
    scores = scores.astype(object).where(scores.notna(), None)
    assert {metric: scores[column].to_dict() for metric, column in METRICS.items()} == TOLD[version]


@pytest.mark.parametrize("name", FRAMES)
def test_directions_are_those_of_the_file(name):
    metrics = evaluation(GOLDEN / name, pipeline="1.1").metrics
    directions = {metric: metrics[column].greater_is_better for metric, column in METRICS.items()}
    assert directions == {"Groundedness": True, "Harm": False, "Tone": True}


@pytest.mark.parametrize(
    ("name", "not_called"),
    [("records.csv", "missing"), ("records.json", "missing"), ("feedback.csv", "not applicable")],
)
def test_a_judge_that_failed_is_told_from_one_that_was_not_called(name, not_called):
    states = evaluation(GOLDEN / name, pipeline="1.1").states
    assert states["harm"].tolist() == ["scored", "scored", "failed"]
    assert states["tone"].tolist() == ["scored", not_called, not_called]


@pytest.mark.parametrize("name", FRAMES)
def test_what_the_judge_explained_is_kept(name):
    details = evaluation(GOLDEN / name, pipeline="1.1").details
    assert details["Groundedness_reason"].iloc[1] == 'Groundedness isn\'t "perfect" on 1'


def test_why_a_result_failed_is_its_reason():
    details = evaluation(GOLDEN / "feedback.csv", pipeline="1.1").details
    assert details["Harm_reason"].iloc[2] == "no answer of the judge"


def test_latency_is_in_milliseconds():
    assert evaluation(GOLDEN / "records.csv", pipeline="1.1").scores["latency_ms"].tolist() == [
        250.0,
        250.0,
        250.0,
    ]


def test_versions_pair_by_their_questions():
    first, second = (evaluation(GOLDEN / "records.csv", pipeline=one) for one in TOLD)
    assert first.scores.index.equals(second.scores.index)
    compared = compare(first, second, metrics=["tone"]).to_frame()
    assert compared["n"].tolist() == [1]


def test_columns_may_be_picked():
    [first, _] = read(GOLDEN / "records.csv", columns=["Harm"])
    assert first.metric_columns == ("Harm",)
    assert first.metrics == {"Harm": {"greater_is_better": False}}
    assert first.frame["Harm_state"].tolist() == ["scored", "scored", "failed"]


# -- made up


def wide(**columns):
    n_rows = len(next(iter(columns.values()))) if columns else 1
    given = {"record_id": [f"r{row}" for row in range(n_rows)], "app_id": ["a"] * n_rows}
    texts = {"input": [f"{row}?" for row in range(n_rows)], "output": ["so"] * n_rows}
    return pd.DataFrame({**given, **texts, **columns})


def test_an_old_frame_has_its_app_as_pipeline(write):
    frame = wide(relevance=[0.5, 0.25], relevance_calls=["[]", "[{'ret': 0.25}]"])
    [found] = read(write(frame.to_csv(index=False)))
    assert found.pipeline == "a"
    assert found.metric_columns == ("relevance",)


def test_versions_of_several_apps_have_both_names(write):
    frame = wide(x=[1.0, 0.5, 0.0], app_name=["a", "a", "b"], app_version=["v1", "v2", "v1"])
    found = read(write(frame.to_csv(index=False)))
    assert [one.pipeline for one in found] == ["a v1", "a v2", "b v1"]


def test_minus_one_among_shares_is_a_judge_that_could_not_be_read(write):
    [found] = read(write(wide(relevance=[0.5, -1.0, 1.0]).to_csv(index=False)))
    assert found.frame["relevance_state"].tolist() == ["scored", "failed", "scored"]
    assert "could not be read" in found.frame["relevance_reason"][1]


def test_minus_one_on_another_scale_is_a_score(write):
    [found] = read(write(wide(sentiment=[0.5, -1.0, -0.5]).to_csv(index=False)))
    assert found.frame["sentiment"].tolist() == [0.5, -1.0, -0.5]


def test_a_metric_that_failed_on_every_record_is_kept(write):
    frame = wide(relevance=[0.5], harm_calls=["[{'ret': None}]"])
    [found] = read(write(frame.to_csv(index=False)))
    table = score_table(found.frame, only=found.metric_columns)
    assert table.scores["harm"].isna().all()
    assert found.frame["harm_state"].tolist() == ["failed"]


def test_a_metric_of_several_scores_is_several_metrics(write):
    columns = {"emotion:::joy": [0.5], "emotion:::fear": [0.25], "emotion_calls": ["[{'ret': 1}]"]}
    [found] = read(write(wide(**columns).to_csv(index=False)))
    assert found.metric_columns == ("emotion:::joy", "emotion:::fear")


def test_costs_in_another_currency_are_no_dollars(write):
    frame = wide(x=[1.0], total_cost=[2.0], cost_currency=["Snowflake credits"])
    [found] = read(write(frame.to_csv(index=False)))
    assert found.metric_columns == ("x",)
    assert found.frame["total_cost"].tolist() == [2.0]


def test_records_without_an_input_are_told_apart_by_their_ids(write):
    [found] = read(write(wide(x=[1.0, 0.5]).assign(input=["Who?", None]).to_csv(index=False)))
    assert found.frame["query_id"].tolist() == ["r0", "r1"]
    assert any("differ from run to run" in note for note in found.notes)


def test_an_input_that_is_an_object_is_a_text(write):
    frame = wide(x=[1.0]).assign(input=[{"query": "Größe?"}])
    [found] = read(write(frame.to_json(orient="records")))
    assert found.frame["question"].tolist() == ['{"query": "Größe?"}']


def test_several_results_of_a_metric_on_a_record_are_averaged(write):
    frame = pd.DataFrame(
        {
            "record_id": ["r1"] * 3,
            "feedback_result_id": ["1", "2", "3"],
            "name": ["relevance"] * 3,
            "result": [0.5, 1.0, None],
            "input": ["Who?"] * 3,
            "output": ["He."] * 3,
        }
    )
    [found] = read(write(frame.to_csv(index=False)))
    assert found.frame["relevance"].tolist() == [0.75]
    assert found.frame["question"].tolist() == ["Who?"]


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ([{"ret": 1, "meta": {"reason": "good"}}, {"meta": {"explanation": "bad"}}], "good\nbad"),
        ("[{'meta': {'reasons': 'a \\'quote\\''}, 'ts': Timestamp('2026')}]", "a 'quote'"),
        ('[{"meta": {"reason": "of \\"json\\""}}]', 'of "json"'),
        ([{"meta": None}, 3, None], None),
        ("[]", None),
        (None, None),
    ],
)
def test_explanations_are_found_in_calls_of_any_kind(calls, told):
    assert judge_explanation(calls) == told


@pytest.mark.parametrize("record", ["{'main_input': '\\ud800'}", '{"main_input": "\\ud800"}'])
def test_half_characters_in_a_record_are_no_obstacle(write, record):
    columns = {"record_id": ["r"], "feedback_result_id": ["1"], "name": ["x"], "result": [0.5]}
    [found] = read(write(pd.DataFrame(columns | {"record_json": [record]}).to_csv(index=False)))
    assert found.frame["x"].tolist() == [0.5]


# -- files that nobody on the project wrote


def test_events_are_refused_with_what_to_write_instead(real_data):
    with pytest.raises(ReaderError, match=r"one per span.*get_records_and_feedback\(\)"):
        read(real_data("trulens_judges/otel_events_tru_graph.csv"))


def test_judges_on_pairs_have_the_means_given_with_them(real_data):
    path = real_data("trulens_judges/gpt-4o-mini_3_prompts_results.csv")
    [found] = read(path)
    table = score_table(found.frame, duplicates="mean")
    assert len(table.scores) == 129
    means = found.frame.drop(columns="query_id").astype(float).mean().round(4).to_dict()
    assert means == {  # as given with the file
        "ground_truth": 0.4324,
        "gaurav_rating": pytest.approx(1.958, abs=5e-4),
        "umbrela_rating": pytest.approx(1.49, abs=5e-3),
        "categorical_rating": pytest.approx(1.746, abs=5e-4),
    }
    assert found.frame.isna().sum().to_dict() == {
        "query_id": 0,
        "ground_truth": 0,
        "gaurav_rating": 0,
        "umbrela_rating": 26,
        "categorical_rating": 3,
    }


# -- damaged files

FILES = [(GOLDEN / name).read_bytes() for name in FRAMES]
FAST = damage_settings(80)


@FAST
@given(st.sampled_from(FILES), EDITS, st.sampled_from([None, TRULENS]))
def test_a_damaged_file_is_read_or_refused(tmp_path, content, edits, reader):
    path = tmp_path / "run"
    path.write_bytes(edited(content, edits))
    assert is_read_or_refused(path, reader)


RECORDS = json.loads((GOLDEN / "records.json").read_text(encoding="utf-8"))


@FAST
@given(st.integers(0, 5), st.sampled_from(sorted(RECORDS[0])), VALUES)
def test_records_with_a_changed_cell_are_read_or_refused(tmp_path, row, name, value):
    records = [dict(record) for record in RECORDS]
    records[row][name] = value
    path = tmp_path / "run"
    path.write_text(json.dumps(records))
    assert is_read_or_refused(path, TRULENS)

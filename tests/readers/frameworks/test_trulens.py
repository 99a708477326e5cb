from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise
from rageval_report.scores import score_table

GOLDEN = Path(__file__).parents[2] / "golden" / "trulens"
TOLD = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))["values"]
FRAMES = ["records.csv", "records.json", "feedback.csv"]
METRICS = {"Groundedness": "groundedness", "Harm": "harm", "Tone": "tone"}


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


def test_why_a_result_failed_is_its_reason():
    details = evaluation(GOLDEN / "feedback.csv", pipeline="1.1").details
    assert details["Harm_reason"].iloc[2] == "no answer of the judge"


def test_versions_pair_by_their_questions():
    first, second = (evaluation(GOLDEN / "records.csv", pipeline=one) for one in TOLD)
    assert first.scores.index.equals(second.scores.index)
    compared = compare(first, second, metrics=["tone"]).to_frame()
    assert compared["n"].tolist() == [1]


# -- made up


def wide(**columns):
    n_rows = len(next(iter(columns.values()))) if columns else 1
    given = {"record_id": [f"r{row}" for row in range(n_rows)], "app_id": ["a"] * n_rows}
    texts = {"input": [f"{row}?" for row in range(n_rows)], "output": ["so"] * n_rows}
    return pd.DataFrame({**given, **texts, **columns})


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


def test_costs_in_another_currency_are_no_dollars(write):
    frame = wide(x=[1.0], total_cost=[2.0], cost_currency=["Snowflake credits"])
    [found] = read(write(frame.to_csv(index=False)))
    assert found.metric_columns == ("x",)
    assert found.frame["total_cost"].tolist() == [2.0]


def test_records_without_an_input_are_told_apart_by_their_ids(write):
    [found] = read(write(wide(x=[1.0, 0.5]).assign(input=["Who?", None]).to_csv(index=False)))
    assert found.frame["query_id"].tolist() == ["r0", "r1"]
    assert any("differ from run to run" in note for note in found.notes)


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


# -- files that nobody on the project wrote


def test_events_are_refused_with_what_to_write_instead(real_data):
    with pytest.raises(ReaderError, match=r"one per span.*get_records_and_feedback\(\)"):
        read(real_data("trulens_judges/otel_events_tru_graph.csv"))


# -- damaged files

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.readers import Source, read, recognise

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


@pytest.mark.parametrize(
    ("name", "not_called"),
    [("records.csv", "missing"), ("records.json", "missing"), ("feedback.csv", "not applicable")],
)
def test_a_judge_that_failed_is_told_from_one_that_was_not_called(name, not_called):
    states = evaluation(GOLDEN / name, pipeline="1.1").states
    assert states["harm"].tolist() == ["scored", "scored", "failed"]
    assert states["tone"].tolist() == ["scored", not_called, not_called]


# -- made up


def wide(**columns):
    n_rows = len(next(iter(columns.values()))) if columns else 1
    given = {"record_id": [f"r{row}" for row in range(n_rows)], "app_id": ["a"] * n_rows}
    texts = {"input": [f"{row}?" for row in range(n_rows)], "output": ["so"] * n_rows}
    return pd.DataFrame({**given, **texts, **columns})


def test_minus_one_among_shares_is_a_judge_that_could_not_be_read(write):
    [found] = read(write(wide(relevance=[0.5, -1.0, 1.0]).to_csv(index=False)))
    assert found.frame["relevance_state"].tolist() == ["scored", "failed", "scored"]
    assert "could not be read" in found.frame["relevance_reason"][1]


def test_costs_in_another_currency_are_no_dollars(write):
    frame = wide(x=[1.0], total_cost=[2.0], cost_currency=["Snowflake credits"])
    [found] = read(write(frame.to_csv(index=False)))
    assert found.metric_columns == ("x",)
    assert found.frame["total_cost"].tolist() == [2.0]


def test_records_without_an_input_are_told_apart_by_their_ids(write):
    [found] = read(write(wide(x=[1.0, 0.5]).assign(input=["Who?", None]).to_csv(index=False)))
    assert found.frame["query_id"].tolist() == ["r0", "r1"]
    assert any("new in each run" in note for note in found.notes)


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


# -- damaged files

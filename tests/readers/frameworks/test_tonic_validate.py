"""Runs of Tonic Validate 6.2.0 (tests/golden/tonic_validate), and two public tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report.readers import read
from rageval_report.readers.frameworks.tonic_validate import TONIC_VALIDATE
from rageval_report.scores import score_table

GOLDEN = Path(__file__).parents[2] / "golden" / "tonic_validate"
RUN = json.loads((GOLDEN / "run.json").read_text())
METRICS = list(RUN["run_data"][0]["scores"])
TABLE = """reference_question,reference_answer,llm_answer,llm_context,answer_similarity
Why?,So.,Thus.,"['one', 'two']",4.0
Who?,I.,,[],0.0
"""


@pytest.fixture(scope="module")
def found():
    [one] = read(GOLDEN / "run.json", reader=TONIC_VALIDATE)
    return one


def checked(found):
    return score_table(found.frame, known=found.metrics, only=found.metric_columns)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", ["run.json", "uploaded.json"])
def test_scores_are_those_of_the_run_cell_by_cell(name, metric):
    [found] = read(GOLDEN / name, reader=TONIC_VALIDATE)
    told = [row["scores"][metric] for row in RUN["run_data"]]
    read_back = [None if score != score else score for score in found.frame[metric]]
    assert read_back == told


@pytest.mark.parametrize("metric", METRICS)
def test_means_are_the_overall_scores_of_the_run(found, metric):
    assert found.frame[metric].mean() == pytest.approx(RUN["overall_scores"][metric], rel=1e-15)


def test_none_is_a_failed_score_with_a_reason(found):
    states = found.frame["names_one_state"].tolist()
    assert [place for place, state in enumerate(states) if state == "failed"] == [2, 5]
    assert found.frame["names_one_reason"].dropna().str.contains("keeps no reason").all()


def test_similarity_has_its_scale_of_0_to_5(found):
    metric = checked(found).metrics["answer_similarity"]
    assert (metric.bounds, metric.kind) == ((0.0, 5.0), "ordinal")
    assert metric.known_as == "answer_similarity_grade"  # no similarity of embeddings


def test_1_of_the_latency_metric_is_good(found):
    assert checked(found).metrics["latency_metric"].greater_is_better


def test_a_table_has_lists_of_contexts(write):
    [found] = read(write(TABLE), reader=TONIC_VALIDATE)
    assert found.frame["contexts"].tolist() == [["one", "two"], []]


def test_columns_of_a_table_may_be_chosen(write):
    [found] = read(
        write(TABLE), reader=TONIC_VALIDATE, columns=["answer_similarity", "reference_question"]
    )
    assert list(found.frame) == ["question", "answer_similarity"]

"""Runs of Tonic Validate 6.2.0 (tests/golden/tonic_validate), and two public tables."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise
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


@pytest.mark.parametrize("name", ["run.json", "uploaded.json"])
def test_runs_are_recognised(name):
    assert recognise(Source(GOLDEN / name)) == "tonic_validate"


def test_a_table_is_recognised_by_its_columns(write):
    assert recognise(Source(write(TABLE))) == "tonic_validate"


def test_another_table_is_not(write):
    assert TONIC_VALIDATE.recognise(Source(write("query_id,answer_similarity\na,1\n"))) == 0.0


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


def test_the_question_is_the_id(found):
    table = checked(found)
    assert table.details["question"].tolist()[0] == "What is 0?"
    assert table.scores.index.str.startswith("q-").all()


def test_texts_are_details(found):
    first = found.frame.iloc[0]
    assert (first["answer"], first["reference"]) == ("The answer is 0", "It is 0.")
    assert first["contexts"] == ["Context 0."]


def test_the_judge_is_told(found):
    assert found.notes == ("judged by gpt-4",)


def test_a_table_has_lists_of_contexts(write):
    [found] = read(write(TABLE), reader=TONIC_VALIDATE)
    assert found.frame["contexts"].tolist() == [["one", "two"], []]


def test_code_in_a_cell_stays_a_text(write):
    code = TABLE.replace("['one', 'two']", "[__import__('os').name]")
    [found] = read(write(code), reader=TONIC_VALIDATE)
    assert found.frame["contexts"].tolist()[0] == "[__import__('os').name]"


def test_columns_of_a_table_may_be_chosen(write):
    [found] = read(
        write(TABLE), reader=TONIC_VALIDATE, columns=["answer_similarity", "reference_question"]
    )
    assert list(found.frame) == ["question", "answer_similarity"]


def test_another_document_is_refused(write):
    with pytest.raises(ReaderError, match="expected a run of Tonic Validate"):
        read(write('[{"a": 1}]'), reader=TONIC_VALIDATE)


def test_scores_that_are_no_object_are_refused(write):
    row = RUN["run_data"][0] | {"scores": [1]}
    with pytest.raises(ReaderError, match="scores must be an object; got a list"):
        read(write(json.dumps({"run_data": [row]})), reader=TONIC_VALIDATE)


@pytest.mark.parametrize(
    ("name", "mean", "lowest"), [("customgpt", 241 / 55, 1.0), ("openai", 191 / 55, 0.0)]
)
def test_public_runs_have_the_means_of_their_page(real_data, name, mean, lowest):
    [found] = read(real_data(f"tonic_validate_runs/{name}_run.csv"), reader=TONIC_VALIDATE)
    scores = checked(found).scores["answer_similarity"]
    assert len(scores) == 55
    assert round(scores.mean(), 3) == round(mean, 3)  # 4.382 and 3.473
    assert (scores.min(), scores.max()) == (lowest, 5.0)
    assert fmean(scores) == pytest.approx(mean, rel=1e-12)


def test_two_public_runs_share_their_questions(real_data):
    folder = real_data("tonic_validate_runs")
    tables = [
        checked(read(folder / f"{name}_run.csv", reader=TONIC_VALIDATE)[0])
        for name in ("customgpt", "openai")
    ]
    assert set(tables[0].scores.index) == set(tables[1].scores.index)

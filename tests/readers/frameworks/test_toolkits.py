"""Toolkits that evaluate RAG pipelines: what each format alone does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise
from rageval_report.scores import score_table

# -- autonuggetizer: metrics that nuggetizer 0.0.5 computed, and the assignments behind them

AUTONUGGETIZER_FILES = Path(__file__).parents[2] / "golden" / "autonuggetizer"
AUTONUGGETIZER_EXPECTED = json.loads(
    (AUTONUGGETIZER_FILES / "expected.json").read_text(encoding="utf-8")
)
SCORES = ["strict_vital_score", "strict_all_score", "vital_score", "all_score"]


@pytest.fixture
def read_lines(write):
    return lambda *rows: read(write("\n".join(map(json.dumps, rows)) + "\n"))


@pytest.mark.parametrize("name", ["runs.jsonl", "assignments.jsonl"])
def test_scores_are_those_of_the_library(name):
    path = AUTONUGGETIZER_FILES / name
    assert recognise(Source(path)) == "autonuggetizer"
    evaluations = read_scores(path)
    assert list(evaluations) == ["bm25", "dense"]
    for run, evaluation in evaluations.items():
        expected = {
            row.pop("qid"): row for row in map(dict, AUTONUGGETIZER_EXPECTED["scores"][run])
        }
        assert list(evaluation.scores) == SCORES
        for query_id, row in expected.items():
            scores = evaluation.scores.loc[query_id].to_dict()
            assert scores == pytest.approx(row, abs=1e-15)


def assigned(*labels, qid="t1"):
    nuggets = [
        {"text": "n", "importance": importance, "assignment": label} for importance, label in labels
    ]
    return {"qid": qid, "run_id": "r", "answer_text": "so", "nuggets": nuggets}


def test_a_topic_without_vital_nuggets_is_not_applicable_instead_of_0(read_lines):
    [file] = read_lines(assigned(("vital", "support")), assigned(("okay", "support"), qid="t2"))
    assert file.frame["vital_score_state"].tolist() == ["scored", "not applicable"]
    assert file.frame["all_score"].tolist() == [1, 1]


def test_an_assignment_that_failed_is_not_a_0(read_lines):
    [file] = read_lines(assigned(("vital", "failed"), ("okay", "support")), assigned(("okay", "x")))
    assert file.frame["all_score"].isna().all()
    assert "1 of 2 nuggets are not assigned: 'failed'" in file.frame["all_score_reason"].tolist()[0]


# -- evidently: files that evidently 0.7.23 wrote; ``make_evidently.py`` beside them

EVIDENTLY_FILES = Path(__file__).parents[2] / "golden" / "evidently"
EVIDENTLY_TOLD = json.loads((EVIDENTLY_FILES / "expected.json").read_text(encoding="utf-8"))
BOTH = pytest.mark.parametrize("name", ["rows.csv", "rows.json"])


@BOTH
def test_means_are_those_of_evidently_s_report(name):
    [evaluation] = read_scores(EVIDENTLY_FILES / name).values()
    ours = evaluation.get_aggregated_scores()
    for column, metric in (("faithfulness", "faithfulness"), ("Length", "length")):
        assert ours[metric] == pytest.approx(EVIDENTLY_TOLD["means"][column], abs=1e-10)


@BOTH
def test_a_test_of_no_score_is_no_failure(name):
    """Evidently's test reads False where the score is NaN: 0.25 pass, though 1 of 3 does."""
    [found] = read(EVIDENTLY_FILES / name)
    assert EVIDENTLY_TOLD["means"]["faithfulness: greater or equal to 0.5"] == 0.25
    assert found.frame["faithfulness_reason"].tolist() == [
        "failed: greater or equal to 0.5",
        None,
        "passed: greater or equal to 0.5",
        "failed: greater or equal to 0.5",
    ]


@BOTH
def test_limits_tell_direction_and_threshold(name):
    [found] = read(EVIDENTLY_FILES / name)
    assert found.metrics == {"faithfulness": "higher", "Length": "lower"}
    assert "Length: threshold 'less or equal to 10.0' stored in the file" in found.notes


def test_a_report_is_recognised_and_refused():
    assert recognise(Source(EVIDENTLY_FILES / "report.json")) == "evidently"
    with pytest.raises(ReaderError, match=r"a report|report, which contains aggregates only"):
        read(EVIDENTLY_FILES / "report.json")


# -- flashrag: items that FlashRAG 0.1.2 saved, and items by hand

FLASHRAG_FILES = Path(__file__).parents[2] / "golden" / "flashrag"
DATA = FLASHRAG_FILES / "nq_naive" / "intermediate_data.json"
FLASHRAG_EXPECTED = json.loads((FLASHRAG_FILES / "expected.json").read_text(encoding="utf-8"))


def item(key="a", pred="so", **scores):
    output = {"pred": pred, "metric_score": scores} if scores else {"pred": pred}
    return {"id": key, "question": f"{key}?", "golden_answers": ["so"], "output": output}


def test_means_are_those_that_flashrag_gives():
    assert recognise(Source(DATA)) == "flashrag"
    [evaluation] = read_scores(DATA.parent).values()
    assert evaluation.name == "nq_naive"
    means = dict(FLASHRAG_EXPECTED["means"])
    # The name of the mean has the cutoff, the name of the score has not.
    means["retrieval_recall"] = means.pop("retrieval_recall_top2")
    assert evaluation.scores.mean().to_dict() == pytest.approx(means, abs=1e-15)


def test_a_score_that_is_null_has_failed_and_an_absent_one_is_missing(write):
    [file] = read(write(json.dumps([item(em=1, f1=1), item("b", em=None), item("c", em=0, f1=0)])))
    assert file.frame["em_state"].tolist() == ["scored", "failed", "scored"]
    assert file.frame["f1"].isna().tolist() == [False, True, False]


# -- giskard: a report that Giskard 2.19.2 saved, its frame, and scores by hand

GISKARD_FILES = Path(__file__).parents[2] / "golden" / "giskard"
GISKARD_EXPECTED = json.loads((GISKARD_FILES / "expected.json").read_text(encoding="utf-8"))
REPORT = GISKARD_FILES / "shop_agent"
PATHS = [REPORT / "metrics_results.json", GISKARD_FILES / "frame.csv", GISKARD_FILES / "frame.json"]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_correctness_is_that_of_the_report_overall_and_by_type(path):
    assert recognise(Source(path)) == "giskard"
    [evaluation] = read_scores(path).values()
    correct = evaluation.scores["correctness"]
    assert correct.mean() == GISKARD_EXPECTED["correctness"]
    by_type = correct.groupby(evaluation.details["question_type"]).mean()
    assert by_type.to_dict() == GISKARD_EXPECTED["by_question_type"]
    assert evaluation.metrics["correctness"].kind == "binary"
    assert evaluation.scores.index.tolist() == ["a1", "b2", "c3", "d4"]


def test_a_0_for_want_of_documents_is_not_a_score():
    [file] = read(REPORT / "metrics_results.json")
    recall = "RAGAS Context Recall"
    assert file.frame[f"{recall}_state"].tolist() == ["scored", "scored", "failed", "scored"]
    assert any("without documents is not a score" in note for note in file.notes)
    [table] = read(GISKARD_FILES / "frame.csv")
    assert any("may mean that the answer came without documents" in note for note in table.notes)


# -- llama_index: files that llama-index-core 0.14.25 wrote; ``make_llama_index.py`` beside them

LLAMA_INDEX_FILES = Path(__file__).parents[2] / "golden" / "llama_index"
LLAMA_INDEX_TOLD = json.loads((LLAMA_INDEX_FILES / "expected.json").read_text(encoding="utf-8"))


def result(**more):
    fields = dict.fromkeys(("query", "contexts", "response", "passing", "feedback", "score"))
    return fields | {"query": "why?", "invalid_result": False, "invalid_reason": None} | more


def told_by_query(metric):
    """The scores that the evaluators gave; the fourth result is of the first question again."""
    first, second, third, again = np.array(LLAMA_INDEX_TOLD["scores"][metric], dtype=float)
    return np.array([(first + again) / 2, second, third])


@pytest.mark.parametrize("metric", ["faithfulness", "correctness"])
def test_scores_of_a_batch_are_those_of_the_evaluators(metric):
    [evaluation] = read_scores(LLAMA_INDEX_FILES / "batch.json").values()
    np.testing.assert_array_equal(evaluation.scores[metric], told_by_query(metric))


def test_grades_from_one_to_five_keep_their_scale():
    [evaluation] = read_scores(LLAMA_INDEX_FILES / "batch.json").values()
    assert evaluation.metrics["correctness"].bounds == (1, 5)
    assert evaluation.metrics["faithfulness"].bounds == (0, 1)


# -- results of a retriever

RETRIEVAL = json.loads((LLAMA_INDEX_FILES / "retrieval_expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["retrieval.json", "retrieval.csv"])
def test_means_of_a_retriever_are_those_that_the_library_gives(name):
    assert recognise(Source(LLAMA_INDEX_FILES / name)) == "llama_index"
    [evaluation] = read_scores(LLAMA_INDEX_FILES / name).values()
    assert evaluation.scores.mean().to_dict() == pytest.approx(RETRIEVAL["means"], abs=1e-15)
    assert evaluation.details["relevant"].tolist()[1] == ["n4", "n9"]
    assert evaluation.details["retrieved"].tolist()[0] == ["n1", "n2"]


# -- ragas: files that llama-index-core 0.14.25 wrote; ``make_llama_index.py`` beside them

RAGAS_GOLDEN = Path(__file__).parents[2] / "golden" / "ragas"
RAGAS_TOLD = json.loads((RAGAS_GOLDEN / "expected.json").read_text(encoding="utf-8"))
TEXT_FRAMES = ["frame.csv", "frame.json", "frame.jsonl", "frame_0.1.csv"]


def evaluation(path, **options):
    return RAGPipelineEvaluation.load(None, path, **options)


def rows_of(scores):
    return scores.astype(object).where(scores.notna(), None).to_dict(orient="records")


def test_a_test_set_is_a_gold_set_without_scores(write):
    header = ",question,contexts,ground_truth,evolution_type,metadata,episode_done"
    with pytest.raises(ReaderError, match="a gold set without scores"):
        read(write(f"{header}\n0,What?,['c'],g,simple,[{{}}],True\n"))


# -- what ragas 0.4.3 wrote


@pytest.mark.parametrize("name", TEXT_FRAMES)
def test_a_frame_has_the_scores_of_the_evaluation(name):
    assert recognise(Source(RAGAS_GOLDEN / name)) == "ragas"
    assert rows_of(evaluation(RAGAS_GOLDEN / name).scores) == RAGAS_TOLD["values"]


@pytest.mark.parametrize("name", ["experiment.csv", "experiment.jsonl"])
def test_an_experiment_has_the_values_of_its_results(name):
    found = evaluation(RAGAS_GOLDEN / name)
    by_question = dict(zip(found.details["user_input"], rows_of(found.scores), strict=True))
    asked = ["Capital of Italy?", "Größe von Köln?", 'Who wrote "Emma"?']
    assert [by_question[one]["score"] for one in asked] == RAGAS_TOLD["experiment"]
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


# -- lists written as text


# -- files that nobody on the project wrote


# -- damaged files


# -- ragbench: files in three forms; those of tests/golden/ragbench are made after the

RAGBENCH_GOLDEN = Path(__file__).parents[2] / "golden" / "ragbench"


def read_golden(name):
    [found] = read(RAGBENCH_GOLDEN / name, reader="ragbench")
    return found


def document(name):
    return json.loads((RAGBENCH_GOLDEN / name).read_text())


@pytest.mark.parametrize("place", [0, 1, 2])
def test_means_are_those_of_the_scorecard(place):
    told = document("run.json")["scorecard"]["metrics"][place]
    scores = read_golden("run.json").frame[told["name"]]
    assert scores.mean() == pytest.approx(told["value"], rel=1e-15)
    assert scores.notna().sum() == told["sample_size"]


@pytest.mark.parametrize("name", ["run.json", "run_without_ids.json"])
def test_in_its_own_dialect_names_and_percentiles_are_those_of_ragbench(name):
    plain = RAGPipelineEvaluation.load(None, RAGBENCH_GOLDEN / name)
    theirs = RAGPipelineEvaluation.load(None, RAGBENCH_GOLDEN / name, dialect="ragbench")
    assert theirs.scores.equals(plain.scores)
    assert "dialect:ragbench" in theirs.evaluation_report().signature
    assert "dialect" not in plain.evaluation_report().signature
    assert theirs.find_thresholds().settings["percentile_method"] == "upper"


# -- ragchecker: files of RAGChecker 0.1.9 (tests/golden/ragchecker), and its own example

RAGCHECKER_GOLDEN = Path(__file__).parents[2] / "golden" / "ragchecker"
DOCUMENT = json.loads((RAGCHECKER_GOLDEN / "results.json").read_text())
RAGCHECKER_METRICS = list(DOCUMENT["results"][0]["metrics"])
# r3 answers without a claim, r4 has a reference without one, r5 retrieved nothing.
OF_THE_ANSWER = ("noise_sensitivity_in_relevant", "hallucination", "self_knowledge", "faithfulness")


@pytest.fixture(scope="module")
def ragchecker_found():
    [one] = read(RAGCHECKER_GOLDEN / "results.json", reader="ragchecker")
    return one


@pytest.mark.parametrize("metric", RAGCHECKER_METRICS)
def test_scores_are_those_of_the_file_or_not_applicable(ragchecker_found, metric):
    states = ragchecker_found.frame.get(f"{metric}_state", ["scored"] * len(ragchecker_found.frame))
    rows = zip(ragchecker_found.frame[metric], states, DOCUMENT["results"], strict=True)
    for score, state, row in rows:
        if state == "scored":
            assert score == row["metrics"][metric]
        else:
            assert (state, row["metrics"][metric]) == ("not applicable", 0.0)


@pytest.mark.parametrize("metric", RAGCHECKER_METRICS)
def test_with_what_does_not_apply_as_0_the_means_are_ragchecker_s_own(ragchecker_found, metric):
    told = {name: mean for group in DOCUMENT["metrics"].values() for name, mean in group.items()}
    assert round(ragchecker_found.frame[metric].fillna(0).mean() * 100, 1) == told[metric]


@pytest.mark.parametrize(
    ("metric", "query", "reason"),
    [
        ("precision", "r3", "the answer makes no claim"),
        ("f1", "r3", "the answer makes no claim"),
        ("recall", "r4", "the reference makes no claim"),
        ("claim_recall", "r4", "the reference makes no claim"),
        ("context_precision", "r5", "nothing was retrieved"),
        ("context_utilization", "r5", "nothing was retrieved"),
        *((metric, "r3", "the answer makes no claim") for metric in OF_THE_ANSWER),
        *((metric, "r5", "nothing was retrieved") for metric in OF_THE_ANSWER),
    ],
)
def test_zero_of_nothing_is_not_applicable(ragchecker_found, metric, query, reason):
    row = ragchecker_found.frame.set_index("query_id").loc[query]
    assert (row[f"{metric}_state"], row[f"{metric}_reason"]) == ("not applicable", reason)


def test_directions_are_those_of_the_framework(ragchecker_found):
    names = list(ragchecker_found.metric_columns)
    table = score_table(
        ragchecker_found.frame[["query_id", *names]], known=ragchecker_found.metrics, only=names
    )
    lower = {name for name, metric in table.metrics.items() if not metric.greater_is_better}
    noise = {"noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant"}
    assert lower == {"hallucination", "self_knowledge", *noise}


def test_precision_of_claims_is_not_that_of_documents(ragchecker_found):
    names = list(ragchecker_found.metric_columns)
    table = score_table(
        ragchecker_found.frame[["query_id", *names]], known=ragchecker_found.metrics, only=names
    )
    assert table.metrics["precision"].group == "generation"
    assert table.metrics["precision"].known_as == "claim_precision"


# -- tonic_validate: runs of Tonic Validate 6.2.0 (tests/golden/tonic_validate), and two public

TONIC_VALIDATE_GOLDEN = Path(__file__).parents[2] / "golden" / "tonic_validate"
RUN = json.loads((TONIC_VALIDATE_GOLDEN / "run.json").read_text())
TONIC_VALIDATE_METRICS = list(RUN["run_data"][0]["scores"])


@pytest.fixture(scope="module")
def tonic_validate_found():
    [one] = read(TONIC_VALIDATE_GOLDEN / "run.json", reader="tonic_validate")
    return one


@pytest.mark.parametrize("metric", TONIC_VALIDATE_METRICS)
@pytest.mark.parametrize("name", ["run.json", "uploaded.json"])
def test_scores_are_those_of_the_run_cell_by_cell(name, metric):
    [tonic_validate_found] = read(TONIC_VALIDATE_GOLDEN / name, reader="tonic_validate")
    told = [row["scores"][metric] for row in RUN["run_data"]]
    read_back = [None if score != score else score for score in tonic_validate_found.frame[metric]]
    assert read_back == told


@pytest.mark.parametrize("metric", TONIC_VALIDATE_METRICS)
def test_means_are_the_overall_scores_of_the_run(tonic_validate_found, metric):
    assert tonic_validate_found.frame[metric].mean() == pytest.approx(
        RUN["overall_scores"][metric], rel=1e-15
    )

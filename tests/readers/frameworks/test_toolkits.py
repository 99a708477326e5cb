"""Toolkits that evaluate RAG pipelines: what each format alone does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import mean

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


def line(qid="t1", value=0.5, **fields):
    return {"qid": qid, **dict.fromkeys(SCORES, value), **fields}


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


def test_the_row_of_means_is_left_out_and_agrees():
    [evaluation] = read_scores(AUTONUGGETIZER_FILES / "bm25.metrics.jsonl").values()
    means = AUTONUGGETIZER_EXPECTED["means"]["bm25"]
    assert evaluation.n_queries == 3
    assert evaluation.scores.mean().to_dict() == pytest.approx(
        {name: means[name] for name in SCORES}
    )
    assert evaluation.metrics["vital_score"].bounds == (0, 1)
    [file] = read(AUTONUGGETIZER_FILES / "bm25.metrics.jsonl")
    assert file.notes == ("the row 'all' holds the means of all topics and is left out",)


def test_means_that_differ_are_noted(read_lines):
    [file] = read_lines(line("a", 0.5), line("b", 1), line("all", 0.5))
    assert file.frame["all_score"].tolist() == [0.5, 1]
    stated = [note for note in file.notes if "says" in note]
    assert len(stated) == len(SCORES)
    assert f"the row 'all' says vital_score 0.5; the mean of its rows is {mean([0.5, 1])}" in stated


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
    assert file.frame["all_score_reason"].tolist()[0] == "1 of 2 nuggets are not assigned: 'failed'"


def test_only_the_means_are_refused(read_lines):
    with pytest.raises(ReaderError, match="only the means of all topics"):
        read_lines(line("all"))


def test_a_row_without_a_topic_is_named(read_lines):
    with pytest.raises(ReaderError, match="row 2 has no qid"):
        read_lines(line(), dict.fromkeys(SCORES, 1))


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
def test_tests_and_their_summary_are_no_metrics(name):
    [evaluation] = read_scores(EVIDENTLY_FILES / name).values()
    assert list(evaluation.scores) == ["faithfulness", "length", "exact"]
    assert evaluation.details["Test summary"].tolist()[2] == "True of tests"


@BOTH
def test_limits_tell_direction_and_threshold(name):
    [found] = read(EVIDENTLY_FILES / name)
    assert found.metrics == {"faithfulness": "higher", "Length": "lower"}
    assert "Length: threshold 'less or equal to 10.0' stored in the file" in found.notes


def test_limits_on_both_sides_tell_no_direction(read_text):
    found = read_text("question,n,n: less than 5,n greater than 1\nwhy?,2,True,True\n")
    assert found.metrics == {}


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


def test_counts_of_tokens_are_details(write):
    [file] = read(
        write(json.dumps([item(em=1.0, input_tokens=80), item("b", em=0, input_tokens=9)]))
    )
    assert file.metric_columns == ("em",)
    assert file.frame["input_tokens"].tolist() == [80, 9]
    assert "kept as details, because they are counts: 'input_tokens'" in file.notes


def test_a_score_that_is_null_has_failed_and_an_absent_one_is_missing(write):
    [file] = read(write(json.dumps([item(em=1, f1=1), item("b", em=None), item("c", em=0, f1=0)])))
    assert file.frame["em_state"].tolist() == ["scored", "failed", "scored"]
    assert file.frame["f1"].isna().tolist() == [False, True, False]


def test_scores_over_1_have_no_bounds_of_ours(write):
    [file] = read(write(json.dumps([item(em=1, f1=55.5), item("b", em=0, f1=10)])))
    assert set(file.metrics) == {"em"}


def test_a_run_that_was_not_evaluated_is_refused(write):
    with pytest.raises(ReaderError, match=r"no item has the field output\.metric_score"):
        read(write(json.dumps([item(), item("b")])))


def test_an_item_of_another_shape_is_named(write):
    items = [item(em=1), {"id": "b", "question": "?", "output": {}}]
    with pytest.raises(ReaderError, match="item 2 is not an item of FlashRAG: it lacks 'golden"):
        read(write(json.dumps(items)))


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


def test_a_saved_folder_names_the_pipeline():
    [file] = read(REPORT / "metrics_results.json")
    assert file.pipeline == "shop_agent"
    assert file.metric_columns == ("correctness", "answer_share", "RAGAS Context Recall")
    raw = json.loads((REPORT / "metrics_results.json").read_text(encoding="utf-8"))
    assert file.frame["answer_share"].tolist() == [row["answer_share"] for row in raw.values()]


def test_a_0_for_want_of_documents_is_not_a_score():
    [file] = read(REPORT / "metrics_results.json")
    recall = "RAGAS Context Recall"
    assert file.frame[f"{recall}_state"].tolist() == ["scored", "scored", "failed", "scored"]
    assert any("without documents is not a score" in note for note in file.notes)
    [table] = read(GISKARD_FILES / "frame.csv")
    assert any("may mean that the answer came without documents" in note for note in table.notes)


def test_answers_of_another_number_are_not_joined(tmp_path):
    shutil.copytree(REPORT, tmp_path / "run")
    answers = json.loads((REPORT / "agent_answer.json").read_text(encoding="utf-8"))
    (tmp_path / "run" / "agent_answer.json").write_text(json.dumps(answers[:3]))
    [file] = read(tmp_path / "run" / "metrics_results.json")
    assert any("holds 3 answers to 4 questions" in note for note in file.notes)
    assert file.frame["question"].tolist()[0] == "Who wrote Emma?"


def test_a_missing_verdict_and_nan_have_failed(write):
    rows = {
        "a": {"correctness": True, "correctness_reason": "", "tone": 0.5},
        "b": {"correctness": None, "correctness_reason": "no JSON", "tone": float("nan")},
    }
    [file] = read(write(json.dumps(rows)))
    assert file.frame["correctness_state"].tolist() == ["scored", "failed"]
    assert file.frame["correctness_reason"].tolist()[1] == "no JSON"
    assert file.frame["tone_state"].tolist() == ["scored", "failed"]


def test_a_question_whose_scores_are_no_object_is_named(write):
    rows = {"a": {"correctness": True, "correctness_reason": ""}, "b": 1}
    with pytest.raises(ReaderError, match="the scores of the question 'b' must be an object"):
        read(write(json.dumps(rows)), reader="giskard")


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


def test_results_a_line_have_one_metric_without_a_name():
    [evaluation] = read_scores(LLAMA_INDEX_FILES / "results.jsonl").values()
    np.testing.assert_array_equal(evaluation.scores["score"], told_by_query("correctness"))


@pytest.mark.parametrize("name", ["frame.csv", "frame.json"])
def test_each_rag_of_a_frame_is_a_pipeline_with_its_mean(name):
    runs = read_scores(LLAMA_INDEX_FILES / name)
    assert list(runs) == ["base", "rerank"]
    # LlamaIndex's own means count the row that repeats a question, in base, once more.
    by_query = {"base": told_by_query("faithfulness"), "rerank": [0.0, 0.3, 1.0]}
    for pipeline, scores in by_query.items():
        ours = runs[pipeline].get_aggregated_scores("score")
        assert ours == pytest.approx(np.nanmean(scores), abs=1e-10)


def test_an_invalid_result_failed_with_its_reason():
    [found] = read(LLAMA_INDEX_FILES / "batch.json")
    assert found.frame["faithfulness_state"].tolist() == ["scored", "scored", "failed", "scored"]
    assert found.frame["faithfulness_reason"].tolist()[2] == "no answer"


def test_grades_from_one_to_five_keep_their_scale():
    [evaluation] = read_scores(LLAMA_INDEX_FILES / "batch.json").values()
    assert evaluation.metrics["correctness"].bounds == (1, 5)
    assert evaluation.metrics["faithfulness"].bounds == (0, 1)


def test_evaluators_are_joined_by_question_not_by_place(write):
    document = {
        "one": [result(query="a", score=1), result(query="b", score=0)],
        "two": [result(query="b", score=0.25), result(query="a", score=0.75)],
    }
    [found] = read(write(json.dumps(document)))
    assert found.frame[["question", "one", "two"]].to_numpy().tolist() == [
        ["a", 1, 0.75],
        ["b", 0, 0.25],
    ]


def test_without_scores_passing_is_the_score(write):
    [found] = read(write(json.dumps([result(passing=True), result(passing=False)])))
    assert found.frame["score"].tolist() == [1, 0]
    assert "'score' has no scores: the score is whether it passed" in found.notes


# -- results of a retriever

RETRIEVAL = json.loads((LLAMA_INDEX_FILES / "retrieval_expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["retrieval.json", "retrieval.csv"])
def test_means_of_a_retriever_are_those_that_the_library_gives(name):
    assert recognise(Source(LLAMA_INDEX_FILES / name)) == "llama_index"
    [evaluation] = read_scores(LLAMA_INDEX_FILES / name).values()
    assert evaluation.scores.mean().to_dict() == pytest.approx(RETRIEVAL["means"], abs=1e-15)
    assert evaluation.details["relevant"].tolist()[1] == ["n4", "n9"]
    assert evaluation.details["retrieved"].tolist()[0] == ["n1", "n2"]


def test_results_by_retriever_are_several_pipelines(write):
    results = json.loads((LLAMA_INDEX_FILES / "retrieval.json").read_text(encoding="utf-8"))
    runs = read_scores(write(json.dumps({"bm25": results, "dense": results[::-1]})))
    assert list(runs) == ["bm25", "dense"]
    assert runs["dense"].scores.loc[runs["bm25"].scores.index].equals(runs["bm25"].scores)


# -- ragas: files that llama-index-core 0.14.25 wrote; ``make_llama_index.py`` beside them

RAGAS_GOLDEN = Path(__file__).parents[2] / "golden" / "ragas"
RAGAS_TOLD = json.loads((RAGAS_GOLDEN / "expected.json").read_text(encoding="utf-8"))
TEXT_FRAMES = ["frame.csv", "frame.json", "frame.jsonl", "frame_0.1.csv"]


def evaluation(path, **options):
    return RAGPipelineEvaluation.load(None, path, **options)


def rows_of(scores):
    return scores.astype(object).where(scores.notna(), None).to_dict(orient="records")


# -- what ragas 0.4.3 wrote


@pytest.mark.parametrize("name", TEXT_FRAMES)
def test_a_frame_has_the_scores_of_the_evaluation(name):
    assert recognise(Source(RAGAS_GOLDEN / name)) == "ragas"
    assert rows_of(evaluation(RAGAS_GOLDEN / name).scores) == RAGAS_TOLD["values"]


@pytest.mark.parametrize("name", TEXT_FRAMES)
def test_a_score_whose_job_raised_failed(name):
    found = evaluation(RAGAS_GOLDEN / name)
    assert found.states["faithfulness"].tolist() == ["scored", "scored", "failed"]
    assert any("1 blank scores of 'faithfulness'" in note for note in found.notes)


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


def test_columns_may_be_picked(write):
    path = write("user_input,response,recall,mrr\nWho?,He.,1,0\n")
    assert list(evaluation(path, columns=["mrr"]).scores) == ["mrr"]


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


@pytest.fixture
def read_run(write):
    """The one pipeline of the newer run, its parts changed."""

    def read_run_(change=lambda run: None, name="run.json"):
        run = document(name)
        change(run)
        [found] = read(write(json.dumps(run), "alone.json"), reader="ragbench")
        return found

    return read_run_


@pytest.mark.parametrize("place", [0, 1, 2])
def test_means_are_those_of_the_scorecard(place):
    told = document("run.json")["scorecard"]["metrics"][place]
    scores = read_golden("run.json").frame[told["name"]]
    assert scores.mean() == pytest.approx(told["value"], rel=1e-15)
    assert scores.notna().sum() == told["sample_size"]


def test_scores_stand_at_their_questions():
    found = read_golden("run.json")
    assert found.frame["query_id"].tolist() == ["q1", "q2", "q3", "q4", "q5"]
    expected = [1.0, 0.75, np.nan, 0.5, 0.9]
    assert np.array_equal(found.frame["faithfulness"], expected, equal_nan=True)


def test_a_score_that_does_not_apply_is_kept_apart_from_one_that_is_missing():
    frame = read_golden("run.json").frame
    expected = [*["scored"] * 3, *["not applicable"] * 2]
    assert frame["abstention_false_positive_rate_state"].tolist() == expected
    assert "faithfulness_state" not in frame  # it is missing, which NaN says


def test_a_metric_that_is_undefined_for_the_data_is_not_applicable():
    frame = read_golden("run.json").frame
    assert frame["citation_recall"].isna().all()
    assert set(frame["citation_recall_state"]) == {"not applicable"}


def test_rates_of_errors_are_better_when_lower():
    found = read_golden("run.json")
    names = list(found.metric_columns)
    table = score_table(found.frame[["query_id", *names]], known=found.metrics, only=names)
    assert not table.metrics["abstention_false_positive_rate"].greater_is_better
    assert table.metrics["recall@5"].greater_is_better


def test_one_number_for_the_whole_run_is_left_out_and_told():
    note = "left out, because the run has only their mean: 'latency_p50_ms'"
    assert note in read_golden("run.json").notes


def test_texts_come_from_the_samples_beside_the_run():
    found = read_golden("run.json")
    first = found.frame.iloc[0]
    assert (first["question"], first["answer"]) == ("What is 1?", "It is 1 [1].")
    assert first["relevant"] == {"d1:1": 1.0}
    assert first["citations"] == first["retrieved"] == ["d1:1"]
    assert "the texts come from run_samples.json" in found.notes


def test_samples_that_are_broken_do_not_hide_the_scores(write):
    write("{", "run_samples.json")
    [found] = read(write(json.dumps(document("run.json")), "run.json"), reader="ragbench")
    assert found.notes[0].startswith("the samples in the same folder cannot be read")
    assert len(found.frame) == 5


def test_scores_without_ids_pair_with_no_other_run():
    found = read_golden("run_without_ids.json")
    assert found.frame["query_id"].tolist()[:2] == ["a1b2c3d4:1", "a1b2c3d4:2"]
    assert "pair with no other run" in found.notes[0]


def test_scores_of_which_it_is_not_told_whose_they_are_are_left_out():
    found = read_golden("run_without_ids.json")
    assert found.metric_columns == ("recall_at_5",)
    assert "'faithfulness', 'abstention_false_positive_rate'" in found.notes[-2]


def test_a_run_of_means_alone_says_what_to_do(read_run):
    def change(run):
        for metric in run["scorecard"]["metrics"]:
            metric.pop("details")

    with pytest.raises(ReaderError, match=r"has means but no scores.*recall_at_5 0\.55.*again"):
        read_run(change, "run_without_ids.json")


def test_samples_alone_give_what_was_measured():
    found = read_golden("run_samples.json")
    assert found.metric_columns == ("latency_ms", "prompt_tokens", "completion_tokens")
    assert found.frame["latency_ms"].tolist() == [801.0, 802.0, 803.0, 804.0, 805.0]
    assert found.frame["answerable"].tolist() == [True, True, True, False, False]


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


def test_claims_that_were_not_retrieved_cannot_be_used(write):
    row = DOCUMENT["results"][0] | {
        "retrieved2answer": [["Neutral", "Contradiction"]] * 3,
        "metrics": {"context_utilization": 0.0},
    }
    [ragchecker_found] = read(write(json.dumps({"results": [row]})), reader="ragchecker")
    assert ragchecker_found.frame["context_utilization_reason"].tolist() == [
        "no claim of the reference was retrieved"
    ]


def test_what_ragchecker_counts_as_0_is_told(ragchecker_found):
    assert "its own means count that" in ragchecker_found.notes[0]
    assert "faithfulness (2)" in ragchecker_found.notes[0]


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


def test_inputs_say_what_they_are():
    with pytest.raises(ReaderError, match="have no metrics: the file is RAGChecker's input"):
        read(RAGCHECKER_GOLDEN / "inputs.json", reader="ragchecker")


# -- tonic_validate: runs of Tonic Validate 6.2.0 (tests/golden/tonic_validate), and two public

TONIC_VALIDATE_GOLDEN = Path(__file__).parents[2] / "golden" / "tonic_validate"
RUN = json.loads((TONIC_VALIDATE_GOLDEN / "run.json").read_text())
TONIC_VALIDATE_METRICS = list(RUN["run_data"][0]["scores"])
TABLE = """reference_question,reference_answer,llm_answer,llm_context,answer_similarity
Why?,So.,Thus.,"['one', 'two']",4.0
Who?,I.,,[],0.0
"""


@pytest.fixture(scope="module")
def tonic_validate_found():
    [one] = read(TONIC_VALIDATE_GOLDEN / "run.json", reader="tonic_validate")
    return one


def checked(tonic_validate_found):
    return score_table(
        tonic_validate_found.frame,
        known=tonic_validate_found.metrics,
        only=tonic_validate_found.metric_columns,
    )


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


def test_none_is_a_failed_score_with_a_reason(tonic_validate_found):
    states = tonic_validate_found.frame["names_one_state"].tolist()
    assert [place for place, state in enumerate(states) if state == "failed"] == [2, 5]
    assert (
        tonic_validate_found.frame["names_one_reason"]
        .dropna()
        .str.contains("keeps no reason")
        .all()
    )


def test_similarity_has_its_scale_of_0_to_5(tonic_validate_found):
    metric = checked(tonic_validate_found).metrics["answer_similarity"]
    assert (metric.bounds, metric.kind) == ((0.0, 5.0), "ordinal")
    assert metric.known_as == "answer_similarity_grade"  # no similarity of embeddings


def test_1_of_the_latency_metric_is_good(tonic_validate_found):
    assert checked(tonic_validate_found).metrics["latency_metric"].greater_is_better


def test_a_table_has_lists_of_contexts(write):
    [tonic_validate_found] = read(write(TABLE), reader="tonic_validate")
    assert tonic_validate_found.frame["contexts"].tolist() == [["one", "two"], []]


def test_columns_of_a_table_may_be_chosen(write):
    [tonic_validate_found] = read(
        write(TABLE),
        reader="tonic_validate",
        columns=["answer_similarity", "reference_question"],
    )
    assert list(tonic_validate_found.frame) == ["question", "answer_similarity"]

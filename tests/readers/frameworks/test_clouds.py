"""Evaluation services of clouds: what each format alone does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.readers import Source, read, recognise

# -- azure: files of azure-ai-evaluation 1.18.10, and by hand after the files of its samples

AZURE_FILES = Path(__file__).parents[2] / "golden" / "azure"
AZURE_EXPECTED = json.loads((AZURE_FILES / "expected.json").read_text(encoding="utf-8"))


def test_means_are_those_that_azure_gives():
    [evaluation] = read_scores(AZURE_FILES / "evaluation_results.json").values()
    means = evaluation.scores.mean()
    assert list(means.index) == ["f1_score", "groundedness", "fluency", "length", "cited"]
    for metric, mean in means.items():
        [azures] = [
            value
            for name, value in AZURE_EXPECTED["means"].items()
            if name.partition(".")[2] == metric
        ]
        assert mean == pytest.approx(azures, abs=1e-15)


@pytest.mark.parametrize("path", ["run", "run/eval_results.jsonl"])
def test_a_run_folder_names_the_pipeline_and_has_its_settings(path):
    [file] = read(AZURE_FILES / path)
    assert file.pipeline == "run"
    assert file.config["evaluation_gpt_model"] == "gpt-4o"
    assert file.created is not None
    assert file.created.year == 2025
    assert file.metric_columns == (
        *("groundedness", "relevance", "citations_matched", "any_citation", "latency_ms"),
    )


def row(**outputs):
    return {"inputs.query": "Who?", **{f"outputs.{name}": value for name, value in outputs.items()}}


def outputs(evaluator, **fields):
    return {f"{evaluator}.{field}": value for field, value in fields.items()}


def written(write, *rows):
    return write(json.dumps({"rows": list(rows), "metrics": {}, "studio_url": None}))


def test_severities_are_the_numbers_beside_their_words(write):
    safe = outputs("v", violence="Very low", violence_score=0, violence_reason="calm")
    [evaluation] = read_scores(written(write, row(**safe))).values()
    assert evaluation.scores["violence"].tolist() == [0]
    assert not evaluation.metrics["violence"].greater_is_better
    assert evaluation.metrics["violence"].bounds == (0, 7)
    assert evaluation.details["violence_reason"].tolist() == ["calm"]


def test_a_verdict_without_a_number_is_a_score(write):
    pro = outputs("g", groundedness_pro_label=True, groundedness_pro_reason="all")
    [evaluation] = read_scores(written(write, row(**pro))).values()
    assert evaluation.scores["groundedness_pro"].tolist() == [1]


def test_what_azure_skipped_is_not_applicable(write):
    score = outputs("r", relevance=4, relevance_status="completed", relevance_threshold=3)
    skipped = outputs("r", relevance=None, relevance_status="skipped", relevance_reason="no tools")
    [file] = read(written(write, row(**score), {**row(**skipped), "inputs.query": "b"}))
    assert file.frame["relevance_state"].tolist() == ["scored", "not applicable"]


def test_two_evaluators_with_an_output_of_one_name_stay_apart(write):
    both = {**outputs("a", score=0.5), **outputs("b", score=1)}
    [file] = read(written(write, row(**both)))
    assert file.metric_columns == ("a.score", "b.score")


# -- bedrock: output of Amazon Bedrock's evaluation jobs, written by hand after published samples

BEDROCK_FILES = Path(__file__).parents[2] / "golden" / "bedrock"


def raw_turns():
    lines = (BEDROCK_FILES / "rag.jsonl").read_text(encoding="utf-8").splitlines()
    return [turn for line in lines for turn in json.loads(line)["conversationTurns"]]


def score(name, result, explanation=None):
    details = [{"modelIdentifier": "judge", "explanation": explanation}] if explanation else []
    return {"metricName": name, "result": result, "evaluatorDetails": details}


def test_results_of_turns_are_scores():
    [evaluation] = read_scores(BEDROCK_FILES / "rag.jsonl").values()
    assert evaluation.name == "KB00000001, us.anthropic.claude-3-7-sonnet-20250219-v1:0"
    names = {
        "Builtin.Correctness": "correctness",
        "Builtin.Helpfulness": "helpfulness",
        "Builtin.LogicalCoherence": "logical_coherence",
        "Builtin.Harmfulness": "harmfulness",
    }
    assert list(evaluation.scores) == list(names.values())
    for bedrocks, ours in names.items():
        results = [
            result["result"]
            for turn in raw_turns()
            for result in turn["results"]
            if result["metricName"] == bedrocks and result["result"] is not None
        ]
        assert evaluation.scores[ours].mean() == pytest.approx(sum(results) / len(results))
        assert evaluation.metrics[ours].bounds == (0, 1)
    assert not evaluation.metrics["harmfulness"].greater_is_better


def test_a_result_that_is_null_has_failed_and_explanations_are_reasons():
    [evaluation] = read_scores(BEDROCK_FILES / "rag.jsonl").values()
    assert evaluation.states["logical_coherence"].tolist() == [
        *("scored", "failed"),
        *["scored"] * 2,
    ]
    assert evaluation.details["correctness_reason"].tolist()[1] == "The number is wrong."


# -- openai_runs: output items made with the types of openai 3.54.0; ``make_openai_runs.py``

OPENAI_RUNS_FILES = Path(__file__).parents[2] / "golden" / "openai_runs"
PAGE = json.loads((OPENAI_RUNS_FILES / "page.json").read_text(encoding="utf-8"))


def test_each_run_is_a_pipeline_with_its_graders_scores():
    runs = read_scores(OPENAI_RUNS_FILES / "items.jsonl")
    assert list(runs) == ["gpt-4.1-mini (run_a)", "gpt-4.1-mini (run_b)"]
    first, second = (run.scores.sort_index() for run in runs.values())
    assert first["overlap"].tolist()[:2] == [0.75, 1.0]  # as written by the script
    assert second["overlap"].tolist() == [1.0, 0.5, 0.25]
    assert second["string_check"].tolist() == [1.0, 1.0, 1.0]


def test_the_zero_of_a_sample_that_failed_is_unscored():
    assert recognise(Source(OPENAI_RUNS_FILES / "page.json")) == "openai_runs"
    [run] = read_scores(OPENAI_RUNS_FILES / "page.json").values()
    assert run.states["overlap"].tolist() == ["scored", "scored", "failed"]
    assert run.details["overlap_reason"].tolist()[2] == "the model timed out"
    assert run.scores["string_check"].mean() == 0.5  # of 1 and 0, not of three rows


def test_an_error_of_a_grader_fails_its_score_only(write):
    rows = json.loads(json.dumps(PAGE["data"]))
    rows[0]["results"][1] |= {"score": 0.0, "sample": {"error": {"message": "no judge"}}}
    [file] = read(write(json.dumps(rows)))
    assert file.frame["overlap_state"].tolist()[0] == "failed"
    assert file.frame["string_check_state"].tolist()[0] == "scored"


# -- vertex: a metrics_table of google-cloud-aiplatform 2.7.0; ``make_vertex.py`` beside it

VERTEX_FILES = Path(__file__).parents[2] / "golden" / "vertex"
VERTEX_EXPECTED = json.loads((VERTEX_FILES / "expected.json").read_text(encoding="utf-8"))
BOTH = pytest.mark.parametrize("name", ["metrics_table.csv", "metrics_table.json"])
HEADER = "prompt,response,groundedness/score,groundedness/explanation\n"


@BOTH
def test_means_are_those_that_vertex_gives(name):
    assert recognise(Source(VERTEX_FILES / name)) == "vertex"
    [evaluation] = read_scores(VERTEX_FILES / name).values()
    for metric, mean in evaluation.scores.mean().items():
        assert mean == pytest.approx(VERTEX_EXPECTED["means"][f"{metric}/mean"], abs=1e-15)
    assert evaluation.metrics["groundedness"].bounds == (1, 5)
    assert evaluation.metrics["overlap"].bounds == (0, 1)
    assert evaluation.details["groundedness_reason"].tolist()[0] == "because 5"


def test_a_blank_score_and_a_model_without_answer_have_failed(write):
    [file] = read(write(f"{HEADER}a,b,4,good\nc,d,,\ne,Error,1,bad\n"))
    assert file.frame["groundedness_state"].tolist() == ["scored", "failed", "failed"]


# -- vertex_results: an EvaluationResult that google-cloud-aiplatform 2.7.0 wrote, and changes of

VERTEX_RESULTS_FILES = Path(__file__).parents[2] / "golden" / "vertex_results"
PATH = VERTEX_RESULTS_FILES / "evaluation_result.json"
VERTEX_RESULTS_EXPECTED = json.loads(
    (VERTEX_RESULTS_FILES / "expected.json").read_text(encoding="utf-8")
)


@pytest.fixture
def document():
    return json.loads(PATH.read_text(encoding="utf-8"))


def test_each_candidate_is_a_pipeline_with_the_means_of_the_client():
    assert recognise(Source(PATH)) == "vertex_results"
    runs = read_scores(PATH)
    assert list(runs) == ["small", "large"]
    # The client averages over the candidates, without the score that failed.
    for name, expected in VERTEX_RESULTS_EXPECTED["means_of_all_candidates"].items():
        scores = [score for run in runs.values() for score in run.scores[name].dropna()]
        assert sum(scores) / len(scores) == pytest.approx(expected, abs=1e-15)
    assert runs["small"].details["answer"].tolist() == ["Jane Austen", "It is Rome", "A cloth"]
    assert runs["small"].details["reference"].tolist()[1] == "Rome"
    assert runs["large"].details["question"].tolist()[2] == "What is RAG?"
    assert runs["small"].details["overlap_reason"].tolist()[1] == "3 words"


def test_a_metric_with_an_error_has_failed():
    small = read_scores(PATH)["small"]
    assert small.scores["exact"].isna().tolist() == [False, False, True]
    assert small.details["exact_state"].tolist()[2] == "failed"
    assert "nothing to compare" in small.details["exact_reason"].tolist()[2]


def test_cases_in_place_of_a_frame_give_ids_and_texts(document, write):
    def content(text):
        return {"parts": [{"text": text}], "role": "user"}

    cases = [
        {
            "prompt": content(f"Why {n}?"),
            "responses": [{"response": content(f"so {n}")}, {"response": content(f"no {n}")}],
            "eval_case_id": f"case-{n}",
        }
        for n in range(3)
    ]
    document["evaluation_dataset"] = [{"eval_cases": cases}]
    runs = read_scores(write(json.dumps(document)))
    assert runs["large"].scores.index.tolist() == ["case-0", "case-1", "case-2"]
    assert runs["large"].details["answer"].tolist() == ["no 0", "no 1", "no 2"]
    assert runs["small"].details["question"].tolist()[0] == "Why 0?"

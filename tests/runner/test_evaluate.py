"""The whole way in one call: asked, scored, judged, weighed, gated, priced and kept."""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from rageval_report import RAGPipelineEvaluation, evaluate
from rageval_report.errors import (
    DataError,
    JudgeError,
    PipelineError,
    ReaderError,
    UnknownNameError,
)
from rageval_report.judges import ScriptedChat
from rageval_report.runner.evaluate import EvaluationRun

QUERIES = [
    {"query_id": "a", "question": "Norway?", "reference": "Oslo", "relevant": {"d1": 1}},
    {"query_id": "b", "question": "Kenya?", "reference": "Nairobi", "relevant": {"d2": 1}},
    {"query_id": "c", "question": "Peru?", "reference": "Lima", "relevant": {"d3": 1}},
    {"query_id": "d", "question": "Chad?", "reference": "Oslo", "relevant": {"d4": 1}},
]


GOOD = '{"reasoning": "good", "score": 5}'


def oslo(question):
    return {"answer": "Oslo", "retrieved": ["d1", "d2"], "usage": {"prompt_tokens": 100}}


def says_good(text):
    return GOOD


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def schema_of(package, name):
    text = resources.files(package).joinpath(name).read_text(encoding="utf-8")
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    return schema


def document_of(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


# -- the result


def test_a_function_is_evaluated_on_queries_in_memory():
    run = evaluate(queries=QUERIES, target=oslo, metrics=["exact_match", "recall@5"], name="oslo")
    assert isinstance(run, EvaluationRun)
    assert run.evaluation.name == "oslo"
    assert run.evaluation.scores["exact_match"].tolist() == [1, 0, 0, 1]
    assert run.evaluation.scores["recall@5"].tolist() == [1, 1, 0, 0]
    assert run.records["answer"].tolist() == ["Oslo"] * 4
    assert (run.folder, run.gates, run.weighted, run.judged) == (None, None, None, None)
    assert run.passed
    assert repr(run) == "EvaluationRun('oslo', 4 queries, 2 metrics)"


def test_a_folder_holds_records_scores_and_page_and_can_be_resumed():
    run = evaluate(queries=QUERIES, target=oslo, samples=2, seed=3, folder="run")
    names = {path.name.partition(".")[0] for path in Path("run").iterdir()}
    assert {"journal", "records", "run", "scores", "report"} <= names
    assert run.evaluation.name == "run"
    assert len(run.records) == 2
    questions = []

    def other(question):
        questions.append(question)
        return "Oslo"

    other.__qualname__, other.__module__ = oslo.__qualname__, oslo.__module__
    with pytest.raises(DataError, match="continue it with resume=True"):
        evaluate(queries=QUERIES, target=oslo, samples=2, seed=3, folder="run")
    again = evaluate(queries=QUERIES, target=other, samples=2, seed=3, folder="run", resume=True)
    assert questions == []
    pd.testing.assert_frame_equal(again.evaluation.scores, run.evaluation.scores)
    figures = again.timings.frame.set_index("figure")["value"]
    assert "throughput_per_second" not in figures  # nothing was asked in this time
    assert "throughput_per_second" in set(run.timings.frame["figure"])


def test_gates_and_the_weighted_score_are_part_of_the_run():
    run = evaluate(
        queries=QUERIES,
        target=oslo,
        metrics=["exact_match", "recall@5"],
        weights={"exact_match": 3, "recall@5": 1},
        gates=["mean(exact_match) >= 0.4", "mean(recall@5) >= 0.9"],
    )
    assert run.weighted is not None
    assert run.weighted.frame["value"].iloc[0] == pytest.approx((3 * 0.5 + 1 * 0.5) / 4)
    assert run.gates is not None
    assert run.gates.frame["passed"].tolist() == [True, False]
    assert not run.passed
    assert "gates FAILED" in repr(run)
    page = run.report().to_markdown()
    assert "Weighted score of pipeline" in page
    assert "Gates of pipeline" in page


def refuse(question):
    raise AssertionError(f"asked {question}")


# -- the judge


def test_a_judge_that_was_handed_in_is_asked_again_unless_a_cache_is_named(here, monkeypatch):
    monkeypatch.setenv("RAGEVAL_CACHE", str(here / "own.sqlite"))
    settings = {"queries": QUERIES, "target": oslo, "metrics": ["coherence"]}
    evaluate(settings, judge=says_good)
    assert not (here / "own.sqlite").exists()
    chat = ScriptedChat([GOOD] * 4)
    evaluate({**settings, "judge": {"cache": "c.sqlite"}}, judge=chat)
    again = evaluate({**settings, "judge": {"cache": "c.sqlite"}}, judge=ScriptedChat([]))
    assert again.evaluation.scores["coherence"].tolist() == [1.0] * 4


def test_several_judges_judge_every_query():
    bad = '{"reasoning": "no", "score": 1}'
    judges = [ScriptedChat([answer] * 4, model=name) for name, answer in (("a", GOOD), ("b", bad))]
    run = evaluate(queries=QUERIES, target=oslo, metrics=["coherence"], judge=judges, folder="run")
    assert run.evaluation.scores["coherence"].tolist() == [0.5] * 4
    assert list(run.costs.frame["part"])[1:3] == ["judge: coherence (a)", "judge: coherence (b)"]


def test_without_a_named_rubric_a_judge_judges_what_the_fields_allow():
    run = evaluate(queries=QUERIES, target=oslo, judge=says_good)
    assert {"answer_correctness", "answer_relevancy"} <= set(run.evaluation.scores)
    assert "faithfulness" not in run.evaluation.scores  # there are no contexts


def test_the_scores_that_were_computed_survive_a_judge_that_fails():
    chat = ScriptedChat([JudgeError("refused")] * 9)
    metrics = ["exact_match", "coherence"]
    run = evaluate(queries=QUERIES, target=oslo, metrics=metrics, judge=chat, folder="run")
    assert run.failure is not None
    assert "refused" in run.failure
    assert "the judge failed" in repr(run)
    assert run.evaluation.get_aggregated_scores("exact_match") == 0.5
    assert Path("run/scores.json").exists()


# -- settings


def test_keywords_overrule_a_file_and_the_names_are_the_same():
    Path("q.jsonl").write_text("".join(json.dumps(query) + "\n" for query in QUERIES))
    Path("eval.yaml").write_text(
        "records: q.jsonl\nsamples: 1\nname: file\nmetrics: [exact_match]\n"
        "target: 'nowhere:answer'\ngates: ['mean(exact_match) >= 0']\n"
    )
    run = evaluate("eval.yaml", target=oslo, samples=3, folder="run")
    assert run.evaluation.name == "file"
    assert run.evaluation.n_queries == 3
    assert run.gates is not None
    assert document_of("run/run.json")["target"]["function"].endswith(":oslo")
    other = evaluate("eval.yaml", target=oslo, queries=QUERIES, samples=4)
    assert other.evaluation.n_queries == 4


def test_a_command_is_a_list_of_words():
    program = (
        "import sys, json\nfor line in sys.stdin:\n"
        "    q = json.loads(line)\n"
        "    print(json.dumps({'query_id': q['query_id'], 'answer': 'Lima'}), flush=True)\n"
    )
    Path("rag.py").write_text(program)
    run = evaluate(
        queries=QUERIES,
        target=[sys.executable, "rag.py"],
        metrics=["exact_match"],
        command={"timeout": 60},
        concurrency=1,
    )
    assert run.evaluation.scores["exact_match"].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"target": oslo}, DataError, "queries must be a table or a file, or datasets"),
        ({"queries": QUERIES}, DataError, "expected one target to ask; got none"),
        ({"queries": QUERIES, "taget": oslo}, UnknownNameError, "Did you mean 'target'"),
        (
            {"queries": QUERIES, "target": refuse, "metrics": ["recal@5"]},
            UnknownNameError,
            "Did you mean 'recall'",
        ),
        (
            {"queries": QUERIES, "target": refuse, "weights": {"speed": 1}},
            UnknownNameError,
            "speed",
        ),
        ({"queries": QUERIES, "target": refuse, "gates": 3}, DataError, "gates must be a file"),
        ({"queries": QUERIES, "target": refuse, "judge": 3}, DataError, "chat must be a chat"),
        ({"queries": QUERIES, "target": refuse, "samples": "x"}, DataError, "samples: expected"),
        (
            {"queries": QUERIES, "target": refuse, "metrics": ["exact_match"]},
            PipelineError,
            "check the callable target",
        ),
    ],
)
def test_what_is_wrong_is_said(keywords, error, message):
    with pytest.raises(error, match=message):
        evaluate(**keywords)


def test_a_wrong_file_is_reported_with_its_name():
    Path("eval.yaml").write_text("name: x\nsampels: 3\n")
    with pytest.raises(ReaderError, match=r"eval\.yaml: .*'samples'"):
        evaluate("eval.yaml", queries=QUERIES, target=oslo)


# -- the files for other programs


@pytest.fixture
def full_run():
    return evaluate(
        queries=[*QUERIES, {"query_id": "e", "question": "Fiji?"}],
        target=oslo,
        metrics=["exact_match", "recall@5", "latency_ms", "coherence"],
        judge=says_good,
        weights={"exact_match": 1, "recall@5": 1},
        gates=["mean(exact_match) >= 0.9"],
        folder="run",
    )


def test_the_run_file_keeps_its_schema(full_run):
    schema = schema_of("rageval_report.scores", "run_file.schema.json")
    document = document_of("run/scores.json")
    assert [error.message for error in Draft202012Validator(schema).iter_errors(document)] == []
    assert document.keys() <= schema["properties"].keys()
    results = document["results"]
    assert results.keys() == {"costs", "timings", "weighted", "gates"}
    assert results["gates"]["passed"] is False
    assert results["weighted"]["rows"][0]["value"] == pytest.approx(0.5)
    assert results["costs"]["rows"][0]["part"] == "pipeline"
    assert results["costs"]["rows"][0]["prompt_tokens"] == 500
    kept = RAGPipelineEvaluation.load(None, "run/scores.json")
    pd.testing.assert_frame_equal(kept.scores, full_run.evaluation.scores)


def test_run_json_keeps_its_schema(full_run):
    schema = schema_of("rageval_report.runner", "run.schema.json")
    document = document_of("run/run.json")
    assert [error.message for error in Draft202012Validator(schema).iter_errors(document)] == []
    assert document.keys() == schema["properties"].keys() == set(schema["required"])


# -- what is correct


def test_a_rule_for_a_correct_answer_holds_in_all_of_the_run(here):
    run = evaluate(
        {"correct": {"token_f1": 0.5}},
        queries=QUERIES,
        target=oslo,
        metrics=["exact_match", "token_f1"],
        gates=["correct >= 0.4"],
        folder="run",
    )
    assert run.evaluation.correct.tolist() == [True, False, False, True]
    assert run.gates.frame["value"].tolist() == [0.5]
    opening = "correct: token_f1 >= 0.5; 2 of 4 queries are correct"
    assert run.evaluation.evaluation_report().correct == opening
    assert RAGPipelineEvaluation.load(None, "run/scores.json").correct_rule == {"token_f1": 0.5}


PRICED = [{"query_id": name, "question": name, "reference": "Oslo"} for name in "abc"]


USAGE = {"prompt_tokens": 2000, "completion_tokens": 500}


def with_model(question):
    return {"answer": "Oslo", "usage": USAGE, "model": "small"}


def run_of(target, **keywords):
    return evaluate(queries=PRICED, target=target, metrics=["exact_match"], **keywords)


def test_tokens_times_prices_are_the_cost_of_each_query():
    run = run_of(with_model, prices={"small": (0.5, 2.0), "large": (5, 20)})
    cost = (2000 * 0.5 + 500 * 2.0) / 1_000_000
    assert run.evaluation.scores["cost_usd"].tolist() == pytest.approx([cost] * 3)
    [row] = run.costs.frame.to_dict("records")
    assert (row["n"], row["n_known"], row["prompt_tokens"]) == (3, 3, 6000)
    assert row["cost_usd"] == pytest.approx(3 * cost)
    assert "cost_usd: 3 of 3 are computed from tokens and prices" in run.evaluation.notes


def test_a_cost_that_the_pipeline_states_counts_first_and_a_note_says_which():
    def mixed(question):
        return with_model(question) | ({"cost_usd": 7.0} if question == "b" else {})

    run = run_of(mixed, prices={"small": (0, 0)})
    assert run.evaluation.scores["cost_usd"].tolist() == [0, 7, 0]
    [note] = [note for note in run.evaluation.notes if note.startswith("cost_usd")]
    assert "1 of 3 are stated by the pipeline, which counts first" in note
    assert "2 of 3 are computed from tokens and prices" in note


@pytest.mark.parametrize("prices", [{"small": 3}, {"small": (-1, 2)}, {"small": ("a", "b")}])
def test_a_wrong_price_is_refused_before_anything_is_asked(prices):
    with pytest.raises(DataError, match="prices: the price of 'small' must be two numbers"):
        evaluate(queries=PRICED, target=refuse, prices=prices)


ROWS = [
    {"query_id": name, "question": f"{name}?", "reference": "Oslo", "relevant": {f"d-{name}": 1}}
    for name in "abcde"
]


@pytest.fixture(autouse=True)
def query_files(here):
    Path("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    Path("q.csv").write_text("query_id,question,reference\na,a?,Oslo\nd,d?,Oslo\n")


@pytest.mark.parametrize(
    "queries", ["q.jsonl", "q.csv", pd.DataFrame(ROWS)], ids=["lines", "csv", "frame"]
)
def test_only_the_named_queries_are_asked(queries):
    questions = []

    def answer(question):
        questions.append(question)
        return "Oslo"

    run = evaluate(
        queries=queries, target=answer, query_ids=["d", "a"], samples=1, metrics=["exact_match"]
    )
    assert sorted(questions) == ["a?", "d?"]  # a sample of 1 does not apply to named queries
    assert run.evaluation.scores.index.tolist() == ["a", "d"]
    assert run.evaluation.config["query_ids"] == ["d", "a"]


def test_an_id_that_is_not_there_is_an_error_before_anything_is_asked():
    with pytest.raises(DataError, match=r"query_ids: no query has the id 'x', 'y'"):
        evaluate(queries="q.jsonl", target=refuse, query_ids=["a", "x", "y"])


# -- gold with documents and sections

GOLD = [
    {
        "query_id": "a",
        "question": "a?",
        "relevant": [{"doc_id": "guide", "section": "1"}, {"doc_id": "faq", "section": "1"}],
    },
    {"query_id": "b", "question": "b?", "gold_citations": [{"doc_id": "guide", "section_id": "2"}]},
    {
        "query_id": "c",
        "question": "c?",
        "gold_passages": [{"doc_id": "guide", "chunk_id": "9", "text": "Nine."}],
    },
]


def cites(question):
    sections = [("guide", "1"), ("notes", "1"), ("guide", "2")]
    return {
        "answer": "So.",
        "citations": [{"doc_id": document, "section": name} for document, name in sections],
    }


def test_documents_and_sections_of_a_golden_set_reach_the_metrics():
    Path("golden.jsonl").write_text("".join(json.dumps(item) + "\n" for item in GOLD))
    run = evaluate(
        datasets="golden.jsonl", target=cites, metrics=["section_accuracy", "document_accuracy"]
    )
    scores = run.evaluation.scores
    # Of three citations: (guide, 1) is gold of a, and (notes, 1) is not; (guide, 2) is gold of b.
    assert scores["section_accuracy"].tolist() == pytest.approx([1 / 3, 1 / 3, 0])
    assert scores["document_accuracy"].tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3])

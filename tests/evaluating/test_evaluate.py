"""One call asks, scores, judges, weighs, gates and reports."""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path

import numpy as np
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
from rageval_report.runner.evaluate import EvaluationRun
from rageval_report.runner.judge_setup import JudgeSetup
from rageval_report.runner.eval_config import settings_of
from rageval_report.judges import Rubric, ScriptedChat

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


def test_nothing_is_left_on_disk_without_a_folder(here, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(here))
    run = evaluate(queries=QUERIES, target=oslo, metrics=["exact_match"])
    assert list(here.iterdir()) == []
    with pytest.raises(DataError, match="folder must be named"):
        run.save()
    assert run.save("kept") == Path("kept")
    assert RAGPipelineEvaluation.load(None, "kept/scores.json").n_queries == 4


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
    assert "weighted score 0.500, gates FAILED" in repr(run)
    page = run.report().to_markdown()
    assert "Weighted score of pipeline" in page
    assert "Gates of pipeline" in page


def test_a_wrong_gate_is_an_error_that_keeps_the_scores():
    with pytest.raises(UnknownNameError, match="faithfulness"):
        evaluate(queries=QUERIES, target=oslo, gates="mean(faithfulness) >= 1", folder="run")
    assert RAGPipelineEvaluation.load(None, "run/scores.json").n_queries == 4


def test_a_rule_that_cannot_be_read_is_refused_before_anything_is_asked():
    with pytest.raises(DataError, match="mean"):
        evaluate(queries=QUERIES, target=refuse, gates="mean(exact_match >= 1")


def refuse(question):
    raise AssertionError(f"asked {question}")


# -- the judge


def test_a_callable_judges_what_the_metrics_name():
    run = evaluate(
        queries=QUERIES, target=oslo, metrics=["exact_match", "coherence"], judge=says_good
    )
    assert run.evaluation.scores["coherence"].tolist() == [1.0] * 4
    assert run.judged is not None
    costs = run.costs.frame.set_index("part")
    assert costs.loc["judge: coherence", "n"] == 4
    assert np.isnan(costs["cost_usd"]).all()


def test_a_judge_that_was_handed_in_is_asked_again_unless_a_cache_is_named(here, monkeypatch):
    monkeypatch.setenv("RAGEVAL_CACHE", str(here / "own.sqlite"))
    settings = {"queries": QUERIES, "target": oslo, "metrics": ["coherence"]}
    evaluate(settings, judge=says_good)
    assert not (here / "own.sqlite").exists()
    chat = ScriptedChat([GOOD] * 4)
    evaluate({**settings, "judge": {"cache": "c.sqlite"}}, judge=chat)
    again = evaluate({**settings, "judge": {"cache": "c.sqlite"}}, judge=ScriptedChat([]))
    assert again.evaluation.scores["coherence"].tolist() == [1.0] * 4


def test_several_judges_judge_every_query_and_are_compared():
    bad = '{"reasoning": "no", "score": 1}'
    judges = [ScriptedChat([answer] * 4, model=name) for name, answer in (("a", GOOD), ("b", bad))]
    run = evaluate(queries=QUERIES, target=oslo, metrics=["coherence"], judge=judges, folder="run")
    assert run.evaluation.scores["coherence"].tolist() == [0.5] * 4
    assert {"agreement", "disagreements"} <= run.tables.keys()
    assert list(run.costs.frame["part"])[1:3] == ["judge: coherence (a)", "judge: coherence (b)"]
    assert "Where judges disagree" in run.report().to_markdown()


def test_several_judges_can_be_named_in_the_settings(monkeypatch):
    settings = {"queries": QUERIES, "target": oslo, "metrics": ["coherence"]}
    section = {"models": ["gpt-5", "ollama=llama3.1"], "base_url": "http://127.0.0.1:9/v1"}
    config = settings_of({**settings, "judge": section}, {})
    chats = JudgeSetup(config.judge).chats()
    assert [(chat.model, chat.url) for chat in chats] == [
        ("gpt-5", "http://127.0.0.1:9/v1/chat/completions"),
        ("llama3.1", "http://localhost:11434/v1/chat/completions"),
    ]
    config = settings_of({**settings, "judge": section}, {"judge": ["a", "b"]})
    assert config.judge.models == ("a", "b")
    config = settings_of({**settings, "judge": section}, {"judge": "a"})
    assert (config.judge.model, config.judge.models) == ("a", ())
    with pytest.raises(DataError, match=r"leave out judge\.model"):
        settings_of({**settings, "judge": {**section, "model": "a"}}, {})


def test_without_a_named_rubric_a_judge_judges_what_the_fields_allow():
    run = evaluate(queries=QUERIES, target=oslo, judge=says_good)
    assert {"answer_correctness", "answer_relevancy"} <= set(run.evaluation.scores)
    assert "faithfulness" not in run.evaluation.scores  # there are no contexts


def test_a_rubric_of_your_own_is_a_metric():
    rubric = Rubric("warm", "Is the answer warm?", "How warm is this?\n{answer}")
    run = evaluate(queries=QUERIES, target=oslo, metrics=[rubric], judge=says_good)
    assert list(run.evaluation.scores) == ["warm"]


def test_judge_false_judges_nothing_and_a_note_says_so():
    lines = []
    run = evaluate(
        queries=QUERIES,
        target=oslo,
        metrics=["exact_match", "coherence"],
        judge=False,
        tell=lines.append,
    )
    assert list(run.evaluation.scores) == ["exact_match"]
    assert run.notes[0] == "not judged: coherence"
    assert lines == list(run.notes)


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


def test_a_mapping_is_as_good_as_a_file():
    run = evaluate({"queries": pd.DataFrame(QUERIES), "target": oslo, "metrics": "exact_match"})
    assert run.evaluation.n_queries == 4


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


def test_a_function_may_take_the_whole_query():
    run = evaluate(
        queries=[{**query, "hint": query["reference"]} for query in QUERIES],
        target=lambda query: query["hint"],
        callable={"argument": "query", "fields": ["hint"]},
        metrics=["exact_match"],
    )
    assert run.evaluation.scores["exact_match"].tolist() == [1, 1, 1, 1]


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


def test_a_wrong_file_is_reported_with_its_line():
    Path("eval.yaml").write_text("name: x\nsampels: 3\n")
    with pytest.raises(ReaderError, match=r"eval\.yaml, line 2: .*'samples'"):
        evaluate("eval.yaml", queries=QUERIES, target=oslo)


def test_queries_are_not_settings():
    with pytest.raises(DataError, match=r"Pass queries as queries=\.\.\."):
        evaluate(QUERIES, target=oslo)


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


@pytest.mark.parametrize("suffix", [".json", ".csv", ".jsonl", ".parquet"])
def test_the_tables_of_a_run_are_kept_when_it_is_loaded_and_saved_again(full_run, suffix):
    document = document_of("run/scores.json")
    kept = RAGPipelineEvaluation.load("renamed", "run/scores.json").with_notes("seen")
    assert kept.saved_results == document["results"]
    copy = kept.save(f"copy{suffix}")
    again = RAGPipelineEvaluation.load(None, copy)
    assert again.saved_results == document["results"]
    again.save("again.json")
    assert document_of("again.json")["results"] == document["results"]


def test_the_tables_of_a_run_are_dropped_where_they_no_longer_fit(full_run):
    kept = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert kept.with_correct(("recall@5", 1.0)).saved_results == {}
    assert RAGPipelineEvaluation.load(None, "run/scores.json", correct="exact_match").scores.equals(
        kept.scores
    )
    other = RAGPipelineEvaluation.load(None, "run/scores.json", correct=("recall@5", 1.0))
    assert other.saved_results == {}
    path = kept.save("rows.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    assert RAGPipelineEvaluation.load(None, path).saved_results == {}


def test_run_json_keeps_its_schema(full_run):
    schema = schema_of("rageval_report.runner", "run.schema.json")
    document = document_of("run/run.json")
    assert [error.message for error in Draft202012Validator(schema).iter_errors(document)] == []
    assert document.keys() == schema["properties"].keys() == set(schema["required"])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("queries", 0, "scores", "exact_match"), "high"),
        (("queries", 0, "query_id"), 7),
        (("results", "gates", "passed"), "yes"),
        (("results", "weighted", "rows", 0, "value"), "0.5"),
        (("metrics", "exact_match", "kind"), "boolean"),
        (("format",), "csv"),
    ],
)
def test_the_schema_refuses_what_is_wrong(full_run, path, value):
    schema = schema_of("rageval_report.scores", "run_file.schema.json")
    document = document_of("run/scores.json")
    part = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    [error] = Draft202012Validator(schema).iter_errors(document)
    assert tuple(error.absolute_path) == path


def test_any_saved_evaluation_keeps_the_schema():
    schema = schema_of("rageval_report.scores", "run_file.schema.json")
    data = {"query_id": ["a", "b"], "stars": [1.0, None], "topic": pd.Categorical(["x", "y"])}
    evaluation = RAGPipelineEvaluation("hybrid", data, correct=("stars", 1.0))
    document = document_of(evaluation.save("hybrid.json", created="2026-08-01"))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(document)] == []
    assert document.keys() <= schema["properties"].keys()


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


def test_a_rule_that_cannot_be_used_costs_no_scores():
    run = evaluate(queries=QUERIES, target=oslo, metrics=["exact_match"], correct=("tone", 0.5))
    assert run.evaluation.correct_rule is None
    assert any("the rule for a correct answer is not used" in note for note in run.notes)


def test_a_rule_of_the_wrong_shape_is_refused_before_anything_is_asked():
    def never(question):
        raise AssertionError(question)

    with pytest.raises(DataError, match="correct has the wrong shape"):
        evaluate({"correct": [1, 2]}, queries=QUERIES, target=never)


def test_a_judge_decides_what_is_correct_and_not_an_exact_match():
    run = evaluate(
        queries=QUERIES,
        target=oslo,
        metrics=["exact_match", "answer_correctness"],
        judge=says_good,
    )
    assert run.evaluation.scores["exact_match"].sum() == 2
    assert run.evaluation.evaluation_report().correct == (
        "correct: judged answer_correctness >= 0.5; 4 of 4 queries are correct"
    )

"""score and eval on the command line: levels of ids, repeats, and questions without gold."""

from __future__ import annotations

import json

import pytest

from rageval_report import RAGPipelineEvaluation

MY_RAG = """\
RETRIEVED = {"q1": "ab", "q2": "cb", "q3": "ab", "q4": "ab", "q5": "ca"}


def answer(question):
    name = question.split()[0]
    passages = [{"document_id": d, "node_id": f"{d}1", "content": d} for d in RETRIEVED[name]]
    passages.append({"document_id": RETRIEVED[name][0], "node_id": "z", "content": "again"})
    return {"answer": "I don't know." if name == "q4" else "Yes.", "retrieved": passages}
"""
# recall@2 is 1, 1/2, 0 and twice not applicable: the mean is 1/2.
GOLD = {"q1": ["a"], "q2": ["a", "b"], "q3": ["d"], "q4": [], "q5": []}


@pytest.fixture
def questions(folder):
    (folder / "my_rag.py").write_text(MY_RAG)
    rows = [
        {"query_id": name, "question": f"{name} ?", "relevant": gold, "answerable": name != "q4"}
        for name, gold in GOLD.items()
    ]
    (folder / "asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def mean(path, metric="recall@2"):
    return RAGPipelineEvaluation.load(None, path).get_aggregated_scores(metric)


def test_five_questions_have_one_mean_by_eval_and_by_score(questions, run):
    words = "eval --callable my_rag:answer --records asked.jsonl -o run --table jsonl"
    result = run(f"{words} --metric recall@2 --metric mrr")
    assert result.exit_code == 0, result.stderr
    told = " ".join(result.stdout.split())
    assert "2 of 5 queries have no relevant documents" in told
    assert "computed at the level of documents" in told
    assert mean("run/scores.json") == pytest.approx(1 / 2)
    config = RAGPipelineEvaluation.load(None, "run/scores.json").config
    assert config["retrieval"]["level"] == "document"
    again = run("score --records run/records.jsonl --metric recall@2 --queries q.json")
    assert again.exit_code == 0, again.stderr
    assert mean("q.json") == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--no-relevant zero", 3 / 10),
        ("--level chunk", 0),
        ("--level document --duplicates keep", 1 / 2),
    ],
)
def test_options_change_what_is_compared(questions, run, options, expected):
    words = "eval --callable my_rag:answer --records asked.jsonl -o run --metric recall@2"
    result = run(f"{words} {options}")
    assert result.exit_code == 0, result.stderr
    assert mean("run/scores.json") == pytest.approx(expected)


def test_a_repeat_may_be_refused(questions, run):
    assert (
        run("eval --callable my_rag:answer --records asked.jsonl -o run --table jsonl -q").exit_code
        == 0
    )
    result = run("score --records run/records.jsonl --metric mrr --duplicates error")
    assert result.exit_code == 2
    assert "--duplicates best or --duplicates keep counts it once" in result.stderr


def test_the_settings_file_has_the_same_options(questions, run):
    pytest.importorskip("yaml")
    (questions / "eval.yaml").write_text(
        "callable: {function: 'my_rag:answer'}\nrecords: asked.jsonl\nmetrics: [recall@2]\n"
        "no_relevant: zero\nlevel: document\nduplicates: keep\n"
    )
    result = run("eval --config eval.yaml -o run")
    assert result.exit_code == 0, result.stderr
    assert mean("run/scores.json") == pytest.approx(3 / 10)

"""The library's advice for Python is translated into options of the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from rageval_report import (
    RAGPipelineEvaluation,
    calibrate,
    compare,
    evaluate,
    history,
    load_dataset,
    rank,
    read_scores,
    score,
    score_rankings,
)
from rageval_report.analysis.noise import stability
from rageval_report.analysis.plan import plan
from rageval_report.cli.notes import ADVICE, complain, for_command_line
from rageval_report.errors import DataError, RagevalError
from rageval_report.files.writing import check_free
from rageval_report.judges.chats import chat_from_environment
from rageval_report.judges.judging import judge
from rageval_report.judges.ledger import Ledger, check_budget
from rageval_report.judges.rubric import rubrics_of
from rageval_report.plots import plot
from rageval_report.readers import READERS, Reader, ScoreFile, Source, read, recognise
from rageval_report.scores import correctness
from rageval_report.scores.correct import find_notion
from rageval_report.stats import TESTS, mean_interval

FILES = {
    "scale.csv": "query_id,faithfulness\nq1,3\nq2,7\n",
    "percent.csv": "query_id,correct\nq1,85%\nq2,0.9\n",
    "bare.csv": "query_id,question,verdict\nq1,a,good\nq2,b,bad\n",
    "nameless.csv": "case,recall\na,0.5\nb,1\n",
    "twice.csv": "query_id,recall\nq1,0.5\nq1,1\n",
    "cost.csv": "query_id,cost_usd,recall\nq1,0.5,1\nq2,,0\n",
    "other_cost.csv": "query_id,cost_usd,recall,topic\nq1,0.5,1,a\nq2,0.25,0,b\n",
}
COMMANDS = {
    "bounds": ("report scale.csv", "--bounds NAME=LOW:HIGH"),
    "percent beside numbers": ("report percent.csv", "--bounds correct=0:1 or --bounds correct=0:"),
    "no metrics": ("report bare.csv", "--metric NAME"),
    "records": ("report bare.csv", "rageval-report score --records FILE, or rageval-report judge"),
    "ids": ("report nameless.csv", "--query-id COLUMN"),
    "repeats": ("report twice.csv", "--duplicates mean"),
    "a rule of text": ("report other_cost.csv --correct topic", "--correct exact_match"),
    "no best score": ("report cost.csv --correct cost_usd", "--correct with cost_usd"),
    "missing scores": ("compare cost.csv other_cost.csv --missing worst", "--missing drop"),
    "an interval": ("report other_cost.csv --interval gaffke", "--bounds NAME=0:1"),
    "one name": ("compare cost.csv cost.csv", "as NAME=FILE"),
}
PYTHON = re.compile(r"\b(?!NAME|delimiter)[a-z_]+=[\[({.'\"]")


@pytest.mark.parametrize(("command", "option"), COMMANDS.values(), ids=COMMANDS)
def test_advice_is_for_the_command_line(folder, refused, command, option):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    told = refused(command)
    assert option in told
    assert not PYTHON.search(told), told


def told_of(error: BaseException, capsys) -> str:
    complain(str(error))
    return capsys.readouterr().err


def test_metrics_that_hold_text_are_named_by_an_option(capsys):
    with pytest.raises(DataError) as caught:
        RAGPipelineEvaluation("run", {"query_id": ["a", "b"], "recall": ["0.5 (fail)", "1"]})
    assert "--metric NAME" in told_of(caught.value, capsys)


def test_a_disagreement_on_the_direction_is_settled_by_an_option(capsys):
    data = {"query_id": ["a", "b"], "loss": [0.5, 1.0]}
    old = RAGPipelineEvaluation("old", data)
    new = RAGPipelineEvaluation("new", data, metrics={"loss": "higher"})
    with pytest.raises(DataError) as caught:
        compare(old, new)
    assert "for example --lower loss" in told_of(caught.value, capsys)


def test_one_of_several_pipelines_is_picked_with_colons(capsys, monkeypatch):
    several = [ScoreFile(pd.DataFrame(), name) for name in ("dense", "sparse")]
    monkeypatch.setattr("rageval_report.sources.reading.read", lambda *_, **__: several)
    with pytest.raises(DataError) as caught:
        RAGPipelineEvaluation.load(None, "runs.json")
    assert told_of(caught.value, capsys).endswith("'dense', 'sparse'; pick one as FILE::PIPELINE\n")


def test_a_reader_is_chosen_with_an_option(capsys, folder):
    (folder / "letter.txt").write_text("Dear council,\nthere is no table here.\n")
    with pytest.raises(DataError) as caught:
        recognise(Source("letter.txt"))
    assert "--reader NAME" in told_of(caught.value, capsys)


# -- every pattern is meant for a message that the library still has

CLI_WORDS = [
    *("--option delimiter=", "--option encoding=", "--option sheet=", "--option repeats=mean"),
    *("--lower loss", "--metric NAME", "--bounds NAME=LOW:HIGH", "--bounds NAME=0:1"),
    *("--bounds accuracy=0:100", "--option decimal=."),
    *(
        "--missing drop",
        "--duplicates mean",
        "--totals drop",
        "--totals keep",
        "--duplicates keep",
        "--query-id COLUMN",
        "--reader NAME",
        "--reader csv",
    ),
    *("--correct RULE", "--correct exact_match", "--correct with cost, <= or >=", "--interval"),
    *("--objective quality=recall@5,faithfulness", "--scale baseline", "--ties docid", "--split"),
    *(
        "--ties input",
        "--level document",
        "--label",
        "--label-bounds LOW:HIGH",
        "--threshold or --categories",
    ),
    *("--pipeline NAME", "FILE::PIPELINE", "--price SENT:RECEIVED", "--model NAME", "--force"),
    *("--duplicates best", "--option values=scores", "Leave out --qrels,"),
    *("--resume", "--retry-failed -o", "check --callable"),
    "--pipeline-price small=SENT:RECEIVED",
    *("use --tried 3", "change it with --correct RULE", "--correlation, or a pilot run with"),
    *("--role model=pipeline", "--role model=detail", "Write one JSON object per line"),
    *("score --records FILE", "judge FILE --judge NAME", "--against BASELINE", "as NAME=FILE"),
]


HOTPOT = '[{"_id": "a", "question": "Who?", "answer": "Ann", "level": "easy"}]'
SUMMARY = "metric,title,n,n_unscored,mean,ci_low,ci_high\nmrr,MRR,9,0,0.5,0.4,0.6\n"
RUN = "q Q0 a 1 0.9 t\nq Q0 b 2 0.8 t\n"


def evaluation(name, **columns):
    n = len(next(iter(columns.values())))
    return RAGPipelineEvaluation(name, {"query_id": [f"q{i}" for i in range(n)], **columns})


QUERIES = [
    {"query_id": "a", "question": "Why?", "reference": "So."},
    {"query_id": "b", "question": "How?", "reference": "Thus."},
]


def answer(question):
    if question == "How?":
        raise ValueError("out of order")
    return "So."


def failures(folder):
    """Calls of the library that fail, one for each advice."""
    recall = evaluation("a", recall=[0.5, 1.0])
    two = evaluation("a", recall=[0.5, 1.0]), evaluation("b", recall=[0.1, 1.0])
    cost = evaluation("a", cost=[0.5, None, 1.0]), evaluation("b", cost=[0.5, 2.0, 3.0])
    full = evaluation("a", loss=[1.5, 4.0]), evaluation("b", loss=[2.0, 3.0])
    loss = (
        RAGPipelineEvaluation("old", {"query_id": ["a", "b"], "loss": [0.5, 1.0]}),
        RAGPipelineEvaluation(
            "new", {"query_id": ["a", "b"], "loss": [0.5, 1.0]}, metrics={"loss": "higher"}
        ),
    )
    judged = evaluation("a", faithfulness=[0.11, 0.35, 0.52, 0.78, 0.93])
    people = {f"q{i}": share for i, share in enumerate([0.2, 0.3, 0.5, 0.9, 0.97])}

    def file(name, text):
        path = folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    long = "query_id,pipeline,metric,value\nq1,a,recall,1\nq1,a,recall,0\nq2,a,recall,0\n"
    workbook = folder / "book.xlsx"
    pd.DataFrame().to_excel(workbook, index=False)
    for split in ("train", "test"):
        file(f"{split}-00000-of-00001.jsonl", "{}\n")
    evaluate(queries=QUERIES, target=answer, folder=folder / "answered")
    not_a_ledger = file("judges.sqlite.spending", "not a ledger" * 999)
    return [
        lambda: evaluation("a", recall=[0.5, 3.0]),
        lambda: evaluation("a", accuracy=["85 %", "0.9"]),
        lambda: evaluation("a", latency=["1,234", "0.5"]),
        lambda: compare(*loss),
        lambda: evaluation("a", recall=["0.5 (fail)", "1"]),
        lambda: evaluation("a", question=["a", "b"]),
        lambda: rank(*full).weighted(objectives={"loss": ["loss"]}),
        lambda: rank(*two).weighted(objectives={"speed": ["latency_ms"]}),
        lambda: correctness(cost[0], "cost"),
        lambda: correctness(recall),
        lambda: RAGPipelineEvaluation("a", {"case": ["x", "y"], "recall": [1, 0.5]}),
        lambda: RAGPipelineEvaluation("a", {"id": ["q1", "q2", "mean"], "recall": [1, 0.5, 0.1]}),
        lambda: recognise(Source(file("letter.txt", "Dear council,\nthere is no table.\n"))),
        lambda: recognise(Source(file("table.csv", "query_id,recall\nq1,1\nq2,0\n"))),
        lambda: read(file("both.csv", "query_id;a,b\nq1;2,3\n"), reader="csv"),
        lambda: read(file("wide.csv", "query_id,recall\nq1,1\n".encode("utf-16-le"))),
        lambda: read(workbook),
        lambda: read(file("long.csv", long), reader="long"),
        lambda: RAGPipelineEvaluation("a", {"query_id": ["x", "x"], "recall": [1, 0.5]}),
        lambda: compare(*cost, missing="worst"),
        lambda: mean_interval([1.0, 2.0], method="gaffke"),
        lambda: compare(*two, test="bare"),
        lambda: plot(compare(*cost), "forest", scale="range"),
        lambda: score_rankings({"q": {"a": 1, "b": 1}}, {"q": {"a": 1}}, ["mrr"], ties="error"),
        lambda: read_scores(file("bm25.run", RUN)),
        lambda: read_scores(file("twice.run", RUN + RUN), qrels={"q": {"a": 1}}),
        lambda: read_scores(file("few.csv", "query_id,recall\nq1,1\n"), qrels={"q": {"a": 1}}),
        lambda: load_dataset("ragbench", folder),
        lambda: calibrate(judged, "faithfulness", {"q0": "a", "q1": "b"}),
        lambda: calibrate(judged, "faithfulness", {"q0": 1, "q1": 5}),
        lambda: calibrate(judged, "faithfulness", people).confusion(),
        lambda: RAGPipelineEvaluation.load(
            None, file("two.csv", long.replace("recall,0", "mrr,0").replace("q2,a", "q2,b"))
        ),
        lambda: check_budget(1.0, None, "m"),
        lambda: Ledger(1.0, Path(not_a_ledger)),
        lambda: chat_from_environment("ollama"),
        lambda: check_free(file("there.csv", "")),
        lambda: score(pd.DataFrame({"query_id": ["q"], "answer": ["a"]}), ["faithfulness"]),
        lambda: rubrics_of("preference"),
        lambda: compare(recall, recall),
        lambda: read_scores(file("hotpot.json", HOTPOT)),
        lambda: read_scores(file("predictions.json", '{"q1": "Oslo", "q2": ""}')),
        lambda: read_scores(file("summary.csv", SUMMARY)),
        lambda: evaluation("a", recall=[0.5, 1.0, 0.2, 0.1], model=["x", "x", "y", "y"]),
        lambda: evaluate(queries=QUERIES, target=answer, folder=folder / "answered"),
        lambda: evaluate(queries=QUERIES[1:], target=answer),
    ]


def is_table(source):
    return 0.9 if source.stem == "table" else 0.0


def scan_failures(folder):
    """Calls of scans that raise advice."""
    (folder / "scan.csv").write_text("query_id,recall,topic\nq1,0.5,a\nq2,1,b\n")
    one, same, other = (
        RAGPipelineEvaluation.scan(folder / "scan.csv", name=name) for name in ("a", "a", "b")
    )
    (folder / "repeated.csv").write_text("query_id,recall\nq1,0.5\nq1,1\n")
    return [
        lambda: RAGPipelineEvaluation.scan(folder / "repeated.csv").n_queries,
        lambda: compare(one, same),
        lambda: compare(one, other, correction="westfall-young"),
    ]


def results(folder):
    """Results and evaluations whose notes contain advice."""
    (folder / "scan.csv").write_text("query_id,recall\nq1,0.5\nq2,0.25\n")
    cut = RAGPipelineEvaluation.scan(folder / "scan.csv").failures("recall", 1.0, k=1)
    (folder / "ranks.tsv").write_text("q\ta\t1\nq\tb\t2\n")
    ranked = read_scores(folder / "ranks.tsv", qrels={"q": {"a": 1}})["ranks"]
    runs = [evaluation("a", recall=[0.5]), evaluation("a", recall=[1.0])]
    several = [evaluation(name, recall=[0.5]) for name in ("a", "a", "b")]
    passages = [{"doc_id": "a", "chunk_id": chunk} for chunk in ("a1", "a2")]
    row = {"query_id": "q", "retrieved": passages, "relevant": passages}
    scored = [score([row], "mrr"), score([row], "mrr", level="document")]
    hm = {"query_id": "q", "question": "Where?", "answer": "There."}
    judgings = [judge([hm], "coherence", lambda text: "hm", cache=folder / "c") for _ in range(2)]
    half = evaluate(queries=QUERIES, target=answer, folder=folder / "half")
    usage = {"prompt_tokens": 9, "completion_tokens": 1}
    reply = {"answer": "So.", "model": "small", "usage": usage}
    weighed = evaluate(queries=QUERIES, target=lambda _: reply, weights={"cost": 1, "accuracy": 1})
    three = rank(*(evaluation(name, recall=[0.5, 0.25, 1.0]) for name in "abc"))
    guessed = plan(evaluation("a", recall=[0.5, 0.25, 1.0]))
    made = [*scored, *judgings, half, weighed, three, guessed]
    return [cut, stability(runs), history(several), ranked, *made]


@pytest.fixture
def messages(folder, monkeypatch):
    twin = Reader("other", "as good as csv", is_table, lambda source: [])
    monkeypatch.setitem(READERS._entries, "other", twin)
    monkeypatch.setitem(TESTS._entries, "bare", lambda pairs, **_: (0.0, 1.0))
    monkeypatch.delenv("RAG_EVAL_OLLAMA_MODEL", raising=False)
    texts = []
    for call in (*failures(folder), *scan_failures(folder)):
        with pytest.raises(RagevalError) as caught:
            call()
        texts.append(str(caught.value))
    notion = find_notion(evaluation("a", exact_match=[1, 0]))
    return [*texts, notion.note, *(text for result in results(folder) for text in result.notes)]


def test_every_pattern_matches_a_message_of_the_library(messages):
    unmatched = [
        pattern for pattern, _ in ADVICE if not any(re.search(pattern, text) for text in messages)
    ]
    assert unmatched == []


def test_every_advice_is_in_terms_of_the_command_line(messages):
    translated = "\n".join(map(for_command_line, messages))
    assert [words for words in CLI_WORDS if words not in translated] == []
    assert not any(words in "\n".join(messages) for words in CLI_WORDS)


def test_notes_of_a_result_are_in_terms_of_the_command_line(folder, run):
    for name in ("monday.csv", "tuesday.csv"):
        (folder / name).write_text("query_id,recall\nq1,0.5\nq2,1\n")
    text = " ".join(run("stability monday.csv tuesday.csv").stdout.split())
    assert "it is unknown what a correct answer is; pass --correct RULE" in text

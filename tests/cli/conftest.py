"""The command line run in a folder that holds the example data and some small files."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from rageval_report import RAGPipelineEvaluation
from rageval_report.cli import rageval_report
from rageval_report.demo import write_demo_files
from rageval_report.golden import read_golden, review_page
from rageval_report.http import make_retrier

Run = Callable[..., Result]

# A chat model that knows of rivers only what the documents of the examples say.
MY_CHAT = """\
import json
import re


def ask(text):
    numbers = re.findall(r"river (number[0-9])", text)
    if "Write one question" in text and "does not answer" in text:
        return json.dumps({"question": f"Who found the river {numbers[0]} first?"})
    if "Write one question" in text:
        return json.dumps({"question": f"How long together are the rivers {' '.join(numbers)}?"})
    if "wrong" in text:
        return json.dumps({"answers": ["99 feet", "1 mile"]})
    if "Question:" not in text or "JSON" not in text:
        return "It is healthy."
    context, _, question = text.partition("Question:")
    asked = set(re.findall(r"number[0-9]", question))
    lengths = re.findall(r"[0-9]+ miles", context)
    if "Who" in question or not asked <= set(re.findall(r"number[0-9]", context)):
        return json.dumps({"answerable": False, "answer": "", "evidence": ""})
    return json.dumps({"answerable": True, "answer": " ".join(lengths), "evidence": lengths[0]})
"""
BEIR_FILES = {
    "corpus.jsonl": "".join(
        json.dumps({"_id": f"MED-{n}", "title": "", "text": f"Of milk, part {n}."}) + "\n"
        for n in range(4)
    ),
    "queries.jsonl": "".join(
        json.dumps({"_id": f"PLAIN-{n}", "text": f"Is milk healthy in part {n}?"}) + "\n"
        for n in range(3)
    ),
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\n"
    + "".join(f"PLAIN-{n}\tMED-{n}\t2\nPLAIN-{n}\tMED-3\t1\n" for n in range(3)),
}

OLD = """\
query_id,question,topic,recall@5,faithfulness,exact_match,latency_ms
q1,What is one?,low,1,0.5,1,100
q2,What is two?,low,0,0.25,0,110
q3,What is three?,low,0.5,,1,120
q4,What is four?,high,1,1,0,130
q5,What is five?,high,0,0.75,1,140
q6,What is six?,high,0.5,0.5,0,150
q7,What is seven?,high,1,0.25,1,160
q8,What is eight?,high,1,1,0,170
"""
NEW = """\
query_id,question,topic,recall@5,faithfulness,exact_match,latency_ms
q2,What is two?,low,1,0.5,1,111
q3,What is three?,low,1,0.5,1,121
q4,What is four?,high,1,0.75,1,131
q5,What is five?,high,0.5,1,1,141
q6,What is six?,high,0.5,1,0,151
q7,What is seven?,high,1,0.5,0,161
q8,What is eight?,high,1,,1,171
q9,What is nine?,high,1,1,1,181
"""


# A judge who called one bad answer good, and could not judge another.
JUDGED = """\
query_id,question,faithfulness,faithfulness_reason
q1,What is one?,1,all there
q2,What is two?,1,all there
q3,What is three?,0,a claim too many
q4,What is four?,,
q5,What is five?,1,all there
q6,What is six?,0,a claim too many
q7,What is seven?,1,all there
q8,What is eight?,1,all there
q9,What is nine?,0,a claim too many
"""
PEOPLE = """\
query_id,human_label,ann,bob,human_new
q1,yes,1,1,0
q2,no,0,1,1
q3,no,0,0,1
q4,yes,1,1,1
q5,,1,,0
q6,no,0,0,1
x1,yes,1,1,1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, with the small files old.csv and new.csv.

    Modules that a test wrote there are forgotten: the next test's have the same names.
    """
    (tmp_path / "old.csv").write_text(OLD)
    (tmp_path / "new.csv").write_text(NEW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield tmp_path
    for name in sys.modules.keys() - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture(scope="session")
def demo_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What demo_folder holds, written once: each test gets a copy."""
    folder = tmp_path_factory.mktemp("demo_files")
    (folder / "old.csv").write_text(OLD)
    (folder / "new.csv").write_text(NEW)
    write_demo_files(folder)
    (folder / "reranked.csv").write_bytes((folder / "hybrid.csv").read_bytes())
    for name in ("bm25", "hybrid"):  # tables of several files
        (folder / name).mkdir()
        pd.read_csv(folder / f"{name}.csv").to_parquet(folder / name / "part-0.parquet")
    (folder / "gates.toml").write_text('rules = ["ci_low(recall@5) >= 0.7"]\n')
    gold = {"qid": "a", "answerable": True, "gold_claim_substr": ["Paris"]}
    trace = {"qid": "a", "answer_json": {"claim": "It is Paris.", "citations": []}}
    for name, row in (("gold", gold), ("trace", trace)):
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    _write_files_of_frameworks(folder)
    _write_what_eval_asks(folder)
    _write_runs(folder / "runs")
    _write_records(folder)
    _write_golden(folder)
    _write_labels(folder)
    _write_rankings(folder)
    return folder


@pytest.fixture
def demo_folder(folder: Path, demo_files: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same with bm25.csv and hybrid.csv, gates that hold, a gold set, a trace that passes.

    The cache of judges is the folder's own.
    """
    shutil.copytree(demo_files, folder, dirs_exist_ok=True)
    monkeypatch.setenv("RAGEVAL_CACHE", str(folder / "judges.sqlite"))
    return folder


def _write_rankings(folder: Path) -> None:
    """What the examples with --qrels read: two rankings of eight queries, and judgments."""
    queries = [f"q{n}" for n in range(8)]
    for name, docs in (("bm25", "xba"), ("dense", "axb")):
        lines = [
            f"{query} Q0 {doc} {rank} {9 - rank} {name}\n"
            for query in queries
            for rank, doc in enumerate(docs, 1)
        ]
        (folder / f"{name}.run").write_text("".join(lines))
    judgments = "".join(f"{query} 0 a 2\n{query} 0 b 1\n" for query in queries)
    (folder / "qrels.txt").write_text(judgments)


def _write_labels(folder: Path) -> None:
    """What the examples of calibrate read: two judged runs, labels of some queries, a sheet."""
    (folder / "judged.csv").write_text(JUDGED)
    flipped = JUDGED.replace(",1,", ",x,").replace(",0,", ",1,").replace(",x,", ",0,")
    (folder / "judged_new.csv").write_text(flipped)
    (folder / "people.csv").write_text(PEOPLE)
    words = ["export", str(folder / "judged.csv"), "--to", "review"]
    sheet = CliRunner().invoke(rageval_report, words).stdout
    head, first, second, *blank = sheet.splitlines()
    filled = [
        f"{row.removesuffix(',,,,')},,,{label},fine" for row, label in ((first, 1), (second, 0))
    ]
    (folder / "rated.csv").write_text("\n".join([head, *filled, *blank]) + "\n")


def _write_golden(folder: Path) -> None:
    """What the examples of golden read: a set, documents, a chat, a review, a small BEIR set."""
    questions = ("Who wrote Hamlet?", "How long is the Seine?", "Why is the sky blue at noon?")
    questions += ("When did the war end?", "Which metal melts in a hand?", "Where do eels spawn?")
    questions += ("How many moons has Mars?", "What do pandas eat in winter?")
    rows = [
        {
            "query_id": f"q{n}",
            "question": question,
            "references": [f"answer number {n}"],
            "relevant_texts": [f"The answer number {n} stands here."],
            "metadata": {"query_type": "factoid" if n % 2 else "summary"},
        }
        for n, question in enumerate(questions)
    ]
    (folder / "golden.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    page = review_page(read_golden(folder / "golden.jsonl"))
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    data["items"][1]["decision"], data["items"][2]["decision"] = "reject", "accept"
    (folder / "review.json").write_text(json.dumps(data))
    graded = {"query_id": "q", "question": "What?", "answer": "It.", "relevant": {"d1": 2}}
    (folder / "graded.jsonl").write_text(json.dumps(graded) + "\n")
    (folder / "docs").mkdir()
    for n in range(5):
        (folder / "docs" / f"{n}.md").write_text(f"The river number{n} is {n}7 miles long.\n")
    (folder / "my_chat.py").write_text(MY_CHAT)
    with zipfile.ZipFile(folder / "nfcorpus.zip", "w") as archive:
        for name, text in BEIR_FILES.items():
            archive.writestr(f"nfcorpus/{name}", text)


def _write_records(folder: Path) -> None:
    """What the examples of judge and score read."""
    record = {"query_id": "a", "question": "Where?", "answer": "Here.", "contexts": ["Here."]}
    (folder / "records.jsonl").write_text(json.dumps(record) + "\n")
    answered = {**record, "reference": "Here.", "retrieved": ["d1", "d2"], "relevant": ["d2"]}
    (folder / "answered.jsonl").write_text(json.dumps(answered) + "\n")
    tone = "name: tone\nquestion: Is it polite?\nprompt: How polite, from 1 to 5? {answer}\n"
    (folder / "tone.yaml").write_text(tone)


def _write_what_eval_asks(folder: Path) -> None:
    """A pipeline my_rag.py, questions for it in queries.jsonl, and settings in eval.yaml."""
    (folder / "my_rag.py").write_text(
        "def answer(question, top_k=2):\n"
        "    found = ['d1', 'd2'][:top_k]\n"
        "    return {'answer': 'Paris.', 'retrieved': found, 'citations': ['d1']}\n"
    )
    rows = [
        {"query_id": f"q{n}", "question": f"What is {n}?", "relevant": [f"d{n}"], "reference": one}
        for n, one in enumerate(("Rome.", "Paris.", "Paris."))
    ]
    (folder / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "eval.yaml").write_text(
        "records: queries.jsonl\nname: rag\ncallable: {function: 'my_rag:answer'}\n"
    )


def _write_files_of_frameworks(folder: Path) -> None:
    """What the examples of export turn into other files: run.csv, results.parquet, promptfoo.json.

    The last is an output of promptfoo, with two providers.
    """
    (folder / "run.csv").write_text(OLD)
    RAGPipelineEvaluation.load("results", folder / "run.csv").save(folder / "results.parquet")
    rows = [
        {
            "provider": {"id": f"openai:{label}", "label": label},
            "prompt": {"raw": question, "label": "{{question}}"},
            "promptIdx": 0,
            "vars": {"question": question},
            "response": {"output": f"about {question}"},
            "success": True,
            "score": score,
            "namedScores": {},
            "latencyMs": 120,
            "gradingResult": {"pass": True, "score": score, "reason": "as graded"},
        }
        for label, score in (("gpt-4o", 1.0), ("llama-3", 0.5))
        for question in ("What is one?", "What is two?")
    ]
    document = {"evalId": "e", "results": {"version": 3, "results": rows}}
    (folder / "promptfoo.json").write_text(json.dumps(document))


def _write_runs(folder: Path) -> None:
    """Run files of three days, between which the set-up changed once."""
    folder.mkdir()
    ids = [f"q{i}" for i in range(8)]
    for day, top_k, low in ((1, 5, 0.5), (2, 5, 0.55), (3, 10, 0.7)):
        scores = [low + i / 40 for i in range(8)]
        rows = {"query_id": ids, "faithfulness": scores, "exact_match": [1, 0] * 4}
        run = RAGPipelineEvaluation("hybrid", rows, config={"top_k": top_k})
        run.save(folder / f"2026-08-0{day}.json", created=f"2026-08-0{day}")


@pytest.fixture(autouse=True)
def no_waits_between_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a server that fails as often as ever, but without the seconds between the attempts."""

    def make_retrier_at_once(**options: Any) -> Any:
        return make_retrier(**{**options, "sleep": lambda _seconds: None})

    monkeypatch.setattr("rageval_report.http.make_retrier", make_retrier_at_once)


@pytest.fixture
def run() -> Run:
    """Run a command line, given as one text or as words."""

    def run_it(*words: str, stdin: str | bytes | None = None) -> Result:
        arguments = words[0].split() if len(words) == 1 else list(words)
        return CliRunner().invoke(rageval_report, arguments, input=stdin)

    return run_it


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    """Run a command line that must be refused; what it says, one line without the prefix."""

    def refuse(*words: str, stdin: str | bytes | None = None) -> str:
        result = run(*words, stdin=stdin)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        *notes, last = result.stderr.splitlines()
        assert all(line.startswith("note: ") for line in notes)
        assert last.startswith("rageval-report: ")
        return last.removeprefix("rageval-report: ")

    return refuse


class JudgeHandler(BaseHTTPRequestHandler):
    """A model that speaks OpenAI's protocol, and likes the word "Here."."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(asked)
        status, document = 200, (self.server.answer or self.answer)(asked)
        if self.server.wants and self.headers["authorization"] != f"Bearer {self.server.wants}":
            status = 401
            document = {"error": {"message": f"wrong key {self.headers['authorization']}"}}
        if "response_format" in asked and not self.server.keeps_schemas:
            status, document = 400, {"error": {"message": "unknown field response_format"}}
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def answer(self, asked):
        prompt = asked["messages"][-1]["content"]
        told = {"reasoning": "as I see it", "score": 5 if "Here." in prompt else 2}
        if "<first>" in prompt:
            first = prompt.partition("<first>")[2].partition("</first>")[0]
            told = {"reasoning": "fuller", "better": "1" if "Here." in first else "2"}
        choice = {"message": {"content": json.dumps(told)}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        return {"choices": [choice], "usage": usage, "model": asked["model"]}

    def log_message(self, *args):
        """Tests print nothing."""


@pytest.fixture
def judge_server() -> Iterator[Any]:
    """A model server on this machine, which counts what it is asked."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), JudgeHandler)
    server.asked, server.wants, server.keeps_schemas, server.answer = [], None, True, None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()

"""A large run is scored a table at a time: the same scores, short details, and a note of it."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest
from rageval_report.evaluating import blocks as eval_blocks

from rageval_report import RAGPipelineEvaluation

WORDS = "eval --callable my_rag:answer --records queries.jsonl"


@pytest.fixture
def large(monkeypatch):
    """What counts as large here: more than two queries, read two at a time."""

    def lower(most: int = 2, rows: int = 2) -> None:
        blocks = eval_blocks.RecordBlocks.__call__

        def by_two(self):
            for block in blocks(self):
                yield from (block.iloc[at : at + rows] for at in range(0, len(block), rows))

        monkeypatch.setattr(eval_blocks, "MOST_WHOLE", most)
        monkeypatch.setattr(eval_blocks.RecordBlocks, "__call__", by_two)

    return lower


class Says(BaseHTTPRequestHandler):
    """Answers every question with the server's body."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *args):
        """Tests print nothing."""


@pytest.fixture
def says(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Says)
    server.url = f"http://127.0.0.1:{server.server_port}/answer"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def loaded(folder):
    return RAGPipelineEvaluation.load(None, f"{folder}/scores.json")


def test_a_large_run_has_the_scores_of_a_small_one_and_short_details(demo_folder, run, large):
    assert run(f"{WORDS} -o whole --metric exact_match --metric recall@1").exit_code == 0
    large()
    result = run(f"{WORDS} -o large --metric exact_match --metric recall@1")
    assert result.exit_code == 0, result.stderr
    whole, found = loaded("whole"), loaded("large")
    pd.testing.assert_frame_equal(found.scores, whole.scores)
    assert "retrieved" in whole.details
    assert "retrieved" not in found.details
    assert found.details["answer"].tolist() == ["Paris."] * 3
    [told, cut] = [note for note in found.notes if "texts" in note]
    assert Path(told.rpartition(" ")[2]) == Path("large/records.parquet")
    assert "cut at 200 characters" in cut
    assert told in " ".join((demo_folder / "large" / "report.html").read_text().split())


def test_many_bytes_of_answers_make_a_run_large_too(demo_folder, run, monkeypatch):
    monkeypatch.setattr(eval_blocks, "MOST_WHOLE_BYTES", 10)
    assert run(f"{WORDS} -o run").exit_code == 0
    assert "retrieved" not in loaded("run").details


def test_a_large_run_computes_what_the_fields_of_any_answer_allow(demo_folder, run, large):
    (demo_folder / "late_rag.py").write_text(
        "def answer(question):\n"
        "    if '2' in question:\n"
        "        return {'answer': 'Paris.', 'retrieved': ['d2']}\n"
        "    return 'Paris.'\n"
    )
    large(rows=1)
    result = run("eval --callable late_rag:answer --records queries.jsonl -o run")
    assert result.exit_code == 0, result.stderr
    assert loaded("run").scores["recall@5"].tolist()[2] == 1.0


def test_a_large_run_is_judged_too(demo_folder, run, large, judge_server):
    large()
    url = f"http://127.0.0.1:{judge_server.server_port}/v1"
    judging = ["--judge", "coherence", "--base-url", url, "--model", "gpt-5"]
    result = run(*f"{WORDS} -o run --metric exact_match".split(), *judging)
    assert result.exit_code == 0, result.stderr
    assert len(judge_server.asked) == 3
    assert loaded("run").scores["coherence"].notna().all()


def test_gold_that_cannot_be_placed_is_told_once(demo_folder, run, large):
    rows = [
        {"query_id": n, "question": f"What {n}?", "relevant_texts": [n], "reference": "Paris."}
        for n in "abcd"
    ]
    Path("texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    large()
    result = run("eval --callable my_rag:answer --records texts.jsonl -o run --metric exact_match")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("metrics that need the gold are unscored there") == 1


def test_the_place_and_the_end_of_a_stream_go_before_the_file_each(demo_folder, run, says):
    says.body = b'data: {"a": "x", "b": "y"}\n\nevent: over\ndata: {}\n\n'
    settings = {"http": {"url": says.url, "stream": {"text": "a", "done": "END"}}}
    (demo_folder / "stream.yaml").write_text(json.dumps(settings))
    words = "eval --config stream.yaml --records queries.jsonl --metric exact_match"
    assert "ended before the event 'END'" in run(f"{words} -o cut").stderr
    assert run(f"{words} -o one --stream-end over").exit_code == 0
    assert run(f"{words} -o other --stream-end over --stream b").exit_code == 0
    answers = [set(loaded(folder).details["answer"]) for folder in ("one", "other")]
    assert answers == [{"x"}, {"y"}]


def test_the_sets_that_were_asked_stand_in_the_account(demo_folder, run):
    words = "--datasets beir=nfcorpus.zip --samples 2 --seed 7 -o run --callable my_rag:answer"
    result = run(f"eval {words}")
    assert result.exit_code == 0, result.stderr
    account = json.loads((demo_folder / "run" / "run.json").read_text())
    told = {"datasets": ["beir=nfcorpus.zip"], "split": None, "samples_per_dataset": 2, "seed": 7}
    assert account["about"] == told

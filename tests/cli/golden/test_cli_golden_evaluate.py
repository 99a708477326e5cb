"""The command that evaluates a pipeline on a judged set, with a model server on this machine."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.golden import read_golden

PIPELINE = """\
def answer(question):
    part = question.split()[-1].rstrip("?")
    if part == "2":
        raise RuntimeError("down")
    return {"answer": "It is." if part == "0" else "No.", "retrieved": ["MED-0", "MED-9"]}
"""


class Model(BaseHTTPRequestHandler):
    """Speaks OpenAI's protocol: writes references, and judges in one word, as ADR-013 has it."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = asked["messages"][-1]["content"]
        self.server.asked.append(prompt)
        self.server.by_model.append((asked["model"], prompt))
        if "response_format" in asked:
            return self.send(400, {"error": {"message": "unknown field response_format"}})
        if "two to four sentences" in prompt:
            text = "It is healthy."
        else:
            is_right = asked["model"] == "gentle" or "It is." in prompt.split("answer>")[1]
            text = "TRUE" if is_right else "FALSE"
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        document = {"choices": [choice], "usage": self.server.usage, "model": asked["model"]}
        return self.send(200, document)

    def send(self, status, document):
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Tests print nothing."""


@pytest.fixture
def model():
    """A model server, which keeps what it was asked."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.asked, server.by_model = [], []
    server.usage = {"prompt_tokens": 10, "completion_tokens": 1}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def words(demo_folder, model, monkeypatch):
    """The command line: an archive, a pipeline, the model."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    Path("my_pipeline.py").write_text(PIPELINE)
    url = f"http://127.0.0.1:{model.server_address[1]}/v1"
    return (
        "golden evaluate nfcorpus.zip --callable my_pipeline:answer -o found --quiet "
        f"--provider openai --model any --base-url {url}"
    )


def test_one_command_goes_from_the_archive_to_the_table(words, model, run):
    result = run(f"{words} --format json")
    assert result.exit_code == 0, result.output
    [crossed] = [one for one in _results(result) if one["title"] == "Retrieval by generation"]
    counts = {
        row["retrieval"]: (row["correct"], row["incorrect"], row["unscored"])
        for row in crossed["rows"]
    }
    # part 0 is found and right, part 1 neither, and of part 2 the pipeline gave nothing
    assert counts == {
        "found": (1, 0, 0),
        "not found": (0, 1, 0),
        "not scored": (0, 0, 1),
        "all": (1, 1, 1),
    }
    assert [one.references for one in read_golden("found/truth.jsonl")] == [("It is healthy.",)] * 3
    assert {"scores.json", "report.html", "truth.jsonl"} <= {
        one.name for one in Path("found").iterdir()
    }


def _results(result):
    document = json.loads(result.stdout)
    return document if isinstance(document, list) else document.get("results", [document])


def test_a_second_call_asks_the_model_nothing_again(words, model, run):
    run(words)
    n_asked = len(model.asked)
    assert run(words).exit_code == 0
    assert len(model.asked) == n_asked


def test_the_folder_of_a_run_is_evaluated_without_asking_the_pipeline(words, run):
    run(words)
    Path("my_pipeline.py").unlink()
    again = words.replace("nfcorpus.zip --callable my_pipeline:answer", "found/run")
    result = run(again.replace("-o found", "-o again"))
    assert result.exit_code == 0, result.output
    assert "Retrieval by generation" in result.stdout


def test_several_models_judge_and_the_first_writes_the_references(words, model, run):
    """By hand: part 0 is right and part 1 wrong for two of three models; gentle accepts all."""
    models = "--judge-model any --judge-model strict --judge-model gentle"
    result = run(f"{words.replace('--model any', '')} {models} --format json")
    assert result.exit_code == 0, result.output
    scores = RAGPipelineEvaluation.load("any", "found/scores.json")
    assert scores.scores["answer_correct"].dropna().tolist() == [1.0, 0.0]
    votes = scores.details["answer_correct_judges"]
    assert votes.iloc[1] == {"any": 0.0, "strict": 0.0, "gentle": 1.0}
    assert {name for name, _ in references_by_model(model)} == {"any"}


def references_by_model(model):
    """The model and the prompt of each request for a reference."""
    return [one for one in model.by_model if "two to four sentences" in one[1]]


# Each answer costs one cent: 500 tokens of 10 USD per million, and 50 of 100 USD.
PRICED = "--no-schema --price 10:100 --max-tokens 50 --judge-concurrency 1"


@pytest.mark.parametrize(("max_cost", "n_verdicts"), [(0.015, 0), (0.02, 1), (0.5, 2)])
def test_a_budget_is_that_of_the_judge_and_no_model_is_paid_beside_it(
    words, model, run, max_cost, n_verdicts
):
    model.usage = {"prompt_tokens": 500, "completion_tokens": 50}
    refused = run(f"{words} {PRICED} --max-cost {max_cost}")
    assert (refused.exit_code, model.asked) == (2, [])
    assert "--max-cost limits the judge alone" in refused.output
    run(f"{words} --no-cache")  # the references are written, and kept
    model.asked.clear()
    # A request reserves more than its one cent. Two answers of the pipeline can be judged.
    result = run(f"{words} {PRICED} --max-cost {max_cost} --no-cache")
    assert len(model.asked) == n_verdicts
    assert result.exit_code == 0  # retrieval is scored in any case
    assert ("too small for another call" in result.output) == (n_verdicts < 2)

"""Every combination of settings is asked every query once, and known by its settings."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rageval_report import experiment
from rageval_report.errors import DataError
from rageval_report.runner.experiment import check_grid

QUERIES = [
    {"query_id": f"q{n}", "question": f"Number {n}?", "reference": str(n), "relevant": [f"d{n}"]}
    for n in range(12)
]


GRID = {"top_k": [1, 3], "exact": [False, True]}


class Pipeline:
    """Answers from what it was asked and the settings; counts what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, question, top_k, exact):
        self.asked.append((question, top_k, exact))
        number = question.removeprefix("Number ").removesuffix("?")
        ranked = ["x", f"d{number}", "y"] if int(number) % 2 else [f"d{number}", "x", "y"]
        return {"answer": number if exact else f"{number}!", "retrieved": ranked[:top_k]}


def tried_in(folder, pipeline, grid=GRID, **more):
    options = {"queries": QUERIES, "metrics": ["recall@5", "exact_match"], **more}
    return experiment(grid, target=pipeline, folder=folder, progress=False, **options)


@pytest.fixture
def pipeline():
    return Pipeline()


def test_every_combination_is_asked_every_query_once(tmp_path, pipeline):
    tried = tried_in(tmp_path, pipeline)
    assert len(pipeline.asked) == len(set(pipeline.asked)) == 4 * 12
    frame = tried.summary().frame.set_index("pipeline")
    assert frame.index.tolist() == [
        *("top_k=1,exact=False", "top_k=1,exact=True", "top_k=3,exact=False", "top_k=3,exact=True")
    ]
    assert frame["recall@5"].tolist() == [0.5, 0.5, 1.0, 1.0]  # odd numbers are found at rank 2
    assert frame["exact_match"].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert frame["n"].tolist() == [12] * 4
    assert frame["n_failed"].tolist() == [0] * 4
    assert repr(tried).startswith("Experiment(4 runs (top_k: 2, exact: 2), folder")


# -- stopped and resumed


def test_a_stopped_experiment_asks_only_what_is_missing(tmp_path, pipeline):
    class Interrupted(Pipeline):
        def __call__(self, question, top_k, exact):
            if len(self.asked) == 20:
                raise KeyboardInterrupt
            return super().__call__(question, top_k, exact)

    Interrupted.__name__ = Pipeline.__name__  # a pipeline is recognised by its name
    stopped = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        tried_in(tmp_path, stopped, concurrency=1)
    tried = tried_in(tmp_path, pipeline, concurrency=1, resume=True, name="ignored")
    assert len(tried.runs) == 4
    assert not set(stopped.asked) & set(pipeline.asked)
    assert len({*stopped.asked, *pipeline.asked}) == 48


def test_a_folder_in_use_is_refused(tmp_path, pipeline):
    tried_in(tmp_path, pipeline)
    with pytest.raises(DataError, match=r"already contains a run: .*resume=True"):
        tried_in(tmp_path, pipeline)


# -- combinations that fail


def test_a_combination_that_fails_does_not_stop_the_others(tmp_path, pipeline):
    def broken(question, top_k, exact):
        if top_k == 3 and exact:
            raise OSError("out of memory")
        return pipeline(question, top_k, exact)

    said = []
    tried = tried_in(tmp_path, broken, tell=said.append)
    assert list(tried.failures) == ["top_k=3,exact=True"]
    assert "out of memory" in tried.failures["top_k=3,exact=True"]
    summary = tried.summary()
    assert "out of memory" in summary.frame.set_index("pipeline").loc["top_k=3,exact=True", "error"]
    assert any("--resume" in note for note in summary.notes)
    assert any(text.startswith("top_k=3,exact=True: not evaluated") for text in said)
    with pytest.raises(DataError, match="effects need every combination; 1 could not be evaluated"):
        tried.effects()
    again = tried_in(tmp_path, pipeline_named(broken, pipeline), retry_failed=True)
    assert not again.failures
    assert again.effects().frame["n"].tolist() == [12] * 4


def pipeline_named(like, pipeline):
    """The pipeline under the name of another, as if that had been mended."""

    def mended(question, top_k, exact):
        return pipeline(question, top_k, exact)

    mended.__qualname__, mended.__module__ = like.__qualname__, like.__module__
    return mended


def test_an_interruption_while_judging_begins_no_further_combination(tmp_path, pipeline):
    def chat(text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="continue with resume=True"):
        tried_in(
            *(tmp_path, pipeline, {"top_k": [1, 3], "exact": [True]}),
            metrics=["recall@5", "coherence"],
            judge=chat,
        )
    assert {top_k for _, top_k, _ in pipeline.asked} == {1}


# -- how settings reach the pipeline


@pytest.fixture
def server():
    """A server that notes what it is sent, and answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            self.server.sent.append((self.path, dict(self.headers.items()), json.loads(body)))
            answer = b'{"answer": "1"}'
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.sent = []
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def url_of(server, path="/answer"):
    return f"http://127.0.0.1:{server.server_address[1]}{path}"


def test_a_server_is_sent_the_settings_beside_the_question(tmp_path, server):
    tried_in(tmp_path, url_of(server), {"top_k": [5], "rerank": [True, None]}, samples=1)
    assert [body for _, _, body in server.sent] == [
        {"question": body["question"], "top_k": 5, "rerank": rerank}
        for (_, _, body), rerank in zip(server.sent, (True, None), strict=True)
    ]


def test_settings_can_be_anywhere_in_the_request(tmp_path, server):
    http = {
        "url": url_of(server, "/{index}/answer"),
        "headers": {"X-Mode": "mode-{mode}"},
        "body": {"q": "{question}", "options": {"k": "{top_k}", "text": "k={top_k}"}},
    }
    grid = {"index": ["a b"], "mode": ["fast"], "top_k": [7]}
    tried_in(tmp_path, "http", grid, samples=1, http=http)
    [(path, headers, body)] = server.sent
    assert (path, headers["X-Mode"]) == ("/a%20b/answer", "mode-fast")
    assert body["options"] == {"k": 7, "text": "k=7"}


def test_a_setting_that_reaches_nothing_is_refused_before_anything_is_asked(tmp_path, server):
    http = {"url": url_of(server), "body": {"q": "{question}", "k": "{top_k}"}}
    with pytest.raises(DataError, match=r"'mode' does not reach the pipeline: write \{mode\}"):
        tried_in(tmp_path / "x", "http", {"top_k": [5], "mode": ["a"]}, http=http)
    with pytest.raises(DataError, match="has no parameter 'mode'; its parameters are 'question'"):
        tried_in(tmp_path / "y", lambda question, top_k: "", {"top_k": [5], "mode": ["a"]})
    assert server.sent == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("as_text", [True, False])
def test_a_command_gets_the_settings_in_its_words(tmp_path, as_text):
    script = tmp_path / "rag.py"
    script.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'answer': sys.argv[1]}), flush=True)\n"
    )
    words = [sys.executable, str(script), "{mode}"]
    line = f"{sys.executable} {script} {{mode}}" if as_text else words
    grid = {"mode": ["a b", "it's"]}
    tried = tried_in(
        tmp_path / "out", "command", grid, samples=1, command={"line": line},
        metrics=["exact_match"],
    )  # fmt: skip
    answers = [run.records["answer"].iloc[0] for run in tried.runs.values()]
    assert answers == ["a b", "it's"]


# -- the grid


@pytest.mark.parametrize(
    ("grid", "told"),
    [
        ({}, "grid must be a mapping such as"),
        ([("a", [1])], "grid must be a mapping such as"),
        ({"question": ["a"]}, "'question' cannot be the name of a setting"),
        ({"top-k": [1]}, "'top-k' cannot be the name of a setting"),
        ({3: [1]}, "3 cannot be the name of a setting"),
        ({"a": "bm25"}, "the values of 'a' must be a list of .*; got 'bm25'"),
        ({"a": 5}, "the values of 'a' must be a list of .*; got 5"),
        ({"a": []}, "the values of 'a' must be a list of"),
        ({"a": [[1]]}, "the values of 'a' must be a list of"),
        ({"a": [1, 1]}, "the values of 'a' must differ; got 1, 1"),
        ({"a": range(100), "b": range(100)}, "grid has 10,000 combinations; at most 1,000"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(grid, told):
    with pytest.raises(DataError, match=told):
        check_grid(grid)

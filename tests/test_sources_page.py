"""The examples of docs/sources.md run as they stand, and print what stands under them.

Only the places are others: the servers answer here, with what was recorded of them, and the bucket
is in memory.
"""

import contextlib
import http.server
import io
import json
import re
import threading
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "sources.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^#+ (.+?)\n(.*?)(?=^#+ |\Z)", PAGE, re.DOTALL | re.MULTILINE))
LOCAL = ("Where scores come from", "Databases")


def examples(title):
    """The programs of a section, and what each prints."""
    blocks = re.findall(r"```(python|text)\n(.*?)```", SECTIONS[title], re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "text"] * (len(blocks) // 2)
    return [(code, shown) for (_, code), (_, shown) in zip(blocks[::2], blocks[1::2], strict=True)]


def printed_by(code, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/sources.md", "exec"), names)
    return printed.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which the first examples have run."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for title in LOCAL:
        for code, shown in examples(title):
            assert printed_by(code, names) == shown
    return tmp_path


@pytest.fixture
def served():
    """A server that answers with documents by path and query; returns their table and its place."""
    documents: dict[str, object] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(documents.get(self.path, {"message": "Not Found"})).encode()
            self.send_response(200 if self.path in documents else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            """Nothing is logged."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield documents, f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_every_section_with_an_example_is_run_here():
    with_code = [title for title, text in SECTIONS.items() if "```python" in text]
    others = ["Arize Phoenix", "Langfuse", "Object stores and the web"]
    assert with_code == [*LOCAL, *others]


def test_the_local_examples_print_what_the_page_shows(folder):
    assert (folder / "scores.db").is_file()


def test_the_example_of_phoenix_prints_what_the_page_shows(served, monkeypatch):
    pytest.importorskip("httpx2", reason="the extra http is not installed")
    monkeypatch.delenv("PHOENIX_API_KEY", raising=False)
    documents, place = served
    text = (TESTS / "sources" / "recorded" / "phoenix.json").read_text(encoding="utf-8")
    documents.update({path: one["body"] for path, one in json.loads(text).items()})
    [(code, shown)] = examples("Arize Phoenix")
    assert printed_by(code.replace("localhost:6006", place), {}) == shown


def test_the_example_of_langfuse_prints_what_the_page_shows(served, monkeypatch):
    pytest.importorskip("httpx2", reason="the extra http is not installed")
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-1")
    documents, place = served
    scores = [
        {"id": trace, "name": "correct", "dataType": "BOOLEAN", "value": value,
         "subject": {"kind": "trace", "id": trace}}
        for trace, value in (("a1", False), ("a2", True), ("b1", True))
    ]  # fmt: skip
    items = [
        {"traceId": f"{letter}{n}", "startTime": f"2026-08-0{day}T00:00:00Z", "input": f"Q{n}?",
         "experimentId": letter, "experimentName": f"v{day}", "experimentItemId": f"i{n}"}
        for day, letter in enumerate("ab", start=1) for n in (1, 2)
    ]  # fmt: skip
    first_day = "1970-01-01T00%3A00%3A00Z"
    documents |= {
        "/api/public/v3/scores?limit=1": {"data": scores[:1], "meta": {"limit": 1}},
        "/api/public/v3/scores?limit=100&fields=details%2Csubject": {"data": scores, "meta": {}},
        "/api/public/v2/datasets/gold": {"id": "d", "name": "gold"},
        f"/api/public/experiment-items?datasetId=d&fromStartTime={first_day}"
        "&fields=core%2Cdataset%2Cio&limit=100": {"data": items, "meta": {}},
    }
    [(code, shown)] = examples("Langfuse")
    assert printed_by(code.replace("localhost:3000", place), {}) == shown


def test_the_example_of_object_stores_prints_what_the_page_shows(folder):
    fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
    memory = fsspec.filesystem("memory")
    for path in (folder / "results").iterdir():
        memory.pipe_file(f"/bucket/runs/{path.name}", path.read_bytes())
    [(code, shown)] = examples("Object stores and the web")
    try:
        assert printed_by(code.replace("s3://", "memory://"), {}) == shown
    finally:
        memory.store.clear()
        memory.pseudo_dirs[:] = [""]

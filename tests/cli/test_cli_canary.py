"""No command writes a key: canaries in the place of every secret, and a server that repeats them.

Everything that a command writes is searched: standard output, standard error, the log of every
library, and the bytes of all files, the caches in SQLite among them.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import logging
import shlex
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import pytest

from rageval_report.cli import rageval_report
from rageval_report.judges.providers import WIRES

STEM = "CaNaRy"


PROVIDERS = ("anthropic", "bedrock", "gemini", "openai")


def canary(name: str) -> str:
    """A key that differs if it is escaped for JSON, a URL or HTML."""
    return f'{STEM}-{name}/+"x&<9'


class Repeats(BaseHTTPRequestHandler):
    """Answers every protocol, and puts the whole request into whatever it says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        with contextlib.suppress(ValueError):
            body += str(json.loads(body))  # as a framework shows a request, without escapes
        seen = f"{self.path} {' '.join(map(str, self.headers.items()))} {body}"
        self.server.seen.append(seen)
        status, kind, content = getattr(self, self.server.mode)(seen)
        self.send_response(status, "Refused" if status >= 300 else "OK")
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.send_header("location", f"http://127.0.0.1:1{self.path}")
        self.send_header("retry-after", "0")
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST
    do_CONNECT = do_POST

    def log_message(self, *args):
        """Tests print nothing."""

    def answer(self, seen: str):
        verdict = json.dumps({"reasoning": f"I saw {seen}", "score": 4})
        document = {
            "answer": f"Paris. {seen}",
            "retrieved": ["d1", f"d2 {seen}"],
            "contexts": [seen],
            "llm_model": seen,
            seen: seen,
            # OpenAI, Anthropic, Gemini, Bedrock
            "choices": [{"message": {"content": verdict}, "finish_reason": "stop"}],
            "content": [{"type": "text", "text": verdict}],
            "candidates": [{"content": {"parts": [{"text": verdict}]}, "finishReason": "STOP"}],
            "output": {"message": {"content": [{"text": verdict}]}},
            "model": f"model {seen}",
            "modelVersion": f"model {seen}",
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "input_tokens": 9},
        }
        return 200, "application/json", json.dumps(document).encode()

    def escaped(self, seen: str):
        text = "".join(f"\\u{ord(c):04x}" for c in seen[:20_000])
        return 200, "application/json", f'{{"answer": "{text}", "{text}": 1}}'.encode()

    def not_json(self, seen: str):
        return 200, f"text/html; {seen}".replace("\n", " "), f"<p>{seen}".encode()

    def refusal(self, seen: str):
        return 401, "application/json", json.dumps({"error": {"message": seen}}).encode()

    def failure(self, seen: str):
        return 500, "text/html", f"{' ' * 60_000}<pre>{seen}</pre>".encode()

    def moved(self, seen: str):
        return 302, "text/plain", seen.encode()


class Room:
    """A folder, a server, and everything that was written."""

    def __init__(self, folder: Path, server: Any, run: Any, log: io.StringIO):
        self.folder, self.server, self.log, self._run = folder, server, log, run
        self.url = f"http://127.0.0.1:{server.server_port}"

    def leaks(self, *words: str, mode: str = "answer", exit_codes: tuple[int, ...] = (0,)):
        """Run a command; the places in which a canary is afterwards."""
        self.server.mode = mode
        result = self._run(*words)
        assert result.exit_code in exit_codes, result.output
        written = {
            "standard output": result.stdout_bytes,
            "standard error": result.stderr_bytes,
            "log": self.log.getvalue().encode(),
            **{
                str(path.relative_to(self.folder)): path.read_bytes()
                for path in self.folder.rglob("*")
                if path.is_file() and path.name != "settings.yaml"
            },
        }
        pair = base64.b64encode(f"me:{canary('PROXY')}".encode())
        return [place for place, text in written.items() if STEM.encode() in text or pair in text]


def key_variables() -> set[str]:
    """The variables of the keys of all providers."""
    return {name for wire in WIRES.values() for name in wire.key_variables}


@pytest.fixture
def room(demo_folder, monkeypatch, run) -> Iterator[Room]:
    for name in key_variables():
        # A header can contain neither blanks nor letters beyond ASCII.
        monkeypatch.setenv(name, canary(name))
    for name in ("HEADER", "BODY", "PATH", "QUERY"):
        monkeypatch.setenv(f"{name}_KEY", canary(name))
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(demo_folder / "cache"))
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Repeats)
    server.seen, server.mode = [], "answer"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    log, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(log)
    root.addHandler(handler)
    for name in ("httpx2", "httpcore2"):
        monkeypatch.setattr(logging.getLogger(name), "level", logging.DEBUG)
    try:
        yield Room(demo_folder, server, run, log)
    finally:
        root.removeHandler(handler)
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def asked(room) -> tuple[str, ...]:
    """eval with a key in each place of a request."""
    body = {"question": "{question}", "auth": {"api_key": "${BODY_KEY}"}, "x": "y ${BODY_KEY}"}
    return (
        *("eval", "--records", "queries.jsonl", "-o", "out", "--concurrency", "2"),
        *("--url", f"{room.url}/${{PATH_KEY}}/ask?key=${{QUERY_KEY}}&q={{question}}"),
        *("--config-url", f"{room.url}/${{PATH_KEY}}/config"),
        *("--health-url", f"{room.url}/${{PATH_KEY}}/health"),
        *("--header", "Authorization=Bearer ${HEADER_KEY}"),
        *("--header", "Cookie=a=${HEADER_KEY}; b=${QUERY_KEY}"),
        *("--body", json.dumps(body)),
    )


def test_eval_and_what_reads_its_files_write_no_key(room, asked):
    assert room.leaks(*asked, "--dry-run") == []
    assert room.leaks(*asked) == []
    text = (room.folder / "out" / "records.jsonl").read_text()
    assert "***" in text  # the server repeated them, so that something was redacted
    kept = (room.folder / "out" / "run.json").read_text()
    assert "/${PATH_KEY}/ask" in kept
    assert room.leaks(*asked, "--retry-failed") == []
    for words in (
        *(("report", "out/scores.json"), ("inspect", "out/scores.json"), ("inspect", "out")),
        *(("report", "out/scores.json", "-o", f"page.{kind}") for kind in ("html", "md", "csv")),
        *(("failures", "out/scores.json", "--format", "json"), ("history", "out")),
        *(("export", "out/scores.json", "--to", kind, "-o", f"sheet.{kind}") for kind in EXPORTED),
        ("score", "--records", "out/records.jsonl", "--metric", "exact_match"),
    ):
        assert room.leaks(*words, exit_codes=(0, 2)) == []
    assert (room.folder / "page.html").exists()


EXPORTED = ("csv", "jsonl", "json", "markdown", "review")


@pytest.mark.parametrize("mode", ["not_json", "refusal", "failure", "moved", "escaped"])
def test_a_server_that_fails_and_repeats_keys_gets_none_written(room, asked, mode):
    assert room.leaks(*asked, mode=mode, exit_codes=(0, 1, 2)) == []
    # Without the check of health the questions are asked, and their failures are kept.
    plain = [word for word in asked if not word.startswith(f"{room.url}/${{PATH_KEY}}/")]
    plain = [word for word in plain if word not in ("--config-url", "--health-url")]
    url = f"{room.url}/${{PATH_KEY}}?key=${{QUERY_KEY}}"
    words = [*plain, "--url", url, "-o", "again"]
    words = [word for n, word in enumerate(words) if word != "--url" or words[n + 1] == url]
    assert room.leaks(*words, mode=mode, exit_codes=(0, 1, 2)) == []
    assert (room.folder / "again" / "journal.jsonl").stat().st_size > 0


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("mode", ["answer", "refusal", "escaped"])
def test_judges_write_no_key(room, monkeypatch, provider, mode):
    variable = f"RAG_EVAL_{provider.upper()}_API_KEY"
    monkeypatch.setenv(f"RAG_EVAL_{provider.upper()}_BASE_URL", f"{room.url}/${{PATH_KEY}}/v1")
    judge = ("--judge", "faithfulness", "--provider", provider, "--model", "m", "--cache", "c.db")
    codes = (0, 1, 2)
    for more in (("--dry-run",), ("--queries", "judged.json"), ("-o", "verdicts.html")):
        words = ("judge", "records.jsonl", *judge, *more, "--max-tokens", "99")
        assert room.leaks(*words, mode=mode, exit_codes=codes) == []
    assert any(canary(variable) in text for text in room.server.seen)
    assert (room.folder / "c.db").exists()
    assert room.leaks("judge", "cache", "--cache", "c.db", exit_codes=codes) == []


def write_settings(room: Room) -> None:
    """A file of settings with a key in each place of a request to a pipeline and to a judge."""
    (room.folder / "settings.yaml").write_text(
        f"records: queries.jsonl\nname: rag\nhttp:\n  url: {room.url}/${{PATH_KEY}}/ask\n"
        "  headers: {X-API-Key: '${HEADER_KEY}'}\n"
        "  body: {q: '{question}', password: '${BODY_KEY}'}\n"
        f"judge:\n  rubrics: [answer_correctness]\n  provider: openai\n  model: m\n"
        f"  base_url: {room.url}/${{PATH_KEY}}/v1\n  api_key_env: QUERY_KEY\n  cache: c.db\n"
        "  extra_body: {metadata: {token: '${BODY_KEY}'}}\n"
    )


RAG = "--url '{url}/${PATH_KEY}/ask?key=${QUERY_KEY}'"


MODEL = "--provider openai --model m --base-url '{url}/${PATH_KEY}/v1'"


LABELS = "labels.csv --metric answer_correctness --label human_label"


HUMAN = f"out/scores.json {LABELS}"


BOTH = "out/scores.json again/scores.json"


# Each command at least once, on files that the commands before it wrote, in this order: `out` and
# `again` are runs of a server that repeats every key, with verdicts of a model that does so too.
EVERY_COMMAND = {
    "eval": [
        *(f"--config settings.yaml -o {name}" for name in ("out", "again")),
        "--config settings.yaml --vary top_k=1,2 -o tried "
        """--body '{"q": "{question}", "k": "{top_k}", "api_key": "${BODY_KEY}"}'""",
    ],
    "judge run": [
        f"out/records.jsonl --judge answer_correctness {MODEL} -o verdicts.html --queries v.json"
    ],
    "inspect": ["out/records.jsonl", "out/scores.json -o roles.html", "--formats"],
    "report": [
        *(f"out/scores.json -o page.{kind}" for kind in ("html", "md", "tex", "json", "csv")),
        "out/scores.json --thresholds -o t.csv",
    ],
    "failures": ["out/scores.json --metric answer_correctness --threshold 1 -o failures.html"],
    "compare": [f"{BOTH} -o comparison.html", f"{BOTH} --plot"],
    "regressions": [
        f"{BOTH} --metric em -o worse.html",
        f"{BOTH} --improvements --metric answer_correctness -o better.csv",
    ],
    "outcomes": [f"{BOTH} --correct exact_match -o outcomes.html"],
    "slices": [f"{BOTH} --by attempts -o slices.html", "out/scores.json --by attempts"],
    "rank": [
        *(f"{BOTH} --{view} -o {view}.html" for view in ("pairs", "weighted", "pareto")),
        f"{BOTH} -o ranking.md",
    ],
    "history trend": [". --plot trends.png -o history.html"],
    "history monitor": [f"{BOTH} --plot alarm.png -o monitor.html"],
    "history changes": [". -o changes.html"],
    "noise repeats": [
        f"{BOTH} -o repeats.html",
        f"{BOTH} --queries -o stability.html",
    ],
    "noise variance": [
        f"{BOTH} -o variance.html",
        f"{BOTH} --sources -o sources.html",
    ],
    "plan": [
        "out/scores.json --candidate again/scores.json -o plan.html",
    ],
    "judge calibrate": [
        f"{HUMAN} --plot a.png -o calibration.md",
        *(f"{HUMAN} --{view} -o {view}.html" for view in ("confusion", "disagreements")),
    ],
    "judge compare": [f"{BOTH} {LABELS} -o corrected.html"],
    "gate": [
        "out/scores.json --rule 'mean(answer_correctness) >= 1' --junit g.xml --comment gates.md",
        "out/scores.json --baseline again/scores.json "
        "--rule 'no_regression(exact_match, margin=0.1)'",
    ],
    "score": [
        "--records out/records.jsonl --metric exact_match -o scored.html",
        "--gold gold.jsonl --trace trace.jsonl --report traces.json -o traces.html",
    ],
    "plot": [f"{BOTH} --kind forest -o forest.svg", "out/scores.json --kind box -o box.svg"],
    "export": [f"out/scores.json --to {kind} -o sheet.{kind}" for kind in EXPORTED],
    "datasets": ["--format json", "golden.jsonl"],
    "demo show": ["--output demo"],
    "demo serve": ["--ask 'Who?'", "--port 0 --seconds 0"],
    "judge cache": ["--cache c.db", "--cache c.db --clear"],
    "golden check": ["golden.jsonl --documents docs"],
    "golden sample": [
        "golden.jsonl --n 2 -o sample.jsonl",
    ],
    "golden make": [f"docs --factoid 2 --shortest 10 {MODEL} -o d.jsonl --rejected r.csv"],
    "golden references": [f"nfcorpus.zip {MODEL} -o truth.jsonl"],
    "golden review": ["truth.jsonl -o review.html"],
    "golden records": ["truth.jsonl --gold ids -o asked.jsonl"],
    "golden evaluate": [f"nfcorpus.zip {RAG} {MODEL} -o set"],
}


def commands_of(group: click.Group, *above: str) -> Iterator[str]:
    """The names of all commands, those in families with the name of the family before them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands_of(command, *above, name)
        else:
            yield " ".join([*above, name])


def test_every_command_is_run_with_canaries():
    # A new command needs a line in the table.
    assert set(EVERY_COMMAND) == set(commands_of(rageval_report))


def test_no_command_writes_a_key(room):
    write_settings(room)
    labels = "".join(f"q{n},{n % 2}\n" for n in range(2))
    (room.folder / "labels.csv").write_text(f"query_id,human_label\n{labels}")
    found = {}
    for command, calls in EVERY_COMMAND.items():
        for call in calls:
            words = shlex.split(call.replace("{url}", room.url))
            # A gate that does not hold or is undecided, and a draft that no filter takes, are no
            # mistakes.
            codes = {"gate": (0, 1, 3), "golden make": (0, 2)}.get(command, (0, 1))
            if leaks := room.leaks(*command.split(), *words, exit_codes=codes):
                found[command, call] = leaks
    assert found == {}
    # The keys were sent and came back, so that there was something to redact.
    redacted = ("out/scores.json", "v.json", "page.html", "failures.html", "comparison.html")
    for name in (*redacted, "roles.html", "sheet.csv", "truth.jsonl", "set/report.html"):
        assert "***" in (room.folder / name).read_text(), name

"""What docs/asking.md shows runs as it stands, against servers on this machine."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import yaml

from rageval_report import read_records
from rageval_report.demo.server import ExtractiveRag, ReferenceServer, demo_documents, demo_queries
from rageval_report.runner import Retries, RunConfig, config_from
from rageval_report.runner.query_source import queries_of
from rageval_report.runner.replies import ResponsePaths, record_fields
from rageval_report.runner.targets import HttpSettings

pytestmark = pytest.mark.docs

PAGE = (Path(__file__).parents[2] / "docs" / "asking.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
FILES = {
    text.partition("\n")[0].removeprefix("# "): text
    for kind, text in BLOCKS
    if kind in ("python", "yaml")
}
QUERY, ANSWER = (json.loads(text) for kind, text in BLOCKS if kind == "json")
COMMANDS = [line for kind, text in BLOCKS if not kind for line in text.splitlines()]
PIPELINE, CHAT = "http://localhost:8001", "http://localhost:11434"


@pytest.fixture
def here(demo_folder, judge_server, monkeypatch):
    """The files of the page in a folder, and its text with the servers of this test."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("RAG_API_KEY", "sk-of-a-test")
    demo = [{**row, "language": "en"} for row in demo_queries()[:4]]
    # The page has references; one file has one name for them.
    rows = [QUERY, *({"references": row.pop("reference"), **row} for row in demo)]
    (demo_folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge_server.answer = lambda _: {"choices": [{"message": {"content": "On Mondays."}}]}
    with ReferenceServer(ExtractiveRag(demo_documents())) as server:
        chat = f"http://127.0.0.1:{judge_server.server_port}"

        def told(text: str) -> str:
            return text.replace(PIPELINE, server.url).replace(CHAT, chat)

        for name, text in FILES.items():
            (demo_folder / name).write_text(told(text))
        yield told


def test_every_block_is_a_file_a_command_or_a_line_of_json():
    assert all(re.fullmatch(r"\w+\.(py|yaml)", name) for name in FILES)
    assert {kind for kind, _ in BLOCKS} == {"", "python", "yaml", "json"}
    assert all(line.startswith("rageval-report eval ") for line in COMMANDS)
    assert sum(name in " ".join(COMMANDS) for name in FILES if name.endswith("yaml")) == 3


def test_every_command_runs(here, run, demo_folder, judge_server):
    for command in COMMANDS:
        result = run(*shlex.split(here(command))[1:])
        assert result.exit_code == 0, (command, result.stderr)
        assert "have no answer" not in result.stderr, command
    answers = {
        one.parent.name: read_records(one)["answer"]
        for one in demo_folder.glob("*/records.parquet")
    }
    assert set(answers["by_function"]) == set(answers["by_chat"]) == {"On Mondays."}
    assert set(answers["by_language"]) == {"[en] I do not know."}
    assert answers["by_command"].iloc[0] == f"You asked: {QUERY['question']}"
    assert answers["by_url"].tolist() == answers["by_events"].tolist()
    assert answers["by_events"].tolist() == answers["by_events_cut"].tolist()
    assert len(answers["run"]) == 3
    wanted = {"role": "system", "content": "Answer in the language en."}
    assert all(one["messages"][0] == wanted for one in judge_server.asked)


def test_the_files_of_a_run_and_the_keys_of_its_account_are_named(here, run, demo_folder):
    assert run("eval --config eval.yaml -o run").exit_code == 0
    table = PAGE.partition("| in the folder |")[2].partition("\n\n")[0]
    told = re.findall(r"^\| `(\S+)` \|", table, re.MULTILINE)
    assert set(told) == {one.name for one in (demo_folder / "run").iterdir()}
    account = json.loads((demo_folder / "run" / "run.json").read_text())
    named = PAGE.partition("In `run.json`: ")[2].partition(". Keys are in none")[0]
    assert set(re.findall(r"`(\w+)`", named)) == set(account)
    for key in account["metadata"]:
        assert key in named
    assert account["about"] == {"corpus": "2026-06", "commit": "1f3a9c0"}


def test_the_program_runs_from_python(here, demo_folder, capsys):
    runpy.run_path(str(demo_folder / "from_python.py"))
    assert capsys.readouterr().out.startswith("2 answered, 0 failed\n")


def test_what_may_be_sent_of_the_query_is_what_the_page_says():
    [query] = queries_of([QUERY])
    assert set(query.public_fields) == {"query_id", "question", "language"}


def test_the_paths_find_what_the_page_says():
    [told] = re.findall(r"`response: (\{answer.*?\})`", PAGE)
    found = record_fields(ANSWER, ResponsePaths(**yaml.safe_load(told)))
    assert found == {"answer": "On Mondays.", "retrieved": ["bins", "fees"]}
    words = re.findall(r"--path (\w+)=(\S+?)[ `]", PAGE)
    assert dict(words) == yaml.safe_load(told)


def test_the_table_of_fields_is_that_of_the_paths():
    table = PAGE.partition("| field | holds |")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    told = {
        name: path.strip("`")
        for names, *_, paths in rows
        for name, path in zip(names.split(", "), paths.split(", "), strict=True)
    }
    assert told == asdict(ResponsePaths())


def test_the_whole_file_shows_every_default_and_every_key():
    given = yaml.safe_load(FILES["eval.yaml"])
    config = config_from(given)
    assert config.retries == Retries()
    assert set(given["retries"]) == {one.name for one in fields(Retries)}
    http = HttpSettings(**{**given["http"], "response": ResponsePaths(**given["http"]["response"])})
    plain = HttpSettings("http://host")
    for name in ("method", "body", "response", "timeout", "max_bytes"):
        assert getattr(http, name) == getattr(plain, name)
    assert (config.concurrency, config.stop_after) == (RunConfig().concurrency, 25)
    left_out = {one.name for one in fields(RunConfig)} - {*given, "target", "settings"}
    assert left_out == set()


def test_the_page_of_the_whole_chain_leads_here():
    evaluate = (Path(__file__).parents[2] / "docs" / "evaluate.md").read_text(encoding="utf-8")
    assert "](asking.md)" in evaluate

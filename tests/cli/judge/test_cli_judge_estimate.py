"""judge --dry-run where nothing can send a request: the packages of the extra http are missing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rageval_report.errors import DataError, install_command
from rageval_report.judges.chats import Message
from rageval_report.judges.providers import openai_chat

WITHOUT_HTTP = """\
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("httpx2", "httpcore2", "tenacity"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from rageval_report.cli import main

main()
"""
# What looks like a key, so that the providers which need one accept it.
KEYS = dict.fromkeys(
    ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"),
    "not-a-key-0123456789",
)


def run_without_http(folder, *words):
    environment = {**os.environ, **KEYS, "AWS_REGION": "eu-west-1"}
    environment["RAGEVAL_CACHE"] = str(folder / "judges.sqlite")
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_HTTP, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def estimate(folder, *words):
    words = ("judge", "records.jsonl", "--model", "m", "--price", "1:10", *words)
    done = run_without_http(folder, *words, "--dry-run", "--format", "csv")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "gemini", "ollama", "openai"])
def test_the_estimate_needs_no_package_for_http(demo_folder, run, provider, monkeypatch):
    for name, value in {**KEYS, "AWS_REGION": "eu-west-1"}.items():
        monkeypatch.setenv(name, value)
    words = ("--judge", "faithfulness", "--provider", provider)
    with_http = run(
        *("judge", "records.jsonl", "--model", "m", "--price", "1:10", *words),
        *("--dry-run", "--format", "csv"),
    )
    assert estimate(demo_folder, *words) == with_http.stdout
    assert with_http.stdout.startswith("judge,n_queries,")


@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "gemini", "ollama", "openai"])
def test_the_estimate_needs_no_key(demo_folder, run, provider, monkeypatch):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    words = ("judge", "records.jsonl", "--model", "m", "--provider", provider, "--price", "1:10")
    keyless = run(*words, "--dry-run", "--format", "csv")
    assert keyless.exit_code == 0, keyless.stderr
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    assert run(*words, "--dry-run", "--format", "csv").stdout == keyless.stdout


def test_to_judge_needs_the_key_before_a_request(demo_folder, run, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = run("judge", "records.jsonl", "--model", "m", "--provider", "openai")
    assert result.exit_code == 2
    assert "the environment variable OPENAI_API_KEY is not set" in result.stderr


def test_a_chat_for_an_estimate_asks_nothing_without_its_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    chat = openai_chat("m", check_key=False)
    assert chat.max_request_bytes(Message("Why?")) > 4
    with pytest.raises(DataError, match="OPENAI_API_KEY is not set"):
        chat("Why?")


def test_the_estimate_of_a_preference_needs_none_either(demo_folder):
    assert estimate(demo_folder, "--against", "answered.jsonl").splitlines()[1].startswith("pref")


def test_to_judge_needs_the_extra_and_says_so(demo_folder):
    words = ("judge", "records.jsonl", "--judge", "faithfulness", "--model", "m")
    done = run_without_http(demo_folder, *words)
    assert done.returncode == 2
    line = install_command("rageval-report[http]")
    needed = "this needs the package 'httpx2', which is not installed"
    assert done.stderr.splitlines() == [f"rageval-report: {needed}: {line}"]


def test_a_wrong_limit_is_refused_by_the_estimate_too(demo_folder):
    words = ("judge", "records.jsonl", "--model", "m", "--timeout", "0", "--dry-run")
    done = run_without_http(demo_folder, *words)
    assert done.returncode == 2
    assert "timeout must be a finite number > 0; got 0.0" in done.stderr

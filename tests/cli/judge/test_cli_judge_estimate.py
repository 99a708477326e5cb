"""judge --dry-run where nothing can send a request: the packages of the extra http are missing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rageval_report.errors import install_command

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

"""judge --dry-run where nothing can send a request: the packages of the extra http are missing."""

from __future__ import annotations

import pytest

# What looks like a key, so that the providers which need one accept it.
KEYS = dict.fromkeys(
    ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"),
    "not-a-key-0123456789",
)


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

"""Settings: every key is known, every value of its kind, or it is told."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Required, get_origin, get_type_hints

import pytest

from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.runner import TARGETS, RunConfig, config_from, read_config, target_from
from rageval_report.runner.run_config import TargetSections

YAML = """\
name: my-rag
records: queries.jsonl
concurrency: 8
rate: 2
samples: null
metrics: [recall@5, exact_match]
retries: {server: 5, max_wait: 10}
http:
  url: http://localhost:8001/v1/chat/completions
  headers: {X-Tenant: demo}
  body:
    messages:
      - {role: user, content: "{question}"}
  response: {answer: choices.0.message.content}
  stream: {text: choices.0.delta.content, done: "[DONE]"}
"""


def test_a_yaml_file_becomes_a_configuration(write):
    config = read_config(write(YAML, "run.yaml"))
    assert (config.name, config.concurrency, config.rate, config.samples) == (
        "my-rag",
        8,
        2.0,
        None,
    )
    assert config.metrics == ("recall@5", "exact_match")
    assert (config.retries.server, config.retries.max_wait, config.retries.busy) == (5, 10.0, 5)
    with target_from(config) as target:
        assert target.identity()["headers"] == ["X-Tenant"]
        assert target.identity()["stream"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"concurency": 2}, "'concurency'. Did you mean 'concurrency'"),
        ({"htp": {}}, "'htp'. Did you mean 'http'"),
        ({"http": {"ulr": "x"}}, "no key of http is named 'ulr'. Did you mean 'url'"),
        ({"http": {"url": "x", "response": {"anwser": "a"}}}, "of http.response is named 'anwser'"),
        ({"retries": {"servers": 1}}, "'servers'. Did you mean 'server'"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(given, told):
    with pytest.raises(UnknownNameError, match=told):
        config_from(given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"concurrency": "4"}, "concurrency: expected an integer; got '4'"),
        ({"concurrency": True}, "concurrency: expected an integer; got True"),
        ({"concurrency": 0}, "from 1 to 256; got 0"),
        ({"rate": 0}, "rate must be a number > 0"),
        ({"rate": float("nan")}, "rate: expected a number or null"),
        ({"samples": 0}, "samples must be an integer >= 1"),
        ({"metrics": ["recall", 5]}, r"metrics\[1\]: expected a text; got 5"),
        ({"retries": {"busy": -1}}, "retries.busy must be a number >= 0"),
        ({"http": "http://host"}, "http: expected a mapping"),
        ({"http": {}}, "http must contain url"),
        ({"http": {"url": "x", "headers": {"A": 1}}}, "http.headers.A: expected a text; got 1"),
        ({"table": "excel"}, 'table: expected "parquet" or "jsonl" or null'),
    ],
)
def test_a_wrong_value_is_told_with_its_place(given, told):
    with pytest.raises((DataError, UnknownNameError), match=told):
        config_from(given)


def test_a_file_is_named_in_its_errors(write):
    path = write("http:\n  ulr: x\n", "run.yaml")
    with pytest.raises(ReaderError, match=r"run.yaml: no key of http is named 'ulr'"):
        read_config(path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a: [1, 2", "line 1: this is not YAML"),
        ("- a\n- b\n", "expected settings as lines 'name: value'"),
        ("a: !!python/object/apply:os.system ['true']\n", "this is not YAML"),
        ("", "the file is empty"),
    ],
)
def test_a_file_that_holds_no_settings_is_refused(write, content, told):
    with pytest.raises(ReaderError, match=told):
        read_config(write(content, "run.yaml"))


def test_one_target_is_needed():
    with pytest.raises(DataError, match="expected one target to ask; got none"):
        target_from(RunConfig())
    two = {"http": {"url": "http://host"}, "command": {"line": "true"}}
    with pytest.raises(DataError, match="got http and command"):
        target_from(RunConfig(settings=two))


def test_a_target_that_is_not_known_is_named_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'http'"):
        target_from(RunConfig(target="htttp"))


def test_a_key_in_a_file_is_refused_and_not_repeated():
    settings = {"http": {"url": "http://host", "headers": {"Authorization": "Bearer sk-1234"}}}
    with pytest.raises(DataError, match="environment variable") as caught:
        target_from(RunConfig(settings=settings))
    assert "sk-1234" not in str(caught.value)


def test_a_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("MY_RAG_KEY", raising=False)
    settings = {"http": {"url": "http://host", "headers": {"X-Api-Key": "${MY_RAG_KEY}"}}}
    with pytest.raises(DataError, match="variable MY_RAG_KEY is not set"):
        target_from(RunConfig(settings=settings))


def test_the_typed_sections_have_the_settings_of_every_target():
    sections = get_type_hints(TargetSections)
    assert sections.keys() == {"http", "callable", "command"}
    for name, section in sections.items():
        settings = {option.name: option for option in fields(TARGETS[name].settings_type)}
        required = {
            key
            for key, option in settings.items()
            if option.default is MISSING and option.default_factory is MISSING
        }
        assert get_type_hints(section).keys() == settings.keys()
        hints = get_type_hints(section, include_extras=True)
        assert {key for key, hint in hints.items() if get_origin(hint) is Required} == required


def test_a_table_of_another_kind_is_refused():
    with pytest.raises(UnknownNameError, match='table must be "parquet" or "jsonl"; got "excel"'):
        RunConfig(table="excel")

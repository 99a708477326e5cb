"""Damaged files of Phoenix, LlamaIndex, LangSmith, Braintrust, Opik, Evidently and promptfoo."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_report import read_scores
from rageval_report.errors import RagevalError
from rageval_report.readers import READERS, Source, read, recognise

GOLDEN = Path(__file__).parents[2] / "golden"
NAMES = (
    "phoenix",
    "llama_index",
    "langsmith",
    "braintrust",
    "opik",
    "evidently",
    "promptfoo",
    "azure",
    "langfuse",
    "openai_runs",
    "pydantic_evals",
    "vertex",
    "weave",
)
WRITTEN_BY = {
    path: name
    for name in NAMES
    for path in sorted((GOLDEN / name).iterdir())
    if path.suffix in (".csv", ".json", ".jsonl") and not path.name.endswith("expected.json")
}
DOCUMENTS = {
    path: json.loads(path.read_text(encoding="utf-8"))
    if path.suffix == ".json"
    else [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for path in WRITTEN_BY
    if path.suffix != ".csv"
}
PIECES = st.binary(max_size=3) | st.sampled_from(
    [b'"', b"'", b",", b"\n", b"{", b"]", b"NaN", b"nan", b"1e999", b"null", b"\xef\xbb\xbf"]
)
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), PIECES), min_size=1, max_size=4)
VALUES = st.sampled_from(
    [
        None,
        0,
        1.5,
        math.nan,
        "x",
        "",
        True,
        [],
        {},
        [1],
        [[1]],
        [{}],
        [None],
        {"a": 1},
        {"score": [1]},
    ]
)
FAST = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def is_read_or_refused(path, reader):
    try:
        assert 0 <= READERS[reader].recognise(Source(path)) <= 1
        found = read(path, reader=reader)
    except RagevalError:
        return
    for one in found:
        assert len(one.frame)
        assert one.frame.columns.is_unique
        assert set(one.metric_columns or ()) <= set(one.frame)
    try:
        read_scores(path, reader=reader)
    except RagevalError:
        return


@pytest.mark.parametrize(
    "path", list(WRITTEN_BY), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_each_file_is_recognised_by_its_content(path):
    assert recognise(Source(path)) == WRITTEN_BY[path]


@FAST
@given(st.sampled_from(list(WRITTEN_BY)), EDITS)
def test_a_file_with_changed_bytes_is_read_or_refused(tmp_path, path, edits):
    content = path.read_bytes()
    for place, n_lost, piece in edits:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + n_lost :]
    (tmp_path / "run").write_bytes(content)
    is_read_or_refused(tmp_path / "run", WRITTEN_BY[path])


def places_in(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(child, (*path, key))


def with_part(value, path, part):
    if not path:
        return part
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_part(value[path[0]], path[1:], part)
    return copy


@FAST
@given(st.sampled_from(list(DOCUMENTS)), st.data(), VALUES)
def test_a_document_with_a_changed_part_is_read_or_refused(tmp_path, path, data, part):
    document = DOCUMENTS[path]
    place = data.draw(st.sampled_from(list(places_in(document))))
    (tmp_path / "run").write_text(json.dumps(with_part(document, place, part)))
    is_read_or_refused(tmp_path / "run", WRITTEN_BY[path])


@pytest.mark.parametrize("reader", NAMES)
@pytest.mark.parametrize(
    "content", ["{}", "[]", "[1]", '{"a": 1}\n', "a,b\n1,2\n", "plain", "[{}]"]
)
def test_another_file_is_refused_or_read_by_each_reader(write, reader, content):
    is_read_or_refused(write(content), reader)

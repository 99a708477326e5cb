"""Damaged files of Phoenix, LlamaIndex, LangSmith, Braintrust, Opik, Evidently and promptfoo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from damage import EDITS, VALUES, damage_settings, edited, is_read_or_refused, places_in, with_part
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.readers import Source, recognise

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
    "vertex_results",
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
FAST = damage_settings(150)


@pytest.mark.parametrize(
    "path", list(WRITTEN_BY), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_each_file_is_recognised_by_its_content(path):
    assert recognise(Source(path)) == WRITTEN_BY[path]


@FAST
@given(st.sampled_from(list(WRITTEN_BY)), EDITS)
def test_a_file_with_changed_bytes_is_read_or_refused(tmp_path, path, edits):
    (tmp_path / "run").write_bytes(edited(path.read_bytes(), edits))
    assert is_read_or_refused(tmp_path / "run", WRITTEN_BY[path])


@FAST
@given(st.sampled_from(list(DOCUMENTS)), st.data(), VALUES)
def test_a_document_with_a_changed_part_is_read_or_refused(tmp_path, path, data, part):
    document = DOCUMENTS[path]
    place = data.draw(st.sampled_from(list(places_in(document))))
    (tmp_path / "run").write_text(json.dumps(with_part(document, place, part)))
    assert is_read_or_refused(tmp_path / "run", WRITTEN_BY[path])


@pytest.mark.parametrize("reader", NAMES)
@pytest.mark.parametrize(
    "content", ["{}", "[]", "[1]", '{"a": 1}\n', "a,b\n1,2\n", "plain", "[{}]"]
)
def test_another_file_is_refused_or_read_by_each_reader(write, reader, content):
    assert is_read_or_refused(write(content), reader)

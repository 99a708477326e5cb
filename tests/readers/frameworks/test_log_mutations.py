"""Damaged logs of harnesses: a right answer or an error of our own, never another traceback."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_report.errors import RagevalError
from rageval_report.files import archives
from rageval_report.readers import read
from rageval_report.scores import score_table

GOLDEN = Path(__file__).parents[2] / "golden"
READERS_OF = {
    "inspect_ai": ("toy.json", "samples.csv", "header.json", "toy.eval"),
    "mlflow": ("eval_results_table.json", "result_df.csv", "result_df.json"),
    "lm_eval": ("samples_sums_*.jsonl", "samples_plain_*.jsonl"),
    "openai_evals": ("match.jsonl", "graded.jsonl"),
}
FILES = [
    (reader, path)
    for reader, names in READERS_OF.items()
    for name in names
    for path in sorted((GOLDEN / reader).glob(name))
]
PIECES = st.binary(max_size=3) | st.sampled_from(
    [b'"', b",", b"\n", b"\x00", b"{", b"]", b"NaN", b"null", b"1e999", b"[]", b"{}", b"\\ud800"]
)
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), PIECES), min_size=1, max_size=4)
VALUES = st.sampled_from(
    [
        *(None, 0, -1.5, 1e999, float("nan"), 10**400, True, "", "x", "C", "5", "none", [], {}),
        *([1], [[1]], [{}], [None], {"a": 1}, {"score": [1]}, {"value": {"value": 1}}, ["x", {}]),
    ]
)
FAST = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def is_read_or_refused(path, reader):
    """Read, and made a table of, which is what a user does with it."""
    try:
        found = read(path, reader=reader)
        for one in found:
            assert len(one.frame)
            assert one.frame.columns.is_unique
            assert set(one.metric_columns or ()) <= set(one.frame)
            score_table(one.frame, only=one.metric_columns, known=one.metrics)
    except RagevalError:
        return


@FAST
@given(st.sampled_from(FILES), EDITS)
def test_a_log_with_changed_bytes_is_read_or_refused(tmp_path, file, edits):
    reader, path = file
    content = path.read_bytes()
    for place, n_lost, piece in edits:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + n_lost :]
    (tmp_path / "run").write_bytes(content)
    is_read_or_refused(tmp_path / "run", reader)


@pytest.mark.parametrize(("reader", "path"), FILES, ids=lambda one: getattr(one, "name", one))
def test_a_log_cut_anywhere_is_read_or_refused(tmp_path, reader, path):
    content = path.read_bytes()
    for place in range(1, len(content), len(content) // 25):
        (tmp_path / "run").write_bytes(content[:place])
        is_read_or_refused(tmp_path / "run", reader)


# -- documents whose parts are of another kind


def places_in(value, path=()):
    """The paths to all parts of a document."""
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


def documents_of(path):
    """The JSON documents in a file: one, or one a line."""
    text = path.read_text(encoding="utf-8")
    return (
        [json.loads(text)]
        if path.suffix == ".json"
        else list(map(json.loads, text.split("\n")[:-1]))
    )


PARTS = [
    (reader, documents, place)
    for reader, path in FILES
    if path.suffix in (".json", ".jsonl")
    for documents in [documents_of(path)]
    for place in list(places_in(documents))[1:]
]


@FAST
@given(st.sampled_from(PARTS), VALUES)
def test_a_log_with_a_part_of_another_kind_is_read_or_refused(tmp_path, part, value):
    reader, documents, place = part
    changed = with_part(documents, place, value)
    (tmp_path / "run").write_text("\n".join(map(json.dumps, changed)) + "\n")
    is_read_or_refused(tmp_path / "run", reader)


@pytest.fixture(scope="module")
def members():
    pytest.importorskip(archives._ZSTD)
    archive = archives.Archive(archives.Source(GOLDEN / "inspect_ai" / "toy.eval"))
    return {name: archive.document(name) for name in archive.names}


@settings(FAST, max_examples=75)
@given(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True), VALUES)
def test_an_archive_with_a_part_of_another_kind_is_read_or_refused(
    tmp_path, members, member, place, value
):
    name = list(members)[int(member * len(members))]
    places = list(places_in(members[name]))
    changed = with_part(members[name], places[int(place * len(places))], value)
    with zipfile.ZipFile(tmp_path / "run", "w") as file:
        for other, document in (members | {name: changed}).items():
            file.writestr(other, json.dumps(document))
    is_read_or_refused(tmp_path / "run", "inspect_ai")

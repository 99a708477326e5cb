"""Damaged logs of harnesses: a right answer or an error of our own, never another traceback."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from damage import EDITS, VALUES, damage_settings, edited, is_read_or_refused, places_in, with_part
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.files import archives

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
FAST = damage_settings(120)


@FAST
@given(st.sampled_from(FILES), EDITS)
def test_a_log_with_changed_bytes_is_read_or_refused(tmp_path, file, edits):
    reader, path = file
    (tmp_path / "run").write_bytes(edited(path.read_bytes(), edits))
    assert is_read_or_refused(tmp_path / "run", reader)


@pytest.mark.parametrize(("reader", "path"), FILES, ids=lambda one: getattr(one, "name", one))
def test_a_log_cut_anywhere_is_read_or_refused(tmp_path, reader, path):
    content = path.read_bytes()
    for place in range(1, len(content), len(content) // 25):
        (tmp_path / "run").write_bytes(content[:place])
        assert is_read_or_refused(tmp_path / "run", reader)


# -- documents whose parts are of another kind


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
    assert is_read_or_refused(tmp_path / "run", reader)


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
    assert is_read_or_refused(tmp_path / "run", "inspect_ai")

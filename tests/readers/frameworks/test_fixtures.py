"""Every file that a framework wrote: recognised by its content, read as before, never a traceback.

``tests/golden/frameworks.json`` has, file by file, the reader, the pipelines, the number of
queries, each metric's mean and number of unscored queries, and why they are unscored; or the
beginning of the error. It was written by the readers of commit 7e11fe5d, before
formats became descriptions; the folders beside it have the frameworks' own numbers.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from damage import EDITS, VALUES, damage_settings, edited, is_read_or_refused, places_in, with_part
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import read_scores
from rageval_report.errors import DataError, ReaderError
from rageval_report.files import archives
from rageval_report.readers import Source, read, recognise

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = json.loads((GOLDEN / "frameworks.json").read_text(encoding="utf-8"))
READERS = sorted({file["reader"] for file in FILES.values()})
SMALL = [name for name in FILES if (GOLDEN / name).stat().st_size < 60_000]
LIMITED = damage_settings(120)


def mean(scores):
    present = [score for score in scores if score == score]
    return math.fsum(present) / len(present) if present else None


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_recognised_and_has_its_scores(name):
    expected, path = FILES[name], GOLDEN / name
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
    if path.suffix == ".eval":
        pytest.importorskip(archives._ZSTD)
    assert recognise(Source(path)) == expected["reader"]
    if "refused" in expected:
        with pytest.raises(ReaderError) as error:
            read(path)
        assert expected["refused"] in str(error.value)
        return
    files = {file.pipeline: file for file in read(path)}
    assert list(files) == list(expected["pipelines"])
    for pipeline, told in expected["pipelines"].items():
        frame = files[pipeline].frame
        assert len(frame) == told["n"]
        assert set(told["metrics"]) <= set(frame)
        for metric, (average, n_unscored) in told["metrics"].items():
            assert mean(frame[metric].astype(float)) == pytest.approx(average, abs=1e-8)
            assert frame[metric].isna().sum() == n_unscored
        for metric, states in told.get("states", {}).items():
            found = Counter(frame[f"{metric}_state"])
            assert {state: found[state] for state in states} == states


@LIMITED
@given(st.sampled_from(SMALL), EDITS)
def test_a_file_with_changed_bytes_is_read_or_refused(tmp_path, name, edits):
    (tmp_path / "run").write_bytes(edited((GOLDEN / name).read_bytes(), edits))
    assert is_read_or_refused(tmp_path / "run", FILES[name]["reader"])


@LIMITED
@given(st.data(), st.sampled_from(SMALL), VALUES)
def test_a_document_with_a_changed_part_is_read_or_refused(tmp_path, data, name, part):
    path = GOLDEN / name
    text = path.read_text(encoding="utf-8") if path.suffix in (".json", ".jsonl") else "[]"
    lines = [text] if path.suffix != ".jsonl" else text.splitlines()
    documents = list(map(json.loads, lines))
    place = data.draw(st.sampled_from(list(places_in(documents))))[:8] or (0,)
    changed = with_part(documents, place, part)
    (tmp_path / "run").write_text("\n".join(map(json.dumps, changed)) + "\n")
    assert is_read_or_refused(tmp_path / "run", FILES[name]["reader"])


@damage_settings(25)
@given(st.data(), VALUES)
def test_an_archive_with_a_changed_part_is_read_or_refused(tmp_path, data, part):
    pytest.importorskip(archives._ZSTD)
    archive = archives.Archive(Source(GOLDEN / "inspect_ai" / "toy.eval"))
    members = {name: archive.document(name) for name in archive.names}
    name = data.draw(st.sampled_from(list(members)))
    place = data.draw(st.sampled_from(list(places_in(members[name]))))
    members[name] = with_part(members[name], place, part)
    with zipfile.ZipFile(tmp_path / "run", "w") as file:
        for member, document in members.items():
            file.writestr(member, json.dumps(document))
    assert is_read_or_refused(tmp_path / "run", "inspect_ai")


@pytest.mark.parametrize("name", SMALL[::4])
def test_a_file_that_ends_early_is_read_or_refused(tmp_path, name):
    content = (GOLDEN / name).read_bytes()
    for end in range(1, len(content), max(1, len(content) // 4)):
        (tmp_path / "run").write_bytes(content[:end])
        assert is_read_or_refused(tmp_path / "run", FILES[name]["reader"])


@pytest.mark.parametrize("reader", READERS)
def test_another_file_is_refused_or_read_by_each_reader(write, reader):
    for content in ("{}", "[1]", '{"a": 1}\n', "a,b\n1,2\n", "plain", "[{}]"):
        assert is_read_or_refused(write(content), reader)


@pytest.mark.parametrize("reader", ["braintrust", "opik", "flashrag", "helm", "azure", "bedrock"])
def test_a_cut_file_is_refused_with_its_line(write, reader):
    name = next(name for name, file in FILES.items() if file["reader"] == reader)
    content = (GOLDEN / name).read_bytes()
    with pytest.raises(ReaderError, match="line"):
        read(write(content[: len(content) // 2]), reader=reader)


@pytest.mark.parametrize(
    "name", ["autonuggetizer/bm25.metrics.jsonl", "flashrag/nq_naive/intermediate_data.json"]
)
def test_a_row_that_is_there_twice_is_refused_where_a_format_has_no_repeats(name):
    text = (GOLDEN / name).read_text(encoding="utf-8")
    if name.endswith(".jsonl"):
        lines = text.splitlines()
        content = "\n".join([*lines, lines[0]])
    else:
        rows = json.loads(text)
        content = json.dumps([*rows, rows[0]])
    reader = name.partition("/")[0]
    with pytest.raises(DataError, match="query ids must be unique"):
        read_scores(content.encode(), reader=reader)
    averaged = read_scores(content.encode(), reader=reader, duplicates="mean")
    assert all(one.scores.index.is_unique for one in averaged.values())

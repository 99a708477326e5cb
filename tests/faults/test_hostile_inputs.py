"""Damaged and hostile inputs, each refused in one line that names the input."""

import gzip
import io
import zipfile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_report import read_scores, score_rankings
from rageval_report.errors import RagevalError, ReaderError

FRAME = pd.DataFrame({"query_id": ["q1", "q2"], "recall": [0.5, 1.0]})
HUGE = "1" + "0" * 400


def parquet_bytes(**columns):
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def broken_texts(kind):
    texts = pa.array(
        [b"\xff\xfea", b"\xc3"], pa.binary() if kind == pa.string() else pa.large_binary()
    )
    return pa.Array.from_buffers(kind, 2, texts.buffers())


def workbook(change):
    """A workbook whose members are changed before they are packed again."""
    buffer, changed = io.BytesIO(), io.BytesIO()
    FRAME.to_excel(buffer, index=False)
    with zipfile.ZipFile(buffer) as archive, zipfile.ZipFile(changed, "w") as copy:
        for name in archive.namelist():
            copy.writestr(name, change(name, archive.read(name)))
    return changed.getvalue()


def refused(content, **options):
    with pytest.raises(RagevalError) as caught:
        read_scores(content, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("column", ["query_id", "question", "recall"])
def test_texts_in_parquet_that_are_not_utf8_are_refused(kind, column):
    columns = {"query_id": pa.array(["q1", "q2"]), "recall": pa.array([0.5, 1.0])}
    assert refused(parquet_bytes(**{**columns, column: broken_texts(kind)})) == (
        f"<bytes>: this Parquet file is damaged: column {column!r} has texts that are not UTF-8"
    )


@pytest.mark.parametrize(
    "content",
    [
        f'[{{"query_id": "q1", "recall": {HUGE}}}]',
        f"query_id\tmetric\tvalue\nq1\trecall\t{HUGE}\n",
        '{"query_id": ["q1"], "recall": [1' + "0" * 5000 + "]}",
    ],
)
def test_integers_that_no_float_holds_are_refused(content):
    assert refused(content.encode()).startswith("<bytes>")


@pytest.mark.parametrize(
    "content",
    [
        f'{{"query_id": "q1", "recall": -{HUGE}}}\n{{"query_id": "q2", "recall": 1}}\n',
        f"query_id,recall\nq1,{HUGE}\nq2,1\n",
        f'{{"query_id": "q1", "recall": "{HUGE}"}}\n{{"query_id": "q2", "recall": "1"}}\n',
    ],
    ids=["integer", "csv", "text"],
)
def test_an_integer_that_no_float_holds_among_scores_is_failed_with_a_note(content):
    evaluation = read_scores(content.encode())["pipeline"]
    assert evaluation.states["recall"].tolist() == ["failed", "scored"]
    assert any("at 'q1'" in note for note in evaluation.notes)


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"recall":'])
def test_deep_nesting_is_refused(opening):
    assert refused((opening * 100_000).encode())


def test_lists_as_ids_are_refused():
    assert "query id" in refused([{"query_id": [1], "recall": 1}, {"query_id": "q2", "recall": 0}])
    assert "query id" in refused([{"query_id": 1, "recall": 1}, {"query_id": ["q"], "recall": 0}])


def test_a_sheet_that_states_more_cells_than_it_has_is_read_as_it_is():
    def state_many(name, data):
        return data.replace(b'ref="A1:B3"', b'ref="A1:XFD1048576"')

    content = workbook(state_many)
    assert read_scores(content)["pipeline"].scores["recall"].tolist() == [0.5, 1.0]


@pytest.mark.parametrize("piece", [b"<", b"&#0;", b"\x00", b"</worksheet>"])
def test_damaged_xml_within_a_workbook_is_refused(piece):
    def damage(name, data):
        return piece + data if "sheet1.xml" in name else data

    assert "this workbook cannot be read" in refused(workbook(damage))


def test_a_gzip_bomb_among_rankings_is_refused():
    bomb = gzip.compress(b"q1 Q0 d1 1 0.5 x\n" + b"\n" * (300 << 20), 6)
    with pytest.raises(ReaderError, match="expands to more than 300 times its size"):
        score_rankings(bomb, {"q1": {"d1": 1}}, ["mrr"])


@pytest.mark.parametrize(
    "name", ["a" * 5000, "a" * 300 + ".parquet", "a\0b.parquet", "../0.parquet"]
)
def test_a_cell_that_names_an_impossible_file_is_refused(tmp_path, name):
    path = tmp_path / "summary.csv"
    path.write_text(f'filename,module_name,module_params,is_best\n"{name}",bm25,{{}},True\n')
    with pytest.raises(RagevalError):
        read_scores(path, reader="autorag")

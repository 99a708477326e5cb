from __future__ import annotations

import inspect

import pytest

from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.metrics.ranking_options import RankingOptions
from rageval_report.readers import READERS, Reader, ScoreFile, Source, read, recognise
from rageval_report.readers.base import ReaderOptions
from rageval_report.readers.record_files import read_records
from rageval_report.readers.table_files import CONTAINERS

TABLE = "query_id,recall\nq1,1\n"


def always(mark):
    return lambda source: mark


def other_reader(mark, name="other"):
    return Reader(name, "anything", always(mark), lambda source: [])


@pytest.fixture
def with_reader(monkeypatch):
    """Another distribution's reader in the table, for the length of a test."""

    def add(reader):
        monkeypatch.setitem(READERS._entries, reader.name, reader)

    return add


def test_every_entry_of_the_table_is_a_reader_of_its_name():
    for name in READERS:
        reader = READERS[name]
        assert isinstance(reader, Reader)
        assert reader.name == name
        assert reader.sentence


def test_the_name_of_a_file_plays_no_part(write):
    assert recognise(Source(write(TABLE, "run.parquet"))) == "csv"


def test_the_surest_reader_wins(write, with_reader):
    with_reader(other_reader(0.99))
    assert recognise(Source(write(TABLE))) == "other"


def test_two_equally_sure_readers_are_named(write, with_reader):
    with_reader(other_reader(0.9))
    message = r"readers 'csv', 'other' recognise this file equally well; choose one: reader='csv'"
    with pytest.raises(ReaderError, match=message):
        read(write(TABLE))


def test_a_reader_may_be_handed_in(write):
    frame = read(write(TABLE))[0].frame
    reader = Reader("mine", "mine", always(0.0), lambda source: [ScoreFile(frame, "a")])
    assert read(write(TABLE), reader=reader)[0].pipeline == "a"


def test_an_unknown_reader_gets_the_nearest_name(write):
    with pytest.raises(UnknownNameError, match=r"no reader is named 'cvs'\. Did you mean 'csv'"):
        read(write(TABLE), reader="cvs")


def test_an_unknown_option_gets_the_known_ones(write):
    with pytest.raises(
        DataError, match=r"the csv reader has no option 'delimter'\. Did you mean 'delimiter'"
    ):
        read(write(TABLE), delimter=";")


def test_what_no_reader_knows_is_described(write, with_reader):
    with_reader(other_reader(0.3))
    with pytest.raises(ReaderError) as caught:
        read(write("<html><body>502 Bad Gateway</body></html>", "run.json"))
    message = str(caught.value)
    assert "it looks like HTML or XML" in message
    assert "reader=" in message


@pytest.mark.parametrize("reader", ["csv", "tsv", "json", "jsonl", "promptfoo", "inspector_raget"])
def test_binary_junk_is_refused_by_each_text_reader(write, reader):
    with pytest.raises(ReaderError, match="expected text; this looks like a PDF"):
        read(write(b"%PDF-1.7\r\n\x1a\n\x00\x00"), reader=reader)


@pytest.mark.parametrize("reader", ["parquet", "excel"])
def test_text_is_refused_by_each_binary_reader(write, reader):
    with pytest.raises(ReaderError, match="cut"):
        read(write(TABLE), reader=reader)


RAGGED = "query_id,recall,f1\nq1,1,1\nq2,0,1,0\nq3,1,0,1\nq4,1,0,1\n"


def test_the_row_that_spoils_a_table_is_told_by_its_line(write):
    with pytest.raises(ReaderError, match=r"expected 3 fields, .* found 4") as told:
        read(write(RAGGED))
    assert told.value.line == 3
    assert "Choose with" not in str(told.value)  # no list of thirty formats
    with pytest.raises(ReaderError, match=r"expected 3 fields, .* found 4"):
        read_records(write(RAGGED))


def test_a_file_of_blank_lines_is_empty(write):
    with pytest.raises(ReaderError, match=r"the file contains only blanks$"):
        read(write("\n\n  \t\n"))


def test_the_readers_of_plain_tables_are_those_with_a_header():
    assert {reader.name for reader in CONTAINERS} == {
        name for name, reader in READERS.items() if reader.header is not None
    }


def test_readers_say_which_options_they_take():
    for name, reader in READERS.items():
        parameters = inspect.signature(reader.read, follow_wrapped=False).parameters.values()
        keywords = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
        if any(each.kind is each.VAR_KEYWORD for each in parameters):
            keywords |= set(RankingOptions.__annotations__)
        assert keywords == set(reader.options) - {"encoding"}, name
        of_read = {"query_id", "metrics", "duplicates"}
        assert set(reader.options) <= {*ReaderOptions.__annotations__, *of_read}


def test_records_have_the_options_of_their_reader(write):
    records = read_records(write("query_id;question\nq1;Why?\n"), delimiter=";")
    assert records["question"].tolist() == ["Why?"]
    with pytest.raises(DataError, match=r"csv reader has no option 'delimter'\. Did you mean 'del"):
        read_records(write("query_id;question\nq1;Why?\n"), delimter=";")

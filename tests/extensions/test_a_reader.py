"""A reader from outside, added with one line, is used from Python and from the command line."""

import json

import pandas as pd
import pytest
from click.testing import CliRunner

from rageval_report import RAGPipelineEvaluation, read_scores
from rageval_report.cli import rageval_report
from rageval_report.errors import DataError, RagevalWarning, ReaderError
from rageval_report.files.source import Source
from rageval_report.readers import READERS, Reader, ScoreFile

STARS = "STARS\nq1 ***\nq2 *****\nq3 \n"


def recognise_stars(source: Source) -> float:
    return 0.95 if source.head.startswith(b"STARS") else 0.0


def read_stars(source: Source, *, symbol: str = "*") -> list[ScoreFile]:
    rows = [line.split(" ") for line in source.text.splitlines()[1:]]
    counts = [len(stars) if set(stars) <= {symbol} else None for _, stars in rows]
    frame = pd.DataFrame({"query_id": [query for query, _ in rows], "stars": counts})
    metrics = {"stars": {"kind": "ordinal", "bounds": (0, 5)}}
    return [ScoreFile(frame, source.stem, metrics=metrics)]


@pytest.fixture
def add_reader(monkeypatch):
    """Add a reader to the table for the length of a test."""
    monkeypatch.setattr(READERS, "_entries", dict(READERS._entries))

    def add(**fields):
        fields = {"recognise": recognise_stars, "read": read_stars, **fields}
        READERS.add("stars", Reader("stars", "stars after ids", **fields, example="run.stars"))

    return add


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run.stars"
    path.write_text(STARS)
    return path


def command(*words):
    return CliRunner().invoke(rageval_report, list(map(str, words)))


def test_its_files_are_recognised_and_read_by_load_and_by_read_scores(add_reader, path):
    add_reader()
    loaded = RAGPipelineEvaluation.load("mine", path)
    assert loaded.scores["stars"].tolist() == [3.0, 5.0, 0.0]
    assert loaded.metrics["stars"].bounds == (0.0, 5.0)
    [(name, evaluation)] = read_scores(path).items()
    assert name == "run"
    assert evaluation.scores.equals(loaded.scores)


def test_the_command_line_reads_its_files_and_lists_it(add_reader, path):
    add_reader()
    rows = json.loads(command("report", path, "--format", "json").stdout)["rows"]
    assert [(row["metric"], row["n"]) for row in rows] == [("stars", 3)]
    assert rows[0]["mean"] == pytest.approx((3 + 5 + 0) / 3)
    assert command("report", path, "--reader", "stars").exit_code == 0
    listed = json.loads(command("inspect", "--formats", "--format", "json").stdout)["rows"]
    assert [row["example"] for row in listed if row["reader"] == "stars"] == ["run.stars"]


def test_it_takes_options_of_its_own(add_reader, path):
    add_reader(options=("symbol",))
    own, misspelt = {"symbol": "+"}, {"symbl": "+"}
    path.write_text(STARS.replace("*", "+"))
    loaded = RAGPipelineEvaluation.load("mine", path, **own)
    assert loaded.scores["stars"].tolist() == [3.0, 5.0, 0.0]
    result = command("export", path, "--option", "symbol=+")
    assert result.stdout.splitlines()[1].startswith("q1,3")
    with pytest.raises(DataError) as caught:
        RAGPipelineEvaluation.load("mine", path, **misspelt)
    assert str(caught.value) == (
        "the stars reader has no option 'symbl'. Did you mean 'symbol'? Options: symbol."
    )


def broken(*_, **__):
    raise ZeroDivisionError("division by zero")


def test_an_error_inside_it_is_its_own(add_reader, path):
    add_reader(read=broken)
    blame = f"{path}: the reader 'stars' of {__name__} failed: ZeroDivisionError: division by zero"
    with pytest.raises(ReaderError) as caught:
        read_scores(path)
    assert str(caught.value) == blame
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    result = command("report", path)
    assert (result.exit_code, result.stderr) == (2, f"rageval-report: {blame}\n")


def test_an_error_while_it_looks_at_a_file_skips_it_with_a_warning(add_reader, tmp_path):
    add_reader(recognise=broken)
    path = tmp_path / "run.csv"
    path.write_text("query_id,recall\na,0.5\n")
    with pytest.warns(RagevalWarning, match=f"the reader 'stars' of {__name__} failed and is skip"):
        assert list(read_scores(path)) == ["run"]


def test_a_file_in_which_it_sees_no_pipeline_is_refused(add_reader, path):
    add_reader(read=lambda _: [])
    with pytest.raises(DataError, match=r"run\.stars contains no pipeline"):
        RAGPipelineEvaluation.load("mine", path)


def test_what_is_not_a_list_of_score_files_is_refused(add_reader, path):
    add_reader(read=lambda source: pd.DataFrame({"stars": [len(source.text)]}))
    with pytest.raises(ReaderError, match=r"the reader 'stars' of \S+ returned a DataFrame; expe"):
        read_scores(path)

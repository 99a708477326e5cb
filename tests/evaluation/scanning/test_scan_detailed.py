"""The detailed reports of scans have the rows of memory: the first of them, and all in a file."""

import io

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, UnknownNameError
from tests.evaluation.scanning.conftest import memory_of, scans_of, scores_frame

NAMES = ("bm25", "dense")


def detailed_frames(n=330):
    """Two tables with details of every kind, and some queries that the other one lacks."""
    frames = []
    for seed in (0, 1):
        frame = scores_frame(n, seed=seed)
        frame["year"] = 2000 + np.arange(n) % 20
        frame["pages"] = np.where(np.arange(n) > 200, np.nan, np.arange(n))  # whole, then missing
        frame["is_hard"] = np.arange(n) % 3 == 0
        frame["source"] = np.where(np.arange(n) < 150, None, f"run {seed}")  # missing, then texts
        frames.append(frame)
    return [frames[0].drop(index=[3, 299]), frames[1].drop(index=[8, 12, 13])]


@pytest.fixture(scope="module")
def frames():
    return detailed_frames()


def write_csv(frame, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False)
    return path


def csv_scans(frames, folder):
    return [
        RAGPipelineEvaluation.scan(write_csv(frame, folder / f"{name}.csv"))
        for name, frame in zip(NAMES, frames, strict=True)
    ]


def loaded(frames, folder):
    """The same files in memory."""
    return [
        RAGPipelineEvaluation.load(name, write_csv(frame, folder / f"{name}.csv"))
        for name, frame in zip(NAMES, frames, strict=True)
    ]


def test_the_file_of_all_rows_is_that_of_memory(frames, tmp_path):
    scan, run = scans_of(frames, tmp_path, NAMES)[0], memory_of(frames, NAMES)[0]
    expected = run.detailed_report(output_format="df")
    path = tmp_path / "detailed.parquet"
    found = scan.detailed_report(output_format="df", k=7, path=path)
    assert found.attrs["n"] == len(expected) == 328
    pd.testing.assert_frame_equal(pd.read_parquet(path), expected, check_dtype=False)
    assert pd.read_parquet(path)["year"].dtype == expected["year"].dtype
    pd.testing.assert_frame_equal(found, expected.head(7), check_dtype=False)
    text = tmp_path / "detailed.csv"
    scan.detailed_report(path=text)
    assert text.read_text() == run.detailed_report(output_format="csv")


@pytest.mark.parametrize("kind", ["df", "json", "csv"])
def test_the_first_rows_have_the_forms_of_memory(frames, tmp_path, kind):
    few = [frame.head(40) for frame in frames]  # of which all are returned
    scans, runs = scans_of(few, tmp_path, NAMES), memory_of(few, NAMES)
    for method, others in (("detailed_report", []), ("comparative_detailed_report", [1])):
        found, expected = (
            getattr(each[0], method)(*(each[place] for place in others), output_format=kind)
            for each in (scans, runs)
        )
        if kind == "df":
            by_id = expected.sort_values("query_id", kind="stable", ignore_index=True)
            pd.testing.assert_frame_equal(found, by_id, check_dtype=False)
            assert found.attrs["n"] == len(expected)
        elif kind == "csv":
            assert sorted(found.splitlines()) == sorted(expected.splitlines())
        else:
            assert list(found) == list(expected)
            assert found["query_id"] == sorted(expected["query_id"])


def by_id(frame):
    return frame.sort_values("query_id", kind="stable", ignore_index=True)


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.parametrize("keep", [None, ["topic", "pages"]])
def test_rows_side_by_side_are_those_of_memory(frames, tmp_path, engine, keep):
    runs = memory_of(frames, NAMES)
    expected = by_id(runs[0].comparative_detailed_report(runs[1], keep, output_format="df"))
    moved = frames
    if engine != "stream":  # which takes ids in order
        moved = [frame.sample(frac=1, random_state=3) for frame in frames]
    first, second = scans_of(moved, tmp_path, NAMES, engine=engine)
    path = tmp_path / "detailed.parquet"
    found = first.comparative_detailed_report(second, keep, "df", k=9, path=path)
    assert found.attrs["n"] == len(expected) == 330
    written = by_id(pd.read_parquet(path))
    assert list(written) == list(expected)
    pd.testing.assert_frame_equal(written, expected, check_dtype=False)
    pd.testing.assert_frame_equal(found, expected.head(9), check_dtype=False)
    text = tmp_path / "detailed.csv"
    first.comparative_detailed_report(second, keep, path=text)
    lines = expected.to_csv(index=False).splitlines()
    assert text.read_text().splitlines()[0] == lines[0]
    assert sorted(text.read_text().splitlines()) == sorted(lines)


def test_rows_of_workers_are_those_of_memory(frames, tmp_path, scheduler):
    runs = memory_of(frames, NAMES)
    expected = by_id(runs[0].comparative_detailed_report(runs[1], output_format="df"))
    path = tmp_path / "detailed.parquet"
    first, second = scans_of(frames, tmp_path, NAMES, engine="dask", scheduler=scheduler)
    found = first.comparative_detailed_report(second, output_format="df", k=5, path=path)
    pd.testing.assert_frame_equal(by_id(pd.read_parquet(path)), expected, check_dtype=False)
    pd.testing.assert_frame_equal(found, expected.head(5), check_dtype=False)


def test_the_cells_of_csv_files_are_what_they_are_in_memory(frames, tmp_path):
    late = [frame.assign(date=frame["year"].astype(str)) for frame in frames]
    for frame in late:  # numbers among the first rows, and words later
        frame.loc[frame.index[250], "date"] = "unknown"
    runs, scans = loaded(late, tmp_path / "memory"), csv_scans(late, tmp_path)
    path = tmp_path / "detailed.csv"
    scans[0].detailed_report(path=path)
    assert path.read_text() == runs[0].detailed_report(output_format="csv")
    stored = tmp_path / "detailed.parquet"
    scans[0].detailed_report(path=stored)
    expected = runs[0].detailed_report(output_format="df")
    found = pd.read_parquet(stored)
    for name in ("year", "pages", "is_hard"):
        assert found[name].dtype == expected[name].dtype
    assert found["date"].tolist() == expected["date"].astype(str).tolist()
    scans[0].comparative_detailed_report(scans[1], ["year"], path=path)
    side_by_side = runs[0].comparative_detailed_report(runs[1], ["year"], output_format="csv")
    assert sorted(path.read_text().splitlines()) == sorted(side_by_side.splitlines())


def test_words_in_cells_of_scores_become_states_as_in_memory(tmp_path):
    frame = scores_frame(220).astype({"recall@5": object})
    frame.loc[[3, 170], "recall@5"] = "n/a"
    path = tmp_path / "a.csv"
    frame.to_csv(path, index=False)
    run, scan = RAGPipelineEvaluation.load("a", path), RAGPipelineEvaluation.scan(path, name="a")
    scan.detailed_report(path=tmp_path / "all.csv")
    found = pd.read_csv(tmp_path / "all.csv")
    expected = pd.read_csv(io.StringIO(run.detailed_report(output_format="csv")))
    assert set(found) == set(expected)
    same = [name for name in expected if not name.endswith(("_state", "_reason"))]
    pd.testing.assert_frame_equal(found[same], expected[same])


def test_csv_file_holds_all_rows_as_in_memory(frames, tmp_path):
    scan, run = scans_of(frames, tmp_path, NAMES)[0], memory_of(frames, NAMES)[0]
    path = tmp_path / "all.txt"  # any name, as in memory
    text = scan.detailed_report("csv", path, k=3)
    assert path.read_text() == run.detailed_report("csv")
    assert text == "".join(path.read_text().splitlines(keepends=True)[:4])


def test_a_file_that_is_not_written_whole_leaves_the_old_one(frames, tmp_path, monkeypatch):
    scan = scans_of(frames, tmp_path, NAMES)[0]
    path = tmp_path / "detailed.csv"
    path.write_text("old")

    def fail(*_args, **_options):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    with pytest.raises(RuntimeError):
        scan.detailed_report(path=path)
    assert path.read_text() == "old"
    assert sorted(own.name for own in tmp_path.iterdir()) == [
        *("bm25.parquet", "dense.parquet", "detailed.csv"),
    ]


def test_errors(frames, tmp_path):
    first, second = scans_of(frames, tmp_path, NAMES)
    with pytest.raises(DataError, match=r"path must end in \.parquet or \.csv; got 'a\.xlsx'"):
        first.detailed_report(path="a.xlsx")
    with pytest.raises(DataError, match="csv_file and path are both a file for all rows"):
        first.detailed_report("csv", "a.csv", path="a.parquet")
    with pytest.raises(DataError, match="k must be an integer >= 1; got 0"):
        first.detailed_report(k=0)
    with pytest.raises(DataError, match="both runs are named 'bm25'"):
        first.comparative_detailed_report(first)
    with pytest.raises(UnknownNameError, match="detail column of 'bm25'"):
        first.comparative_detailed_report(second, ["colour"])
    with pytest.raises(DataError, match="in memory"):
        first.comparative_detailed_report(memory_of(frames, NAMES)[1])

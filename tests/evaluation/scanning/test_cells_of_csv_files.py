"""Details of CSV files that are numbers or true and false, beside the same table in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, read_scores
from rageval_report.errors import DataError
from rageval_report.scale import csv_pieces, pieces

N = 120
DETAILS = ("topic", "is_cached", "is_refused", "tokens", "cost", "pages", "day")
ROLES = dict.fromkeys(DETAILS, "detail")


def table(seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "query_id": [f"q{number:03d}" for number in range(N)],
            "recall": rng.integers(0, 5, N) / 4,
            "topic": rng.choice(["a", "b"], N),
            "is_cached": rng.choice(["true", "false"], N),
            "is_refused": rng.choice(["True", "False", ""], N),
            "tokens": rng.integers(1, 900, N),
            "pages": [f"{number}" if number % 5 else "" for number in range(N)],
            "day": [f"2026-01-{1 + number % 28:02d}" for number in range(N)],
            "cost": [f"{number / 8}" if number % 7 else "" for number in range(N)],
        }
    )


@pytest.fixture
def pipelines(tmp_path):
    """Two tables as scans of two files each, and in memory."""
    scans, evaluations = [], []
    for seed, name in enumerate("ab"):
        frame, folder = table(seed), tmp_path / name
        folder.mkdir()
        for part in range(2):
            rows = frame.iloc[part * N // 2 : (part + 1) * N // 2]
            rows.to_csv(folder / f"part_{part}.csv", index=False)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        scans.append(RAGPipelineEvaluation.scan(folder, roles=ROLES))
        [evaluation] = read_scores(tmp_path / f"{name}.csv", roles=ROLES).values()
        evaluations.append(evaluation)
    return scans, evaluations


def test_all_rows_brought_into_memory_are_those_of_a_file_in_memory(pipelines):
    for scan, evaluation in zip(*pipelines, strict=True):
        collected = scan.collect()
        pd.testing.assert_frame_equal(collected.scores, evaluation.scores)
        pd.testing.assert_frame_equal(collected.details, evaluation.details)


TABLES = {
    "failures": lambda runs, **to: runs[0].failures("recall", 0.6, **to).frame,
    "regressions": lambda runs, **to: compare(*runs).regressions("recall", **to),
    "improvements": lambda runs, **to: compare(*runs).improvements("recall", **to),
}


@pytest.mark.parametrize("kind", TABLES)
def test_shown_rows_have_the_cells_of_memory(pipelines, kind):
    ours, theirs = (TABLES[kind](runs) for runs in pipelines)
    assert len(theirs) > 10
    pd.testing.assert_frame_equal(ours.sort_index(), theirs.sort_index())


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("suffix", ["parquet", "csv", "CSV"])
def test_files_of_all_rows_have_the_cells_of_memory(pipelines, tmp_path, kind, suffix):
    scans, evaluations = pipelines
    path = tmp_path / f"all.{suffix}"
    TABLES[kind](scans, k=3, path=path)
    expected = TABLES[kind](evaluations).sort_index()
    written = pd.read_parquet(path) if suffix == "parquet" else pd.read_csv(path)
    written = written.set_index("query_id").sort_index()
    assert written.columns.tolist() == expected.columns.tolist()
    for name in expected:
        if name.endswith("is_refused"):  # true, false and missing: of objects in any case
            columns = (frame[name].astype(object) for frame in (written, expected))
            ours, theirs = (column.where(column.notna(), None).tolist() for column in columns)
            assert ours == theirs
        else:
            pd.testing.assert_series_equal(written[name], expected[name])


def test_a_text_among_numbers_beyond_the_first_rows_stays_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_pieces, "SAMPLE_ROWS", 50)
    monkeypatch.setattr(pieces, "SAMPLE_ROWS", 50)
    frame = table(0)[["query_id", "recall", "tokens"]].astype({"tokens": str})
    frame.loc[N - 1, ["recall", "tokens"]] = 0.0, "n/a"
    frame.to_csv(tmp_path / "a.csv", index=False)
    scan = RAGPipelineEvaluation.scan(tmp_path / "a.csv", roles={"tokens": "detail"})
    assert scan.collect().details["tokens"].iloc[-1] == "n/a"
    shown = scan.failures("recall", 0.6, path=tmp_path / "all.parquet").frame
    written = pd.read_parquet(tmp_path / "all.parquet").set_index("query_id")
    for rows in (shown, written):
        assert rows.loc[f"q{N - 1}", "tokens"] == "n/a"
        assert rows["tokens"].map(type).eq(str).all()


def test_outcomes_are_written_as_parquet_and_as_csv(pipelines, tmp_path):
    [first, second], _ = pipelines
    options = {"correct": {"recall": 0.5}, "k": 3}
    for suffix in ("parquet", "csv"):
        first.comparative_detailed_summary(second, path=tmp_path / f"o.{suffix}", **options)
    written = pd.read_parquet(tmp_path / "o.parquet"), pd.read_csv(tmp_path / "o.csv")
    assert len(written[0]) == N
    assert written[0].to_numpy().tolist() == written[1].to_numpy().tolist()


@pytest.mark.parametrize("kind", TABLES)
def test_a_file_of_another_kind_is_refused_before_anything_is_read(pipelines, tmp_path, kind):
    scans, _ = pipelines
    with pytest.raises(DataError, match=r"path must end in \.parquet or \.csv; got .*all\.txt"):
        TABLES[kind](scans, path=tmp_path / "all.txt")
    with pytest.raises(DataError, match=r"path must end in \.parquet or \.csv"):
        scans[0].comparative_detailed_summary(scans[1], {"recall": 0.5}, path=tmp_path / "all")
    assert not list(tmp_path.glob("all*"))

"""Slices of scans are those of the same tables in memory."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import DataError, UnknownNameError, UnknownOptionError
from rageval_report.evaluation.scanning import group_labels
from tests.evaluation.scanning.conftest import scores_frame, write_parquet

# Below 500 scores an interval of the others draws random numbers, and needs them in memory.
SUMMED = ["exact_match", "recall@5", "groundedness"]
LATTICES = {"exact_match", "recall@5", "groundedness"}


def with_groups(frame, seed=0):
    """Groups of texts, of numbers with gaps, and of dates."""
    rng = np.random.default_rng(seed)
    year = rng.integers(2020, 2026, len(frame)).astype(float)
    year[rng.random(len(frame)) < 0.1] = np.nan
    return frame.assign(year=year, hops=rng.integers(1, 4, len(frame)))


@pytest.fixture
def frames():
    first, second = with_groups(scores_frame()), scores_frame(seed=1, shift=0.06)
    # One group whose direction is the opposite one.
    is_law = first["topic"] == "law"
    second["recall@5"] = np.where(
        is_law, 0.0, np.minimum(np.rint(first["recall@5"] * 5) + 1, 5) / 5
    )
    return first.drop(index=[3, 500]), second.drop(index=[8, 12, 13])


def assert_same_slices(scanned, expected, engine="stream", *, rtol=1e-9):
    assert scanned.title == expected.title
    assert scanned.notes == expected.notes
    assert scanned.headline == expected.headline
    assert scanned.settings == {**expected.settings, "engine": engine}
    pd.testing.assert_frame_equal(scanned.frame, expected.frame, rtol=rtol)
    exact = expected.frame["metric"].isin(LATTICES)
    counts = [c for c in ("n", "mean", "difference", "pvalue", "wins") if c in expected.frame]
    pd.testing.assert_frame_equal(
        scanned.frame.loc[exact, counts], expected.frame.loc[exact, counts], rtol=0, atol=0
    )


@pytest.mark.parametrize("by", ["topic", "year", "hops"])
def test_slices_are_those_of_memory(frames, tmp_path, by, kept_or_summed):
    options = {} if kept_or_summed == "kept" else {"metrics": SUMMED}
    expected = RAGPipelineEvaluation("a", frames[0]).slices(by, percentiles=(10, 50), **options)
    scan = RAGPipelineEvaluation.scan(write_parquet(frames[0], tmp_path / "a.parquet"))
    # The limits of a mean of sums come from a histogram.
    assert_same_slices(scan.slices(by, percentiles=(10, 50), **options), expected, rtol=1e-6)


def test_percentiles_of_sums_by_group_are_those_of_memory(frames, tmp_path, kept_or_summed):
    options = {"percentiles": (1, 50, 99), "interval": "t"}
    expected = RAGPipelineEvaluation("a", frames[0]).slices("topic", **options)
    scan = RAGPipelineEvaluation.scan(write_parquet(frames[0], tmp_path / "a.parquet"))
    assert_same_slices(scan.slices("topic", **options), expected)


@pytest.mark.parametrize("by", ["topic", "year", "hops"])
def test_slices_of_a_csv_file_are_those_of_memory(frames, tmp_path, by):
    frames[0].to_csv(tmp_path / "a.csv", index=False)
    expected = RAGPipelineEvaluation.load("a", tmp_path / "a.csv").slices(by, "recall@5")
    scan = RAGPipelineEvaluation.scan(tmp_path / "a.csv")
    assert_same_slices(scan.slices(by, "recall@5"), expected)


def test_integers_with_gaps_have_the_labels_of_memory(frames, tmp_path):
    frame = frames[0].assign(year=frames[0]["year"].astype("Int64"))
    path = write_parquet(frame, tmp_path / "a.parquet")
    expected = RAGPipelineEvaluation.load("a", path).slices("year", "recall@5")
    scanned = RAGPipelineEvaluation.scan(path).slices("year", "recall@5")
    assert_same_slices(scanned, expected)


@pytest.mark.usefixtures("kept_or_summed")
@pytest.mark.parametrize("options", [{}, {"missing": "bounds", "metrics": ["recall@5"]}])
@pytest.mark.parametrize("by", ["topic", "year"])
def test_compared_slices_are_those_of_memory(frames, tmp_path, options, by):
    runs = [RAGPipelineEvaluation(name, f) for name, f in zip("ab", frames, strict=True)]
    scans = [
        RAGPipelineEvaluation.scan(write_parquet(f, tmp_path / f"{n}.parquet"))
        for n, f in zip("ab", frames, strict=True)
    ]
    expected = compare(*runs, **options).slices(by)
    scanned = compare(*scans, **options).slices(by)
    assert_same_slices(scanned, expected)
    if by == "topic":
        assert expected.frame["verdict"].notna().any()


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_compared_slices_by_duckdb_are_those_of_memory(frames, tmp_path, order):
    if order == "shuffled":
        frames = frames[0], frames[1].sample(frac=1, random_state=3)
    runs = [RAGPipelineEvaluation(name, f) for name, f in zip("ab", frames, strict=True)]
    scans = [
        RAGPipelineEvaluation.scan(write_parquet(f, tmp_path / f"{n}.parquet"), engine="duckdb")
        for n, f in zip("ab", frames, strict=True)
    ]
    expected = compare(*runs).slices("topic", ["recall@5", "similarity"], "bh")
    scanned = compare(*scans).slices("topic", ["recall@5", "similarity"], "bh")
    assert_same_slices(scanned, expected, "duckdb")


def test_slices_of_several_candidates(frames, tmp_path):
    third = scores_frame(seed=5)
    all_frames = dict(zip("abc", (*frames, third), strict=True))
    runs = [RAGPipelineEvaluation(name, frame) for name, frame in all_frames.items()]
    scans = [
        RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / f"{name}.parquet"))
        for name, frame in all_frames.items()
    ]
    assert_same_slices(compare(*scans).slices("topic"), compare(*runs).slices("topic"))


def test_slices_that_make_no_sense_are_refused(frames, tmp_path, monkeypatch):
    scan = RAGPipelineEvaluation.scan(write_parquet(frames[0], tmp_path / "a.parquet"))
    other = RAGPipelineEvaluation.scan(write_parquet(frames[1], tmp_path / "b.parquet"))
    for sliced in (scan, compare(scan, other)):
        with pytest.raises(UnknownNameError, match="no detail column is named 'topik'"):
            sliced.slices("topik")
        with pytest.raises(DataError, match="every query has its own value of 'question'"):
            sliced.slices("question")
    with pytest.raises(DataError, match="clusters must have a label for every query; 'q000"):
        scan.slices("topic", clusters="year")
    with pytest.raises(UnknownOptionError, match="has no option 'percentile'"):
        scan.slices("topic", percentile=(5,))
    monkeypatch.setattr(group_labels, "MOST_GROUPS", 100)
    with pytest.raises(DataError, match="by='question' makes more than 100 groups"):
        scan.slices("question")

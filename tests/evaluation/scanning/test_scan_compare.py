"""The comparison of scans is that of the same tables in memory."""

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import AlignmentError, DataError
from tests.evaluation.scanning.conftest import scores_frame, write_parquet

NAMES = ("baseline", "candidate")


@pytest.fixture
def frames():
    first, second = scores_frame(), scores_frame(seed=1, shift=0.06)
    return first.drop(index=[3, 500]), second.drop(index=[8, 12, 13])


def scans_of(frames, folder, **options):
    return [
        RAGPipelineEvaluation.scan(write_parquet(frame, folder / f"{name}.parquet"), **options)
        for frame, name in zip(frames, NAMES, strict=True)
    ]


def memory_of(frames):
    return [RAGPipelineEvaluation(name, frame) for frame, name in zip(frames, NAMES, strict=True)]


def assert_same_comparison(scanned, expected, engine="stream"):
    assert scanned.title == expected.title
    assert scanned.notes == expected.notes
    assert scanned.settings == {**expected.settings, "engine": engine}
    # Continuous differences are summed in another order than in memory.
    pd.testing.assert_frame_equal(scanned.frame, expected.frame, rtol=1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"margin": 0.05}, {"missing": "bounds", "metrics": ["recall@5", "exact_match"]}]
)
def test_a_comparison_of_scans_is_that_of_memory(frames, tmp_path, options):
    expected = compare(*memory_of(frames), **options)
    first, second = scans_of(frames, tmp_path)
    assert_same_comparison(first.comparative_summary(second, **options), expected)


def test_ids_in_any_order_are_joined_by_duckdb(frames, tmp_path):
    shuffled = (frames[0], frames[1].sample(frac=1, random_state=2))
    first, second = scans_of(shuffled, tmp_path)
    expected = compare(*memory_of(frames))
    assert_same_comparison(first.comparative_summary(second), expected, "duckdb")


def test_swapped_scans_have_the_opposite_differences(frames, tmp_path):
    first, second = scans_of(frames, tmp_path)
    there, back = first.comparative_summary(second).frame, second.comparative_summary(first).frame
    pd.testing.assert_series_equal(there["difference"], -back["difference"], rtol=1e-12)
    pd.testing.assert_series_equal(there["pvalue"], back["pvalue"], rtol=1e-9)


def test_scans_without_a_common_query_are_refused(frames, tmp_path):
    other = frames[1].assign(query_id="x" + frames[1]["query_id"])
    first, second = scans_of((frames[0], other), tmp_path)
    with pytest.raises(AlignmentError, match="share no query id; ids of the first: 'q00000'"):
        first.comparative_summary(second)


def test_westfall_young_needs_the_scores(frames, tmp_path):
    first, second = scans_of(frames, tmp_path)
    with pytest.raises(DataError, match=r"needs every score in memory.*collect"):
        first.comparative_summary(second, correction="westfall-young")

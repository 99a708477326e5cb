"""Which queries two scans answer correctly is what the same tables in memory say."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import AlignmentError, DataError
from tests.evaluation.scanning.conftest import memory_of, scans_of, scores_frame, write_parquet

NAMES = ("bm25", "dense")


@pytest.fixture
def frames():
    first, second = scores_frame(), scores_frame(seed=1, shift=0.1)
    return first.drop(index=[3, 500]), second.drop(index=[8, 12, 13])


def ids_of(table):
    """The ids of each column in their order, which in memory is that of the rows."""
    return {name: sorted(table[name].dropna()) for name in table}


def assert_same_table(found, expected):
    assert ids_of(found) == ids_of(expected)
    assert list(found.columns) == list(expected.columns)
    assert found.attrs["n"] == expected.attrs["n"] == expected.notna().sum().to_dict()
    assert found.attrs["notes"] == expected.attrs["notes"]


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.parametrize(
    "correct",
    [
        None,
        ("recall@5", 0.6),
        {"recall@5": 0.4, "similarity": 0.5},
        lambda rows: rows["similarity"] > rows["latency_ms"] / 1000,
    ],
)
def test_the_table_of_scans_is_that_of_memory(frames, tmp_path, correct, engine):
    old, new = memory_of(frames)
    first, second = scans_of(frames, tmp_path, engine=engine)
    found = first.comparative_detailed_summary(second, correct)
    assert_same_table(found, old.comparative_detailed_summary(new, correct))
    assert found.attrs["engine"] == engine
    assert found["both_correct"].dropna().is_monotonic_increasing


def test_rules_of_the_scans_and_refusals_decide_as_in_memory(frames, tmp_path):
    rng = np.random.default_rng(3)
    refusing = [
        frame.assign(
            correct_refusal=rng.choice([0.0, 1.0, np.nan], len(frame), p=[0.1, 0.1, 0.8]),
            false_refusal=rng.choice([0.0, 1.0, np.nan], len(frame), p=[0.1, 0.1, 0.8]),
        )
        for frame in frames
    ]
    rules = [("recall@5", 0.6), ("similarity", 0.5)]
    for chosen in ([None, None], rules):
        old, new = (
            RAGPipelineEvaluation(name, frame, correct=rule)
            for name, frame, rule in zip(NAMES, refusing, chosen, strict=True)
        )
        first, second = (
            RAGPipelineEvaluation.scan(
                write_parquet(frame, tmp_path / f"{name}.parquet"), correct=rule
            )
            for name, frame, rule in zip(NAMES, refusing, chosen, strict=True)
        )
        expected = old.comparative_detailed_summary(new)
        assert_same_table(first.comparative_detailed_summary(second), expected)


def test_a_column_of_details_decides_as_in_memory(frames, tmp_path):
    labelled = [
        frame.assign(human_label=np.where(frame["recall@5"] > 0.5, "yes", "no")) for frame in frames
    ]
    old, new = memory_of(labelled)
    first, second = scans_of(labelled, tmp_path)
    expected = old.comparative_detailed_summary(new)
    assert "human_label" in expected.attrs["notes"][0]
    assert_same_table(first.comparative_detailed_summary(second), expected)


@pytest.mark.parametrize("k", [1, 7, 1000])
def test_the_first_ids_are_listed_and_all_are_in_the_file(frames, tmp_path, k):
    old, new = memory_of(frames)
    shuffled = [frame.sample(frac=1, random_state=4) for frame in frames]
    first, second = scans_of(shuffled, tmp_path)
    path = tmp_path / "answers.parquet"
    found = first.comparative_detailed_summary(second, k=k, path=path)
    expected = old.comparative_detailed_summary(new)
    assert found.attrs["n"] == expected.attrs["n"]
    for name, ids in ids_of(expected).items():
        assert found[name].dropna().tolist() == ids[:k]
    written = pd.read_parquet(path)
    assert written.columns.tolist() == ["query_id", "outcome"]
    by_outcome = written.groupby("outcome")["query_id"].apply(sorted).to_dict()
    assert by_outcome == ids_of(expected)


def test_errors_are_those_of_memory(frames, tmp_path):
    apart = [frames[0], frames[1].assign(query_id=frames[1]["query_id"] + "x")]
    bare = [frame.drop(columns="exact_match") for frame in frames]
    for number, (wrong, kind) in enumerate(((apart, AlignmentError), (bare, DataError))):
        old, new = memory_of(wrong)
        first, second = scans_of(wrong, tmp_path / str(number))
        with pytest.raises(kind) as expected:
            old.comparative_detailed_summary(new)
        with pytest.raises(kind) as found:
            first.comparative_detailed_summary(second)
        assert str(found.value) == str(expected.value)
    scan = scans_of(frames, tmp_path)[0]
    with pytest.raises(DataError, match="both runs are named 'bm25'"):
        scan.comparative_detailed_summary(scan)
    with pytest.raises(DataError, match="in memory"):
        scan.comparative_detailed_summary(memory_of(frames)[1])

"""Why queries of a scan fail is what the same table in memory says."""

import numpy as np
import pandas as pd
import pytest

from rageval_report.errors import DataError, UnknownNameError
from tests.evaluation.scanning.conftest import memory_of, scans_of

N = 600


def table(seed=0):
    rng = np.random.default_rng(seed)

    def binary(share, gaps=0.05):
        return np.where(rng.random(N) < gaps, np.nan, (rng.random(N) < share).astype(float))

    is_open = rng.random(N) < 0.9
    return pd.DataFrame(
        {
            "query_id": [f"q{number:04d}" for number in range(N)],
            "hit@5": np.where(is_open, binary(0.7), np.nan),
            "hit": np.where(is_open, binary(0.85), np.nan),
            "exact_match": np.where(is_open, binary(0.5), np.nan),
            "similarity": rng.random(N),
            "citation_hit": np.where(is_open, binary(0.8), np.nan),
            "false_refusal": np.where(is_open, binary(0.1), np.nan),
            "hallucinated_answer": np.where(is_open, np.nan, binary(0.4)),
            "question": [f"What is {number}?" for number in range(N)],
        }
    )


def without(*names):
    return table().drop(columns=list(names))


TABLES = {
    "all": table(),
    "no refusals": without("false_refusal", "hallucinated_answer"),
    "no whole ranking": without("hit", "citation_hit"),
    # The first part of the rows has no score that measures them.
    "late": table().assign(
        citation_hit=lambda rows: rows["citation_hit"].mask(rows.index < 300),
        false_refusal=lambda rows: rows["false_refusal"].mask(rows.index < 300),
    ),
}


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("correct", [None, ("similarity", 0.4)])
def test_the_causes_of_a_scan_are_those_of_memory(tmp_path, kind, engine, correct):
    [scan] = scans_of([TABLES[kind]], tmp_path, engine=engine, correct=correct)
    [evaluation] = memory_of([TABLES[kind]])
    evaluation = evaluation.with_correct(correct)
    found, expected = scan.breakdown(), evaluation.breakdown()
    pd.testing.assert_frame_equal(found.frame, expected.frame, check_exact=True)
    assert (found.title, found.notes) == (expected.title, expected.notes)
    assert found.settings == {**expected.settings, "engine": engine}
    answers, known = scan.retrieval_by_generation(), evaluation.retrieval_by_generation()
    pd.testing.assert_frame_equal(answers.frame, known.frame, check_exact=True)
    assert (answers.title, answers.notes) == (known.title, known.notes)
    assert answers.settings == {**known.settings, "engine": engine}


def test_the_level_and_the_number_of_results_count_as_in_memory(tmp_path):
    frame = table().assign(**{"recall@3": lambda rows: rows["hit"] * rows["hit@5"]})
    [scan], [evaluation] = scans_of([frame], tmp_path), memory_of([frame])
    for options in ({"k": 3}, {"confidence_level": 0.8}):
        found, expected = scan.breakdown(**options), evaluation.breakdown(**options)
        pd.testing.assert_frame_equal(found.frame, expected.frame, check_exact=True)
        assert found.settings == {**expected.settings, "engine": "stream"}


@pytest.mark.parametrize("cause", ["retrieval", "ranking", "generation", "over-refusal", "fine"])
def test_failures_of_a_cause_are_those_of_memory(tmp_path, cause):
    [scan], [evaluation] = scans_of([table()], tmp_path), memory_of([table()])
    path = tmp_path / "all.parquet"
    found = scan.failures("similarity", 0.7, cause=cause, path=path)
    expected = evaluation.failures("similarity", 0.7, cause=cause)
    pd.testing.assert_frame_equal(found.frame, expected.frame)
    assert found.notes == expected.notes
    assert len(pd.read_parquet(path)) == len(expected.frame)
    few = [*evaluation.scores.index[:200]]
    named = scan.failures("similarity", 0.7, cause=cause, query_ids=few)
    assert named.notes == evaluation.failures("similarity", 0.7, cause=cause, query_ids=few).notes


def test_what_is_missing_is_said_as_in_memory(tmp_path):
    frames = [without("hit@5"), without("exact_match"), table()]
    calls = [
        lambda run: run.breakdown(),
        lambda run: run.retrieval_by_generation(),
        lambda run: run.failures("similarity", 0.5, cause="retrieva"),
    ]
    for scan, evaluation in zip(scans_of(frames, tmp_path), memory_of(frames), strict=True):
        for call in calls:
            answers = []
            for run in (scan, evaluation):
                try:
                    answers.append(len(call(run).frame))
                except (DataError, UnknownNameError) as exc:
                    answers.append(str(exc))
            assert answers[0] == answers[1]

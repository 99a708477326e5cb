"""Rows of equal ids are those that pandas' index finds, whatever the buckets are."""

import numpy as np
import pandas as pd
import pyarrow
import pytest

from rageval_report.scale import id_matches
from rageval_report.scale.id_matches import ABSENT, match_ids
from rageval_report.scores import fingerprints

LITTLE, MUCH = 1000, 10**9


@pytest.fixture
def shuffled(frames):
    """Two tables with most queries in common, each in an order of its own."""
    return [frame.sample(frac=1, random_state=seed) for seed, frame in enumerate(frames)]


@pytest.mark.parametrize("rows_of_bucket", [20, 1 << 20])
@pytest.mark.parametrize("most_bytes", [LITTLE, MUCH])
def test_rows_are_those_of_an_index(
    shuffled, make_table, tmp_path, monkeypatch, rows_of_bucket, most_bytes
):
    monkeypatch.setattr(id_matches, "_ROWS_OF_BUCKET", rows_of_bucket)
    tables = [make_table(frame, name) for frame, name in zip(shuffled, "ab", strict=True)]
    matches = match_ids(*tables, tmp_path, most_bytes)
    first, second = (pd.Index(frame["query_id"]) for frame in shuffled)
    targets = [matches.targets.take(n) for n in (0, 7, len(second))]
    assert np.concatenate(targets).tolist() == first.get_indexer(second).tolist()
    assert len(matches.targets.take(1)) == 0
    assert matches.n_common == len(first.intersection(second))
    assert (matches.n_before, matches.n_after) == (len(first), len(second))
    assert not matches.has_repeats


def test_equal_ids_have_equal_sums_in_any_order(frames, make_table, tmp_path):
    again = frames[0].sample(frac=1, random_state=1)
    tables = make_table(frames[0], "a"), make_table(again, "b")
    first, second = match_ids(*tables, tmp_path, MUCH).other_sums
    assert (first - second) % 2**64 == 0
    other = match_ids(tables[0], make_table(frames[1], "c"), tmp_path, MUCH).other_sums
    assert (other[0] - other[1]) % 2**64 != 0


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("n_times", [2, 3])
def test_an_id_that_occurs_twice_is_seen(shuffled, make_table, tmp_path, side, n_times):
    ids = shuffled[side]["query_id"].to_numpy(copy=True)
    ids[:n_times] = ids[5]
    shuffled[side] = shuffled[side].assign(query_id=ids)
    tables = [make_table(frame, name) for frame, name in zip(shuffled, "ab", strict=True)]
    assert match_ids(*tables, tmp_path, MUCH).has_repeats


def test_fingerprints_with_equal_first_bits_are_told_apart():
    """Their last bits make room for their places: seven numbers need three bits."""
    prints = np.array([16, 17, 40, 16, 18, 40, 17], dtype=np.uint64)
    lower, upper = id_matches._equal_neighbours(prints, 0)
    assert sorted(zip(lower.tolist(), upper.tolist(), strict=True)) == [(0, 3), (1, 6), (2, 5)]


def test_no_rows_match_nothing(frames, make_table, tmp_path):
    tables = make_table(frames[0][:0], "a"), make_table(frames[1], "b")
    matches = match_ids(*tables, tmp_path, MUCH)
    assert set(matches.targets.take(len(frames[1])).tolist()) == {ABSENT}
    assert matches.n_common == 0


def test_the_second_sum_tells_texts_of_equal_fingerprints_apart(monkeypatch):
    """With a first multiplier of 0 all texts of a length are alike; the sums still differ."""
    texts = pyarrow.array(["q1", "q2"]), pyarrow.array(["q1", "q3"])
    monkeypatch.setattr(fingerprints, "_MULTIPLIER", np.uint64(0))
    first, second = (fingerprints.fingerprints_and_sum(each) for each in texts)
    assert first[0].tolist() == second[0].tolist()
    assert first[1] != second[1]

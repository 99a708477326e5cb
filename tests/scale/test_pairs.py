"""Two tables side by side by id, read part by part; pandas' merge is the second witness."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rageval_report.scale import unique_ids
from rageval_report.scale.id_order import IdOrder, sort_key
from rageval_report.scale.pairs import (
    CommonIds,
    UnorderedIdsError,
    match_rows,
    ordered_pairs,
    rows_in_same_order,
)
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scale.unique_ids import Fingerprints, repeated_ids

METRICS = (("recall",), ("recall",))


def rows_of(ids):
    values = np.array([float(query_id[1:]) for query_id in ids])
    return ScoreRows({"recall": values}, pa.array(ids, pa.large_string()))


def parts_of(ids, sizes):
    first = 0
    for size in sizes:
        yield rows_of(ids[first : first + size])
        first += size
    yield rows_of(ids[first:])


def drawn_ids(rng, n, order):
    numbers = np.flatnonzero(rng.random(n) < 0.8)
    return sorted((f"q{number}" for number in numbers), key=sort_key(order))


@pytest.mark.parametrize("order", ["text", "length"])
@pytest.mark.parametrize("seed", range(8))
def test_pairs_are_those_of_merge(order, seed):
    rng = np.random.default_rng(seed)
    first, second = drawn_ids(rng, 300, order), drawn_ids(rng, 320, order)
    parts = [parts_of(ids, rng.integers(0, 60, 4)) for ids in (first, second)]
    pairs = list(ordered_pairs(("a", "b"), *parts, METRICS, order))
    common = [query_id for part in pairs for query_id in part.before.ids.to_pylist()]
    expected = pd.DataFrame({"id": first}).merge(pd.DataFrame({"id": second}))["id"]
    assert sorted(common) == sorted(expected)
    for part in pairs:
        assert part.before.ids.equals(part.after.ids)
        assert part.before.scores["recall"].tolist() == part.after.scores["recall"].tolist()
    counts = [CommonIds.of(part) for part in pairs]
    total = counts[0]
    for count in counts[1:]:
        total += count
    assert total.n_common == len(expected)
    assert total.n_only_before == len(set(first) - set(second))
    assert total.n_only_after == len(set(second) - set(first))
    assert set(total.only_before) <= set(first) - set(second)
    assert len(total.only_after) == min(5, total.n_only_after)


@pytest.mark.parametrize("ids", [["q2", "q1"], ["q1", "q1"], ["q1", "q3", "q2"]])
def test_ids_out_of_order_are_refused(ids):
    sides = [iter([rows_of(ids[:1]), rows_of(ids[1:])]), iter([rows_of(["q1", "q2"])])]
    with pytest.raises(UnorderedIdsError, match="'a' are not in order"):
        list(ordered_pairs(("a", "b"), *sides, METRICS, "text"))


def test_rows_in_the_same_order_need_no_sorted_ids():
    ids = ["q9", "q1", "q5", "q2"]
    pairs = list(rows_in_same_order(("a", "b"), parts_of(ids, [1, 2]), parts_of(ids, [3])))
    assert [query_id for part in pairs for query_id in part.after.ids.to_pylist()] == ids


@pytest.mark.parametrize("other", [["q9", "q1"], ["q9", "q5", "q1"], ["q9", "q1", "q5", "q2"]])
def test_another_order_is_refused(other):
    with pytest.raises(UnorderedIdsError, match="neither sorted nor in the same order"):
        list(rows_in_same_order(("a", "b"), parts_of(["q9", "q1", "q5"], []), parts_of(other, [])))


def test_parts_are_matched_in_any_order():
    pair = match_rows(rows_of(["q3", "q1", "q7"]), rows_of(["q1", "q2", "q3"]))
    assert pair.before.ids.to_pylist() == ["q3", "q1"] == pair.after.ids.to_pylist()
    assert pair.after.scores["recall"].tolist() == [3.0, 1.0]
    assert pair.only_before.ids.to_pylist() == ["q7"]
    assert pair.only_after.ids.to_pylist() == ["q2"]


@pytest.mark.parametrize(
    ("ids", "orders"),
    [
        (["a", "b"], {"text", "length"}),
        (["q10", "q9"], {"text"}),
        (["q9", "q10"], {"length"}),
        (["b", "a"], set()),
        (["a", "a"], set()),
        ([], {"text", "length"}),
        # "é" has two bytes in UTF-8, "z" has one: in text "z" goes first by code point.
        (["z", "é"], {"text", "length"}),
    ],
)
def test_orders_of_ids(ids, orders):
    assert IdOrder.of(pa.array(ids, pa.large_string())).orders == orders


@pytest.mark.parametrize("cut", range(6))
def test_orders_of_parts_are_those_of_the_whole(cut):
    for ids in (["q1", "q2", "q3", "q10", "q11"], ["q1", "q10", "q2", "q3", "q4"], list("edcba")):
        whole = IdOrder.of(pa.array(ids, pa.large_string()))
        parts = [IdOrder.of(pa.array(part, pa.large_string())) for part in (ids[:cut], ids[cut:])]
        assert parts[0] + parts[1] == whole


@pytest.mark.parametrize("held_in_memory", [300, 1500, 10_000])
def test_repeated_ids_are_found_across_parts(monkeypatch, held_in_memory):
    monkeypatch.setattr(unique_ids, "_WRITTEN_AT_ONCE", held_in_memory)
    rng = np.random.default_rng(0)
    ids = [f"{'long ' * (number % 90)}q{number}" for number in rng.permutation(5000)]
    ids[4999] = ids[3]
    ids[17] = ids[2500]
    parts = [pa.array(ids[first : first + 700], pa.large_string()) for first in range(0, 5000, 700)]
    assert set(repeated_ids(lambda: iter(parts))) == {ids[3], ids[17]}
    assert repeated_ids(lambda: iter(parts[:1])) == []
    with Fingerprints() as prints:
        for part in parts:
            prints.add(part)
        assert prints.repeated().tolist() == prints.repeated().tolist()
        assert len(prints.repeated()) == 2

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.scores.align import align

IDS = st.lists(st.text(max_size=12), unique=True, max_size=30)


def test_rows_are_paired_by_id_in_the_order_of_the_baseline():
    pair = align(pd.Index(["a", "b", "c", "d"]), pd.Index(["d", "x", "a", "c"]))
    assert pair.ids.tolist() == ["a", "c", "d"]
    assert pair.baseline_rows.tolist() == [0, 2, 3]
    assert pair.candidate_rows.tolist() == [2, 3, 0]
    assert pair.only_baseline.tolist() == ["b"]
    assert pair.only_candidate.tolist() == ["x"]


def test_the_columns_of_both_come_in_the_same_order():
    pair = align(pd.Index(["a", "b", "c"]), pd.Index(["c", "x", "a"]))
    assert pair.baseline(pd.Series([1.0, 2.0, 3.0])).tolist() == [1.0, 3.0]
    assert pair.candidate(pd.Series([30.0, 0.0, 10.0])).tolist() == [10.0, 30.0]


@pytest.mark.parametrize("dtype", ["str", "string", "object", "category"])
@pytest.mark.parametrize("other", ["str", "string", "object", "category"])
def test_ids_are_paired_whatever_pandas_keeps_them_in(dtype, other):
    pair = align(pd.Index(["a", "b"], dtype=dtype), pd.Index(["b", "c", "a"], dtype=other))
    assert pair.candidate_rows.tolist() == [2, 0]


@given(IDS, IDS)
@settings(max_examples=60)
def test_a_pairing_is_an_inner_join_that_loses_nothing(ours, theirs):
    pair = align(pd.Index(ours, dtype="str"), pd.Index(theirs, dtype="str"))
    assert pair.ids.tolist() == [one for one in ours if one in theirs]
    assert pair.only_baseline.tolist() == [one for one in ours if one not in theirs]
    assert pair.only_candidate.tolist() == [one for one in theirs if one not in ours]
    column = pd.Series(range(len(theirs)), index=theirs)
    assert pair.candidate(column).tolist() == [theirs.index(one) for one in pair.ids]

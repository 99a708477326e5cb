"""Tables one below the other: no cell changes, whatever is blank in one of them."""

import pandas as pd
import pytest

from rageval_report.records.table import concatenate_rows


def table(ids, **columns):
    return pd.DataFrame(columns, index=pd.Index(ids, name="query_id"))


@pytest.mark.parametrize(
    ("upper", "lower"),
    [
        ([None, None], [0.5, 1.5]),
        ([None, None], [1, 2]),
        ([None, None], [True, False]),
        ([None, None], list(pd.to_datetime(["2026-01-01", "2026-01-02"]))),
        (["a", "b"], [0.5, 1.5]),
        ([1, 2], [True, False]),
    ],
    ids=["floats", "integers", "booleans", "dates", "texts", "numbers and booleans"],
)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_each_cell_is_as_it_was_in_its_table(upper, lower, is_swapped):
    first, second = (lower, upper) if is_swapped else (upper, lower)
    whole = concatenate_rows([table(["q1", "q2"], x=first), table(["q3", "q4"], x=second)])
    assert whole["x"].tolist() == [*first, *second]
    assert [type(cell) for cell in whole["x"]] == [type(cell) for cell in [*first, *second]]


def test_the_ids_keep_their_type_and_their_name():
    whole = concatenate_rows([table(["q1"], x=[1]), table(["q2"], x=[2])])
    assert whole.index.tolist() == ["q1", "q2"]
    assert whole.index.dtype == object
    assert whole.index.name == "query_id"

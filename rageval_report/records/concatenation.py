"""Tables of records, one below the other."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import pandas as pd


def concatenate_rows(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all tables; the ids keep their type, which pandas changes on the way.

    Parameters
    ----------
    tables : iterable of DataFrame
        At least one, with the ids of the queries as index. A table without a column is blank there.

    Returns
    -------
    DataFrame
        A column that has numbers in one table and other objects in another has dtype object.

    Examples
    --------
    >>> blank = pd.DataFrame({"year": [None]}, index=["q1"])
    >>> concatenate_rows([blank, pd.DataFrame({"year": [2001]}, index=["q2"])])["year"].tolist()
    [None, 2001]
    """
    parts = list(tables)
    # pandas 2 ignores a part that is blank when it chooses the type, and warns of it; pandas 3 does
    # not ignore it.
    mixed = _mixed_columns(parts)
    table = pd.concat(
        [part.astype(dict.fromkeys(mixed & {*part.columns}, object)) for part in parts]
        if mixed
        else parts
    )
    return table.set_axis(table.index.astype(object))


def _mixed_columns(tables: list[pd.DataFrame]) -> set[Hashable]:
    """The columns whose cells are numbers in one table and not in another."""
    kinds: dict[Hashable, set[str]] = {}
    for table in tables:
        for name, dtype in table.dtypes.items():
            kinds.setdefault(name, set()).add("number" if dtype.kind in "iuf" else dtype.kind)
    return {name for name, kinds_of_column in kinds.items() if len(kinds_of_column) > 1}

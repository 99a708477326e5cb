"""The role of one column, and the roles that a caller states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import pandas as pd

from rageval_report.errors import DataError, UnknownNameError, check_choice

Role = Literal["id", "pipeline", "metric", "detail", "state", "reason", "weight"]
ROLES: tuple[Role, ...] = get_args(Role)

Confidence = Literal["certain", "likely", "doubtful"]

# The roles that a caller states, by column.
Roles = Mapping[str, Role]


@dataclass(frozen=True, slots=True)
class ColumnRole:
    """What a column of a table is, and why.

    Parameters
    ----------
    column : str
        The name of the column in the file.
    role : {"id", "pipeline", "metric", "detail", "state", "reason", "weight"}
        What it is taken for.
    confidence : {"certain", "likely", "doubtful"}
        "certain" if the caller, the format or a known name says so; "likely" if the name or the
        cells suggest it; "doubtful" if another reading is as good.
    why : str
        The reason, to be read after a colon.
    """

    column: str
    role: Role
    confidence: Confidence
    why: str


def check_roles(roles: Roles | None, columns: Iterable[str]) -> dict[str, Role]:
    """The roles that the caller states, each of a column of the table.

    Raises
    ------
    DataError
        If `roles` is not a mapping, a role has another name, or two columns are ids.
    UnknownNameError
        If the table has no such column.

    Examples
    --------
    >>> check_roles({"model": "pipeline"}, ["model", "recall"])
    {'model': 'pipeline'}
    """
    if roles is None:
        return {}
    if not isinstance(roles, Mapping):
        raise DataError(
            "roles must be a mapping of columns to roles, such as {'model': 'pipeline'}; got "
            f"{roles!r}"
        )
    present = list(columns)
    for column, role in roles.items():
        if column not in present:
            raise UnknownNameError("column", str(column), present)
        check_choice(f"roles: the role of {column!r}", role, ROLES)
    ids = [column for column, role in roles.items() if role == "id"]
    if len(ids) > 1:
        raise DataError(
            f"roles: one column holds the query ids; got {ids[0]!r} and {ids[1]!r} as 'id'"
        )
    return dict(roles)


def columns_with_role(roles: Roles | None, role: Role) -> list[str]:
    """The columns that the caller gives a role.

    Examples
    --------
    >>> columns_with_role({"model": "pipeline", "k": "detail"}, "detail")
    ['k']
    """
    return [column for column, stated in (roles or {}).items() if stated == role]


_PLURALS = {"id": "ids", "detail": "details", "metric": "metrics"}


def count_roles(roles: Iterable[ColumnRole]) -> str:
    """How many columns became what, in one sentence; empty without columns.

    Examples
    --------
    >>> count_roles([
    ...     ColumnRole("qid", "id", "certain", "its name"),
    ...     ColumnRole("recall", "metric", "certain", "a known metric"),
    ...     ColumnRole("my_score", "metric", "likely", "it holds numbers"),
    ... ])
    "3 columns: 1 id, 2 metrics ('my_score' by its cells only)"
    """
    listed = list(roles)
    if not listed:
        return ""
    counts = Counter(role.role for role in listed)
    parts = [
        f"{counts[role]} {role if counts[role] == 1 else _PLURALS.get(role, f'{role}s')}"
        + (_guesses(listed) if role == "metric" else "")
        for role in ROLES
        if counts[role]
    ]
    noun = "column" if len(listed) == 1 else "columns"
    return f"{len(listed)} {noun}: {', '.join(parts)}"


def _guesses(roles: Iterable[ColumnRole]) -> str:
    """The metrics that nothing but their cells shows to be metrics."""
    guessed = [
        repr(role.column)
        for role in roles
        if role.role == "metric" and role.confidence != "certain"
    ]
    if not guessed:
        return ""
    more = f" and {len(guessed) - 5} more" if len(guessed) > 5 else ""
    return (
        f" ({', '.join(guessed[:5])}{more} by {'its' if len(guessed) == 1 else 'their'} cells only)"
    )


def roles_frame(roles: Iterable[ColumnRole]) -> pd.DataFrame:
    """The roles as a table: column, role, confidence, why."""
    return pd.DataFrame(
        [(role.column, role.role, role.confidence, role.why) for role in roles],
        columns=["column", "role", "confidence", "why"],
    )

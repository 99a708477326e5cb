"""Answers in which the value of an environment variable was replaced by stars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rageval_report.errors import named
from rageval_report.scores.guard import Doubt

HIDDEN_VALUES = "hidden_values"


def doubts_about_hidden(entries: Iterable[Mapping[str, Any]]) -> Iterator[Doubt]:
    """A doubt if answers contained the value of a variable that the settings name as ``${NAME}``.

    Such a value is taken for a key, and replaced by stars. If it is no secret, for example the
    name of a team, the answers were changed, and their scores too.

    Parameters
    ----------
    entries : iterable of mapping
        The entries of the journal.

    Examples
    --------
    >>> entries = [{"query_id": "a"}, {"query_id": "b", "hidden_values": ["TEAM"]}]
    >>> [doubt] = doubts_about_hidden(entries)
    >>> print(doubt.message)
    1 of 2 replies contains what the environment variable TEAM holds, and was scored with *** in \
its place: 'b'
    """
    variables: set[str] = set()
    n, ids = 0, []
    for entry in entries:
        n += 1
        hidden = entry.get(HIDDEN_VALUES)
        if hidden:
            ids.append(str(entry.get("query_id")))
            variables.update(map(str, hidden))
    if not ids:
        return
    contains = "contains" if len(ids) == 1 else "contain"
    was = "was" if len(ids) == 1 else "were"
    what = "variable" if len(variables) == 1 else "variables"
    holds = "holds" if len(variables) == 1 else "hold"
    yield Doubt(
        HIDDEN_VALUES,
        f"{len(ids)} of {n} replies {contains} what the environment {what} "
        f"{' and '.join(sorted(variables))} {holds}, and {was} scored with *** in its place: "
        f"{named(ids)}",
        "If it is a secret, the pipeline shows it to its users. If it is not, write the value "
        "itself in the settings, without ${...}, and ask again in another folder",
        tuple(ids[:5]),
    )

"""The first answers of a run, checked while the rest is still to be asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rageval_report.runner.query_source import Query
from rageval_report.runner.reply_keys import MOST_REPLIES, SampledReply, doubts_about_replies
from rageval_report.scores.guard import Doubt

# So many answers show the form of the ids; a chance in fewer could stop a run that is right.
FIRST_ANSWERS = 20

# Takes the records of the first answers, and the doubts about the keys of the replies.
CheckFirst = Callable[[Sequence[dict[str, Any]], Sequence[Doubt]], None]


@dataclass
class FirstAnswers:
    """Collects the first records with an answer, and checks them once there are enough.

    Parameters
    ----------
    check : callable
        Is called once; what it raises ends the run, whose answers are kept.
    samples : list of SampledReply
        The replies whose keys are looked at.
    n : int
        The number of answers that are enough.

    Examples
    --------
    >>> first = FirstAnswers(lambda records, doubts: print(len(records), list(doubts)), [], n=2)
    >>> for name in "abc":
    ...     first.add(Query(0, name, "Why?", {}), {"answer": "So."})
    2 []
    """

    check: CheckFirst
    samples: list[SampledReply]
    n: int = FIRST_ANSWERS
    _records: list[dict[str, Any]] = field(default_factory=list)
    _has_seen_ids: bool = False
    _has_seen_keys: bool = False

    def add(self, query: Query, entry: Mapping[str, Any]) -> None:
        """Add the entry of a query, unless it failed or enough are there, and check them.

        Raises
        ------
        DataError
            Whatever the check raises.
        """
        if (self._has_seen_ids and self._has_seen_keys) or "error" in entry:
            return
        if len(self._records) < self.n:
            self._records.append({**query.kept_fields(), **entry})
        # Answers of an earlier part of the run have no replies: their keys are seen a little later.
        has_replies = len(self.samples) >= min(self.n, MOST_REPLIES)
        is_enough = len(self._records) >= self.n
        if is_enough and (not self._has_seen_ids or (has_replies and not self._has_seen_keys)):
            self._has_seen_ids, self._has_seen_keys = True, has_replies
            names = {name for record in self._records for name in record}
            self.check(self._records, doubts_about_replies(self.samples, names))

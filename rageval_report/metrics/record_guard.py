"""The guard of an evaluation that is computed from records: doubts before a number is printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import pandas as pd

from rageval_report.errors import named
from rageval_report.metrics.record_scores import VIEWS, Tools, computable, prepare_records
from rageval_report.records.id_search import QueryIds, doubts_about_ids
from rageval_report.records.levels import sections_in
from rageval_report.scores.catalogue.dialects import Dialect
from rageval_report.scores.guard import Doubt
from rageval_report.scores.states import ERROR

if TYPE_CHECKING:
    from rageval_report.judges import Rubric

# As for rankings: half of the answers are no exception any more, and a few may be alike.
_MOST_EMPTY = 0.5
_FEWEST_EMPTY = 2
_FEWEST_ALIKE = 10
_LONGEST = 60


def needed_fields(
    metrics: Iterable[str], rubrics: Iterable[Rubric] = (), dialect: Dialect | None = None
) -> frozenset[str]:
    """The fields of the records that metrics and rubrics are computed from."""
    names = list(metrics)
    needs = {metric.needs for metric in computable(names, dialect).values()} if names else set()
    fields = (VIEWS[need].fields for need in needs)
    return frozenset(chain(*fields, *(rubric.needs for rubric in rubrics)))


def doubts_about_records(
    records: pd.DataFrame,
    needed: Collection[str] = ("retrieved", "answer"),
    tools: Tools | None = None,
) -> list[Doubt]:
    """The doubts that records raise, before anything is computed from them."""
    usable = _usable_records(records)
    has_ids = not {"retrieved", "citations"}.isdisjoint(needed)
    doubts = doubts_about_ids(ids_of_records(usable, tools)) if has_ids else []
    if "answer" in needed:
        doubts += [doubt for check in ANSWER_CHECKS.values() for doubt in check(usable)]
    return doubts


def _usable_records(records: pd.DataFrame) -> pd.DataFrame:
    """The records of queries that could be answered and did not fail; others are no evidence."""
    is_left_out = pd.Series(data=False, index=records.index)
    if ERROR in records:
        is_left_out |= records[ERROR].notna()
    if "answerable" in records:
        is_left_out |= records["answerable"].eq(False).fillna(value=False).astype(bool)
    return records[~is_left_out]


def ids_of_records(records: pd.DataFrame, tools: Tools | None = None) -> list[QueryIds]:
    """The relevant and the retrieved ids of the records whose ranking is known."""
    if "retrieved" not in records:
        return []
    if tools is not None and tools.level != "auto":
        # Passages with two ids are compared at the level that was asked for.
        records = prepare_records(records, {"rankings"}, tools).tables.get("rankings", records)
    gold = records["relevant"] if "relevant" in records else [None] * len(records)
    rows = zip(records.index, gold, sections_in(records, "retrieved"), strict=True)
    return [
        QueryIds(
            str(query_id),
            tuple(name for name, grade in (grades or {}).items() if grade > 0),
            # Of two ids, either may be the one that the gold has.
            tuple(dict.fromkeys(name for pair in passages for name in reversed(pair) if name)),
        )
        for query_id, grades, passages in rows
        if passages is not None
    ]


def find_empty_answers(records: pd.DataFrame) -> Iterator[Doubt]:
    """A doubt if most answers are empty."""
    if "answer" not in records:
        return
    empty = [
        str(query_id)
        for query_id, answer in records["answer"].items()
        if not isinstance(answer, str) or not answer.strip()
    ]
    if len(empty) >= max(_FEWEST_EMPTY, _MOST_EMPTY * len(records)):
        yield Doubt(
            "no_answer",
            f"{len(empty)} of {len(records)} answers are empty: {named(empty)}",
            "Check where the replies have the answer: rename that column to answer (on the command "
            "line: --path answer=PATH, such as answer=choices.0.message.content)",
            tuple(empty[:5]),
        )


def find_equal_answers(records: pd.DataFrame) -> Iterator[Doubt]:
    """A doubt if every question got the same answer."""
    if "answer" not in records or len(records) < _FEWEST_ALIKE:
        return
    answers = [answer.strip() for answer in records["answer"] if isinstance(answer, str)]
    if len(answers) < _FEWEST_ALIKE:
        return
    (answer, n), *_ = Counter(answers).most_common(1)
    if answer and n == len(answers):
        yield Doubt(
            "same_answer",
            f"all {n} questions got the same answer, {answer[:_LONGEST]!r}",
            "It may be a message of the server, or the pipeline may not get the question: look at "
            'what is sent to it, body={"question": "{question}"} (on the command line: --body '
            "JSON)",
            tuple(map(str, records.index[:5])),
        )


ANSWER_CHECKS: dict[str, Callable[[pd.DataFrame], Iterator[Doubt]]] = {
    "no_answer": find_empty_answers,
    "same_answer": find_equal_answers,
}

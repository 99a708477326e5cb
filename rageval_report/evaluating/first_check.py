"""eval --strict: the guard over the first answers, so that a wrong run does not ask everything.

Only doubts count that more answers cannot remove: paths past what the replies have, and ids whose
forms differ. All others, such as a metric that is 0 so far, wait for the end of the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from rageval_report.errors import DataError
from rageval_report.evaluating.config import EvalConfig
from rageval_report.evaluating.default_metrics import allowed_metrics
from rageval_report.evaluating.scoring import ScoringPlan, tools_of
from rageval_report.metrics.record_guard import ids_of_records, needed_fields
from rageval_report.records import record_table
from rageval_report.records.id_changes import match_record_ids
from rageval_report.records.id_search import QueryIds, doubts_about_ids
from rageval_report.runner.first_answers import FIRST_ANSWERS, CheckFirst
from rageval_report.scores.catalogue.dialects import dialect_of_name
from rageval_report.scores.guard import Doubt, notes_with_doubts

# One id in two forms, or several in one text, stay so whatever else is retrieved.
_OF_FORMS = ("ids_differ", "joined_ids")
_STRANGE = "ids_never_meet"
_FIELDS = frozenset(("retrieved", "citations"))

_DIGITS, _LETTERS = re.compile(r"\d+"), re.compile(r"[^\W\d_]+")


class FirstAnswersError(DataError):
    """With --strict, the first answers raise a doubt that more answers cannot remove."""


def first_check(config: EvalConfig, plan: ScoringPlan) -> CheckFirst | None:
    """The check of the first answers; None without ``strict``.

    Parameters
    ----------
    config : EvalConfig
        The settings.
    plan : ScoringPlan
        What is computed and judged.
    """
    if not config.strict:
        return None

    def check(rows: Sequence[dict[str, Any]], doubts: Sequence[Doubt]) -> None:
        every = [*doubts, *lasting_doubts(rows, config, plan)]
        where = f"after {FIRST_ANSWERS} answers, and before the others are asked: "
        try:
            notes_with_doubts((), every, strict=True, allow=config.allow, where=where)
        except DataError as exc:
            raise FirstAnswersError(str(exc)) from exc

    return check


def lasting_doubts(
    rows: Sequence[dict[str, Any]], config: EvalConfig, plan: ScoringPlan
) -> list[Doubt]:
    """The doubts about the ids of some records that more records cannot remove.

    Parameters
    ----------
    rows : sequence of dict
        Records with answers.
    config : EvalConfig
        The settings.
    plan : ScoringPlan
        What is computed and judged.
    """
    try:
        records = record_table(rows, unretrieved_citations="keep", unplaced_gold="drop")
        if config.match_ids:
            records, _ = match_record_ids(records, config.match_ids)
    except DataError:  # what is wrong with a record is said when all are scored
        return []
    if _FIELDS.isdisjoint(_needed_fields(records, config, plan)):
        return []
    queries = ids_of_records(records, tools_of(config))
    # An id that is found as it is shows that the forms may be the same.
    if any(not set(query.gold).isdisjoint(query.retrieved) for query in queries):
        return []
    return [doubt for doubt in doubts_about_ids(queries) if _is_lasting(doubt, queries)]


def _needed_fields(records: pd.DataFrame, config: EvalConfig, plan: ScoringPlan) -> frozenset[str]:
    """The fields that scores are computed from; without named metrics, those of the usual ones."""
    computed = plan.computed or allowed_metrics(records, config.groups, config.dialect)
    return needed_fields(computed, plan.rubrics, dialect_of_name(config.dialect))


def _is_lasting(doubt: Doubt, queries: Sequence[QueryIds]) -> bool:
    if doubt.check in _OF_FORMS:
        return True
    if doubt.check != _STRANGE:
        return False
    gold = set(_forms(name for query in queries for name in query.gold))
    # Ids of one form that did not meet may meet later: the pipeline may just be weak.
    return gold.isdisjoint(_forms(name for query in queries for name in query.retrieved))


def _forms(names: Iterable[str]) -> Iterator[str]:
    """The form of each id: its punctuation, with one "0" for digits and one "a" for letters.

    Examples
    --------
    >>> list(_forms(["doc-12", "MED-10", "12", "a.md"]))
    ['a-0', 'a-0', '0', 'a.a']
    """
    return (_LETTERS.sub("a", _DIGITS.sub("0", name)) for name in names)

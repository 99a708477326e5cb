"""What is settled before records are scored: the level of ids, repeats, and questions without gold.

The same rules hold for every way of scoring records, in one table or in many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.metrics.views import Tools
from rageval_report.rankings.inputs import DuplicateDocs
from rageval_report.rankings.score_tables import (
    NO_RELEVANT_REASON,
    note_on_no_relevant,
)
from rageval_report.records.levels import (
    LevelChoice,
    LevelCounts,
    PassageField,
    choose_level,
    count_levels,
    records_at_level,
)
from rageval_report.records.table import note_of_table
from rageval_report.types import BoolArray

# The views that compare passages with gold, and the field of their passages.
PASSAGE_VIEWS: dict[str, PassageField] = {"rankings": "retrieved", "citations": "citations"}

_NO_REFERENCE_REASON = "the question has no answer, so there is no reference for one"
_UNANSWERABLE_REASON = "the question has no answer, so nothing is relevant to it"


@dataclass(frozen=True)
class RetrievalFacts:
    """What was settled and what was counted while records were scored; facts can be added up.

    Parameters
    ----------
    n : int
        The number of queries.
    without_gold : tuple of str
        The queries without relevant documents, and those that have no answer.
    n_repeats : int
        How many passages were retrieved again for the same query.
    levels : dict of str to LevelCounts
        By view, at which levels gold and passages have ids.
    id_notes : tuple of str
        Where within the passages their ids were read.
    """

    n: int = 0
    without_gold: tuple[str, ...] = ()
    n_repeats: int = 0
    levels: Mapping[str, LevelCounts] = field(default_factory=dict)
    id_notes: tuple[str, ...] = ()

    def __add__(self, other: RetrievalFacts) -> RetrievalFacts:
        views = {**self.levels, **other.levels}
        return RetrievalFacts(
            self.n + other.n,
            (*self.without_gold, *other.without_gold),
            self.n_repeats + other.n_repeats,
            {
                view: self.levels.get(view, LevelCounts()) + other.levels.get(view, LevelCounts())
                for view in views
            },
            tuple(dict.fromkeys((*self.id_notes, *other.id_notes))),
        )

    def choices(self, tools: Tools) -> dict[str, LevelChoice]:
        """The level of each view."""
        return {
            view: choose_level(counts, tools.level, PASSAGE_VIEWS[view])
            for view, counts in self.levels.items()
        }

    def settings(self, tools: Tools) -> dict[str, Any]:
        """The settings that can move a number; empty if no passages are compared with gold."""
        choices = self.choices(tools)
        levels = {view: choice.level or "ids as they are" for view, choice in choices.items()}
        if not levels:
            return {}
        settings: dict[str, Any] = {"level": " and ".join(dict.fromkeys(levels.values()))}
        if "rankings" in choices:
            settings["duplicates"] = duplicates_rule(tools.duplicates, choices["rankings"])
            settings["no_relevant"] = tools.no_relevant
        return settings

    def notes(self, tools: Tools) -> tuple[str, ...]:
        """Notes on ids, on the level, on repeats and on questions without gold."""
        choices = self.choices(tools)
        notes = [*self.id_notes, *(choice.note for choice in choices.values())]
        if self.n_repeats:
            rule = duplicates_rule(tools.duplicates, choices["rankings"])
            notes.append(_note_on_repeats(self.n_repeats, rule, choices["rankings"]))
        if self.without_gold and choices:
            notes.append(note_on_no_relevant(self.without_gold, self.n, tools.no_relevant))
        return tuple(note for note in notes if note)


def _note_on_repeats(n: int, rule: DuplicateDocs, choice: LevelChoice) -> str:
    what = ("chunk of a document", "chunks of documents") if choice.level == "document" else (
        "passage", "passages")  # fmt: skip
    repeats = f"1 {what[0]} repeats an id" if n == 1 else f"{n} {what[1]} repeat ids"
    ranks = "the repeats keep their ranks"
    if rule == "best":
        ranks = 'the ranks below close up; with duplicates="keep" the repeats keep their ranks'
    return f"duplicates: {repeats} of the same ranking and do not count again; {ranks}"


def duplicates_rule(duplicates: DuplicateDocs | None, choice: LevelChoice) -> DuplicateDocs:
    """What is done with a passage that was retrieved twice.

    Examples
    --------
    >>> duplicates_rule(None, LevelChoice("document", has_both=True))
    'best'
    """
    if duplicates is not None:
        return duplicates
    # Several chunks of one document are no mistake of the pipeline, unlike a chunk that is twice
    # in one list.
    return "best" if choice.level == "document" and choice.has_both else "error"


@dataclass(frozen=True, eq=False)
class PreparedRecords:
    """Records at the level of a view.

    Parameters
    ----------
    tables : dict of str to DataFrame
        By view, the records with the ids that it compares.
    tools : Tools
        With the rule for repeats that holds.
    facts : RetrievalFacts
        What was settled and counted.
    """

    tables: dict[str, pd.DataFrame]
    tools: Tools
    facts: RetrievalFacts


def prepare_records(
    records: pd.DataFrame,
    needs: set[str],
    tools: Tools,
    choices: Mapping[str, LevelChoice] | None = None,
) -> PreparedRecords:
    """The records as the views take them, at the level of each.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` returns them.
    needs : set of str
        The views.
    tools : Tools
        The options of the user.
    choices : mapping of str to LevelChoice, optional
        The level of each view, if it is known from other tables as well.
    """
    views = {view: passages for view, passages in PASSAGE_VIEWS.items()
             if view in needs and {passages, "relevant"} <= set(records)}  # fmt: skip
    judged = records
    has_answers = bool(views) and not tools.judges_unanswerable
    if has_answers:
        judged = records.assign(relevant=_answerable_gold(records))
    if "relevant_sections" in judged and has_answers:
        judged = judged.assign(relevant_sections=_answerable_gold(records, "relevant_sections"))
    counts = {view: count_levels(judged, passages) for view, passages in views.items()}
    facts = RetrievalFacts(len(records), levels=counts)
    chosen = facts.choices(tools) if choices is None else choices
    tables = {view: records_at_level(judged, chosen[view].level) for view in views}
    if views:
        without = tuple(
            map(
                str,
                records.index[~has_relevant(next(iter(tables.values())), tools.relevance_level)],
            )
        )
        id_note = note_of_table(records)
        facts = replace(facts, without_gold=without, id_notes=(id_note,) if id_note else ())
    if "rankings" in tables:
        rule = duplicates_rule(tools.duplicates, chosen["rankings"])
        rankings = tables["rankings"]["retrieved"]
        n_repeats = sum(len(ids) - len(set(ids)) for ids in rankings if ids is not None)
        tools, facts = replace(tools, duplicates=rule), replace(facts, n_repeats=n_repeats)
    return PreparedRecords(tables, tools, facts)


def _answerable_gold(records: pd.DataFrame, column: str = "relevant") -> pd.Series:
    """The gold of each question; nothing is relevant to a question that has no answer."""
    nothing: Any = {} if column == "relevant" else None
    rows = zip(records[column].tolist(), is_unanswerable(records).tolist(), strict=True)
    cells = [nothing if without else gold for gold, without in rows]
    return pd.Series(cells, index=records.index, dtype=object)


def is_unanswerable(records: pd.DataFrame) -> BoolArray:
    """Whether each question is known to have no answer."""
    if "answerable" not in records:
        return np.zeros(len(records), dtype=bool)
    answerable = records["answerable"]
    has_none: BoolArray = answerable.eq(False).fillna(False).to_numpy(dtype=bool)
    return has_none


def has_relevant(records: pd.DataFrame, least: float = 1.0) -> BoolArray:
    """Whether each query has a document of at least that grade; false if its gold is unknown.

    Examples
    --------
    >>> has_relevant(pd.DataFrame({"relevant": [{"a": 1.0}, {"a": 0.0}, {}, None]})).tolist()
    [True, False, False, False]
    """
    cells = records["relevant"].tolist()
    has_any = [any(grade >= least for grade in (gold or {}).values()) for gold in cells]
    return np.array(has_any, dtype=bool)


def reasons_without_gold(records: pd.DataFrame, applies: BoolArray) -> list[str | None]:
    """Why a retrieval metric does not apply to a query; None where it applies."""
    rows = zip(applies.tolist(), is_unanswerable(records).tolist(), strict=True)
    return [
        None if ok else _UNANSWERABLE_REASON if unanswerable else NO_RELEVANT_REASON
        for ok, unanswerable in rows
    ]


def can_have_reference(records: pd.DataFrame) -> BoolArray:
    """Whether a metric that reads the reference applies: not if there is no answer to refer to.

    Examples
    --------
    >>> rows = {"reference": [["Oslo"], [], []], "answerable": [True, True, False]}
    >>> can_have_reference(pd.DataFrame(rows)).tolist()
    [True, True, False]
    """
    has_reference = np.array([bool(texts) for texts in records["reference"]], dtype=bool)
    return has_reference | ~is_unanswerable(records)


def reasons_without_reference(applies: BoolArray) -> list[str | None]:
    """Why a metric that reads the reference does not apply to a query; None where it applies."""
    return [None if ok else _NO_REFERENCE_REASON for ok in applies.tolist()]

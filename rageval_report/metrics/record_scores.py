"""The metrics of records: the level of ids, what applies, and one column of scores per metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from inspect import Parameter, signature
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from rageval_report._registry import Registry
from rageval_report.errors import DataError, UnknownNameError, check_choice
from rageval_report.metrics.citation import citations_of
from rageval_report.metrics.dialect_metrics import (
    ListedHits,
    LiteralRefusals,
    gold_and_traces,
)
from rageval_report.metrics.performance import Prices, performance_of
from rageval_report.metrics.ranking_scores import (
    NO_RELEVANT_REASON,
    DuplicateDocs,
    NoRelevant,
    join_inputs,
    metrics_in_dialect,
    note_on_no_relevant,
)
from rageval_report.metrics.refusal import (
    RefusalRule,
    abstention_recall,
    refusals_of,
)
from rageval_report.metrics.retrieval import Hits
from rageval_report.metrics.similarity import (
    Embed,
    Similarities,
    answer_similarities,
    similarities_of_texts,
)
from rageval_report.metrics.text import Answers, NegativeReferences
from rageval_report.records import record_table
from rageval_report.records.levels import (
    LevelChoice,
    LevelOption,
    PassageField,
    choose_level,
    records_at_level,
)
from rageval_report.scores import METRICS, Catalogue, Metric, normalise_name
from rageval_report.scores.catalogue.dialects import Dialect, DialectName, dialect_of_name
from rageval_report.scores.states import ERROR, NOT_APPLICABLE, state_columns, states_of
from rageval_report.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Tools:
    """What the user hands in for some metrics.

    Parameters
    ----------
    embed : callable, optional
        A function that turns texts into vectors, for metrics of similarity.
    prices : mapping of str to Price, optional
        What the tokens of a model cost; an unknown price is missing, not 0.
    refusals : RefusalRule, optional
        How to recognise a refusal; by the phrases of the package if omitted.
    duplicates : {"error", "best", "keep"}, optional
        What to do with a passage that was retrieved twice for a query: raise an error; count it
        once, at its best rank, and close up the ranks below its repeats; or count it once and keep
        the ranks of its repeats. If omitted, "best" for several chunks of one document that are
        counted at the level of documents, and "error" for everything else.
    level : {"auto", "chunk", "document"}
        The level at which gold and passages are compared if they carry the ids of both; see
        `rageval_report.records.levels.choose_level`.
    no_relevant : {"skip", "zero"}
        The retrieval score of a question without relevant documents: NaN, not applicable, or 0.
    dialect : Dialect, optional
        The system whose names and rules hold; `tools_in_dialect` makes the others agree with it.
    model : str, optional
        The model of the records that do not name one, for their prices.
    """

    embed: Embed | None = None
    prices: Prices | None = None
    refusals: RefusalRule | None = None
    duplicates: DuplicateDocs | None = None
    level: LevelOption = "auto"
    no_relevant: NoRelevant = "skip"
    dialect: Dialect | None = None
    model: str | None = None

    @property
    def relevance_level(self) -> float:
        """The lowest grade that is relevant."""
        return 1.0 if self.dialect is None else self.dialect.relevance_level

    @property
    def judges_unanswerable(self) -> bool:
        """Whether the gold of a question that has no answer counts all the same."""
        return self.dialect is not None and self.dialect.judges_unanswerable


def tools_in_dialect(
    dialect: DialectName | None,
    *,
    embed: Embed | None = None,
    prices: Prices | None = None,
    refusals: RefusalRule | None = None,
    duplicates: DuplicateDocs | None = None,
    level: LevelOption | None = None,
    no_relevant: NoRelevant | None = None,
) -> Tools:
    """The tools with the rules of a dialect, or with the usual ones for what is None."""
    rules = dialect_of_name(dialect)
    chosen: dict[str, Any] = {"duplicates": duplicates, "level": level, "no_relevant": no_relevant}
    if rules is not None:
        chosen = rules.settle(**chosen)
        if rules.name == "wfgy" and refusals is not None:
            raise DataError(
                'refusals contradicts dialect="wfgy", in which only "not in context" is a refusal; '
                "leave out one of the two"
            )
        if rules.name == "ragbench" and refusals is None:
            refusals = LiteralRefusals()
    settled = {name: value for name, value in chosen.items() if value is not None}
    return Tools(embed, prices, refusals, dialect=rules, **settled)


@dataclass(frozen=True)
class View:
    """How records become what some metrics are computed from."""

    build: Callable[[pd.DataFrame, Tools], object]
    fields: tuple[str, ...] = ()


def rankings_view(records: pd.DataFrame, tools: Tools) -> Hits:
    """The hit table of the retrieved ids and the gold; without gold nothing is relevant."""
    retrieved = [[] if ids is None else ids for ids in records["retrieved"]]
    relevant = [{} if gold is None else gold for gold in records["relevant"]]
    names = list(map(str, records.index))
    hits = join_inputs(
        dict(zip(names, retrieved, strict=True)),
        dict(zip(names, relevant, strict=True)),
        ties="input",  # the lists are in their order already
        relevance_level=tools.relevance_level,
        duplicates=tools.duplicates or "error",
    ).hits
    # The rules of some systems count repeats, which the hit table has left out.
    if tools.dialect is None:
        return hits
    columns = {field.name: getattr(hits, field.name) for field in fields(Hits)}
    return ListedHits(**columns, retrieved=retrieved, relevant=relevant)


def answers_view(records: pd.DataFrame, tools: Tools) -> Answers:
    """The answers beside their references, and which of them are right refusals."""
    answers = [None if answer is None else str(answer) for answer in records["answer"]]
    refusals = None
    if "answerable" in records and (tools.dialect is None or tools.dialect.rewards_refusals):
        refusals = abstention_recall(refusals_of(records, tools.refusals)).tolist()
    return Answers(answers, _lists(records["reference"]), refusals)


def negatives_view(records: pd.DataFrame, tools: Tools) -> NegativeReferences:  # noqa: ARG001
    """The answers beside the texts that they must not contain."""
    count = len(records)
    rows = zip(records["answer"], records.get("error", [None] * count), strict=True)
    # An empty answer of a pipeline that failed says nothing, so it is not free of wrong answers.
    answers = [None if answer is None or (error and not answer) else str(answer)
               for answer, error in rows]  # fmt: skip
    references = _lists(records["reference"]) if "reference" in records else [[]] * count
    return NegativeReferences(answers, _lists(records["negative_reference"]), references)


def similarities_view(records: pd.DataFrame, tools: Tools) -> Similarities:
    """How near each retrieved context is to each gold text."""
    contexts, truths = records["contexts"].tolist(), records["relevant_texts"].tolist()
    return similarities_of_texts(contexts, truths, _required_embed(tools))


def _required_embed(tools: Tools) -> Embed:
    if tools.embed is None:
        raise DataError(
            "metrics of similarity need embed=, a function that turns texts into vectors, such as "
            "SentenceTransformer(...).encode"
        )
    return tools.embed


def _lists(column: pd.Series) -> list[list[str]]:
    return [[] if texts is None else list(texts) for texts in column]


VIEWS: Registry[View] = Registry(
    "view of the records",
    {
        "answer_similarities": View(
            lambda records, tools: answer_similarities(
                answers_view(records, tools), _required_embed(tools)
            ),
            ("answer", "reference"),
        ),
        "answers": View(answers_view, ("answer", "reference")),
        "citations": View(lambda records, _: citations_of(records), ("citations",)),
        "gold_and_traces": View(
            lambda records, _: gold_and_traces(records), ("answer", "answerable")
        ),
        "negatives": View(negatives_view, ("answer", "negative_reference")),
        "performance": View(
            lambda records, tools: performance_of(records, tools.prices, model=tools.model)
        ),
        "rankings": View(rankings_view, ("retrieved", "relevant")),
        "refusals": View(
            lambda records, tools: refusals_of(records, tools.refusals), ("answer", "answerable")
        ),
        "similarities": View(similarities_view, ("contexts", "relevant_texts")),
    },
)


# The views that compare passages with gold, and the field of their passages.
PASSAGE_VIEWS: dict[str, PassageField] = {"rankings": "retrieved", "citations": "citations"}

_NO_REFERENCE_REASON = "the question has no answer, so there is no reference for one"
_UNANSWERABLE_REASON = "the question has no answer, so nothing is relevant to it"


@dataclass(frozen=True, eq=False)
class PreparedRecords:
    """Records at the level of each view, and what was settled and counted for it.

    `tables` and `choices` have the records and the level of each view that compares passages with
    gold; `tools` the rule for repeats that holds; `without_gold` the queries without relevant
    documents, and those that have no answer.
    """

    tools: Tools
    n: int = 0
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    choices: Mapping[str, LevelChoice] = field(default_factory=dict)
    without_gold: tuple[str, ...] = ()
    n_repeats: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that can move a number; empty if no passages are compared with gold."""
        if not self.choices:
            return {}
        levels = [choice.level or "ids as they are" for choice in self.choices.values()]
        settings: dict[str, Any] = {"level": " and ".join(dict.fromkeys(levels))}
        if "rankings" in self.choices:
            settings["duplicates"] = self.tools.duplicates
            settings["no_relevant"] = self.tools.no_relevant
        return settings

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the level, on repeats and on questions without gold."""
        notes = [choice.note for choice in self.choices.values()]
        if self.n_repeats:
            is_document = self.choices["rankings"].level == "document"
            notes.append(_note_on_repeats(self.n_repeats, self.tools.duplicates, is_document))
        if self.without_gold and self.choices:
            notes.append(note_on_no_relevant(self.without_gold, self.n, self.tools.no_relevant))
        return tuple(note for note in notes if note)


def _note_on_repeats(n: int, rule: DuplicateDocs | None, is_document: bool) -> str:
    what = ("chunk of a document", "chunks of documents") if is_document else (
        "passage", "passages")  # fmt: skip
    repeats = f"1 {what[0]} repeats an id" if n == 1 else f"{n} {what[1]} repeat ids"
    ranks = "the repeats keep their ranks"
    if rule == "best":
        ranks = 'the ranks below close up; with duplicates="keep" the repeats keep their ranks'
    return f"duplicates: {repeats} of the same ranking and do not count again; {ranks}"


def prepare_records(records: pd.DataFrame, needs: set[str], tools: Tools) -> PreparedRecords:
    """The records as the views take them, at the level of each."""
    views = {view: passages for view, passages in PASSAGE_VIEWS.items()
             if view in needs and {passages, "relevant"} <= set(records)}  # fmt: skip
    if not views:
        return PreparedRecords(tools, len(records))
    judged = records
    if not tools.judges_unanswerable:
        fields = [name for name in ("relevant", "relevant_sections") if name in records]
        judged = records.assign(**{name: _answerable_gold(records, name) for name in fields})
    choices = {view: choose_level(judged, tools.level, passages)
               for view, passages in views.items()}  # fmt: skip
    tables = {view: records_at_level(judged, choice.level) for view, choice in choices.items()}
    is_relevant = has_relevant(next(iter(tables.values())), tools.relevance_level)
    n_repeats = 0
    if "rankings" in tables:
        rankings = tables["rankings"]["retrieved"]
        n_repeats = sum(len(ids) - len(set(ids)) for ids in rankings if ids is not None)
        choice = choices["rankings"]
        # Several chunks of one document are no mistake of the pipeline, unlike a chunk that is
        # twice in one list.
        is_usual = choice.level == "document" and choice.has_both
        tools = replace(tools, duplicates=tools.duplicates or ("best" if is_usual else "error"))
    without = tuple(map(str, records.index[~is_relevant]))
    return PreparedRecords(tools, len(records), tables, choices, without, n_repeats)


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
    """Whether each query has a document of at least that grade; false if its gold is unknown."""
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
    """Whether a metric that reads the reference applies: not if there is no answer to refer to."""
    has_reference = np.array([bool(texts) for texts in records["reference"]], dtype=bool)
    return has_reference | ~is_unanswerable(records)


Lacking = Literal["error", "unscored"]
Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

_MAP: Map = map
_LACKING: tuple[Lacking, ...] = ("error", "unscored")


@runtime_checkable
class Selective(Protocol):
    """A view with metrics that do not apply to every query."""

    def applies(self, metric: str) -> BoolArray:
        """Whether the metric of that name applies to each query."""


@dataclass(frozen=True, eq=False)
class ScoredRecords:
    """The table of scores, and beside it the records."""

    scores: pd.DataFrame
    records: pd.DataFrame
    states: pd.DataFrame
    metrics: dict[str, Metric]
    prepared: PreparedRecords


def score_records(
    records: object,
    metrics: str | Iterable[str],
    *,
    tools: Tools | None = None,
    lacking: Lacking = "error",
    map: Map | None = None,  # noqa: A002
) -> ScoredRecords:
    """Compute metrics from records."""
    check_choice("lacking", lacking, _LACKING)
    table = record_table(records, unretrieved_citations="keep")
    rules = (tools or Tools()).dialect
    requested = computable([metrics] if isinstance(metrics, str) else metrics, rules)
    without_fields = {} if lacking == "error" else lacking_fields(table, requested, rules)
    computed = {name: metric for name, metric in requested.items() if name not in without_fields}
    needs = {metric.needs for metric in computed.values()}
    prepared = prepare_records(table, needs, tools or Tools())
    # One view per need: ten metrics of rankings share one hit table.
    views = {
        need: _build_view(prepared.tables.get(need, table), need, computed, prepared.tools)
        for need in sorted(needs)
    }
    jobs = [
        # Names such as precision_at_5_exact have their cutoff within.
        (metric, views[metric.needs], cutoff_of(name if rules is None else metric.known_as))
        for name, metric in computed.items()
    ]
    results = (map or _MAP)(_compute_metric, jobs)
    columns = dict.fromkeys(requested, np.full(len(table), np.nan))
    columns.update(zip(computed, results, strict=True))
    scores = pd.DataFrame(columns, index=table.index)
    if "rankings" in prepared.tables:
        _unscore_rankings(scores, computed, prepared)
    states = [
        _states(scores, table, computed, views, prepared),
        _states_without(without_fields, table.index),
    ]
    return ScoredRecords(scores, table, pd.concat(states, axis=1), requested, prepared)


def _unscore_rankings(
    scores: pd.DataFrame, metrics: dict[str, Metric], prepared: PreparedRecords
) -> None:
    """Without a ranking, or without relevant documents, there is no score: it is not 0."""
    table = prepared.tables["rankings"]
    unscored = table[["retrieved", "relevant"]].isna().any(axis=1).to_numpy()
    if prepared.tools.no_relevant == "skip":
        unscored = unscored | ~has_relevant(table, prepared.tools.relevance_level)
    ranked = [name for name, metric in metrics.items() if metric.needs == "rankings"]
    scores.loc[unscored, ranked] = np.nan


def lacking_fields(
    records: pd.DataFrame, names: Iterable[str], dialect: Dialect | None = None
) -> dict[str, tuple[str, ...]]:
    """The metrics that cannot be computed from records, and the fields that are missing."""
    missing = {
        name: tuple(field for field in VIEWS[metric.needs].fields if field not in records)
        for name, metric in computable(names, dialect).items()
    }
    return {name: fields for name, fields in missing.items() if fields}


def _states_without(missing: dict[str, tuple[str, ...]], index: pd.Index) -> pd.DataFrame:
    """The states of the metrics for which the records lack a field."""
    columns: dict[str, list[Any]] = {}
    for name, lacked in missing.items():
        reason = f"the records have no {' and no '.join(lacked)}"
        columns |= state_columns(name, [NOT_APPLICABLE] * len(index), [reason] * len(index))
    return pd.DataFrame(columns, index=index)


def computable(names: Iterable[str], dialect: Dialect | None = None) -> dict[str, Metric]:
    """The metrics of those names, if each can be computed from records."""
    if dialect is not None:
        return metrics_in_dialect(names, dialect)
    catalogue = Catalogue()
    known: dict[str, Metric] = {}
    for name in names:
        metric = catalogue.search(name)
        if metric is None:
            METRICS.raise_if_broken(name)
            raise UnknownNameError("metric", name, computed_names())
        if metric.compute is None:
            raise DataError(
                f"{name!r} is not computed from records; these metrics are: "
                f"{', '.join(computed_names())}"
            )
        known[normalise_name(name)] = metric
    if not known:
        raise DataError("metrics must name at least one metric; got none")
    return known


def computed_names() -> list[str]:
    """The names of the metrics that are computed from records."""
    return [name for name, metric in METRICS.loaded().items() if metric.compute is not None]


def cutoff_of(name: str) -> int | None:
    """The cutoff in a metric's name, or None."""
    cutoff = normalise_name(name).partition("@")[2]
    return int(cutoff) if cutoff.isdigit() else None


def _build_view(table: pd.DataFrame, need: str, metrics: dict[str, Metric], tools: Tools) -> object:
    view = VIEWS[need]
    if missing := [field for field in view.fields if field not in table]:
        names = [name for name, metric in metrics.items() if metric.needs == need]
        raise DataError(
            f"{', '.join(names)} cannot be computed: the records have no "
            f"{' and no '.join(missing)}; they have: {', '.join(map(str, table))}"
        )
    return view.build(table, tools)


def _states(
    scores: pd.DataFrame,
    table: pd.DataFrame,
    metrics: dict[str, Metric],
    views: dict[str, object],
    prepared: PreparedRecords,
) -> pd.DataFrame:
    """Why scores are missing, for the metrics that do not apply to every query."""
    failed = table[ERROR].notna().to_numpy() if ERROR in table else None
    columns: dict[str, list[Any]] = {}
    for name, metric in metrics.items():
        view, reasons = views[metric.needs], None
        if metric.needs in prepared.tables:
            applies = _has_gold(prepared, metric.needs)
        elif isinstance(view, Selective):
            applies = view.applies(metric.known_as)
        elif "reference" in VIEWS[metric.needs].fields:
            applies = can_have_reference(table)
            reasons = [None if ok else _NO_REFERENCE_REASON for ok in applies.tolist()]
        else:
            continue
        states = states_of(scores[name], applies=applies, failed=failed)
        if metric.needs in prepared.tables:
            reasons = reasons_without_gold(table, applies | (states != NOT_APPLICABLE))
        columns |= state_columns(name, states, reasons)
    # As objects: a column of texts would make NaN of None.
    return pd.DataFrame(columns, index=scores.index, dtype=object)


def _has_gold(prepared: PreparedRecords, view: str) -> BoolArray:
    table = prepared.tables[view]
    if view == "citations":
        # A citation of any relevant grade is right; rankings count grades from 1 on.
        return has_relevant(table, least=np.nextafter(0.0, 1.0))
    if prepared.tools.no_relevant == "skip":
        return has_relevant(table, prepared.tools.relevance_level)
    return np.ones(len(table), bool)


def _compute_metric(job: tuple[Metric, object, int | None]) -> FloatArray:
    """The scores of one metric; at module level, so that a pool of processes can call it."""
    metric, view, cutoff = job
    function: Any = metric.function()
    kinds = (parameter.kind for parameter in signature(function).parameters.values())
    if sum(kind == Parameter.POSITIONAL_OR_KEYWORD for kind in kinds) > 1:
        return np.asarray(function(view, cutoff), dtype=np.float64)
    if cutoff is not None:
        stem = metric.name.partition("@")[0]
        raise DataError(f"{stem!r} has no cutoff: write it without @{cutoff}")
    return np.asarray(function(view), dtype=np.float64)

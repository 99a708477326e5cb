"""The columns of a table with one row per score: which names the query, the metric, the value.

Some names decide by themselves ("metric"), others only together with the cells: "name" may hold
metrics, pipelines or the titles of queries, and "id" may number the scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rageval_report.readers.json_shapes import is_records
from rageval_report.scores.metric import Catalogue, normalise_name
from rageval_report.scores.query_ids import QUESTION, first_named

_METRIC = (
    *("metric", "metric_name", "metrics", "measure", "score_name", "evaluator", "evaluator_name"),
    *("evaluation_name", "evaluation_metric", "feedback_key", "feedback_name", "annotation_name"),
    *("metric_id", "score_type", "scorer", "scorer_name", "criterion", "criteria", "grader"),
)
# Names that may hold metrics as well as something else; the cells decide.
_PERHAPS_METRIC = ("name", "key")
_VALUE = (
    *("value", "score", "metric_value", "score_value", "numeric_value", "number_value"),
    *("float_value", "feedback_score", "annotation_score", "rating", "result"),
)
_PIPELINE = (
    *("pipeline", "pipeline_name", "system", "system_name", "run", "run_name", "run_id"),
    *("variant", "experiment", "experiment_name", "app_version", "config", "model", "model_name"),
)
_RUN_ID = "run_id"
_REPEAT = ("repeat", "repetition", "repetition_number", "trial", "trial_id", "epoch", "attempt")
_REASON = (
    *("reason", "explanation", "rationale", "justification", "feedback", "comment", "reasoning"),
    *("score_reason", "score_comment"),
)
_STATE = ("state", "status")
_ERROR = ("error", "error_message", "exception")
COMPANIONS = frozenset((*_REASON, *_STATE, *_ERROR))

# Ids of queries; they are the ids whatever the cells are.
_QUERY_IDS = ("query_id", "queryid", "qid", "question_id", "sample_id", "example_id")
# Ids of items of a data set, which are the same in each run.
_ITEM_IDS = (
    *("dataset_item_id", "test_case_id", "testcase_id", "case_id", "item_id", "datapoint_id"),
    *("prompt_id", "input_id", "record_id", "task_id", "dataset_example_id"),
)
# Ids of what was traced, which are new in each run; the finest last.
_TRACE_IDS = (
    *("trace_id", "request_id", "response_id", "message_id", "conversation_id", "session_id"),
    *("observation_id", "span_id"),
)
_CASES = ("case_name", "test_case", "testcase", "test_name", "case", "item", "example", "sample")
_IDS = ("id", "_id")


@dataclass(frozen=True)
class LongColumns:
    """The column of each role; None if there is none."""

    query: str
    metric: str
    value: str
    pipeline: str | None
    repeat: str | None
    reason: str | None
    state: str | None
    error: str | None

    def others(self, columns: Iterable[str]) -> list[str]:
        """The columns without a role."""
        with_role = set(vars(self).values())
        return [name for name in columns if name not in with_role]


def is_long_header(columns: Sequence[str]) -> bool:
    """Whether the names alone show a table with one row per score."""
    metric, value = first_named(columns, _METRIC), first_named(columns, _VALUE)
    return metric is not None and value is not None and bool(_query_columns(columns, value))


def may_be_long(columns: Sequence[str]) -> bool:
    """Whether the cells must decide, because a column "name" or "key" may hold metrics."""
    metric, value = first_named(columns, _PERHAPS_METRIC), first_named(columns, _VALUE)
    return metric is not None and value is not None and bool(_query_columns(columns, value))


def may_be_pipelines(roles: LongColumns) -> bool:
    """Whether the names of the metrics may be those of pipelines: a "name" and its "score"."""
    return (normalise_name(roles.metric), normalise_name(roles.value)) == ("name", "score")


def holds_metrics(frame: pd.DataFrame) -> bool:
    """Whether the column "name" or "key" names the metrics of scores."""
    roles = find_roles(frame)
    if roles is None:
        return False
    pairs = _texts(frame, roles.query, roles.metric).drop_duplicates()
    names = pairs[roles.metric].unique()
    catalogue = Catalogue()
    if len(names) == 1 or not pairs[roles.metric].duplicated().any():
        return any(map(catalogue.find, names))
    # Each query has several of the names, and each name several of the queries.
    return bool(pairs[roles.query].duplicated().any())


def find_roles(frame: pd.DataFrame, query_id: str | None = None) -> LongColumns | None:
    """The roles of the columns; None if they are not those of a long table."""
    columns = list(map(str, frame))
    value = first_named(columns, _VALUE)
    metric = first_named(columns, (*_METRIC, *_PERHAPS_METRIC))
    if metric is None or value is None:
        return None
    repeat = first_named(columns, _REPEAT)
    candidates = [name for name in _query_columns(columns, value) if name not in (metric, value)]
    query = query_id if query_id in columns else _find_query(frame, candidates, metric)
    if query is None:
        return None
    rest = [name for name in columns if name not in (query, metric, value)]
    pipeline = _find_pipeline(frame, rest, query, metric)
    reason, state, error = (first_named(rest, names) for names in (_REASON, _STATE, _ERROR))
    return LongColumns(query, metric, value, pipeline, repeat, reason, state, error)


# -- the column of queries


def sure_id_column(columns: Sequence[str]) -> str | None:
    """The column that is the id of the query by its name alone; None if the cells must decide."""
    return first_named(columns, (*_QUERY_IDS, *_ITEM_IDS))


def _query_columns(columns: Sequence[str], value: str) -> list[str]:
    """The columns that may identify the query, the surest first."""
    items = (*_QUERY_IDS, *_ITEM_IDS)
    # Beside the id of a trace, a plain "id" is that of the score.
    is_traced = first_named(columns, _TRACE_IDS) is not None
    names = (
        (*items, *QUESTION, *_TRACE_IDS, *_CASES, *_IDS)
        if is_traced
        else (*items, *_IDS, *QUESTION, *_CASES)
    )
    # LangSmith's feedback belongs to a run, which is one call. A run_id beside a "value" is that
    # of an experiment (MLflow), whose values are means.
    runs = (_RUN_ID,) if normalise_name(value) == "score" else ()
    return list(_named_in_order(columns, (*names, *runs)))


def _find_query(frame: pd.DataFrame, candidates: Sequence[str], metric: str) -> str | None:
    """The first column that can be the id: filled, and the same for all scores of a query."""
    filled = [name for name in candidates if _is_filled(frame[name])]
    if not filled:
        return candidates[0] if candidates else None  # the error comes when it is read
    if sure_id_column(filled[:1]) is not None:
        return filled[0]
    others = [name for name in map(str, frame) if name not in filled]
    splitting = [first_named(others, names) for names in (_PIPELINE, _REPEAT)]
    keys = [metric, *(name for name in splitting if name is not None)]
    has_several = len(frame[metric].astype(str).unique()) > 1
    for name in filled:
        numbers_scores = has_several and frame[name].astype(str).is_unique
        if not numbers_scores and not _texts(frame, name, *keys).duplicated().any():
            return name
    shared = [name for name in filled if not frame[name].astype(str).is_unique]
    return (shared or filled)[0]


def _is_filled(cells: pd.Series) -> bool:
    return not bool((cells.isna() | (cells.astype(str).str.strip() == "")).any())


def _texts(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    # As texts, because cells may be lists, which cannot be compared.
    return frame[list(names)].astype(str)


# -- the column of pipelines


def _find_pipeline(
    frame: pd.DataFrame, columns: Sequence[str], query: str, metric: str
) -> str | None:
    """The first column that names pipelines; the id of a run may be that of a single call."""
    for column in _named_in_order(columns, _PIPELINE):
        if normalise_name(column) != _RUN_ID or _are_pipelines(frame, column, query, metric):
            return column
    return None


def _are_pipelines(frame: pd.DataFrame, column: str, query: str, metric: str) -> bool:
    """Whether the ids of runs cover several queries each, or tell repeated queries apart."""
    pairs = _texts(frame, column, query).drop_duplicates()
    covers_several = bool(pairs[column].duplicated().any()) or len(pairs) == 1
    return covers_several or bool(_texts(frame, query, metric).duplicated().any())


def _named_in_order(columns: Sequence[str], names: Iterable[str]) -> Iterator[str]:
    matches = (first_named(columns, (name,)) for name in names)
    return (column for column in matches if column is not None)


# -- records that hold their scores as a list of objects

# The keys under which frameworks keep the scores of a record as a list.
NESTS = (
    *("scores", "results", "evaluations", "evals", "metrics", "metric_results", "score_results"),
    *("evaluation_results", "eval_results", "feedback", "feedbacks", "assessments", "annotations"),
    *("grades", "judgements", "judgments", "checks", "metrics_data"),
)
_NEST_NAMES = (
    *("metric", "metric_name", "name", "score_name", "evaluator", "evaluator_name", "key"),
    *("criterion", "scorer", "scorer_name", "grader", "metric_id"),
)
_NEST_VALUES = (
    "score",
    "value",
    "score_value",
    "numeric_value",
    "metric_value",
    "rating",
    "result",
)
# The names in a row that belong to the score if both the record and the score have them.
_OF_RECORD = "case_"
_OF_SCORE = "score_"


def find_nest(records: Sequence[Mapping[str, Any]]) -> str | None:
    """The key whose values are lists of scores, each with the name of its metric; or None."""
    keys = dict.fromkeys(key for record in records for key in record)
    for key in keys:
        if normalise_name(str(key)) not in NESTS:
            continue
        nests = [record[key] for record in records if record.get(key)]
        if nests and all(map(_are_scores, nests)):
            return str(key)
    return None


def _are_scores(nest: object) -> bool:
    return is_records(nest) and all(
        isinstance(score.get(_key_of(score, _NEST_NAMES) or ""), str)
        and _key_of(score, _NEST_VALUES) is not None
        for score in nest
    )


def _key_of(score: Mapping[str, Any], names: Iterable[str]) -> str | None:
    by_name = {normalise_name(str(key)): key for key in reversed(list(score))}
    return next((by_name[name] for name in names if name in by_name), None)


def unnest(records: Iterable[Mapping[str, Any]], nest: str) -> list[dict[str, Any]]:
    r"""One row per score, with the fields of its record; no record is lost."""
    every = [dict(record) for record in records]
    scores = [score for record in every for score in record.get(nest) or []]
    names = dict.fromkeys(score.get(_key_of(score, _NEST_NAMES) or "") for score in scores)
    blanks = [{"metric": name, "value": None} for name in names]
    taken = {_shared_name(str(key)) for record in every for key in record if key != nest}
    rows: list[dict[str, Any]] = []
    for record in every:
        shared = {_shared_name(str(key)): part for key, part in record.items() if key != nest}
        own = [_score_fields(score, taken) for score in record.get(nest) or []]
        rows += [{**shared, **score} for score in own or blanks]
    return rows


def _shared_name(key: str) -> str:
    """The name of a record's field, which must not be taken for that of a metric or a value."""
    return f"{_OF_RECORD}{key}" if normalise_name(key) in (*_NEST_NAMES, *_NEST_VALUES) else key


def _score_fields(score: Mapping[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """The fields of a score; its error, state and reason go before those of its record."""
    name, value = _key_of(score, _NEST_NAMES), _key_of(score, _NEST_VALUES)
    fields: dict[str, Any] = {}
    for key, part in score.items():
        if key in (name, value):
            continue
        if normalise_name(str(key)) in COMPANIONS:
            if part is not None:
                fields[str(key)] = part
        else:
            fields[f"{_OF_SCORE}{key}" if key in taken else str(key)] = part
    return {**fields, "metric": score.get(name or ""), "value": score.get(value or "")}

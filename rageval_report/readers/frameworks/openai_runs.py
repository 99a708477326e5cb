"""OpenAI's Evals API: the output items of evaluation runs, each with the results of its graders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import number_or_none, text_or_none
from rageval_report.readers.frameworks.json_rows import first_fields, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.row_parts import collect_details, own_ids
from rageval_report.readers.json_shapes import check_object, check_records
from rageval_report.readers.record_columns import frame_of
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

# The list that the API returns, and the key under which Azure's library keeps the same items.
_KEYS = ("data", "_evaluation_results_list", "output_items")
_ITEM = frozenset(("datasource_item", "results"))
_FAILED_STATES = frozenset(("error", "errored", "failed"))


def _recognise(source: Source) -> float:
    return 0.95 if first_fields(source, *_KEYS) >= _ITEM else 0.0


def read_openai_runs(source: Source) -> list[ScoreFile]:
    """Read the output items of OpenAI's Evals API: a `ScoreFile` for each run.

    The items are a page of the API's list, a JSON list, or JSON Lines. The id of a query is that
    within the data source's item, else the item's number in the data source, which is the same in
    every run. A grader's score is a metric; ``passed`` is a detail, or the score if a grader gives
    none. Where the sample or a grader ended in an error, the score has failed: the API writes 0.

    Raises
    ------
    ReaderError
        If the file is broken, or contains no output items.
    """
    items = read_rows(source, *_KEYS)
    if not all(set(item) >= _ITEM for item in items):
        raise source.error(
            "expected output items of OpenAI's Evals API, each with datasource_item and results"
        )
    groups: dict[str, list[JsonObject]] = {}
    for item in items:
        groups.setdefault(text_or_none(item.get("run_id")) or source.stem, []).append(item)
    labels = distinct_names(_label(name, group) for name, group in groups.items())
    notes = _page_notes(source.document_or_none())
    return [
        _read_run(source, label, group, notes)
        for label, group in zip(labels, groups.values(), strict=True)
    ]


def _label(run: str, items: Sequence[JsonObject]) -> str:
    """The name of a run: its model beside its id, if all items say the same."""
    models = {text_or_none(_sample(item).get("model")) for item in items} - {None}
    return f"{next(iter(models))} ({run})" if len(models) == 1 else run


def _page_notes(document: object) -> tuple[str, ...]:
    if isinstance(document, dict) and document.get("has_more") is True:
        return ("this is one page of the run's output items; the run has more",)
    return ()


def _read_run(
    source: Source, name: str, items: list[JsonObject], notes: tuple[str, ...]
) -> ScoreFile:
    judged = judgement_columns([_judgements(item) for item in items], map(_error, items))
    if not judged.metrics:
        raise source.error(f"no grader of the run {name!r} has a score")
    measures = drop_empty(_tokens(items), ())
    measures = {key: cells for key, cells in measures.items() if key not in judged.columns}
    ids, details, id_note = _with_ids(items)
    details = rename_clashes(details, {*judged.columns, *measures, QUERY_ID}, "datasource_item")
    frame = frame_of({**ids, **details, **judged.columns, **measures})
    return ScoreFile(
        frame,
        name,
        metric_columns=(*judged.metrics, *measures),
        notes=(*notes, *id_note, *judged.notes),
        created=_created(items),
    )


# -- scores


def _sample(item: JsonObject) -> JsonObject:
    sample = item.get("sample")
    return sample if isinstance(sample, dict) else {}


def _message(error: object) -> str | None:
    """The message of an error of the API, which is an object with blanks if there was none."""
    if isinstance(error, dict):
        return text_or_none(error.get("message")) or text_or_none(error.get("code"))
    return text_or_none(error)


def _error(item: JsonObject) -> str | None:
    """The error in which the sample of an item ended; None if there was none."""
    message = _message(_sample(item).get("error"))
    is_failed = str(item.get("status")).lower() in _FAILED_STATES
    return message or ("the item failed; the file does not say why" if is_failed else None)


def _judgements(item: JsonObject) -> dict[str, Judgement]:
    results = check_records(item.get("results"), "results")
    error = _error(item)
    judgements: dict[str, Judgement] = {}
    for result in results:
        name = _metric_name(result, judgements)
        message = error or _message(_sample(result).get("error")) or _message(result.get("error"))
        if message is not None:
            judgements[name] = Judgement(None, message, is_failed=True)
            continue
        score = result.get("score")
        value = result.get("passed") if score is None else score
        judgements[name] = Judgement(value, text_or_none(result.get("reason")))
    return judgements


def _metric_name(result: JsonObject, taken: Mapping[str, object]) -> str:
    """The name of the grader; with that of its metric if the grader has several results."""
    name = text_or_none(result.get("name")) or text_or_none(result.get("metric")) or "score"
    metric = text_or_none(result.get("metric"))
    name = f"{name}.{metric}" if name in taken and metric else name
    while name in taken:
        name = f"{name} #2"
    return name


def _tokens(items: Iterable[JsonObject]) -> CellsByColumn:
    usages = [check_object(_sample(item).get("usage"), "sample.usage") for item in items]
    return {
        name: [number_or_none(usage.get(name)) for usage in usages]
        for name in ("prompt_tokens", "completion_tokens")
    }


def _created(items: Sequence[JsonObject]) -> datetime | None:
    times = (number_or_none(item.get("created_at")) for item in items)
    seconds = min((time for time in times if time is not None), default=None)
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


# -- details


def _with_ids(items: list[JsonObject]) -> tuple[CellsByColumn, CellsByColumn, tuple[str, ...]]:
    """The column of ids, the other details, and a note on the ids."""
    sources = [check_object(item.get("datasource_item"), "datasource_item") for item in items]
    inner = [_item_of(source) for source in sources]
    details = collect_details(("datasource_item", "question", inner))
    details = {**details, "answer": [_answer(item) for item in items]} | {
        f"{name} passed": cells for name, cells in _verdicts(items).items()
    }
    errors = [_error(item) for item in items]
    if any(errors):
        details["error"] = errors
    details = drop_empty(details)
    own = own_ids(inner)
    if own is not None and len(set(own[1])) == len(own[1]):
        details.pop(f"datasource_item.{own[0]}", None)
        return (
            {QUERY_ID: own[1]},
            details,
            (f"query ids are taken from 'datasource_item.{own[0]}'",),
        )
    numbers = [item.get("datasource_item_id") for item in items]
    if None in numbers or len(set(map(str, numbers))) < len(numbers):
        return {}, details, ()
    note = "query ids are the items' numbers in the data source (datasource_item_id)"
    return {QUERY_ID: list(map(str, numbers))}, details, (note,)


def _item_of(source: JsonObject) -> JsonObject:
    """The item itself, which some data sources nest under "item"."""
    item = source.get("item")
    return item if isinstance(item, dict) else source


def _answer(item: JsonObject) -> str | None:
    outputs = _sample(item).get("output")
    texts = [
        text_or_none(output.get("content"))
        for output in (outputs if isinstance(outputs, list) else [])
        if isinstance(output, dict)
    ]
    return "\n".join(text for text in texts if text) or None


def _verdicts(items: list[JsonObject]) -> dict[str, list[Any]]:
    """Whether each grader passed an item, for graders that give a score as well."""
    columns: dict[str, list[Any]] = {}
    for row, item in enumerate(items):
        for result in check_records(item.get("results"), "results"):
            if result.get("score") is not None and isinstance(result.get("passed"), bool):
                cells = columns.setdefault(str(result.get("name")), [None] * len(items))
                cells[row] = result["passed"]
    return columns


OPENAI_RUNS = Reader(
    "openai_runs",
    "OpenAI's Evals API: output items with results[] of graders, as JSON or JSON Lines",
    _recognise,
    read_openai_runs,
    ("encoding",),
    example="output_items.json",
)

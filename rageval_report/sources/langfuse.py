"""Langfuse: the scores of a project or of the runs of a data set, by the public API."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from rageval_report.errors import DataError
from rageval_report.http import Key
from rageval_report.readers.cell_values import json_text
from rageval_report.readers.table_files import DocumentSource
from rageval_report.sources.base import OpenedSources, RunFacts, ScoreSource, SourceAddress
from rageval_report.sources.json_api import (
    JsonApi,
    Query,
    fetched,
    home_of,
    json_api,
    opened_runs,
    path_of,
    time_of,
)
from rageval_report.types import Sleep

_FORM = "langfuse://HOST, or langfuse://HOST?dataset=NAME&run=NAME; langfuse+http:// without TLS"
_HOME_VARIABLES = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_HOME = "https://cloud.langfuse.com"
_PUBLIC, _SECRET = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
_DATASET, _RUN = "dataset", "run"
# The parameters that choose scores, and their names in the API.
_FILTERS = {
    "from": "fromTimestamp",
    "to": "toTimestamp",
    "environment": "environment",
    "session": "sessionId",
}
_API = "/api/public"
_PER_PAGE = 100  # the most that the API allows
_WORDS = ("CATEGORICAL", "TEXT", "CORRECTION")
_FIRST_DAY = "1970-01-01T00:00:00Z"


@dataclass
class _DatasetRun:
    """A run of a data set: which item each of its traces answers, and the texts."""

    name: str
    items: dict[str, str] = field(default_factory=dict)  # by the id of the trace
    texts: dict[str, dict[str, str | None]] = field(default_factory=dict)
    created: str | None = None


def open_langfuse(address: SourceAddress, *, sleep: Sleep = time.sleep) -> OpenedSources:
    """The scores of traces, or of the runs of a data set: one evaluation per run."""
    address.check_parameters((_DATASET, _RUN, *_FILTERS))
    if _RUN in address.parameters and _DATASET not in address.parameters:
        raise address.error(f"run= names a run of a data set, so dataset= is needed: {_FORM}")
    key, secrets = _keys(address)
    with json_api(address, _home_of(address), key, hidden=secrets, sleep=sleep) as api:
        is_newer = _has_newer_scores(api)
        dataset = address.parameters.get(_DATASET)
        if dataset is None:
            return _open_traces(api, list(_scores(api, is_newer=is_newer)))
        runs = _experiments(api, dataset) if is_newer else _dataset_runs(api, dataset)
        chosen = _chosen_runs(api, runs)
        scores = list(_scores(api, is_newer=is_newer, start=_day_before(chosen)))
        return _open_runs(api, dataset, chosen, scores)


def _home_of(address: SourceAddress) -> str:
    if not address.place:
        homes = (os.environ.get(name) for name in _HOME_VARIABLES)
        return next((home for home in homes if home), _HOME)
    home = home_of(address)
    return home if "+" in address.scheme else home.replace("http://", "https://", 1)


def _keys(address: SourceAddress) -> tuple[Key, tuple[Key, ...]]:
    """The key of the header, and the two in it, which no error may repeat."""
    values = {name: os.environ.get(name, "").strip() for name in (_PUBLIC, _SECRET)}
    missing = [name for name, value in values.items() if not value]
    if missing:
        raise address.error(f"the environment variable {' and '.join(missing)} is not set")
    try:
        secrets = tuple(Key(value, name=name) for name, value in values.items())
    except DataError as exc:
        raise address.error(str(exc)) from None
    pair = base64.b64encode(":".join(values.values()).encode()).decode()
    return Key(pair, scheme="Basic"), secrets


# -- scores


def _has_newer_scores(api: JsonApi) -> bool:
    """Whether the server has the scores of version 3 of the API, as Langfuse 4 does."""
    if api.get_or_none(f"{_API}/v3/scores", {"limit": 1}) is not None:
        return True
    if api.get_or_none(f"{_API}/v2/scores", {"limit": 1}) is not None:
        return False
    raise api.address.error(
        f"{api.home} has neither {_API}/v3/scores nor {_API}/v2/scores; is it Langfuse 3 or newer?"
    )


def _scores(api: JsonApi, *, is_newer: bool, start: str | None = None) -> Iterator[dict[str, Any]]:
    """All scores from a time on, with the fields that version 2 of the API gives them."""
    parameters = api.address.parameters
    filters = {theirs: parameters.get(ours) for ours, theirs in _FILTERS.items()}
    filters["fromTimestamp"] = filters["fromTimestamp"] or start
    query: Query = {"limit": _PER_PAGE, **filters}
    if is_newer:
        query = {**query, "fields": "details,subject"}
        yield from map(_older_form, api.pages(f"{_API}/v3/scores", query, _next_cursor))
    else:
        yield from api.pages(f"{_API}/v2/scores", query, _next_number)


def _next_cursor(document: Mapping[str, Any]) -> Query | None:
    cursor = (document.get("meta") or {}).get("cursor")
    return {"cursor": cursor} if cursor else None


def _next_number(document: Mapping[str, Any]) -> Query | None:
    meta = document.get("meta") or {}
    page, pages = meta.get("page", 1), meta.get("totalPages", 1)
    return {"page": page + 1} if page < pages else None


def _older_form(score: Mapping[str, Any]) -> dict[str, Any]:
    """A score of version 3, where one field holds values of all kinds and another the subject."""
    subject = score.get("subject") or {}
    kind, owner = subject.get("kind"), subject.get("id")
    is_word = score.get("dataType") in _WORDS
    value = score.get("value")
    return {
        **{name: score.get(name) for name in ("name", "dataType", "comment", "environment")},
        "value": None if is_word else float(value) if isinstance(value, bool) else value,
        "stringValue": value if is_word else None,
        "traceId": owner if kind == "trace" else subject.get("traceId"),
        "observationId": owner if kind == "observation" else None,
        "sessionId": owner if kind == "session" else None,
    }


# -- traces


def _open_traces(api: JsonApi, scores: Sequence[dict[str, Any]]) -> OpenedSources:
    if not scores:
        raise api.address.error("there are no scores; from=, to= and environment= choose others")
    traces = {str(score["traceId"]) for score in scores if score.get("traceId")}
    texts = _texts_of_traces(api, traces)
    rows = [{**score, **texts.get(str(score.get("traceId")), {})} for score in scores]
    note = f"{len(rows)} scores of {api.home}"
    source = fetched(rows, api.address.name, "langfuse", note)
    return OpenedSources((source,), source.name, source.stem, sentence="scores of Langfuse")


def _texts_of_traces(api: JsonApi, wanted: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """The question and the answer of traces; a server of Langfuse 4 has no list of traces."""
    left = set(wanted)
    texts: dict[str, dict[str, str | None]] = {}
    path = f"{_API}/traces"
    start = api.address.parameters.get("from")
    if not left or api.get_or_none(path, {"limit": 1, "fromTimestamp": start}) is None:
        return texts
    for trace in api.pages(path, {"limit": _PER_PAGE, "fromTimestamp": start}, _next_number):
        trace_id = str(trace.get("id"))
        if trace_id in left:
            left.remove(trace_id)
            texts[trace_id] = _texts(trace, question="input", answer="output")
        if not left:  # the newest come first, and a project has many more traces than scores
            break
    return texts


def _texts(row: Mapping[str, Any], **fields: str) -> dict[str, str | None]:
    """Texts of a row: each is the text itself, the only one of an object, or its JSON."""
    values = {name: row.get(field) for name, field in fields.items()}
    return {
        name: json_text(*value.values() if isinstance(value, dict) and len(value) == 1 else [value])
        for name, value in values.items()
    }


# -- runs of data sets


def _dataset_runs(api: JsonApi, dataset: str) -> list[_DatasetRun]:
    """The runs of a data set of Langfuse 3."""
    path = path_of("api", "public", "datasets", dataset, "runs")
    if api.get_or_none(path, {"limit": 1}) is None:
        raise _no_dataset(api, dataset)
    query: Query = {"datasetName": dataset, "limit": _PER_PAGE}
    items = {
        str(item["id"]): _texts(item, question="input", reference="expectedOutput")
        for item in api.pages(f"{_API}/dataset-items", query, _next_number)
    }
    runs = []
    for row in api.pages(path, {"limit": _PER_PAGE}, _next_number):
        whole = api.get(path_of("api", "public", "datasets", dataset, "runs", str(row["name"])))
        run = _DatasetRun(str(row["name"]), created=row.get("createdAt"))
        for item in api.rows(path, whole, "datasetRunItems"):
            run.items[item["traceId"]] = item["datasetItemId"]
            run.texts[item["traceId"]] = items.get(item["datasetItemId"], {})
        runs.append(run)
    return runs


def _experiments(api: JsonApi, dataset: str) -> list[_DatasetRun]:
    """The experiments of a data set of Langfuse 4, which has them in place of runs."""
    stored = api.get_or_none(path_of("api", "public", "v2", "datasets", dataset))
    if stored is None:
        raise _no_dataset(api, dataset)
    query: Query = {
        "datasetId": stored["id"],
        "fromStartTime": _FIRST_DAY,
        "fields": "core,dataset,io",
        "limit": _PER_PAGE,
    }
    runs: dict[str, _DatasetRun] = {}
    for item in api.pages(f"{_API}/experiment-items", query, _next_cursor):
        run = runs.setdefault(item["experimentId"], _DatasetRun(str(item["experimentName"])))
        run.items[item["traceId"]] = item["experimentItemId"]
        fields = {"question": "input", "answer": "output", "reference": "expectedOutput"}
        run.texts[item["traceId"]] = _texts(item, **fields)
        run.created = min(filter(None, (run.created, item.get("startTime"))), default=None)
    return list(runs.values())


def _no_dataset(api: JsonApi, dataset: str) -> Exception:
    rows = api.pages(f"{_API}/v2/datasets", {"limit": _PER_PAGE}, _next_number)
    return api.nothing_named(f"data set {dataset!r}", rows)


def _chosen_runs(api: JsonApi, runs: Sequence[_DatasetRun]) -> list[_DatasetRun]:
    name = api.address.parameters.get(_RUN)
    chosen = [run for run in runs if name is None or run.name == name]
    if not chosen:
        wanted = "run" if name is None else f"run {name!r}"
        raise api.nothing_named(f"{wanted} of the data set", ({"name": run.name} for run in runs))
    return sorted(chosen, key=lambda run: run.created or "")


def _day_before(runs: Iterable[_DatasetRun]) -> str | None:
    """The time from which scores of the runs are asked for; None if a run has no time."""
    times = [time_of(run.created) for run in runs]
    known = [time for time in times if time is not None]
    is_known = len(known) == len(times)
    return (min(known) - timedelta(days=1)).isoformat() if is_known else None


def _open_runs(
    api: JsonApi, dataset: str, runs: Sequence[_DatasetRun], scores: Sequence[dict[str, Any]]
) -> OpenedSources:
    documents: dict[str, tuple[DocumentSource, RunFacts] | None] = {}
    for run in runs:
        rows = _rows_of_run(run, scores)
        note = f"{len(rows)} scores of {len(run.items)} items of the run {run.name!r}"
        name = f"run {run.name!r} of data set {dataset!r} of {api.home}"
        document = fetched(rows, name, run.name, note)
        documents[run.name] = (document, RunFacts(time_of(run.created))) if rows else None
    service = "run of a data set of Langfuse"
    opened = opened_runs(api.address, documents, what="these runs have no score", service=service)
    return opened if len(opened.sources) == 1 else replace(opened, stem=dataset)


def _rows_of_run(run: _DatasetRun, scores: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The scores of the traces of a run, with the items that they answer."""
    rows = [
        {**score, "datasetItemId": run.items[score["traceId"]], **run.texts[score["traceId"]]}
        for score in scores
        if score.get("traceId") in run.items
    ]
    metrics = [row["name"] for row in rows if row.get("dataType") not in _WORDS]
    scored = {row["traceId"] for row in rows}
    # An item without a score is a query without a score, and not no query.
    for trace, item in run.items.items() if metrics else ():
        if trace not in scored:
            blank = {"name": metrics[0], "dataType": "NUMERIC", "value": None, "stringValue": None}
            rows.append({"traceId": trace, "datasetItemId": item, **run.texts[trace], **blank})
    return rows


LANGFUSE_SERVER = ScoreSource(
    "langfuse", "the scores of a project of Langfuse (extra http)", _FORM, open_langfuse
)

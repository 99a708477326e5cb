"""Servers that answer in JSON, page by page: Langfuse and Arize Phoenix, by their public APIs."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from rageval_report.errors import DataError, ReaderError, named
from rageval_report.http import Client, Key, RequestError, key_from_environment
from rageval_report.readers.cell_values import json_text
from rageval_report.readers.table_files import DocumentSource
from rageval_report.sources.base import OpenedSources, RunFacts, ScoreSource, SourceAddress
from rageval_report.types import Sleep

_NOT_FOUND = 404

Query = Mapping[str, "str | int | Sequence[str] | None"]
_NextPage = Callable[[Mapping[str, Any]], Query | None]


@dataclass(frozen=True, repr=False)
class JsonApi:
    """A server that answers in JSON; `next_page` finds the parameters of the page after another."""

    address: SourceAddress
    home: str
    client: Client
    next_page: _NextPage
    key: Key | None = None
    hidden: tuple[Key, ...] = ()

    def get(self, path: str, query: Query | None = None) -> Any:
        """The document at a path of the server; None if there is nothing."""
        present = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self.home}{path}" + (f"?{urlencode(present, doseq=True)}" if present else "")
        headers = {} if self.key is None else {"authorization": self.key}
        try:
            return self.client.request("GET", url, headers=headers, keys=self.hidden).json()
        except RequestError as exc:
            if exc.status == _NOT_FOUND:
                return None
            raise

    def rows(self, path: str, document: Any, what: str = "data") -> list[dict[str, Any]]:
        """The list of objects in an answer."""
        rows = document.get(what) if isinstance(document, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self.address.error(
                f"{self.home}{path} answered without a list {what!r} of objects; is this the "
                "address of the service?"
            )
        return rows

    def pages(self, path: str, query: Query) -> Iterator[dict[str, Any]]:
        """The objects of all pages."""
        page: Query | None = {}
        while page is not None:
            document = self.get(path, {**query, **page})
            yield from self.rows(path, document)
            following = self.next_page(document)
            if following == page:
                raise self.address.error(f"{self.home}{path} repeats a page: {dict(page)}")
            page = following

    def nothing_named(self, what: str, rows: Iterable[Mapping[str, Any]]) -> ReaderError:
        """The error about a name that no row has."""
        names = named(str(row.get("name")) for row in rows)
        return self.address.error(f"there is no {what}; there is {names or 'none'}")


def _next_page(document: Mapping[str, Any]) -> Query | None:
    """The next cursor of Phoenix, the cursor or the number of the next page of Langfuse."""
    meta = document.get("meta") or {}
    cursor = document.get("next_cursor") or meta.get("cursor")
    if cursor:
        return {"cursor": cursor}
    page, pages = meta.get("page", 1), meta.get("totalPages", 1)
    return {"page": page + 1} if page < pages else None


def _path_of(*parts: str) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in parts)


@contextmanager
def _api(
    address: SourceAddress, home: str, key: Key | None, sleep: Sleep, *hidden: Key
) -> Iterator[JsonApi]:
    with Client(sleep=sleep) as client:
        try:
            yield JsonApi(address, home.rstrip("/"), client, _next_page, key, hidden)
        except ReaderError:
            raise
        except (RequestError, DataError) as exc:
            raise address.error(str(exc)) from exc.__cause__


def _home_of(address: SourceAddress, variables: Sequence[str], usual: str, scheme: str) -> str:
    """The web address of the server: "phoenix+http://h" is "http://h"."""
    if address.place:
        return f"{address.scheme.partition('+')[2] or scheme}://{address.place}"
    return next(filter(None, map(os.environ.get, variables)), usual)


@dataclass
class _ServerRun:
    """A run of a tracker: the rows of its scores, or the items that its traces answer."""

    name: str
    created: str | None = None
    rows: Any = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)  # by the id of the trace
    texts: dict[str, dict[str, str | None]] = field(default_factory=dict)


def _opened_runs(
    api: JsonApi, runs: Iterable[_ServerRun], dataset: str, service: str
) -> OpenedSources:
    """The runs of a tracker, one evaluation each, the oldest first; those without rows left out."""
    ordered = sorted(runs, key=lambda run: run.created or "")
    present = [run for run in ordered if run.rows]
    without = named(run.name for run in ordered if not run.rows)
    if not present:
        raise api.address.error(f"these runs have no score: {without}")
    names = [run.name for run in present]
    sources = [
        _document(run.rows, f"run {run.name!r} of {api.home}", name)
        for run, name in zip(present, _distinct(names), strict=True)
    ]
    return OpenedSources(
        tuple(sources),
        api.address.name,
        names[0] if len(names) == 1 else dataset,
        files="evaluations",
        notes=(f"these runs have no score and are left out: {without}",) if without else (),
        why=f"each {service} is an evaluation",
        facts=tuple(RunFacts(_time_of(run.created), run.config) for run in present),
    )


def _distinct(names: Sequence[str]) -> list[str]:
    return [
        name if names.count(name) == 1 else f"{name} {place}" for place, name in enumerate(names, 1)
    ]


def _document(rows: object, name: str, stem: str, *notes: str) -> DocumentSource:
    return DocumentSource(json.dumps(rows, ensure_ascii=True), name, stem, notes)


def _time_of(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


# -- Arize Phoenix

_PHOENIX_FORM = "phoenix://HOST:PORT?dataset=NAME or ?experiment=ID; phoenix+https:// for https"
_PHOENIX_HOME, _PHOENIX_KEY = "PHOENIX_COLLECTOR_ENDPOINT", "PHOENIX_API_KEY"


def open_phoenix(address: SourceAddress, *, sleep: Sleep = time.sleep) -> OpenedSources:
    """An experiment, or all experiments of a data set."""
    address.check_parameters(("dataset", "experiment"))
    if len(address.parameters) != 1:
        raise address.error(f"name a dataset or an experiment: {_PHOENIX_FORM}")
    key = key_from_environment(_PHOENIX_KEY) if os.environ.get(_PHOENIX_KEY) else None
    home = _home_of(address, (_PHOENIX_HOME,), "", "http").removesuffix("/v1/traces")
    if not home:
        raise address.error(f"no host is named; expected {_PHOENIX_FORM}, or {_PHOENIX_HOME}")
    [(place, name)] = address.parameters.items()
    with _api(address, home, key, sleep) as api:
        if place == "dataset":
            experiments = _experiments_of_phoenix(api, name)
        else:
            found = api.get(_path_of("v1", "experiments", name))
            if found is None:
                raise address.error(f"there is no experiment {name!r}")
            experiments = [found["data"]]
        runs = []
        for one in experiments:
            rows = api.get(_path_of("v1", "experiments", str(one["id"]), "json"))
            metadata = one.get("metadata")
            config = metadata if isinstance(metadata, dict) else {}
            label = str(one.get("name") or one["id"])
            runs.append(_ServerRun(label, one.get("created_at"), rows, config))
        return _opened_runs(api, runs, name, "experiment of Phoenix")


def _experiments_of_phoenix(api: JsonApi, name: str) -> list[dict[str, Any]]:
    datasets = list(api.pages("/v1/datasets", {}))
    ids = [row["id"] for row in datasets if row.get("name") == name]
    if not ids:
        raise api.nothing_named(f"data set {name!r}", datasets)
    experiments = list(api.pages(_path_of("v1", "datasets", ids[0], "experiments"), {}))
    if not experiments:
        raise api.address.error(f"the data set {name!r} has no experiment")
    return experiments[::-1]  # the server returns the newest first


# -- Langfuse

_LANGFUSE_FORM = (
    "langfuse://HOST, or langfuse://HOST?dataset=NAME&run=NAME; langfuse+http:// without TLS"
)
_LANGFUSE_HOMES = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_LANGFUSE_KEYS = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
_CLOUD = "https://cloud.langfuse.com"
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


def open_langfuse(address: SourceAddress, *, sleep: Sleep = time.sleep) -> OpenedSources:
    """The scores of traces, or of the runs of a data set: one evaluation per run."""
    address.check_parameters(("dataset", "run", *_FILTERS))
    dataset, wanted = (address.parameters.get(name) for name in ("dataset", "run"))
    if wanted is not None and dataset is None:
        raise address.error(
            f"run= names a run of a data set, so dataset= is needed: {_LANGFUSE_FORM}"
        )
    key, secrets = _langfuse_keys(address)
    home = _home_of(address, _LANGFUSE_HOMES, _CLOUD, "https")
    with _api(address, home, key, sleep, *secrets) as api:
        is_newer = api.get(f"{_API}/v3/scores", {"limit": 1}) is not None  # as Langfuse 4 has it
        scores = list(_scores(api, is_newer=is_newer))
        if dataset is None:
            return _open_traces(api, scores)
        runs = _experiments(api, dataset) if is_newer else _dataset_runs(api, dataset)
        chosen = [run for run in runs if wanted in (None, run.name)]
        if not chosen:
            what = f"run {wanted!r} of the data set" if wanted else "run of the data set"
            raise api.nothing_named(what, ({"name": run.name} for run in runs))
        for run in chosen:
            run.rows = _rows_of_run(run, scores)
        return _opened_runs(api, chosen, dataset, "run of a data set of Langfuse")


def _langfuse_keys(address: SourceAddress) -> tuple[Key, tuple[Key, ...]]:
    """The key of the header, and the two in it, which no error may repeat."""
    values = {name: os.environ.get(name, "").strip() for name in _LANGFUSE_KEYS}
    missing = [name for name, value in values.items() if not value]
    if missing:
        raise address.error(f"the environment variable {' and '.join(missing)} is not set")
    try:
        secrets = tuple(Key(value, name=name) for name, value in values.items())
    except DataError as exc:
        raise address.error(str(exc)) from None
    pair = base64.b64encode(":".join(values.values()).encode()).decode()
    return Key(pair, scheme="Basic"), secrets


def _scores(api: JsonApi, *, is_newer: bool) -> Iterator[dict[str, Any]]:
    """All scores, with the fields that version 2 of the API gives them."""
    filters = {theirs: api.address.parameters.get(ours) for ours, theirs in _FILTERS.items()}
    query: Query = {"limit": _PER_PAGE, **filters}
    if is_newer:
        query = {**query, "fields": "details,subject"}
        yield from map(_older_form, api.pages(f"{_API}/v3/scores", query))
    else:
        yield from api.pages(f"{_API}/v2/scores", query)


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


def _open_traces(api: JsonApi, scores: Sequence[dict[str, Any]]) -> OpenedSources:
    if not scores:
        raise api.address.error("there are no scores; from=, to= and environment= choose others")
    wanted = {str(score["traceId"]) for score in scores if score.get("traceId")}
    query = {"limit": _PER_PAGE, "fromTimestamp": api.address.parameters.get("from")}
    # A server of Langfuse 4 has no list of traces.
    traces = api.pages(f"{_API}/traces", query) if api.get(f"{_API}/traces", query) else ()
    texts: dict[str, dict[str, str | None]] = {}
    for trace in traces:
        if str(trace.get("id")) in wanted:
            texts[str(trace["id"])] = _texts(trace, question="input", answer="output")
        if len(texts) == len(wanted):  # the newest come first; a project has many more traces
            break
    rows = [{**score, **texts.get(str(score.get("traceId")), {})} for score in scores]
    note = f"{len(rows)} scores of {api.home}"
    source = _document(rows, api.address.name, "langfuse", note)
    return OpenedSources((source,), source.name, source.stem)


def _texts(row: Mapping[str, Any], **fields: str) -> dict[str, str | None]:
    """Texts of a row: each is the text itself, the only one of an object, or its JSON."""
    values = {name: row.get(field) for name, field in fields.items()}
    return {
        name: json_text(*value.values() if isinstance(value, dict) and len(value) == 1 else [value])
        for name, value in values.items()
    }


def _dataset_runs(api: JsonApi, dataset: str) -> list[_ServerRun]:
    """The runs of a data set of Langfuse 3."""
    path = _path_of("api", "public", "datasets", dataset, "runs")
    if api.get(path, {"limit": 1}) is None:
        raise _no_dataset(api, dataset)
    query: Query = {"datasetName": dataset, "limit": _PER_PAGE}
    items = {
        str(item["id"]): _texts(item, question="input", reference="expectedOutput")
        for item in api.pages(f"{_API}/dataset-items", query)
    }
    runs = []
    for row in api.pages(path, {"limit": _PER_PAGE}):
        whole = api.get(f"{path}{_path_of(str(row['name']))}")
        run = _ServerRun(str(row["name"]), row.get("createdAt"))
        for item in api.rows(path, whole, "datasetRunItems"):
            run.items[item["traceId"]] = item["datasetItemId"]
            run.texts[item["traceId"]] = items.get(item["datasetItemId"], {})
        runs.append(run)
    return runs


def _experiments(api: JsonApi, dataset: str) -> list[_ServerRun]:
    """The experiments of a data set of Langfuse 4, which has them in place of runs."""
    stored = api.get(_path_of("api", "public", "v2", "datasets", dataset))
    if stored is None:
        raise _no_dataset(api, dataset)
    query: Query = {
        "datasetId": stored["id"],
        "fromStartTime": "1970-01-01T00:00:00Z",
        "fields": "core,dataset,io",
        "limit": _PER_PAGE,
    }
    runs: dict[str, _ServerRun] = {}
    for item in api.pages(f"{_API}/experiment-items", query):
        run = runs.setdefault(item["experimentId"], _ServerRun(str(item["experimentName"])))
        run.items[item["traceId"]] = item["experimentItemId"]
        fields = {"question": "input", "answer": "output", "reference": "expectedOutput"}
        run.texts[item["traceId"]] = _texts(item, **fields)
        run.created = min(filter(None, (run.created, item.get("startTime"))), default=None)
    return list(runs.values())


def _no_dataset(api: JsonApi, dataset: str) -> ReaderError:
    rows = api.pages(f"{_API}/v2/datasets", {"limit": _PER_PAGE})
    return api.nothing_named(f"data set {dataset!r}", rows)


def _rows_of_run(run: _ServerRun, scores: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
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


PHOENIX_SERVER = ScoreSource(
    "phoenix",
    "the experiments of a server of Arize Phoenix (extra http)",
    _PHOENIX_FORM,
    open_phoenix,
)
LANGFUSE_SERVER = ScoreSource(
    "langfuse", "the scores of a project of Langfuse (extra http)", _LANGFUSE_FORM, open_langfuse
)

"""Arize Phoenix: the annotations of a project's spans, and experiments, by the API of a server."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rageval_report.http import key_from_environment
from rageval_report.readers.table_files import DocumentSource, TableSource
from rageval_report.scores.query_ids import QUERY_ID, id_column_of
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

_FORM = (
    "phoenix://HOST:PORT?project=NAME, ?dataset=NAME or ?experiment=ID; phoenix+https:// for https"
)
_PROJECT, _DATASET, _EXPERIMENT = "project", "dataset", "experiment"
_PLACES = (_PROJECT, _DATASET, _EXPERIMENT)
_TIMES = ("start_time", "end_time")
_HOME_VARIABLE, _KEY_VARIABLE = "PHOENIX_COLLECTOR_ENDPOINT", "PHOENIX_API_KEY"
_SPANS_PER_PAGE = _ANNOTATIONS_PER_PAGE = 1000
# An address with 100 ids of 16 digits is shorter than the 4,096 bytes that some proxies allow.
_IDS_PER_REQUEST = 100
_DOCUMENT = re.compile(r"retrieval\.documents\.(\d+)\.document\.content")
_METADATA = "metadata."


@dataclass(frozen=True)
class _AnnotatedSpan:
    """What is read of a span: its place, its texts, the texts that it retrieved, its metadata."""

    id: str
    trace: str
    parent: str | None
    question: str | None
    answer: str | None
    contexts: tuple[str, ...]
    metadata: Mapping[str, Any]


def open_phoenix(address: SourceAddress, *, sleep: Sleep = time.sleep) -> OpenedSources:
    """The annotations of a project, or the runs of an experiment or of all of a data set."""
    address.check_parameters((*_PLACES, *_TIMES))
    places = [name for name in _PLACES if name in address.parameters]
    if len(places) != 1:
        raise address.error(f"name one of project, dataset and experiment: {_FORM}")
    key = key_from_environment(_KEY_VARIABLE) if os.environ.get(_KEY_VARIABLE) else None
    with json_api(address, _home_of(address), key, sleep=sleep) as api:
        name = address.parameters[places[0]]
        if places == [_PROJECT]:
            return _open_project(api, name)
        experiments = (
            [api.get(path_of("v1", "experiments", name))["data"]]
            if places == [_EXPERIMENT]
            else _experiments_of(api, name)
        )
        return _open_experiments(api, experiments)


def _home_of(address: SourceAddress) -> str:
    if address.place:
        return home_of(address)
    home = os.environ.get(_HOME_VARIABLE, "")
    if not home:
        raise address.error(f"no host is named; expected {_FORM}, or {_HOME_VARIABLE}")
    return home.removesuffix("/v1/traces")


def _next_cursor(document: Mapping[str, Any]) -> Mapping[str, str] | None:
    cursor = document.get("next_cursor")
    return {"cursor": cursor} if cursor else None


def _time_of(row: Mapping[str, Any]) -> str:
    return str(row.get("created_at"))


# -- experiments


def _experiments_of(api: JsonApi, name: str) -> list[dict[str, Any]]:
    datasets = api.rows("/v1/datasets", api.get("/v1/datasets", {"name": name, "limit": 100}))
    ids = [row["id"] for row in datasets if row.get("name") == name]
    if not ids:
        rows = api.pages("/v1/datasets", {}, _next_cursor)
        raise api.nothing_named(f"data set {name!r}", rows)
    path = path_of("v1", "datasets", ids[0], "experiments")
    experiments = list(api.pages(path, {}, _next_cursor))
    if not experiments:
        raise api.address.error(f"the data set {name!r} has no experiment")
    # The server returns the newest first, and times are those of a second.
    experiments.reverse()
    return sorted(experiments, key=_time_of)


def _open_experiments(api: JsonApi, experiments: Sequence[Mapping[str, Any]]) -> OpenedSources:
    documents: dict[str, tuple[DocumentSource, RunFacts] | None] = {}
    for experiment in experiments:
        name, key = str(experiment.get("name") or experiment["id"]), str(experiment["id"])
        rows = api.get(path_of("v1", "experiments", key, "json"))
        metadata = experiment.get("metadata")
        config = metadata if isinstance(metadata, dict) else {}
        facts = RunFacts(time_of(experiment.get("created_at")), config)
        document = fetched(rows, f"experiment {key} of {api.home}", name)
        # Experiments of a data set may have the same name.
        label = name if name not in documents else f"{name} {key}"
        documents[label] = (document, facts) if rows else None
    what, service = "these experiments have no run", "experiment of Phoenix"
    return opened_runs(api.address, documents, what=what, service=service)


# -- projects


def _open_project(api: JsonApi, project: str) -> OpenedSources:
    times = {name: api.address.parameters.get(name) for name in _TIMES}
    path = path_of("v1", "projects", project, "spans")
    if api.get_or_none(path, {"limit": 1}) is None:
        projects = api.pages("/v1/projects", {}, _next_cursor)
        raise api.nothing_named(f"project {project!r}", projects)
    query = {"limit": _SPANS_PER_PAGE, **times}
    spans = {span.id: span for span in map(_parse_span, api.pages(path, query, _next_cursor))}
    if not spans:
        raise api.address.error(f"the project {project!r} has no span")
    annotations = list(_annotations_of(api, project, list(spans)))
    annotations.reverse()  # the server returns the newest first
    if not annotations:
        raise api.address.error(
            f"none of the {len(spans)} spans of the project {project!r} has an annotation"
        )
    rows, notes = _rows_of(annotations, spans)
    table = TableSource(pd.DataFrame(rows), api.address.name, project, notes)
    sentence = "annotations of spans of Phoenix"
    return OpenedSources((table,), api.address.name, project, sentence=sentence)


def _parse_span(row: Mapping[str, Any]) -> _AnnotatedSpan:
    attributes = row.get("attributes") or {}
    contexts = {
        int(match[1]): str(text)
        for name, text in attributes.items()
        if (match := _DOCUMENT.fullmatch(name))
    }
    return _AnnotatedSpan(
        *(row["context"]["span_id"], row["context"]["trace_id"], row.get("parent_id")),
        *(attributes.get("input.value"), attributes.get("output.value")),
        contexts=tuple(contexts[place] for place in sorted(contexts)),
        metadata={
            name.removeprefix(_METADATA): value
            for name, value in attributes.items()
            if name.startswith(_METADATA)
        },
    )


def _annotations_of(
    api: JsonApi, project: str, spans: Sequence[str]
) -> Iterator[Mapping[str, Any]]:
    path = path_of("v1", "projects", project, "span_annotations")
    for start in range(0, len(spans), _IDS_PER_REQUEST):
        ids = spans[start : start + _IDS_PER_REQUEST]
        query: Query = {"span_ids": ids, "limit": _ANNOTATIONS_PER_PAGE}
        yield from api.pages(path, query, _next_cursor)


def _rows_of(
    annotations: Sequence[Mapping[str, Any]], spans: Mapping[str, _AnnotatedSpan]
) -> tuple[list[dict[str, Any]], list[str]]:
    """One row per annotation, as in a frame of annotations, with the texts of its query."""
    by_trace: dict[str, list[_AnnotatedSpan]] = {}
    for span in spans.values():
        by_trace.setdefault(span.trace, []).append(span)
    owners: dict[tuple[str, str], set[str]] = {}
    for annotation in annotations:
        span = spans[annotation["span_id"]]
        owners.setdefault((span.trace, annotation["name"]), set()).add(span.id)
    # Where several spans of a trace have an annotation of one name, each is a query.
    are_apart = any(len(ids) > 1 for ids in owners.values())
    families = {
        row["span_id"]: [spans[row["span_id"]]] if are_apart
        else by_trace[spans[row["span_id"]].trace]
        for row in annotations
    }  # fmt: skip
    own_ids = {span: span if are_apart else spans[span].trace for span in families}
    ids, id_note = _query_ids(families, own_ids, "spans" if are_apart else "traces")
    rows = []
    for annotation in sorted(annotations, key=_time_of):
        span, result = spans[annotation["span_id"]], annotation.get("result") or {}
        family = families[span.id]
        root = next((member for member in family if member.parent is None), span)
        contexts = next((list(member.contexts) for member in family if member.contexts), None)
        rows.append(
            {
                QUERY_ID: ids[span.id],
                "span_id": span.id,
                "trace_id": span.trace,
                "question": root.question,
                "answer": root.answer,
                "contexts": contexts,
                "annotation_name": annotation["name"],
                "annotator_kind": annotation.get("annotator_kind"),
                "metadata": annotation.get("metadata"),
                **{name: result.get(name) for name in ("score", "label", "explanation")},
            }
        )
    n_annotated = len({trace for trace, _ in owners})
    notes = [f"{len(rows)} annotations of {n_annotated} traces", id_note]
    n_without = len(by_trace) - n_annotated
    if n_without:
        notes.append(f"{n_without} of {len(by_trace)} traces have no annotation and are left out")
    return rows, notes


def _query_ids(
    families: Mapping[str, Sequence[_AnnotatedSpan]], own_ids: Mapping[str, str], what: str
) -> tuple[Mapping[str, str], str]:
    """The id of the query of each annotated span, and a note that says where it is from."""
    metadata: dict[str, dict[str, Any]] = {}
    for span, family in families.items():
        # Those of the first span, the root, before others.
        ordered = sorted(family, key=lambda member: member.parent is not None, reverse=True)
        metadata[span] = {
            key: value for member in ordered for key, value in member.metadata.items()
        }
    name = id_column_of(dict.fromkeys(key for fields in metadata.values() for key in fields))
    if name is not None and all(fields.get(name) not in (None, "") for fields in metadata.values()):
        ids = {span: str(fields[name]) for span, fields in metadata.items()}
        # Only if an id names one query: a session has many traces.
        if len(set(ids.values())) == len(set(own_ids.values())):
            return ids, f"query ids are the metadata {name!r} of the spans"
    return own_ids, (
        f"query ids are those of {what}, which are new in each run: write the metadata query_id "
        "into the spans to compare runs, or read an experiment"
    )


PHOENIX_SERVER = ScoreSource(
    "phoenix",
    "the annotations and experiments of a server of Arize Phoenix (extra http)",
    _FORM,
    open_phoenix,
)

"""Inspect's logs: ``.eval`` archives, ``.json`` documents, and frames made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rageval_report.errors import ReaderError, named
from rageval_report.files.archives import Archive, is_archive
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.frameworks.inspect_frames import frame_mark, read_frame
from rageval_report.readers.frameworks.inspect_samples import score_file
from rageval_report.readers.json_shapes import check_object, check_records
from rageval_report.types import JsonObject

_HEADER, _START = "header.json", "_journal/start.json"
_SUMMARIES, _REDUCTIONS = "summaries.json", "reductions.json"
_SAMPLE = re.compile(r"samples/.+_epoch_\d+(?P<shell>/sample)?\.json")
_MARK, _CUT = 0.95, 0.6


def _recognise(source: Source) -> float:
    if is_archive(source):
        return _archive_mark(source)
    if not source.starts_like_json:
        return frame_mark(source)
    return _MARK if _is_log(source.document_or_none()) else frame_mark(source)


def _archive_mark(source: Source) -> float:
    try:
        names = set(Archive(source).names)
    except ReaderError:  # cut, or not safe to read; the error comes when it is read
        is_likely = any(name.encode() in source.head for name in (_START, _HEADER))
        return _CUT if is_likely else 0.0
    return _MARK if names & {_HEADER, _START} else 0.0


def _is_log(document: object) -> bool:
    if not isinstance(document, dict) or not {"status", "eval"} <= set(document):
        return False
    evaluation = document["eval"]
    return isinstance(evaluation, dict) and {"task", "model"} <= set(evaluation)


def read_inspect_ai(source: Source) -> list[ScoreFile]:
    """Read a log of Inspect, or a frame of samples: a `ScoreFile` for each task and model.

    A score that is an object is one metric per key. Letters are read as Inspect's numbers: C is 1,
    P 0.5, I and N 0. A query's score is the mean over its epochs. A sample that was not scored, or
    ended in an error, is unscored with its reason. Without samples, the scores are read from the
    log's own reductions over epochs.

    Raises
    ------
    ReaderError
        If the file is not a log of Inspect, is damaged, or contains no score of a sample.
    MissingDependencyError
        If the members are compressed with zstd, and no package that reads it is installed.
    """
    if is_archive(source):
        return [_read_log(source, *_parts_of_archive(source))]
    if source.starts_like_json and _is_log(source.document_or_none()):
        return [_read_log(source, *_parts_of_document(source.document))]
    if frame_mark(source):
        return read_frame(source)
    raise source.error(
        "expected a log of Inspect: an .eval archive, a document with status, eval and samples, or "
        "a frame of samples_df"
    )


# -- the parts of a log


def _parts_of_document(log: JsonObject) -> tuple[JsonObject, list[JsonObject], list[JsonObject]]:
    samples = check_records(log.get("samples"), "samples")
    return log, samples, check_records(log.get("reductions"), "reductions")


def _parts_of_archive(source: Source) -> tuple[JsonObject, list[JsonObject], list[JsonObject]]:
    archive = Archive(source)
    # Inspect writes the header last: an archive without it is of a run that goes on, or was killed.
    first = next((name for name in (_HEADER, _START) if name in archive.names), None)
    if first is None:
        raise source.error(f"expected a log of Inspect: no {_HEADER} in the archive")
    header = check_object(archive.document(first), first)
    reductions = _records_in(archive, _REDUCTIONS)
    # Summaries contain the scores, but shorten the texts.
    samples = list(_samples_in(archive)) or _records_in(archive, _SUMMARIES)
    return ({"status": "started", **header}, samples, reductions)


def _records_in(archive: Archive, name: str) -> list[JsonObject]:
    return check_records(archive.document(name), name) if name in archive.names else []


def _samples_in(archive: Archive) -> Iterator[JsonObject]:
    """The samples one by one, so that only the events of one sample are in memory.

    Events and the like make up most of a sample, and are not needed for its scores.
    """
    for name in archive.names:
        match = _SAMPLE.fullmatch(name)
        if match is None:
            continue
        sample = dict(check_object(archive.document(name), name))
        metadata = name.removesuffix("sample.json") + "metadata.json"
        # A long sample is split into a folder; its metadata then has a member of its own.
        if match["shell"] and metadata in archive.names:
            sample["metadata"] = archive.document(metadata)
        yield {key: value for key, value in sample.items() if key not in _LONG_PARTS}


_LONG_PARTS = frozenset(("events", "events_data", "messages", "store", "timelines"))


# -- one log


def _read_log(
    source: Source, header: JsonObject, samples: list[JsonObject], reductions: list[JsonObject]
) -> ScoreFile:
    notes = list(_notes_of_run(header))
    if not samples:
        samples = list(_samples_of_reductions(reductions))
        notes.append("the log contains no samples: the scores are its own reductions over epochs")
    if not samples:
        raise source.error(_without_samples(header))
    return score_file(header, samples, notes)


def _samples_of_reductions(reductions: list[JsonObject]) -> Iterator[JsonObject]:
    """The log's reduced scores of each query, in the shape of samples."""
    scorers = [str(reduction.get("scorer")) for reduction in reductions]
    by_query: dict[str, dict[str, Any]] = {}
    for scorer, reduction in zip(scorers, reductions, strict=True):
        is_reduced_twice = scorers.count(scorer) > 1
        name = f"{scorer}_{reduction.get('reducer')}" if is_reduced_twice else scorer
        for sample in check_records(reduction.get("samples"), "the samples of a reduction"):
            by_query.setdefault(str(sample.get("sample_id")), {})[name] = sample
    for query_id, scores in by_query.items():
        yield {"id": query_id, "epoch": 1, "scores": scores}


def _without_samples(header: JsonObject) -> str:
    scores = check_records(
        check_object(header.get("results"), "results").get("scores"), "results.scores"
    )
    aggregates = [
        f"{score.get('name')} {name}"
        for score in scores
        for name in check_object(score.get("metrics"), "metrics")
    ]
    contents = f"only aggregates ({named(aggregates)})" if aggregates else "no sample"
    return (
        f"the log, of status {header.get('status')!r}, contains {contents}; expected scores of "
        "samples. Pass the log itself instead of its header, written with log_samples=True"
    )


def _notes_of_run(header: JsonObject) -> Iterator[str]:
    status = header.get("status")
    if status != "success":
        error = check_object(header.get("error"), "error").get("message")
        yield f"the log has status {status!r}, not 'success'" + (f": {error}" if error else "")
    if header.get("invalidated"):
        yield "the log is marked as invalidated"


INSPECT_AI = Reader(
    "inspect_ai",
    "Inspect's logs, .eval (zstd needs the extra inspect) and .json, and its samples_df frames",
    _recognise,
    read_inspect_ai,
    ("encoding",),
    example="2026-01-01_task.eval",
)

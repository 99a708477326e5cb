"""Inspect's logs: ``.eval`` archives, ``.json`` documents, and frames made of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from rageval_report.errors import ReaderError, named
from rageval_report.files.archives import Archive, is_archive
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile, distinct_names
from rageval_report.readers.cell_values import number_or_none, parse_rows, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    at,
    groups_of,
    list_at,
    part,
    reader_of,
    without,
)
from rageval_report.readers.frameworks.rows import (
    Judgement,
    JudgementColumns,
    content_text,
    drop_empty,
    judge,
    judgement_columns,
    message_text,
    rename_clashes,
    score_file,
    times,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records
from rageval_report.readers.record_columns import columns_of
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.cells import LETTERS
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import QUERY_ID, TEXTS
from rageval_report.types import JsonObject

_HEADER, _START = "header.json", "_journal/start.json"
_SAMPLE = re.compile(r"samples/.+_epoch_\d+(?P<shell>/sample)?\.json")
_LONG_PARTS = frozenset(("events", "events_data", "messages", "store", "timelines"))
_TOKENS = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cost_usd": "total_cost",
}
_RESERVED = TEXTS | {QUERY_ID, "id", "epoch", "choices", "latency_ms", *_TOKENS}
_ATTACHMENT = "attachment://"

# A scorer, and a key of its scores if these are objects.
_ScorePart = tuple[str, str | None]


def _recognise(source: Source) -> float:
    if not is_archive(source):
        return SURE if _is_log(source) or _is_frame(source) else 0.0
    try:
        return SURE if {_HEADER, _START} & set(Archive(source).names) else 0.0
    except ReaderError:  # cut, or not safe to read; the error comes when it is read
        return 0.6 if any(name.encode() in source.head for name in (_START, _HEADER)) else 0.0


def _is_log(source: Source) -> bool:
    log = source.document_or_none() if source.starts_like_json else None
    return at(log, "status") is not None and part(log, "eval").keys() >= {"task", "model"}


def _read_inspect_ai(source: Source) -> list[ScoreFile]:
    """Read a log of Inspect, or a frame of samples: one pipeline for each task and model."""
    if is_archive(source):
        return [_read_log(source, *_parts_of_archive(source))]
    if _is_log(source):
        log = check_object(source.document, "the log")
        samples, reductions = (check_records(log.get(k), k) for k in ("samples", "reductions"))
        return [_read_log(source, log, samples, reductions)]
    if _is_frame(source):
        return _read_frame(source)
    raise source.error(
        "expected a log of Inspect: an .eval archive, a document with status, eval and samples, or "
        "a frame of samples_df"
    )


# -- the parts of a log


def _parts_of_archive(source: Source) -> tuple[JsonObject, list[JsonObject], list[JsonObject]]:
    archive = Archive(source)
    # Inspect writes the header last: an archive without it is of a run that goes on, or was killed.
    first = next((name for name in (_HEADER, _START) if name in archive.names), None)
    if first is None:
        raise source.error(f"expected a log of Inspect: no {_HEADER} in the archive")
    header = {"status": "started", **check_object(archive.document(first), first)}
    summaries, reductions = (
        check_records(archive.document(name), name) if name in archive.names else []
        for name in ("summaries.json", "reductions.json")
    )
    # Summaries contain the scores, but shorten the texts.
    return header, list(_samples_in(archive)) or summaries, reductions


def _samples_in(archive: Archive) -> Iterator[JsonObject]:
    """The samples without their events, one by one: only those of one sample are in memory."""
    for name in archive.names:
        match = _SAMPLE.fullmatch(name)
        if match is None:
            continue
        sample = dict(check_object(archive.document(name), name))
        metadata = name.removesuffix("sample.json") + "metadata.json"
        # A long sample is split into a folder; its metadata then has a member of its own.
        if match["shell"] and metadata in archive.names:
            sample["metadata"] = archive.document(metadata)
        yield without(sample, _LONG_PARTS)


def _read_log(
    source: Source, header: JsonObject, samples: list[JsonObject], reductions: list[JsonObject]
) -> ScoreFile:
    notes = []
    status, error = header.get("status"), check_object(header.get("error"), "error").get("message")
    if status != "success":
        reason = f": {error}" if error else ""
        notes.append(f"the log has status {status!r}, not 'success'{reason}")
    if header.get("invalidated"):
        notes.append("the log is marked as invalidated")
    if not samples:
        samples = list(_samples_of_reductions(reductions))
        notes.append("the log contains no samples: the scores are its own reductions over epochs")
    if not samples:
        raise source.error(
            f"the log, of status {status!r}, contains no sample, only aggregates; expected scores "
            "of samples. Pass the log itself instead of its header, written with log_samples=True"
        )
    return _log_file(header, samples, notes)


def _samples_of_reductions(reductions: list[JsonObject]) -> Iterator[JsonObject]:
    """The log's reduced scores of each query, in the shape of samples."""
    counts = Counter(str(reduction.get("scorer")) for reduction in reductions)
    by_query: dict[str, dict[str, Any]] = {}
    for reduction in reductions:
        scorer = str(reduction.get("scorer"))
        name = f"{scorer}_{reduction.get('reducer')}" if counts[scorer] > 1 else scorer
        for sample in check_records(reduction.get("samples"), "the samples of a reduction"):
            by_query.setdefault(str(sample.get("sample_id")), {})[name] = sample
    for query_id, scores in by_query.items():
        yield {"id": query_id, "epoch": 1, "scores": scores}


# -- frames that Inspect makes of its logs

_SAMPLES = frozenset(("eval_id", "sample_id", "id", "epoch"))
_EVALS = frozenset(("eval_id", "run_id", "task_name", "model", "total_samples"))
_SCORE, _METADATA, _USER = "score_", "metadata_", "user:\n"
_SCORE_PARTS = ("explanation", "reason", "answer", "metadata")


def _is_frame(source: Source) -> bool:
    """Whether a table is a frame of Inspect's samples, or of its evaluations."""
    names = frozenset(header_of(source))
    return names >= _SAMPLES or names >= _EVALS


def _read_frame(source: Source) -> list[ScoreFile]:
    """Read a frame of ``samples_df``: one pipeline for each log in it."""
    if not set(header_of(source)) >= _SAMPLES:
        raise source.error(
            "this frame has one row per evaluation (evals_df); expected one row per sample: export "
            "samples_df, or pass the log itself"
        )
    table = read_table(source, query_id="id")  # ids such as 007 stay texts
    frame = table.frame.astype(object).where(table.frame.notna(), None)
    rows = parse_rows(frame)
    names = [key.removeprefix(_SCORE) for key in rows[0] if key.startswith(_SCORE)]
    # The explanation and the answer of a score are columns too, named after it.
    parts = {f"{name}_{part}" for name in names for part in _SCORE_PARTS}
    scorers = [name for name in names if name not in parts]
    if not scorers:
        raise source.error("no column of the frame is a score: expected score_<scorer>")
    logs = groups_of(rows, lambda row: str(row["eval_id"]))
    labels = distinct_names(_log_name(own[0], source.stem) for own in logs.values())
    files = []
    for label, own in zip(labels, logs.values(), strict=True):
        header = {"eval": {"task": own[0].get("task_name"), "model": own[0].get("model")}}
        samples = [_sample_of(row, scorers) for row in own]
        files.append(replace(_log_file(header, samples, table.notes), pipeline=label))
    return files


def _log_name(row: JsonObject, stem: str) -> str:
    """The task and the model if the frame has them, else the log's name."""
    if row.get("task_name") and row.get("model"):
        return f"{row['task_name']}:{row['model']}"
    log = text_or_none(row.get("log"))
    return PurePath(log).stem if log else stem


def _sample_of(row: JsonObject, scorers: Iterable[str]) -> dict[str, Any]:
    """A row in the shape that the sample has in the log."""
    scores = {}
    for scorer in scorers:
        fields = {part: row.get(f"{_SCORE}{scorer}_{part}") for part in _SCORE_PARTS}
        fields["value"] = row.get(f"{_SCORE}{scorer}")
        if any(cell is not None and cell != "" for cell in fields.values()):
            scores[scorer] = fields
    text = row.get("input")
    if isinstance(text, str) and text.startswith(_USER):  # one message, with its role before it
        text = text.removeprefix(_USER).rstrip("\n")
    metadata = {
        name.removeprefix(_METADATA): cell
        for name, cell in row.items()
        if name.startswith(_METADATA)
    }
    usage = part(row, "model_usage") or None
    return {**row, "input": text, "scores": scores, "metadata": metadata, "model_usage": usage}


# -- the pipeline of a log


def _log_file(header: JsonObject, samples: Sequence[JsonObject], notes: Iterable[str]) -> ScoreFile:
    evaluation = check_object(header.get("eval"), "eval")
    for number, sample in enumerate(samples, 1):
        if sample.get("id") in (None, ""):
            raise ShapeError(f"sample {number} of the log has no id")
    listed = list(map(str, list_at(evaluation, "dataset.sample_ids")))
    # In the order of the data set if the log has it; samples finish in any order.
    places = {name: place for place, name in enumerate(listed)}
    ordered = sorted(samples, key=lambda sample: places.get(str(sample["id"]), len(places)))
    judged = _judged(evaluation, ordered)
    measures = columns_of(_measures(ordered, str(evaluation.get("model"))))
    texts = drop_empty(columns_of(map(_texts, ordered)))
    metadata = columns_of(
        {str(key): cell for key, cell in check_object(sample.get("metadata"), "metadata").items()}
        for sample in ordered
    )
    taken = {*texts, *judged.columns, *drop_empty(measures, ()), *_RESERVED}
    return score_file(
        ":".join(str(evaluation[key]) for key in ("task", "model") if evaluation.get(key)),
        judged,
        texts | rename_clashes(metadata, taken, "metadata"),
        ids=[str(sample["id"]) for sample in ordered],
        measures=measures,
        notes=(*notes, *_notes(evaluation, ordered, listed)),
    )


def _judged(evaluation: JsonObject, samples: Sequence[JsonObject]) -> JudgementColumns:
    """The scores: a metric for each scorer, or for each key of one whose scores are objects."""
    rows = list(map(_judgements, samples))
    every = dict.fromkeys(part for row in rows for part in row)
    with_keys = {scorer for scorer, key in every if key is not None}
    parts = [part for part in every if part[1] is not None or part[0] not in with_keys]
    if not parts:
        return _declared_scorers(evaluation, len(samples))
    spelled = Counter(normalise_name(key or scorer) for scorer, key in parts)
    names = {part: _metric_name(part, spelled) for part in parts}
    errors = map(_error_of, samples)
    return judgement_columns(
        {
            # A scorer that gives objects writes one NaN for all of its keys if it gives up.
            name: row.get(part, row.get((part[0], None), Judgement(None, error, error is not None)))
            for part, name in names.items()
        }
        for row, error in zip(rows, errors, strict=True)
    )


def _judgements(sample: JsonObject) -> dict[_ScorePart, Judgement]:
    judgements: dict[_ScorePart, Judgement] = {}
    for scorer, score in check_object(sample.get("scores"), "scores of a sample").items():
        fields = check_object(score, f"the score of {scorer!r}")
        reason = text_or_none(fields.get("explanation")) or text_or_none(fields.get("reason"))
        for key, cell in _cells(fields.get("value")).items():
            # Where the scorer ran and gave NaN, Inspect counts that as unscored, not as 0.
            value = LETTERS.get(cell, cell) if isinstance(cell, str) else cell
            judgements[str(scorer), key] = judge(value, reason)
    return judgements


def _cells(value: object) -> dict[str | None, Any]:
    """The values of a score: those of an object by key, those of a list by number from 1."""
    if isinstance(value, dict) and value:
        return {str(key): part for key, part in value.items()}
    if isinstance(value, list) and value:
        return {str(n): part for n, part in enumerate(value, 1)}
    return {None: value}


def _metric_name(part: _ScorePart, spelled: Mapping[str, int]) -> str:
    scorer, key = part
    name = key or scorer
    # A number says nothing without its scorer.
    is_taken = spelled.get(normalise_name(name), 0) > 1 or name.isdigit()
    name = f"{scorer}_{key}" if is_taken and key is not None else name
    return f"{name}_score" if normalise_name(name) in _RESERVED else name


def _declared_scorers(evaluation: JsonObject, n_samples: int) -> JudgementColumns:
    """The scorers that the log names, if none of them ran; the samples may be scored later."""
    scorers = check_records(evaluation.get("scorers"), "eval.scorers")
    declared = [scorer.get("name") for scorer in scorers]
    names = tuple(dict.fromkeys(_metric_name((str(name), None), {}) for name in declared if name))
    if not names:
        raise ShapeError(f"none of the {n_samples} samples in the log has a score")
    note = f"none of the {n_samples} samples has a score yet, of {named(names)}: run inspect score"
    return JudgementColumns({name: [math.nan] * n_samples for name in names}, names, (note,))


def _error_of(sample: JsonObject) -> str | None:
    """The error that a sample ended in: a text in summaries and frames, an object in samples."""
    error = sample.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return str(message) if message else None


def _texts(sample: JsonObject) -> dict[str, Any]:
    output, target = check_object(sample.get("output"), "output"), sample.get("target")
    answer = output.get("completion")
    if not isinstance(answer, str):
        first = (list_at(output, "choices") or [None])[0]
        answer = content_text(at(first, "message.content"))
    return {
        "question": _resolve(message_text(sample.get("input")), sample),
        "answer": _resolve(answer, sample),
        "reference": target[0] if isinstance(target, list) and len(target) == 1 else target,
        "choices": sample.get("choices"),
        "error": _error_of(sample),
    }


def _resolve(text: str | None, sample: JsonObject) -> str | None:
    """The text, or the attachment that it names: Inspect keeps long texts apart."""
    if text is None or not text.startswith(_ATTACHMENT):
        return text
    attachment = part(sample, "attachments").get(text.removeprefix(_ATTACHMENT))
    return attachment if isinstance(attachment, str) else text


def _measures(samples: Sequence[JsonObject], model: str) -> Iterator[dict[str, float | None]]:
    """Time, tokens and cost of each sample, if Inspect counted them."""
    # Working time leaves out waiting for rate limits, so it comes first.
    is_working = any(number_or_none(sample.get("working_time")) for sample in samples)
    for sample in samples:
        usage = check_object(sample.get("model_usage"), "model_usage")
        own = [usage[model]] if model in usage else list(usage.values())  # the others are judges
        counted = [check_object(each, "model_usage of a model") for each in own]
        measures = {"latency_ms": times(sample.get("working_time" if is_working else "total_time"))}
        for ours, theirs in _TOKENS.items():
            numbers = [n for each in counted if (n := number_or_none(each.get(theirs))) is not None]
            measures[ours] = sum(numbers) if numbers else None
        yield measures


def _notes(
    evaluation: JsonObject, samples: Sequence[JsonObject], listed: Sequence[str]
) -> Iterator[str]:
    cells = [
        cell
        for sample in samples
        for score in part(sample, "scores").values()
        for cell in _cells(at(score, "value")).values()
    ]
    letters = {cell for cell in cells if isinstance(cell, str) and cell in LETTERS}
    if letters:
        listed_letters = ", ".join(f"{letter} as {LETTERS[letter]:g}" for letter in sorted(letters))
        yield f"Inspect's letters are read as numbers: {listed_letters}"
    others = [name for name in list_at(evaluation, "config.epochs_reducer") if name != "mean"]
    if others:
        yield f"the log reduces epochs by {named(others)}; here a query's score is their mean"
    n_errors = sum(_error_of(sample) is not None for sample in samples)
    if n_errors:
        n = f"{n_errors} of {len(samples)}"
        yield f"{n} samples ended in an error; their missing scores count as failed"
    present = {str(sample["id"]) for sample in samples}
    absent = [query_id for query_id in listed if query_id not in present]
    if absent:
        yield f"{len(absent)} queries of the data set are not in the log: {named(absent)}"


INSPECT_AI = reader_of("inspect_ai", _recognise, _read_inspect_ai)

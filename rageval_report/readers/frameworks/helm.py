"""HELM: the statistics per instance of a run, with its predictions and instances beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import json_text, number_or_none, text_or_none
from rageval_report.readers.frameworks.files_beside import document_beside, run_name
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.run_folders import PER_INSTANCE_STATS
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.types import JsonObject

_ENTRY = frozenset(("instance_id", "train_trial_index", "stats"))
_PREDICTIONS, _INSTANCES = "display_predictions.json", "instances.json"
_STATE, _RUN_SPEC = "scenario_state.json", "run_spec.json"
_USUAL_NAMES = (PER_INSTANCE_STATS, _PREDICTIONS)
_EMPTY = "HELM computed no value (count 0)"
_RUNTIME, _LATENCY, _SECONDS = "inference_runtime", "latency_ms", 1000.0
# What HELM counts or records beside the metrics of an answer.
_BOOKKEEPING = ("num_", "finish_reason_", "training_")
_RECORDED = frozenset(("batch_size", "prompt_truncated", "predicted_index", "max_prob"))
# The model's own probability of its answer; it measures quality only where nothing else does.
_LOGPROB = "logprob"
# Lower is better according to the schemas of HELM 0.5.16.
_LOWER = frozenset(
    (
        *("perplexity", "bits_per_byte", "absolute_value_difference", "distance", "error_rate"),
        *("toxic_frac", "expected_max_toxicity", "max_toxicity_probability", "edit_similarity"),
        *("longest_common_prefix_length", "wer_score", "mer_score", "cer_score"),
        *("chinese_wer_score", "chinese_mer_score", "chinese_cer_score"),
        *("ece_1_bin", "ece_10_bin", "platt_ece_1_bin", "platt_ece_10_bin"),
        *("inference_denoised_runtime", "inference_idealized_runtime"),
    )
)


def _recognise(source: Source) -> float:
    return 0.95 if _are_entries(source.document_or_none()) else 0.0


def _are_entries(document: object) -> bool:
    return is_records(document) and document[0].keys() >= _ENTRY


def read_helm(source: Source) -> list[ScoreFile]:
    """Read ``per_instance_stats.json`` or ``display_predictions.json`` of a run of HELM.

    A query is an instance; its training trials are averaged, as HELM does. The instances of a
    perturbation are a pipeline of their own, because they are the same queries with other texts.
    Counts, such as ``num_prompt_tokens``, are details; ``inference_runtime`` is the latency.

    Raises
    ------
    ReaderError
        If the file is broken, or contains no score.
    ShapeError
        If an entry has another shape than HELM writes.
    """
    entries = check_records(source.document, "the file")
    trials = _trials_of(entries)
    run = check_object(document_beside(source, _RUN_SPEC), _RUN_SPEC)
    texts = _texts_beside(source)
    stem = text_or_none(run.get("name")) or run_name(source, *_USUAL_NAMES)
    kinds = list(dict.fromkeys(trial.perturbation for trial in trials))
    labels = distinct_names(f"{stem}, {_label(kind)}" if kind else stem for kind in kinds)
    spec = run.get("adapter_spec")
    config = spec if isinstance(spec, dict) else {}
    files = []
    for kind, name in zip(kinds, labels, strict=True):
        own = [trial for trial in trials if trial.perturbation == kind]
        files.append(_score_file(source, name, own, texts, config))
    return files


# -- entries


@dataclass
class _Trial:
    """What HELM measured of one instance in one training trial."""

    instance_id: str
    perturbation: str | None
    number: str
    values: dict[str, list[object]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


def _trials_of(entries: Iterable[JsonObject]) -> list[_Trial]:
    """The trials in the order of the file; each of HELM's metrics writes entries of its own."""
    trials: dict[tuple[str, str | None, str], _Trial] = {}
    for position, entry in enumerate(entries, 1):
        if not entry.keys() >= _ENTRY:
            missing = named(sorted(_ENTRY - entry.keys()))
            raise ShapeError(f"entry {position} is not a statistic of an instance: no {missing}")
        key = (
            str(entry["instance_id"]),
            json_text(entry.get("perturbation")),
            str(entry["train_trial_index"]),
        )
        trial = trials.setdefault(key, _Trial(*key))
        for name, value, details in _stats_of(entry["stats"], position):
            trial.values.setdefault(name, []).append(value)
            trial.details |= details
        if "predicted_text" in entry:
            trial.details |= _prediction(entry)
    return list(trials.values())


def _stats_of(stats: object, position: int) -> Iterator[tuple[str, object, dict[str, Any]]]:
    """The name of each statistic, its mean, and the split of its instance."""
    if isinstance(stats, dict):  # display_predictions.json
        yield from ((name, value, {}) for name, value in stats.items())
        return
    for stat in check_records(stats, f"stats of entry {position}"):
        name = stat.get("name")
        if not isinstance(name, dict) or not isinstance(name.get("name"), str):
            raise ShapeError(f"a statistic of entry {position} has no name")
        splits = {key: name[key] for key in ("split", "sub_split") if name.get(key) is not None}
        yield name["name"], stat.get("mean"), splits


def _label(perturbation: str | None) -> str:
    """The name of a perturbation, whose description is JSON."""
    _, _, rest = (perturbation or "").partition('"name": "')
    return rest.partition('"')[0] or "perturbed"


def _prediction(entry: Mapping[str, Any]) -> dict[str, Any]:
    shown = entry.get("truncated_predicted_text") or entry.get("predicted_text")
    return {"answer": shown, "mapped_output": entry.get("mapped_output")}


# -- texts


# The details of a trial by instance and perturbation, and by the trial as well.
_Texts = dict[tuple[str, ...], dict[str, Any]]


def _texts_beside(source: Source) -> _Texts:
    """The questions, references and answers that the run folder holds."""
    texts: _Texts = {}
    for instance in _records(document_beside(source, _INSTANCES)):
        texts[_key(instance, "id")] = _instance_texts(instance)
    for prediction in _records(document_beside(source, _PREDICTIONS)):
        trial = str(prediction.get("train_trial_index"))
        texts[*_key(prediction, "instance_id"), trial] = _prediction(prediction)
    if texts:
        return texts
    # Before helm-summarize, only this larger file has the texts.
    state = document_beside(source, _STATE)
    requests = state.get("request_states") if isinstance(state, dict) else None
    for request in _records(requests):
        evaluated = request.get("instance")
        if isinstance(evaluated, dict):
            key = _key(evaluated, "id")
            texts[key] = _instance_texts(evaluated)
            trial = str(request.get("train_trial_index"))
            texts.setdefault((*key, trial), {"answer": _completion(request.get("result"))})
    return texts


def _records(document: object) -> list[JsonObject]:
    return document if is_records(document) else []


def _key(entry: Mapping[str, Any], field_name: str) -> tuple[str, ...]:
    return str(entry.get(field_name)), str(json_text(entry.get("perturbation")))


def _instance_texts(instance: Mapping[str, Any]) -> dict[str, Any]:
    references = [
        _text(reference.get("output"))
        for reference in _records(instance.get("references"))
        if "correct" in (reference.get("tags") or ())
    ]
    return {
        "question": _text(instance.get("input")),
        "reference": references[0] if len(references) == 1 else references or None,
    }


def _text(value: object) -> str | None:
    text = value.get("text") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None


def _completion(result: object) -> str | None:
    completions = result.get("completions") if isinstance(result, dict) else None
    return _text(completions[0]) if is_records(completions) else None


# -- a pipeline


def _score_file(
    source: Source, name: str, trials: list[_Trial], texts: _Texts, config: JsonObject
) -> ScoreFile:
    scored = [_judgements(trial) for trial in trials]
    is_logprob_scored = {name for row in scored for name in row} <= {_LOGPROB, _LATENCY}
    if not is_logprob_scored:
        scored = [{name: row[name] for name in row if name != _LOGPROB} for row in scored]
    judged = judgement_columns(scored)
    if not judged.metrics:
        raise source.error(
            "none of HELM's statistics in this file is a score; expected metrics such as "
            f"exact_match. All statistics of a run are in {PER_INSTANCE_STATS}"
        )
    details = drop_empty(columns_of(_details(trial, texts, is_logprob_scored) for trial in trials))
    columns = {
        QUERY_ID: [trial.instance_id for trial in trials],
        **rename_clashes(details, judged.columns, "instance"),
        **judged.columns,
    }
    frame, repeats = average_repeats(frame_of(columns), QUERY_ID, judged.metrics)
    lower: Override = "lower"
    return ScoreFile(
        frame,
        name,
        metrics={metric: lower for metric in judged.metrics if metric in _LOWER},
        metric_columns=judged.metrics,
        notes=(*judged.notes, *repeats, *_notes(columns.get("split", ()))),
        config=config,
        is_one_pipeline=True,
        totals="keep",
    )


def _is_bookkeeping(name: str) -> bool:
    return name.startswith(_BOOKKEEPING) or name in _RECORDED


def _judgements(trial: _Trial) -> dict[str, Judgement]:
    judgements = {}
    for name, values in trial.values.items():
        if _is_bookkeeping(name):
            continue
        value = _mean(values)
        if name == _RUNTIME:
            seconds = number_or_none(value)
            value = value if seconds is None else seconds * _SECONDS
        is_empty = value is None
        key = _LATENCY if name == _RUNTIME else name
        judgements[key] = Judgement(value, _EMPTY if is_empty else None, is_empty)
    return judgements


def _mean(values: list[object]) -> object:
    """The mean of the values that several of HELM's metrics wrote under one name."""
    present = [value for value in values if value is not None]
    numbers = [number for value in present if (number := number_or_none(value)) is not None]
    if len(numbers) < len(present) or len(numbers) < 2:
        return present[0] if present else None
    return sum(numbers) / len(numbers)


def _details(trial: _Trial, texts: _Texts, is_logprob_scored: bool) -> dict[str, Any]:
    key = trial.instance_id, str(trial.perturbation)
    counts = {
        name: _mean(values)
        for name, values in trial.values.items()
        if _is_bookkeeping(name) or (name == _LOGPROB and not is_logprob_scored)
    }
    return {
        **texts.get(key, {}),
        **trial.details,
        **texts.get((*key, trial.number), {}),
        **counts,
    }


def _notes(splits: Iterable[object]) -> Iterator[str]:
    present = [str(split) for split in dict.fromkeys(map(json_text, splits)) if split]
    if len(present) > 1:
        yield (
            f"the queries are of the splits {named(present)}, which HELM reports one by one; "
            "the column 'split' divides them"
        )


HELM = Reader(
    "helm",
    "HELM: per_instance_stats.json or display_predictions.json of a run folder",
    _recognise,
    read_helm,
    ("encoding",),
    example=PER_INSTANCE_STATS,
)

"""HELM: the statistics per instance of a run, with its predictions and instances beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import json_text, number_or_none, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    at,
    document_beside,
    groups_of,
    part,
    run_name,
)
from rageval_report.readers.frameworks.rows import (
    SECONDS,
    Judgement,
    drop_empty,
    judge,
    judgement_columns,
    score_file,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of
from rageval_report.readers.run_folders import PER_INSTANCE_STATS
from rageval_report.scores.metric import Override
from rageval_report.types import JsonObject

_ENTRY = frozenset(("instance_id", "train_trial_index", "stats"))
_PREDICTIONS, _INSTANCES = "display_predictions.json", "instances.json"
_STATE, _RUN_SPEC = "scenario_state.json", "run_spec.json"
_RUNTIME = "inference_runtime"
# What HELM counts or records beside the metrics of an answer.
_BOOKKEEPING = ("num_", "finish_reason_", "training_")
_RECORDED = frozenset(("batch_size", "prompt_truncated", "predicted_index", "max_prob"))
# The model's own probability of its answer; it measures quality only where nothing else does.
_LOGPROB = "logprob"
# Lower is better according to the schemas of HELM 0.5.16.
_LOWER: dict[str, Override] = dict.fromkeys(
    (
        *("perplexity", "bits_per_byte", "absolute_value_difference", "distance", "error_rate"),
        *("toxic_frac", "expected_max_toxicity", "max_toxicity_probability", "edit_similarity"),
        *("longest_common_prefix_length", "wer_score", "mer_score", "cer_score"),
        *("chinese_wer_score", "chinese_mer_score", "chinese_cer_score"),
        *("ece_1_bin", "ece_10_bin", "platt_ece_1_bin", "platt_ece_10_bin"),
        *("inference_denoised_runtime", "inference_idealized_runtime"),
    ),
    "lower",
)
# An instance and its perturbation; for answers, the training trial too.
_Key = tuple[str, ...]


@dataclass
class _Trial:
    """What HELM measured of one instance in one training trial."""

    key: _Key
    values: dict[str, list[object]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    return SURE if is_records(document) and document[0].keys() >= _ENTRY else 0.0


def _read_helm(source: Source) -> list[ScoreFile]:
    """Read ``per_instance_stats.json`` or ``display_predictions.json`` of a run of HELM."""
    trials = _trials_of(check_records(source.document, "the file"))
    run = check_object(document_beside(source, _RUN_SPEC), _RUN_SPEC)
    texts = _texts_beside(source)
    stem = text_or_none(run.get("name")) or run_name(source, PER_INSTANCE_STATS, _PREDICTIONS)
    groups = groups_of(trials, lambda trial: trial.key[1])
    names = distinct_names(_label(stem, kind) for kind in groups)
    return [
        _pipeline(name, own, texts, part(run, "adapter_spec"))
        for name, own in zip(names, groups.values(), strict=True)
    ]


def _label(stem: str, perturbation: str) -> str:
    """The name of the pipeline of a perturbation, whose description is JSON."""
    name = perturbation.partition('"name": "')[2].partition('"')[0] or "perturbed"
    return stem if perturbation == "None" else f"{stem}, {name}"


# -- entries


def _trials_of(entries: Iterable[JsonObject]) -> list[_Trial]:
    """The trials in the order of the file; each of HELM's metrics writes entries of its own."""
    trials: dict[_Key, _Trial] = {}
    for position, entry in enumerate(entries, 1):
        if not entry.keys() >= _ENTRY:
            missing = named(sorted(_ENTRY - entry.keys()))
            raise ShapeError(f"entry {position} is not a statistic of an instance: no {missing}")
        key = (*_key(entry, "instance_id"), str(entry["train_trial_index"]))
        trial = trials.setdefault(key, _Trial(key))
        for name, value, details in _stats_of(entry["stats"], position):
            trial.values.setdefault(name, []).append(value)
            trial.details |= details
        if "predicted_text" in entry:
            trial.details |= _prediction(entry)
    return list(trials.values())


def _key(entry: Mapping[str, Any], name: str) -> _Key:
    return str(entry.get(name)), str(json_text(entry.get("perturbation")))


def _stats_of(stats: object, position: int) -> Iterator[tuple[str, object, dict[str, Any]]]:
    """The name of each statistic, its mean, and the split of its instance."""
    if isinstance(stats, dict):  # display_predictions.json
        yield from ((name, value, {}) for name, value in stats.items())
        return
    for stat in check_records(stats, f"stats of entry {position}"):
        name = part(stat, "name")
        if not isinstance(name.get("name"), str):
            raise ShapeError(f"a statistic of entry {position} has no name")
        splits = {key: name[key] for key in ("split", "sub_split") if name.get(key) is not None}
        yield name["name"], stat.get("mean"), splits


def _prediction(entry: Mapping[str, Any]) -> dict[str, Any]:
    shown = entry.get("truncated_predicted_text") or entry.get("predicted_text")
    return {"answer": shown, "mapped_output": entry.get("mapped_output")}


# -- texts


def _texts_beside(source: Source) -> dict[_Key, dict[str, Any]]:
    """The questions, references and answers that the run folder holds."""
    texts: dict[_Key, dict[str, Any]] = {}
    for instance in _records(document_beside(source, _INSTANCES)):
        texts[_key(instance, "id")] = _instance_texts(instance)
    for prediction in _records(document_beside(source, _PREDICTIONS)):
        trial = str(prediction.get("train_trial_index"))
        texts[*_key(prediction, "instance_id"), trial] = _prediction(prediction)
    if texts:
        return texts
    # Before helm-summarize, only this larger file has the texts.
    for request in _records(at(document_beside(source, _STATE), "request_states")):
        evaluated, trial = request.get("instance"), str(request.get("train_trial_index"))
        if isinstance(evaluated, dict):
            texts[_key(evaluated, "id")] = _instance_texts(evaluated)
            completions = _records(at(request, "result.completions"))
            answer = {"answer": _text(completions[0]) if completions else None}
            texts.setdefault((*_key(evaluated, "id"), trial), answer)
    return texts


def _records(document: object) -> list[JsonObject]:
    return document if is_records(document) else []


def _instance_texts(instance: Mapping[str, Any]) -> dict[str, Any]:
    references = [
        _text(reference.get("output"))
        for reference in _records(instance.get("references"))
        if "correct" in (reference.get("tags") or ())
    ]
    reference = references[0] if len(references) == 1 else references or None
    return {"question": _text(instance.get("input")), "reference": reference}


def _text(value: object) -> str | None:
    text = value.get("text") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None


# -- a pipeline


def _pipeline(
    name: str, trials: Sequence[_Trial], texts: Mapping[_Key, dict[str, Any]], config: JsonObject
) -> ScoreFile:
    scored = [_judgements(trial) for trial in trials]
    is_logprob_scored = {each for row in scored for each in row} <= {_LOGPROB, "latency_ms"}
    details = [
        {
            **texts.get(trial.key[:2], {}),
            **trial.details,
            **texts.get(trial.key, {}),
            **{key: _mean(values) for key, values in trial.values.items() if _is_recorded(key)},
        }
        for trial in trials
    ]
    if not is_logprob_scored:
        for row, own in zip(scored, details, strict=True):
            if _LOGPROB in row:
                own[_LOGPROB] = row.pop(_LOGPROB).score
    splits = dict.fromkeys(json_text(row.get("split")) for row in details)
    present = [split for split in splits if split]
    note = (
        f"the queries are of the splits {named(present)}, which HELM reports one by one; "
        "the column 'split' divides them"
    )
    return score_file(
        name,
        judgement_columns(scored),
        drop_empty(columns_of(details)),
        ids=[trial.key[0] for trial in trials],
        origin="instance",
        metrics=_LOWER,
        notes=[note] if len(present) > 1 else (),
        config=config,
        is_one_pipeline=True,
        empty=(
            "none of HELM's statistics in this file is a score; expected metrics such as "
            f"exact_match. All statistics of a run are in {PER_INSTANCE_STATS}"
        ),
    )


def _is_recorded(name: str) -> bool:
    return name.startswith(_BOOKKEEPING) or name in _RECORDED


def _judgements(trial: _Trial) -> dict[str, Judgement]:
    judgements = {}
    for name, values in trial.values.items():
        value = _mean(values)
        if name == _RUNTIME:
            name, seconds = "latency_ms", number_or_none(value)
            value = value if seconds is None else seconds * SECONDS
        if not _is_recorded(name):
            judgements[name] = judge(value, None, "HELM computed no value (count 0)")
    return judgements


def _mean(values: list[object]) -> object:
    """The mean of the values that several of HELM's metrics wrote under one name."""
    present = [value for value in values if value is not None]
    numbers = [number for value in present if (number := number_or_none(value)) is not None]
    if len(numbers) < len(present) or len(numbers) < 2:
        return present[0] if present else None
    return sum(numbers) / len(numbers)


HELM = Reader(
    "helm",
    "HELM: per_instance_stats.json or display_predictions.json of a run folder",
    _recognise,
    _read_helm,
    ("encoding",),
    example=PER_INSTANCE_STATS,
)

"""Harnesses that run benchmarks: HELM, lm-evaluation-harness and verifiers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.errors import RagevalError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile, distinct_names
from rageval_report.readers.cell_values import is_blank, json_text, parse_objects, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    at,
    described,
    document_beside,
    first_fields,
    groups_of,
    list_at,
    part,
    read_rows,
    reader_of,
    reader_of_frames,
    run_name,
    without,
)
from rageval_report.readers.frameworks.rows import (
    Judgement,
    drop_empty,
    judgement_columns,
    last_line,
    message_text,
    overrides_of,
    rename_clashes,
    score_file,
    texts_of_ids,
    time_in,
    times,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, rows_of
from rageval_report.readers.run_folders import PER_INSTANCE_STATS, ROLLOUTS, TRACES
from rageval_report.scores.metric import Catalogue, Override
from rageval_report.scores.query_ids import QUERY_ID, QUESTION, first_named, id_column_of
from rageval_report.types import JsonObject

# -- HELM

_HELM = described("helm")
_PREDICTIONS, _INSTANCES, _RUN_SPEC = "display_predictions.json", "instances.json", "run_spec.json"
# The model's own probability of its answer; it measures quality only where nothing else does.
_LOGPROB = "logprob"
# An instance and its perturbation; for answers, the training trial too.
_Key = tuple[str, ...]


@dataclass
class _Trial:
    """What HELM measured of one instance in one training trial."""

    scores: list[JsonObject] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)


def _is_helm(source: Source) -> float:
    document = source.document_or_none()
    return SURE if is_records(document) and document[0].keys() >= _HELM["entry"] else 0.0


def _read_helm(source: Source) -> list[ScoreFile]:
    """Read ``per_instance_stats.json`` or ``display_predictions.json`` of a run of HELM."""
    trials = _trials_of(check_records(source.document, "the file"))
    run = check_object(document_beside(source, _RUN_SPEC), _RUN_SPEC)
    stem = text_or_none(run.get("name")) or run_name(source, PER_INSTANCE_STATS, _PREDICTIONS)
    groups = groups_of(trials, lambda key: key[1])
    # The description of a perturbation is JSON.
    labels = {kind: kind.partition('"name": "')[2].partition('"')[0] for kind in groups}
    names = distinct_names(
        stem if kind == "None" else f"{stem}, {labels[kind] or 'perturbed'}" for kind in groups
    )
    texts, config = _texts_beside(source), part(run, "adapter_spec")
    return [
        _helm_file(name, {key: trials[key] for key in own}, texts, config)
        for name, own in zip(names, groups.values(), strict=True)
    ]


def _trials_of(entries: Iterable[JsonObject]) -> dict[_Key, _Trial]:
    """The trials in the order of the file; each of HELM's metrics writes entries of its own."""
    trials: dict[_Key, _Trial] = {}
    for position, entry in enumerate(entries, 1):
        if not entry.keys() >= _HELM["entry"]:
            missing = named(sorted(_HELM["entry"] - entry.keys()))
            raise ShapeError(f"entry {position} is not a statistic of an instance: no {missing}")
        key = (*_key(entry, "instance_id"), str(entry["train_trial_index"]))
        trial = trials.setdefault(key, _Trial())
        for name, value, split in _stats_of(entry["stats"], position):
            trial.details |= split
            if (
                name.startswith(("num_", "finish_reason_", "training_"))
                or name in _HELM["recorded"]
            ):
                trial.details[name] = value
            elif name == "inference_runtime":
                trial.scores.append({"name": "latency_ms", "score": times(value)})
            else:
                trial.scores.append({"name": name, "score": value})
        if "predicted_text" in entry:
            trial.details |= _prediction(entry)
    return trials


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
    state = document_beside(source, "scenario_state.json")
    for request in _records(at(state, "request_states")):
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


def _helm_file(
    name: str, trials: Mapping[_Key, _Trial], texts: Mapping[_Key, JsonObject], config: JsonObject
) -> ScoreFile:
    scored = {score["name"] for trial in trials.values() for score in trial.scores}
    if not scored:
        raise ShapeError(
            "none of HELM's statistics in this file is a score; expected metrics such as "
            f"exact_match. All statistics of a run are in {PER_INSTANCE_STATS}"
        )
    rows: list[dict[str, Any]] = []
    for key, trial in trials.items():
        scores, details = trial.scores, {**texts.get(key[:2], {}), **trial.details}
        if scored - {_LOGPROB, "latency_ms"}:
            details |= {s["name"]: s["score"] for s in scores if s["name"] == _LOGPROB}
            scores = [score for score in scores if score["name"] != _LOGPROB]
        details |= texts.get(key, {})
        rows.append({QUERY_ID: key[0], "scores": scores, "details": details})
    splits = dict.fromkeys(json_text(row["details"].get("split")) for row in rows)
    present = [split for split in splits if split]
    note = (
        f"the queries are of the splits {named(present)}, which HELM reports one by one; "
        "the column 'split' divides them"
    )
    return _STATS.score_file(name, rows, [note] if len(present) > 1 else (), config)


_STATS = Format.of("helm", metrics=dict.fromkeys(_HELM["lower"], "lower"))
HELM = reader_of("helm", _is_helm, _read_helm)


# -- lm-evaluation-harness

# The rows of one document, by the filter that was applied to its answer before scoring.
_Document = Mapping[str, JsonObject]

_LM_EVAL = described("lm_eval")
_NO_FILTER = "none"
# lm-eval keeps each data set's own names: problem (MATH), ctx (HellaSwag), goal (PIQA), premise
# (COPA, NLI).
_QUESTIONS = (*QUESTION, "problem", "prompt", "ctx", "goal", "sentence", "premise")
_TAKEN = frozenset((QUERY_ID, "question", "answer", "reference", "doc_id"))
# The time of the run ends the names of all files that it wrote.
_TIME = re.compile(r"_(?P<time>\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?)$")
_LARGEST = 1 << 26  # results files are small; a larger file is something else


def _read_lm_eval(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read the samples of a task: one pipeline."""
    rows = _lines_of(frame)
    filters = list(dict.fromkeys(map(_filter_of, rows)))
    documents = _documents(rows)
    names = _metrics_of(rows)
    scored = [name for name, is_scored in names.items() if is_scored]
    if not scored:
        raise ShapeError(
            f"the metrics {named(names)} have no scores of documents; was the run made with "
            "--predict_only, or does the metric need all documents at once?"
        )
    several = len(filters) > 1
    columns = {
        (f"{metric}({name})" if several else metric): (metric, name)
        for metric in scored
        for name in filters
    }
    judged = judgement_columns(
        {
            column: Judgement(document.get(name, {}).get(metric))
            for column, (metric, name) in columns.items()
        }
        for document in documents
    )
    pipeline, directions, notes = _results_beside(source, scored, len(documents))
    details, ids, id_note = _document_details(documents)
    unscored = [name for name in names if name not in scored]
    if several:
        notes.append(f"the scores of each filter are a metric of their own: {named(filters)}")
    elif filters != [_NO_FILTER]:
        notes.append(f"answers were scored after the filter {filters[0]!r}")
    if unscored:
        notes.append(f"left out, because they have no scores of documents: {named(unscored)}")
    return [
        score_file(
            pipeline or source.stem,
            judged,
            details,
            ids=ids,
            origin="doc",
            metrics=overrides_of(
                lambda name, scores: _override(columns[name][0], name, scores, directions), judged
            ),
            notes=(id_note, *notes),
            averages=False,
        )
    ]


def _lines_of(frame: pd.DataFrame) -> list[JsonObject]:
    """The lines; in a CSV their objects are texts."""
    objects = ("doc", "arguments", "resps", "filtered_resps", "metrics")
    columns = {str(name): frame[name].tolist() for name in frame}
    columns |= {name: parse_objects(columns[name]) for name in objects if name in columns}
    return [
        {name: cell for name, cell in row.items() if not is_blank(cell)} for row in rows_of(columns)
    ]


def _filter_of(row: JsonObject) -> str:
    return str(row.get("filter", _NO_FILTER))


def _documents(rows: Iterable[JsonObject]) -> list[_Document]:
    """The rows of each document, by filter; ``doc_id`` is the document's number in the task."""
    documents: list[_Document] = []
    for doc_id, own in groups_of(rows, lambda row: str(row.get("doc_id"))).items():
        by_filter = groups_of(own, _filter_of)
        repeated = next((name for name, lines in by_filter.items() if len(lines) > 1), None)
        # Averaging two runs as repeats would be a silent mistake.
        if repeated is not None:
            raise ShapeError(
                f"doc_id {doc_id} appears twice with the filter {repeated!r}; does the file "
                "contain two runs or tasks? Read each by itself"
            )
        documents.append({name: lines[0] for name, lines in by_filter.items()})
    return documents


def _metrics_of(rows: Iterable[JsonObject]) -> dict[str, bool]:
    """The metrics, and whether each has scores of documents."""
    metrics: dict[str, bool] = {}
    for row in rows:
        for name in _names_in(row):
            is_score = name in row and not isinstance(row[name], list | tuple | dict)
            # lm-eval writes "bypass" with --predict_only, which scores nothing.
            metrics[name] = metrics.get(name, False) or (is_score and name != "bypass")
    return metrics


def _names_in(row: JsonObject) -> list[str]:
    """The metrics that a line lists; in older ones, which do not, every other number is one."""
    listed = row.get("metrics")
    if isinstance(listed, list):
        return list(map(str, listed))
    others = without(row, _LM_EVAL["own"])
    return [name for name, cell in others.items() if isinstance(cell, bool | int | float)]


def _override(
    metric: str, column: str, scores: Sequence[float], directions: Mapping[str, Any]
) -> Override | None:
    """The direction in the results file, and what the catalogue knows of the metric."""
    override: dict[str, Any] = {}
    known = Catalogue().find(metric)
    if known is not None and column != metric:
        fields = ("group", "kind", "greater_is_better", "bounds", "description", "source")
        override = {name: getattr(known, name) for name in fields}
    # Some tasks compute the same metric as a percentage.
    is_share = known is not None and known.bounds == (0.0, 1.0)
    if is_share and any(1 < score <= 100 for score in scores):
        override |= {"bounds": (0.0, 100.0), "kind": "real"}
    if isinstance(directions.get(metric), bool):
        override["greater_is_better"] = directions[metric]
    return override or None


def _results_beside(
    source: Source, metrics: Collection[str], n_documents: int
) -> tuple[str | None, Mapping[str, Any], list[str]]:
    """The pipeline and its directions, from the file of the same time in the samples' folder."""
    documents = [
        (path, document)
        for path in _candidates(source)
        if (document := _results_in(path)) is not None
    ]
    # Of several results it is not known which belong to these samples.
    if len(documents) != 1:
        return None, {}, []
    [(path, document)] = documents
    directions = document["higher_is_better"]
    stem = f"{source.stem}_".removeprefix("samples_")
    fitting = [str(task) for task in directions if set(metrics) <= set(directions[task])]
    by_name = [task for task in fitting if stem.startswith(f"{task}_")]
    if not by_name and len(fitting) != 1:
        note = f"{path.name} in the same folder is for another task and is not used"
        return None, {}, [note]
    # The longest, because one task's name may begin another's: mmlu and mmlu_anatomy.
    task = max(by_name or fitting, key=len)
    model = text_or_none(document.get("model_name"))
    notes = [f"directions and the pipeline's name come from {path.name} in the same folder"]
    n = at(part(part(document, "n-samples"), task), "effective")
    if n not in (None, n_documents):
        notes.append(
            f"the file contains {n_documents} documents; the results in the same folder say that "
            f"{n} were evaluated"
        )
    return (f"{task}:{model}" if model else task), directions[task], notes


def _candidates(source: Source) -> list[Path]:
    if source.folder is None:
        return []
    time = _TIME.search(source.stem)
    ending = "results*.json" if time is None else f"*_{time['time']}.json"
    try:
        paths = sorted(source.folder.glob(ending))
        return [path for path in paths if path.is_file() and path.stat().st_size <= _LARGEST]
    except OSError:
        return []


def _results_in(path: Path) -> JsonObject | None:
    """The results in a file; None if it contains anything else."""
    try:
        document = Source(path).document_or_none()
    except RagevalError:
        return None
    directions = part(document, "higher_is_better")
    has_directions = all(isinstance(by_metric, dict) for by_metric in directions.values())
    are_results = isinstance(at(document, "results"), dict) and directions and has_directions
    return document if isinstance(document, dict) and are_results else None


def _document_details(documents: Sequence[_Document]) -> tuple[CellsByColumn, list[str], str]:
    """The details of the documents, their ids, and a note on the ids."""
    firsts = [next(iter(document.values())) for document in documents]
    fields = columns_of({str(k): v for k, v in part(row, "doc").items()} for row in firsts)
    question = first_named(fields, _QUESTIONS)
    texts = fields.get(question or "", [None] * len(firsts))
    own: CellsByColumn = {
        "question": [
            text if isinstance(text, str) else _first_text(row.get("arguments"))
            for text, row in zip(texts, firsts, strict=True)
        ],
        "answer": [_first_text(row.get("resps")) for row in firsts],
        "reference": [row.get("target") for row in firsts],
        "doc_id": [row.get("doc_id") for row in firsts],
    }
    key, ids, note = _document_ids(firsts, fields)
    used = {key, *(name for name in fields if fields[name] == own["question"])}
    answers = columns_of(
        {
            f"filtered_resps({name})": _first_text(row.get("filtered_resps"))
            for name, row in document.items()
            if name != _NO_FILTER
        }
        for document in documents
    )
    # The other fields that a task writes, such as labels.
    rest = columns_of(without(row, {*_LM_EVAL["own"], *_names_in(row)}) for row in firsts)
    details = drop_empty({**own, **answers})
    details |= rename_clashes(rest, {*details, *_TAKEN}, "line")
    return details | rename_clashes(without(fields, used), {*details, *_TAKEN}, "doc"), ids, note


def _document_ids(rows: Sequence[JsonObject], fields: CellsByColumn) -> tuple[str, list[str], str]:
    """The field of the ids, the ids and a note: an id in each document, else its hash or number."""
    key = id_column_of(fields) or ""
    ids = texts_of_ids(fields.get(key))
    if ids and len(set(ids)) == len(ids):
        return key, ids, f"query ids are taken from doc.{key}"
    hashes = [row.get("doc_hash") for row in rows]
    if all(isinstance(digest, str) and digest for digest in hashes):
        # A document's number depends on the data set around it, its hash on the document alone.
        return "", distinct_names(map(str, hashes)), "query ids are the hashes of documents"
    note = "query ids are the documents' numbers in the task, as an older lm-eval writes no hashes"
    return "", [str(row.get("doc_id")) for row in rows], note


def _first_text(value: object) -> str | None:
    """The first text in lists and objects of any depth; None if another value comes first."""
    while isinstance(value, list | tuple | dict) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return value if isinstance(value, str) else None


LM_EVAL = reader_of_frames(
    "lm_eval", lambda names: SURE if names >= _LM_EVAL["line"] else 0.0, _read_lm_eval
)


# -- verifiers: rollouts

_REWARD, _METADATA, _IDS = "reward", "metadata.json", ("example_id", "id")
_FIELDS = described("verifiers")["fields"]


def _is_count(name: str) -> bool:
    """Whether a metric counts turns, calls or tokens, as the monitors of environments do."""
    counts = ("_calls", "_count", "_tokens", "_turns")
    return name.startswith(("num_", "total_", "n_")) or name.endswith(counts)


def _row(
    query_id: object,
    scores: Mapping[str, Any],
    names: Iterable[str],
    error: str | None,
    details: Mapping[str, Any],
) -> JsonObject:
    """A row of the table; all scores have failed after an error, for which verifiers writes 0."""
    failure = Judgement(None, error, is_failed=True)
    judged = {name: failure if error else scores.get(name) for name in names}
    return {QUERY_ID: str(query_id), "scores": judged, "details": {"error": error, **details}}


def _notes(what: str, rows: Sequence[JsonObject], functions: Sequence[str]) -> Iterator[str]:
    n_failed = sum(row["details"]["error"] is not None for row in rows)
    if n_failed:
        yield f"{n_failed} of {len(rows)} {what} ended in an error; their scores do not count"
    if functions:
        yield f"{_REWARD!r} is the weighted sum of functions of the rubric: {named(functions)}"


def _are_rollouts(source: Source) -> float:
    names = first_fields(source)
    return SURE if {"prompt", "completion", _REWARD} <= names and names & {*_IDS} else 0.0


def _read_rollouts(source: Source) -> list[ScoreFile]:
    """Read ``results.jsonl`` of an evaluation; the rollouts of an example are averaged."""
    rollouts = read_rows(source)
    names = _rollout_metrics(rollouts)
    key = next((name for name in _IDS if name in rollouts[0]), _IDS[0])
    rows = []
    for position, row in enumerate(rollouts, 1):
        inner = check_object(row.get("metrics"), f"metrics of rollout {position}")
        if not isinstance(row.get(key), str | int):
            raise ShapeError(f"rollout {position} has no {key}; expected the number of its example")
        error, every = row.get("error"), {**inner, **row}
        used = {*names, *_IDS, "metrics", "prompt", "completion", "answer", "error"}
        details = {
            "question": message_text(row.get("prompt")),
            "answer": message_text(row.get("completion"), "assistant"),
            "reference": row.get("answer"),
            **without(every, used),
        }
        message = last_line(
            at(error, "error_chain_repr|error") if isinstance(error, dict) else error
        )
        rows.append(_row(row[key], every, names, message, details))
    settings = check_object(document_beside(source, _METADATA), _METADATA)
    parts = [text_or_none(settings.get(key)) for key in ("env_id", "model")]
    pipeline = ":".join(part for part in parts if part) or run_name(source, ROLLOUTS)
    config = {key: settings[key] for key in settings if not key.startswith("avg_")}
    notes, created = _notes("rollouts", rows, names[1:]), time_in(settings.get("date"))
    return [_ROLLOUTS.score_file(pipeline, rows, notes, config, created)]


def _rollout_metrics(rollouts: Sequence[JsonObject]) -> list[str]:
    """The reward, and the functions of the rubric that are not counts."""
    names = {_REWARD: None}
    for row in rollouts:
        inner = row.get("metrics")
        # Rollouts of older versions have the functions as fields of their own only.
        fields = inner if isinstance(inner, dict) else without(row, _FIELDS)
        numbers = (str(name) for name, value in fields.items() if isinstance(value, int | float))
        names |= {name: None for name in numbers if not _is_count(name)}
    return list(names)


def _higher(_name: str, _scores: Sequence[float]) -> Override:
    return "higher"


_ROLLOUTS = Format.of("verifiers", metrics=_higher)
VERIFIERS = reader_of("verifiers", _are_rollouts, _read_rollouts)


# -- verifiers: traces

_OF_TASKS = described("verifiers_traces")


def _are_traces(source: Source) -> float:
    return 0.96 if {"task", "traces", "env", "ok"} <= first_fields(source) else 0.0


def _read_traces(source: Source) -> list[ScoreFile]:
    """Read ``traces.jsonl`` of an evaluation with verifiers: one pipeline per agent."""
    episodes = read_rows(source)
    traces = [_traces_of(episode, number) for number, episode in enumerate(episodes, 1)]
    agents = list(dict.fromkeys(name for each in traces for name, _ in each))
    if not agents:
        raise ShapeError("no episode has a trace, so the file holds no scores")
    return [_read_agent(source, episodes, traces, agent, agents) for agent in agents]


def _traces_of(episode: JsonObject, number: int) -> list[tuple[str, JsonObject]]:
    """The traces of an episode, each with the name of its agent."""
    listed = episode.get("traces")
    if not isinstance(listed, list):
        raise ShapeError(f"traces of episode {number} must be a list")
    traces = [check_object(trace, f"a trace of episode {number}") for trace in listed]
    return [(str(part(trace, "agent").get("name") or "agent"), trace) for trace in traces]


def _read_agent(
    source: Source,
    episodes: Sequence[JsonObject],
    traces: Sequence[Sequence[tuple[str, JsonObject]]],
    agent: str,
    agents: Sequence[str],
) -> ScoreFile:
    """The pipeline of one agent; an episode without traces is a failed row of each agent."""
    places: list[tuple[int, JsonObject]] = []
    for place, each in enumerate(traces):
        mine = [trace for name, trace in each if name == agent]
        places += [(place, trace) for trace in (mine or ([] if each else [episodes[place]]))]
    own = [trace for _, trace in places]
    rewards = dict.fromkeys(name for trace in own for name in part(trace, "rewards"))
    metrics = dict.fromkeys(name for trace in own for name in part(trace, "metrics"))
    names = list({_REWARD: None, **rewards} | {n: None for n in metrics if not _is_count(n)})
    rows = [_trace_row(episodes[place], place + 1, trace, names) for place, trace in places]
    models = [text_or_none(part(trace, "agent.config").get("model")) for trace in own]
    environment = text_or_none(part(episodes[0], "env").get("id"))
    known = [name for name in (environment, next(filter(None, models), None)) if name]
    label = [*(known or [run_name(source, TRACES)]), *([agent] if len(agents) > 1 else [])]
    notes = _notes("traces", rows, list(rewards) if len(rewards) > 1 else [])
    return _TRACES.score_file(":".join(label), rows, notes)


def _trace_row(
    episode: JsonObject, number: int, trace: JsonObject, names: Sequence[str]
) -> JsonObject:
    task = check_object(episode.get("task"), f"task of episode {number}")
    task = {**part(task, "data"), **{key: task[key] for key in ("key", "hash") if key in task}}
    # The fields of a task by which its episodes belong together, the surest first.
    ids = (
        task[key] for key in ("id", "idx", "key", "hash") if isinstance(task.get(key), str | int)
    )
    query_id = next(ids, message_text(task.get("prompt")))
    if query_id is None:
        raise ShapeError(f"the task of episode {number} has no id, idx, key or prompt")
    error = _trace_error(trace)
    messages = [part(node, "message") for node in list_at(trace, "nodes")]
    reply = text_or_none(trace.get("root_reply"))
    details = {
        "question": message_text(task.get("prompt")),
        "answer": reply or message_text(messages, "assistant"),
        "reference": json_text(task.get("answer")),
        **without(part(trace, "metrics"), names),
        **{name: trace[name] for name in trace if name in _OF_TASKS["spent"]},
        **without(task, _OF_TASKS["not_details"]),
    }
    return _row(query_id, {} if error else _trace_scores(trace), names, error, details)


def _trace_scores(trace: JsonObject) -> dict[str, Any]:
    """The metrics, the functions of the rubric, and their weighted sum."""
    scores: dict[str, Any] = dict(part(trace, "metrics"))
    total: float | None = 0.0
    rewards = part(trace, "rewards")
    for name, reward in rewards.items():
        if reward is None:
            total = scores[name] = None
            continue
        fields = check_object(reward, f"rewards.{name}")
        score, weight = fields.get("score"), fields.get("weight", 1.0)
        if not isinstance(score, int | float) or not isinstance(weight, int | float):
            raise ShapeError(f"rewards.{name} must have a score and a weight; got {reward!r:.60}")
        scores[name] = score
        total = None if total is None else total + score * weight
    return {**scores, _REWARD: total if rewards else None}


def _trace_error(trace: Mapping[str, Any]) -> str | None:
    """Why a trace, or an episode, is not ok; None if it is."""
    if trace.get("ok") is True:
        return None
    last = (list_at(trace, "errors") or [None])[-1]
    if isinstance(last, dict):
        parts = [text_or_none(last.get(key)) for key in ("type", "message")]
        return ": ".join(part for part in parts if part) or "verifiers recorded an error"
    return text_or_none(trace.get("stop_condition")) or "the trace is not complete"


_TRACES = Format.of("verifiers_traces", metrics=_higher)
VERIFIERS_TRACES = reader_of("verifiers_traces", _are_traces, _read_traces)

"""Haystack's reports of evaluation runs: one run a table, two runs in one, and dumped results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile, distinct_names, id_columns
from rageval_report.readers.cell_values import parse_list_columns
from rageval_report.readers.frameworks.blank_scores import mark_blank_scores
from rageval_report.readers.json_shapes import ShapeError, check_object, is_records
from rageval_report.readers.record_columns import frame_of, score_columns
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Catalogue
from rageval_report.types import JsonObject

# How Haystack's evaluators name what they are given: plurals, as no other framework's columns are.
_INPUTS = frozenset(
    "questions predicted_answers ground_truth_answers true_answers responses "
    "ground_truth_documents retrieved_documents".split()
)
_LISTS = (
    *("contexts", "retrieved_documents", "ground_truth_documents", "predicted_answers"),
    *("responses", "answers", "replies", "ground_truth_answers", "true_answers"),
    *("retrieved_contexts", "ground_truth_contexts"),
)
_AGGREGATED = frozenset(("metrics", "score"))
_AGGREGATES = (
    "this is Haystack's aggregated report, one mean a metric; expected one row a query. Write "
    "what detailed_report() gives instead"
)
_NO_INPUTS = (
    "these are results of Haystack's evaluators without the inputs, so nothing tells which query "
    "a score is of; write what EvaluationRunResult.detailed_report() gives instead"
)
_METRIC = "metric_"  # what some put before the names of metrics


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    if _runs(document) or _is_results(document):
        return 0.95
    header = header_of(source)
    if _is_aggregated(header):
        return 0.95
    if "questions" not in header and "question" not in header:
        return 0.0
    pairs = _pairs(header)
    names = {*header, *(name for pair in pairs for name in pair.suffixes)}
    return 0.95 if len(names & _INPUTS) > (0 if pairs else 1) else 0.0


def _is_aggregated(header: Sequence[str]) -> bool:
    """Whether it is a table of means; a column of row numbers may stand before them."""
    return set(header) >= _AGGREGATED and len(header) <= 3


def read_haystack(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> list[ScoreFile]:
    """Read a report of Haystack, or ``EvaluationRunResult`` objects dumped as JSON.

    A ``detailed_report`` is one pipeline; a ``comparative_detailed_report`` is two, told apart by
    the names that stand before their columns; of dumped results each is one. There are no ids
    unless an input holds them: the text of the question makes them. A score that is NaN or blank
    failed. An aggregated report holds no score of a query and is refused.

    Parameters
    ----------
    source : Source
        The file.
    columns : iterable of str, optional
        Which columns to read besides the ids, of tables.
    query_id : str, optional
        The column of ids.

    Raises
    ------
    ReaderError
        If it is no such report, or only means.
    ShapeError
        If a part of a dumped result is of another shape; `read` tells of which file.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> report = {"questions": ["Who?"], "predicted_answers": ["He."], "sas": [0.5]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "hyde.json"
    ...     _ = path.write_text(json.dumps(report))
    ...     [found] = read_haystack(Source(path))
    >>> found.pipeline, list(found.frame)
    ('hyde', ['questions', 'predicted_answers', 'sas'])
    """
    document = source.document_or_none()
    runs = _runs(document)
    if runs:
        names = distinct_names(str(run.get("run_name") or source.stem) for run in runs)
        return [_of_run(name, run, query_id) for name, run in zip(names, runs, strict=True)]
    if _is_results(document):
        raise source.error(_NO_INPUTS)
    header = header_of(source)
    if _is_aggregated(header):
        raise source.error(_AGGREGATES)
    table = read_table(source, columns=columns, query_id=query_id)
    pairs = _pairs(tuple(map(str, table.frame)))
    if pairs:
        return _of_two(table, pairs[0], query_id)
    return [_checked(table, table.frame, query_id)]


# -- results dumped as JSON


def _runs(document: object) -> list[JsonObject]:
    """The dumped runs: one, or a list of them."""
    found: list[Any] = document if isinstance(document, list) else [document]
    are_runs = is_records(found) and all(
        isinstance(run.get("inputs"), dict) and _is_results(run.get("results")) for run in found
    )
    return found if are_runs else []


def _is_results(document: object) -> bool:
    """Whether this is what evaluators give, by metric."""
    return (
        isinstance(document, dict)
        and bool(document)
        and all(isinstance(one, dict) and "individual_scores" in one for one in document.values())
    )


def _of_run(name: str, run: JsonObject, query_id: str | None) -> ScoreFile:
    inputs = {key: _list(cells, f"inputs.{key}") for key, cells in run["inputs"].items()}
    results = check_object(run["results"], "results")
    scores = {
        metric: _list(
            check_object(one, metric).get("individual_scores"), f"{metric}.individual_scores"
        )
        for metric, one in results.items()
    }
    lengths = {len(cells) for cells in (*inputs.values(), *scores.values())}
    if len(lengths) != 1 or lengths == {0}:
        raise ShapeError(
            f"the inputs and individual_scores of {name!r} must be lists of one length, one entry "
            f"a query; got lengths {named(sorted(lengths))}"
        )
    columns = {(f"inputs.{key}" if key in scores else key): cells for key, cells in inputs.items()}
    for metric, cells in scores.items():
        columns |= score_columns(metric, cells)
        told = check_object(results[metric], metric).get("results")
        if isinstance(told, list) and len(told) == len(cells):
            columns[f"{metric}_details"] = told
    table = ScoreFile(frame_of(columns, query_id), name, metric_columns=tuple(scores))
    return _checked(table, table.frame, query_id)


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ShapeError(f"{what} must be a list, one entry a query")
    return value


# -- two runs in one table


class _Pair(NamedTuple):
    """The names of two runs, and the columns that both have."""

    first: str
    second: str
    suffixes: tuple[str, ...]


def _pairs(header: Iterable[str]) -> list[_Pair]:
    """The ways to read the header as that of two runs, the best first.

    Haystack writes ``<run>_<column>``, and the names of runs may hold underscores as well. The
    best way covers most columns; of equal ones it has the most names that are known.
    """
    catalogue = Catalogue()
    names = [name for name in header if catalogue.find(name) is None and name not in _INPUTS]
    ranked = []
    for first, second, suffixes in _alike(_by_prefix(names)):
        n_known = sum(_is_known(suffix, catalogue) for suffix in suffixes)
        if n_known:
            in_order = sorted((first, second), key=lambda run: names.index(f"{run}_{suffixes[0]}"))
            pair = _Pair(in_order[0], in_order[1], tuple(suffixes))
            ranked.append((len(suffixes), n_known, -len(first), pair))
    ranked.sort(key=lambda one: one[:3], reverse=True)
    return [pair for *_, pair in ranked]


def _by_prefix(names: Iterable[str]) -> dict[str, dict[str, None]]:
    """What may be the name of a run, with the columns that it would have."""
    found: dict[str, dict[str, None]] = {}
    for name in names:
        for place in range(1, len(name) - 1):
            if name[place] == "_":
                found.setdefault(name[:place], {})[name[place + 1 :]] = None
    return found


def _alike(by_prefix: Mapping[str, dict[str, None]]) -> Iterable[tuple[str, str, list[str]]]:
    """The pairs of prefixes with the same columns; one may be the beginning of the other."""
    by_suffixes: dict[frozenset[str], list[str]] = {}
    for prefix, suffixes in by_prefix.items():
        by_suffixes.setdefault(frozenset(suffixes), []).append(prefix)
        for place in range(1, len(prefix) - 1):
            shorter, longer = prefix[:place], prefix[place + 1 :]
            if prefix[place] == "_" and shorter in by_prefix:
                own = [one for one in by_prefix[shorter] if not one.startswith(f"{longer}_")]
                if set(own) == set(suffixes):
                    yield shorter, prefix, own
    for prefixes in by_suffixes.values():
        if len(prefixes) == 2:
            yield prefixes[0], prefixes[1], list(by_prefix[prefixes[0]])


def _is_known(suffix: str, catalogue: Catalogue) -> bool:
    return suffix in _INPUTS or catalogue.find(suffix.removeprefix(_METRIC)) is not None


def _of_two(table: ScoreFile, pair: _Pair, query_id: str | None) -> list[ScoreFile]:
    """Both runs: the columns that they share, and each its own."""
    theirs = {f"{run}_{suffix}" for run in (pair.first, pair.second) for suffix in pair.suffixes}
    shared = [name for name in map(str, table.frame) if name not in theirs]
    note = (
        f"two runs are told apart by the names before their columns: {pair.first!r} and "
        f"{pair.second!r}; Haystack pairs their rows by position"
    )
    found = []
    for run in (pair.first, pair.second):
        own = {f"{run}_{suffix}": _own_name(suffix, pair, shared) for suffix in pair.suffixes}
        frame = table.frame[[*shared, *own]].rename(columns=own)
        part = replace(table, pipeline=run, notes=(*table.notes, note))
        found.append(_checked(part, frame, query_id))
    return found


def _own_name(suffix: str, pair: _Pair, shared: Iterable[str]) -> str:
    plain = suffix.removeprefix(_METRIC)
    is_taken = plain in shared or plain in pair.suffixes
    return suffix if is_taken or Catalogue().find(plain) is None else plain


# -- one run


def _checked(table: ScoreFile, frame: pd.DataFrame, query_id: str | None) -> ScoreFile:
    """The run with lists as lists, and failed scores told."""
    if not len(frame):
        raise ShapeError("it names columns, but holds no row")
    frame, of_lists = parse_list_columns(frame, _LISTS)
    frame, n_failed = mark_blank_scores(frame, {*_INPUTS, *id_columns(map(str, frame), query_id)})
    of_failures = [
        f"{n} scores of {metric!r} are NaN or blank: Haystack's evaluator failed there"
        for metric, n in n_failed.items()
    ]
    return replace(table, frame=frame, notes=(*table.notes, *of_lists, *of_failures))


HAYSTACK = Reader(
    "haystack",
    "Haystack's detailed and comparative reports in any kind of table, and dumped run results",
    _recognise,
    read_haystack,
    ("columns", "encoding", "query_id"),
    example="detailed_report.csv",
)

"""Haystack's reports of evaluation runs: one run or two runs in a table, and dumped results."""

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

# The inputs of Haystack's evaluators: plurals, which no other framework uses.
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
    "this is Haystack's aggregated report, with one mean per metric; expected one row per query. "
    "Write the result of detailed_report() instead"
)
_NO_INPUTS = (
    "these are results of Haystack's evaluators without the inputs, so the queries of the scores "
    "are unknown; write the result of EvaluationRunResult.detailed_report() instead"
)
_METRIC = "metric_"  # a prefix that some put before the names of metrics


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
    # One plural may occur in anybody's table; two, or one beside a pair of runs, only in
    # Haystack's.
    return 0.95 if len(names & _INPUTS) > (0 if pairs else 1) else 0.0


def _is_aggregated(header: Sequence[str]) -> bool:
    """Whether it is a table of means; a column of row numbers may come first."""
    return set(header) >= _AGGREGATED and len(header) <= 3


def read_haystack(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> list[ScoreFile]:
    """Read a report of Haystack, or ``EvaluationRunResult`` objects dumped as JSON.

    A ``detailed_report`` is one pipeline; a ``comparative_detailed_report`` is two, whose names are
    the prefixes of their columns; each dumped result is one. Unless an input holds ids, the text of
    the question identifies the query. A score that is NaN or blank has failed. An aggregated report
    has no scores of queries and is refused.

    Raises
    ------
    ReaderError
        If the file is not such a report, or contains only means.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> report = {"questions": ["Who?"], "predicted_answers": ["He."], "sas": [0.5]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "hyde.json"
    ...     _ = path.write_text(json.dumps(report))
    ...     [run] = read_haystack(Source(path))
    >>> run.pipeline, list(run.frame)
    ('hyde', ['questions', 'predicted_answers', 'sas'])
    """
    document = source.document_or_none()
    runs = _runs(document)
    if runs:
        names = distinct_names(str(run.get("run_name") or source.stem) for run in runs)
        return [_read_run(name, run, query_id) for name, run in zip(names, runs, strict=True)]
    if _is_results(document):
        raise source.error(_NO_INPUTS)
    header = header_of(source)
    if _is_aggregated(header):
        raise source.error(_AGGREGATES)
    table = read_table(source, columns=columns, query_id=query_id)
    pairs = _pairs(tuple(map(str, table.frame)))
    if pairs:
        return _split_runs(table, pairs[0], query_id)
    return [_finish_run(table, table.frame, query_id)]


# -- results dumped as JSON


def _runs(document: object) -> list[JsonObject]:
    """The dumped runs: one, or a list of them."""
    runs: list[Any] = document if isinstance(document, list) else [document]
    are_runs = is_records(runs) and all(
        isinstance(run.get("inputs"), dict) and _is_results(run.get("results")) for run in runs
    )
    return runs if are_runs else []


def _is_results(document: object) -> bool:
    """Whether these are the results of evaluators, by metric."""
    return (
        isinstance(document, dict)
        and bool(document)
        and all(
            isinstance(result, dict) and "individual_scores" in result
            for result in document.values()
        )
    )


def _read_run(name: str, run: JsonObject, query_id: str | None) -> ScoreFile:
    inputs = {key: _check_list(cells, f"inputs.{key}") for key, cells in run["inputs"].items()}
    results = check_object(run["results"], "results")
    scores = {
        metric: _check_list(
            check_object(result, metric).get("individual_scores"), f"{metric}.individual_scores"
        )
        for metric, result in results.items()
    }
    lengths = {len(cells) for cells in (*inputs.values(), *scores.values())}
    if len(lengths) != 1 or lengths == {0}:
        raise ShapeError(
            f"the inputs and individual_scores of {name!r} must be lists of equal length, one "
            f"entry per query; got lengths {named(sorted(lengths))}"
        )
    columns = {(f"inputs.{key}" if key in scores else key): cells for key, cells in inputs.items()}
    for metric, cells in scores.items():
        columns |= score_columns(metric, cells)
        details = check_object(results[metric], metric).get("results")
        if isinstance(details, list) and len(details) == len(cells):
            columns[f"{metric}_details"] = details
    table = ScoreFile(frame_of(columns, query_id), name, metric_columns=tuple(scores))
    return _finish_run(table, table.frame, query_id)


def _check_list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ShapeError(f"{what} must be a list, one entry per query")
    return value


# -- two runs in one table


class _RunPair(NamedTuple):
    """The names of two runs, and the columns that both have."""

    first: str
    second: str
    suffixes: tuple[str, ...]


def _pairs(header: Iterable[str]) -> list[_RunPair]:
    """The ways to read the header as that of two runs, the best first.

    Haystack writes ``<run>_<column>``, and the names of runs may contain underscores as well. The
    best way covers most columns, and of equal ones it has the most known names.
    """
    catalogue = Catalogue()
    # The columns are `<run>_<metric>`, and both parts may contain "_", so that metrics of their own
    # must not be split.
    names = [name for name in header if catalogue.find(name) is None and name not in _INPUTS]
    ranked = []
    for first, second, suffixes in _equal_prefixes(_by_prefix(names)):
        n_known = sum(_is_known(suffix, catalogue) for suffix in suffixes)
        if n_known:
            in_order = sorted((first, second), key=lambda run: names.index(f"{run}_{suffixes[0]}"))
            pair = _RunPair(in_order[0], in_order[1], tuple(suffixes))
            # The reading that explains most columns wins; the shorter name breaks a tie.
            ranked.append((len(suffixes), n_known, -len(first), pair))
    ranked.sort(key=lambda candidate: candidate[:3], reverse=True)
    return [pair for *_, pair in ranked]


def _by_prefix(names: Iterable[str]) -> dict[str, dict[str, None]]:
    """The possible names of runs, with the columns that each would have."""
    by_prefix: dict[str, dict[str, None]] = {}
    for name in names:
        for place in range(1, len(name) - 1):
            if name[place] == "_":
                by_prefix.setdefault(name[:place], {})[name[place + 1 :]] = None
    return by_prefix


def _equal_prefixes(
    by_prefix: Mapping[str, dict[str, None]],
) -> Iterable[tuple[str, str, list[str]]]:
    """The pairs of prefixes with the same columns; one prefix may be the start of the other."""
    by_suffixes: dict[frozenset[str], list[str]] = {}
    for prefix, suffixes in by_prefix.items():
        by_suffixes.setdefault(frozenset(suffixes), []).append(prefix)
        for place in range(1, len(prefix) - 1):
            shorter, longer = prefix[:place], prefix[place + 1 :]
            if prefix[place] == "_" and shorter in by_prefix:
                own = [name for name in by_prefix[shorter] if not name.startswith(f"{longer}_")]
                if set(own) == set(suffixes):
                    yield shorter, prefix, own
    for prefixes in by_suffixes.values():
        if len(prefixes) == 2:
            yield prefixes[0], prefixes[1], list(by_prefix[prefixes[0]])


def _is_known(suffix: str, catalogue: Catalogue) -> bool:
    return suffix in _INPUTS or catalogue.find(suffix.removeprefix(_METRIC)) is not None


def _split_runs(table: ScoreFile, pair: _RunPair, query_id: str | None) -> list[ScoreFile]:
    """Two pipelines: each has the shared columns and its own."""
    theirs = {f"{run}_{suffix}" for run in (pair.first, pair.second) for suffix in pair.suffixes}
    shared = [name for name in map(str, table.frame) if name not in theirs]
    note = (
        f"two runs, by the prefixes of their columns: {pair.first!r} and {pair.second!r}; Haystack "
        "pairs their rows by position"
    )
    runs = []
    for run in (pair.first, pair.second):
        own = {f"{run}_{suffix}": _own_name(suffix, pair, shared) for suffix in pair.suffixes}
        frame = table.frame[[*shared, *own]].rename(columns=own)
        part = replace(table, pipeline=run, notes=(*table.notes, note))
        runs.append(_finish_run(part, frame, query_id))
    return runs


def _own_name(suffix: str, pair: _RunPair, shared: Iterable[str]) -> str:
    plain = suffix.removeprefix(_METRIC)
    is_taken = plain in shared or plain in pair.suffixes
    return suffix if is_taken or Catalogue().find(plain) is None else plain


# -- one run


def _finish_run(table: ScoreFile, frame: pd.DataFrame, query_id: str | None) -> ScoreFile:
    """The run with its lists parsed, and its failed scores marked."""
    if not len(frame):
        raise ShapeError("the file has column names, but no rows")
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

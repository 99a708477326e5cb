"""Research tools: AutoRAG, ragbench, MTEB, trec_eval and pytrec_eval."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd

from rageval_report.errors import RagevalError, ReaderError, named
from rageval_report.files.inputs import is_file
from rageval_report.files.source import Source
from rageval_report.metrics.ranking_options import RankingOptions
from rageval_report.readers.base import CellsByColumn, ScoreFile, distinct_names, in_dialect
from rageval_report.readers.cell_values import number_or_none, parse_columns, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    at,
    described,
    metrics_of,
    reader_of,
    without,
)
from rageval_report.readers.frameworks.rows import Judgement, judgement_columns, time_in
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records, is_records
from rageval_report.readers.ranking_kinds import (
    RANKINGS,
    first_lines,
    read_rankings,
    rows_of_numbers,
)
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.catalogue.dialects import DialectName
from rageval_report.scores.metric import Catalogue, Override, title_of
from rageval_report.scores.run_file import time_of
from rageval_report.types import JsonObject

if TYPE_CHECKING:
    from rageval_report.metrics.ranking_scores import DuplicateDocs

# -- AutoRAG: one Parquet file per module, and a summary of each node

_COLUMNS = described("autorag")
_OUR_NAMES = described("autorag", "texts")
_METRICS = metrics_of("autorag")
# One number per token: thousands in a cell, and of no use for scores.
_VECTORS = ["generated_tokens", "generated_log_probs"]
_FILES_TO_PICK = (
    "pass a node's summary.csv with its modules' files beside it, a module's 0.parquet, or "
    "best_0.parquet"
)


def _is_autorag(source: Source) -> float:
    header = frozenset(header_of(source))
    # Modules without scores are recognised all the same, so that the error can say where they are.
    has_no_scores = header in (frozenset(("queries",)), frozenset(("prompts",)))
    return SURE if has_no_scores or any(names <= header for names in _COLUMNS.values()) else 0.0


def _read_autorag(source: Source) -> list[ScoreFile]:
    """Read the results of a node: a module's Parquet file, or the summary of all modules."""
    header = frozenset(header_of(source))
    if header >= _COLUMNS["line"]:
        nodes = read_table(source).frame["node_type"].astype(str).tolist()
        raise source.error(
            f"this is AutoRAG's summary of the nodes {named(nodes, 12)}, without queries; in the "
            f"folder of one of them {_FILES_TO_PICK}"
        )
    if header >= _COLUMNS["node"]:
        return _read_node(source)
    return [_read_module(source, _module_name(source))]


def _read_node(source: Source) -> list[ScoreFile]:
    """All modules of a node, from their files in the folder of its summary."""
    folder = source.plain_path.parent if source.plain_path else None
    names = _module_names(read_table(source).frame)
    modules: list[ScoreFile] = []
    notes: list[str] = []
    for name in names:
        # A name must not be a path out of the folder.
        if folder is None or Path(name).name != name or not is_file(folder / name):
            continue
        try:
            modules.append(_read_module(Source(folder / name), names[name]))
        except RagevalError as exc:
            notes.append(str(exc))  # one broken module must not hide the others
    if notes and not modules:
        raise source.error(f"no module of this node can be read: {notes[0]}")
    if not modules:
        raise source.error(
            f"these are means over all queries; the queries are in {named(names)}, which are "
            "missing from this folder. Pass one of them, or put them into the folder"
        )
    return [replace(module, notes=(*module.notes, *notes)) for module in modules]


def _module_names(summary: pd.DataFrame) -> dict[str, str]:
    """The names of the modules by file; a node may try one module with several parameters."""
    names = distinct_names(map(str, summary["module_name"].tolist()))
    return dict(zip(map(str, summary["filename"].tolist()), names, strict=True))


def _module_name(source: Source) -> str:
    """The module's name in the summary of its folder, else the names of the node and the file."""
    path = source.plain_path
    if path is None:
        return source.stem
    own_name = f"{path.absolute().parent.name}/{path.stem}"
    try:
        names = _module_names(read_table(Source(path.with_name("summary.csv"))).frame)
    except (RagevalError, KeyError):
        return own_name
    return names.get(f"{path.stem.removeprefix('best_')}.parquet", own_name)


def _read_module(source: Source, name: str) -> ScoreFile:
    frame = read_table(source).frame.rename(columns=str)
    metrics = [str(key) for key in frame if pd.api.types.is_numeric_dtype(frame[key].dtype)]
    if not metrics or not _is_autorag(source):
        raise source.error(
            f"the file has no scores, only {named(frame.columns, 6)}; in AutoRAG the next node "
            f"scores them. From a node with scores, {_FILES_TO_PICK}"
        )
    vectors = [column for column in _VECTORS if column in frame]
    notes = [f"left out, as they have a number per token: {named(vectors)}"] if vectors else []
    rows = _with_usual_names(frame.drop(columns=vectors))
    if "query_id" not in rows:
        questions, note = _questions_of(source, len(rows))
        rows = pd.concat([questions, rows.drop(columns=questions.columns, errors="ignore")], axis=1)
        notes.append(note)
    overrides = _overrides(metrics)
    return ScoreFile(rows, name, overrides, metric_columns=tuple(metrics), notes=tuple(notes))


def _with_usual_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with this library's names for the details, and lists in place of arrays."""
    objects = frame[[name for name in frame if pd.api.types.is_object_dtype(frame[name].dtype)]]
    lists = {
        name: pd.Series(cells, dtype=object, index=frame.index)
        for name, cells in parse_columns(objects).items()
    }
    free = {theirs: ours for theirs, ours in _OUR_NAMES.items() if ours not in frame}
    return frame.assign(**lists).rename(columns=free)


def _questions_of(source: Source, n_rows: int) -> tuple[pd.DataFrame, str]:
    """The ids and questions of a module's rows, from another file of the project, and a note."""
    path = source.plain_path.absolute() if source.plain_path else Path()
    # The best module's file, and the project's: project/trial/line/node/0.parquet.
    project = [folder / "data/qa.parquet" for folder in path.parents[3:4]]
    for candidate in [*sorted(path.parent.glob("best_*.parquet")), *project]:
        if source.plain_path is None or candidate == path or not is_file(candidate):
            continue
        frame = read_table(Source(candidate)).frame
        # AutoRAG aligns a module's rows with its questions by position and writes no ids (0.3.27);
        # equal length is the only check left.
        if "qid" in frame and len(frame) == n_rows:
            own = [name for name in _OUR_NAMES if name in frame and name in _COLUMNS["questions"]]
            note = f"the ids are those of {candidate.name}, row by row, as AutoRAG aligns them"
            return _with_usual_names(frame[own]), note
    raise source.error(
        "a module's file contains no query ids, and neither best_0.parquet in its folder nor the "
        f"project's data/qa.parquet has its {n_rows} rows; {_FILES_TO_PICK}"
    )


def _overrides(columns: Sequence[str]) -> dict[str, Override]:
    """The known metrics; best files put the node before some names, as in prompt_maker_bleu."""
    overrides: dict[str, Override] = {}
    for column in columns:
        base = next((name for name in _METRICS if f"_{column}".endswith(f"_{name}")), None)
        if base is not None:
            node, metric = title_of(column.removesuffix(base).strip("_")), _METRICS[base]
            overrides[column] = replace(metric, title=f"{node} {metric.title}".strip())
    return overrides


AUTORAG = reader_of("autorag", _is_autorag, _read_autorag)


# -- ragbench

_SAMPLES = "_samples.json"  # the end of the file name of a run's samples
_UNDEFINED = "undefined for this question"
_GROUPS = ("retrieval", "generation", "citation", "abstention", "performance")
# Versions without scores by question write constants here, whatever the pipeline does.
_CONSTANTS = ("retrieval_top_k", "hybrid_search_enabled", "contextual_retrieval_enabled")
_SPENT = ("latency_ms", "prompt_tokens", "completion_tokens")


def _is_ragbench(source: Source) -> float:
    document = source.document_or_none()
    return SURE if _is_run(document) or _are_samples(document) else 0.0


def _is_run(document: object) -> bool:
    metrics, fields = at(document, "scorecard.metrics"), {"name", "value", "group", "sample_size"}
    are_metrics = is_records(metrics) and all(metric.keys() >= fields for metric in metrics)
    return are_metrics and isinstance(document, dict) and "config" in document


def _are_samples(document: object) -> bool:
    samples, fields = at(document, "samples"), {"question", "response"}
    are_samples = is_records(samples) and all(sample.keys() >= fields for sample in samples)
    return are_samples and isinstance(document, dict) and "run_id" in document


def _read_ragbench(source: Source, *, dialect: DialectName | None = None) -> list[ScoreFile]:
    """Read a run of ragbench with scores of each question, or the samples of a run."""
    document = check_object(source.document, "the document")
    if _are_samples(document):
        return [in_dialect(_read_samples(source, document), dialect, "ragbench")]
    if not _is_run(document):
        raise source.error("expected a run of ragbench: a scorecard with metrics, and its config")
    metrics = {str(metric["name"]): metric for metric in document["scorecard"]["metrics"]}
    by_question = {name: cells for name in metrics if (cells := _per_question(metrics[name]))}
    if by_question:
        details, scores, notes = _with_ids(source, metrics, by_question)
    else:
        details, scores, notes = _without_ids(source, document, metrics)
    judged = judgement_columns(scores)
    left_out = [name for name in metrics if name not in judged.metrics]
    if left_out:
        notes.append(f"left out, because the run has no scores: {named(left_out, 12)}")
    n_errors = document.get("error_count")
    if isinstance(n_errors, int) and n_errors > 0:
        n = document.get("question_count")
        notes.append(f"{n_errors} of {n} questions ended in an error and are not in the file")
    overrides = {name: _override(name, metrics[name].get("group")) for name in judged.metrics}
    written = {**check_object(document.get("config"), "config")}
    written |= {key: document.get(key) for key in ("datasets", "metadata")}
    unknown = () if by_question else _CONSTANTS
    file = ScoreFile(
        frame_of({**details, **judged.columns}),
        str(document.get("name") or source.stem),
        metrics={name: override for name, override in overrides.items() if override},
        metric_columns=judged.metrics,
        notes=tuple(notes),
        config={
            str(name): value
            for name, value in written.items()
            if value not in (None, {}, []) and name not in unknown
        },
        created=_created(document.get("created_at")),
    )
    return [in_dialect(file, dialect, "ragbench")]


def _per_question(metric: JsonObject) -> JsonObject:
    what = f"the scores of {metric.get('name')!r} by question"
    return check_object(_details(metric).get("per_question"), what)


def _details(metric: JsonObject) -> JsonObject:
    return check_object(metric.get("details"), f"the details of {metric.get('name')!r}")


_Run = tuple[CellsByColumn, list[dict[str, Judgement]], list[str]]


def _with_ids(
    source: Source, metrics: Mapping[str, JsonObject], by_question: Mapping[str, JsonObject]
) -> _Run:
    """The details, the scores and notes of a run with scores by question."""
    ids = list(dict.fromkeys(query for cells in by_question.values() for query in cells))
    texts, notes = _texts_of_samples(source, ids)
    rows: list[dict[str, Judgement]] = [{} for _ in ids]
    for name, metric in metrics.items():
        cells = by_question.get(name, {})
        if not cells and metric.get("value") is not None:
            continue  # the run has only the mean
        absent = [query for query in ids if cells.get(query) is None]
        n_undefined = _details(metric).get("not_applicable_count")
        # The file counts the questions without a score only in total: if the count covers all that
        # are absent, none of them failed.
        all_undefined = isinstance(n_undefined, int) and n_undefined >= len(absent) > 0
        for row, query in zip(rows, ids, strict=True):
            is_undefined = not cells or all_undefined or query in cells
            row[name] = Judgement(cells.get(query))
            if cells.get(query) is None and is_undefined:
                row[name] = Judgement("n/a", _UNDEFINED)
    return {"query_id": list(ids), **texts}, rows, notes


def _without_ids(source: Source, run: JsonObject, metrics: Mapping[str, JsonObject]) -> _Run:
    """Those of a run of an earlier version: scores in the order of the questions, no ids."""
    lists = {
        name: _details(metric).get("individual_scores") or [] for name, metric in metrics.items()
    }
    for name, cells in lists.items():
        if not isinstance(cells, list):
            raise ShapeError(f"the individual scores of {name!r} must be a list")
    n = max(map(len, lists.values()), default=0)
    if not n:
        every = list(metrics.items())[:6]
        means = ", ".join(f"{name} {metric['value']}" for name, metric in every)
        raise source.error(
            f"this run has means but no scores of single questions ({means}). Run it again with a "
            "version that keeps details.per_question"
        )
    # With the run's id in front, so that positions of two runs never pair.
    ids = [f"{run.get('id') or source.stem}:{place}" for place in range(1, n + 1)]
    complete = {name: cells for name, cells in lists.items() if len(cells) == n}
    rows = [{name: Judgement(complete[name][row]) for name in complete} for row in range(n)]
    note = (
        "this version of ragbench keeps scores without the questions' ids: the ids are positions "
        "in this run, and pair with no other run"
    )
    return {"query_id": list(ids)}, rows, [note]


def _override(name: str, group: object) -> Override | None:
    """The group of a metric from the file, and its direction from the framework's documentation."""
    override: dict[str, Any] = {}
    if name == "uncited_claim_rate":
        override["greater_is_better"] = False
    if Catalogue().find(name) is None and group in _GROUPS:
        override["group"] = group
    return override or None


def _created(written: object) -> Any:
    moment = time_in(written) if isinstance(written, str) else None
    return None if moment is None else time_of(moment)


def _texts_of_samples(source: Source, ids: list[str]) -> tuple[CellsByColumn, list[str]]:
    """The texts of the questions, from the samples in the folder of the run, and notes."""
    name = f"{source.stem}{_SAMPLES}"
    if source.plain_path is None or not is_file(source.plain_path.with_name(name)):
        return {}, []
    try:
        samples = Source(source.plain_path.with_name(name))
        rows = _rows_of_samples(check_object(samples.document, "the document"))
    except (ReaderError, ShapeError) as exc:
        return {}, [f"the samples in the same folder cannot be read: {exc}"]
    by_id = {str(row["query_id"]): row for row in rows}
    texts = columns_of({"query_id": query, **by_id.get(query, {})} for query in ids)
    return without(texts, ["query_id"]), [f"the texts come from {name}"]


def _read_samples(source: Source, document: JsonObject) -> ScoreFile:
    columns = columns_of(_rows_of_samples(document))
    measured = [name for name in _SPENT if any(cell is not None for cell in columns.get(name, []))]
    if not measured:
        raise source.error(
            "these are the texts of a run of ragbench; its scores are in the file of the same name "
            f"without {_SAMPLES.removesuffix('.json')!r}"
        )
    note = "these are the samples of a run; the scores of its quality are in the run's own file"
    name = str(document.get("run_id") or source.stem)
    return ScoreFile(frame_of(columns), name, metric_columns=tuple(measured), notes=(note,))


def _rows_of_samples(document: JsonObject) -> list[dict[str, Any]]:
    rows = []
    for sample in check_records(document.get("samples"), "samples"):
        question = check_object(sample.get("question"), "question")
        response = check_object(sample.get("response"), "response")
        chunks = check_records(response.get("retrieved_chunks"), "retrieved_chunks")
        gold = check_records(question.get("gold_passages"), "gold_passages")
        citations = check_records(response.get("citations"), "citations")
        usage = check_object(response.get("token_usage"), "token_usage")
        of_response = ("latency_ms", "time_to_first_token_ms", "session_id")
        rows.append(
            {
                "query_id": question.get("id"),
                "question": question.get("question"),
                "answer": response.get("answer"),
                "reference": question.get("expected_answer"),
                "contexts": [chunk.get("text") for chunk in chunks],
                "retrieved": [chunk.get("chunk_id") for chunk in chunks],
                "relevant": {str(p.get("chunk_id")): p.get("relevance_score") for p in gold},
                "citations": [citation.get("chunk_id") for citation in citations],
                "answerable": not question.get("is_unanswerable"),
                **{key: question.get(key) for key in ("query_type", "difficulty", "domain")},
                **{key: response.get(key) for key in of_response},
                **{key: usage.get(key) for key in _SPENT[1:]},
            }
        )
    return rows


RAGBENCH = reader_of("ragbench", _is_ragbench, _read_ragbench, "dialect")


# -- MTEB: predictions are scored; results hold means and are refused

_META = "mteb_model_meta"
# Versions before 1.11 wrote their results under other names.
_RESULTS = ({"task_name", "mteb_version", "scores"}, {"mteb_dataset_name", "mteb_version"})


def _is_mteb(source: Source) -> float:
    document = source.document_or_none()
    keys = document.keys() if isinstance(document, dict) else frozenset()
    return SURE if _META in keys or any(keys >= names for names in _RESULTS) else 0.0


def _read_mteb(
    source: Source,
    *,
    metrics: object = None,
    duplicates: DuplicateDocs = "error",
    **options: Unpack[RankingOptions],
) -> list[ScoreFile]:
    """Score ``<task>_predictions.json`` of MTEB against the judgments of the task."""
    document = source.document
    if not isinstance(document, dict) or _META not in document:
        raise source.error(
            "these are MTEB's means over all queries, without scores of queries. Evaluate with "
            'prediction_folder="predictions", and pass predictions/<task>_predictions.json with '
            "the judgments of the task: qrels="
        )
    parts = list(_rankings(document))
    if not parts:
        raise source.error("the file holds no predictions")
    if options.get("qrels") is None:
        raise source.error(
            "these are the rankings of an MTEB task, without scores of queries. Pass the judgments "
            'of the task: read_scores(path, qrels="qrels.tsv", metrics=["ndcg@10"]), or on the '
            "command line --qrels QRELS --metric ndcg@10"
        )
    model = check_object(document[_META], _META)
    name = text_or_none(model.get("model_name")) or source.stem
    files = []
    for subset, split, ranking in parts:
        label = f"{name}, {subset}, {split}" if len(parts) > 1 else name
        inner = Source(json.dumps(ranking).encode())
        try:
            [file] = read_rankings(inner, metrics=metrics, duplicates=duplicates, **options)
        except ReaderError as exc:
            raise source.error(f"{subset}, {split}: {exc}") from exc
        config = {**model, "subset": subset, "split": split}
        files.append(replace(file, pipeline=label, config=config, is_one_pipeline=True))
    return files


def _rankings(document: JsonObject) -> Iterator[tuple[str, str, JsonObject]]:
    """The subset, the split and the ranking: ``{query: {document: score}}``."""
    for subset, splits in without(document, [_META]).items():
        for split, ranking in check_object(splits, f"the subset {subset!r}").items():
            # Other tasks predict labels or numbers, in lists.
            if not isinstance(ranking, dict):
                raise ShapeError(
                    f"the predictions of {subset!r}, {split!r} are not rankings; only those of "
                    "retrieval tasks can be scored by query"
                )
            for query_id, documents in ranking.items():
                scores = documents.values() if isinstance(documents, dict) else [None]
                if any(number_or_none(score) is None for score in scores):
                    raise ShapeError(
                        f"the documents of the query {query_id!r} in {subset!r}, {split!r} must "
                        "have scores that are numbers"
                    )
            yield str(subset), str(split), ranking


_RANKING_OPTIONS = [option for option in RANKINGS.options if option != "encoding"]
MTEB = reader_of("mteb", _is_mteb, _read_mteb, *_RANKING_OPTIONS)


# -- trec_eval and pytrec_eval

_SUMMARY = "all"  # the row of means, and of counts over all queries
_TREC = described("trec_eval")
_STEMS = "|".join(sorted(_TREC["stems"]))
_MEASURE = re.compile(rf"({_STEMS})(_[-\d.,=]+)?|prefs_\w+")
# Numbers and texts about the ranking that are not measures of its quality.
_TEXTS = re.compile(r"relstring(_\d+)?|runid")
_COUNTS = re.compile(r"num_\w+|relstring(_\d+)?|rbp_resid(_.+)?|unj_\d+|runid")


def _is_measure(name: str) -> bool:
    """Whether trec_eval has a measure of that name."""
    return name not in _TREC["cut"] and _MEASURE.fullmatch(name) is not None


def _measured(name: str, rows: Iterable[Mapping[str, Any]], notes: Iterable[str]) -> ScoreFile:
    columns = columns_of(rows)
    # Counts such as num_ret describe the run; as metrics they would join the family of a
    # correction.
    metrics = tuple(key for key in columns if key != "query_id" and not _COUNTS.fullmatch(key))
    return ScoreFile(frame_of(columns), name, metric_columns=metrics, notes=tuple(notes))


def _is_output(source: Source) -> float:
    fields = [line.split(maxsplit=2) for line in first_lines(source)]
    is_output = all(len(words) == 3 and _is_measure(words[0]) for words in fields)
    return SURE if fields and is_output else 0.0


def read_trec_eval(source: Source) -> list[ScoreFile]:
    r"""Read the output of ``trec_eval -q``: a measure, a query and a value per line.

    Examples
    --------
    >>> [run] = read_trec_eval(Source(b"map\t301\t0.0324\nmap\t302\t0.5\nmap\tall\t0.2662\n"))
    >>> run.frame["map"].tolist()
    [0.0324, 0.5]
    """
    queries: dict[str, dict[str, Any]] = {}
    summary: dict[str, Any] = {}
    for line, measure, query, value in _triples(source):
        cells = summary if query == _SUMMARY else queries.setdefault(query, {"query_id": query})
        if measure in cells:
            raise source.error(
                f"{measure!r} of query {query!r} appears twice; are there two outputs in one file? "
                "Split them",
                line=line,
            )
        cells[measure] = value
    if not queries:
        raise source.error(
            f"the file contains only means over all queries ({named(summary)}); run trec_eval with "
            "-q for the values of each query"
        )
    notes = ["trec_eval prints four decimals; for all of them, score the run itself"]
    if "runid" in summary:
        notes.append(f"the run calls itself {summary['runid']!r}")
    return [_measured(source.stem, queries.values(), notes)]


def _triples(source: Source) -> Iterator[tuple[int, str, str, Any]]:
    """The number, the measure, the query and the value of each line."""
    for number, line in enumerate(source.text.splitlines(), 1):
        fields = line.split(maxsplit=2)
        if not fields:
            continue
        if len(fields) < 3:
            message = f"expected a measure, a query and a value; got {line.strip()[:60]!r}"
            raise source.error(message, line=number)
        measure, query, value = fields[0], fields[1], fields[2].strip()
        try:
            yield number, measure, query, value if _TEXTS.fullmatch(measure) else float(value)
        except ValueError as exc:
            message = f"the value of {measure!r} must be a number; got {value[:40]!r}"
            raise source.error(message, line=number) from exc


TREC_EVAL = reader_of("trec_eval", _is_output, read_trec_eval)


def _is_dump(source: Source) -> float:
    rows = rows_of_numbers(source.document_or_none())
    return SURE if rows and all(map(_is_measure, next(iter(rows.values())))) else 0.0


def _read_pytrec_eval(source: Source) -> list[ScoreFile]:
    """Read the result of pytrec_eval's evaluator as JSON: ``{query: {measure: value}}``."""
    rows = rows_of_numbers(check_object(source.document, "the document"))
    if not rows:
        raise source.error("expected {query: {measure: value}} with numbers as values")
    queries = {query: row for query, row in rows.items() if query != _SUMMARY}
    if not queries:
        raise source.error("the file contains only means over all queries")
    names = dict.fromkeys(name for row in queries.values() for name in row)
    absent = [name for name in names if any(name not in row for row in queries.values())]
    notes = [f"some queries have no {named(absent)}"] if absent else []
    if len(queries) < len(rows):
        notes.append(f"the row {_SUMMARY!r} is left out")
    every = ({"query_id": query, **row} for query, row in queries.items())
    return [_measured(source.stem, every, notes)]


PYTREC_EVAL = reader_of("pytrec_eval", _is_dump, _read_pytrec_eval)

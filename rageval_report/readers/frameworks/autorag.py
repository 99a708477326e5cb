"""AutoRAG's result project: a Parquet file a module, and a summary of each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import RagevalError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile, distinct_names
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Metric, Override, title_of

_SURE = 0.95

# What tells AutoRAG's tables from others: names of columns that only they have together.
_QUESTIONS = frozenset(("qid", "query", "retrieval_gt", "generation_gt"))
_MODULES: tuple[frozenset[str], ...] = (
    frozenset(("retrieved_contents", "retrieved_ids", "retrieve_scores")),
    frozenset(("generated_texts", "generated_tokens", "generated_log_probs")),
)
_OF_NODE = frozenset(("filename", "module_name", "module_params", "execution_time"))
_OF_LINE = frozenset(("node_type", "best_module_filename", "best_module_name"))
# Modules that have no scores of their own; what they made is scored by the next node.
_WITHOUT_SCORES = (frozenset(("queries",)), frozenset(("prompts",)))

_DETAILS = {
    "qid": "query_id",
    "query": "question",
    "generation_gt": "reference",
    "retrieval_gt": "relevant",
    "retrieved_contents": "contexts",
    "retrieved_ids": "retrieved",
    "generated_texts": "answer",
}
# A number a token: thousands in a cell, and nothing that a reader of scores can use.
_VECTORS = ("generated_tokens", "generated_log_probs")
_SUMMARY = "summary.csv"
_FILES_TO_PICK = (
    "pass a node's summary.csv with its modules' files beside it, a module's 0.parquet, or "
    "best_0.parquet"
)


def _recognise(source: Source) -> float:
    header = frozenset(header_of(source))
    if header in _WITHOUT_SCORES:
        return _SURE
    marks = (_QUESTIONS, *_MODULES, _OF_NODE, _OF_LINE)
    return _SURE if any(mark <= header for mark in marks) else 0.0


def read_autorag(source: Source) -> list[ScoreFile]:
    """Read what AutoRAG wrote of a node: a module's Parquet file, or the summary beside them.

    A module is a pipeline. The files of modules hold no ids; these are taken, row by row, from the
    best module's file beside them or from the project's questions, as AutoRAG itself has it.

    Parameters
    ----------
    source : Source
        A module's file, as 0.parquet or best_0.parquet, or a node's summary.csv, which stands for
        all modules whose files lie beside it.

    Raises
    ------
    ReaderError
        If it holds no scores query by query: it says which files do.
    """
    header = frozenset(header_of(source))
    if header >= _OF_LINE:
        nodes = read_table(source).frame["node_type"].astype(str).tolist()
        raise source.error(
            f"this is AutoRAG's summary of the nodes {named(nodes, 12)}, and holds no query; in "
            f"the folder of one of them {_FILES_TO_PICK}"
        )
    if header >= _OF_NODE:
        return _of_node(source)
    return [_of_module(source, _name_of(source))]


# -- a node


def _of_node(source: Source) -> list[ScoreFile]:
    """All modules of a node, from their files beside its summary."""
    folder = source.plain_path.parent if source.plain_path else None
    frame = read_table(source).frame
    files = frame["filename"].astype(str).tolist()
    there = [name for name in files if folder and _is_beside(folder, name)]
    if folder is None or not there:
        raise source.error(
            f"these are means over all queries; {named(files)} beside it hold the queries, and are "
            "not there. Pass one of them, or put them beside it"
        )
    names = dict(zip(files, distinct_names(frame["module_name"].astype(str)), strict=True))
    found: list[ScoreFile] = []
    notes: list[str] = []
    for name in there:
        try:
            found.append(_of_module(Source(folder / name), names[name]))
        except RagevalError as exc:
            notes.append(str(exc))
    if not found:
        raise source.error(f"no module of this node can be read: {notes[0]}")
    return [replace(one, notes=(*one.notes, *notes)) for one in found]


def _is_beside(folder: Path, name: str) -> bool:
    """Whether a file of this plain name lies in the folder; a path in a file's cell is not one."""
    return Path(name).name == name and (folder / name).is_file()


def _name_of(source: Source) -> str:
    """The module's name in the summary beside its file, else that of the node and the file."""
    path = source.plain_path
    if path is None:
        return source.stem
    folder, stem = path.absolute().parent.name, path.stem.removeprefix("best_")
    try:
        summary = read_table(Source(path.with_name(_SUMMARY))).frame
        files, modules = summary["filename"], distinct_names(summary["module_name"].astype(str))
    except (RagevalError, KeyError):
        return f"{folder}/{path.stem}"
    names = dict(zip(files.astype(str), modules, strict=True))
    return names.get(f"{stem}.parquet", f"{folder}/{path.stem}")


# -- a module


def _of_module(source: Source, name: str) -> ScoreFile:
    header = frozenset(header_of(source))
    if not header & (_QUESTIONS | frozenset().union(*_MODULES, *_WITHOUT_SCORES)):
        raise source.error(f"expected a file of AutoRAG; {_FILES_TO_PICK}")
    frame = read_table(source).frame
    names = [str(column) for column in frame]
    metrics = [name for name in names if pd.api.types.is_numeric_dtype(frame[name].dtype)]
    if not metrics:
        raise source.error(
            f"it has no scores, only {named(frame.columns, 6)}; in AutoRAG the next node scores "
            f"them. Of a node with scores {_FILES_TO_PICK}"
        )
    notes = []
    left = [column for column in _VECTORS if column in frame]
    if left:
        notes.append(f"a number a token, and left out: {named(left)}")
    rows = _renamed(frame.drop(columns=left))
    if "query_id" not in rows:
        questions, told = _questions_of(source, len(rows))
        rows = pd.concat([questions, rows.drop(columns=questions.columns, errors="ignore")], axis=1)
        notes.append(told)
    return ScoreFile(
        rows,
        name,
        metrics=_told(metrics),
        metric_columns=tuple(metrics),
        notes=tuple(notes),
    )


def _renamed(frame: pd.DataFrame) -> pd.DataFrame:
    """Our names for the details, and lists where pandas has arrays."""
    lists = {
        str(column): pd.Series(map(_plain, frame[column]), dtype=object, index=frame.index)
        for column in frame
        if frame[column].dtype == object
    }
    free = {theirs: ours for theirs, ours in _DETAILS.items() if ours not in frame}
    return frame.assign(**lists).rename(columns=free)


def _plain(cell: Any) -> Any:
    if isinstance(cell, np.ndarray | list | tuple):
        return [_plain(part) for part in cell]
    return cell.item() if isinstance(cell, np.generic) else cell


def _questions_of(source: Source, n_rows: int) -> tuple[pd.DataFrame, str]:
    """The ids and questions of a module's rows, from a file that goes with it."""
    path = source.plain_path
    for candidate in [] if path is None else _files_of_questions(path.absolute()):
        frame = read_table(Source(candidate)).frame
        if "qid" in frame and len(frame) == n_rows:
            kept = [column for column in _DETAILS if column in frame and column in _QUESTIONS]
            told = f"the ids are those of {candidate.name}, row by row, as AutoRAG aligns them"
            return _renamed(frame[kept]), told
    raise source.error(
        "a module's file holds no query ids, and neither best_0.parquet beside it nor the "
        f"project's data/qa.parquet with its {n_rows} rows is there; {_FILES_TO_PICK}"
    )


def _files_of_questions(path: Path) -> Sequence[Path]:
    """The best module's file, and the project's: project/trial/line/node/0.parquet."""
    project = path.parents[3:4]
    told = [
        *sorted(path.parent.glob("best_*.parquet")),
        *(one / "data/qa.parquet" for one in project),
    ]
    return [one for one in told if one.is_file() and one != path]


# -- metrics


def _metric(
    name: str, title: str, description: str, bounds: tuple[float, float] = (0.0, 1.0)
) -> Metric:
    return Metric(
        name,
        title=title,
        group="generation",
        kind="proportion" if bounds == (0.0, 1.0) else "real",
        bounds=bounds,
        description=description,
        source="AutoRAG",
    )


# Where AutoRAG's metric is not what its name says elsewhere.
_METRICS: Mapping[str, Metric] = {
    "bleu": _metric(
        "bleu_percent", "BLEU (0 to 100)", "sacreBLEU of the answer, 0 to 100.", (0.0, 100.0)
    ),
    "rouge": _metric(
        "rouge_of_autorag", "ROUGE", "ROUGE as AutoRAG was told, ROUGE-L where it was not."
    ),
    "meteor": _metric("meteor", "METEOR", "METEOR of the answer."),
}


def _told(columns: Sequence[str]) -> dict[str, Override]:
    """What is known of the metrics; best files name some after the node, as prompt_maker_bleu."""
    told: dict[str, Override] = {}
    for column in columns:
        base = next((one for one in _METRICS if f"_{column}".endswith(f"_{one}")), None)
        if base is not None:
            node = title_of(column.removesuffix(base).strip("_"))
            metric = _METRICS[base]
            told[column] = replace(metric, title=f"{node} {metric.title}".strip())
    return told


AUTORAG = Reader(
    "autorag",
    "AutoRAG's results: a module's Parquet file, or a node's summary.csv with them beside it",
    _recognise,
    read_autorag,
    ("encoding",),
    example="0/retrieve_node_line/lexical_retrieval/summary.csv",
)

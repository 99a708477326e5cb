"""AutoRAG's result project: one Parquet file per module, and a summary of each node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import RagevalError, named
from rageval_report.files.inputs import is_file
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile, distinct_names
from rageval_report.readers.frameworks.format import SURE
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Metric, Override, title_of

# Column names that occur together only in AutoRAG's tables.
_QUESTIONS = frozenset(("qid", "query", "retrieval_gt", "generation_gt"))
_MODULES: tuple[frozenset[str], ...] = (
    frozenset(("retrieved_contents", "retrieved_ids", "retrieve_scores")),
    frozenset(("generated_texts", "generated_tokens", "generated_log_probs")),
)
_OF_NODE = frozenset(("filename", "module_name", "module_params", "execution_time"))
_OF_LINE = frozenset(("node_type", "best_module_filename", "best_module_name"))
# Modules without scores of their own: the next node scores their output.
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
# One number per token: thousands in a cell, and of no use for scores.
_VECTORS = ("generated_tokens", "generated_log_probs")
_FILES_TO_PICK = (
    "pass a node's summary.csv with its modules' files beside it, a module's 0.parquet, or "
    "best_0.parquet"
)


def _recognise(source: Source) -> float:
    header = frozenset(header_of(source))
    marks = (_QUESTIONS, *_MODULES, _OF_NODE, _OF_LINE)
    # One without scores is recognised all the same, so that the error can say where they are.
    return SURE if header in _WITHOUT_SCORES or any(mark <= header for mark in marks) else 0.0


def _read_autorag(source: Source) -> list[ScoreFile]:
    """Read the results of a node: a module's Parquet file, or the summary of all modules."""
    header = frozenset(header_of(source))
    if header >= _OF_LINE:
        nodes = read_table(source).frame["node_type"].astype(str).tolist()
        raise source.error(
            f"this is AutoRAG's summary of the nodes {named(nodes, 12)}, without queries; in the "
            f"folder of one of them {_FILES_TO_PICK}"
        )
    if header >= _OF_NODE:
        return _read_node(source)
    return [_read_module(source, _module_name(source))]


# -- a node


def _read_node(source: Source) -> list[ScoreFile]:
    """All modules of a node, from their files in the folder of its summary."""
    folder = source.plain_path.parent if source.plain_path else None
    names = _module_names(read_table(source).frame)
    # A name must not be a path out of the folder.
    present = [
        name
        for name in names
        if folder is not None and Path(name).name == name and is_file(folder / name)
    ]
    if folder is None or not present:
        raise source.error(
            f"these are means over all queries; the queries are in {named(names)}, which are "
            "missing from this folder. Pass one of them, or put them into the folder"
        )
    modules: list[ScoreFile] = []
    notes: list[str] = []
    for name in present:
        try:
            modules.append(_read_module(Source(folder / name), names[name]))
        except RagevalError as exc:
            notes.append(str(exc))  # one broken module must not hide the others
    if not modules:
        raise source.error(f"no module of this node can be read: {notes[0]}")
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


# -- a module


def _read_module(source: Source, name: str) -> ScoreFile:
    known = _QUESTIONS.union(*_MODULES, *_WITHOUT_SCORES)
    if not known & frozenset(header_of(source)):
        raise source.error(f"expected a file of AutoRAG; {_FILES_TO_PICK}")
    frame = read_table(source).frame
    metrics = [str(key) for key in frame if pd.api.types.is_numeric_dtype(frame[key].dtype)]
    if not metrics:
        raise source.error(
            f"the file has no scores, only {named(frame.columns, 6)}; in AutoRAG the next node "
            f"scores them. From a node with scores, {_FILES_TO_PICK}"
        )
    vectors = [column for column in _VECTORS if column in frame]
    notes = []
    if vectors:
        notes.append(f"left out, because they have one number per token: {named(vectors)}")
    rows = _with_usual_names(frame.drop(columns=vectors))
    if "query_id" not in rows:
        questions, note = _questions_of(source, len(rows))
        rows = pd.concat([questions, rows.drop(columns=questions.columns, errors="ignore")], axis=1)
        notes.append(note)
    return ScoreFile(
        rows,
        name,
        metrics=_overrides(metrics),
        metric_columns=tuple(metrics),
        notes=tuple(notes),
    )


def _with_usual_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with this library's names for the details, and lists in place of arrays."""
    lists = {
        str(key): pd.Series(map(_without_arrays, frame[key]), dtype=object, index=frame.index)
        for key in frame
        if frame[key].dtype == object
    }
    free = {theirs: ours for theirs, ours in _DETAILS.items() if ours not in frame}
    return frame.assign(**lists).rename(columns=free)


def _without_arrays(cell: Any) -> Any:
    if isinstance(cell, np.ndarray | list | tuple):
        return [_without_arrays(part) for part in cell]
    return cell.item() if isinstance(cell, np.generic) else cell


def _questions_of(source: Source, n_rows: int) -> tuple[pd.DataFrame, str]:
    """The ids and questions of a module's rows, from another file of the project, and a note."""
    path = source.plain_path
    for candidate in [] if path is None else _files_of_questions(path.absolute()):
        frame = read_table(Source(candidate)).frame
        # AutoRAG aligns a module's rows with its questions by position and writes no ids (0.3.27);
        # equal length is the only check left.
        if "qid" in frame and len(frame) == n_rows:
            columns = [column for column in _DETAILS if column in frame and column in _QUESTIONS]
            note = f"the ids are those of {candidate.name}, row by row, as AutoRAG aligns them"
            return _with_usual_names(frame[columns]), note
    raise source.error(
        "a module's file contains no query ids, and neither best_0.parquet in its folder nor the "
        f"project's data/qa.parquet has its {n_rows} rows; {_FILES_TO_PICK}"
    )


def _files_of_questions(path: Path) -> Sequence[Path]:
    """The best module's file, and the project's: project/trial/line/node/0.parquet."""
    project = path.parents[3:4]
    candidates = [
        *sorted(path.parent.glob("best_*.parquet")),
        *(folder / "data/qa.parquet" for folder in project),
    ]
    return [file for file in candidates if is_file(file) and file != path]


# -- metrics

# AutoRAG's metrics that differ from others of the same name: sacreBLEU counts to 100, while the
# catalogue's BLEU counts to 1.
_METRICS = {
    name: Metric(
        ours,
        title=title,
        group="generation",
        kind="proportion" if highest == 1 else "real",
        bounds=(0.0, highest),
        description=description,
        source="AutoRAG",
    )
    for name, ours, title, highest, description in (
        ("bleu", "bleu_percent", "BLEU (0 to 100)", 100.0, "sacreBLEU of the answer, 0 to 100."),
        ("rouge", "rouge_of_autorag", "ROUGE", 1.0,
         "ROUGE of the configured kind, ROUGE-L by default."),
        ("meteor", "meteor", "METEOR", 1.0, "METEOR of the answer."),
    )
}  # fmt: skip


def _overrides(columns: Sequence[str]) -> dict[str, Override]:
    """The known metrics; best files put the node before some names, as in prompt_maker_bleu."""
    overrides: dict[str, Override] = {}
    for column in columns:
        base = next((name for name in _METRICS if f"_{column}".endswith(f"_{name}")), None)
        if base is not None:
            node, metric = title_of(column.removesuffix(base).strip("_")), _METRICS[base]
            overrides[column] = replace(metric, title=f"{node} {metric.title}".strip())
    return overrides


AUTORAG = Reader(
    "autorag",
    "AutoRAG's results: a module's Parquet file, or a node's summary.csv with them beside it",
    _recognise,
    _read_autorag,
    ("encoding",),
    example="0/retrieve_node_line/lexical_retrieval/summary.csv",
)

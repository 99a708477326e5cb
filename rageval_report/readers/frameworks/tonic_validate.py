"""Tonic Validate: a run as JSON, and the table of its questions, answers and scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import parse_list
from rageval_report.readers.frameworks.format import SURE, Format
from rageval_report.readers.frameworks.rows import Judgement, judge
from rageval_report.readers.json_shapes import check_object, is_records
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Kind, Metric
from rageval_report.types import JsonObject

# The fields of a row; in a run its scores are an object, in a table they are columns.
_MARKS = {"reference_question", "llm_answer"}
_TEXTS = {
    "reference_question": "question",
    "llm_answer": "answer",
    "reference_answer": "reference",
    "llm_context": "contexts",
}
_FAILED = "Tonic Validate could not score it and keeps no reason"

# Name, our name if it differs, group, kind, whether higher is better, description. Those of a user
# may have any name. Its similarity is a grade from 0 to 5, and not one of embeddings.
_DESCRIBED: tuple[tuple[str, str, str, Kind, bool, str], ...] = (
    ("answer_similarity", "answer_similarity_grade", "generation", "ordinal", True,
     "How well the answer matches the reference, 0 to 5."),
    ("answer_consistency", "", "generation", "proportion", True,
     "The share of the answer's main points that the contexts hold."),
    ("answer_consistency_binary", "", "generation", "binary", True,
     "Whether the contexts hold all of the answer."),
    ("augmentation_accuracy", "", "generation", "proportion", True,
     "The share of the contexts from which something is in the answer."),
    ("augmentation_precision", "", "generation", "proportion", True,
     "The share of the relevant contexts from which something is in the answer."),
    ("retrieval_precision", "", "retrieval", "proportion", True,
     "The share of the contexts that are relevant."),
    # 1 means that the target was met, in spite of the name.
    ("latency_metric", "", "performance", "binary", True,
     "Whether the answer came within the target time."),
    ("duplication_metric", "", "generation", "binary", False,
     "Whether the answer says something twice."),
    ("hate_speech_content", "", "generation", "binary", False, "Whether the answer is hateful."),
    ("answer_contains_pii", "", "generation", "binary", False,
     "Whether the answer holds personal information."),
    ("context_contains_pii", "", "generation", "binary", False,
     "Whether the contexts hold personal information."),
)  # fmt: skip
_METRICS = {
    name: Metric(
        ours or name,
        group=group,
        kind=kind,
        greater_is_better=higher,
        bounds=(0.0, 5.0) if kind == "ordinal" else (0.0, 1.0),
        description=description,
        source="Tonic Validate",
    )
    for name, ours, group, kind, higher, description in _DESCRIBED
}


def _recognise(source: Source) -> float:
    is_table = set(header_of(source)) >= {*_MARKS, "reference_answer"}
    return SURE if _rows_of(source.document_or_none()) or is_table else 0.0


def _rows_of(document: object) -> list[JsonObject]:
    """The rows of a run: as a list, as the run holds them, or as they are uploaded."""
    if isinstance(document, dict):
        document = document.get("run_data", document.get("data"))
    is_run = is_records(document) and all(row.keys() >= {*_MARKS, "scores"} for row in document)
    return document if is_records(document) and is_run else []


def _read_tonic_validate(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> list[ScoreFile]:
    """Read a run of Tonic Validate: its JSON, or a table with one column per metric."""
    rows = _rows_of(source.document_or_none())
    if rows:
        document = source.document
        run = document if isinstance(document, dict) else {}
        overall = check_object(run.get("overall_scores"), "overall_scores")
        judged_by = [f"judged by {run['llm_evaluator']}"] if run.get("llm_evaluator") else []
        return [_RUN.score_file(source.stem, [{**row, _ALL: overall} for row in rows], judged_by)]
    if not _MARKS & set(header_of(source)):
        raise source.error(
            "expected a run of Tonic Validate: JSON with run_data, or a table with the columns "
            "reference_question and llm_answer"
        )
    table = read_table(source, columns=columns, query_id=query_id)
    frame = table.frame.rename(columns=_TEXTS)
    if "contexts" in frame:
        frame = frame.assign(contexts=pd.Series(map(parse_list, frame["contexts"]), dtype=object))
    metrics = {name: _METRICS[name] for name in frame if name in _METRICS}
    return [ScoreFile(frame, source.stem, metrics=metrics, notes=table.notes)]


_ALL = "scores of the run"


def _scores(rows: Iterable[JsonObject]) -> Iterator[dict[str, Judgement]]:
    """The scores; metrics that only the run's means name are missing."""
    for row in rows:
        scores = check_object(row.get("scores"), "scores")
        own = {name: judge(score, None, _FAILED) for name, score in scores.items()}
        yield {**dict.fromkeys(row[_ALL], Judgement()), **own}


_RUN = Format(
    "tonic_validate",
    "Tonic Validate's runs: JSON, or a table with reference_question and llm_answer",
    "run.json",
    judge=_scores,
    metrics=_METRICS,
    texts={ours: theirs for theirs, ours in _TEXTS.items()},
    others="run",
    own=("scores", _ALL),
)
TONIC_VALIDATE = Reader(
    _RUN.name,
    _RUN.sentence,
    _recognise,
    _read_tonic_validate,
    ("columns", "encoding", "query_id"),
    example=_RUN.example,
)

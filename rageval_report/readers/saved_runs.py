"""Run files: the JSON that `RAGPipelineEvaluation.save` writes."""

from __future__ import annotations

from rageval_report.errors import DataError
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.record_columns import frame_of
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.run_file import FORMAT, parse_run_document
from rageval_report.scores.saved_tables import COMPANION, TABLE_FORMAT


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    # The file names its format itself, so nothing is surer.
    if not isinstance(document, dict):
        return 0.0
    # If that is damaged, the digests of a run file still show what it is.
    is_ours = document.get("format") in (FORMAT, TABLE_FORMAT)
    return 1.0 if is_ours else 0.0


def read_run_file(source: Source) -> list[ScoreFile]:
    """Read a run file: everything that the evaluation held when it was saved.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ReaderError
        If a newer version wrote the file, or a part is missing or has another type.
    """
    document = source.document
    if isinstance(document, dict) and document.get("format") == TABLE_FORMAT:
        raise source.error(
            "this file describes a table and holds no scores; read the table itself, which has the "
            f"same name without {COMPANION}"
        )
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise source.error(f'expected a run file: an object with "format": "{FORMAT}"')
    try:
        run = parse_run_document(document)
    except DataError as exc:
        raise source.error(str(exc)) from exc
    return [
        ScoreFile(
            frame_of(run.rows, QUERY_ID),
            run.name,
            metrics=run.metrics,
            metric_columns=tuple(run.metrics),
            notes=run.notes,
            config=run.config,
            created=run.created,
            correct=run.correct,
            detail_names=run.detail_names,
            results=run.results,
            written_by=f"rageval_report {document.get('version', '')}".rstrip(),
            is_one_pipeline=True,
            totals="keep",  # whoever saved the evaluation has decided which rows are queries
        )
    ]


RUN_FILE = Reader(
    "run_file",
    "a run file of rageval_report, as save('run.json') writes it",
    _recognise,
    read_run_file,
    ("encoding",),
    example="run.json",
)

"""Run files: the JSON that `RAGPipelineEvaluation.save` writes."""

from __future__ import annotations

from rageval_report.errors import DataError
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.record_columns import frame_of
from rageval_report.scores.run_file import FORMAT, parse_run_document


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    # The file names its format itself, so nothing is surer.
    return 1.0 if isinstance(document, dict) and document.get("format") == FORMAT else 0.0


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
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise source.error(f'expected a run file: an object with "format": "{FORMAT}"')
    try:
        run = parse_run_document(document)
    except DataError as exc:
        raise source.error(str(exc)) from exc
    return [
        ScoreFile(
            frame_of(run.rows, "query_id"),
            run.name,
            metrics=run.metrics,
            metric_columns=tuple(run.metrics),
            notes=run.notes,
            config=run.config,
            created=run.created,
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

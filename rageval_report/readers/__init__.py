"""Readers of score files: the format is recognised by the content, then the file is read.

`READERS` is the table of all formats; a new format is one small file and one line in the table. A
reader returns a `ScoreFile` for each pipeline in the file; `score_table` checks its rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from rageval_report._registry import Registry
from rageval_report.errors import (
    DataError,
    RagevalError,
    RagevalWarning,
    UnknownNameError,
    check_choice,
    named,
)
from rageval_report.files.inputs import input_name
from rageval_report.files.source import Source
from rageval_report.readers.base import (
    ACCEPTED,
    FileKeywords,
    Reader,
    ReaderOptions,
    ScoreFile,
    check_options,
    check_unique_names,
)
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.readers.other_files import refusal_of
from rageval_report.readers.ranking_kinds import likely_kind
from rageval_report.readers.table_files import (
    FRAME,
    ScoreInput,
    TableSource,
    source_of,
    spoilt_table,
)
from rageval_report.scores.pipelines import find_pipelines, split_pipelines, stated_name
from rageval_report.scores.query_ids import QUERY_ID, NoScoresError
from rageval_report.scores.query_rows import Totals, query_rows
from rageval_report.scores.roles import Roles, check_roles, columns_with_role
from rageval_report.scores.table import DUPLICATES

__all__ = ["READERS", "Reader", "ReaderOptions", "ScoreFile", "Source", "read", "recognise"]

_HERE = __name__
_RANKINGS = "rankings"
_USERS_LINE = 7  # from here through read_scores to the line that calls it

READERS: Registry[Reader] = Registry(
    "reader",
    {
        "csv": f"{_HERE}.delimited:CSV",
        "tsv": f"{_HERE}.delimited:TSV",
        "json": f"{_HERE}.json_table:JSON",
        "jsonl": f"{_HERE}.json_table:JSONL",
        "parquet": f"{_HERE}.binary_tables:PARQUET",
        "excel": f"{_HERE}.binary_tables:EXCEL",
        "run_file": f"{_HERE}.described:RUN_FILE",
        "long": f"{_HERE}.long:LONG",
        "autorag": f"{_HERE}.frameworks.research:AUTORAG",
        "autonuggetizer": f"{_HERE}.frameworks.toolkits:AUTONUGGETIZER",
        "azure": f"{_HERE}.frameworks.clouds:AZURE",
        "bedrock": f"{_HERE}.frameworks.clouds:BEDROCK",
        "braintrust": f"{_HERE}.frameworks.experiments:BRAINTRUST",
        "deepeval": f"{_HERE}.frameworks.deepeval:DEEPEVAL",
        "evidently": f"{_HERE}.frameworks.frames:EVIDENTLY",
        "flashrag": f"{_HERE}.frameworks.toolkits:FLASHRAG",
        "giskard": f"{_HERE}.frameworks.frames:GISKARD",
        "haystack": f"{_HERE}.frameworks.haystack:HAYSTACK",
        "helm": f"{_HERE}.frameworks.harnesses:HELM",
        "inspect_ai": f"{_HERE}.frameworks.inspect_ai:INSPECT_AI",
        "inspector_raget": f"{_HERE}.frameworks.inspector_raget:INSPECTOR_RAGET",
        "langfuse": f"{_HERE}.frameworks.traces:LANGFUSE",
        "langsmith": f"{_HERE}.frameworks.experiments:LANGSMITH",
        "llama_index": f"{_HERE}.frameworks.frames:LLAMA_INDEX",
        "lm_eval": f"{_HERE}.frameworks.harnesses:LM_EVAL",
        "mlflow": f"{_HERE}.frameworks.mlflow:MLFLOW",
        "mteb": f"{_HERE}.frameworks.research:MTEB",
        "openai_evals": f"{_HERE}.frameworks.openai:OPENAI_EVALS",
        "openai_runs": f"{_HERE}.frameworks.openai:OPENAI_RUNS",
        "opik": f"{_HERE}.frameworks.experiments:OPIK",
        "phoenix": f"{_HERE}.frameworks.traces:PHOENIX",
        "promptfoo": f"{_HERE}.frameworks.promptfoo:PROMPTFOO",
        "pydantic_evals": f"{_HERE}.frameworks.experiments:PYDANTIC_EVALS",
        "pytrec_eval": f"{_HERE}.frameworks.research:PYTREC_EVAL",
        "ragas": f"{_HERE}.frameworks.frames:RAGAS",
        "ragbench": f"{_HERE}.frameworks.research:RAGBENCH",
        "ragchecker": f"{_HERE}.frameworks.toolkits:RAGCHECKER",
        "rankings": f"{_HERE}.ranking_kinds:RANKINGS",
        "tonic_validate": f"{_HERE}.frameworks.toolkits:TONIC_VALIDATE",
        "trec_eval": f"{_HERE}.frameworks.research:TREC_EVAL",
        "trulens": f"{_HERE}.frameworks.trulens:TRULENS",
        "verifiers": f"{_HERE}.frameworks.harnesses:VERIFIERS",
        "verifiers_traces": f"{_HERE}.frameworks.harnesses:VERIFIERS_TRACES",
        "vertex": f"{_HERE}.frameworks.clouds:VERTEX",
        "vertex_results": f"{_HERE}.frameworks.clouds:VERTEX_RESULTS",
        "weave": f"{_HERE}.frameworks.experiments:WEAVE",
    },
    group="rageval_report.readers",
)


def recognise(source: Source) -> str:
    """The name of the reader that recognises the content of a file.

    Parameters
    ----------
    source : Source
        The file; its name plays no part.

    Raises
    ------
    ReaderError
        If no reader recognises it, or two do equally well.

    Examples
    --------
    >>> from rageval_report.files.source import Source
    >>> recognise(Source(b'[{"query_id": "q1", "recall": 0.5}]'))
    'json'
    """
    # Without a copy of the text, which strip() would make.
    if source.is_text and (source.sample.isspace() or not source.sample):
        raise source.error("the file contains only blanks")
    marks = marks_of(source)
    if isinstance(source, TableSource):
        marks[FRAME.name] = FRAME.recognise(source)
    best = max(marks.values())
    winners = [name for name, mark in marks.items() if mark == best]
    if best < ACCEPTED:
        refusal = refusal_of(source)
        spoilt = spoilt_table(source) if best > 0 and refusal is None else None
        raise spoilt or source.error(refusal or _unknown_format(source, marks))
    # No silent choice: two readers could give the same file different scores.
    if len(winners) > 1:
        raise source.error(
            f"the readers {named(winners)} recognise this file equally well; choose one: "
            f"reader={winners[0]!r}"
        )
    return winners[0]


def marks_of(source: Source) -> dict[str, float]:
    """How surely each reader recognises the content of a file, between 0 and 1."""
    marks = {}
    for name, reader in READERS.loaded().items():
        try:
            marks[name] = float(reader.recognise(source))
        except Exception as exc:
            # A broken reader from outside is skipped, aloud.
            author = _author(reader)
            if not author:
                raise
            message = f"{author} failed and is skipped: {type(exc).__name__}: {exc}"
            warnings.warn(message, RagevalWarning, stacklevel=_USERS_LINE)
            marks[name] = 0.0
    return marks


def _author(reader: Reader) -> str:
    """Whom to blame for an error in a reader that this package does not bring; else nothing."""
    module = reader.read.__module__
    owner = READERS.distribution_of(reader.name) or module
    is_ours = module.partition(".")[0] == _HERE.partition(".")[0]
    return "" if is_ours else f"the reader {reader.name!r} of {owner}"


def _unknown_format(source: Source, marks: dict[str, float]) -> str:
    return (
        f"no reader recognises this file; it looks like {source.looks_like}. Choose with "
        f"reader=..., one of {', '.join(marks)}"
    )


def read(
    path: ScoreInput,
    *,
    roles: Roles | None = None,
    totals: Totals = "auto",
    **keywords: Unpack[FileKeywords],
) -> list[ScoreFile]:
    r"""Read a file of scores, or a ranking with its judgments.

    Parameters
    ----------
    path : str, PathLike, bytes, open file, frame, mapping, or iterable of dicts
        The file, gzipped or not; "-" is standard input. Or its contents, or a table in memory:
        lists and mappings are read as JSON documents of the same content would be.
    roles : mapping of str to str, optional
        What columns are, if the caller knows better: ``{"model": "pipeline"}``; see
        `rageval_report.scores.roles`.
    totals : {"auto", "drop", "keep"}
        What to do with rows of totals where a table holds several pipelines; in a table of one
        pipeline `score_table` decides.
    **keywords
        ``reader``, ``query_id``, ``metrics``, ``duplicates`` and the options of the reader, see
        `FileKeywords`. The options are checked at run time, because a reader of another
        distribution may take options of its own.

    Returns
    -------
    list of ScoreFile
        One per pipeline, with different names.

    Raises
    ------
    ReaderError
        If the file cannot be read: the file, the line, what to do.
    ArgumentKindError
        If `path` is none of these.
    DataError
        If the reader does not take one of the options.
    UnknownNameError
        If no reader has that name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "hybrid.csv"
    ...     _ = path.write_text("query_id;recall\n001;0,5\n002;NA\n")
    ...     [file] = read(path)
    >>> file.pipeline, file.frame["query_id"].tolist()
    ('hybrid', ['001', '002'])
    """
    reading = read_undivided(path, **keywords)
    return divide_pipelines(reading.files, reading.source, keywords.get("query_id"), roles, totals)


@dataclass(frozen=True, eq=False)
class FileReading:
    """A file as its reader returned it, before the rows are divided into pipelines."""

    source: Source
    reader: str
    sentence: str
    files: tuple[ScoreFile, ...]
    why: str = ""


def read_undivided(
    path: ScoreInput,
    *,
    reader: str | Reader | None = None,
    query_id: str | None = None,
    metrics: object = None,
    duplicates: str = "error",
    **options: Unpack[ReaderOptions],
) -> FileReading:
    """As `read`, but a wide table with a column of pipelines is not divided."""
    source = source_of(path, encoding=options.get("encoding"))
    has_qrels = options.get("qrels") is not None
    if isinstance(reader, Reader):
        name, chosen = reader.name, reader
    else:
        # Judgments beside a file say that it is a ranking, if it may be.
        is_ranking = has_qrels and likely_kind(source) is not None
        name = reader or (_RANKINGS if is_ranking else recognise(source))
        chosen = FRAME if name == FRAME.name else READERS[name]
    if has_qrels and "qrels" not in chosen.options:
        _ = source.document if name == "json" else None  # damaged JSON: the error names the line
        raise source.error(
            f"qrels= is for a ranking; this file was read as {name} ({chosen.sentence}). Leave out "
            f"qrels=, or give the ranking itself; if this is one, pass reader={_RANKINGS!r}"
        )
    keywords = check_options(name, chosen, options)
    # Frameworks with ids of their own have no such column to choose; only rankings are scored.
    if "duplicates" not in chosen.options:
        check_choice("duplicates", duplicates, DUPLICATES)
    arguments = {"query_id": query_id, "metrics": metrics, "duplicates": duplicates}
    for argument, value in arguments.items():
        if value is not None and argument in chosen.options:
            keywords[argument] = value
    files = _read_with(chosen, source, keywords)
    for file in files:
        check_unique_names(source, map(str, file.frame))
    # What else a file may be is asked of plain tables only.
    is_table = chosen.header is not None
    noted = tuple(
        replace(
            file,
            notes=(*source.notes, *file.notes),
            source=source if is_table else None,
        )
        for file in files
    )
    return FileReading(source, name, chosen.sentence, noted)


def _read_with(reader: Reader, source: Source, keywords: Mapping[str, object]) -> list[ScoreFile]:
    """The pipelines in a file; one of another shape is refused as what it is."""
    try:
        files = reader.read(source, **keywords)
    except ShapeError as exc:
        # A framework's reader knows more of its own format than a list of other files does.
        refusal = None if reader.header is None else refusal_of(source)
        raise source.error(refusal or str(exc)) from exc
    except RagevalError:
        raise
    except Exception as exc:
        author = _author(reader)
        if not author:
            raise
        raise source.error(f"{author} failed: {type(exc).__name__}: {exc}") from exc
    are_files = isinstance(files, list) and all(isinstance(file, ScoreFile) for file in files)
    if not are_files:
        raise source.error(
            f"{_author(reader)} returned a {type(files).__name__}; expected a list of ScoreFile"
        )
    return files


# -- pipelines


def divide_pipelines(
    files: Sequence[ScoreFile],
    source: Source,
    query_id: str | None,
    roles: Roles | None,
    totals: Totals = "auto",
) -> list[ScoreFile]:
    """The files, each with the rows of one pipeline: a wide table may hold several."""
    stated = check_roles(roles, dict.fromkeys(str(label) for file in files for label in file.frame))
    query_id = next(iter(columns_with_role(stated, "id")), query_id)
    divided: list[ScoreFile] = []
    for file in files:
        if file.is_one_pipeline or file.written_by:
            divided.append(file)
            continue
        own = {column: role for column, role in stated.items() if column in file.frame}
        prefix = f"{file.pipeline}: " if len(files) > 1 else ""
        try:
            divided += _pipelines_of(file, prefix, query_id, own, totals)
        except DataError as exc:
            raise source.error(reason_to_refuse(exc, source)) from exc
    return divided


def _pipelines_of(
    file: ScoreFile, prefix: str, query_id: str | None, roles: Roles, totals: Totals
) -> list[ScoreFile]:
    try:
        is_one = find_pipelines(file.frame, query_id=query_id, roles=roles) is None
    except DataError:
        is_one = False
    # Most tables hold one pipeline; only where there are several, or it is doubtful, a row of
    # totals could be taken for one.
    if is_one:
        name = None if prefix else stated_name(file.frame)
        return [replace(file, pipeline=name or file.pipeline)]
    file = without_totals(file, query_id, totals)
    parts, pipelines = split_pipelines(file.frame, file.pipeline, query_id=query_id, roles=roles)
    if pipelines is None:
        return [file]
    labels = pipelines.labels(file.frame).astype(str).to_numpy()
    return [
        replace(
            file.with_rows(rows, np.flatnonzero(labels == name)),
            pipeline=prefix + name,
            notes=(pipelines.note(len(parts)), *file.notes),
            pipeline_columns=pipelines.columns,
            pipeline_confidence=pipelines.confidence,
        )
        for name, rows in parts.items()
    ]


def without_totals(file: ScoreFile, query_id: str | None, totals: Totals) -> ScoreFile:
    """The file with its queries only."""
    rows = query_rows(file.frame, query_id or QUERY_ID, totals=totals, place=file.place)
    if not rows.left_out:
        return file
    positions = np.flatnonzero(rows.is_query(len(file.frame)))
    selected = file.with_rows(rows.select(file.frame), positions)
    return replace(selected, notes=(*file.notes, *rows.notes))


def reason_to_refuse(exc: DataError, source: Source | None) -> str:
    """Why a file is refused: what it is, if an error says that it has no ids or no scores."""
    if source is None or not isinstance(exc, NoScoresError):
        return str(exc)
    return refusal_of(source) or str(exc)


def pick_pipeline(files: Sequence[ScoreFile], pipeline: str | None, path: ScoreInput) -> ScoreFile:
    """The pipeline of that name, or the only one in the file."""
    by_name = {file.pipeline: file for file in files}
    shown = input_name(path)
    if pipeline is not None:
        if pipeline not in by_name:
            raise UnknownNameError(f"pipeline in {shown}", pipeline, by_name)
        return by_name[pipeline]
    if len(files) > 1:
        raise DataError(
            f"{shown} holds {len(files)} pipelines: {named(by_name, 10)}; pick one with pipeline=, "
            "or read all with read_scores"
        )
    if not files:
        raise DataError(f"{shown} contains no pipeline")
    return files[0]

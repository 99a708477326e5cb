"""A file of scores becomes a frame: recognise by content, then read.

`READERS` is the table of all formats; one more is one small file here and one line there. A reader
hands over a `ScoreFile` for each pipeline in the file; whoever asked makes a checked table of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rageval_report._registry import Registry
from rageval_report.errors import (
    DataError,
    RagevalWarning,
    ReaderError,
    UnknownNameError,
    named,
)
from rageval_report.files.source import Source
from rageval_report.readers._shapes import ShapeError
from rageval_report.readers.base import ACCEPTED, Reader, ScoreFile

__all__ = ["READERS", "Reader", "ScoreFile", "Source", "picked", "read", "recognise"]

_HERE = __name__
_MOST_NEAREST = 3
_USERS_LINE = 7  # from here through read_scores to the line that calls it

READERS: Registry[Reader] = Registry(
    "reader",
    {
        "csv": f"{_HERE}.delimited:CSV",
        "tsv": f"{_HERE}.delimited:TSV",
        "json": f"{_HERE}.json_table:JSON",
        "jsonl": f"{_HERE}.jsonl:JSONL",
        "parquet": f"{_HERE}.parquet:PARQUET",
        "excel": f"{_HERE}.excel:EXCEL",
        "run_file": f"{_HERE}.run_file:RUN_FILE",
        "long": f"{_HERE}.long:LONG",
        "autorag": f"{_HERE}.frameworks.autorag:AUTORAG",
        "braintrust": f"{_HERE}.frameworks.braintrust:BRAINTRUST",
        "deepeval": f"{_HERE}.frameworks.deepeval:DEEPEVAL",
        "evidently": f"{_HERE}.frameworks.evidently:EVIDENTLY",
        "haystack": f"{_HERE}.frameworks.haystack:HAYSTACK",
        "inspect_ai": f"{_HERE}.frameworks.inspect_ai:INSPECT_AI",
        "inspector_raget": f"{_HERE}.frameworks.inspector_raget:INSPECTOR_RAGET",
        "langsmith": f"{_HERE}.frameworks.langsmith:LANGSMITH",
        "llama_index": f"{_HERE}.frameworks.llama_index:LLAMA_INDEX",
        "lm_eval": f"{_HERE}.frameworks.lm_eval:LM_EVAL",
        "mlflow": f"{_HERE}.frameworks.mlflow:MLFLOW",
        "openai_evals": f"{_HERE}.frameworks.openai_evals:OPENAI_EVALS",
        "opik": f"{_HERE}.frameworks.opik:OPIK",
        "phoenix": f"{_HERE}.frameworks.phoenix:PHOENIX",
        "promptfoo": f"{_HERE}.frameworks.promptfoo:PROMPTFOO",
        "pytrec_eval": f"{_HERE}.frameworks.trec_eval:PYTREC_EVAL",
        "ragas": f"{_HERE}.frameworks.ragas:RAGAS",
        "ragbench": f"{_HERE}.frameworks.ragbench:RAGBENCH",
        "ragchecker": f"{_HERE}.frameworks.ragchecker:RAGCHECKER",
        "rankings": f"{_HERE}.frameworks.trec_eval:RANKINGS",
        "tonic_validate": f"{_HERE}.frameworks.tonic_validate:TONIC_VALIDATE",
        "trec_eval": f"{_HERE}.frameworks.trec_eval:TREC_EVAL",
        "trulens": f"{_HERE}.frameworks.trulens:TRULENS",
    },
    group="rageval_report.readers",
)


def recognise(source: Source) -> str:
    """The name of the reader that knows the content of a file.

    Parameters
    ----------
    source : Source
        The file; its name plays no part.

    Raises
    ------
    ReaderError
        If no reader knows it, or two know it equally well.
    """
    if source.is_text and not source.opening.strip():
        raise source.error("the file is empty but for blanks")
    marks = {name: _mark(name, reader, source) for name, reader in READERS.loaded().items()}
    best = max(marks.values())
    if best < ACCEPTED:
        raise _fault(source, marks) or source.error(_unknown(source, marks))
    winners = [name for name, mark in marks.items() if mark == best]
    if len(winners) > 1:
        raise source.error(
            f"this may be read by {named(winners)}; say by which: reader={winners[0]!r}"
        )
    return winners[0]


def _mark(name: str, reader: Reader, source: Source) -> float:
    """How surely a reader knows the file; one from outside that breaks is passed over, aloud."""
    try:
        return float(reader.recognise(source))
    except Exception as exc:
        if not READERS.is_from_outside(name):
            raise
        told = f"the plug-in reader {name!r} is broken and passed over: {type(exc).__name__}: {exc}"
        warnings.warn(told, RagevalWarning, stacklevel=_USERS_LINE)
        return 0.0


def _fault(source: Source, marks: dict[str, float]) -> ReaderError | None:
    """What the nearest reader says is wrong with a file that it nearly knows."""
    nearest = max(marks, key=marks.__getitem__)
    fault = READERS[nearest].fault
    return fault(source) if fault is not None and marks[nearest] > 0 else None


def _unknown(source: Source, marks: dict[str, float]) -> str:
    by_mark = sorted(marks, key=lambda name: -marks[name])
    near = [name for name in by_mark if marks[name] > 0][:_MOST_NEAREST]
    told = "; ".join(f"{name} ({READERS[name].sentence})" for name in near)
    nearest = f"Nearest: {told}. " if near else ""
    return (
        f"no reader knows this file; it looks like {source.looks_like}. {nearest}"
        f"Choose with reader=..., one of {', '.join(marks)}"
    )


def read(
    path: str | Path,
    *,
    reader: str | Reader | None = None,
    query_id: str | None = None,
    **options: Any,
) -> list[ScoreFile]:
    r"""Read a file of scores.

    Parameters
    ----------
    path : str or Path
        The file, gzipped or not; "-" is standard input.
    reader : str or Reader, optional
        A name of the table `READERS`; recognised by the content where not given.
    query_id : str, optional
        The column of ids, whose cells are then texts whatever they look like; readers of formats
        that fix their ids pass over it.
    **options
        The reader's own, as ``columns=``, ``delimiter=``, ``encoding=``, ``sheet=``.

    Returns
    -------
    list of ScoreFile
        One a pipeline; their names differ.

    Raises
    ------
    ReaderError
        If the file cannot be read: the file, the line, what to do.
    DataError
        If the reader has no such option.
    UnknownNameError
        If no reader has that name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "hybrid.csv"
    ...     _ = path.write_text("query_id;recall\n001;0,5\n002;NA\n")
    ...     [found] = read(path)
    >>> found.pipeline, found.frame["query_id"].tolist()
    ('hybrid', ['001', '002'])
    """
    source = Source(path, encoding=options.get("encoding"))
    chosen = reader if isinstance(reader, Reader) else READERS[reader or recognise(source)]
    _check_options(chosen, options)
    options.pop("encoding", None)  # the source's own business
    if query_id is not None and "query_id" in chosen.options:
        options["query_id"] = query_id
    try:
        found = chosen.read(source, **options)
    except ShapeError as exc:
        raise source.error(str(exc)) from exc
    return [replace(one, notes=(*source.notes, *one.notes)) for one in found]


def picked(found: list[ScoreFile], pipeline: str | None, path: str | Path) -> ScoreFile:
    """The pipeline that is asked for, or the only one there is.

    Parameters
    ----------
    found : list of ScoreFile
        What `read` gave.
    pipeline : str or None
        A pipeline's name.
    path : str or Path
        The file, for the error.

    Raises
    ------
    UnknownNameError
        If there is no pipeline of that name.
    DataError
        If there are several and none is asked for.
    """
    by_name = {one.pipeline: one for one in found}
    if pipeline is not None:
        if pipeline not in by_name:
            raise UnknownNameError(f"pipeline in {path}", pipeline, by_name)
        return by_name[pipeline]
    if len(found) > 1:
        raise DataError(
            f"{path} holds {len(found)} pipelines: {named(by_name, 10)}; pick one with pipeline=, "
            "or read all with read_scores"
        )
    return found[0]


def _check_options(reader: Reader, options: Iterable[str]) -> None:
    unknown = [option for option in options if option not in reader.options]
    if unknown:
        known = ", ".join(reader.options) or "none"
        raise DataError(
            f"the {reader.name} reader has no option {named(unknown)}; its options: {known}"
        )

"""The tables of scores in a run of MLflow: an artifact, or the assessments of its traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json
from rageval_report.readers.table_inputs import TableSource
from rageval_report.scores.saved_tables import COMPANION
from rageval_report.sources.fetched_files import FetchedFile, TemporaryFolder
from rageval_report.sources.file_lists import is_score_file
from rageval_report.sources.mlflow_store import MlflowStore

# What `save` writes: the scores of an evaluation, or those of both sides of a comparison.
SCORES = "scores.csv"
SCORES_FOLDER = "scores"
# What mlflow.evaluate writes.
_EVALUATION_TABLE = "eval_results_table.json"
# What this library logs besides.
_NO_SCORES = ("results.json",)
_TRACE_PAGE = 500
_REQUEST_TAG = "mlflow.eval.requestId"


@dataclass(frozen=True)
class RunTables:
    """The tables of a run.

    Parameters
    ----------
    sources : tuple of Source
        One per evaluation in the run; mostly one, or none.
    why_none : str
        What there is instead, if there is none.
    notes : tuple of str
        What was chosen.
    """

    sources: tuple[Source, ...]
    why_none: str = ""
    notes: tuple[str, ...] = ()


def tables_of_run(store: MlflowStore, run: Any, name: str, artifact: str | None) -> RunTables:
    """The tables of a run: the artifact that the user names, or else what holds scores.

    Parameters
    ----------
    store : MlflowStore
        The store.
    run : mlflow.entities.Run
        The run.
    name : str
        Its name, which a table takes that has no other.
    artifact : str, optional
        The path of an artifact inside the run.
    """
    run_id = str(run.info.run_id)
    paths = list(_list_files(store, run_id, folder=None))
    if artifact is not None:
        chosen = [path for path in paths if path == artifact.strip("/")]
        if not chosen:
            inside = _list_files(store, run_id, str(PurePosixPath(artifact).parent))
            chosen = [path for path in inside if path == artifact.strip("/")]
        why = f"there is no artifact {artifact!r}; it has {named(paths) or 'none'}"
        return RunTables(_fetch(store, run_id, name, chosen), "" if chosen else why)
    chosen = _choose(paths)
    if not chosen and SCORES_FOLDER in _folders(store, run_id):
        inside = _list_files(store, run_id, SCORES_FOLDER)
        chosen = [path for path in inside if is_score_file(PurePosixPath(path).name)]
    if len(chosen) > 1 and not chosen[0].startswith(f"{SCORES_FOLDER}/"):
        return RunTables((), f"several artifacts may be one: {named(chosen)}; ?artifact= chooses")
    if chosen:
        return RunTables(_fetch(store, run_id, name, chosen))
    traces = _table_of_traces(store, run, name)
    if traces is not None:
        return RunTables((traces,))
    return RunTables((), f"its artifacts are {named(paths)}" if paths else "it has no artifact")


# -- artifacts


def _choose(paths: Iterable[str]) -> list[str]:
    """The artifacts at the top of a run that may be a table of scores."""
    tables = [path for path in paths if is_score_file(path) and path not in _NO_SCORES]
    for usual in (SCORES, _EVALUATION_TABLE):
        if usual in tables:
            return [usual]
    return tables


def _list_files(store: MlflowStore, run_id: str, folder: str | None) -> Iterator[str]:
    inside = None if folder in (None, ".") else folder
    for item in store.client.list_artifacts(run_id, inside):
        if not item.is_dir and not item.path.endswith(COMPANION):
            yield item.path


def _folders(store: MlflowStore, run_id: str) -> list[str]:
    return [item.path for item in store.client.list_artifacts(run_id) if item.is_dir]


def _fetch(
    store: MlflowStore, run_id: str, name: str, paths: Iterable[str]
) -> tuple[FetchedFile, ...]:
    return tuple(_fetch_file(store, run_id, name, path) for path in paths)


def _fetch_file(store: MlflowStore, run_id: str, name: str, path: str) -> FetchedFile:
    folder = TemporaryFolder()
    beside = f"{path}{COMPANION}"
    parent = str(PurePosixPath(path).parent)
    names = store.client.list_artifacts(run_id, None if parent == "." else parent)
    if any(item.path == beside for item in names):
        store.client.download_artifacts(run_id, beside, str(folder.path))
    copy = Path(store.client.download_artifacts(run_id, path, str(folder.path)))
    return FetchedFile(copy, folder, store.address, name=f"runs:/{run_id}/{path}", stem=name)


# -- traces


def _table_of_traces(store: MlflowStore, run: Any, name: str) -> TableSource | None:
    """The assessments of the traces of a run, which GenAI evaluations have in place of a table."""
    rows = [_row_of_trace(trace.info) for trace in _traces(store, run) if _has_feedback(trace.info)]
    if not rows:
        return None
    note = f"the assessments of {len(rows)} traces of the run"
    return TableSource(pd.DataFrame(rows), f"runs:/{run.info.run_id}", name, [note])


def _traces(store: MlflowStore, run: Any) -> Iterator[Any]:
    token = None
    while True:
        page = store.client.search_traces(
            locations=[run.info.experiment_id],
            run_id=run.info.run_id,
            max_results=_TRACE_PAGE,
            include_spans=False,
            page_token=token,
        )
        yield from page
        token = page.token
        if not token:
            return


def _has_feedback(info: Any) -> bool:
    return any(assessment.feedback is not None for assessment in info.assessments)


def _row_of_trace(info: Any) -> dict[str, Any]:
    """A row as MLflow's own table of a GenAI evaluation has it."""
    assessments = [item for item in info.assessments if item.valid is not False]
    row: dict[str, Any] = {
        "trace_id": info.trace_id,
        # The same inputs have the same tag in every run, so that runs can be compared by it.
        "client_request_id": info.client_request_id or info.tags.get(_REQUEST_TAG),
        "state": str(getattr(info.state, "value", info.state)),
        "request_time": info.request_time,
        "execution_duration": info.execution_duration,
        "request": _parsed(info.request_preview),
        "response": _parsed(info.response_preview),
        "tags": dict(info.tags),
        "assessments": [_short_form(assessment) for assessment in assessments],
    }
    for assessment in assessments:
        row |= _cells_of(assessment)
    return row


def _parsed(preview: str | None) -> Any:
    """The value whose JSON a trace shows; the text itself if it is cut."""
    try:
        return parse_json(preview or "null")
    except NotJSONError:
        return preview


def _short_form(assessment: Any) -> dict[str, Any]:
    kind = "feedback" if assessment.feedback is not None else "expectation"
    return {"assessment_name": assessment.name, kind: True}


def _cells_of(assessment: Any) -> dict[str, Any]:
    name = assessment.name
    if assessment.feedback is None:
        return {f"{name}/value": getattr(assessment.expectation, "value", None)}
    error = assessment.feedback.error
    cells = {f"{name}/value": assessment.feedback.value}
    if assessment.rationale:
        cells[f"{name}/rationale"] = assessment.rationale
    if error is not None:
        cells[f"{name}/error_message"] = error.error_message or error.error_code
    return cells

"""The three reports of Haystack's ``EvaluationRunResult``: dict of lists, CSV text or frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd

from rageval_report.analysis.summary import aggregated_scores
from rageval_report.errors import DataError, UnknownNameError, check_choice
from rageval_report.files.writing import write_atomically
from rageval_report.scores import Scored

OutputFormat = Literal["json", "csv", "df"]
HaystackReport = dict[str, list[Any]] | str | pd.DataFrame


def aggregated_report(
    evaluation: Scored, output_format: OutputFormat = "json", csv_file: str | Path | None = None
) -> HaystackReport:
    """The mean of each metric: columns ``metrics``, ``score``."""
    return report_of_means(aggregated_scores(evaluation), output_format, csv_file)


def report_of_means(
    means: pd.Series, output_format: OutputFormat = "json", csv_file: str | Path | None = None
) -> HaystackReport:
    """The `aggregated_report` of means that are known.

    Parameters
    ----------
    means : Series of float, index metric
        The mean of each metric.
    output_format, csv_file
        As in `comparative_detailed_report`.
    """
    frame = pd.DataFrame({"metrics": means.index, "score": means.to_numpy()})
    return format_report(frame, output_format, csv_file)


def detailed_report(
    evaluation: Scored, output_format: OutputFormat = "json", csv_file: str | Path | None = None
) -> HaystackReport:
    """One row per query: ``query_id``, the details, then the metrics."""
    return format_report(detailed_frame(evaluation), output_format, csv_file)


def detailed_frame(evaluation: Scored) -> pd.DataFrame:
    """The frame of `detailed_report`."""
    frame = pd.concat([evaluation.details, _distinct_scores(evaluation)], axis=1)
    return frame.reset_index()


def comparative_detailed_report(
    evaluation: Scored,
    other: Scored,
    keep_columns: Iterable[str] | None = None,
    output_format: OutputFormat = "json",
    csv_file: str | Path | None = None,
) -> HaystackReport:
    """Two runs side by side, paired by query id.

    Parameters
    ----------
    evaluation, other : Scored
        The runs; their names become prefixes.
    keep_columns : iterable of str, optional
        Detail columns to show for both runs, prefixed.
    output_format : {"json", "csv", "df"}
        Dict of lists, CSV text, or frame.
    csv_file : str or Path, optional
        Where to write the CSV as well.

    Returns
    -------
    dict, str or DataFrame
        ``query_id``, this run's details, then ``{name}_{column}`` of both runs. A query that only
        one run has keeps its row; the other run's cells are missing.

    Raises
    ------
    DataError
        If both runs have the same name.
    UnknownNameError
        If a column to keep is missing.
    """
    columns = check_kept_columns(evaluation, other, keep_columns)
    frame = comparative_detailed_frame(evaluation, other, columns)
    return format_report(frame, output_format, csv_file)


def check_kept_columns(
    evaluation: Scored, other: Scored, keep_columns: Iterable[str] | None
) -> list[str]:
    """The columns to keep, after a check that both runs have them, and different names.

    Raises
    ------
    DataError
        If both runs have the same name.
    UnknownNameError
        If a column to keep is missing.
    """
    if evaluation.name == other.name:
        raise DataError(f"both runs are named {other.name!r}; give each its own name")
    columns = [] if keep_columns is None else list(keep_columns)
    for run in (evaluation, other):
        for column in columns:
            if column not in run.details:
                raise UnknownNameError(
                    f"detail column of {run.name!r}", column, map(str, run.details)
                )
    return columns


def comparative_detailed_frame(
    evaluation: Scored, other: Scored, columns: Sequence[str]
) -> pd.DataFrame:
    """The frame of `comparative_detailed_report`, with columns that both runs have."""
    details = evaluation.details.drop(columns=[c for c in columns if c in evaluation.details])
    parts = [details, _prefix_columns(evaluation, columns), _prefix_columns(other, columns)]
    ids = evaluation.scores.index.append(
        other.scores.index.difference(evaluation.scores.index, sort=False)
    )
    frame = pd.concat([part.reindex(ids) for part in parts], axis=1)
    return frame.rename_axis("query_id").reset_index()


def _distinct_scores(evaluation: Scored) -> pd.DataFrame:
    """The scores, renamed if a detail has the same name."""
    clash = {name: f"{name}_score" for name in evaluation.scores if name in evaluation.details}
    return evaluation.scores.rename(columns=clash)


def _prefix_columns(run: Scored, columns: Sequence[str]) -> pd.DataFrame:
    kept = run.details[list(columns)]
    return pd.concat([kept, run.scores], axis=1).add_prefix(f"{run.name}_")


def format_report(
    frame: pd.DataFrame, output_format: str, csv_file: str | Path | None = None
) -> HaystackReport:
    """A frame as a dict of lists, CSV text or itself; see `comparative_detailed_report`."""
    check_choice("output_format", output_format, get_args(OutputFormat))
    if output_format == "df":
        return frame
    if output_format == "json":
        return {str(column): frame[column].tolist() for column in frame.columns}
    text = frame.to_csv(index=False)
    if csv_file is not None:
        write_atomically(csv_file, text)
    return text

"""One scale for a metric in all pipelines of a file, decided from all of its cells.

Pipelines of one file are written by one program, so 0.4 in one of them and 45 in another are on one
scale, or something is wrong. Each pipeline alone would look right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile
from rageval_report.scores.cells import ParsedCells, read_cells
from rageval_report.scores.column_scale import CellColumn, ScoreRange
from rageval_report.scores.descriptions import (
    SharedScale,
    fit_scale,
    refuse_two_scales,
    stated_bounds,
)
from rageval_report.scores.metric import Catalogue, Metric, infer_metric, normalise_name
from rageval_report.scores.numerals import parse_numeral
from rageval_report.scores.query_ids import QUERY_ID, id_column_of, question_text
from rageval_report.scores.roles import Roles, may_be_metric, numbers_of
from rageval_report.scores.states import state_column_kind
from rageval_report.types import FloatArray

_UNIT: ScoreRange = (0.0, 1.0)
# A metric of shares has no score from here on, see `metric_scales`.
_LEAST_TOP = 2.0


def share_scales(
    files: Sequence[ScoreFile],
    source: Source,
    query_id: str | None,
    roles: Roles | None,
    metrics: object = None,
) -> list[ScoreFile]:
    """The pipelines of a file, with the scores of each metric on one scale.

    Parameters
    ----------
    files : sequence of ScoreFile
        The pipelines.
    source : Source
        The file, for errors.
    query_id : str, optional
        The column of ids.
    roles : mapping of str to str, optional
        The roles that the caller states.
    metrics : iterable of str, or mapping, optional
        The metrics that the caller names or describes.

    Raises
    ------
    ReaderError
        If two scales are possible: two cells, each with its pipeline, and the option that decides.
    """
    # A saved evaluation states its bounds; with one pipeline `score_table` sees the whole column.
    if len(files) < 2 or any(file.written_by for file in files):
        return list(files)
    described = (*(file.metrics for file in files), metrics)
    pipelines = _Pipelines(files, query_id, stated_bounds(*described), Catalogue())
    shared = list(files)
    try:
        for label in pipelines.metric_labels(roles or {}, metrics):
            shared = _share_column(shared, pipelines, label)
    except DataError as exc:
        raise source.error(str(exc)) from exc
    return shared


@dataclass(frozen=True, eq=False)
class _Pipelines:
    """The pipelines of a file, and what is stated about their metrics."""

    files: Sequence[ScoreFile]
    query_id: str | None
    bounds: Mapping[str, ScoreRange]
    catalogue: Catalogue

    def metric_labels(self, roles: Roles, metrics: object) -> Iterator[str]:
        """The columns of several pipelines that may be metrics."""
        counts: dict[str, int] = {}
        for file in self.files:
            for label in map(str, file.frame.columns):
                counts[label] = counts.get(label, 0) + 1
        labels = list(counts)
        listed = (
            metrics if isinstance(metrics, Iterable) and not isinstance(metrics, Mapping) else None
        )
        names = None if listed is None else {normalise_name(str(name)) for name in listed}
        for label, n_files in counts.items():
            role = roles.get(label)
            if n_files < 2 or role not in (None, "metric") or self._is_key(label):
                continue
            is_listed = role == "metric" or (names is not None and normalise_name(label) in names)
            if is_listed or (
                state_column_kind(label, labels) is None
                and self._is_in_format(label)
                and may_be_metric(self._cells(label), self.catalogue)
            ):
                yield label

    def _is_key(self, label: str) -> bool:
        """Whether a column holds ids or names pipelines."""
        return any(
            label in file.pipeline_columns or label == self._id_column(file.frame)
            for file in self.files
        )

    def _is_in_format(self, label: str) -> bool:
        """Whether the format of the file leaves open that the column is a metric."""
        return any(
            file.metric_columns is None or label in file.metric_columns for file in self.files
        )

    def _id_column(self, frame: pd.DataFrame) -> str | None:
        key = self.query_id or QUERY_ID
        return key if key in frame else id_column_of(frame.columns) or question_text(frame)

    def _cells(self, label: str) -> pd.Series:
        parts = [file.frame[label] for file in self.files if label in file.frame]
        return pd.concat(parts, ignore_index=True).rename(label)

    def ids_of_parts(self, label: str) -> list[pd.Series]:
        """The query ids of each pipeline that has a column."""
        parts = []
        for file in self.files:
            if label in file.frame:
                column = self._id_column(file.frame)
                ids = file.frame.index.to_series() if column is None else file.frame[column]
                parts.append(ids.reset_index(drop=True))
        return parts

    def places(self, label: str) -> list[str]:
        """The query and the pipeline of each cell of a column."""
        names = [file.pipeline for file in self.files if label in file.frame]
        parts = zip(names, self.ids_of_parts(label), strict=True)
        return [f"{query} of {name}" for name, ids in parts for query in ids.tolist()]


def _share_column(files: list[ScoreFile], pipelines: _Pipelines, label: str) -> list[ScoreFile]:
    """The files with one column on one scale."""
    holders = [file for file in files if label in file.frame]
    parts = [file.frame[label] for file in holders]
    known = pipelines.catalogue.search(label)
    notes: list[str] = []
    scale = None
    if all(pd.api.types.is_numeric_dtype(part.dtype) for part in parts):
        numbers = [numbers_of(part) for part in parts]
    else:
        whole, alone = _read_texts(parts, pipelines, label, known)
        numbers = _divide(whole.numbers, parts)
        if any(_differs(*pair) for pair in zip(alone, numbers, strict=True)):
            parts = [_with_numbers(*pair) for pair in zip(parts, numbers, strict=True)]
            _check_replaced(parts, numbers, pipelines, label)
            notes += whole.notes
        scale = _written_scale(alone, numbers, pipelines, label)
    if normalise_name(label) not in pipelines.bounds and scale is None:
        scale, note = _fitted_scale(numbers, pipelines, label, known)
        notes += [note] if note else []
    if scale is None and not notes:
        return files
    changed = {
        file.pipeline: replace(
            file,
            frame=file.frame.assign(**{label: part}),
            notes=(*file.notes, *notes),
            scales={**file.scales, **({normalise_name(label): scale} if scale else {})},
        )
        for file, part in zip(holders, parts, strict=True)
    }
    return [changed.get(file.pipeline, file) for file in files]


# -- texts


def _read_texts(
    parts: list[pd.Series], pipelines: _Pipelines, label: str, known: Metric | None
) -> tuple[ParsedCells, list[ParsedCells | None]]:
    """The cells of all pipelines read together, and those of each pipeline read alone."""
    bounds = pipelines.bounds.get(normalise_name(label))
    of_metric = None if known is None else known.bounds
    cells = [part.tolist() for part in parts]
    columns = [
        CellColumn(label, ids.tolist(), bounds, of_metric) for ids in pipelines.ids_of_parts(label)
    ]
    places = pipelines.places(label)
    try:
        whole = read_cells(chain.from_iterable(cells), CellColumn(label, places, bounds, of_metric))
    except DataError:
        # A doubt within one pipeline is that pipeline's.
        for part, column in zip(cells, columns, strict=True):
            read_cells(part, column)
        raise
    alone: list[ParsedCells | None] = []
    for part, column in zip(cells, columns, strict=True):
        try:
            alone.append(read_cells(part, column))
        except DataError:  # the other pipelines decide what is doubtful in this one
            alone.append(None)
    return whole, alone


def _divide(numbers: FloatArray, parts: Sequence[pd.Series]) -> list[FloatArray]:
    """The numbers of each part."""
    ends = accumulate((len(part) for part in parts), initial=0)
    return [numbers[start:end] for start, end in pairwise(ends)]


def _differs(alone: ParsedCells | None, together: FloatArray) -> bool:
    return alone is None or not np.array_equal(alone.numbers, together, equal_nan=True)


def _with_numbers(cells: pd.Series, numbers: FloatArray) -> pd.Series:
    """The cells with numbers in place of the texts that spell them."""
    values = [
        float(number)
        if not np.isnan(number) and isinstance(cell, str | int | float) and _is_number(cell)
        else cell
        for cell, number in zip(cells.tolist(), numbers, strict=True)
    ]
    return pd.Series(values, index=cells.index, name=cells.name, dtype=object)


def _is_number(cell: str | float) -> bool:
    if isinstance(cell, str):
        return parse_numeral(cell) is not None
    return not isinstance(cell, bool)


def _check_replaced(
    parts: Sequence[pd.Series],
    numbers: Sequence[FloatArray],
    pipelines: _Pipelines,
    label: str,
) -> None:
    """Refuse scores within objects or lists that their pipeline alone would read otherwise."""
    replaced = np.concatenate([read_cells(part.tolist()).numbers for part in parts])
    together = np.concatenate(numbers)
    differing = np.flatnonzero((replaced != together) & ~np.isnan(together))
    if len(differing):
        row = int(differing[0])
        raise DataError(
            f"metric {label!r}: the pipelines write its scores in different ways, and the cell at "
            f"{pipelines.places(label)[row]!r} may be {replaced[row]:g} or {together[row]:g}. "
            "Write all scores in one way"
        )


def _written_scale(
    alone: Sequence[ParsedCells | None],
    numbers: Sequence[FloatArray],
    pipelines: _Pipelines,
    label: str,
) -> SharedScale | None:
    """The range that is written beside the marks of some pipelines, if all marks lie in it."""
    written = {part.scale for part in alone if part is not None and part.scale is not None}
    if not written or normalise_name(label) in pipelines.bounds:
        return None
    low, high = next(iter(written))
    together = np.concatenate(numbers)
    outside = np.flatnonzero((together < low) | (together > high))
    if len(written) > 1 or len(outside):
        places = pd.Series(pipelines.places(label))
        inside = np.flatnonzero((together >= low) & (together <= high))
        rows = int(inside[0]), int(outside[0] if len(outside) else inside[-1])
        refuse_two_scales(label, together, places, *rows)
    return SharedScale("ordinal", (low, high))


# -- numbers


def _fitted_scale(
    numbers: Sequence[FloatArray], pipelines: _Pipelines, label: str, known: Metric | None
) -> tuple[SharedScale | None, str | None]:
    """The scale of all pipelines where a pipeline alone would have another one, and a note."""
    if known is None:
        return _inferred_scale(numbers, pipelines, label), None
    tops = [float(np.fmax.reduce(part)) for part in numbers if len(part)]
    if known.bounds != _UNIT or not any(top >= _LEAST_TOP for top in tops):
        return None, None
    places = pd.Series(pipelines.places(label))
    try:
        fitted = fit_scale(known, np.concatenate(numbers), places, is_known=True)
    except DataError:
        # Two scales within one pipeline are that pipeline's.
        for part, ids in zip(numbers, pipelines.ids_of_parts(label), strict=True):
            fit_scale(known, part, ids, is_known=True)
        raise
    bounds = fitted.metric.bounds
    if bounds is None or bounds == known.bounds:  # the check of the bounds refuses it
        return None, None
    return SharedScale(fitted.metric.kind, bounds), fitted.note


def _inferred_scale(
    numbers: Sequence[FloatArray], pipelines: _Pipelines, label: str
) -> SharedScale | None:
    """The scale of an unknown metric, if a pipeline alone would have another one.

    Raises
    ------
    DataError
        If one pipeline has shares of 1, and another one mostly numbers over 2.
    """
    name = normalise_name(label)
    scored = [part for part in numbers if not np.isnan(part).all()]
    together = np.concatenate(numbers)
    whole = infer_metric(name, together)
    alone = [infer_metric(name, part) for part in scored]
    if all((metric.kind, metric.bounds) == (whole.kind, whole.bounds) for metric in alone):
        return None
    shares = [metric.kind == "proportion" and metric.bounds == _UNIT for metric in alone]
    large = [
        metric.bounds is None and bool(np.nanmedian(part) >= _LEAST_TOP)
        for metric, part in zip(alone, scored, strict=True)
    ]
    if any(shares) and any(large):
        is_share = (together > 0) & (together < 1)
        rows = int(np.flatnonzero(is_share)[0]), int(np.nanargmax(together))
        refuse_two_scales(name, together, pd.Series(pipelines.places(label)), *rows)
    return SharedScale(whole.kind, whole.bounds)

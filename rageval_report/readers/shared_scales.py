"""One scale for a metric in all pipelines of a file, decided from all of its cells.

Pipelines of one file are written by one program, so 0.4 in one of them and 45 in another are on one
scale, or something is wrong. Each pipeline alone would look right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile
from rageval_report.scores.cells import CellColumn, ParsedCells, ScoreRange, read_cells
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

    Raises
    ------
    ReaderError
        If two scales are possible: two cells, each with its pipeline, and the option that decides.
    """
    # A saved evaluation states its bounds; with one pipeline `score_table` sees the whole column.
    if len(files) < 2 or any(file.written_by for file in files):
        return list(files)
    bounds = stated_bounds(*(file.metrics for file in files), metrics)
    catalogue = Catalogue()
    shared = list(files)
    try:
        for label in _metric_labels(files, query_id, roles or {}, metrics, catalogue):
            column = _SharedColumn(
                label,
                [file for file in shared if label in file.frame],
                query_id,
                bounds.get(normalise_name(label)),
                catalogue.search(label),
            )
            changed = column.files_on_one_scale()
            shared = [changed.get(file.pipeline, file) for file in shared]
    except DataError as exc:
        raise source.error(str(exc)) from exc
    return shared


def _metric_labels(
    files: Sequence[ScoreFile],
    query_id: str | None,
    roles: Roles,
    metrics: object,
    catalogue: Catalogue,
) -> Iterator[str]:
    """The columns of several pipelines that may be metrics."""
    counts = Counter(str(label) for file in files for label in file.frame)
    is_list = isinstance(metrics, Iterable) and not isinstance(metrics, Mapping)
    names = {normalise_name(str(name)) for name in metrics} if is_list else set()  # type: ignore[attr-defined]
    keys = {_id_column(file.frame, query_id) for file in files}
    keys |= {column for file in files for column in file.pipeline_columns}
    for label, n_files in counts.items():
        role = roles.get(label)
        if n_files < 2 or role not in (None, "metric") or label in keys:
            continue
        # Whether the format of the file leaves open that the column is a metric.
        is_open = any(file.metric_columns is None or label in file.metric_columns for file in files)
        cells = [file.frame[label] for file in files if label in file.frame]
        if (
            role == "metric"
            or normalise_name(label) in names
            or (
                is_open
                and state_column_kind(label, list(counts)) is None
                and may_be_metric(pd.concat(cells, ignore_index=True).rename(label), catalogue)
            )
        ):
            yield label


def _id_column(frame: pd.DataFrame, query_id: str | None) -> str | None:
    key = query_id or QUERY_ID
    return key if key in frame else id_column_of(frame.columns) or question_text(frame)


@dataclass(frozen=True, eq=False)
class _SharedColumn:
    """A column of several pipelines, and what is stated and known about its metric."""

    label: str
    files: Sequence[ScoreFile]
    query_id: str | None
    bounds: ScoreRange | None
    known: Metric | None

    @cached_property
    def parts(self) -> list[pd.Series]:
        """The cells of each pipeline."""
        return [file.frame[self.label] for file in self.files]

    @cached_property
    def ids(self) -> list[pd.Series]:
        """The query ids of each pipeline."""
        frames = [file.frame for file in self.files]
        columns = [_id_column(frame, self.query_id) for frame in frames]
        ids = [
            frame.index.to_series() if column is None else frame[column]
            for frame, column in zip(frames, columns, strict=True)
        ]
        return [part.reset_index(drop=True) for part in ids]

    @cached_property
    def places(self) -> pd.Series:
        """The query and the pipeline of each cell."""
        names = [file.pipeline for file in self.files]
        pairs = zip(names, self.ids, strict=True)
        return pd.Series([f"{query} of {name}" for name, ids in pairs for query in ids.tolist()])

    def files_on_one_scale(self) -> dict[str, ScoreFile]:
        """The files that change, by pipeline."""
        parts, notes, scale = self.parts, [], None
        if all(pd.api.types.is_numeric_dtype(part.dtype) for part in parts):
            numbers = [numbers_of(part) for part in parts]
        else:
            whole, alone = self._read_texts()
            numbers = np.split(whole.numbers, np.cumsum([len(part) for part in parts])[:-1])
            is_same = [
                part is not None and np.array_equal(part.numbers, together, equal_nan=True)
                for part, together in zip(alone, numbers, strict=True)
            ]
            if not all(is_same):
                parts = [_with_numbers(*pair) for pair in zip(parts, numbers, strict=True)]
                self._check_replaced(parts, whole.numbers)
                notes = list(whole.notes)
            scale = self._written_scale(alone, whole.numbers)
        if self.bounds is None and scale is None:
            scale, note = self._fitted_scale(numbers)
            notes += [note] if note else []
        if scale is None and not notes:
            return {}
        scales = {} if scale is None else {normalise_name(self.label): scale}
        return {
            file.pipeline: replace(
                file,
                frame=file.frame.assign(**{self.label: part}),
                notes=(*file.notes, *notes),
                scales={**file.scales, **scales},
            )
            for file, part in zip(self.files, parts, strict=True)
        }

    def _read_texts(self) -> tuple[ParsedCells, list[ParsedCells | None]]:
        """The cells of all pipelines read together, and those of each pipeline read alone."""
        of_metric = None if self.known is None else self.known.bounds
        cells = [part.tolist() for part in self.parts]
        columns = [CellColumn(self.label, ids.tolist(), self.bounds, of_metric) for ids in self.ids]
        column = CellColumn(self.label, self.places.tolist(), self.bounds, of_metric)
        try:
            whole = read_cells(chain.from_iterable(cells), column)
        except DataError:
            # A doubt within one pipeline is that pipeline's.
            for part, own in zip(cells, columns, strict=True):
                read_cells(part, own)
            raise
        alone: list[ParsedCells | None] = []
        for part, own in zip(cells, columns, strict=True):
            try:
                alone.append(read_cells(part, own))
            except DataError:  # the other pipelines decide what is doubtful in this one
                alone.append(None)
        return whole, alone

    def _check_replaced(self, parts: Sequence[pd.Series], together: FloatArray) -> None:
        """Refuse scores within objects or lists that their pipeline alone would read otherwise."""
        replaced = np.concatenate([read_cells(part.tolist()).numbers for part in parts])
        differing = np.flatnonzero((replaced != together) & ~np.isnan(together))
        if len(differing):
            row = int(differing[0])
            raise DataError(
                f"metric {self.label!r}: the pipelines write its scores in different ways, and the "
                f"cell at {self.places[row]!r} may be {replaced[row]:g} or {together[row]:g}. "
                "Write all scores in one way"
            )

    def _written_scale(
        self, alone: Sequence[ParsedCells | None], together: FloatArray
    ) -> SharedScale | None:
        """The range that is written beside the marks of some pipelines, if all marks lie in it."""
        written = {part.scale for part in alone if part is not None and part.scale is not None}
        if not written or self.bounds is not None:
            return None
        low, high = next(iter(written))
        outside = np.flatnonzero((together < low) | (together > high))
        if len(written) > 1 or len(outside):
            inside = np.flatnonzero((together >= low) & (together <= high))
            rows = int(inside[0]), int(outside[0] if len(outside) else inside[-1])
            refuse_two_scales(self.label, together, self.places, *rows)
        return SharedScale("ordinal", (low, high))

    def _fitted_scale(self, numbers: Sequence[FloatArray]) -> tuple[SharedScale | None, str | None]:
        """The scale of all pipelines where one alone would have another one, and a note."""
        if self.known is None:
            return self._inferred_scale(numbers), None
        tops = [float(np.fmax.reduce(part)) for part in numbers if len(part)]
        if self.known.bounds != _UNIT or not any(top >= _LEAST_TOP for top in tops):
            return None, None
        try:
            fitted = fit_scale(self.known, np.concatenate(numbers), self.places, is_known=True)
        except DataError:
            # Two scales within one pipeline are that pipeline's.
            for part, ids in zip(numbers, self.ids, strict=True):
                fit_scale(self.known, part, ids, is_known=True)
            raise
        bounds = fitted.metric.bounds
        if bounds is None or bounds == self.known.bounds:  # the check of the bounds refuses it
            return None, None
        return SharedScale(fitted.metric.kind, bounds), fitted.note

    def _inferred_scale(self, numbers: Sequence[FloatArray]) -> SharedScale | None:
        """The scale of an unknown metric, if a pipeline alone would have another one."""
        name = normalise_name(self.label)
        scored = [part for part in numbers if not np.isnan(part).all()]
        together = np.concatenate(numbers)
        whole = infer_metric(name, together)
        alone = [infer_metric(name, part) for part in scored]
        if all((metric.kind, metric.bounds) == (whole.kind, whole.bounds) for metric in alone):
            return None
        are_shares = any((each.kind, each.bounds) == ("proportion", _UNIT) for each in alone)
        are_large = any(
            metric.bounds is None and bool(np.nanmedian(part) >= _LEAST_TOP)
            for metric, part in zip(alone, scored, strict=True)
        )
        # One pipeline has shares of 1, and another one mostly numbers over 2.
        if are_shares and are_large:
            is_share = (together > 0) & (together < 1)
            rows = int(np.flatnonzero(is_share)[0]), int(np.nanargmax(together))
            refuse_two_scales(name, together, self.places, *rows)
        return SharedScale(whole.kind, whole.bounds)


def _with_numbers(cells: pd.Series, numbers: FloatArray) -> pd.Series:
    """The cells with numbers in place of the texts that spell them."""
    values = [
        float(number) if not np.isnan(number) and _is_number(cell) else cell
        for cell, number in zip(cells.tolist(), numbers, strict=True)
    ]
    return pd.Series(values, index=cells.index, name=cells.name, dtype=object)


def _is_number(cell: object) -> bool:
    if isinstance(cell, str):
        return parse_numeral(cell) is not None
    return isinstance(cell, int | float) and not isinstance(cell, bool)

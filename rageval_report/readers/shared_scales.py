"""One scale for a metric in all pipelines of a file, decided from all of its cells.

Pipelines of one file are written by one program, so 0.4 in one of them and 45 in another are on one
scale, or something is wrong. Each pipeline alone would look right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TypeVar

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

T = TypeVar("T")
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
    shared = {file.pipeline: file for file in files}
    try:
        for label in _metric_labels(files, query_id, roles or {}, metrics, catalogue):
            having = [file for file in shared.values() if label in file.frame]
            own_bounds = bounds.get(normalise_name(label))
            column = _SharedColumn(label, having, query_id, own_bounds, catalogue.search(label))
            shared |= column.files_on_one_scale()
    except DataError as exc:
        raise source.error(str(exc)) from exc
    return list(shared.values())


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
        if role == "metric" or normalise_name(label) in names or (
            is_open
            and state_column_kind(label, list(counts)) is None
            and may_be_metric(pd.concat(cells, ignore_index=True).rename(label), catalogue)
        ):  # fmt: skip
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
    def ids(self) -> list[pd.Series]:
        """The query ids of each pipeline."""
        frames = [file.frame for file in self.files]
        columns = [_id_column(frame, self.query_id) for frame in frames]
        return [
            pd.Series(list(frame.index if column is None else frame[column]), dtype=object)
            for frame, column in zip(frames, columns, strict=True)
        ]

    @cached_property
    def places(self) -> pd.Series:
        """The query and the pipeline of each cell."""
        pairs = zip(self.files, self.ids, strict=True)
        return pd.Series([f"{query} of {file.pipeline}" for file, ids in pairs for query in ids])

    def _read(self, cells: Iterable[object], labels: pd.Series) -> ParsedCells:
        of_metric = None if self.known is None else self.known.bounds
        return read_cells(cells, CellColumn(self.label, labels.tolist(), self.bounds, of_metric))

    def files_on_one_scale(self) -> dict[str, ScoreFile]:
        """The files that change, by pipeline."""
        parts = [file.frame[self.label] for file in self.files]
        notes: list[str] = []
        scale = None
        if all(pd.api.types.is_numeric_dtype(part.dtype) for part in parts):
            numbers = [numbers_of(part) for part in parts]
        else:
            cells = [part.tolist() for part in parts]
            whole = _of_parts(
                lambda: self._read(chain.from_iterable(cells), self.places),
                lambda place: self._read(cells[place], self.ids[place]),
                len(parts),
            )
            alone = [self._read_alone(*pair) for pair in zip(cells, self.ids, strict=True)]
            numbers = np.split(whole.numbers, np.cumsum([len(part) for part in parts])[:-1])
            if not all(
                part is not None and np.array_equal(part.numbers, together, equal_nan=True)
                for part, together in zip(alone, numbers, strict=True)
            ):
                parts = [_with_numbers(*pair) for pair in zip(parts, numbers, strict=True)]
                self._check_replaced(parts, whole.numbers)
                notes = list(whole.notes)
        if self.bounds is None:
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

    def _read_alone(self, cells: list[object], ids: pd.Series) -> ParsedCells | None:
        try:
            return self._read(cells, ids)
        except DataError:  # the other pipelines decide what is doubtful in this one
            return None

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

    def _fitted_scale(self, numbers: Sequence[FloatArray]) -> tuple[SharedScale | None, str | None]:
        """The scale of all pipelines where one alone would have another one, and a note."""
        known = self.known
        if known is None:
            return self._inferred_scale(numbers), None
        tops = [float(np.fmax.reduce(part)) for part in numbers if len(part)]
        if known.bounds != _UNIT or not any(top >= _LEAST_TOP for top in tops):
            return None, None
        fitted = _of_parts(
            lambda: fit_scale(known, np.concatenate(numbers), self.places, is_known=True),
            lambda place: fit_scale(known, numbers[place], self.ids[place], is_known=True),
            len(numbers),
        )
        bounds = fitted.metric.bounds
        if bounds is None or bounds == known.bounds:  # the check of the bounds refuses it
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
        # One pipeline has shares of 1, and another one mostly numbers over 2.
        if any((each.kind, each.bounds) == ("proportion", _UNIT) for each in alone) and any(
            metric.bounds is None and np.nanmedian(part) >= _LEAST_TOP
            for metric, part in zip(alone, scored, strict=True)
        ):
            is_share = (together > 0) & (together < 1)
            rows = int(np.flatnonzero(is_share)[0]), int(np.nanargmax(together))
            refuse_two_scales(name, together, self.places, *rows)
        return SharedScale(whole.kind, whole.bounds)


def _of_parts(whole: Callable[[], T], part: Callable[[int], object], n_parts: int) -> T:
    """What the whole gives; a doubt that is within one part is that part's."""
    try:
        return whole()
    except DataError:
        for place in range(n_parts):
            part(place)
        raise


def _with_numbers(cells: pd.Series, numbers: FloatArray) -> pd.Series:
    """The cells with numbers in place of the texts that spell them."""
    values = [
        float(number)
        if not np.isnan(number)
        and (
            parse_numeral(cell) is not None
            if isinstance(cell, str)
            else isinstance(cell, int | float) and not isinstance(cell, bool)
        )
        else cell
        for cell, number in zip(cells.tolist(), numbers, strict=True)
    ]
    return pd.Series(values, index=cells.index, name=cells.name, dtype=object)

"""Sample questions of a data set: evenly from its parts, or at a ratio of unanswerable ones."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from rageval_report.datasets.base import DatasetPart, RecordFields
from rageval_report.errors import DataError, RagevalWarning, ReaderError
from rageval_report.records.draw_keys import DrawKeys, draw_rows, number_of_content

# Stack levels from the warnings here to the line that called `load_dataset`.
_CALLER = 4


def count_unanswerable(n: int, ratio: float) -> int:
    """The number of unanswerable questions among `n` at a ratio; halves are rounded up.

    Raises
    ------
    DataError
        If the ratio is not between 0 and 1.

    Examples
    --------
    >>> count_unanswerable(10, 0.25)
    3
    """
    if isinstance(ratio, bool) or not 0.0 <= ratio <= 1.0:
        raise DataError(f"unanswerable_ratio must be a number from 0 to 1, or None; got {ratio!r}")
    # round() rounds halves to the even number: 0.5 of 5 would be 2, of 7 would be 4.
    return math.floor(n * ratio + 0.5)


def draw_evenly(
    parts: Sequence[DatasetPart], samples: int | None, rng: np.random.Generator
) -> list[RecordFields]:
    """Sample the same number of questions from each part, as far as it has so many.

    Parameters
    ----------
    parts : sequence of DatasetPart
        Each with at least one row.
    samples : int, optional
        The total number; all questions if None.
    rng : Generator
        The source of randomness.
    """
    shares = _shares([len(part.rows) for part in parts], samples)
    sampled = (_sample_part(part, n, rng) for part, n in zip(parts, shares, strict=True))
    return [record for records in sampled for record in records]


def draw_by_ratio(
    parts: Sequence[DatasetPart], samples: int | None, ratio: float, rng: np.random.Generator
) -> list[RecordFields]:
    """Sample questions such that a given share of them has no answer.

    Every row is read. Questions that do not say whether they have an answer are left out.

    Parameters
    ----------
    parts : sequence of DatasetPart
        The parts, pooled.
    samples : int, optional
        The total number; if None, as many as that ratio allows.
    ratio : float
        The share of questions without an answer.
    rng : Generator
        The source of randomness.

    Raises
    ------
    DataError
        If the ratio is not between 0 and 1, or one of the two kinds of question does not occur.
    """
    rows = [(part, place) for part in parts for place in range(len(part.rows))]
    flags = [_record(*row).get("answerable") for row in rows]
    without = [place for place, flag in enumerate(flags) if flag is not None and not flag]
    answerable = [place for place, flag in enumerate(flags) if flag]
    n_without, n_answerable = _sizes_at_ratio(len(without), len(answerable), samples, ratio)
    keys = np.concatenate([_row_keys(part) for part in parts])
    places = [
        place
        for group, n in ((without, n_without), (answerable, n_answerable))
        for place in np.array(group, dtype=np.intp)[draw_rows(keys[group], n, rng)].tolist()
    ]
    return [_record(*rows[place]) for place in sorted(places)]


def _sizes_at_ratio(
    n_without: int, n_answerable: int, samples: int | None, ratio: float
) -> tuple[int, int]:
    """How many questions to sample without and with an answer: as requested, or the most."""
    count_unanswerable(1, ratio)  # checks the ratio
    if not (n_without or n_answerable):
        raise DataError(
            "no question says whether it has an answer, so none can be drawn by unanswerable_ratio"
        )
    if (ratio > 0 and not n_without) or (ratio < 1 and not n_answerable):
        raise DataError(
            f"cannot reach unanswerable_ratio={ratio:g}: {n_without} questions have no answer, "
            f"{n_answerable} have one"
        )
    available = n_without + n_answerable
    most = available if samples is None else min(samples, available)
    # The largest total at which both kinds suffice; the rounding makes a closed form error-prone.
    sizes = ((count_unanswerable(n, ratio), n) for n in range(most, 0, -1))
    without, n = next(
        (without, n) for without, n in sizes if without <= n_without and n - without <= n_answerable
    )
    if samples is not None and n < samples:
        warnings.warn(
            f"samples={samples}, but at unanswerable_ratio={ratio:g} there are only {n} questions; "
            "all of them are used",
            RagevalWarning,
            stacklevel=_CALLER,
        )
    return without, n - without


def _shares(sizes: list[int], samples: int | None) -> list[int]:
    """How many questions to sample from each part: evenly, but no more than a part has."""
    if samples is None:
        return sizes
    if samples > sum(sizes):
        message = f"samples={samples}, but there are only {sum(sizes)} questions; all are used"
        warnings.warn(message, RagevalWarning, stacklevel=_CALLER)
    shares = [0] * len(sizes)
    while (left := samples - sum(shares)) > 0:
        unfilled = [place for place, size in enumerate(sizes) if shares[place] < size]
        if not unfilled:
            break
        for place in unfilled[:left]:
            shares[place] += min(max(1, left // len(unfilled)), sizes[place] - shares[place])
    return shares


def _sample_part(part: DatasetPart, n: int, rng: np.random.Generator) -> Iterator[RecordFields]:
    size = len(part.rows)
    # Sorted: the sample stands in the order of the data set.
    places = range(size) if n >= size else np.sort(draw_rows(_row_keys(part), n, rng)).tolist()
    for place in places:
        yield _record(part, place)


def _row_keys(part: DatasetPart) -> DrawKeys:
    """What the rows are ordered by before a draw: hashes of their content, not their positions.

    Rows of the ``datasets`` library are decoded one by one when asked for, and their publisher
    fixes their order, so these are ordered by position.
    """
    if not isinstance(part.rows, list):
        return np.arange(len(part.rows), dtype=np.uint64)
    return np.fromiter(map(number_of_content, part.rows), dtype=np.uint64)


def _record(part: DatasetPart, place: int) -> RecordFields:
    try:
        return part.record(part.rows[place])
    except DataError as exc:
        raise ReaderError(f"question {place} (counted from 0): {exc}", part.name) from exc

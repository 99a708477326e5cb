"""Which questions of a data set are drawn: of each part alike, or so many without an answer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from rageval_report.datasets.base import DatasetPart, Record
from rageval_report.errors import DataError, RagevalWarning, ReaderError

# Warnings point at the line that called `load_dataset`.
_CALLER = 4


def count_unanswerable(n: int, ratio: float) -> int:
    """How many of `n` questions have no answer at that ratio, rounded, a half up.

    Raises
    ------
    DataError
        If the ratio is not from 0 to 1.

    Examples
    --------
    >>> count_unanswerable(10, 0.25)
    3
    """
    if isinstance(ratio, bool) or not 0.0 <= ratio <= 1.0:
        raise DataError(f"unanswerable_ratio must be from 0 to 1, or None; got {ratio!r}")
    return math.floor(n * ratio + 0.5)


def draw_evenly(
    parts: Sequence[DatasetPart], samples: int | None, rng: np.random.Generator
) -> list[Record]:
    """The records of questions that are drawn, from each part as many, as far as it has them.

    Parameters
    ----------
    parts : sequence of DatasetPart
        Each with at least one row.
    samples : int, optional
        How many; all where None.
    rng : Generator
        What is drawn.
    """
    shares = _shares([len(part.rows) for part in parts], samples)
    return [one for part, n in zip(parts, shares, strict=True) for one in _drawn(part, n, rng)]


def draw_by_ratio(
    parts: Sequence[DatasetPart], samples: int | None, ratio: float, rng: np.random.Generator
) -> list[Record]:
    """The records of questions that are drawn, so many of which have no answer.

    Every row is looked at. Questions that do not say whether they have an answer are left out.

    Parameters
    ----------
    parts : sequence of DatasetPart
        Drawn from together.
    samples : int, optional
        How many; as many as there are at that ratio where None.
    ratio : float
        The share without an answer.
    rng : Generator
        What is drawn.

    Raises
    ------
    DataError
        If the ratio makes no sense, or the questions with or those without an answer are lacking.
    """
    rows = [(part, place) for part in parts for place in range(len(part.rows))]
    told = [_record(*row).get("answerable") for row in rows]
    lack = [place for place, one in enumerate(told) if one is not None and not one]
    have = [place for place, one in enumerate(told) if one]
    n_lack, n_have = _of_each(len(lack), len(have), samples, ratio)
    places = [
        *rng.choice(lack, n_lack, replace=False).tolist(),
        *rng.choice(have, n_have, replace=False).tolist(),
    ]
    return [_record(*rows[place]) for place in sorted(places)]


def _of_each(n_lack: int, n_have: int, samples: int | None, ratio: float) -> tuple[int, int]:
    """How many without and with an answer: as asked, else the most that there are."""
    count_unanswerable(1, ratio)
    if not (n_lack or n_have):
        raise DataError(
            "no question says whether it has an answer, so none can be drawn by unanswerable_ratio"
        )
    if (ratio > 0 and not n_lack) or (ratio < 1 and not n_have):
        raise DataError(
            f"an unanswerable_ratio of {ratio:g} cannot be had: {n_lack} questions have no answer, "
            f"{n_have} have one"
        )
    most = n_lack + n_have if samples is None else min(samples, n_lack + n_have)
    pairs = ((count_unanswerable(n, ratio), n) for n in range(most, 0, -1))
    lack, n = next((few, n) for few, n in pairs if few <= n_lack and n - few <= n_have)
    if samples is not None and n < samples:
        told = f"{samples} questions were asked for; at a ratio of {ratio:g} there are {n}"
        warnings.warn(f"{told}, and these are taken", RagevalWarning, stacklevel=_CALLER)
    return lack, n - lack


def _shares(sizes: list[int], samples: int | None) -> list[int]:
    """How many of each part: alike, but no more than it has, and all of them together as asked."""
    if samples is None:
        return sizes
    if samples > sum(sizes):
        told = f"{samples} questions were asked for; there are {sum(sizes)}, and all are taken"
        warnings.warn(told, RagevalWarning, stacklevel=_CALLER)
    shares = [0] * len(sizes)
    while (left := samples - sum(shares)) > 0:
        open_ = [place for place, size in enumerate(sizes) if shares[place] < size]
        if not open_:
            break
        for place in open_[:left]:
            shares[place] += min(max(1, left // len(open_)), sizes[place] - shares[place])
    return shares


def _drawn(part: DatasetPart, n: int, rng: np.random.Generator) -> Iterator[Record]:
    size = len(part.rows)
    places = range(size) if n >= size else np.sort(rng.choice(size, n, replace=False)).tolist()
    for place in places:
        yield _record(part, place)


def _record(part: DatasetPart, place: int) -> Record:
    try:
        return part.record(part.rows[place])
    except DataError as exc:
        raise ReaderError(f"question {place}, counted from 0: {exc}", part.name) from exc

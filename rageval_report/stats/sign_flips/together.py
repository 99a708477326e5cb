"""The sign-flip tests and intervals of many samples, computed together and kept in the samples.

A table of metrics, pairs of pipelines or groups asks for hundreds of small tests. One by one they
cost a fraction of a millisecond each, most of it for calls of NumPy; together they are a few
arrays. What does not suit a batch (few patterns of signs, whole multiples of a step, large samples)
is computed when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from rageval_report.stats.base import Alternative
from rageval_report.stats.pairs.paired_scores import PairedScores, keep_steps
from rageval_report.stats.sign_flips.inversion import Shifts, search_limits, shifts_of
from rageval_report.stats.sign_flips.meet_in_the_middle import SAME_SUM
from rageval_report.stats.sign_flips.sign_sums import Tail
from rageval_report.stats.sign_flips.sign_tail import MOST_AT_ONCE, scattered_tails
from rageval_report.stats.sign_flips.signflip import pvalue_of_tail, tails_of_large
from rageval_report.stats.sign_flips.tail_batch import batch_width, fit_together
from rageval_report.stats.sign_flips.tilted_rows import sum_rows
from rageval_report.types import FloatArray

SizedSample = TypeVar("SizedSample")

# Of fewer pairs a p-value is a list of sums, and the limits are means of subsets.
_FEWEST_TESTED, _FEWEST_INVERTED = 33, 23
# Numbers in the matrix of a batch, and how many of them may be zeros that only fill its rows: these
# take about as long as another batch.
_MOST_NUMBERS, _MOST_FILLED = 2**18, 2000


def keep_pvalues(samples: Sequence[PairedScores]) -> None:
    """Compute the two-sided p-values of samples whose differences lie on no lattice, and keep them.

    Parameters
    ----------
    samples : sequence of PairedScores
        Each keeps its p-value in ``sign_flip_pvalues``.

    Examples
    --------
    >>> pairs = PairedScores.of(np.zeros(60), np.sin(np.arange(60.0)) + 0.2)
    >>> keep_pvalues([pairs])
    >>> {kept: round(pvalue, 6) for kept, pvalue in pairs.sign_flip_pvalues.items()}
    {('two-sided', False): 0.014584}
    """
    kept: tuple[Alternative, bool] = ("two-sided", False)
    keep_steps(samples)
    tested = [pairs for pairs in _scattered(samples) if kept not in pairs.sign_flip_pvalues]
    _keep_large_pvalues(tested)
    rows = [
        (pairs, _shortened(pairs.differences))
        for pairs in tested
        if pairs.n <= MOST_AT_ONCE and pairs.unit == 1.0
    ]
    for batch in _batches([(each[1].size, each) for each in rows], _FEWEST_TESTED):
        values = np.zeros((len(batch), batch_width(max(each.size for _, each in batch))))
        for row, (_, differences) in zip(values, batch, strict=True):
            row[: differences.size] = differences
        total = sum_rows(values)
        np.abs(values, out=values)
        # A sum this small is zero up to rounding: it has no direction.
        total[np.abs(total) <= SAME_SUM * sum_rows(values)] = np.nan
        tails = scattered_tails(values, np.abs(total))
        for place in np.flatnonzero(np.isfinite(tails)).tolist():
            tail = Tail(float(tails[place]), 0.0)
            pairs = batch[place][0]
            pairs.sign_flip_pvalues[kept] = pvalue_of_tail(tail, bool(total[place] > 0), midp=False)


def _shortened(differences: FloatArray) -> FloatArray:
    """The differences other than 0 if these are at most half of all; else all of them.

    Zeros do not matter, but rows of one length are computed together.
    """
    if 2 * np.count_nonzero(differences) > differences.size:
        return differences
    shortened: FloatArray = differences[differences != 0.0]
    return shortened


def _keep_large_pvalues(tested: Sequence[PairedScores]) -> None:
    # Sums of parts of a table have a p-value of their own, and so have identical scores.
    large = [
        (pairs, pairs.large_sample)
        for pairs in tested
        if pairs.n > MOST_AT_ONCE and pairs.sums is None and pairs.n_changed
    ]
    known = [(pairs, sample) for pairs, sample in large if sample is not None]
    if known:
        observed = tails_of_large([sample for _, sample in known])
        for (pairs, _), each in zip(known, observed, strict=True):
            if each is not None:
                pvalue = pvalue_of_tail(*each, midp=False)
                pairs.sign_flip_pvalues["two-sided", False] = pvalue


def keep_limits(samples: Sequence[PairedScores], confidence_level: float) -> None:
    """Compute the limits of the inverted sign-flip test of many samples, and keep them.

    Parameters
    ----------
    samples : sequence of PairedScores
        Each keeps its limits in ``sign_flip_limits``.
    confidence_level : float
        Between 0 and 1.

    Examples
    --------
    >>> pairs = PairedScores.of(np.zeros(60), np.sin(np.arange(60.0)) + 0.2)
    >>> keep_limits([pairs], 0.95)
    >>> low, high = pairs.sign_flip_limits[0.95]
    >>> round(low, 4), round(high, 4)
    (0.0484, 0.4162)
    """
    searched = [pairs for pairs in samples if confidence_level not in pairs.sign_flip_limits]
    level = (1.0 - confidence_level) / 2
    large = [
        pairs
        for pairs in searched
        if pairs.n > MOST_AT_ONCE and _suits(pairs) and pairs.large_sample is not None
    ]
    known = [(pairs, shifts_of(pairs)) for pairs in large]
    _search_kept([each for each in known if not each[1].are_equal], confidence_level)
    suitable = [(pairs.n, pairs) for pairs in searched if pairs.n <= MOST_AT_ONCE and _suits(pairs)]
    for batch in _batches(suitable, _FEWEST_INVERTED):
        shifted = [(pairs, shifts_of(pairs)) for pairs in batch]
        # Differences that are all equal have no interval to search.
        suits = [
            (pairs, shifts)
            for pairs, shifts in shifted
            if not shifts.are_equal and shifts.suits_batch(level, pairs.step is not None)
        ]
        _search_kept(suits, confidence_level)


def _search_kept(samples: Sequence[tuple[PairedScores, Shifts]], confidence_level: float) -> None:
    """Search the limits of samples together, and keep them."""
    limits = search_limits(
        [shifts for _, shifts in samples],
        (1.0 - confidence_level) / 2,
        half=[pairs.step is not None for pairs, _ in samples],
    )
    for (pairs, _), ends in zip(samples, limits, strict=True):
        pairs.sign_flip_limits[confidence_level] = ends


def _scattered(samples: Sequence[PairedScores]) -> list[PairedScores]:
    return [pairs for pairs in samples if pairs.step is None]


def _suits(pairs: PairedScores) -> bool:
    """Whether a batch can hold the pairs: squares of very large scores would overflow in it."""
    return not pairs.is_binary and pairs.unit == 1.0


def _batches(sized: Sequence[tuple[int, SizedSample]], fewest: int) -> Iterator[list[SizedSample]]:
    """Samples of similar size that fit into one matrix each; none of few values."""
    chosen = sorted((each for each in sized if each[0] >= fewest), key=lambda each: each[0])
    batch: list[tuple[int, SizedSample]] = []
    filled = 0
    for size, sample in chosen:
        if batch:
            filled += len(batch) * (size - batch[-1][0])
            is_full = (len(batch) + 1) * size > _MOST_NUMBERS or filled > _MOST_FILLED
            if is_full or not fit_together(batch[0][0], size):
                yield [each for _, each in batch]
                batch, filled = [], 0
        batch.append((size, sample))
    if batch:
        yield [each for _, each in batch]

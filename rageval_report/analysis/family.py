"""The families of a correction: quality is one table, latency, cost and tokens are another.

A slower pipeline must not raise the bar for its quality, and a table of quality metrics is one
family whether a metric is known, named or guessed: the chance of any false finding in what a reader
sees is that of the level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report.scores import Metric
from rageval_report.stats.corrections import adjust_pvalues, level_left
from rageval_report.types import FloatArray, IndexArray

# Takes the positions of the tests that are corrected together, and returns their p-values.
CorrectTests = Callable[[IndexArray], FloatArray]


@dataclass(frozen=True)
class CorrectionFamily:
    """The metrics of a table whose tests are corrected together.

    Parameters
    ----------
    members : tuple of str
        The quality metrics; if there are none, all metrics.
    outside : tuple of str
        Latency, cost and tokens beside quality metrics: a family of their own.
    """

    members: tuple[str, ...]
    outside: tuple[str, ...] = ()

    @classmethod
    def of(cls, metrics: Iterable[Metric]) -> CorrectionFamily:
        """The families of these metrics.

        Examples
        --------
        >>> CorrectionFamily.of([Metric("recall"), Metric("latency_ms", group="performance")])
        CorrectionFamily(members=('recall',), outside=('latency_ms',))
        """
        is_quality = {metric.name: metric.group != "performance" for metric in metrics}
        members = tuple(name for name, is_member in is_quality.items() if is_member)
        outside = tuple(name for name, is_member in is_quality.items() if not is_member)
        return cls(members, outside) if members else cls(outside)

    def correct(
        self, names: Sequence[str], pvalues: FloatArray, correct: CorrectTests
    ) -> FloatArray:
        """The corrected p-values, those of each family among themselves.

        Parameters
        ----------
        names : sequence of str
            The metric of each test.
        pvalues : ndarray of shape (n_tests,)
            The p-values; NaN where no test was possible.
        correct : callable
            Takes positions in `pvalues` and returns the corrected p-values of these tests.
        """
        corrected = np.full(len(pvalues), np.nan)
        for family in (self.members, self.outside):
            places = np.array([i for i, name in enumerate(names) if name in family], dtype=np.intp)
            if places.size:
                corrected[places] = correct(places)
        return corrected

    def sizes(self, names: Sequence[str], pvalues: FloatArray) -> list[int]:
        """The number of tests in the family of each; NaN p-values are not tests."""
        counts = self.correct(
            names, pvalues, lambda own: np.full(own.size, np.isfinite(pvalues[own]).sum())
        )
        return [int(count) for count in counts]

    def size(self, names: Sequence[str], pvalues: FloatArray) -> int:
        """The number of tests of quality metrics."""
        tested = np.isfinite(pvalues).tolist()
        return sum(name in self.members and test for name, test in zip(names, tested, strict=True))

    def notes(self) -> list[str]:
        """Which metrics are corrected apart."""
        if not self.outside:
            return []
        return [f"{', '.join(self.outside)}: corrected apart from the quality metrics"]


def correct_in_family(
    family: CorrectionFamily, names: Sequence[str], pvalues: FloatArray, method: str
) -> FloatArray:
    """The corrected p-values by a method of the table ``rageval_report.stats.CORRECTIONS``.

    Examples
    --------
    >>> family = CorrectionFamily(("recall", "f1"), ("latency_ms",))
    >>> names, pvalues = ["recall", "f1", "latency_ms"], np.array([0.02, 0.5, 0.01])
    >>> correct_in_family(family, names, pvalues, "holm").tolist()
    [0.04, 0.5, 0.01]
    """
    return family.correct(names, pvalues, lambda own: adjust_pvalues(pvalues[own], method=method))


def levels_left(
    family: CorrectionFamily,
    names: Sequence[str],
    pvalues: FloatArray,
    correction: str,
    alpha: float,
    *,
    hidden: float = 0.0,
) -> FloatArray:
    """The level that a correction leaves to each test that is not shown.

    Parameters
    ----------
    family, names, pvalues, correction
        As above; the p-values are those before correction.
    alpha : float
        The error rate.
    hidden : float
        As in `adjust_with_hidden`.

    Examples
    --------
    >>> family = CorrectionFamily(("recall", "mrr"), ("latency_ms",))
    >>> names, pvalues = ["recall", "mrr", "latency_ms"], np.array([0.04, 0.01, 0.5])
    >>> levels_left(family, names, pvalues, "bonferroni", 0.05).tolist()
    [0.025, 0.025, 0.05]
    """
    # Westfall and Young's factor depends on more than the number of tests; Holm's is never smaller.
    method = "holm" if correction == "westfall-young" else correction

    def level_of(own: IndexArray) -> FloatArray:
        adjusted = adjust_with_hidden(pvalues[own], method, hidden)
        n_tests, n_shown = int(np.isfinite(adjusted).sum()), int((adjusted <= alpha).sum())
        n_counted = n_tests + round(hidden * n_tests)
        return np.full(own.size, level_left(n_counted, n_shown, method, alpha=alpha))

    return family.correct(names, pvalues, level_of)


def adjust_with_hidden(pvalues: FloatArray, correction: str, hidden: float = 0.0) -> FloatArray:
    """The corrected p-values of tests that were selected from more tests.

    Parameters
    ----------
    pvalues : ndarray of shape (n_tests,)
        The p-values of the tests that are shown; NaN where no test was possible.
    correction : str
        A name of the table ``rageval_report.stats.CORRECTIONS``.
    hidden : float
        The number of tests that are not shown, for each one that is.

    Notes
    -----
    The hidden tests count as if their p-values were 1. A step-down correction of all tests rejects
    whatever this one rejects, so the error rate holds for any selection.

    Examples
    --------
    >>> adjust_with_hidden(np.array([0.001, 0.01]), "holm", 4.0).tolist()
    [0.01, 0.09]
    """
    n_hidden = round(hidden * int(np.isfinite(pvalues).sum()))
    counted = np.concatenate([pvalues, np.ones(n_hidden)])
    return adjust_pvalues(counted, correction)[: len(pvalues)]

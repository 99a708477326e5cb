"""The family of a correction: which metrics count, and the p-values of those that do not.

A correction for several tests asks more of each finding, the more tests there are. Columns that
nobody named as metrics, such as a count that a file happens to hold, must not make the findings on
recall and faithfulness weaker. So metrics that are known or requested are corrected among
themselves; each of the others is corrected over all tests of the table, so that its own p-value
holds too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rageval_report.scores import Metric
from rageval_report.stats.corrections import adjust_pvalues, level_left
from rageval_report.types import BoolArray, FloatArray, IndexArray

# Takes the positions of the tests that are corrected together, and returns their p-values.
CorrectTests = Callable[[IndexArray], FloatArray]


@dataclass(frozen=True)
class CorrectionFamily:
    """The metrics whose tests are corrected together, and the metrics that stand outside.

    Parameters
    ----------
    members : tuple of str
        The metrics that count.
    outside : tuple of str
        The metrics that were taken for metrics only because of their cells, and token counts.
    """

    members: tuple[str, ...]
    outside: tuple[str, ...] = ()

    @classmethod
    def of(cls, metrics: Iterable[Metric], *, are_requested: bool = False) -> CorrectionFamily:
        """The family among these metrics; all of them if the caller requested them by name.

        Examples
        --------
        >>> CorrectionFamily.of([Metric("recall"), Metric("n_found", in_family=False)])
        CorrectionFamily(members=('recall',), outside=('n_found',))
        """
        in_family: dict[str, bool] = {}
        for metric in metrics:
            in_family[metric.name] = in_family.get(metric.name, False) or metric.in_family
        members = tuple(name for name, is_member in in_family.items() if is_member)
        # If nothing is known, all metrics are the caller's own, and all of them count.
        if are_requested or not members:
            return cls(tuple(in_family))
        return cls(members, tuple(name for name in in_family if name not in members))

    def correct(
        self, names: Sequence[str], pvalues: FloatArray, correct: CorrectTests
    ) -> FloatArray:
        """The corrected p-values: of the members among themselves, of the others over all.

        Parameters
        ----------
        names : sequence of str
            The metric of each test.
        pvalues : ndarray of shape (n_tests,)
            The p-values; NaN where no test was possible.
        correct : callable
            Takes positions in `pvalues` and returns the corrected p-values of these tests.
        """
        everything = np.arange(len(pvalues))
        is_member = self._are_members(names)
        if is_member.all():
            return correct(everything)
        corrected = correct(everything)
        corrected[is_member] = correct(everything[is_member])
        return corrected

    def sizes(self, names: Sequence[str], pvalues: FloatArray) -> list[int]:
        """The number of tests over which each p-value is corrected; NaN p-values are not tests."""
        is_test, is_member = np.isfinite(pvalues), self._are_members(names)
        n_members, n_tests = int((is_test & is_member).sum()), int(is_test.sum())
        return [n_members if member else n_tests for member in is_member]

    def size(self, names: Sequence[str], pvalues: FloatArray) -> int:
        """The number of tests of the members."""
        return int((np.isfinite(pvalues) & self._are_members(names)).sum())

    def notes(self) -> list[str]:
        """Which metrics stand outside, and how to take them in."""
        if not self.outside:
            return []
        names = ", ".join(repr(name) for name in self.outside[:5])
        more = f" and {len(self.outside) - 5} more" if len(self.outside) > 5 else ""
        verb, pronoun = ("does", "it") if len(self.outside) == 1 else ("do", "them")
        return [
            f"{names}{more} {verb} not count among the tests of the other metrics, because nothing "
            f"but the numbers in the cells says that {pronoun.replace('them', 'they')} "
            f"{'is a metric' if len(self.outside) == 1 else 'are metrics'}. To count {pronoun}, "
            "name all metrics: metrics=[...]"
        ]

    def _are_members(self, names: Sequence[str]) -> BoolArray:
        members = set(self.members)
        return np.array([name in members for name in names], dtype=bool)


class HasMetricPairs(Protocol):
    """What a pairing of two runs has of a family's interest."""

    @property
    def metrics(self) -> list[tuple[Metric, Metric]]:
        """Each metric as the baseline and as the candidate know it."""


def family_of_pairings(
    pairings: Iterable[HasMetricPairs], *, are_requested: bool = False
) -> CorrectionFamily:
    """The family of a comparison: a metric counts if one of the runs says that it is one."""
    described = (
        replace(ours, in_family=True) if theirs.in_family and not ours.in_family else ours
        for pairing in pairings
        for ours, theirs in pairing.metrics
    )
    return CorrectionFamily.of(described, are_requested=are_requested)


def correct_in_family(
    family: CorrectionFamily,
    names: Sequence[str],
    pvalues: FloatArray,
    method: str,
) -> FloatArray:
    """The corrected p-values by a method of the table ``rageval_report.stats.CORRECTIONS``.

    Examples
    --------
    >>> family = CorrectionFamily(("recall",), ("n_found",))
    >>> correct_in_family(family, ["recall", "n_found"], np.array([0.04, 0.01]), "holm").tolist()
    [0.04, 0.02]
    """
    return family.correct(
        names,
        pvalues,
        lambda positions: adjust_pvalues(pvalues[positions], method=method),
    )


# Its factor depends on more than the number of tests; Holm's is never smaller.
_PLANNED_AS_HOLM = "westfall-young"


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
    family : CorrectionFamily
        The metrics whose tests are corrected together.
    names : sequence of str
        The metric of each test.
    pvalues : ndarray of shape (n_tests,)
        The p-values before correction; NaN where no test was possible.
    correction : str
        The name of the correction.
    alpha : float
        The error rate.
    hidden : float
        As in `adjust_with_hidden`.

    Examples
    --------
    >>> family = CorrectionFamily(("recall", "mrr"), ("n_found",))
    >>> pvalues = np.array([0.04, 0.01, 0.5])
    >>> levels_left(family, ["recall", "mrr", "n_found"], pvalues, "bonferroni", 0.05).round(3)
    array([0.025, 0.025, 0.017])
    """
    method = "holm" if correction == _PLANNED_AS_HOLM else correction

    def level_of(positions: IndexArray) -> FloatArray:
        adjusted = adjust_with_hidden(pvalues[positions], method, hidden)
        n_tests, n_shown = int(np.isfinite(adjusted).sum()), int((adjusted <= alpha).sum())
        n_counted = n_tests + round(hidden * n_tests)
        return np.full(len(positions), level_left(n_counted, n_shown, method, alpha=alpha))

    return family.correct(names, pvalues, level_of)


def adjust_with_hidden(
    pvalues: FloatArray,
    correction: str,
    hidden: float = 0.0,
) -> FloatArray:
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

"""The families of a correction: quality is one table, latency, cost and tokens are another."""

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
    """The metrics of a table whose tests are corrected together."""

    members: tuple[str, ...]
    outside: tuple[str, ...] = ()

    @classmethod
    def of(cls, metrics: Iterable[Metric]) -> CorrectionFamily:
        """The families of these metrics."""
        is_quality = {metric.name: metric.group != "performance" for metric in metrics}
        members = tuple(name for name, is_member in is_quality.items() if is_member)
        outside = tuple(name for name, is_member in is_quality.items() if not is_member)
        return cls(members, outside) if members else cls(outside)

    def correct(
        self, names: Sequence[str], pvalues: FloatArray, correct: CorrectTests
    ) -> FloatArray:
        """The corrected p-values, those of each family among themselves."""
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
    """The corrected p-values by a method of the table ``rageval_report.stats.CORRECTIONS``."""
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
    """The level that a correction leaves to each test that is not shown."""
    # Westfall and Young's factor depends on more than the number of tests; Holm's is never smaller.
    method = "holm" if correction == "westfall-young" else correction

    def level_of(own: IndexArray) -> FloatArray:
        adjusted = adjust_with_hidden(pvalues[own], method, hidden)
        n_tests, n_shown = int(np.isfinite(adjusted).sum()), int((adjusted <= alpha).sum())
        n_counted = n_tests + round(hidden * n_tests)
        return np.full(own.size, level_left(n_counted, n_shown, method, alpha=alpha))

    return family.correct(names, pvalues, level_of)


def adjust_with_hidden(pvalues: FloatArray, correction: str, hidden: float = 0.0) -> FloatArray:
    """The corrected p-values of tests that were selected from more tests."""
    n_hidden = round(hidden * int(np.isfinite(pvalues).sum()))
    counted = np.concatenate([pvalues, np.ones(n_hidden)])
    return adjust_pvalues(counted, correction)[: len(pvalues)]

"""A run in stages: queries in a random order, until it is enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rageval_report.types import IndexArray

# Distinguishes the order from the sample, which is drawn with the same seed.
_ORDER = 1


@dataclass(frozen=True)
class Stages:
    """The stages of a run that may end before all queries are asked.

    Parameters
    ----------
    sizes : callable
        Takes the number of queries, and returns how many are asked at the end of each stage,
        ascending; the last is all of them.
    watch : callable
        Takes the records of the queries that the latest stage added, in the order in which they
        were asked, and returns whether the run may end.
    identity : mapping
        What decides when the run ends; a run can be resumed only with the same.
    """

    sizes: Callable[[int], Sequence[int]]
    watch: Callable[[Sequence[dict[str, Any]]], bool]
    identity: Mapping[str, Any] = field(default_factory=dict)

    def parts(self, chosen: np.ndarray, seed: int) -> list[IndexArray]:
        """The rows of the queries of each stage.

        Parameters
        ----------
        chosen : ndarray of bool
            The queries of the run.
        seed : int
            The seed of the order.

        Examples
        --------
        >>> stages = Stages(lambda n: [2, n], lambda records: False)
        >>> [part.size for part in stages.parts(np.ones(5, dtype=bool), seed=0)]
        [2, 3]
        """
        order = asking_order(chosen, seed)
        return np.split(order, [size for size in self.sizes(order.size) if size < order.size])


def asking_order(chosen: np.ndarray, seed: int) -> IndexArray:
    """The rows of the chosen queries in a random order, the same for the same seed.

    Parameters
    ----------
    chosen : ndarray of bool
        The queries of the run.
    seed : int
        The seed.

    Examples
    --------
    >>> sorted(asking_order(np.array([True, False, True, True]), seed=0).tolist())
    [0, 2, 3]
    """
    order: IndexArray = np.random.default_rng([seed, _ORDER]).permutation(np.flatnonzero(chosen))
    return order

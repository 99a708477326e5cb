"""A run in stages: queries in a random order, until it is enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rageval_report.records.draws import DrawKeys, draw_rows
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

    def parts(self, keys: DrawKeys, chosen: np.ndarray, seed: int) -> list[IndexArray]:
        """The rows of the queries of each stage.

        Parameters
        ----------
        keys : ndarray of uint64
            The `draw_keys` of all queries.
        chosen : ndarray of bool
            The queries of the run.
        seed : int
            The seed of the order.

        Examples
        --------
        >>> stages = Stages(lambda n: [2, n], lambda records: False)
        >>> keys, chosen = np.arange(5, dtype=np.uint64), np.ones(5, dtype=bool)
        >>> [part.size for part in stages.parts(keys, chosen, seed=0)]
        [2, 3]
        """
        order = asking_order(keys, chosen, seed)
        return np.split(order, [size for size in self.sizes(order.size) if size < order.size])


def asking_order(keys: DrawKeys, chosen: np.ndarray, seed: int) -> IndexArray:
    """The rows of the chosen queries in a random order, the same for the same seed.

    Shuffled rows are asked in the same order, because each query is drawn by its number.

    Parameters
    ----------
    keys : ndarray of uint64
        The `draw_keys` of all queries.
    chosen : ndarray of bool
        The queries of the run.
    seed : int
        The seed.

    Examples
    --------
    >>> keys = np.array([7, 3, 5, 1], dtype=np.uint64)
    >>> order = asking_order(keys, np.array([True, False, True, True]), seed=0)
    >>> sorted(order.tolist())
    [0, 2, 3]
    """
    rows = np.flatnonzero(chosen)
    drawn = draw_rows(keys[rows], rows.size, np.random.default_rng([seed, _ORDER]))
    return np.asarray(rows[drawn])

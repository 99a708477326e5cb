"""Paired tests as other packages compute them: one p-value, or decision, per comparison.

Each peer is one function and one line in `PEERS`. A package that is not installed has no column.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from peer_intervals import is_installed

LEVEL = 0.05
# evalstats compares from this many queries on.
FEWEST_OF_EVALSTATS = 15
# The default of ranx.
PERMUTATIONS = 1_000
Rejects = Callable[[np.ndarray, np.ndarray], tuple[bool, ...]]


@dataclass(frozen=True)
class PeerTest:
    """A package, its columns, whether it says that two pipelines differ, and from which n on."""

    package: str
    columns: tuple[str, ...]
    rejects: Rejects
    fewest: int = 1


def installed() -> list[PeerTest]:
    return [peer for peer in PEERS if is_installed(peer.package)]


def by_fisher_of_ranx(baseline: np.ndarray, candidate: np.ndarray) -> tuple[bool]:
    """The function behind `ranx.compare`, which takes rankings and not scores."""
    pvalue, _ = _serial_fisher()(baseline, candidate, n_permutations=PERMUTATIONS)
    return (bool(pvalue <= LEVEL),)


@functools.cache
def _serial_fisher() -> Callable[..., tuple[float, bool]]:
    """Compiled for one thread: of several, only one draws from the stream that has the seed."""
    import numba
    from ranx.statistical_tests import fisher_randomization_test

    return numba.njit(fisher_randomization_test.py_func)


def by_tukey_of_ranx(baseline: np.ndarray, candidate: np.ndarray) -> tuple[bool]:
    from ranx.statistical_tests import compute_statistical_significance

    scores = {"baseline": {"metric": baseline}, "candidate": {"metric": candidate}}
    with warnings.catch_warnings():  # of equal scores
        warnings.simplefilter("ignore")
        found = compute_statistical_significance(
            list(scores), scores, stat_test="tukey", max_p=LEVEL
        )
    return (bool(found[tuple(scores)]["metric"]["p_value"] <= LEVEL),)


def by_autorank(baseline: np.ndarray, candidate: np.ndarray) -> tuple[bool]:
    """The t test if both columns look normal, or else Wilcoxon's test of the larger median."""
    from autorank import autorank

    table = pd.DataFrame({"baseline": baseline, "candidate": candidate})
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        found = autorank(table, alpha=LEVEL)
    return (bool(found.pvalue < LEVEL),)


@dataclass(frozen=True)
class Compared:
    """The p-value and the interval of the mean difference, candidate minus baseline."""

    pvalue: float
    low: float
    high: float


def compared_by_evalstats(baseline: np.ndarray, candidate: np.ndarray) -> Compared:
    import evalstats

    if baseline.size < FEWEST_OF_EVALSTATS:
        return Compared(math.nan, math.nan, math.nan)
    n = baseline.size
    table = pd.DataFrame(
        {
            "model": np.repeat(["candidate", "baseline"], n),
            "item": np.tile(np.arange(n), 2),
            "score": np.concatenate([candidate, baseline]),
        }
    )
    with warnings.catch_warnings():  # on which method it chose
        warnings.simplefilter("ignore")
        result = evalstats.compare(evalstats.load_from(table), factors="model", score_range=(0, 1))
    (pair,) = result.to_dict()["pairwise"]
    low, high = pair["ci_low"], pair["ci_high"]
    if pair["a"] == "baseline":
        low, high = -high, -low
    return Compared(pair["p_value"], low, high)


def by_evalstats(baseline: np.ndarray, candidate: np.ndarray) -> tuple[bool, bool]:
    """By its p-value, and by the interval, after which it says that a pipeline is better."""
    found = compared_by_evalstats(baseline, candidate)
    return found.pvalue <= LEVEL, found.low > 0.0 or found.high < 0.0


PEERS: Sequence[PeerTest] = (
    PeerTest("ranx", ("ranx, Fisher",), by_fisher_of_ranx),
    PeerTest("ranx", ("ranx, Tukey",), by_tukey_of_ranx),
    PeerTest("autorank", ("autorank",), by_autorank),
    PeerTest(
        "evalstats", ("evalstats, p", "evalstats, interval"), by_evalstats, FEWEST_OF_EVALSTATS
    ),
)

"""Intervals of a mean as other packages compute them, many data sets at a time.

Each peer is one function and one line in `PEERS`. A package that is not installed has no column;
the page says which packages it had, and their versions. A limit that is not a finite number, or an
error of the package, is no interval and contains nothing.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
import scipy.stats

RESAMPLES = 999
# The data sets of a block are resampled with the same indices, each block with its own.
BLOCK = 50

Draws = np.ndarray
Bounds = tuple[float, float] | None
Limits = tuple[np.ndarray, np.ndarray]
LimitsOf = Callable[[Draws, Bounds], Limits]


@dataclass(frozen=True)
class Peer:
    """A package, and the lower and upper limits that it gives to each row of scores."""

    package: str
    limits: LimitsOf
    only_binary: bool = False


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def installed(peers: Mapping[str, Peer]) -> dict[str, Peer]:
    return {name: peer for name, peer in peers.items() if is_installed(peer.package)}


def versions(packages: Sequence[str]) -> str:
    """A sentence with the versions of the packages, and one with those that are missing."""
    here = [f"{name} {importlib.metadata.version(name)}" for name in packages if is_installed(name)]
    missing = [name for name in packages if not is_installed(name)]
    sentence = f"The peers are {', '.join(here)}."
    return f"{sentence} Not installed, so left out: {', '.join(missing)}." if missing else sentence


def in_blocks(limits_of: Callable[[Draws, int], Limits]) -> LimitsOf:
    """Limits of a resampling method, block by block, without its warnings on equal scores."""

    def limits(draws: Draws, _bounds: Bounds) -> Limits:
        blocks = [draws[at : at + BLOCK] for at in range(0, len(draws), BLOCK)]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = [limits_of(block, seed) for seed, block in enumerate(blocks)]
        low, high = (np.concatenate(ends) for ends in zip(*found, strict=True))
        return low, high

    return limits


# -- SciPy, statsmodels


def bootstrap_of_scipy(method: str) -> LimitsOf:
    def limits(draws: Draws, seed: int) -> Limits:
        found = scipy.stats.bootstrap(
            (draws,),
            np.mean,
            axis=1,
            vectorized=True,
            n_resamples=RESAMPLES,
            method=method,
            rng=np.random.default_rng(seed),
        ).confidence_interval
        return found.low, found.high

    return in_blocks(limits)


def t_of_statsmodels(draws: Draws, _bounds: Bounds) -> Limits:
    from statsmodels.stats.weightstats import DescrStatsW

    low, high = DescrStatsW(draws.T).tconfint_mean()
    return low, high


def share_of_statsmodels(draws: Draws, _bounds: Bounds) -> Limits:
    """Its default for a proportion, the normal approximation."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(draws.sum(axis=1), draws.shape[1])
    return low, high


# -- arch


def bootstrap_of_arch(method: str) -> LimitsOf:
    options = {"std_err_func": _standard_errors} if method == "studentized" else {}

    def limits(draws: Draws, seed: int) -> Limits:
        from arch.bootstrap import IIDBootstrap

        # Its rows are queries, and each column is a parameter of its own. BCa in arch 8.0.0 takes
        # the mean of all columns for that of each, so all of them are to have the mean 0.
        means = draws.T.mean(axis=0)
        try:
            found = IIDBootstrap(draws.T, seed=seed).conf_int(
                lambda scores: scores.mean(axis=0) - means, RESAMPLES, method=method, **options
            )
        except RuntimeError:  # BCa, if the mean lies below or above all resampled ones
            return _halves(limits, draws, seed)
        low, high = found + means
        return low, high

    return in_blocks(limits)


def _halves(limits: Callable[[Draws, int], Limits], draws: Draws, seed: int) -> Limits:
    """The limits of those data sets that have some; NaN for the others."""
    is_flat = np.ptp(draws, axis=1) == 0.0
    if len(draws) == 1 or is_flat.all():
        return np.full(len(draws), np.nan), np.full(len(draws), np.nan)
    ends = np.full((2, len(draws)), np.nan)
    for part in np.array_split(np.flatnonzero(~is_flat), 1 if is_flat.any() else 2):
        ends[:, part] = limits(draws[part], seed)
    return ends[0], ends[1]


def _standard_errors(_means_of: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return scores.std(axis=0, ddof=1) / np.sqrt(len(scores))


# -- evalstats


def mean_of_evalstats(draws: Draws, bounds: Bounds) -> Limits:
    """Its own choice of a method, with the bounds of the metric declared."""
    import evalstats

    with warnings.catch_warnings():  # on which method it chose
        warnings.simplefilter("ignore")
        found = [evalstats.mean_ci(each, score_range=bounds, rng=0) for each in draws]
    low, high = np.array([(each.ci_low, each.ci_high) for each in found]).T
    return low, high


PEERS: Mapping[str, Peer] = {
    "scipy, BCa": Peer("scipy", bootstrap_of_scipy("BCa")),
    "statsmodels, t": Peer("statsmodels", t_of_statsmodels),
    "statsmodels, share": Peer("statsmodels", share_of_statsmodels, only_binary=True),
    "arch, percentile": Peer("arch", bootstrap_of_arch("percentile")),
    "arch, BCa": Peer("arch", bootstrap_of_arch("bca")),
    "arch, studentized": Peer("arch", bootstrap_of_arch("studentized")),
    "evalstats": Peer("evalstats", mean_of_evalstats),
}

"""p-value, interval, verdict and gate never contradict each other, on random data of many kinds.

The environment variable RAGEVAL_COHERENCE sets the number of data sets; 20000 take half an hour.
"""

import functools
import math
import os

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank

DATASETS = int(os.environ.get("RAGEVAL_COHERENCE", "32"))
# Each block of data sets goes through all tests before the next one is made: what the tests share
# is computed once and not kept.
BLOCK = 400
ALPHA = 0.05
MARGIN = 0.1


def continuous(rng, n):
    return rng.uniform(0.2, 0.6, n), rng.uniform(0.0, 0.4) * rng.normal(0.3, 1.0, n)


def tenths(rng, n):
    return rng.integers(3, 6, n) / 10, rng.integers(-2, 4, n) / 10


def reciprocal_ranks(rng, n):
    before, after = 1 / rng.integers(1, 5, n), 1 / rng.integers(1, 4, n)
    return before, after - before


def right_or_wrong(rng, n):
    before = rng.integers(0, 2, n).astype(float)
    after = np.where(rng.random(n) < 0.5, before, rng.random(n) < 0.7)
    return before, after - before


def mostly_ties(rng, n):
    return rng.uniform(0.2, 0.6, n), np.where(rng.random(n) < 0.7, 0.0, rng.normal(0.1, 0.2, n))


def rare_losses(rng, n):
    return rng.uniform(0.5, 0.6, n), np.where(rng.random(n) < 0.1, -0.5, 0.05)


def constant_shift(rng, n):
    return rng.uniform(0.2, 0.6, n), np.full(n, rng.normal(0, 0.1))


def equal(rng, n):
    return rng.uniform(0.2, 0.6, n), np.zeros(n)


KINDS = (
    *(continuous, tenths, reciprocal_ranks, right_or_wrong),
    *(mostly_ties, rare_losses, constant_shift, equal),
)


class Sample:
    """Two runs with two metrics without bounds, and perhaps clusters; made from a seed."""

    def __init__(self, seed):
        rng = np.random.default_rng([2026, seed])
        self.n = int(rng.integers(2, 40))
        kinds = rng.choice(len(KINDS), 2)
        self.sides = [KINDS[kind](rng, self.n) for kind in kinds]
        self.labels = None
        if rng.random() < 0.6:
            self.labels = rng.integers(0, max(2, int(self.n * rng.uniform(0.2, 1.0))), self.n)
        self.missing = [rng.random(self.n) < rng.choice([0.0, 0.15]) for _ in self.sides]
        self.order = rng.permutation(self.n)
        self.n_units = [
            self.n - gone.sum() if self.labels is None else len(set(self.labels[~gone]))
            for gone in self.missing
        ]

    def runs(self, shift=0.0, scale=1.0, order=None):
        order = np.arange(self.n) if order is None else order
        ids = [f"q{i}" for i in order]
        befores, afters = {}, {}
        for name, (before, gains), gone in zip("ab", self.sides, self.missing, strict=True):
            after = np.where(gone, math.nan, before + gains)
            befores[f"my_{name}"] = (scale * before)[order]
            afters[f"my_{name}"] = (scale * (after + shift))[order]
        # So far apart that neither a shift nor a scale leaves the range.
        known = {"kind": "real", "bounds": (-1e4, 1e4), "greater_is_better": True}
        metrics = dict.fromkeys(befores, known)
        return tuple(
            RAGPipelineEvaluation(name, {"query_id": ids, **columns}, metrics=metrics)
            for name, columns in (("old", befores), ("new", afters))
        )

    def clusters(self):
        if self.labels is None:
            return None
        return {f"q{i}": f"d{label}" for i, label in enumerate(self.labels)}

    @functools.cached_property
    def pair(self):
        return self.runs()

    def compare(self, *runs, **options):
        return compare(*(runs or self.pair), clusters=self.clusters(), **options)

    @functools.cached_property
    def comparison(self):
        return self.compare()


@pytest.fixture(scope="module", params=range(0, DATASETS, BLOCK))
def samples(request):
    seeds = range(request.param, min(request.param + BLOCK, DATASETS))
    return {seed: Sample(seed) for seed in seeds}


def is_equal(found, expected, precision):
    return found == pytest.approx(expected, abs=precision, nan_ok=True)


def test_the_pvalue_the_interval_and_the_verdict_never_contradict_each_other(samples):
    for seed, sample in samples.items():
        frame, sentences = sample.comparison.frame, sample.comparison.sentences
        rows = zip(frame.iterrows(), sentences, sample.n_units, strict=True)
        for (_, row), sentence, n_units in rows:
            is_better = row["verdict"] == "better"
            is_worse = row["verdict"] == "worse"
            assert (is_better or is_worse) == (row["pvalue_adjusted"] <= ALPHA), seed
            assert is_better == (row["pvalue_adjusted"] <= ALPHA and row["difference"] > 0), seed
            excludes_zero = row["ci_low"] > 0 or row["ci_high"] < 0
            assert excludes_zero == (row["pvalue"] <= ALPHA), (seed, row)
            if n_units < 6:
                assert math.isnan(row["ci_low"]), seed
                assert row["verdict"] in ("too few", "identical"), seed
                beginnings = ("too few", "new and old are identical")
                assert sentence.startswith(beginnings if n_units else "not compared"), seed
            elif row["test"] != "none":
                low, high = row["ci_low"] - 1e-12, row["ci_high"] + 1e-12
                assert low <= row["difference"] <= high, (seed, row)


def test_no_gate_opens_against_the_pvalue_or_below_six_units(samples):
    rules = (
        *("ci_low(difference(my_a)) > 0", "ci_high(difference(my_a)) < 0"),
        *("pvalue(my_a) <= 0.05", f"no_regression(my_a, margin={MARGIN})"),
    )
    for seed, sample in samples.items():
        comparison = sample.comparison
        row, n_units = comparison.frame.iloc[0], sample.n_units[0]
        gates = comparison.gate(*rules).frame
        above, below, differs, claim = gates["passed"]
        # No interval of zero width opens a gate, whatever the p-value of equal differences is.
        may_open = row["pvalue"] <= ALPHA and n_units >= 6 and row["ci_low"] < row["ci_high"]
        assert above == (may_open and row["difference"] > 0), seed
        assert below == (may_open and row["difference"] < 0), seed
        assert differs == (row["pvalue"] <= ALPHA and n_units >= 6), seed
        limit = gates["ci_low"].iloc[3]
        # Within the precision of the search for the limit either is right.
        if n_units < 6:
            assert (gates["state"] == "undecided").all(), seed
        elif abs(limit + MARGIN) > 1e-5:
            assert claim == (limit > -MARGIN), seed


def test_the_order_of_the_queries_moves_nothing(samples):
    names = ["difference", "pvalue", "pvalue_adjusted", "min_detectable_difference"]
    for seed, sample in samples.items():
        here = sample.comparison.frame
        there = sample.compare(*sample.runs(order=sample.order)).frame
        assert is_equal(there[names].to_numpy(), here[names].to_numpy(), 1e-9), seed
        limits = ["ci_low", "ci_high"]
        assert is_equal(there[limits].to_numpy(), here[limits].to_numpy(), 1e-5), seed
        assert there["wins"].tolist() == here["wins"].tolist(), seed


def test_a_ranking_of_two_agrees_with_their_comparison(samples):
    for seed, sample in samples.items():
        pairs = rank(*sample.pair, clusters=sample.clusters(), correction="none").pairs.frame
        rows = sample.compare(correction="none").frame
        rows = rows[rows["n"] > 0]  # a metric that one of the two has not scored is not ranked
        for name in ("difference", "pvalue", "ci_low", "ci_high", "min_detectable_difference"):
            assert is_equal(pairs[name].tolist(), rows[name].tolist(), 1e-6), (seed, name)

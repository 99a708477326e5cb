"""What the coverage page says of peers is what these packages compute."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats import weightstats

from rageval_report.stats import equivalence_test, mean_interval

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """Imports a module of the folder benchmarks, which stays out of other tests' way."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    before = set(sys.modules)
    yield importlib.import_module
    for name in {path.stem for path in BENCHMARKS.glob("*.py")} - before:
        sys.modules.pop(name, None)


@pytest.fixture
def draws():
    return np.random.default_rng(3).beta(8, 2, (7, 20))


def test_the_column_t_is_the_interval_of_statsmodels(benchmark, draws):
    peers = benchmark("peer_intervals")
    low, high = peers.PEERS["statsmodels, t"].limits(draws, (0.0, 1.0))
    ours = [mean_interval(scores, method="t") for scores in draws]
    assert low == pytest.approx([each.low for each in ours], rel=1e-12)
    assert high == pytest.approx([each.high for each in ours], rel=1e-12)


def test_t_at_a_margin_is_the_lower_test_of_statsmodels(benchmark):
    claims = benchmark("simulate_claims")
    rng = np.random.default_rng(5)
    for n in (6, 20):
        differences = rng.normal(0.0, 0.1, n)
        _, (_, pvalue, _), _ = weightstats.ttost_paired(differences, np.zeros(n), -0.05, 9.0)
        assert claims._claimed_by_t(differences, 0.05) == (pvalue <= 0.05)
        found = equivalence_test(
            *(np.zeros(n), differences, 0.05), alternative="non-inferior", method="t"
        )
        assert found.pvalue == pytest.approx(pvalue, rel=1e-9)


def test_peers_find_a_clear_difference_and_none_between_equal_scores(benchmark):
    peers = benchmark("peer_tests")
    rng = np.random.default_rng(2)
    before = rng.uniform(0.1, 0.4, 30)
    noise = rng.normal(0.0, 0.05, 30)
    for peer in peers.installed():
        assert all(peer.rejects(before, before + 0.4 + noise)), peer.package
        assert not any(peer.rejects(before, before + noise - noise.mean())), peer.package


def test_wilcoxon_by_ranks_is_wilcoxon_by_scores(benchmark):
    pages = benchmark("simulate_coverage")
    rng = np.random.default_rng(4)
    for n in (6, 12, 40):
        baseline, candidate = rng.integers(0, 8, (2, n)).astype(float)
        pvalue = pages.paired_test(baseline, candidate, test="wilcoxon").pvalue
        assert pages._pvalue("Wilcoxon", baseline, candidate) == pytest.approx(pvalue, rel=1e-12)

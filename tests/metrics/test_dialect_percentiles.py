"""Percentiles by the rule of a dialect, wherever a percentile is computed from scores.

Witnesses: ``statistics.quantiles`` of Python for Haystack, the line of ragbench's runner,
``sorted(values)[min(int(n * p), n - 1)]``, and NumPy for the others.
"""

import statistics

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation

LATENCIES = [410.0, 120.0, 95.0, 300.0, 101.0, 990.0, 130.0, 88.0, 92.0, 110.0]


def ragbench_percentile(values, p):
    return sorted(values)[min(int(len(values) * p), len(values) - 1)]


def haystack_percentile(values, p):
    return statistics.quantiles(values, n=100)[round(100 * p) - 1]


def usual_percentile(values, p):
    return float(np.percentile(values, 100 * p))


RULES = {
    "ragbench": ragbench_percentile,
    "haystack": haystack_percentile,
    "datapizza": usual_percentile,
    "wfgy": usual_percentile,
    None: usual_percentile,
}
NAMES = {"ragbench": "upper", "haystack": "exclusive"}


def evaluation_in(dialect, values=LATENCIES):
    config = {} if dialect is None else {"dialect": dialect}
    rows = {"query_id": [f"q{n}" for n in range(len(values))], "latency_ms": values}
    group = ["even" if n % 2 else "odd" for n in range(len(values))]
    return RAGPipelineEvaluation("run", {**rows, "type": group}, config=config)


@pytest.mark.parametrize("dialect", RULES)
@pytest.mark.parametrize(("threshold", "p"), [("p25", 0.25), (" P90", 0.9), ("median", 0.5)])
def test_a_threshold_by_percentile_follows_the_dialect(dialect, threshold, p):
    evaluation = evaluation_in(dialect)
    cut = RULES[dialect](LATENCIES, p)
    listed = evaluation.failures("latency_ms", threshold)
    assert listed.settings["threshold"] == pytest.approx(cut)
    assert listed.settings["percentile_method"] == NAMES.get(dialect, "linear")
    assert sorted(listed.frame["latency_ms"]) == sorted(v for v in LATENCIES if v > cut)
    below = evaluation.get_scores_below_threshold("latency_ms", threshold)
    assert sorted(below["latency_ms"]) == sorted(v for v in LATENCIES if v < cut)
    cuts = evaluation.find_thresholds(percentiles=(100 * p,)).frame
    assert cuts.iloc[0, 1] == listed.settings["threshold"]


@pytest.mark.parametrize("method", ["linear", "exclusive", "upper"])
def test_the_rule_of_a_call_goes_before_that_of_the_dialect(method):
    witness = {"linear": usual_percentile, "exclusive": haystack_percentile}
    cut = witness.get(method, ragbench_percentile)(LATENCIES, 0.25)
    for dialect in (None, "haystack"):
        evaluation = evaluation_in(dialect)
        listed = evaluation.failures("latency_ms", "p25", method=method)
        assert listed.settings["threshold"] == pytest.approx(cut)
        below = evaluation.get_scores_below_threshold("latency_ms", "p25", method=method)
        assert len(below) == sum(value < cut for value in LATENCIES)
    if method != "exclusive":
        assert any("as this call says" in note for note in listed.notes)

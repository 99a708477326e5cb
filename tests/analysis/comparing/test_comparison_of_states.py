"""The rows of a comparison from states: the same numbers, sentences and notes as in memory."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.comparing.comparison import comparison_of_rows
from rageval_report.analysis.comparing.metric_comparison import MetricPairs, compare_pairs
from rageval_report.errors import DataError
from rageval_report.stats.states.pair_state import PairState

LATTICES = {"exact_match": (2, 1), "rubric_score": (6, 1), "recall": (5, 4), "f1": (101, 100)}
NUMBERS = ("difference", "ci_low", "ci_high", "pvalue", "pvalue_adjusted", "effect_size")


def scores_of(n, *, seed, dropped=0.02):
    """A frame of scores on lattices, a share of which is missing."""
    rng = np.random.default_rng(seed)
    frame = {"query_id": [f"q{i:06}" for i in range(n)]}
    for name, (size, denominator) in LATTICES.items():
        frame[name] = rng.integers(0, size, n) / denominator
        frame[name][rng.random(n) < dropped] = np.nan
    return pd.DataFrame(frame)


def evaluations(n, **options):
    """A baseline and a candidate that keeps two of three of its scores."""
    before, other = scores_of(n, seed=1, **options), scores_of(n, seed=2, **options)
    kept = np.random.default_rng(3).random((n, 1)) < 0.67
    names = list(LATTICES)
    after = before.copy()
    after[names] = np.where(kept, before[names], other[names])
    bounds = {"rubric_score": {"bounds": (0, 5)}}
    return (
        RAGPipelineEvaluation("old", before, metrics=bounds),
        RAGPipelineEvaluation("new", after, metrics=bounds),
    )


@dataclass
class Side:
    """A run that is not in memory."""

    name: str


@dataclass
class ScanPairing:
    """Two runs that are not in memory."""

    baseline: Side
    candidate: Side
    metrics: list

    def notes(self):
        """Both have the same queries."""
        return ()


def states_of(in_memory, seed):
    """The state of each metric, from shuffled rows in random parts."""
    (pairing,) = in_memory.pairings
    rng = np.random.default_rng(seed)
    for ours, theirs in pairing.metrics:
        before, after = pairing.both(ours, theirs)
        order = rng.permutation(before.size)
        parts = np.split(order, np.sort(rng.integers(0, before.size, 4)))
        states = [PairState.of(before[part], after[part]) for part in parts]
        yield ours, sum(states[1:], states[0])


def compare_states(in_memory, correction="holm", seed=0):
    """What a scan makes of the states."""
    plan, (pairing,) = in_memory.plan, in_memory.pairings
    names = pairing.baseline.name, pairing.candidate.name
    rows = [
        compare_pairs(names, metric, plan, MetricPairs.of_state(state))
        for metric, state in states_of(in_memory, seed)
    ]
    like = ScanPairing(*map(Side, names), pairing.metrics)
    n = len(pairing.baseline.scores)
    return comparison_of_rows(
        in_memory.title, [like], rows, plan, correction=correction, n_queries=n
    )


@pytest.mark.parametrize("n", [40, 700, 9000])
@pytest.mark.parametrize(
    "options",
    [{}, {"margin": 0.02, "margin_method": "strict"}, {"missing": "bounds"}, {"test": "t"}],
    ids=["defaults", "strict margin", "bounds", "t"],
)
def test_a_comparison_of_states_is_that_of_memory_to_the_last_bit(n, options):
    in_memory = compare(*evaluations(n), **options)
    of_states = compare_states(in_memory)
    first, second = in_memory.to_frame(), of_states.to_frame()
    close = ["difference_lowest", "difference_highest", "rare_loss_difference"]
    close = [name for name in close if name in first]
    pd.testing.assert_frame_equal(
        first.drop(columns=close), second.drop(columns=close), check_exact=True
    )
    pd.testing.assert_frame_equal(first[close], second[close], rtol=1e-12, atol=1e-15)
    assert of_states.settings == in_memory.settings
    assert of_states.notes == in_memory.notes
    assert of_states.headline == in_memory.headline


def test_scores_on_no_lattice_have_the_same_sentences():
    rng = np.random.default_rng(7)
    n = 150_000
    ids = [f"q{i}" for i in range(n)]
    before = {
        "query_id": ids,
        "faithfulness": rng.beta(5, 2, n),
        "latency_ms": rng.lognormal(6, 1, n),
    }
    after = {
        "query_id": ids,
        "faithfulness": np.clip(before["faithfulness"] + rng.normal(0.001, 0.1, n), 0, 1),
        "latency_ms": before["latency_ms"] * rng.lognormal(0.002, 0.2, n),
    }
    in_memory = compare(RAGPipelineEvaluation("old", before), RAGPipelineEvaluation("new", after))
    of_states = compare_states(in_memory)
    first, second = in_memory.to_frame(), of_states.to_frame()
    for name in NUMBERS:
        assert second[name].tolist() == pytest.approx(first[name].tolist(), rel=1e-9)
    for name in ("n", "wins", "ties", "losses", "test", "verdict", "fragile", "n_needed"):
        assert second[name].tolist() == first[name].tolist()


def test_the_ratio_of_latencies_needs_the_state_of_their_logarithms():
    rng = np.random.default_rng(5)
    ids = [f"q{i}" for i in range(6000)]
    sides = [
        RAGPipelineEvaluation(name, {"query_id": ids, "latency_ms": rng.lognormal(6, 1, 6000)})
        for name in ("old", "new")
    ]
    in_memory = compare(*sides)
    ((metric, state),) = states_of(in_memory, 1)
    before, after = (np.log(side.scores["latency_ms"].to_numpy()) for side in sides)
    known = MetricPairs.of_state(state, logarithms=PairState.of(before, after))
    row = compare_pairs(("old", "new"), metric, in_memory.plan, known)
    pairing = ScanPairing(Side("old"), Side("new"), in_memory.pairings[0].metrics)
    of_states = comparison_of_rows(
        "t", [pairing], [row], in_memory.plan, correction="holm", n_queries=6000
    )
    assert any("ratio of geometric means" in note for note in in_memory.notes)
    assert of_states.notes == in_memory.notes


def test_what_needs_every_score_says_so():
    in_memory = compare(*evaluations(9000))
    with pytest.raises(DataError, match=r"westfall-young.*\.collect\(\)"):
        compare_states(in_memory, correction="westfall-young")


def test_no_common_query_with_a_score_is_a_row_without_a_test():
    nothing = {"query_id": ["a", "b"], "recall": [np.nan, 0.5]}
    other = {"query_id": ["a", "b"], "recall": [0.5, np.nan]}
    in_memory = compare(RAGPipelineEvaluation("old", nothing), RAGPipelineEvaluation("new", other))
    pd.testing.assert_frame_equal(in_memory.to_frame(), compare_states(in_memory).to_frame())

"""Which tests are corrected together; second witness: Holm by statsmodels, and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare, history, rank

N = 60
QUALITY = ["recall", "faithfulness", "pages_opened", "my_quality"]


def run(name, shift, *, seed, **options):
    rng = np.random.default_rng(seed)
    columns = {
        "recall": np.clip(rng.normal(0.5 + shift, 0.15, N), 0, 1),
        "faithfulness": np.clip(rng.normal(0.6 + shift / 2, 0.2, N), 0, 1),
        "pages_opened": rng.poisson(4, N),
        "my_quality": rng.random(N),
        "latency_ms": rng.lognormal(6 + shift, 0.3, N),
        "total_tokens": rng.poisson(400, N),
    }
    ids = [f"q{i}" for i in range(N)]
    return RAGPipelineEvaluation(name, {"query_id": ids, **columns}, **options)


def both(**options):
    return run("old", 0.0, seed=1, **options), run("new", 0.06, seed=2, **options)


def test_guessed_and_known_metrics_are_one_family_and_latency_is_another():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    comparison = compare(*both())
    frame = comparison.frame.set_index("metric")
    quality, rest = frame.loc[QUALITY], frame.loc[["latency_ms", "total_tokens"]]
    for family in (quality, rest):
        expected = multitest.multipletests(family["pvalue"], method="holm")[1]
        assert family["pvalue_adjusted"].to_numpy() == pytest.approx(expected, rel=1e-12)
    assert comparison.settings["family_size"] == 4
    assert frame["n_tests"].tolist() == [4] * 4 + [2] * 2
    assert "latency_ms, total_tokens: corrected apart from the quality metrics" in comparison.notes


@pytest.mark.parametrize("correction", ["holm", "bh", "bonferroni", "westfall-young"])
def test_a_slower_pipeline_does_not_raise_the_bar_for_its_quality(correction):
    options = {"correction": correction, "n_resamples": 999}
    with_latency = compare(*both(), **options).frame.set_index("metric").loc[QUALITY]
    without = compare(*both(), metrics=QUALITY, **options).frame
    assert with_latency["pvalue_adjusted"].tolist() == without["pvalue_adjusted"].tolist()


def test_rankings_slices_and_histories_have_the_same_families():
    assert rank(*both(), run("newest", 0.1, seed=3)).settings["family_size"] == 4 * 3
    assert history(both()).settings["family_size"] == 4
    labelled = [
        RAGPipelineEvaluation(
            one.name,
            {"query_id": list(one.scores.index), "topic": ["a", "b"] * (N // 2), **one.scores},
        )
        for one in both()
    ]
    assert compare(*labelled).slices("topic").settings["family_size"] == 4 * 2

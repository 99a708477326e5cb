"""Which tests are corrected together; second witness: Holm by statsmodels, and simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, history, rank
from rageval_report.analysis.verdicts import CorrectionFamily, levels_left
from rageval_report.scores import Metric, score_table

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


def test_naming_the_metrics_changes_no_pvalue():
    names = [*QUALITY, "latency_ms", "total_tokens"]
    plain, named = compare(*both()).frame, compare(*both(), metrics=names).frame
    assert plain["pvalue_adjusted"].tolist() == named["pvalue_adjusted"].tolist()


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


def test_a_ranking_says_how_many_tests_each_family_has():
    ranking = rank(*both(), run("slow", 0.5, seed=3))
    # Of three pipelines there are three pairs on each of the metrics.
    for name, n_tests in (("recall", 4 * 3), ("latency_ms", 2 * 3)):
        [sentence] = ranking.of(name)["verdict"].dropna()
        assert f"(Holm-adjusted, {n_tests} tests)" in sentence
    [note] = ranking.pairs.notes
    assert "over the 12 pairs of quality metrics, those of latency_ms and total_tokens" in note


def test_if_only_latency_and_cost_are_compared_they_are_the_family():
    comparison = compare(*both(), metrics=["latency_ms", "total_tokens"])
    assert comparison.settings["family_size"] == 2
    assert not any("apart" in note for note in comparison.notes)


def test_a_table_of_metrics_without_a_difference_is_rarely_wrong_whatever_is_guessed():
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(200):
        sides = rng.random((2, 30, 10))
        names = ["recall", "faithfulness", *(f"mine{i}" for i in range(8))]
        ids = [f"q{i}" for i in range(30)]
        runs = [
            RAGPipelineEvaluation(name, {"query_id": ids, **dict(zip(names, side.T, strict=True))})
            for name, side in zip("ab", sides, strict=True)
        ]
        wrong += compare(*runs, test="t").frame["pvalue_adjusted"].min() <= 0.05
    assert wrong <= 19  # at most 1 in 1,000 such simulations has more at 5 %


# -- what a table of scores calls a metric of its own


def test_what_a_format_lists_counts_only_if_it_is_no_bookkeeping():
    data = {"query_id": list("abc"), "recall": [1.0, 0.5, 0.2], "prompt_tokens": [10, 20, 30]}
    read = score_table(pd.DataFrame(data), only=["recall", "prompt_tokens"])
    assert [name for name, metric in read.metrics.items() if metric.in_family] == ["recall"]
    asked = score_table(
        pd.DataFrame(data), only=["recall", "prompt_tokens"], metrics=["prompt_tokens"]
    )
    assert asked.metrics["prompt_tokens"].in_family


@pytest.mark.parametrize("metrics", [["recall", "total"], {"total": "lower"}])
def test_what_the_caller_names_counts_although_the_file_leaves_it_out(metrics):
    data = {"query_id": list("abc"), "recall": [1.0, 0.5, 0.2], "total": [0.1, 0.2, 0.3]}
    known = {"total": {"in_family": False}}
    assert not score_table(pd.DataFrame(data), known=known).metrics["total"].in_family
    assert score_table(pd.DataFrame(data), known=known, metrics=metrics).metrics["total"].in_family


# -- the level that is left


def test_the_level_left_is_that_of_the_family_of_each_metric():
    family = CorrectionFamily.of(
        [Metric("recall"), Metric("mrr"), Metric("f1"), Metric("cost_usd", group="performance")]
    )
    names = ["recall", "mrr", "f1", "cost_usd"]
    pvalues = np.array([0.001, 0.3, np.nan, 0.4])  # f1 was not tested
    levels = levels_left(family, names, pvalues, "holm", 0.05)
    # One of two quality metrics is shown; the cost is alone.
    assert levels.tolist() == pytest.approx([0.05, 0.05, 0.05, 0.05])


def test_corrections_that_need_more_than_pvalues_are_planned_as_holms():
    family = CorrectionFamily(("recall", "mrr"))
    pvalues = np.array([0.2, 0.3])
    levels = levels_left(family, ["recall", "mrr"], pvalues, "westfall-young", 0.05)
    assert levels.tolist() == pytest.approx([0.025, 0.025])

"""Which metrics count when p-values are corrected; second witness: Holm by statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, history, rank
from rageval_report.analysis.family import CorrectionFamily, levels_left
from rageval_report.scores import Metric, score_table

RNG = np.random.default_rng(11)
N = 60


def run(name, shift, *, seed, extra=True, **options):
    rng = np.random.default_rng(seed)
    columns = {
        "recall": np.clip(rng.normal(0.5 + shift, 0.15, N), 0, 1),
        "faithfulness": np.clip(rng.normal(0.6 + shift / 2, 0.2, N), 0, 1),
    }
    if extra:
        columns |= {"pages_opened": rng.poisson(4, N), "my_quality": rng.random(N)}
    ids = [f"q{i}" for i in range(N)]
    return RAGPipelineEvaluation(name, {"query_id": ids, **columns}, **options)


def both(**options):
    return run("old", 0.0, seed=1, **options), run("new", 0.06, seed=2, **options)


def test_guessed_columns_do_not_raise_the_pvalues_of_known_metrics():
    with_guesses, without = compare(*both()), compare(*both(extra=False))
    known = with_guesses.frame.set_index("metric").loc[["recall", "faithfulness"]]
    alone = without.frame.set_index("metric")
    assert known["pvalue_adjusted"].tolist() == alone["pvalue_adjusted"].tolist()
    assert with_guesses.settings["family_size"] == 2


def test_guessed_columns_are_corrected_over_every_test_of_the_table():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    frame = compare(*both()).frame.set_index("metric")
    every = multitest.multipletests(frame["pvalue"], method="holm")[1]
    own = multitest.multipletests(frame["pvalue"].iloc[:2], method="holm")[1]
    assert frame["pvalue_adjusted"].to_numpy() == pytest.approx([*own, *every[2:]], rel=1e-12)


def test_the_notes_say_which_are_left_out_and_how_to_take_them_in():
    [note] = [note for note in compare(*both()).notes if "'my_quality'" in note]
    assert "'pages_opened'" in note
    assert "metrics=[...]" in note


@pytest.mark.parametrize("way", ["compare", "constructor", "roles", "described"])
def test_a_metric_that_is_named_counts(way):
    names = ["recall", "faithfulness", "pages_opened", "my_quality"]
    options = {
        "compare": {},
        "constructor": {"metrics": names},
        "roles": {"roles": dict.fromkeys(names, "metric")},
        "described": {"metrics": dict.fromkeys(names[2:], "higher")},
    }[way]
    result = compare(*both(**options), metrics=names if way == "compare" else None)
    assert result.settings["family_size"] == 4
    assert not any("count among the tests" in note for note in result.notes)


def test_if_nothing_is_known_everything_counts():
    rows = {"query_id": list("abcdefgh"), "mine": range(8), "yours": [0.5] * 8}
    first = RAGPipelineEvaluation("a", rows)
    second = RAGPipelineEvaluation("b", {**rows, "mine": range(1, 9)})
    assert compare(first, second).settings["family_size"] == 2


@pytest.mark.parametrize("correction", ["holm", "bh", "bonferroni", "westfall-young"])
def test_every_correction_leaves_them_out(correction):
    with_guesses = compare(*both(), correction=correction, n_resamples=999)
    without = compare(*both(extra=False), correction=correction, n_resamples=999)
    known = with_guesses.frame.set_index("metric")["pvalue_adjusted"].iloc[:2].tolist()
    assert known == without.frame["pvalue_adjusted"].tolist()


@pytest.mark.parametrize("correction", ["holm", "westfall-young"])
def test_a_ranking_leaves_them_out_too(correction):
    third = run("newest", 0.1, seed=3), run("newest", 0.1, seed=3, extra=False)
    options = {"correction": correction, "n_resamples": 999}
    with_guesses = rank(*both(), third[0], **options)
    without = rank(*both(extra=False), third[1], **options)
    assert with_guesses.settings["family_size"] == without.settings["family_size"] == 6
    for metric in ("recall", "faithfulness"):
        ours, theirs = with_guesses.tests[metric], without.tests[metric]
        assert ours.pvalue_adjusted.tolist() == theirs.pvalue_adjusted.tolist()
    assert any("'my_quality'" in note for note in with_guesses.notes)


def test_slices_and_histories_leave_them_out():
    comparison = compare(*both())
    assert CorrectionFamily.of(run("a", 0, seed=1).metrics.values()).outside == (
        *("pages_opened", "my_quality"),
    )
    trends = history(both())
    assert trends.settings["family_size"] == 2
    assert comparison.settings["family_size"] == 2


def test_token_counts_are_known_and_do_not_count_unless_requested():
    assert CorrectionFamily.of([Metric("recall"), Metric("tokens", in_family=False)]).outside == (
        "tokens",
    )
    data = {"query_id": list("abc"), "recall": [1.0, 0.5, 0.2], "total_tokens": [10, 20, 30]}
    assert not RAGPipelineEvaluation("a", data).metrics["total_tokens"].in_family
    named = RAGPipelineEvaluation("a", data, metrics=["recall", "total_tokens"])
    assert named.metrics["total_tokens"].in_family


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


def test_a_description_of_the_caller_may_leave_a_metric_out():
    data = {"query_id": list("abc"), "recall": [1.0, 0.5, 0.2], "mine": [0.1, 0.2, 0.3]}
    table = score_table(
        pd.DataFrame(data), metrics={"mine": {"in_family": False, "bounds": (0, 1)}}
    )
    assert not table.metrics["mine"].in_family


def test_the_level_left_is_that_of_the_family_of_each_metric():
    family = CorrectionFamily(("recall", "mrr", "f1"), ("n_found",))
    names = ["recall", "mrr", "f1", "n_found"]
    pvalues = np.array([0.001, 0.3, np.nan, 0.4])  # f1 was not tested
    levels = levels_left(family, names, pvalues, "holm", 0.05)
    # One of two members is shown; among all three tests one of three.
    assert levels.tolist() == pytest.approx([0.05, 0.05, 0.05, 0.025])


@pytest.mark.parametrize("correction", ["westfall-young"])
def test_corrections_that_need_more_than_pvalues_are_planned_as_holms(correction):
    family = CorrectionFamily(("recall", "mrr"))
    pvalues = np.array([0.2, 0.3])
    levels = levels_left(family, ["recall", "mrr"], pvalues, correction, 0.05)
    assert levels.tolist() == pytest.approx([0.025, 0.025])

"""Second witness: Clopper-Pearson by scipy 1.17.1, and by hand."""

import numpy as np
import pytest
import scipy.stats

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import DataError, UnknownNameError


def run(name, metrics=None, **scores):
    ids = [f"q{i}" for i in range(len(next(iter(scores.values()))))]
    return RAGPipelineEvaluation(name, {"query_id": ids, **scores}, metrics=metrics)


def row_of(before, after, name="recall", metrics=None, **options):
    pair = run("a", metrics, **{name: before}), run("b", metrics, **{name: after})
    return compare(*pair, **options).frame.iloc[0]


def exact_share(losses, n, level=0.95):
    return scipy.stats.binomtest(losses, n, alternative="less").proportion_ci(level, "exact").high


BEFORE = np.linspace(0.3, 0.6, 40)
AFTER = BEFORE + np.tile([0.04, 0.06], 20)


def test_the_loss_is_the_whole_range_and_the_rest_is_as_it_was_sampled():
    row = row_of(BEFORE, AFTER)
    share = 1 - 0.05 ** (1 / 40)  # none of 40 queries lost 1
    assert row["rare_loss_size"] == 1.0
    assert row["rare_loss_share"] == pytest.approx(share, rel=1e-9)
    assert row["rare_loss_difference"] == pytest.approx((1 - share) * 0.05 - share, rel=1e-9)


def test_losses_that_were_sampled_count():
    after = np.where(np.arange(40) < 3, BEFORE - 0.3, AFTER)
    row = row_of(BEFORE, after, rare_loss=0.3)
    share = exact_share(3, 40)
    assert row["rare_loss_share"] == pytest.approx(share, rel=1e-6)
    others = np.mean((AFTER - BEFORE)[3:])
    assert row["rare_loss_difference"] == pytest.approx((1 - share) * others - share * 0.3)


def test_the_level_is_that_of_the_comparison():
    row = row_of(BEFORE, AFTER, confidence_level=0.9)
    assert row["rare_loss_share"] == pytest.approx(1 - 0.1 ** (1 / 40), rel=1e-9)


def test_if_lower_is_better_a_loss_is_a_rise():
    row = row_of(AFTER, BEFORE, "hallucination")  # falls by 0.05 on average
    share = 1 - 0.05 ** (1 / 40)
    assert row["rare_loss_difference"] == pytest.approx(share - (1 - share) * 0.05, rel=1e-9)


def test_clusters_are_counted():
    documents = np.repeat(np.arange(8), 5)
    pair = run("a", recall=BEFORE, document=documents), run("b", recall=AFTER, document=documents)
    row = compare(*pair, clusters="document").frame.iloc[0]
    assert row["rare_loss_share"] == pytest.approx(1 - 0.05 ** (1 / 8), rel=1e-9)


@pytest.mark.parametrize("name", ["latency_ms", "sas"])
def test_without_bounds_or_with_formal_ones_no_loss_is_the_largest(name):
    row = row_of(BEFORE, AFTER, name)
    assert row[["rare_loss_size", "rare_loss_share", "rare_loss_difference"]].isna().all()


def test_a_size_that_is_given_needs_no_bounds():
    row = row_of(100 * BEFORE, 100 * AFTER, "latency_ms", rare_loss=60)
    share = 1 - 0.05 ** (1 / 40)
    assert row["rare_loss_size"] == 60.0
    assert row["rare_loss_difference"] == pytest.approx((1 - share) * 5 + share * 60, rel=1e-9)


def test_sizes_by_metric_leave_the_others_as_they_are():
    pair = run("a", recall=BEFORE, f1=BEFORE), run("b", recall=AFTER, f1=AFTER)
    comparison = compare(*pair, rare_loss={"Recall": 0.5})
    assert comparison.frame["rare_loss_size"].tolist() == [0.5, 1.0]
    assert "rare_loss:recall" in comparison.signature.replace("{", "").replace("'", "")


def test_no_query_can_lose_more_than_the_range():
    with pytest.raises(DataError, match=r"rare_loss must be at most 1 for recall.*got 5"):
        row_of(BEFORE, AFTER, rare_loss=5)


@pytest.mark.parametrize("size", [0, -0.5, float("nan")])
def test_a_size_must_be_above_zero(size):
    with pytest.raises(DataError, match="rare_loss must be a number above 0"):
        row_of(BEFORE, AFTER, rare_loss=size)


def test_a_size_of_an_unknown_metric_is_refused():
    with pytest.raises(UnknownNameError, match="recal"):
        row_of(BEFORE, AFTER, rare_loss={"recal": 0.5})


def test_without_a_common_score_there_is_no_bound():
    row = row_of([0.5, np.nan], [np.nan, 0.5])
    assert np.isnan(row["rare_loss_share"])

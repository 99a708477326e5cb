"""Second witnesses: Clopper-Pearson by scipy 1.17.1, the binomial distribution, arithmetic."""

import numpy as np
import pytest
import scipy.stats

from rageval_report.errors import DataError
from rageval_report.stats import rare_loss_bound


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize(("losses", "n"), [(0, 10), (0, 100), (1, 50), (49, 50)])
def test_the_share_is_the_one_sided_limit_of_clopper_and_pearson(losses, n, level):
    after = np.repeat([0.0, 0.9], [losses, n - losses])
    bound = rare_loss_bound(np.full(n, 0.8), after, 0.8, confidence_level=level)
    exact = scipy.stats.binomtest(losses, n, alternative="less").proportion_ci(level, "exact")
    assert bound.share == pytest.approx(exact.high, rel=1e-6)
    assert scipy.stats.binom.cdf(losses, n, bound.share) == pytest.approx(1 - level, rel=1e-9)
    assert (bound.n, bound.n_losses) == (n, losses)


def test_the_difference_is_that_of_the_others_and_of_so_many_losses():
    before = np.full(20, 0.5)
    after = np.append(np.full(19, 0.6), 0.0)
    bound = rare_loss_bound(before, after, 0.5)
    expected = (1 - bound.share) * 0.1 - bound.share * 0.5
    assert bound.difference == pytest.approx(expected, rel=1e-12)


def test_a_gain_that_hides_rare_losses_can_be_a_loss():
    assert rare_loss_bound([0.5] * 10, [0.55] * 10, 1.0).difference < 0
    assert rare_loss_bound([0.5] * 100, [0.55] * 100, 1.0).difference > 0


def test_if_every_query_loses_as_much_nothing_is_excluded():
    bound = rare_loss_bound([1.0, 1.0], [0.0, 0.0], 1.0)
    assert (bound.share, bound.difference) == (1.0, -1.0)


def test_a_loss_counts_up_to_rounding():
    assert rare_loss_bound([0.3, 0.9], [0.1 + 0.1 - 0.1 - 0.1, 0.9], 0.3).n_losses == 1


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        (0, "up to 13.9 % of queries could lose 0.8 without one among these 20"),
        (2, "up to 28.3 % of queries could lose 0.8, as 2 of these 20 do"),
    ],
)
def test_the_bound_in_words(losses, words):
    # 1 - 0.05^(1/20) = 0.1391; the table of Hahn and Meeker (1991) has 0.283 for 2 of 20
    after = np.repeat([0.0, 0.9], [losses, 20 - losses])
    assert rare_loss_bound(np.full(20, 0.8), after, 0.8).sentence() == words


def test_clusters_are_counted_instead_of_queries():
    # Twelve documents of eight questions: the limit for 12 units without a loss is 1 - 0.05^(1/12).
    documents = np.repeat(np.arange(12), 8)
    bound = rare_loss_bound(np.full(96, 0.5), np.full(96, 0.6), 1.0, clusters=documents)
    assert bound.share == pytest.approx(1 - 0.05 ** (1 / 12), rel=1e-9)
    assert bound.difference == pytest.approx((1 - bound.share) * 0.1 - bound.share, rel=1e-9)
    assert bound.sentence() == "up to 22.1 % of clusters could lose 1 without one among these 12"


def test_a_cluster_loses_what_its_queries_lose_on_average():
    # Of the clusters of 3, 1 and 2 queries the first loses 0.5 on average; the others gain 0.3.
    before, clusters = np.full(6, 0.5), ["a", "a", "a", "b", "c", "c"]
    after = np.array([0.0, 0.0, 0.0, 0.8, 0.8, 0.8])
    bound = rare_loss_bound(before, after, 0.5, clusters=clusters)
    assert (bound.n, bound.n_losses) == (3, 1)
    exact = scipy.stats.binomtest(1, 3, alternative="less").proportion_ci(0.95, "exact").high
    assert bound.difference == pytest.approx((1 - exact) * 0.3 - exact * 0.5, rel=1e-6)


def test_a_size_must_be_above_zero():
    with pytest.raises(DataError, match="size must be a finite number > 0"):
        rare_loss_bound([0.5], [0.5], 0.0)


def test_no_scored_pair_is_an_error():
    with pytest.raises(DataError, match="no query has a score on both sides"):
        rare_loss_bound([np.nan], [0.5], 1.0)

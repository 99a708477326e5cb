"""Rare losses. Witnesses: Clopper-Pearson by SciPy 1.17.1, arithmetic, simulation."""

import numpy as np
import pytest
import scipy.stats

from rageval_report.stats.effects import hidden_losses, rare_loss_bound
from rageval_report.stats.pairs import Pairs, paired_test


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize(("losses", "n"), [(0, 10), (0, 100), (1, 50), (49, 50)])
def test_the_share_is_the_one_sided_limit_of_clopper_and_pearson(losses, n, level):
    after = np.repeat([0.0, 0.9], [losses, n - losses])
    bound = rare_loss_bound(Pairs.of(np.full(n, 0.8), after), 0.8, confidence_level=level)
    exact = scipy.stats.binomtest(losses, n, alternative="less").proportion_ci(level, "exact")
    assert bound.share == pytest.approx(exact.high, rel=1e-6)
    assert (bound.n, bound.n_losses) == (n, losses)


def test_the_difference_is_that_of_the_others_and_of_so_many_losses():
    bound = rare_loss_bound(Pairs.of(np.full(20, 0.5), np.append(np.full(19, 0.6), 0.0)), 0.5)
    expected = (1 - bound.share) * 0.1 - bound.share * 0.5
    assert bound.difference == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        (0, "20 queries can miss rare failures: up to 13.9 % of all queries could drop by 0.8"),
        (2, "up to 28.3 % of all queries could drop by 0.8, as 2 of these 20 do"),
    ],
)
def test_the_bound_in_words(losses, words):
    # 1 - 0.05^(1/20) = 0.1391; the table of Hahn and Meeker (1991) has 0.283 for 2 of 20
    after = np.repeat([0.0, 0.9], [losses, 20 - losses])
    assert rare_loss_bound(Pairs.of(np.full(20, 0.8), after), 0.8).sentence() == words


def test_clusters_are_counted_instead_of_queries():
    documents = np.repeat(np.arange(12), 8)
    bound = rare_loss_bound(Pairs.of(np.full(96, 0.5), np.full(96, 0.6), documents), 1.0)
    assert (bound.n, bound.unit) == (12, "clusters")
    assert bound.share == pytest.approx(1 - 0.05 ** (1 / 12))


# -- what could turn a verdict


def test_without_a_loss_all_of_the_range_can_be_lost():
    bound = hidden_losses(Pairs.of([0.5] * 50, [0.55] * 50), 1.0)
    assert (bound.size, bound.n_losses) == (1.0, 0)
    assert bound == rare_loss_bound(Pairs.of([0.5] * 50, [0.55] * 50), 1.0)
    assert hidden_losses(Pairs.of([0.5] * 200, [0.55] * 200), 1.0) is None


def test_losses_that_were_seen_say_how_large_others_can_be():
    after = [0.52] * 57 + [0.49, 0.48, 0.46]
    bound = hidden_losses(Pairs.of([0.5] * 60, after), 1.0, margin=-0.02)
    assert bound.size == pytest.approx(0.04 * 0.05 ** (-1 / 3))
    assert hidden_losses(Pairs.of([0.5] * 60, after), 1.0) is None


def test_a_margin_is_a_loss_that_does_not_matter():
    pairs = Pairs.of([0.5] * 50, [0.5, 0.51] * 25)
    assert hidden_losses(pairs, 1.0, margin=0.02) is not None
    assert hidden_losses(pairs, 1.0, margin=0.06) is None


def marked_share(draw, n, datasets=150):
    """The share of verdicts "better" that are marked."""
    rng = np.random.default_rng(n)
    marks = []
    for _ in range(datasets):
        before, moved = np.full(n, 0.5), draw(rng, n)
        pairs = Pairs.of(before, before + moved)
        result = paired_test(pairs, test="t")
        if result.pvalue <= 0.05 and result.difference > 0:
            marks.append(hidden_losses(pairs, 1.0) is not None)
    return np.mean(marks)


@pytest.mark.parametrize("n", [10, 20, 50])
def test_few_sound_verdicts_and_most_false_ones_are_marked(n):
    def usual(rng, n):  # shares of up to six claims, two fifths unchanged, and better by 0.15
        claims = rng.integers(1, 7, n)
        moved = (rng.binomial(claims, 0.75) - rng.binomial(claims, 0.6)) / claims
        return np.where(rng.random(n) < 0.4, 0.0, moved)

    def false(rng, n):  # a mean of zero: 95 % gain 0.05 or so, 5 % lose 1
        return np.where(rng.random(n) < 0.05, -1.0, rng.exponential(0.0526, n))

    assert marked_share(usual, n) <= 0.2
    assert marked_share(false, n) >= 0.85

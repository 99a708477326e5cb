import math

import numpy as np
import pytest
from scipy import optimize
from scipy import stats as scipy_stats

from rageval_report.errors import DataError
from rageval_report.stats import INTERVALS, PAIRED_INTERVALS, PairedScores

# Newcombe (1998), Statistics in Medicine 17:2635-2650, table III: both, wins, losses, neither and
# the limits of method 10.
NEWCOMBE_TABLE = [
    ((36, 12, 2, 0), 0.0569, 0.3404),
    ((20, 12, 2, 16), 0.0562, 0.3292),
    ((18, 12, 2, 18), 0.0562, 0.3290),
    ((36, 14, 0, 0), 0.1528, 0.4167),
    ((35, 14, 0, 1), 0.1461, 0.4175),
    ((18, 14, 0, 18), 0.1441, 0.3963),
    ((2, 97, 1, 0), 0.8721, 0.9854),
    ((1, 97, 1, 1), 0.8736, 0.9850),
    ((0, 29, 1, 0), 0.6666, 0.9882),
    ((2, 98, 0, 0), 0.9178, 0.9945),
    ((1, 98, 0, 1), 0.9171, 0.9916),
    ((0, 30, 0, 0), 0.8395, 1.0),
    ((54, 0, 0, 0), -0.0664, 0.0664),
    ((53, 0, 0, 1), -0.0729, 0.0729),
    ((30, 0, 0, 24), -0.0358, 0.0358),
    ((29, 0, 0, 25), -0.0354, 0.0354),
    ((28, 0, 0, 26), -0.0352, 0.0352),
    ((27, 0, 0, 27), -0.0351, 0.0351),
]
SHARES = ["bonett-price", "newcombe", "tango"]
OF_DIFFERENCES = ["t", "percentile", "bca", "studentised"]


def interval(method, before, after, confidence_level=0.95):
    return PAIRED_INTERVALS[method](
        PairedScores(np.asarray(before, float), np.asarray(after, float)),
        confidence_level=confidence_level,
        n_resamples=999,
        seed=0,
    )


def table(both, wins, losses, neither):
    """Scores of 0 and 1 with the given paired table."""
    cells = [both, wins, losses, neither]
    return np.repeat([1.0, 0.0, 1.0, 0.0], cells), np.repeat([1.0, 1.0, 0.0, 0.0], cells)


# Scores of 0 and 1


@pytest.mark.parametrize(("cells", "low", "high"), NEWCOMBE_TABLE)
def test_newcombes_method_10_reproduces_his_table(cells, low, high):
    found = interval("newcombe", *table(*cells))
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("method", "cells", "level", "low", "high", "half_a_digit"),
    [
        # R package contingencytables 3.1.0, complete response, Cavo et al. (2012)
        ("bonett-price", (59, 6, 16, 80), 0.95, -0.1195, -0.0032, 5e-5),
        ("newcombe", (59, 6, 16, 80), 0.95, -0.1186, -0.0046, 5e-5),
        ("tango", (59, 6, 16, 80), 0.95, -0.1240, -0.0054, 5e-5),
        # Fagerland, Lydersen, Laake (2014), Statistics in Medicine 33:2850, airway data
        ("tango", (1, 1, 7, 12), 0.95, -0.517, -0.026, 5e-4),
        # R package PropCIs 0.3-0, scoreci.mp(25, 28, 618)
        ("tango", (300, 28, 25, 265), 0.90, -0.0148, 0.0247, 5e-5),
    ],
)
def test_published_intervals_are_reproduced(method, cells, level, low, high, half_a_digit):
    found = interval(method, *table(*cells), level)
    assert (found.low, found.high) == pytest.approx((low, high), abs=half_a_digit)


def test_the_bonett_price_interval_is_the_wald_interval_with_a_pair_more_in_each_discordant_cell():
    found = interval("bonett-price", *table(5, 7, 2, 6))
    shares = np.array([8, 3]) / 22
    centre = shares[0] - shares[1]
    error = math.sqrt((shares.sum() - centre**2) / 22)
    reach = scipy_stats.norm.ppf(0.975) * error
    assert found.estimate == 5 / 20
    assert found.standard_error == pytest.approx(error, rel=1e-12)
    assert (found.low, found.high) == pytest.approx((centre - reach, centre + reach), rel=1e-12)


def score_variance(wins, losses, n, difference):
    """The variance of the difference at the likeliest table that has this difference."""

    def implausibility(lost):
        won, rest = lost + difference, 1 - 2 * lost - difference
        cells = ((wins, won), (losses, lost), (n - wins - losses, rest))
        return -sum(count * math.log(max(share, 1e-300)) for count, share in cells if count)

    room = (max(0.0, -difference), (1 - difference) / 2)
    best = optimize.minimize_scalar(implausibility, bounds=room, options={"xatol": 1e-13})
    return (2 * best.x + difference - difference**2) / n


@pytest.mark.parametrize(("wins", "losses", "n"), [(12, 2, 50), (3, 8, 21), (1, 0, 14), (7, 0, 14)])
def test_tangos_limits_are_where_the_score_test_stops_rejecting(wins, losses, n):
    found = interval("tango", *table(0, wins, losses, n - wins - losses))
    z = scipy_stats.norm.ppf(0.975)
    for limit, expected in ((found.low, z), (found.high, -z)):
        variance = score_variance(wins, losses, n, limit)  # maximised by scipy 1.17.1
        assert (found.estimate - limit) / math.sqrt(variance) == pytest.approx(expected, rel=1e-5)


def test_tangos_interval_excludes_zero_exactly_when_mcnemars_asymptotic_test_rejects():
    z2 = scipy_stats.chi2.ppf(0.95, 1)
    for wins in range(13):
        for losses in range(13 - wins):
            found = interval("tango", *table(5, wins, losses, 9))
            rejected = wins + losses > 0 and (wins - losses) ** 2 / max(1, wins + losses) > z2
            assert (found.low > 0 or found.high < 0) == rejected


@pytest.mark.parametrize("n", [3, 14])
def test_tangos_interval_of_a_table_without_discordant_pairs_is_closed_form(n):
    found = interval("tango", *table(n, 0, 0, 0))
    z2 = scipy_stats.norm.ppf(0.975) ** 2
    assert (found.low, found.high) == pytest.approx((-z2 / (n + z2), z2 / (n + z2)), rel=1e-12)


@pytest.mark.parametrize("n", [3, 14])
def test_tangos_interval_of_a_clean_sweep_is_closed_form(n):
    found = interval("tango", *table(0, n, 0, 0))
    z2 = scipy_stats.norm.ppf(0.975) ** 2
    assert found.high == 1.0
    assert found.low == pytest.approx((n - z2) / (n + z2), rel=1e-12)


@pytest.mark.parametrize("method", SHARES)
@pytest.mark.parametrize("cells", [(0, 20, 0, 0), (0, 0, 20, 0), (3, 4, 1, 2), (20, 0, 0, 0)])
def test_intervals_of_shares_hold_the_estimate_within_minus_one_and_one(method, cells):
    found = interval(method, *table(*cells))
    assert -1.0 <= found.low <= found.estimate <= found.high <= 1.0
    assert found.low < found.high
    assert found.method == method


@pytest.mark.parametrize("method", SHARES)
def test_exchanging_the_sides_turns_the_interval_round(method):
    before, after = table(5, 7, 2, 6)
    there, back = interval(method, before, after), interval(method, after, before)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), rel=1e-12)


@pytest.mark.parametrize("method", SHARES)
def test_intervals_of_shares_refuse_other_scores(method):
    with pytest.raises(DataError, match=f"{method!r} needs scores of 0 and 1"):
        interval(method, [0.0, 1.0, 0.5], [1.0, 1.0, 1.0])


def test_the_bonett_price_interval_covers_when_all_tables_are_counted():
    n, lost, won = 30, 0.10, 0.10
    covered = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            found = interval("bonett-price", *table(0, wins, losses, n - wins - losses))
            if found.low <= won - lost <= found.high:
                cells, shares = [wins, losses, n - wins - losses], [won, lost, 0.8]
                covered += scipy_stats.multinomial.pmf(cells, n, shares)
    assert covered > 0.95


# Any scores


def test_the_t_interval_is_scipys():
    rng = np.random.default_rng(2)
    before, after = rng.random(25), rng.random(25)
    expected = scipy_stats.ttest_rel(after, before).confidence_interval(0.9)  # scipy 1.17.1
    found = interval("t", before, after, 0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert found.standard_error == pytest.approx(scipy_stats.sem(after - before), rel=1e-12)


@pytest.mark.parametrize("method", OF_DIFFERENCES)
def test_an_interval_of_a_mean_is_made_of_the_differences(method):
    rng = np.random.default_rng(3)
    before, after = rng.random(40), rng.random(40)
    expected = INTERVALS[method](
        after - before, confidence_level=0.95, bounds=None, n_resamples=999, seed=0
    )
    found = interval(method, before, after)
    assert (found.low, found.high, found.method) == (expected.low, expected.high, method)


@pytest.mark.parametrize("method", OF_DIFFERENCES)
def test_equal_differences_have_an_interval_of_no_width_and_a_note(method):
    before = np.array([0.1, 0.7, 1.3, 0.37])
    found = interval(method, before, before + 0.1)
    assert found.low == found.high == found.estimate == pytest.approx(0.1)
    assert "without spread" in found.notes[0]


@pytest.mark.parametrize("method", OF_DIFFERENCES)
def test_one_pair_has_no_interval(method):
    found = interval(method, [0.2], [0.5])
    assert found.estimate == pytest.approx(0.3)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def score_statistic(wins, losses, n, difference):
    """Wins less losses in standard errors, at the likeliest table with this difference."""

    def surprise(lost):
        won, same = lost + difference, 1 - 2 * lost - difference
        cells = ((wins, won), (losses, lost), (n - wins - losses, same))
        return -sum(count * math.log(max(share, 1e-300)) for count, share in cells if count)

    low, high = max(0.0, -difference), (1 - difference) / 2
    lost = optimize.minimize_scalar(
        surprise, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    ).x
    return (wins - losses - n * difference) / math.sqrt(
        n * (2 * lost + difference * (1 - difference))
    )


@pytest.mark.parametrize("level", [0.2, 0.8, 0.95])
@pytest.mark.parametrize(("wins", "losses", "n"), [(4, 1, 12), (2, 3, 9), (7, 2, 10), (1, 1, 6)])
def test_the_limits_of_tango_have_the_score_of_their_level(wins, losses, n, level):
    before = [0] * wins + [1] * losses + [1] * (n - wins - losses)
    after = [1] * wins + [0] * losses + [1] * (n - wins - losses)
    found = PAIRED_INTERVALS["tango"](
        PairedScores.of(before, after), confidence_level=level, n_resamples=1, seed=0
    )
    z = scipy_stats.norm.ppf(0.5 + level / 2)
    assert score_statistic(wins, losses, n, found.low) == pytest.approx(z, rel=1e-4)
    assert score_statistic(wins, losses, n, found.high) == pytest.approx(-z, rel=1e-4)


@pytest.mark.parametrize("method", ["newcombe", "tango"])
def test_the_standard_error_of_a_difference_of_shares_is_that_of_its_values(method):
    before, after = np.repeat([[1, 0], [0, 1], [1, 1], [0, 0]], [3, 11, 20, 6], axis=0).T
    found = interval(method, before, after)
    # 8 more wins of 40; the values -1, 0, 1 have the variance 14/40 - (8/40)**2.
    assert found.standard_error == pytest.approx(math.sqrt((14 / 40 - 0.2**2) / 40), rel=1e-12)
    assert found.standard_error == pytest.approx(np.std(after - before) / math.sqrt(40), rel=1e-12)

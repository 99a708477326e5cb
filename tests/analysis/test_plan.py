"""Witnesses: `PlannedTest` (tested on its own), arithmetic by hand, simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.plan import audit, plan
from rageval_report.errors import AlignmentError, DataError, UnknownNameError
from rageval_report.stats import paired_test
from rageval_report.stats.planning import ClusterVariance, PlannedTest, binary_queries_needed

RNG = np.random.default_rng(5)
SKILL = RNG.normal(0.6, 0.15, 60)


def run(name="base", **columns):
    n = len(next(iter(columns.values())))
    ids = [f"q{i}" for i in range(n)]
    return RAGPipelineEvaluation(name, {"query_id": ids, **columns})


def test_from_a_baseline_by_hand():
    scores = np.array([0.2, 0.4, 0.6, 0.8, 0.5, 0.5, 0.3, 0.7])
    row = plan(run(f1=scores), differences=0.1, correlation=0.5).frame.iloc[0]
    # With a correlation of a half the differences vary as the scores do.
    sd = scores.std(ddof=1)
    assert row["sd_difference"] == pytest.approx(sd)
    assert row["n_needed"] == PlannedTest(sd).needed(0.1)
    assert row["n"] == 8
    assert row["smallest_pvalue"] == 2 / 2**8


def test_a_pilot_run_measures_the_differences():
    baseline, candidate = run(f1=SKILL), run("new", f1=SKILL + RNG.normal(0.02, 0.05, 60))
    result = plan(baseline, candidate=candidate, differences=0.02)
    sd = compare(baseline, candidate).differences("f1").std(ddof=1)
    assert result.frame["sd_difference"][0] == pytest.approx(sd)
    assert result.frame["n_needed"][0] == PlannedTest(sd).needed(0.02)
    assert math.isnan(result.frame["n_needed_low"][0])
    assert result.settings["correlation"] == "measured"


def test_scores_of_0_and_1_are_planned_by_mcnemars_test_by_hand():
    baseline, candidate = [1, 1, 1, 0, 0, 0, 0, 0, 1, 1], [1, 1, 0, 1, 1, 0, 0, 0, 1, 1]
    result = plan(
        run(exact_match=baseline), candidate=run("new", exact_match=candidate), differences=0.1
    )
    # Three of ten change; for a difference of 0.1 that is 0.1 lost and 0.2 gained.
    assert result.frame["n_needed"][0] == binary_queries_needed(0.1, 0.2)


def test_a_published_mean_by_hand():
    row = plan(mean=0.8, differences=0.1, correlation=0.0).frame.iloc[0]
    # Independent: 0.8 * 0.1 lost, 0.2 * 0.9 gained.
    assert row["n_needed"] == binary_queries_needed(0.08, 0.18)


def test_a_published_mean_with_its_deviation():
    row = plan(mean=3.9, sd=0.8, differences=0.2, correlation=0.5).frame.iloc[0]
    assert row["n_needed"] == PlannedTest(0.8).needed(0.2)


def test_from_nothing_the_worst_case_is_taken_and_said():
    result = plan(differences=0.1)
    assert (
        result.frame["n_needed"][0] > plan(mean=0.9, differences=0.05, sd=0.1).frame["n_needed"][0]
    )
    assert any("taken as 0 and 1, which vary most" in note for note in result.notes)
    assert any("correlation" in note and "0.5" in note for note in result.notes)


def test_the_range_is_that_of_the_correlations():
    row = plan(mean=0.8, differences=0.05).frame.iloc[0]
    for name, correlation in (("n_needed_low", 0.8), ("n_needed_high", 0.2)):
        exact = plan(mean=0.8, differences=0.05, correlation=correlation).frame["n_needed"][0]
        assert row[name] == exact
    assert row["n_needed_low"] < row["n_needed"] < row["n_needed_high"]


def test_repeated_runs_show_what_more_of_them_gain():
    rng = np.random.default_rng(2)
    runs = [run(rating=SKILL + rng.normal(0, 0.2, 60)) for _ in range(4)]
    frame = plan(*runs, differences=0.05, repeats=[1, 2, 5]).frame
    assert frame["repeats"].tolist() == [1, 2, 5]
    assert frame["n_needed"].is_monotonic_decreasing
    # Noise of 0.2 from run to run on either side, and half of the variance between queries.
    assert frame["sd_difference"][0] == pytest.approx(math.sqrt(0.15**2 + 2 * 0.2**2), rel=0.15)


def test_the_level_is_shared_by_the_metrics_compared_together():
    both = run(f1=SKILL, recall=SKILL[::-1].copy())
    frame = plan(both, differences=0.05, correlation=0.5).frame
    alone = plan(both, metrics="f1", differences=0.05, correlation=0.5).frame
    assert frame["n_needed"][0] > alone["n_needed"][0]
    sd = alone["sd_difference"][0]
    assert frame["n_needed"][0] == PlannedTest(sd).needed(0.05, alpha=0.05 / 2)
    five = plan(both, metrics="f1", differences=0.05, correlation=0.5, n_tests=5).frame
    assert five["n_needed"][0] == PlannedTest(sd).needed(0.05, alpha=0.05 / 5)


def test_at_the_number_needed_comparisons_show_the_difference_as_often_as_planned():
    rng = np.random.default_rng(8)
    needed = int(plan(mean=0.6, sd=0.2, differences=0.05, correlation=0.5).frame["n_needed"][0])
    shown = 0
    for _ in range(300):
        shared = rng.normal(0, 0.2 * math.sqrt(0.5), (needed, 1))
        scores = 0.6 + shared + rng.normal(0, 0.2 * math.sqrt(0.5), (needed, 2)) + [0, 0.05]
        # The test that compare takes, without its interval and its sentences.
        shown += paired_test(scores[:, 0], scores[:, 1]).pvalue <= 0.05
    assert 0.73 <= shown / 300 <= 0.87


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (4, "4 queries are too few for any test"),
        (50, "cannot be resolved with the 50 of this set"),
        (300, "the 300 of this set would show it in"),
        (5000, "the 5000 of this set are enough"),
    ],
)
def test_the_verdict_says_what_the_set_can_do(n, words):
    (sentence,) = plan(mean=0.85, differences=0.05, n=n).sentences
    assert words in sentence


def test_usual_differences_follow_the_scale():
    stars = RAGPipelineEvaluation(
        "base",
        {"query_id": list("abcd"), "stars": [1.0, 3, 4, 5]},
        metrics={"stars": {"bounds": (1, 5)}},
    )
    assert plan(stars).frame["difference"].tolist() == pytest.approx([0.08, 0.2, 0.4])
    slow = run(latency_ms=[100.0, 200, 300])
    assert plan(slow).frame["difference"].tolist() == pytest.approx([4, 10, 20])


def test_a_mean_that_cannot_rise_falls_instead_and_one_that_can_do_neither_is_said():
    assert plan(mean=0.99, differences=0.05).frame["n_needed"][0] > 0
    result = plan(mean=0.5, differences=0.7)
    assert math.isnan(result.frame["n_needed"][0])
    assert "cannot be resolved" in result.sentences[0]


def test_runs_that_are_shifted_are_said():
    rng = np.random.default_rng(4)
    runs = [run(rating=SKILL + shift + rng.normal(0, 0.01, 60)) for shift in (0, 0.2, 0.1)]
    assert any(
        "rating: whole runs are shifted" in note for note in plan(*runs, differences=0.05).notes
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"differences": 0}, DataError, "differences must be numbers above 0"),
        ({"differences": [0.1, -1]}, DataError, "differences must be numbers above 0"),
        ({"mean": 1.0}, DataError, "mean must lie between 0 and 1"),
        ({"sd": 0}, DataError, "sd"),
        ({"n": 0}, DataError, "n must be an integer >= 1"),
        ({"correlation": 1}, DataError, "correlation must lie between -1 and 1"),
        ({"repeats": 3}, DataError, "repeats and judges above 1 need a baseline"),
        ({"n_tests": 0}, DataError, "n_tests must be an integer >= 1"),
        ({"power": 2}, DataError, "power"),
        ({"metrics": ["a", "b"]}, DataError, "metrics must name one metric"),
        ({"candidate": run(f1=[0.5, 0.6])}, DataError, "candidate needs a baseline"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        plan(**options)


def test_a_baseline_that_shows_nothing_is_refused():
    with pytest.raises(DataError, match="no metric has two different scores"):
        plan(run(f1=[0.5, 0.5, 0.5]))
    with pytest.raises(DataError, match="mean and sd are for a plan without a baseline"):
        plan(run(f1=SKILL), mean=0.5)
    with pytest.raises(UnknownNameError, match="recall"):
        plan(run(f1=SKILL), metrics="recall")


def test_a_pilot_run_without_common_scores_is_refused():
    other = RAGPipelineEvaluation("new", {"query_id": ["z"], "f1": [0.5]})
    with pytest.raises(AlignmentError, match="no query has a score of 'f1' in both"):
        plan(run(f1=SKILL), candidate=other)
    with pytest.raises(AlignmentError, match="new has no metric 'f1'"):
        plan(run(f1=SKILL), candidate=run("new", recall=SKILL))


def clustered(name="base", shift=0.0, sizes=(8,) * 40, seed=3):
    rng = np.random.default_rng(seed)
    document = np.repeat([f"d{i}" for i in range(len(sizes))], sizes)
    n = len(document)
    of_document = np.repeat(rng.normal(0, 0.1, len(sizes)), sizes)
    scores = 0.5 + of_document + rng.normal(shift, 0.1, n)
    data = {"query_id": [f"q{i}" for i in range(n)], "document": document, "rating": scores}
    return RAGPipelineEvaluation(name, data)


def test_with_clusters_clusters_are_counted():
    baseline = clustered()
    result = plan(baseline, differences=0.05, correlation=0.5, clusters="document")
    row = result.frame.iloc[0]
    scores = baseline.scores["rating"].to_numpy()
    known = ClusterVariance.of(scores, baseline.details["document"])
    # With a correlation of a half the differences vary as the scores do.
    test = known.planned_test(scores.var(ddof=1), known.share_between)
    assert row["n_clusters_needed"] == test.needed(0.05)
    assert row["n_needed"] == 8 * row["n_clusters_needed"]
    assert (row["n_clusters"], row["cluster_size"], row["n"]) == (40, 8.0, 320)
    assert row["power"] == pytest.approx(test.power(0.05, 40))
    assert row["smallest_pvalue"] == 2 / 2**40
    assert row["n_no_regression"] == 8 * test.needed_for_margin(0.05)
    alone = plan(baseline, differences=0.05, correlation=0.5).frame.iloc[0]
    assert row["n_needed"] > 2 * alone["n_needed"]
    assert f"about {row['n_clusters_needed']:.0f} clusters of 8 queries" in result.sentences[0]
    assert result.settings["clusters"] == "document"
    labels = dict(zip(baseline.scores.index, baseline.details["document"], strict=True))
    by_label = plan(baseline, differences=0.05, correlation=0.5, clusters=labels).frame
    assert by_label.equals(result.frame)


def test_a_pilot_run_measures_how_much_clusters_differ():
    baseline, candidate = clustered(), clustered("new", seed=4)
    result = plan(baseline, candidate=candidate, differences=0.05, clusters="document")
    row = result.frame.iloc[0]
    gains = (candidate.scores["rating"] - baseline.scores["rating"]).to_numpy()
    known = ClusterVariance.of(gains, baseline.details["document"])
    test = known.planned_test(gains.var(ddof=1), known.share_between)
    assert row["n_clusters_needed"] == test.needed(0.05)
    assert not any("taken to differ" in note for note in result.notes)


def test_scores_of_0_and_1_in_clusters_vary_as_the_shares_that_change():
    baseline = clustered()
    right = (baseline.scores["rating"] > 0.5).astype(float)
    binary = RAGPipelineEvaluation(
        "base",
        {
            "query_id": right.index,
            "document": baseline.details["document"],
            "exact_match": right.to_numpy(),
        },
    )
    row = plan(binary, differences=0.1, correlation=0.0, clusters="document").frame.iloc[0]
    before = right.mean()
    after = before + 0.1
    variance = before * (1 - before) + after * (1 - after)  # of independent answers
    known = ClusterVariance.of(right.to_numpy(), binary.details["document"])
    test = known.planned_test(variance, known.share_between)
    assert row["n_clusters_needed"] == test.needed(0.1)


def test_noise_of_repeated_runs_is_within_clusters():
    rng = np.random.default_rng(6)
    base = clustered()
    runs = [
        RAGPipelineEvaluation(
            "base",
            {
                "query_id": base.scores.index,
                "document": base.details["document"],
                "rating": base.scores["rating"].to_numpy() + rng.normal(0, 0.3, 320),
            },
        )
        for _ in range(3)
    ]
    frame = plan(*runs, differences=0.05, repeats=[1, 10], clusters="document").frame
    once, often = frame["n_clusters_needed"]
    quiet = plan(base, differences=0.05, clusters="document").frame["n_clusters_needed"][0]
    assert once > often > 0.8 * quiet


def test_few_clusters_are_said_and_too_few_are_no_set():
    few = plan(clustered(sizes=(20,) * 5), differences=0.02, clusters="document")
    assert "5 clusters are too few for any test" in few.sentences[0]
    assert any("measured on 5 clusters only" in note for note in few.notes)
    other_set = plan(clustered(), differences=0.05, n=80, clusters="document").frame
    assert other_set["n_clusters"][0] == 10


def test_clusters_are_hinted_at_and_checked():
    baseline = clustered()
    hint = "320 queries come from 40 documents"
    assert any(hint in note for note in plan(baseline).notes)
    assert not any(hint in note for note in plan(baseline, clusters="document").notes)
    with pytest.raises(DataError, match="clusters needs a baseline"):
        plan(mean=0.8, clusters="document")
    with pytest.raises(UnknownNameError, match="documnt"):
        plan(baseline, clusters="documnt")
    with pytest.raises(DataError, match="clusters must be at least two"):
        plan(clustered(sizes=(30,)), clusters="document")
    with pytest.raises(DataError, match="clusters must have a label for every query"):
        plan(baseline, clusters={"q0": "a"})


@pytest.mark.parametrize("sizes", [(8,) * 40, tuple(range(1, 16)) * 3], ids=["equal", "unequal"])
def test_at_the_clusters_needed_comparisons_show_the_difference_as_often_as_planned(sizes):
    pilot = plan(
        clustered(sizes=sizes),
        candidate=clustered("new", sizes=sizes, seed=4),
        differences=0.08,
        clusters="document",
    ).frame.iloc[0]
    needed = int(pilot["n_clusters_needed"])
    between = math.sqrt(pilot["share_between"]) * pilot["sd_difference"]
    within = math.sqrt(1 - pilot["share_between"]) * pilot["sd_difference"]
    rng, shown = np.random.default_rng(2), 0
    for _ in range(300):
        document = np.repeat(np.arange(needed), rng.choice(sizes, needed))
        gains = rng.normal(0.08, between, needed)[document]
        gains += rng.normal(0, within, document.size)
        shown += paired_test(np.zeros_like(gains), gains, clusters=document).pvalue <= 0.05
    assert 0.75 <= shown / 300 <= 0.87


# -- the claim of somebody else


def midp(won, lost):
    total, fewer = won + lost, min(won, lost)
    return min(
        1.0,
        2 * (stats.binom.cdf(fewer, total, 0.5) - 0.5 * stats.binom.pmf(fewer, total, 0.5)),
    )


def test_three_more_right_answers_of_ten_show_nothing():
    result = audit(0.70, 1.00, n=10)
    # Seven right, then ten: three won and none lost is the only table.
    assert result.frame["case"].tolist() == ["3 queries won, 0 lost (best case)"]
    assert result.frame["pvalue"][0] == pytest.approx(midp(3, 0))
    assert "no difference is shown, whatever the scores are" in result.sentences[0]


def test_the_cases_run_from_the_fewest_changes_to_the_most():
    frame = audit(0.70, 0.76, n=200).frame
    # 140 and 152 right: at most 48 of the 140 are among the candidate's 48 wrong ones.
    assert frame["case"].tolist() == [
        "12 queries won, 0 lost (best case)",
        "36 queries won, 24 lost",
        "60 queries won, 48 lost (worst case)",
    ]
    assert frame["pvalue"].tolist() == pytest.approx([midp(12, 0), midp(36, 24), midp(60, 48)])
    assert frame["is_shown"].tolist() == [True, False, False]
    assert frame["n_needed"].is_monotonic_increasing


def test_a_loss_is_the_gain_turned_round():
    gain, loss = audit(0.70, 0.76, n=200).frame, audit(0.76, 0.70, n=200).frame
    assert loss["pvalue"].tolist() == pytest.approx(gain["pvalue"].tolist())
    assert loss["ci_low"].tolist() == pytest.approx((-gain["ci_high"]).tolist())


def test_scores_by_the_t_test_of_scipy():
    frame = audit(3.9, 4.1, n=250, sd=0.8).frame
    for row, correlation in zip(frame.itertuples(), (0.9, 0.5, 0.0), strict=True):
        error = 0.8 * math.sqrt(2 * (1 - correlation)) / math.sqrt(250)
        assert row.pvalue == pytest.approx(2 * stats.t.sf(0.2 / error, 249))
        low, high = stats.t.interval(0.95, 249, 0.2, error)
        assert (row.ci_low, row.ci_high) == pytest.approx((low, high))


def test_means_that_are_not_shares_vary_as_much_as_they_can():
    result = audit(0.70, 0.85, n=6)  # 4.2 and 5.1 right answers cannot be
    assert result.frame["case"][0] == "correlation 0.9"
    spread = math.sqrt((0.7 * 0.3 + 0.85 * 0.15) / 2)
    error = spread * math.sqrt(2 * 0.1) / math.sqrt(6)
    assert result.frame["pvalue"][0] == pytest.approx(2 * stats.t.sf(0.15 / error, 5))
    assert any("not shares of 6 queries" in note for note in result.notes)


def test_fewer_than_six_queries_show_nothing():
    result = audit(0.0, 1.0, n=5)
    assert not result.frame["is_shown"].any()
    assert np.isnan(result.frame["pvalue"]).all()
    assert "too few queries for any test" in result.sentences[0]


def test_what_is_shown_in_every_case():
    (sentence,) = audit(0.2, 0.9, n=100).sentences
    assert "a difference is shown in every case" in sentence


def test_rounded_means_are_read_as_the_nearest_shares():
    assert audit(0.67, 1.0, n=9).frame["case"][0].startswith("3 queries won")  # 6 of 9 is 0.667


@pytest.mark.parametrize(
    ("means", "options", "message"),
    [
        ((0.5, 0.5), {"n": 10}, "the means are equal"),
        ((3.5, 4.0), {"n": 10}, "sd is needed for means that are not between 0 and 1"),
        ((0.5, math.inf), {"n": 10}, "candidate_mean must be a finite number"),
        ((0.5, 0.6), {"n": 1}, "n must be"),
        ((0.5, 0.6), {"n": 10, "sd": 0}, "sd"),
        ((0.5, 0.6), {"n": 10, "power": 1}, "power"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused(means, options, message):
    with pytest.raises(DataError, match=message):
        audit(*means, **options)

"""A judge against people: by hand, by the estimators (tested on their own), by simulation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from rageval_report import RAGPipelineEvaluation, calibrate
from rageval_report.analysis.calibrate import Calibration
from rageval_report.errors import AlignmentError, DataError, UnknownNameError
from rageval_report.stats import (
    JudgeErrors,
    cohen_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
    mean_interval,
    paired_interval,
    ppi_mean,
    rogan_gladen,
)

NAN = float("nan")
# The judge calls 5 of 6 good ones good, 3 of 4 bad ones bad; two are without a label.
JUDGE = [1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0]
PEOPLE = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]


def figures(found, part="judge and people"):
    frame = found.frame[found.frame["part"] == part]
    return frame.set_index("figure")


@pytest.fixture
def small(judged, labels):
    return calibrate(judged(JUDGE), "faithfulness", labels(PEOPLE))


def test_the_estimates_are_those_of_the_statistics(small):
    told, judge = figures(small), JUDGE[:10]
    for name, one in {
        "percent agreement": mean_interval(np.equal(judge, PEOPLE)),
        "Cohen's kappa": cohen_kappa(judge, PEOPLE),
        "Gwet's AC1": gwet_ac1(judge, PEOPLE),
        "Krippendorff's alpha": krippendorff_alpha(np.column_stack([judge, PEOPLE])),
    }.items():
        row = told.loc[name, ["estimate", "ci_low", "ci_high", "n"]]
        assert row.tolist() == pytest.approx([one.estimate, one.low, one.high, 10])
    chance = 0.6 * 0.6 + 0.4 * 0.4  # by hand
    assert told.loc["Cohen's kappa", "estimate"] == pytest.approx((0.8 - chance) / (1 - chance))
    # Each coefficient is read by its own benchmark.
    read = told.loc["Cohen's kappa", ["reading", "source"]]
    assert read.tolist() == ["moderate", "Landis & Koch 1977"]
    assert told.loc["Krippendorff's alpha", "source"] == "Krippendorff 2004"
    assert pd.isna(told.loc["percent agreement", "reading"])


def test_the_confusion_matrix_counts_every_query_that_both_rated(small):
    matrix = small.confusion().frame
    assert matrix.loc[["0", "1"]].to_numpy().tolist() == [[3, 1, 4], [1, 5, 6]]
    assert matrix.index.name == "people"
    told = figures(small, "errors of the judge")
    assert told["estimate"].tolist() == pytest.approx([5 / 6, 3 / 4])
    assert told["n"].tolist() == [6, 4]
    assert small.errors == JudgeErrors(5, 6, 3, 4)


def test_the_means_are_those_of_the_statistics(small):
    told = figures(small, "mean of all queries")
    corrected = ppi_mean(PEOPLE, JUDGE[:10], JUDGE[10:])
    shares = rogan_gladen(JUDGE[10:], JudgeErrors(5, 6, 3, 4))
    assert told["estimate"].to_dict() == pytest.approx(
        {
            "judge alone": 7 / 12,
            "people alone": 0.6,
            "corrected (PPI++)": corrected.estimate,
            "Rogan-Gladen": shares.estimate,
        }
    )
    assert told["n"].tolist() == [12, 10, 12, 2]
    assert told.loc["corrected (PPI++)", "ci_high"] <= 1.0  # cut at the bounds


def test_bias_is_judge_minus_people(judged, labels):
    found = calibrate(judged([1, 1, 1, 0, 1]), "faithfulness", labels([1, 0, 0, 0, 1]))
    row = figures(found, "bias").loc["judge minus people"]
    told = paired_interval([1, 0, 0, 0, 1], [1, 1, 1, 0, 1])
    assert (row["estimate"], row["ci_low"]) == pytest.approx((0.4, told.low))
    ones, mixed = [1] * 40, [1, 0] * 20
    for judge, people, way in ((ones, mixed, "higher"), (mixed, ones, "lower")):
        found = calibrate(judged(judge), "faithfulness", labels(people))
        assert f"the judge scores faithfulness {way} than people by 0.500" in found.sentences[1]


def test_labels_are_worth_as_many_as_would_make_the_mean_as_sure(judged, labels, drawn):
    truth, judge = drawn(2000, right_on_1=0.97, right_on_0=0.95)
    found = calibrate(judged(judge), "faithfulness", labels(truth[:200]))
    corrected = found.means.corrected
    alone = np.std(truth[:200], ddof=1) / math.sqrt(200)
    assert found.means.labels_worth == pytest.approx(200 * (alone / corrected.standard_error) ** 2)
    assert found.means.labels_worth > 400


def test_the_corrected_mean_holds_the_truth_as_often_as_it_says_and_the_judges_does_not(drawn):
    inside, naive = 0, 0
    for seed in range(60):
        truth, judge = drawn(800, seed, right_on_1=0.95, right_on_0=0.6)
        ids = [f"q{i}" for i in range(800)]
        run = RAGPipelineEvaluation("r", {"query_id": ids, "faithfulness": judge})
        labels = pd.Series(truth[:120], index=ids[:120])
        means = calibrate(run, "faithfulness", labels, n_resamples=1).means
        inside += means.corrected.low <= 0.7 <= means.corrected.high
        naive += means.naive.low <= 0.7 <= means.naive.high
    assert inside / 60 == pytest.approx(0.95, abs=0.085)  # three standard errors
    assert naive / 60 < 0.3


def test_errors_of_another_set_give_a_share_of_their_own(judged, labels):
    outside = JudgeErrors(45, 50, 40, 50)
    found = calibrate(judged(JUDGE), "faithfulness", labels(PEOPLE), errors=outside)
    row = figures(found, "mean of all queries").loc["Rogan-Gladen, external"]
    told = rogan_gladen(JUDGE, outside)
    assert (row["estimate"], row["ci_low"], row["n"]) == (told.estimate, told.low, 12)
    assert found.settings["external_errors"] == "45/50,40/50"


def test_a_judge_no_better_than_a_guess_has_no_such_share_and_says_why(judged, labels):
    found = calibrate(judged([1, 0, 1, 0, 1, 1]), "faithfulness", labels([0, 1, 1, 0]))
    assert "Rogan-Gladen" not in set(found.frame["figure"])
    assert any("not better than a guess" in note for note in found.notes)


# -- steps, numbers, names, several raters


def test_steps_have_weighted_coefficients(judged, labels):
    judge, people = [1, 2, 3, 4, 4, 2, 3], [1, 2, 3, 4, 3, 2, 4]
    told = figures(calibrate(judged(judge, metric="grade"), "grade", labels(people)))["estimate"]
    assert told["Cohen's kappa, linear"] == cohen_kappa(judge, people, "linear").estimate
    assert told["Cohen's kappa, quadratic"] == cohen_kappa(judge, people, "quadratic").estimate
    assert told["Gwet's AC2, quadratic"] == gwet_ac2(judge, people).estimate
    ratings = np.column_stack([judge, people])
    assert told["Krippendorff's alpha"] == krippendorff_alpha(ratings, "ordinal").estimate


def test_categories_that_do_not_occur_count_for_chance(judged, labels):
    run, people = judged([1, 2, 2, 1], metric="grade"), labels([1, 2, 1, 1])
    found = calibrate(run, "grade", people, categories=(1, 2, 3, 4, 5))
    told = figures(found)["estimate"]["Gwet's AC1"]
    by_hand = gwet_ac1([1, 2, 2, 1], [1, 2, 1, 1], categories=[1, 2, 3, 4, 5]).estimate
    assert told == by_hand
    assert list(found.confusion().frame.index) == ["1", "2", "3", "4", "5"]


def test_numbers_have_correlations_and_no_matrix(judged, labels):
    scores = [0.11, 0.35, 0.52, 0.78, 0.93, 0.6]
    found = calibrate(judged(scores), "faithfulness", labels([0.2, 0.3, 0.5, 0.9, 0.97]))
    told = list(figures(found).index)
    assert told == [
        *("Pearson correlation", "Spearman correlation", "Kendall's tau-b"),
        "Krippendorff's alpha",
    ]
    with pytest.raises(DataError, match="no confusion matrix; calibrate with threshold="):
        found.confusion()


def test_a_threshold_cuts_both(judged, labels):
    scores = [0.11, 0.35, 0.52, 0.78, 0.93]
    people = labels([0.2, 0.6, 0.5, 0.9, 0.97])
    found = calibrate(judged(scores), "faithfulness", people, threshold=0.5)
    assert found.confusion().frame.to_numpy().tolist() == [[1, 0, 1], [1, 3, 4]]
    assert any("scores and labels of at least 0.5 count as 1" in note for note in found.notes)
    one = found.disagreements().frame.iloc[0]
    assert one[["people", "judge", "difference"]].tolist() == pytest.approx([0.6, 0.35, -0.25])


def test_names_have_no_means(judged, labels):
    found = calibrate(
        judged([1, 2, 3, 1, 2], metric="topic"), "topic", labels([1, 2, 3, 3]), scale="nominal"
    )
    assert set(found.frame["part"]) == {"judge and people"}


def test_several_raters_show_how_far_people_agree(judged):
    table = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, NAN]])
    people = pd.DataFrame(table, columns=list("abc"), index=[f"q{i}" for i in range(5)])
    found = calibrate(judged([1, 1, 0, 1, 1]), "faithfulness", people)
    told = figures(found, "people with each other")
    assert told.loc["percent agreement", "estimate"] == pytest.approx(
        (1 + 1 / 3 + 1 + 1 / 3 + 1) / 5
    )
    assert told.loc["Fleiss' kappa", "n"] == 4  # of the queries with three labels
    # by hand: mean agreement 2/3, shares 7/12 and 5/12
    chance = (7 / 12) ** 2 + (5 / 12) ** 2
    assert told.loc["Fleiss' kappa", "estimate"] == pytest.approx((2 / 3 - chance) / (1 - chance))
    alpha = krippendorff_alpha(table)
    assert told.loc["Krippendorff's alpha", "estimate"] == alpha.estimate
    joined = krippendorff_alpha(np.column_stack([table, [1, 1, 0, 1, 1]]))
    assert told.loc["alpha, the judge as one more", "estimate"] == joined.estimate
    columns = ["people_a", "people_b", "people_c"]
    assert found.disagreements().frame.loc["q4", columns].tolist()[:2] == [0, 0]


def test_raters_who_are_evenly_split_say_nothing_and_are_counted(judged):
    people = pd.DataFrame({"a": [1, 0, 1], "b": [1, 1, 1]}, index=["q0", "q1", "q2"])
    found = calibrate(judged([1, 0, 0]), "faithfulness", people)
    assert figures(found).loc["Cohen's kappa", "n"] == 2
    assert "1 query without a label: the raters are evenly split" in found.notes
    assert list(found.disagreements().frame.index) == ["q2"]
    assert figures(found, "mean of all queries").loc["people alone", "estimate"] == 2.5 / 3


# -- the queries


def test_disagreements_come_largest_first_with_question_answer_and_reason(judged, labels):
    run = judged(
        [1, 3, 4, 2],
        metric="grade",
        question=["A?", "B?", "C?", "D?"],
        answer=["a", "b", "c", "d"],
        grade_reason=["so", "so", "wrong place", "nearly"],
    )
    frame = calibrate(run, "grade", labels([1, 2, 1, 2])).disagreements().frame
    assert list(frame.index) == ["q2", "q1"]
    assert frame.loc["q2"].to_dict() == {
        "people": 1.0,
        "judge": 4.0,
        "difference": 3.0,
        "question": "C?",
        "answer": "c",
        "reason": "wrong place",
    }


def test_queries_that_one_side_alone_rated_are_counted(judged, labels):
    run = judged([1, 0, NAN, NAN, 1, NAN], faithfulness_state=[*"sss", "failed", *"ss"])
    people = pd.concat([labels([1, 0, 1, 1]), pd.Series({"x9": 1.0})])
    notes = calibrate(run, "faithfulness", people).notes
    told = "2 queries rated by both, 1 by the judge alone, 2 by people alone, 1 by nobody"
    assert told in notes
    assert "labelled but not scored (1 failed, 1 missing): 'q2', 'q3'" in notes
    assert "1 labelled query is not in 'hybrid': 'x9'" in notes


# -- cautions


def test_raters_who_always_say_the_same_are_told(judged, labels, small):
    found = calibrate(judged([1] * 12), "faithfulness", labels([1, 0] * 5))
    assert any(note.startswith("the judge gave 1 to all 10 queries") for note in found.notes)
    found = calibrate(judged([1, 1, 0, 1]), "faithfulness", labels([1, 1, 1]))
    assert any(note.startswith("people gave 1 to all 3 queries") for note in found.notes)
    assert list(figures(found, "errors of the judge").index) == ["sensitivity"]
    assert "only 10 queries are rated by both, so every figure here is rough" in small.notes


def test_the_paradox_of_kappa_is_told(judged, labels):
    judge, people = [1] * 45 + [0, 1, 0, 1, 0], [1] * 45 + [1, 0, 1, 0, 0]
    notes = calibrate(judged(judge), "faithfulness", labels(people)).notes
    assert any("which makes kappa low" in note for note in notes)
    fair = calibrate(judged(judge[40:] * 5), "faithfulness", labels(people[40:] * 5)).notes
    assert not any("makes kappa low" in note for note in fair)


def test_labels_that_are_no_random_sample_are_told(judged, labels, drawn):
    judge = [0.2, 0.3, 0.25, 0.1, 0.2] * 8 + [0.8, 0.9, 0.95, 0.7] * 20
    notes = calibrate(judged(judge), "faithfulness", labels([0.0, 1, 0, 0, 1] * 8)).notes
    told = "they do not look like one: the judge's mean is 0.210 on them"
    assert any(told in note for note in notes)
    # Welch's test of SciPy 1.17 decides, at 1 %.
    for seed in range(3):
        truth, judge = drawn(500, seed)
        assert scipy.stats.ttest_ind(judge[:100], judge[100:], equal_var=False).pvalue > 0.01
        notes = calibrate(judged(judge), "faithfulness", labels(truth[:100])).notes
        assert not any("they do not look like one" in note for note in notes)


def test_a_judge_who_adds_noise_is_told(judged, labels, drawn):
    truth, judge = drawn(150, 1, 0.6, 0.6)
    run, people = judged(judge), labels(truth[:60])
    notes = calibrate(run, "faithfulness", people).notes
    assert any("so the judge's scores are not used" in note for note in notes)
    notes = calibrate(run, "faithfulness", people, lam=1.0).notes
    assert any("adds more noise than information" in note for note in notes)


def test_a_plan_uses_the_judge_where_the_corrected_mean_would(judged, labels, drawn):
    def plan(right):
        truth, judge = drawn(600, 1, right, right)
        found = calibrate(judged(judge), "faithfulness", labels(truth[:60]))
        return found.planning([30, 60, 100]).frame.set_index("labels")

    noisy, good = plan(0.6), plan(0.99)
    few = [30, 60]
    alone = noisy["half_width_alone"]
    assert noisy.loc[few, "half_width_corrected"].tolist() == alone[few].tolist()
    assert noisy.loc[few, "worth"].tolist() == pytest.approx(few)
    assert (good["half_width_corrected"] <= 0.9 * good["half_width_alone"]).all()


def test_few_queries_without_a_label_or_with_one_are_said(judged, labels, drawn):
    truth, judge = drawn(90, 1)
    found = calibrate(judged(judge), "faithfulness", labels(truth[:60]))
    assert found.means.corrected.lam == 0.0
    assert any("only 30 judged queries are without a label" in note for note in found.notes)
    found = calibrate(judged([1, 0, 1]), "faithfulness", labels([1, 0, 0]))
    assert found.means.corrected is None
    assert math.isnan(found.means.labels_worth)
    assert any("people's mean needs no correction" in note for note in found.notes)
    found = calibrate(judged([1, 0, 1]), "faithfulness", labels([1]))
    assert figures(found).loc["percent agreement", "estimate"] == 1.0
    assert len(str(found).splitlines()) > 5
    with pytest.raises(DataError, match="at least 2 queries that are rated by both"):
        found.planning()


def test_labels_that_hardly_ever_differ_from_the_judge_are_told(judged, labels):
    # Without bounds the interval cannot count the errors that the labels missed.
    judge = [30.0, -10.0] * 60
    people = [-10.0, *judge[1:40]]
    notes = calibrate(judged(judge, metric="gain"), "gain", labels(people)).notes
    assert any("only 1 of 40 labels differ from the judge" in note for note in notes)
    people = [20.0 - one for one in judge[:6]] + judge[6:40]
    notes = calibrate(judged(judge, metric="gain"), "gain", labels(people)).notes
    assert not any("labels differ from the judge" in note for note in notes)


# -- groups


def test_labels_drawn_group_by_group_by_hand(judged):
    judge = [1.0] * 30 + [0.0] * 10
    run = judged(judge, topic=["a"] * 30 + ["b"] * 10)
    people = {"q0": 1.0, "q1": 1, "q2": 0, "q3": 1, "q30": 0, "q31": 1, "q32": 0, "q33": 0}
    by_judge, by_topic, by_id = (
        calibrate(run, "faithfulness", people, strata=strata)
        for strata in ("judge", "topic", {f"q{n}": n < 30 for n in range(40)})
    )
    corrected = by_judge.means.corrected
    # Three quarters of the queries with a correction of -1/4, one quarter with 1/4.
    assert corrected.estimate == pytest.approx(0.75 * (1 - 0.25) + 0.25 * 0.25)
    # The judge's score is the same within each group, and so has no weight there.
    assert (corrected.method, corrected.lam) == ("ppi++ stratified", 0.0)
    assert corrected == by_topic.means.corrected == by_id.means.corrected
    assert by_judge.settings["strata"] == "judge"
    assert by_id.settings["strata"] == "by query id"
    assert any("of each group are a random sample" in note for note in by_judge.notes)


def test_groups_that_make_no_sense_are_refused(judged, labels, drawn):
    truth, judge = drawn(100)
    run = judged(judge, topic=["rare"] + ["b"] * 99)
    with pytest.raises(DataError, match=r"the group 'rare' has 1 labels"):
        calibrate(run, "faithfulness", labels(truth[:40]), strata="topic")
    with pytest.raises(UnknownNameError, match="no column of the details is named 'nothing'"):
        calibrate(run, "faithfulness", labels(truth[:40]), strata="nothing")
    with pytest.raises(DataError, match="99 judged queries have no group"):
        calibrate(run, "faithfulness", labels(truth[:40]), strata={"q0": "a"})


def test_the_queries_to_label_next_are_where_the_judge_errs(judged, labels, drawn):
    # Right about all ones, wrong about half of the zeros.
    truth, judge = drawn(600, right_on_1=1.0, right_on_0=0.5)
    found = calibrate(judged(judge), "faithfulness", labels(truth[:60]))
    frame = found.to_label(50).frame
    assert len(set(frame.index)) == 50
    assert not set(frame.index) & {f"q{i}" for i in range(60)}
    # Verdicts of 0 are always right, so nearly all labels go to verdicts of 1.
    assert (frame["judge"] == 1).mean() > 0.9
    assert frame["stratum"].isin(["judge 0", "judge 1"]).all()


# How often a judge is right about ones and about zeros; 70 % of the truths are ones.
JUDGES_TO_LABEL = [(1.0, 0.4), (0.95, 0.6), (0.9, 0.8), (1.0, 0.8), (0.6, 0.95), (0.97, 0.97)]


def variance_of_strata(truth, judge, counts):
    """The variance of the stratified mean for a number of labels of each verdict, by the truth."""
    return sum(
        (judge == verdict).mean() ** 2 * truth[judge == verdict].var() / count
        for verdict, count in counts.items()
    )


def counts_to_compare(judge, n_known, chosen):
    """The labels of each verdict: with the chosen ones, with a random sample, and all others."""
    known = {verdict: int((judge[:n_known] == verdict).sum()) for verdict in (0.0, 1.0)}
    n_more = len(chosen)
    both = {verdict: n + int((chosen == verdict).sum()) for verdict, n in known.items()}
    random = {verdict: (n_known + n_more) * (judge == verdict).mean() for verdict in known}
    others = [{0.0: known[0.0] + n, 1.0: known[1.0] + n_more - n} for n in range(n_more + 1)]
    return both, random, [counts for counts in others if min(counts.values()) >= 2]


@pytest.mark.parametrize(("right_on_1", "right_on_0"), JUDGES_TO_LABEL)
@pytest.mark.parametrize(("n_known", "n_more"), [(30, 30), (60, 200), (150, 100)])
def test_labels_go_nearly_where_they_would_go_if_the_errors_were_known(
    judged, labels, drawn, right_on_1, right_on_0, n_known, n_more
):
    to_best, to_random = [], []
    for seed in range(10):
        truth, judge = drawn(1500, seed, right_on_1, right_on_0)
        run = judged(judge)
        found = calibrate(run, "faithfulness", labels(truth[:n_known]), n_resamples=1)
        chosen = found.to_label(n_more, seed=seed).frame["judge"].to_numpy()
        counts, random, others = counts_to_compare(judge, n_known, chosen)
        variance = variance_of_strata(truth, judge, counts)
        best = min(variance_of_strata(truth, judge, other) for other in others)
        to_best.append(math.sqrt(variance / best))
        to_random.append(math.sqrt(variance / variance_of_strata(truth, judge, random)))
    # If the labels of two groups are shared by standard deviations of which one is wrong by the
    # factor 1 + d, the variance grows by about w (1 - w) d^2, at most d^2 / 4, w being the share of
    # a group. Thirty labels show two or three errors of the good judges, so d is about 0.6: 9 % of
    # the variance, 4.5 % of its root. A verdict that is always right gets labels for the errors
    # that the known labels may have missed: as much as 6.1 % of the root where sixty labels decide
    # on two hundred, the largest of these means.
    assert np.mean(to_best) < 1.065
    # What is lost by guessing errors is never more than what a random sample loses anyway, except
    # where that loses nothing: both verdicts err alike. There the loss was 1.1 % at most.
    assert np.mean(to_random) < 1.012


def test_the_queries_to_label_are_a_draw_with_a_seed(judged, labels, drawn):
    truth, judge = drawn(300)
    found = calibrate(judged(judge), "faithfulness", labels(truth[:40]))
    first, again, other = (found.to_label(30, seed=seed).frame.index for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert "pass strata='judge' to calibrate then" in " ".join(found.to_label(30).notes)
    for n in (0, 261, 2.5, True):
        with pytest.raises(DataError, match="n must be an integer from 1 to 260"):
            found.to_label(n)
    # Numbers are grouped by quarters of the judge's scores.
    rng = np.random.default_rng(0)
    judge = rng.random(200)
    people = labels(np.clip(judge[:60] + rng.normal(0, 0.1, 60), 0, 1))
    frame = calibrate(judged(judge), "faithfulness", people).to_label(40).frame
    assert frame["stratum"].nunique() == 4


# -- how many labels


def test_the_plan_says_what_the_present_labels_give(judged, labels, drawn, small):
    truth, judge = drawn(1000)
    found = calibrate(judged(judge), "faithfulness", labels(truth[:150]))
    plan = found.planning([150]).frame.iloc[0]
    corrected = found.means.corrected
    half = (corrected.high - corrected.low) / 2
    assert plan["half_width_corrected"] == pytest.approx(half, rel=0.02)
    assert plan["worth"] == pytest.approx(found.means.labels_worth, rel=0.03)
    frame = found.planning().frame
    assert frame["labels"].tolist() == [25, 50, 100, 200, 400]
    assert frame["half_width_corrected"].is_monotonic_decreasing
    assert frame["half_width_alone"].is_monotonic_decreasing
    for n in (1, 2.5, 13, True):
        with pytest.raises(DataError, match="labels must be integers from 2 to 12"):
            small.planning([n])


# -- as a result


def test_the_evaluation_hands_over_with_its_own_idea_of_correct(labels, small):
    data = {"query_id": ["q0", "q1", "q2"], "faithfulness": [0.7, 0.9, 0.2]}
    run = RAGPipelineEvaluation("hybrid", data, correct=("faithfulness", 0.8))
    found = run.calibrate("faithfulness", labels([1, 1, 0]))
    assert isinstance(found, Calibration)
    assert found.settings["threshold"] == 0.8
    # Another calibration takes the errors of one.
    found = run.calibrate("faithfulness", labels([1, 1]), errors=small.errors)
    assert "Rogan-Gladen, external" in set(found.frame["figure"])


def test_it_prints_its_answer_on_a_screen_and_keeps_how_it_was_made(small):
    text = str(small)
    assert text.startswith("faithfulness of hybrid: judge and people agree on 8 of 10 queries")
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("Note: ") <= 3
    assert "scale:binary" in small.signature


def test_what_does_not_exist_is_named(judged, labels):
    run = judged([1, 0])
    with pytest.raises(UnknownNameError, match="Did you mean 'faithfulness'"):
        calibrate(run, "faithfullness", labels([1]))
    with pytest.raises(DataError, match="confidence_level"):
        calibrate(run, "faithfulness", labels([1]), confidence_level=95)


# -- two pipelines


@pytest.fixture
def two(judged, drawn, labels):
    """A judge who flatters the candidate: it is other, but no better, and gets 15 of 100 more."""
    truth, old_scores = drawn(600, 3)
    turned = np.arange(600) % 12 == 0
    moved = np.where(turned, 1 - truth, truth)
    flattered = np.where(np.random.default_rng(5).random(600) < 0.15, 1.0, old_scores)
    old = calibrate(judged(old_scores, "old"), "faithfulness", labels(truth[:200]))
    new = calibrate(judged(flattered, "new"), "faithfulness", labels(moved[:200]))
    return old, new


def test_the_difference_is_corrected_using_labels_of_both(two):
    old, new = two
    told = old.difference(new)
    frame = told.frame.set_index("figure")
    corrected = frame.loc["corrected (PPI++)", ["difference", "ci_low", "ci_high"]]
    assert frame.loc["judge alone", "ci_low"] > 0
    assert abs(frame.loc["people alone", "difference"]) < 0.05
    assert corrected["ci_low"] < 0 < corrected["ci_high"]
    assert any("not confirm" in note for note in told.notes)
    gap = new.pairs["judge"] - old.pairs["judge"]  # of the first 200 queries, which have labels
    people = new.pairs["people"] - old.pairs["people"]
    every = new.evaluation.scores["faithfulness"] - old.evaluation.scores["faithfulness"]
    by_hand = ppi_mean(people, gap, every.iloc[200:])
    assert corrected.tolist() == pytest.approx([by_hand.estimate, by_hand.low, by_hand.high])
    turned = new.difference(old).frame["difference"]
    np.testing.assert_allclose(told.frame["difference"], -turned, atol=1e-12)


def test_a_difference_that_is_shown_is_a_sentence(judged, labels, drawn):
    truth, judge = drawn(300, 4, 0.95, 0.95)
    low = judged(np.where(np.arange(300) % 3 == 0, 0, judge), "low")
    worse = calibrate(
        low, "faithfulness", labels(np.where(np.arange(300) % 3 == 0, 0, truth)[:150])
    )
    better = calibrate(judged(judge, "high"), "faithfulness", labels(truth[:150]))
    assert "high is better on faithfulness by" in worse.difference(better).sentences[2]
    assert "low is worse on faithfulness by" in better.difference(worse).sentences[2]


def test_a_difference_that_few_labels_move_is_told(judged, labels, drawn):
    truth, judge = drawn(120, 6)
    turned = np.where(np.arange(120) < 2, 1 - truth, truth)
    old = calibrate(judged(judge, "old"), "faithfulness", labels(truth[:60]))
    new = calibrate(judged(judge, "new"), "faithfulness", labels(turned[:60]))
    assert any(
        "only 2 of 60 labels differ from the judge" in one for one in old.difference(new).notes
    )


def test_two_pipelines_need_labels_of_both_on_the_same_queries(judged, labels):
    old = calibrate(judged([1, 0, 1, 1], "old"), "faithfulness", labels([1, 0]))
    other = pd.Series({"q2": 1.0, "q3": 0.0})
    new = calibrate(judged([1, 1, 1, 1], "new"), "faithfulness", other)
    with pytest.raises(AlignmentError, match="got 0"):
        old.difference(new)
    # Where all are labelled people's own difference stands.
    old = calibrate(judged([1, 0, 1, 1], "old"), "faithfulness", labels([1, 0, 0, 1]))
    new = calibrate(judged([1, 1, 1, 1], "new"), "faithfulness", labels([1, 1, 0, 1]))
    told = old.difference(new)
    assert list(told.frame["figure"]) == ["judge alone", "people alone"]
    assert any("needs no correction" in note for note in told.notes)

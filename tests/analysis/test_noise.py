"""Witnesses: simulation from known variances, arithmetic by hand, rapidfuzz."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.noise import (
    MOST_LETTERS,
    edit_distance,
    noise_limit,
    repeats,
    repeats_worth,
    stability,
)
from rageval_report.errors import AlignmentError, DataError, UnknownNameError

NAN = float("nan")


def run(name="hybrid", ids=None, config=None, **columns):
    n = len(next(iter(columns.values())))
    made = {"query_id": ids or [f"q{i}" for i in range(n)], **columns}
    return RAGPipelineEvaluation(name, made, config=config)


def simulated(n, k, between, within, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    skill = rng.normal(5, between, n)
    return [run(rating=skill + rng.normal(0, within, n) + shift * i) for i in range(k)]


def test_variances_that_were_put_in_are_found():
    row = repeats(*simulated(2000, 4, between=0.3, within=0.1)).frame.iloc[0]
    assert row["sd_within_ci_low"] < 0.1 < row["sd_within_ci_high"]
    assert row["sd_between"] == pytest.approx(0.3, rel=0.05)
    assert row["icc_ci_low"] < 0.9 < row["icc_ci_high"]
    assert row["share_between"] + row["share_within"] == 1.0


def test_two_runs_differ_by_less_than_the_limit_as_often_as_it_says():
    sd, n, rng = 0.2, 50, np.random.default_rng(1)
    gaps = rng.normal(0, sd, (4000, 2, n)).mean(axis=2)
    inside = np.abs(gaps[:, 0] - gaps[:, 1]) <= noise_limit(sd**2, n)
    assert inside.mean() == pytest.approx(0.95, abs=0.015)  # four standard errors of the share


def test_the_variance_of_the_mean_by_hand():
    found = repeats(run(rating=[1.0, 5.0]), run(rating=[3.0, 7.0]))  # between 7, within 2
    frame = found.planning((1, 2, 4)).frame
    assert frame["variance"].tolist() == pytest.approx([(7 + 2 / m) / 2 for m in (1, 2, 4)])
    assert frame["with_more_queries"].tolist() == pytest.approx(
        [math.sqrt(9 / (2 * m)) for m in (1, 2, 4)]
    )


def test_planning_for_another_number_of_queries():
    found = repeats(run(rating=[1.0, 5.0]), run(rating=[3.0, 7.0]))
    frame = found.planning([3], n_queries=100).frame
    assert frame["standard_error"].tolist() == pytest.approx([math.sqrt((7 + 2 / 3) / 100)])
    assert frame["n_queries"].tolist() == [100]


@pytest.mark.parametrize("told", [0, -1, 1.5, True])
def test_a_number_of_repeats_is_whole_and_at_least_one(told):
    with pytest.raises(DataError, match="must be an integer >= 1"):
        repeats(run(rating=[1.0, 5.0]), run(rating=[3.0, 7.0])).planning([told])


@pytest.mark.parametrize("within", [0.001, 0.01, 0.05, 0.2])
def test_so_many_repeats_reach_the_tolerance_and_one_fewer_does_not(within):
    worth = int(repeats_worth(0.04, within, 0.05))

    def above(m):
        return math.sqrt((0.04 + within / m) / 0.04) - 1

    assert above(worth) <= 0.05 + 1e-9
    assert worth == 1 or above(worth - 1) > 0.05


def test_queries_scored_in_some_runs_only_are_counted_and_left_out():
    found = repeats(run(recall=[0.1, NAN, 0.9]), run(recall=[0.3, 0.4, 0.7]))
    assert found.frame.loc[0, ["n", "n_dropped"]].tolist() == [2, 1]
    assert "queries left out because some run did not score them: recall 1" in found.notes


def test_runs_are_paired_by_query_id():
    one = run(ids=["a", "b", "c"], rating=[1.0, 5.0, 9.0])
    other = run(ids=["c", "a", "x"], rating=[9.0, 1.0, 4.0])
    found = repeats(one, other)
    assert found.frame.loc[0, ["n", "sd_within"]].tolist() == [2, 0.0]
    assert "2 queries are in all runs, of up to 3; the others are left out" in found.notes


def test_equal_runs_are_said_to_be_equal():
    [told] = repeats(run(rating=[1.0, 5.0]), run(rating=[1.0, 5.0])).sentences
    assert told == "rating: all 2 runs give equal scores on all 2 queries"


def test_the_sentence_says_how_many_repeats_are_worth_it():
    found = repeats(*simulated(200, 4, between=0.3, within=0.2))
    worth, [told] = int(found.frame["n_repeats"][0]), found.sentences
    assert worth in (3, 4, 5, 6)  # (0.2 / 0.3)**2 / (1.05**2 - 1) = 4.3, of 200 queries
    assert f"{worth} runs bring the standard error of the mean" in told
    assert "by noise alone" in told


def test_where_noise_is_small_one_run_is_enough():
    [told] = repeats(*simulated(200, 3, between=0.3, within=0.03)).sentences
    assert "one run is enough for the mean" in told


def test_where_all_is_noise_every_repeat_helps():
    [told] = repeats(*simulated(200, 3, between=0.0, within=0.2)).sentences
    assert "queries hardly differ beyond the noise" in told


def test_a_shift_of_whole_runs_is_told():
    assert any(
        "whole runs are shifted" in note
        for note in repeats(*simulated(100, 3, between=0.3, within=0.1, shift=0.2)).notes
    )
    assert not any("shifted" in n for n in repeats(*simulated(100, 3, 0.3, 0.1)).notes)


def test_the_interval_of_icc_of_0_1_scores_is_called_rough():
    found = repeats(run(exact_match=[1, 0, 1, 0]), run(exact_match=[1, 1, 1, 0]))
    assert (
        "exact_match: the interval of icc assumes normal scores, so for 0/1 scores it is rough"
        in found.notes
    )


def test_runs_of_different_set_ups_are_no_repetitions():
    found = repeats(
        run(rating=[1.0, 5.0], config={"top_k": 5, "model": "a"}),
        run(rating=[3.0, 7.0], config={"top_k": 10}),
    )
    [note] = [note for note in found.notes if "configurations" in note]
    assert note.endswith("model: a → unknown; top_k: 5 → 10")


def test_changed_references_are_told():
    one = run(rating=[1.0, 5.0], reference=["x", "y"])
    other = run(rating=[1.0, 5.0], reference=["x", "z"])
    [note] = [note for note in repeats(one, other).notes if "gold set" in note]
    assert note.endswith("query set: 1 with another reference")


def test_runs_of_one_name_are_welcome_and_stability_is_at_hand():
    found = repeats(run(exact_match=[1, 0]), run(exact_match=[1, 1]))
    assert found.title == "2 runs of hybrid"
    assert found.stability().frame["agreement"].tolist() == [0.5, 1.0]


def test_a_metric_that_is_scored_nowhere_is_told_and_not_planned():
    found = repeats(run(recall=[NAN, 1.0]), run(recall=[1.0, NAN]))
    assert found.sentences == ("recall: no query is scored in every run",)
    assert found.planning().frame.empty
    assert str(found)


def test_one_query_alone_tells_nothing():
    found = repeats(run(rating=[1.0]), run(rating=[2.0]))
    assert found.sentences[0].endswith("only one query is scored in every run")


def test_one_run_is_no_repetition():
    with pytest.raises(DataError, match="at least 2 runs of one pipeline"):
        repeats(run(rating=[1.0]))


def test_runs_without_a_common_query_or_metric_are_refused():
    with pytest.raises(AlignmentError, match="no query id is in all 2 runs"):
        repeats(run(ids=["a"], rating=[1.0]), run(ids=["b"], rating=[1.0]))
    with pytest.raises(AlignmentError, match="no metric is in all 2 runs"):
        repeats(run(rating=[1.0]), run(recall=[1.0]))
    with pytest.raises(AlignmentError, match="'rating' is in only 1 of 2 runs"):
        repeats(run(rating=[1.0]), run(recall=[1.0]), metrics="rating")


def test_an_unknown_metric_names_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'rating'"):
        repeats(run(rating=[1.0]), run(rating=[1.0]), metrics="ratng")


@pytest.mark.parametrize("tolerance", [0.0, -1.0, NAN])
def test_the_tolerance_lies_above_zero(tolerance):
    with pytest.raises(DataError, match="tolerance"):
        repeats(run(rating=[1.0]), run(rating=[1.0]), tolerance=tolerance)


NAN = float("nan")


def runs(*columns, name="exact_match", **details):
    """A run for each list of scores, of queries q0, q1, ..."""
    return [
        RAGPipelineEvaluation(
            "hybrid",
            {
                "query_id": [f"q{i}" for i in range(len(scores))],
                name: scores,
                **{told: cells[place] for told, cells in details.items()},
            },
        )
        for place, scores in enumerate(columns)
    ]


def test_agreement_is_the_larger_share():
    frame = stability(runs([1, 1, 0], [1, 0, 0], [1, 0, 0], [1, 0, 1])).frame
    assert frame["agreement"].to_dict() == {"q0": 1.0, "q1": 0.75, "q2": 0.75}
    assert frame["share_correct"].to_dict() == {"q0": 1.0, "q1": 0.25, "q2": 0.25}


def test_flips_are_changes_from_one_run_to_the_next():
    frame = stability(runs([1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 1])).frame
    assert frame["flips"].to_dict() == {"q0": 0, "q1": 3, "q2": 1}


def test_the_least_stable_query_comes_first():
    assert stability(runs([1, 1], [1, 0])).frame.index.tolist() == ["q1", "q0"]


def test_how_many_queries_flip_is_said():
    rule, note = stability(runs([1, 1, 0], [1, 0, 1])).notes
    assert rule == "correct: exact_match = 1"
    assert note == "2 of 3 queries are correct in some runs and incorrect in others"


def test_unscored_runs_are_passed_over_and_not_counted():
    found = stability(runs([1, NAN], [NAN, NAN], [0, NAN]))
    assert found.frame.loc["q0", ["share_correct", "flips"]].tolist() == [0.5, 1]
    assert found.frame.loc["q1"].isna().sum() == 3
    assert found.notes[1].endswith("; 1 more are unscored in all runs")


def test_a_query_of_some_runs_only_counts_these():
    many, few = runs([1, 0], [1])
    assert stability([many, few]).frame["n_runs"].to_dict() == {"q0": 2, "q1": 1}


def test_what_is_correct_may_be_a_threshold():
    frame = stability(runs([0.9, 0.2], [0.7, 0.1], name="faithfulness"), ("faithfulness", 0.8))
    assert frame.frame["agreement"].to_dict() == {"q0": 0.5, "q1": 1.0}


def test_without_a_rule_nothing_is_called_correct():
    found = stability(runs([0.9], [0.7], name="faithfulness"))
    assert list(found.frame) == ["n_runs"]
    assert found.notes == ("it is unknown what a correct answer is; pass correct=...",)


def test_an_unknown_rule_is_an_error():
    with pytest.raises(UnknownNameError, match="faithfulness"):
        stability(runs([0.9], [0.7], name="faithfulness"), ("faithfulnes", 0.8))
    with pytest.raises(DataError):
        stability(runs([0.9], [0.7], name="faithfulness"), ("faithfulness", NAN))


def test_citations_are_compared_as_sets():
    cited = [[["a", "b"], [], ["a"]], [["b", "c"], [], ["a"]]]
    frame = stability(runs([1, 1, 1], [1, 1, 1], citations=cited)).frame
    assert frame["citation_stability"].to_dict() == {"q0": 1 / 3, "q1": 1.0, "q2": 1.0}


def test_answers_have_the_median_distance_of_all_pairs():
    answers = [["abcd"], ["abce"], ["wxyz"]]  # distances 1/4, 1, 1
    found = stability(runs([1], [1], [1], answer=answers))
    assert found.frame["answer_distance"].tolist() == [1.0]
    assert "first 5000 letters" in found.notes[-1]


def test_refusals_have_the_share_of_the_larger_class():
    refused = [[True, False], [True, True], [True, False]]
    frame = stability(runs([1, 1], [1, 1], [1, 1], refused=refused)).frame
    assert frame["refusal_agreement"].to_dict() == pytest.approx({"q0": 1.0, "q1": 2 / 3})


def test_details_that_one_run_lacks_are_not_compared():
    told, untold = runs([1], answer=[["a"]])[0], runs([1])[0]
    assert "answer_distance" not in stability([told, untold]).frame


def test_an_answer_of_one_run_alone_has_no_distance():
    answers = [["a", "x"], ["a", None]]
    frame = stability(runs([1, 1], [1, 1], answer=answers)).frame
    assert frame["answer_distance"].isna().to_dict() == {"q0": False, "q1": True}


def by_table(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        left, row[0] = row[0], i
        for j, met in enumerate(other, 1):
            left, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, left + (letter != met))
    return row[-1]


WORDS = st.text("abcé ", max_size=14)


@given(WORDS, WORDS)
@settings(max_examples=300)
def test_it_is_the_distance_of_the_whole_table(one, other):
    longest = max(len(one), len(other), 1)
    assert edit_distance(one, other) == by_table(one, other) / longest


@given(st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=100)
def test_it_is_the_distance_of_rapidfuzz(one, other):
    peer = pytest.importorskip("rapidfuzz.distance")
    expected = peer.Levenshtein.normalized_distance(one, other)
    assert edit_distance(one, other) == pytest.approx(expected)


@given(WORDS, WORDS)
def test_either_text_may_come_first(one, other):
    assert edit_distance(one, other) == edit_distance(other, one)


@pytest.mark.parametrize(("one", "other", "told"), [("", "", 0.0), ("", "a", 1.0), ("a", "b", 1.0)])
def test_texts_without_letters_in_common(one, other, told):
    assert edit_distance(one, other) == told


def test_long_texts_are_compared_by_their_beginning():
    same = "a" * MOST_LETTERS
    assert edit_distance(same + "b", same + "c") == 0.0

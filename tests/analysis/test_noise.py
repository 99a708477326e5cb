"""Witnesses: simulation from known variances, arithmetic by hand, rapidfuzz, the whole table."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, repeats
from rageval_report.errors import AlignmentError, DataError, UnknownNameError

NAN = float("nan")


def run(name="hybrid", ids=None, config=None, **columns):
    n = len(next(iter(columns.values())))
    data = {"query_id": ids or [f"q{i}" for i in range(n)], **columns}
    return RAGPipelineEvaluation(name, data, config=config)


def simulated(n, k, between, within, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    skill = rng.normal(5, between, n)
    return [run(rating=skill + rng.normal(0, within, n) + shift * i) for i in range(k)]


# -- the noise of each metric


def test_variances_that_were_put_in_are_found():
    row = repeats(*simulated(2000, 4, between=0.3, within=0.1)).frame.iloc[0]
    assert row["sd_within_ci_low"] < 0.1 < row["sd_within_ci_high"]
    assert row["sd_between"] == pytest.approx(0.3, rel=0.05)
    assert row["icc_ci_low"] < 0.9 < row["icc_ci_high"]
    assert row["share_between"] + row["share_within"] == 1.0


def test_two_runs_differ_by_less_than_the_limit_as_often_as_it_says():
    rng, n = np.random.default_rng(1), 50
    row = repeats(*simulated(n, 3, between=0.3, within=0.2)).frame.iloc[0]
    gaps = rng.normal(0, row["sd_within"], (4000, 2, n)).mean(axis=2)
    inside = np.abs(gaps[:, 0] - gaps[:, 1]) <= row["noise_limit"]
    assert inside.mean() == pytest.approx(0.95, abs=0.015)  # four standard errors of the share


def test_the_variance_of_the_mean_by_hand():
    found = repeats(run(rating=[1.0, 5.0]), run(rating=[3.0, 7.0]))  # between 7, within 2
    frame = found.planning((1, 2, 4)).frame
    assert frame["variance"].tolist() == pytest.approx([(7 + 2 / m) / 2 for m in (1, 2, 4)])
    more = [math.sqrt(9 / (2 * m)) for m in (1, 2, 4)]
    assert frame["with_more_queries"].tolist() == pytest.approx(more)
    frame = found.planning([3], n_queries=100).frame
    assert frame["standard_error"].tolist() == pytest.approx([math.sqrt((7 + 2 / 3) / 100)])
    assert frame["n_queries"].tolist() == [100]


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_a_number_of_repeats_is_whole_and_at_least_one(count):
    with pytest.raises(DataError, match="must be an integer >= 1"):
        repeats(run(rating=[1.0, 5.0]), run(rating=[3.0, 7.0])).planning([count])


@pytest.mark.parametrize("within", [0.05, 0.1, 0.2, 0.4])
def test_so_many_repeats_reach_the_tolerance_and_one_fewer_does_not(within):
    result = repeats(*simulated(300, 3, between=0.3, within=within))
    worth, parts = int(result.frame["n_repeats"][0]), result.components["rating"]
    floor = math.sqrt(parts.between / parts.n)

    def above(m):
        return result.planning([m]).frame["standard_error"][0] / floor - 1

    assert above(worth) <= 0.05 + 1e-9
    assert worth == 1 or above(worth - 1) > 0.05


def test_queries_of_some_runs_only_are_counted_and_left_out():
    found = repeats(run(recall=[0.1, NAN, 0.9]), run(recall=[0.3, 0.4, 0.7]))
    assert found.frame.loc[0, ["n", "n_dropped"]].tolist() == [2, 1]
    assert "queries left out because some run did not score them: recall 1" in found.notes
    one = run(ids=["a", "b", "c"], rating=[1.0, 5.0, 9.0])
    found = repeats(one, run(ids=["c", "a", "x"], rating=[9.0, 1.0, 4.0]))
    assert found.frame.loc[0, ["n", "sd_within"]].tolist() == [2, 0.0]
    assert "2 queries are in all runs, of up to 3; the others are left out" in found.notes


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (2 * [run(rating=[1.0, 5.0])], "all 2 runs give equal scores on all 2 queries"),
        (simulated(200, 3, between=0.3, within=0.03), "one run is enough for the mean"),
        (simulated(200, 3, between=0.0, within=0.2), "queries hardly differ beyond the noise"),
        # (0.2 / 0.3)**2 / (1.05**2 - 1) = 4.3, of 200 queries
        (simulated(200, 4, between=0.3, within=0.2), " runs bring the standard error of the mean"),
        ([run(rating=[1.0]), run(rating=[2.0])], "only one query is scored in every run"),
        ([run(rating=[NAN, 1.0]), run(rating=[1.0, NAN])], "no query is scored in every run"),
    ],
)
def test_the_sentence_says_how_many_repeats_are_worth_it(runs, words):
    [sentence] = repeats(*runs).sentences
    assert sentence.startswith("rating: ")
    assert words in sentence


def test_a_metric_that_is_scored_nowhere_is_not_planned():
    found = repeats(run(recall=[NAN, 1.0]), run(recall=[1.0, NAN]))
    assert found.planning().frame.empty
    assert str(found)


def test_a_shift_of_whole_runs_is_noted():
    shifted = repeats(*simulated(100, 3, between=0.3, within=0.1, shift=0.2)).notes
    assert any("whole runs are shifted" in note for note in shifted)
    assert not any("shifted" in note for note in repeats(*simulated(100, 3, 0.3, 0.1)).notes)


def test_the_interval_of_icc_of_0_1_scores_is_called_rough():
    found = repeats(run(exact_match=[1, 0, 1, 0]), run(exact_match=[1, 1, 1, 0]))
    assert any(note.startswith("exact_match: the interval of icc assumes") for note in found.notes)


def test_other_configurations_and_references_are_noted():
    first = run(rating=[1.0, 5.0], config={"top_k": 5, "model": "a"})
    [note] = [
        note
        for note in repeats(first, run(rating=[3.0, 7.0], config={"top_k": 10})).notes
        if "configurations" in note
    ]
    assert note.endswith("model: a → unknown; top_k: 5 → 10")
    one, other = (run(rating=[1.0, 5.0], reference=["x", last]) for last in "yz")
    [note] = [note for note in repeats(one, other).notes if "gold set" in note]
    assert note.endswith("query set: 1 with another reference")


@pytest.mark.parametrize(
    ("runs", "options", "error", "message"),
    [
        ([run(rating=[1.0])], {}, DataError, "at least 2 runs of one pipeline"),
        (
            [run(ids=["a"], f1=[1.0]), run(ids=["b"], f1=[1.0])],
            {},
            AlignmentError,
            "no query id is",
        ),
        ([run(rating=[1.0]), run(recall=[1.0])], {}, AlignmentError, "no metric is in all 2 runs"),
        (
            [run(rating=[1.0]), run(recall=[1.0])],
            {"metrics": "rating"},
            AlignmentError,
            "'rating' is in only 1 of 2 runs",
        ),
        (2 * [run(rating=[1.0])], {"metrics": "ratng"}, UnknownNameError, "Did you mean 'rating'"),
        *(
            (2 * [run(rating=[1.0])], {"tolerance": wrong}, DataError, "tolerance must be")
            for wrong in (0.0, -1.0, NAN)
        ),
    ],
)
def test_runs_and_settings_that_make_no_sense_are_refused(runs, options, error, message):
    with pytest.raises(error, match=message):
        repeats(*runs, **options)


# -- query by query


def stability(*columns, correct=None, name="exact_match", **details):
    """The stability of a run for each list of scores, of queries q0, q1, ..."""
    runs = [
        run(**{name: scores}, **{detail: cells[place] for detail, cells in details.items()})
        for place, scores in enumerate(columns)
    ]
    return repeats(*runs, correct=correct).stability()


def test_agreement_is_the_larger_share_and_flips_are_changes_from_run_to_run():
    found = stability([1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 1])
    frame = found.frame
    assert frame["agreement"].to_dict() == {"q0": 1.0, "q1": 0.5, "q2": 0.75}
    assert frame["share_correct"].to_dict() == {"q0": 1.0, "q1": 0.5, "q2": 0.75}
    assert frame["flips"].to_dict() == {"q0": 0, "q1": 3, "q2": 1}
    assert frame.index.tolist() == ["q1", "q2", "q0"]  # the least stable first
    rule, note = found.notes
    assert rule == "correct: exact_match = 1"
    assert note == "2 of 3 queries are correct in some runs and incorrect in others"


def test_unscored_runs_are_passed_over_and_not_counted():
    found = stability([1, NAN], [NAN, NAN], [0, NAN])
    assert found.frame.loc["q0", ["share_correct", "flips"]].tolist() == [0.5, 1]
    assert found.frame.loc["q1"].isna().sum() == 3
    assert found.notes[1].endswith("; 1 more are unscored in all runs")
    frame = stability([1, 0], [1]).frame
    assert frame["n_runs"].to_dict() == {"q0": 2, "q1": 1}


def test_what_is_correct_is_a_rule_or_unknown():
    scores = {"name": "faithfulness"}
    frame = stability([0.9, 0.2], [0.7, 0.1], correct=("faithfulness", 0.8), **scores).frame
    assert frame["agreement"].to_dict() == {"q0": 0.5, "q1": 1.0}
    found = stability([0.9], [0.7], **scores)
    assert list(found.frame) == ["n_runs"]
    assert found.notes == ("it is unknown what a correct answer is; pass correct=...",)
    with pytest.raises(UnknownNameError, match="faithfulness"):
        stability([0.9], [0.7], correct=("faithfulnes", 0.8), **scores)
    with pytest.raises(DataError):
        stability([0.9], [0.7], correct=("faithfulness", NAN), **scores)


def test_citations_are_compared_as_sets():
    cited = [[["a", "b"], [], ["a"]], [["b", "c"], [], ["a"]]]
    frame = stability([1, 1, 1], [1, 1, 1], citations=cited).frame
    assert frame["citation_stability"].to_dict() == {"q0": 1 / 3, "q1": 1.0, "q2": 1.0}


def test_refusals_have_the_share_of_the_larger_class():
    refused = [[True, False], [True, True], [True, False]]
    frame = stability([1, 1], [1, 1], [1, 1], refused=refused).frame
    assert frame["refusal_agreement"].to_dict() == pytest.approx({"q0": 1.0, "q1": 2 / 3})


def test_answers_have_the_median_distance_of_all_pairs():
    answers = [["abcd", "a"], ["abce", None], ["wxyz", None]]  # distances 1/4, 1, 1
    found = stability([1, 1], [1, 1], [1, 1], answer=answers)
    assert found.frame["answer_distance"].fillna(-1.0).to_dict() == {"q0": 1.0, "q1": -1.0}
    assert "first 5000 letters" in found.notes[-1]
    told, untold = run(exact_match=[1], answer=["a"]), run(exact_match=[1])
    assert "answer_distance" not in repeats(told, untold).stability().frame


def distance_by_table(one: str, other: str) -> float:
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        left, row[0] = row[0], i
        for j, met in enumerate(other, 1):
            left, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, left + (letter != met))
    return row[-1] / max(len(one), len(other), 1)


def test_the_distance_of_answers_is_that_of_the_whole_table_and_of_rapidfuzz():
    rng = np.random.default_rng(7)
    letters = [list("abcé "), [chr(c) for c in rng.integers(33, 3000, 40)]]
    one, other = (
        [
            "".join(rng.choice(letters[i % 2], rng.integers(1, 15 + 10 * (i % 9))))
            for i in range(300)
        ]
        for _ in range(2)
    )
    one += ["same", "", "x", "a" * 5000 + "b"]
    other += ["same", "a", "y", "a" * 5000 + "c"]  # only the beginning is compared
    scores = [1] * len(one)
    found = stability(scores, scores, answer=[one, other]).frame["answer_distance"]
    distances = [found[f"q{i}"] for i in range(len(one))]
    pairs = [*zip(one, other, strict=True)]
    expected = [distance_by_table(*pair) for pair in pairs[:-1]]
    assert distances == pytest.approx([*expected, 0.0])
    peer = pytest.importorskip("rapidfuzz.distance").Levenshtein
    assert distances[:-1] == pytest.approx([peer.normalized_distance(*p) for p in pairs[:-1]])

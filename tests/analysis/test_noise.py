"""Witnesses: simulation from known variances, arithmetic by hand, rapidfuzz, the whole table."""

from __future__ import annotations

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


def test_answers_have_the_median_distance_of_all_pairs():
    answers = [["abcd", "a"], ["abce", None], ["wxyz", None]]  # distances 1/4, 1, 1
    found = stability([1, 1], [1, 1], [1, 1], answer=answers)
    assert found.frame["answer_distance"].fillna(-1.0).to_dict() == {"q0": 1.0, "q1": -1.0}
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

"""Agreement of raters: forms of labels, scales, SciPy 1.17's correlations, several judges."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rageval_report import RAGPipelineEvaluation, calibrate
from rageval_report.analysis.agreement import correlation, votes_of
from rageval_report.errors import DataError, UnknownNameError

NAN = float("nan")

# -- forms of labels


def rated(run, people, label=None, metric="faithfulness", **options):
    """What a calibration understood of people's labels."""
    return calibrate(run, metric, people, label, n_resamples=1, **options).ratings


@pytest.fixture
def run(judged):
    return judged([1, 0, 1, NAN])


def test_an_evaluation_gives_a_detail_or_the_metric_of_the_same_name_or_meaning(run):
    data = {"query_id": ["q0", "q1"], "f1": [1, 0], "verdict": ["yes", "no"]}
    people = RAGPipelineEvaluation("p", data, metrics=["f1"])
    np.testing.assert_array_equal(rated(run, people, "verdict").labels[:2], [1, 0])
    data = {"query_id": ["q0"], "Faithfulness": [0.0], "other": [1.0]}
    assert rated(run, RAGPipelineEvaluation("p", data)).raters == ("faithfulness",)
    data = {"query_id": ["q0"], "one": [0.0], "other": [1.0]}
    with pytest.raises(DataError, match=r"name the column .* one, other"):
        rated(run, RAGPipelineEvaluation("p", data))


def test_labels_on_another_scale_are_moved_to_that_of_the_metric(run, judged):
    found = rated(run, {"q0": 1, "q1": 3, "q2": 5}, label_bounds=(1, 5))
    assert found.labels[:3].tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(DataError, match="between 1 and 5, 'faithfulness' between 0 and 1"):
        rated(run, {"q0": 1, "q1": 5})
    with pytest.raises(DataError, match="the lower first"):
        rated(run, {"q0": 1}, label_bounds=(5, 1))
    with pytest.raises(DataError, match="has no bounds"):
        rated(judged([3.0, 17.5], metric="stars"), {"q0": 1}, metric="stars", label_bounds=(1, 5))


# -- the scale


@pytest.fixture
def found(judged, labels):
    """The calibration of these scores and labels."""

    def find(scores, people, metric="faithfulness", **options):
        told = people if isinstance(people, pd.DataFrame) else labels(people)
        return calibrate(judged(scores, metric=metric), metric, told, n_resamples=1, **options)

    return find


REFUSED = {
    "steps have no cut": ({"threshold": 2, "scale": "ordinal"}, DataError, "makes ratings binary"),
    "scale": ({"scale": "ordinl"}, UnknownNameError, "Did you mean 'ordinal'"),
    "threshold": ({"threshold": NAN}, DataError, "finite number"),
}


@pytest.mark.parametrize(("options", "error", "told"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(found, options, error, told):
    with pytest.raises(error, match=told):
        found([1, 2, 3], [1, 3, 3], "grade", **options)
    with pytest.raises(DataError, match="threshold is required"):
        found([3.0, 17.5, 25.0], [0, 1, 1], "stars")


# -- correlations

SCIPY = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
}


def drawn(n, seed, levels=None):
    rng = np.random.default_rng(seed)
    people = rng.normal(size=n)
    judge = people + rng.normal(size=n)
    return (judge, people) if levels is None else (np.round(judge * levels), np.round(people))


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize(("n", "levels"), [(7, None), (250, None), (250, 1), (2000, 2)])
def test_the_estimate_is_that_of_scipy(kind, n, levels):
    judge, people = drawn(n, n, levels)
    found = correlation(judge, people, kind)
    assert found.estimate == pytest.approx(SCIPY[kind](judge, people).statistic, abs=1e-12)


def test_pearsons_interval_is_that_of_scipy():
    judge, people = drawn(60, 1)
    found = correlation(judge, people, confidence_level=0.9)
    told = stats.pearsonr(judge, people).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((told.low, told.high))


@pytest.mark.parametrize(("kind", "variance"), [("spearman", None), ("kendall", 0.437 / 56)])
def test_the_other_intervals_by_hand(kind, variance):
    judge, people = drawn(60, 2)
    found = correlation(judge, people, kind)
    variance = variance or (1 + found.estimate**2 / 2) / 57
    reach = 1.959963984540054 * math.sqrt(variance)
    assert found.low == pytest.approx(math.tanh(math.atanh(found.estimate) - reach))
    assert found.high == pytest.approx(math.tanh(math.atanh(found.estimate) + reach))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=40))
def test_swapping_the_sides_changes_nothing_and_turning_one_the_sign(rows):
    judge, people = np.array(rows, dtype=float).T
    for kind in SCIPY:
        found = correlation(judge, people, kind)
        swapped, turned = correlation(people, judge, kind), correlation(-judge, people, kind)
        assert swapped.estimate == pytest.approx(found.estimate, abs=1e-9, nan_ok=True)
        assert turned.estimate == pytest.approx(-found.estimate, abs=1e-9, nan_ok=True)


# -- several judges


def evaluation_of(votes, *, metric="tone", kind="proportion", combined=None):
    """An evaluation as `score` with several judges gives it, from a dict of judges' scores."""
    table = pd.DataFrame(votes, dtype=float)
    rows = {
        "query_id": [f"q{i}" for i in range(len(table))],
        "question": [f"What is {i}?" for i in range(len(table))],
        metric: table.mean(axis=1) if combined is None else combined,
        f"{metric}_judges": table.to_dict("records"),
        f"{metric}_reason": ["because"] * len(table),
    }
    about = {"kind": kind} if kind == "binary" else {"kind": kind, "bounds": (0.0, 1.0)}
    return RAGPipelineEvaluation("rag", pd.DataFrame(rows), metrics={metric: about})


# -- where the votes come from


def test_a_metric_of_one_judge_is_refused():
    evaluation = RAGPipelineEvaluation("rag", {"query_id": ["a"], "tone": [0.5]})
    with pytest.raises(DataError, match=r"'tone' was not scored by several judges.*chat=\["):
        votes_of(evaluation, "tone")


@pytest.mark.parametrize("ending", ["json", "csv", "jsonl"])
def test_votes_survive_a_file(tmp_path, ending):
    evaluation = evaluation_of({"a": [1, 0.5, NAN], "b": [0, 0.5, 0.25]})
    path = evaluation.save(tmp_path / f"scores.{ending}")
    again = RAGPipelineEvaluation.load("rag", path)
    assert list(again.metrics) == ["tone"]
    pd.testing.assert_frame_equal(votes_of(again, "tone"), votes_of(evaluation, "tone"))

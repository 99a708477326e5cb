"""Agreement of several judges against statsmodels 0.14 and sums by hand, and where they differ."""

import json

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats import inter_rater

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.agreement.judges import (
    judges_agreement,
    judges_disagreements,
    votes_of,
)
from rageval_report.errors import DataError

NAN = float("nan")


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


def figures(evaluation, **options):
    frame = judges_agreement(evaluation, **options).frame
    return frame.set_index(["part", "figure"])


@pytest.fixture
def yes_no():
    rng = np.random.default_rng(3)
    truth = rng.random(60) < 0.6
    return {
        name: np.where(rng.random(60) < 0.8, truth, ~truth).astype(float)
        for name in ("a", "b", "c")
    }


def test_pairs_have_the_kappa_of_statsmodels(yes_no):
    table = figures(evaluation_of(yes_no, kind="binary"))
    for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
        counts = pd.crosstab(yes_no[first], yes_no[second]).to_numpy()
        expected = inter_rater.cohens_kappa(counts).kappa
        found = table.loc[(f"{first} and {second}", "Cohen's kappa")]
        assert found["estimate"] == pytest.approx(expected, abs=1e-12)
        assert found["ci_low"] < expected < found["ci_high"]
        same = table.loc[(f"{first} and {second}", "percent agreement"), "estimate"]
        assert same == pytest.approx((yes_no[first] == yes_no[second]).mean())


def test_all_judges_together_have_the_fleiss_kappa_of_statsmodels(yes_no):
    counts, _ = inter_rater.aggregate_raters(np.column_stack(list(yes_no.values())).astype(int))
    table = figures(evaluation_of(yes_no, kind="binary"))
    expected = inter_rater.fleiss_kappa(counts)
    assert table.loc[("all judges", "Fleiss' kappa"), "estimate"] == pytest.approx(expected)


def test_alpha_of_all_judges_is_that_of_its_definition(yes_no):
    ratings = np.column_stack(list(yes_no.values()))
    # Nominal alpha: 1 - observed / expected disagreement, over pairs within a query and over all.
    n_raters = ratings.shape[1]
    ones = ratings.sum(axis=1)
    observed = (2 * ones * (n_raters - ones) / (n_raters - 1)).sum() / ratings.size
    n, total = ratings.size, ratings.sum()
    expected = 2 * total * (n - total) / (n * (n - 1))
    table = figures(evaluation_of(yes_no, kind="binary"))
    found = table.loc[("all judges", "Krippendorff's alpha"), "estimate"]
    assert found == pytest.approx(1 - observed / expected)


def test_each_judge_has_its_mean_and_its_number_of_scores():
    table = figures(evaluation_of({"a": [1, 0.5, NAN], "b": [0, 0.5, 0.25]}))
    assert table.loc[("a", "mean score"), "estimate"] == 0.75
    assert table.loc[("a", "mean score"), "n"] == 2
    assert table.loc[("b", "mean score"), "n"] == 3
    assert set(table.loc["a and b", "n"]) == {2}


def test_two_judges_have_no_rows_of_all_together(yes_no):
    del yes_no["c"]
    parts = judges_agreement(evaluation_of(yes_no, kind="binary")).frame["part"]
    assert set(parts) == {"a", "b", "a and b"}


def test_grades_are_steps_and_shares_are_numbers():
    grades = {"a": [0, 0.25, 0.5, 0.75, 1, 1], "b": [0, 0.5, 0.5, 0.75, 1, 0.75]}
    assert ("a and b", "Gwet's AC2, quadratic") in figures(evaluation_of(grades)).index
    rng = np.random.default_rng(0)
    shares = {"a": rng.random(30), "b": rng.random(30)}
    table = figures(evaluation_of(shares))
    expected = np.corrcoef(shares["a"], shares["b"])[0, 1]
    found = table.loc[("a and b", "Pearson correlation"), "estimate"]
    assert found == pytest.approx(expected)
    assert ("a and b", "Cohen's kappa") not in table.index


def test_judges_who_use_only_the_ends_of_a_scale_do_not_turn_it_into_yes_and_no():
    ends = {"a": [0.0, 0.25, 1.0, 1.0], "b": [0.0, 1.0, 1.0, 0.0]}
    assert ("a and b", "Cohen's kappa, linear") in figures(evaluation_of(ends)).index


def test_the_order_of_judges_does_not_move_the_agreement(yes_no):
    turned = dict(reversed(yes_no.items()))
    one, other = (figures(evaluation_of(votes, kind="binary")) for votes in (yes_no, turned))
    for figure in ("Cohen's kappa", "Gwet's AC1", "percent agreement"):
        assert one.loc[("a and b", figure), "estimate"] == pytest.approx(
            other.loc[("b and a", figure), "estimate"]
        )


def test_judges_who_scored_no_query_together_are_told():
    result = judges_agreement(evaluation_of({"a": [1, NAN], "b": [NAN, 0.5]}))
    assert "tone: no query was scored by both a and b" in result.notes
    assert set(result.frame["part"]) == {"a", "b"}


def test_a_judge_that_failed_entirely_has_no_mean():
    table = figures(evaluation_of({"a": [1, 0.5], "b": [NAN, NAN]}))
    assert table.loc[("b", "mean score"), "n"] == 0
    assert np.isnan(table.loc[("b", "mean score"), "estimate"])


# -- disagreements


def test_disagreements_begin_with_the_largest_and_leave_out_the_rest():
    votes = {"a": [1, 0.5, 0.25, 1], "b": [1, 0.75, 1, NAN], "c": [1, NAN, 0.5, NAN]}
    frame = judges_disagreements(evaluation_of(votes)).frame
    assert frame.index.tolist() == ["q2", "q1"]
    assert frame["spread"].tolist() == [0.75, 0.25]
    assert frame.loc["q2", ["a", "b", "c"]].tolist() == [0.25, 1.0, 0.5]
    assert frame.loc["q1", ["question", "reason"]].tolist() == ["What is 1?", "because"]


def test_disagreements_are_counted_among_the_queries_that_two_judges_scored():
    votes = {"a": [1, 0.5, 1], "b": [1, 0.75, NAN]}
    result = judges_disagreements(evaluation_of(votes))
    assert result.notes == ("tone: judges differ on 1 of 2 queries",)


def test_judges_who_never_differ_give_an_empty_table():
    result = judges_disagreements(evaluation_of({"a": [1, 0.5], "b": [1, 0.5]}))
    assert len(result.frame) == 0
    assert json.loads(result.to_json())["rows"] == []


# -- where the votes come from


def test_a_metric_of_one_judge_is_refused():
    evaluation = RAGPipelineEvaluation("rag", {"query_id": ["a"], "tone": [0.5]})
    with pytest.raises(DataError, match=r"'tone' was not scored by several judges.*chat=\["):
        votes_of(evaluation, "tone")
    with pytest.raises(DataError, match="no metric of 'rag' was scored by several judges"):
        judges_agreement(evaluation)


@pytest.mark.parametrize("ending", ["json", "csv", "jsonl"])
def test_votes_survive_a_file(tmp_path, ending):
    evaluation = evaluation_of({"a": [1, 0.5, NAN], "b": [0, 0.5, 0.25]})
    path = evaluation.save(tmp_path / f"scores.{ending}")
    again = RAGPipelineEvaluation.load("rag", path)
    assert list(again.metrics) == ["tone"]
    pd.testing.assert_frame_equal(votes_of(again, "tone"), votes_of(evaluation, "tone"))


def test_the_methods_of_an_evaluation_hand_over():
    evaluation = evaluation_of({"a": [1, 0.5, 0.25], "b": [0, 0.5, 0.25]})
    ours = evaluation.judges_agreement("tone", seed=3, n_resamples=99)
    theirs = judges_agreement(evaluation, "tone", seed=3, n_resamples=99)
    assert ours.to_dict() == theirs.to_dict()
    assert evaluation.judges_disagreements().frame.index.tolist() == ["q0"]

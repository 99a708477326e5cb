"""missing="bounds": better only if the worst and the best case of the missing scores say so."""

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.stats import paired_test

NAN = float("nan")


def run(name, recall):
    ids = [f"q{i}" for i in range(len(recall))]
    return RAGPipelineEvaluation(name, {"query_id": ids, "recall": recall})


@pytest.fixture
def sides():
    rng = np.random.default_rng(3)
    before = rng.uniform(0.2, 0.5, 40)
    return before, before + rng.uniform(0.1, 0.2, 40)


def test_few_missing_scores_leave_the_verdict(sides):
    before, after = sides
    after[0] = NAN
    row = compare(run("a", before), run("b", after), missing="bounds").frame.iloc[0]
    # The second witness: the tests of both extremes, filled in by hand.
    extremes = [paired_test(before, np.where(np.isnan(after), end, after)) for end in (0.0, 1.0)]
    assert row["pvalue_adjusted"] == pytest.approx(max(each.pvalue for each in extremes), rel=1e-9)
    assert row["pvalue"] < row["pvalue_adjusted"] <= 0.05
    assert row["verdict"] == "better"


def test_scores_that_could_turn_the_difference_leave_it_undecided(sides):
    before, after = sides
    after[:15] = NAN
    pair = run("a", before), run("b", after)
    assert compare(*pair).frame["verdict"].iloc[0] == "better"
    row = compare(*pair, missing="bounds").frame.iloc[0]
    assert row["difference_lowest"] < 0 < row["difference_highest"]
    assert (row["pvalue_adjusted"], row["verdict"]) == (1.0, "undecided")


def test_of_scores_missing_where_a_pipeline_fails_few_are_called_better():
    rng, drop, bounds = np.random.default_rng(8), 0, 0
    for _ in range(60):
        before = rng.random(60)
        after = np.clip(before + rng.normal(0, 0.3, 60), 0, 1)
        after[np.argsort(after - before)[:6]] = NAN  # the worst are not scored
        pair = run("a", before), run("b", after)
        drop += compare(*pair).frame["verdict"].iloc[0] == "better"
        bounds += compare(*pair, missing="bounds").frame["verdict"].iloc[0] == "better"
    assert drop >= 12
    assert bounds <= 3

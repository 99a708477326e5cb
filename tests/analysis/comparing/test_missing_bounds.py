"""missing="bounds": better only if the worst and the best case of the missing scores say so."""

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare

NAN = float("nan")


def run(name, recall):
    ids = [f"q{i}" for i in range(len(recall))]
    return RAGPipelineEvaluation(name, {"query_id": ids, "recall": recall})


@pytest.fixture
def sides():
    rng = np.random.default_rng(3)
    before = rng.uniform(0.2, 0.5, 40)
    return before, before + rng.uniform(0.1, 0.2, 40)


def test_scores_that_could_turn_the_difference_leave_it_undecided(sides):
    before, after = sides
    after[:15] = NAN
    pair = run("a", before), run("b", after)
    assert compare(*pair).frame["verdict"].iloc[0] == "better"
    row = compare(*pair, missing="bounds").frame.iloc[0]
    assert row["difference_lowest"] < 0 < row["difference_highest"]
    assert (row["pvalue_adjusted"], row["verdict"]) == (1.0, "undecided")

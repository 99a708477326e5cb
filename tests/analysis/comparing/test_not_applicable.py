"""A query to which a metric does not apply is not missing: it has no score that is unknown."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare

NAN = math.nan
APPLIES = "scored"
NOT = "not applicable"


def run(name, recall, states, config=None):
    ids = [f"q{n}" for n in range(len(recall))]
    data = {"query_id": ids, "recall": recall, "recall_state": states}
    return RAGPipelineEvaluation(name, data, config=config)


# Six scored pairs, two questions without gold, and one that the candidate did not answer.
BEFORE = [0.1, 0.5, 0.4, 0.9, 0.2, 0.3, NAN, NAN, 0.6]
AFTER = [0.2, 0.6, 0.4, 1.0, 0.5, 0.6, NAN, NAN, NAN]
ONE = run("one", BEFORE, [*[APPLIES] * 6, NOT, NOT, APPLIES])
TWO = run("two", AFTER, [*[APPLIES] * 6, NOT, NOT, "failed"])
PAIRS = list(zip(BEFORE[:6], AFTER[:6], strict=True))


def test_the_worst_score_is_for_missing_ones_only():
    [row] = compare(ONE, TWO, missing="worst").frame.to_dict("records")
    differences = [after - before for before, after in PAIRS] + [0.0 - 0.6]
    assert row["n"] == 7
    assert row["difference"] == pytest.approx(np.mean(differences), abs=1e-15)
    assert row["candidate_mean"] == pytest.approx(sum(AFTER[:6]) / 7, abs=1e-15)


def test_bounds_are_about_missing_ones_only():
    [row] = compare(ONE, TWO, missing="bounds").frame.to_dict("records")
    gains = sum(after - before for before, after in PAIRS)
    assert row["difference_lowest"] == pytest.approx((gains - 0.6) / 7, abs=1e-15)
    assert row["difference_highest"] == pytest.approx((gains + 0.4) / 7, abs=1e-15)


def test_a_gate_on_the_pair_leaves_them_out():
    result = compare(ONE, TWO, missing="worst").gate("losses(recall) <= 0", "mean(recall) >= 0.9")
    values = dict(zip(result.frame["rule"], result.frame["value"], strict=True))
    assert values["losses(recall) <= 0"] == 1
    assert values["mean(recall) >= 0.9"] == pytest.approx(sum(AFTER[:6]) / 7, abs=1e-15)

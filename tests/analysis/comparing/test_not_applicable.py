"""A query to which a metric does not apply is not missing: it has no score that is unknown."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.main_effects import main_effects

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


def test_they_are_counted_apart_from_missing_ones():
    comparison = compare(ONE, TWO)
    [row] = comparison.frame.to_dict("records")
    assert (row["n"], row["n_dropped"]) == (6, 1)
    assert "recall: does not apply to 2 of 9 common queries" in comparison.notes
    [note] = [note for note in comparison.notes if "are left out" in note]
    # By hand: the missing score is 0 or 1, and the baseline's there is 0.6.
    gains = sum(after - before for before, after in PAIRS)
    low, high = (gains - 0.6) / 7, (gains + 0.4) / 7
    assert f"would be {low:+.3f} or {high:+.3f}" in note
    assert "1 of 7 shared queries are left out: no score in 'one' (0) or 'two' (1)" in note


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


def test_a_metric_that_does_not_apply_on_one_side_only_is_unscored():
    other = run("two", AFTER, [*[APPLIES] * 6, NOT, NOT, NOT])
    [row] = compare(ONE, other, missing="worst").frame.to_dict("records")
    assert row["n"] == 7  # a pipeline gains nothing by a refusal


def test_a_gate_on_the_pair_leaves_them_out():
    result = compare(ONE, TWO, missing="worst").gate("losses(recall) <= 0", "mean(recall) >= 0.9")
    values = dict(zip(result.frame["rule"], result.frame["value"], strict=True))
    assert values["losses(recall) <= 0"] == 1
    assert values["mean(recall) >= 0.9"] == pytest.approx(sum(AFTER[:6]) / 7, abs=1e-15)


def test_the_order_of_the_candidates_rows_does_not_matter():
    order = [8, 3, 7, 0, 6, 1, 2, 5, 4]
    frame = TWO.scores.join(TWO.details).iloc[order].reset_index()
    shuffled = RAGPipelineEvaluation("two", frame)
    for missing in ("drop", "worst", "bounds"):
        one, other = (compare(ONE, two, missing=missing).frame for two in (TWO, shuffled))
        assert one.drop(columns="verdict").equals(other.drop(columns="verdict"))


def test_effects_of_settings_say_the_same():
    runs = [
        run(name, scores, [*[APPLIES] * 6, NOT, NOT, APPLIES], {"k": k})
        for name, k, scores in (("one", 1, BEFORE), ("two", 2, [*AFTER[:8], 0.7]))
    ]
    effects = main_effects(runs)
    assert "recall: does not apply to 2 of 9 common queries" in effects.notes
    assert not any("are left out" in note for note in effects.notes)
    assert effects.frame["n"].tolist() == [7]

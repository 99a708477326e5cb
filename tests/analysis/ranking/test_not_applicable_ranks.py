"""A query to which a metric applies in no pipeline is no missing score in a ranking."""

from __future__ import annotations

import math

import pytest

from rageval_report import RAGPipelineEvaluation, rank

NAN = math.nan
SCORES = {
    "one": [0.1, 0.5, 0.4, 0.9, 0.2, 0.3, NAN, NAN],
    "two": [0.2, 0.6, 0.5, 1.0, 0.5, 0.6, NAN, NAN],
    "three": [0.3, 0.7, 0.6, 0.8, 0.6, 0.7, NAN, NAN],
}


def run(name, scores, state="not applicable"):
    data = {
        "query_id": [f"q{n}" for n in range(len(scores))],
        "recall": scores,
        "recall_state": ["missing" if not math.isnan(x) else state for x in scores],
    }
    return RAGPipelineEvaluation(name, data)


RUNS = [run(name, scores) for name, scores in SCORES.items()]


@pytest.mark.parametrize("missing", ["drop", "worst", "bounds"])
def test_they_are_counted_in_a_note_of_their_own(missing):
    ranking = rank(*RUNS, missing=missing)
    assert "recall: does not apply to 2 of 8 common queries" in ranking.notes
    assert not any("left out" in note or "worst" in note for note in ranking.notes)
    means = ranking.frame.set_index("pipeline")["mean"].to_dict()
    assert means == {
        name: pytest.approx(sum(scores[:6]) / 6, abs=1e-15) for name, scores in SCORES.items()
    }


def test_the_worst_score_is_for_missing_ones_only():
    gap = [*SCORES["two"][:5], NAN, NAN, NAN]
    states = ["missing"] * 6 + ["not applicable"] * 2
    data = {"query_id": [f"q{n}" for n in range(8)], "recall": gap, "recall_state": states}
    ranking = rank(RUNS[0], RAGPipelineEvaluation("two", data), RUNS[2], missing="worst")
    row = ranking.frame.set_index("pipeline").loc["two"]
    assert row["n"] == 6
    assert row["mean"] == pytest.approx(sum(SCORES["two"][:5]) / 6, abs=1e-15)
    assert "recall: 1 missing score counts as the worst possible" in ranking.notes

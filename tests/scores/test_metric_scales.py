"""Known metrics on another scale than in the catalogue."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import (
    Metric,
    RAGPipelineEvaluation,
    compare,
    history,
    rank,
)
from rageval_report.errors import DataError
from rageval_report.scores import score_table


def table_of(cells, name, **options):
    ids = [f"q{i}" for i in range(len(cells))]
    return score_table({"query_id": ids, name: cells}, **options)


@pytest.mark.parametrize("name", ["groundedness", "Coherence", "answer_relevance", "correctness"])
@pytest.mark.parametrize("cells", [[1, 4, 5, 3], [4.5, 3.0, np.nan], ["2", "5", "n/a"]])
def test_a_judges_marks_have_the_bounds_of_their_scale_and_a_note(name, cells):
    table = table_of(cells, name)
    [metric] = table.metrics.values()
    assert (metric.kind, metric.bounds) == ("ordinal", (1.0, 5.0))
    assert any("read as marks from 1 to 5" in note for note in table.notes)


@pytest.mark.parametrize("name", ["recall@5", "faithfulness", "bleu", "exact_match"])
def test_percent_of_a_known_metric_are_kept_with_their_bounds_and_a_note(name):
    table = table_of([85.0, 0.0, 32.5], name)
    assert table.scores[name].tolist() == [85.0, 0.0, 32.5]
    assert table.metrics[name].bounds == (0.0, 100.0)
    assert any("read as percent, from 0 to 100: the largest is 85" in note for note in table.notes)


@pytest.mark.parametrize(
    ("name", "cells", "message"),
    [
        ("groundedness", [0, 4], r"has 0 at 'q0' and 4 at 'q1'\. Say on which scale .* metrics="),
        ("faithfulness", [3, 7], r"has 3 at 'q0' and 7 at 'q1'\. Say"),
        ("groundedness", [4, 0.5], r"on two scales: 0.5 at 'q1' and 4 at 'q0'\. Bring .* metrics="),
        ("recall", [85, 1, 0], r"on two scales: 1 at 'q1' and 85 at 'q0'"),
        ("recall@5", [0.5, 3], r"'recall@5' must lie between 0 and 1; got 3 at 'q1'"),
        ("faithfulness", [0.5, 1.5], r"'faithfulness' must lie between 0 and 1; got 1.5 at 'q1'"),
        ("recall", [50, 101], r"must lie between 0 and 1; got 50 at 'q0'"),
        ("faithfulness", [-1, 4], r"must lie between 0 and 1; got -1 at 'q0'"),
    ],
)
def test_a_scale_that_is_not_certain_is_an_error_with_two_cells(name, cells, message):
    with pytest.raises(DataError, match=message):
        table_of(cells, name)


@pytest.mark.parametrize(
    "change", [{"bounds": (0, 5)}, Metric("groundedness", kind="ordinal", bounds=(0, 5))]
)
def test_stated_bounds_settle_it(change):
    table = table_of([0, 4], "groundedness", metrics={"groundedness": change})
    assert table.metrics["groundedness"].bounds == (0.0, 5.0)
    assert table.notes == ()


# -- two pipelines


def run(name, cells, metric="groundedness", **options):
    rows = {"query_id": [f"q{i}" for i in range(len(cells))], metric: cells}
    return RAGPipelineEvaluation(name, rows, **options)


MARKS = [1, 4, 5, 3, 5, 4, 2, 3]


@pytest.mark.parametrize("other", [[0.5] * 8, [1] * 8, [50.0, 0, 80, 90, 20, 30, 40, 50]])
def test_runs_on_two_scales_are_not_compared(other):
    message = r"metric 'groundedness' has scores from 1 to 5 in 'a' and from 0 to 1(00)? in 'b', .*"
    with pytest.raises(DataError, match=message + r"metrics=\{'groundedness'"):
        compare(run("a", MARKS), run("b", other))
    with pytest.raises(DataError, match="cannot be compared"):
        rank(run("a", MARKS), run("b", other))


@pytest.mark.parametrize("larger", [[50.0, 0, 80, 90, 20, 30, 40, 50], MARKS])
def test_shares_of_an_unknown_metric_are_not_compared_with_larger_numbers(larger):
    shares = run("a", [0.5, 0.25, 1, 0, 0.75, 1, 1, 0.5], "my_metric")
    message = r"from 0 to 1 in 'a' and from [\d.]+ to [\d.]+ in 'b', which cannot be compared"
    with pytest.raises(DataError, match=message):
        compare(shares, run("b", larger, "my_metric"))
    with pytest.raises(DataError, match="cannot be compared"):
        compare(run("b", larger, "my_metric"), shares)


# -- bounds that are guessed from the scores of one run


def guessed_runs(**options):
    """Scores of an unknown metric: all from 0 to 1 in one run, one of them below 0 in the other."""
    rng = np.random.default_rng(0)
    inside = np.clip(rng.normal(0.5, 0.1, 60), 0.05, 1.0)
    beyond = inside - 0.1
    beyond[3], beyond[7] = -0.109761, np.nan
    ids = [f"q{number:02d}" for number in range(60)]
    return [
        RAGPipelineEvaluation(name, {"query_id": ids, "overlap": cells}, **options)
        for name, cells in (("inside", inside), ("beyond", beyond))
    ]


def test_bounds_that_are_guessed_for_one_run_do_not_hold_for_another_with_scores_beyond():
    inside, beyond = guessed_runs()
    assert [run.metrics["overlap"].bounds for run in (inside, beyond)] == [(0.0, 1.0), None]
    rows = [
        rank(*order).frame.set_index("pipeline")[["mean", "ci_low", "ci_high"]]
        for order in ((inside, beyond), (beyond, inside))
    ]
    pd.testing.assert_frame_equal(rows[0].sort_index(), rows[1].sort_index(), check_exact=True)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_strict_margin_is_refused_if_the_bounds_of_one_run_do_not_hold(reverse):
    runs = guessed_runs()[:: -1 if reverse else 1]
    with pytest.raises(DataError, match="smallest and largest possible score of overlap"):
        compare(*runs, margin=0.05, margin_method="strict")


def test_a_history_says_where_the_scale_of_an_unknown_metric_changes():
    ids, shares = ["q1", "q2", "q3"], np.array([0.25, 0.5, 1.0])
    runs = [
        RAGPipelineEvaluation(name, {"query_id": ids, "overlap": shares * unit})
        for name, unit in (("a", 1), ("b", 0.9), ("c", 100))
    ]
    notes = history(runs).notes
    expected = "c is not directly comparable with b: scale: from 0 to 1 → from 25 to 100"
    assert [note for note in notes if "scale" in note] == [expected]

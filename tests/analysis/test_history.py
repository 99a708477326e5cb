"""Witnesses: compare of the same two runs, the Holm table by statsmodels 0.15, by hand."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.history import DatedRun, trends
from rageval_report.analysis.paired_metric import ComparisonPlan

N = 40
SKILL = np.random.default_rng(3).uniform(0.4, 0.9, N)
IDS = [f"q{i}" for i in range(N)]


# The t interval is the quickest; which interval is taken is tested by itself.
T = ComparisonPlan(interval="t")
quick = partial(trends, plan=T)


def run(name, drop=0.0, *, ids=IDS, seed=0, config=None, metrics=None, reference=None, **columns):
    """A run whose recall is that of every other, less a drop, give or take a little."""
    noise = np.random.default_rng(seed).normal(0, 0.03, len(ids))
    columns = columns or {"recall": np.clip(SKILL[: len(ids)] - drop + noise, 0, 1)}
    told = {} if reference is None else {"reference": reference}
    made = RAGPipelineEvaluation(
        "hybrid", {"query_id": list(ids), **columns, **told}, metrics=metrics
    )
    return DatedRun.of(made, name=name, config=config)


@pytest.fixture(scope="module")
def week():
    """Steady for three days, worse from thursday on."""
    drops = {"mon": 0.0, "tue": 0.0, "wed": 0.0, "thu": 0.2, "fri": 0.2}
    return [run(name, drop, seed=i) for i, (name, drop) in enumerate(drops.items())]


def by_run(history, metric="recall"):
    frame = history.frame
    return frame[frame["metric"] == metric].set_index("run")


def test_means_and_intervals_are_those_of_the_report(week):
    rows = by_run(quick(week))
    for one in week:
        report = one.evaluation.evaluation_report().frame.iloc[0]
        told = rows.loc[one.name, ["mean", "ci_low", "ci_high"]].tolist()
        assert told == report[["mean", "ci_low", "ci_high"]].tolist()


def test_changes_are_those_of_comparing_neighbours(week):
    rows = by_run(quick(week))
    for before, after in pairwise(week):
        sides = before.evaluation, after.evaluation.with_name("b")
        expected, by_t = (compare(*sides, test=test).frame.iloc[0] for test in ("auto", "t"))
        row = rows.loc[after.name]
        assert row["change"] == pytest.approx(expected["difference"])
        assert row["change_pvalue"] == pytest.approx(expected["pvalue"])
        assert row["change_ci_low"] == pytest.approx(by_t["ci_low"])
        assert row["change_n"] == N


def test_differences_are_those_of_comparing_with_the_pinned_run(week):
    rows = by_run(quick(week, baseline="tue"))
    for after in week[2:]:
        expected = compare(week[1].evaluation, after.evaluation.with_name("b")).frame.iloc[0]
        assert rows.loc[after.name, "difference"] == pytest.approx(expected["difference"])
        assert rows.loc[after.name, "difference_pvalue"] == pytest.approx(expected["pvalue"])
    assert rows.loc[["mon", "tue"], "since_baseline"].isna().all()


def test_the_first_run_with_a_shown_regression_is_marked(week):
    rows = by_run(quick(week))
    assert rows.index[rows["first_regression"]].tolist() == ["thu"]
    assert rows.loc["thu", "since_previous"] == "worse"
    assert rows.loc["fri", ["since_previous", "since_baseline"]].tolist() == ["undecided", "worse"]


# -- breaks


def test_a_changed_gold_set_breaks_the_line_and_common_queries_are_tested():
    moved = [*IDS[10:], *(f"x{i}" for i in range(10))]
    history = quick([run("a"), run("b", recall=[*SKILL[10:], *[0.5] * 10], ids=moved)])
    row = by_run(history).loc["b"]
    assert row["segment"] == 1
    assert row["change_n"] == 30
    assert row["differs"] == "query set: 10 added, 10 removed"
    assert any("is not directly comparable with a" in note for note in history.notes)


def test_a_query_with_another_reference_is_another_query():
    before = run("a", reference=["x"] * N)
    after = run("b", 0.1, seed=1, reference=["y"] * 5 + ["x"] * (N - 5))
    row = by_run(quick([before, after])).loc["b"]
    assert row["change_n"] == N - 5
    expected = (
        after.evaluation.scores["recall"][5:].mean() - before.evaluation.scores["recall"][5:].mean()
    )
    assert row["change"] == pytest.approx(expected)


HIGHER, LOWER = ({"own": {"bounds": (0, 1), "greater_is_better": up}} for up in (True, False))
JUDGES = [{"config": {"judge": "x", "k": 5}}, {"config": {"judge": "y", "k": 9}}]


@pytest.mark.parametrize(
    ("options", "fixed", "differs", "word"),
    [
        (JUDGES, None, "judge: x → y", "not compared"),
        (JUDGES, ["k"], "k: 5 → 9", "not compared"),
        (JUDGES, (), None, "identical"),
        ([{"config": {"judge": "x"}}, {"config": {"top_k": 5}}], None, None, "identical"),
        (
            [{"metrics": HIGHER}, {"metrics": LOWER}],
            *(None, "direction: higher is better → lower is better", "not compared"),
        ),
    ],
)
def test_what_must_be_equal_breaks_the_line_and_nothing_is_tested(options, fixed, differs, word):
    common = {"metrics": HIGHER, "own": SKILL}
    runs = [run(name, **{**common, **own}) for name, own in zip("ab", options, strict=True)]
    history = quick(runs, fixed=fixed)
    row = by_run(history, "own").loc["b"]
    found = None if pd.isna(row["differs"]) else row["differs"]
    assert (found, row["since_previous"]) == (differs, word)
    assert row["segment"] == (0 if differs is None else 1)
    assert not row["first_regression"]
    notes = [note for note in history.notes if note.startswith("b is not directly comparable")]
    assert len(notes) == (differs is not None)

"""The front: which marks stand where, worked out from the front itself."""

from __future__ import annotations

import pytest

from rageval_report.analysis.rank import rank
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import plot
from rageval_report.plots.canvas import BLUE, GREY


@pytest.fixture(scope="module")
def front(pipeline):
    n = 12
    runs = [
        pipeline("dear", {"faithfulness": [0.9, 0.8] * 6, "cost_usd": [0.02] * n}),
        pipeline("cheap", {"faithfulness": [0.6, 0.5] * 6, "cost_usd": [0.01] * n}),
        pipeline("waste", {"faithfulness": [0.7, 0.6] * 6, "cost_usd": [0.03] * n}),
    ]
    return rank(*runs, n_resamples=99).pareto()


def marks(ax, marker):
    found = [line for line in ax.lines if line.get_marker() == marker]
    return {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in found}


def test_diamonds_are_on_the_front_and_circles_are_dominated(front):
    ax = plot(front, "pareto")
    frame = front.frame
    for marker, on_front in (("D", True), ("o", False)):
        rows = frame[frame["on_front"] == on_front]
        assert marks(ax, marker) == set(zip(rows["cost"], rows["faithfulness"], strict=True))
    hues = {line.get_marker(): line.get_color() for line in ax.lines}
    assert (hues["D"], hues["o"]) == (BLUE, GREY)


def test_names_and_probabilities_stand_beside_the_marks(front, texts):
    told = texts(plot(front, "pareto"))
    assert "dear (100 %)" in told
    assert "waste (0 %)" in told


def test_a_step_joins_the_front_of_two_objectives(front):
    steps = [line for line in plot(front, "pareto").lines if "steps" in line.get_drawstyle()]
    [step] = steps
    assert len(step.get_xdata()) == 2


def test_axes_can_be_chosen(front):
    ax = plot(front, "pareto", x="faithfulness")
    assert "faithfulness" in ax.get_xlabel()
    assert "cost" in ax.get_ylabel()
    assert "lower is better" in ax.get_ylabel()


def test_an_unknown_objective_names_the_nearest(front):
    with pytest.raises(UnknownNameError, match="Did you mean 'cost'"):
        plot(front, "pareto", "costs")


def test_the_same_objective_twice_is_refused(front):
    with pytest.raises(DataError, match="choose two objectives"):
        plot(front, "pareto", "cost", "cost")


def test_one_objective_makes_no_picture(pipeline):
    runs = [pipeline(name, {"faithfulness": [0.5, 0.6]}) for name in ("a", "b")]
    with pytest.raises(DataError, match="drawn over two objectives"):
        plot(rank(*runs), "pareto")


def test_very_many_pipelines_are_numbered_and_listed(many, texts):
    ranking = rank(*(many(f"p{seed}", 30, 5, seed) for seed in range(12)), n_resamples=9)
    told = texts(plot(ranking, "pareto")).splitlines()
    listed = [line.split()[:2] for line in told if line.endswith("%)")]
    assert [number for number, _ in listed] == [str(place) for place in range(1, 13)]
    assert sorted(name for _, name in listed) == sorted(f"p{seed}" for seed in range(12))


def test_a_front_draws_itself(front):
    assert front.plot().get_title() == "Pareto front of cheap, dear, waste"

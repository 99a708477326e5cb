"""A plot added from outside: one entry, and every way of drawing a picture knows it."""

from __future__ import annotations

import sys
from importlib import metadata
from importlib.metadata import EntryPoint
from types import ModuleType

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.plots import PLOTS, Plot, plot, save_plot

mpl.use("Agg")

EVALUATION = RAGPipelineEvaluation(
    "bm25", {"query_id": ["a", "b"], "recall@5": [0.5, 1.0], "mrr": [0.25, 0.75]}
)


def draw_radar(evaluation, metrics=None, *, spokes=4, ax=None):
    ax = ax or plt.figure().add_subplot()
    names = [metrics] if isinstance(metrics, str) else list(metrics or evaluation.metrics)
    ax.plot([evaluation.scores[name].mean() for name in names] * spokes)
    ax.set_title(f"{', '.join(names)} of {evaluation.name}")
    return ax


@pytest.fixture(autouse=True)
def _radar():
    PLOTS.add("radar", Plot("radar", draw_radar, subject="evaluation", most_metrics=5))
    yield
    del PLOTS._entries["radar"]
    plt.close("all")


def test_it_draws_by_its_name_and_by_its_entry():
    for axes in (
        plot(EVALUATION, "radar"),
        plot(EVALUATION, PLOTS["radar"], spokes=3),
        EVALUATION.plot("radar"),
    ):
        assert axes.get_title() == "recall@5, mrr of bm25"


def test_its_metrics_are_the_first_arguments():
    assert plot(EVALUATION, "radar", "mrr").get_title() == "mrr of bm25"


def test_its_options_are_checked():
    with pytest.raises(
        TypeError, match=r"plot 'radar' has no option 'spoke'\. Did you mean 'spokes'"
    ):
        plot(EVALUATION, PLOTS["radar"], spoke=3)


def test_another_distribution_offers_it_by_an_entry_point(monkeypatch):
    point = EntryPoint("radar_too", "test_a_plot_entry:RADAR", "rageval_report.plots")
    module = ModuleType("test_a_plot_entry")
    module.RADAR = Plot("radar_too", draw_radar)
    monkeypatch.setitem(sys.modules, "test_a_plot_entry", module)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] * (group == point.group))
    monkeypatch.setattr(PLOTS, "_group", point.group)
    monkeypatch.setattr(PLOTS, "_entries", dict(PLOTS._entries))
    assert plot(EVALUATION, "radar_too", "mrr").get_title() == "mrr of bm25"
    assert "radar_too" in PLOTS.loaded()


def test_it_is_saved(tmp_path):
    path = save_plot(EVALUATION, PLOTS["radar"], tmp_path / "radar.png", "mrr", spokes=2)
    assert path.read_bytes().startswith(b"\x89PNG")

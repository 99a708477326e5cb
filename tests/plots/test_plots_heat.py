"""The heat table: means, marks and letters are those of the ranking, and darker is better."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from rageval_report import RAGPipelineEvaluation, rank
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import plot
from rageval_report.plots.canvas import number_text
from rageval_report.plots.rankings import heat_table, metrics_ranked

N = 60


def graded(name: str, quality: float, latency: float) -> RAGPipelineEvaluation:
    """A pipeline whose scores all rise with its quality, with a little noise."""
    noise = np.random.default_rng(round(100 * quality)).normal(0, 0.02, (2, N))
    return RAGPipelineEvaluation(
        name,
        {
            "query_id": [f"q{i}" for i in range(N)],
            "faithfulness": np.clip(quality + noise[0], 0, 1),
            "latency_ms": latency + 100 * noise[1],
        },
    )


@pytest.fixture(scope="module")
def graded_ranking():
    """Good is best on faithfulness, fast on latency, bad is worse on both."""
    return rank(graded("bad", 0.4, 300), graded("good", 0.9, 200), graded("fast", 0.7, 100))


def words(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_every_cell_has_the_mean_and_the_letters_of_the_ranking(graded_ranking):
    shown = words(plot(graded_ranking, "heat"))
    for _, row in graded_ranking.frame.iterrows():
        assert number_text(row["mean"]) in shown
        assert row["letters"] in shown


def test_the_darkest_cell_of_a_column_is_the_best_also_where_lower_is_better(graded_ranking):
    known = list(metrics_ranked(graded_ranking).values())
    table = heat_table(graded_ranking, known)
    columns = [metric.name for metric in table.metrics]
    best = {
        name: table.pipelines[int(np.argmax(table.shades[:, i]))] for i, name in enumerate(columns)
    }
    assert best == {"faithfulness": "good", "latency_ms": "fast"}
    assert table.shades.max(axis=0).tolist() == [1.0, 1.0]
    assert table.shades.min(axis=0).tolist() == [0.0, 0.0]


def test_pipelines_shown_to_be_worse_stand_below_the_others():
    rng = np.random.default_rng(0)
    names = ["worse", "first", "second"]
    base = rng.random(N)
    scores = {
        "worse": base * 0.3,
        "first": base,
        "second": np.clip(base + rng.normal(0, 0.2, N), 0, 1),
    }
    ranking = rank(
        *(
            RAGPipelineEvaluation(
                name, {"query_id": [f"q{i}" for i in range(N)], "faithfulness": scores[name]}
            )
            for name in names
        )
    )
    table = heat_table(ranking, list(metrics_ranked(ranking).values()))
    assert table.pipelines[-1] == "worse"
    assert table.n_leading == 2
    shown = words(plot(ranking, "heat"))
    assert "May be as good as the best: 2" in shown
    assert "Shown to be worse on at least one metric: 1" in shown


def test_equal_means_have_one_shade_and_no_part_of_worse_ones():
    same = {"query_id": ["a", "b", "c"], "recall": [0.5, 0.25, 0.5]}
    ranking = rank(*(RAGPipelineEvaluation(name, same) for name in ("one", "two")))
    table = heat_table(ranking, list(metrics_ranked(ranking).values()))
    assert table.shades.tolist() == [[0.5], [0.5]]
    assert not table.is_split


def test_settings_in_the_names_are_columns(many):
    runs = [
        many(f"all-mpnet-base-v2__top_k={k}__chunk_size={size}", 20, 2, k)
        for k, size in ((1, 64), (2, 64), (3, 128))
    ]
    ax = plot(rank(*runs), "heat")
    shown = words(ax)
    assert {"top_k", "chunk_size", "128"} <= set(shown)
    assert not any(label.get_text() for label in ax.get_yticklabels())


@pytest.mark.parametrize("look", ["default", "dark_background"])
def test_words_have_contrast_on_the_darkest_cell(graded_ranking, look):
    """At least 4.5 to 1, by the formula of WCAG 2."""
    with plt.style.context(look):
        ax = plot(graded_ranking, "heat")
        ax.figure.canvas.draw()
        colours = np.vstack(
            [mesh.get_facecolors() for mesh in ax.collections if type(mesh).__name__ == "QuadMesh"]
        )
        ink = luminance(to_rgb(mpl.rcParams["text.color"]))
    for colour in colours:
        light, dark = sorted([luminance(colour[:3]), ink], reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def luminance(colour) -> float:
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour
    ]
    return float(np.dot(parts, [0.2126, 0.7152, 0.0722]))


def test_named_metrics_are_the_columns_in_their_order(graded_ranking):
    shown = words(plot(graded_ranking, "heat", ["latency_ms", "faithfulness"]))
    heads = [" ".join(text.split()) for text in shown if text[:4] in ("Fait", "Late")]
    assert heads == ["Latency (ms) ↓", "Faithfulness"]


def test_a_single_metric_leaves_room_for_the_words(graded_ranking):
    ax = plot(graded_ranking, "heat", "faithfulness")
    ax.figure.canvas.draw()
    for text in ax.texts:
        assert text.get_window_extent().x1 <= ax.figure.bbox.x1, text.get_text()


def test_an_unknown_metric_names_the_nearest(graded_ranking):
    with pytest.raises(UnknownNameError, match="Did you mean 'faithfulness'"):
        plot(graded_ranking, "heat", "faithfulnes")


def test_a_comparison_is_not_a_ranking(comparison):
    with pytest.raises(DataError, match="draws a ranking"):
        plot(comparison, "heat")

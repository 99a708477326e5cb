"""Draws the pictures of docs/understand/ from the examples of those pages.

Run from the repository's root: ``python docs/make_understanding.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import wilcoxon

from rageval_report.stats import paired_test

FOLDER = Path(__file__).parent / "understand"
DPI = 80
BLUE, RED, GREY = "#2f6fb2", "#b2452f", "#6b7280"  # kept apart by readers without red or green


def draw_wilcoxon() -> Figure:
    """How often two tests find a difference between equal means, by the number of queries."""
    sizes = (25, 50, 100, 150, 200, 300, 400)
    rng = np.random.default_rng(3)
    shares = np.array([[_rejects(rng, n) for _ in range(500)] for n in sizes]).mean(axis=1)
    figure, ax = _axes(3.6)
    for share, label, color, marker in zip(
        shares.T, ("Wilcoxon", "sign-flip test of the mean"), (RED, BLUE), "os", strict=True
    ):
        ax.plot(sizes, share, marker=marker, color=color, label=label)
    ax.axhline(0.05, color=GREY, linestyle="--", linewidth=1)
    ax.annotate(
        "5 %, as promised",
        (sizes[-1], 0.05),
        (0, -14),
        ha="right",
        color=GREY,
        textcoords="offset points",
    )
    ax.yaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))
    ax.set_ylim(-0.04, 1)
    ax.set_xlabel("queries")
    ax.set_ylabel("data sets with a finding")
    ax.legend(frameon=False, loc="upper left")
    return figure


def _rejects(rng: np.random.Generator, n: int) -> tuple[bool, bool]:
    differences = rng.gamma(1, 0.1, n) - 0.1  # as on the page: the mean of their law is 0
    by_mean = paired_test(differences, np.zeros(n)).pvalue
    return bool(wilcoxon(differences).pvalue <= 0.05), bool(by_mean <= 0.05)


def _axes(height: float) -> tuple[Figure, Axes]:
    figure, ax = plt.subplots(figsize=(8.0, height), layout="constrained")
    ax.spines[["right", "top"]].set_visible(False)
    return figure, ax


PICTURES = {
    "why_not_wilcoxon.png": draw_wilcoxon,
}


def main() -> None:
    """Write docs/understand/<picture>.png."""
    mpl.use("Agg")
    for name, draw in PICTURES.items():
        figure = draw()
        figure.savefig(FOLDER / name, dpi=DPI, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main()

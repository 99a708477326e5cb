"""Draws one picture of each kind of the example data into docs/gallery.

Run from the repository's root: ``python docs/make_gallery.py``. The same version of matplotlib
writes the same files, so a change in a picture shows as a change in version control.
"""

from __future__ import annotations

from pathlib import Path

from rageval_report import compare
from rageval_report.demo import demo_evaluations
from rageval_report.plots import PLOTS, save_plot

FOLDER = Path(__file__).parent / "gallery"
DPI = 80


def main() -> None:
    """Write docs/gallery/<kind>.png for every kind of plot."""
    bm25, hybrid = demo_evaluations()
    comparison = compare(bm25, hybrid)
    pictures = {
        "box": (bm25, (), {}),
        "correlation": (bm25, (), {}),
        "differences": (comparison, ("faithfulness",), {}),
        "distribution": (bm25, ("faithfulness",), {"threshold": 0.5}),
        "ecdf": (bm25, ("faithfulness",), {"other": hybrid}),
        "forest": (comparison, (), {}),
        "outcomes": (comparison, (), {}),
        "scatter": (bm25, ("faithfulness",), {"other": hybrid}),
        "slices": (comparison, ("faithfulness",), {"by": "question_type"}),
    }
    FOLDER.mkdir(exist_ok=True)
    for kind in PLOTS:
        subject, args, options = pictures[kind]
        save_plot(subject, kind, FOLDER / f"{kind}.png", *args, dpi=DPI, **options)


if __name__ == "__main__":
    main()

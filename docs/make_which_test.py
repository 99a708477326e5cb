"""Draws the pictures of docs/which_test.md from the examples of that page.

Run from the repository's root: ``python docs/make_which_test.py``.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from rageval_report import Comparison, compare
from rageval_report.plots import save_plot

PAGE = Path(__file__).parent / "which_test.md"
FOLDER = PAGE.parent / "which_test"
DPI = 80


def examples(page: Path = PAGE) -> dict[str, Any]:
    """The names that the examples of a page define, such as ``old`` and ``new``."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "examples.py"
        script.write_text("\n".join(blocks), encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()):
            return runpy.run_path(str(script))


def draw_clusters(by_query: Comparison, by_document: Comparison, path: Path) -> None:
    """The forest of both comparisons, one below the other, on one scale."""
    figure, axes = plt.subplots(2, 1, figsize=(9.0, 5.4), sharex=True, layout="constrained")
    titles = ("60 questions counted", "12 manuals counted")
    for comparison, ax, title in zip((by_query, by_document), axes, titles, strict=True):
        comparison.plot("forest", ax=ax)
        ax.set_title(title)
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Write docs/which_test/<picture>.png."""
    mpl.use("Agg")
    FOLDER.mkdir(exist_ok=True)
    names = examples()
    old, new = names["old"], names["new"]
    comparison = compare(old, new)
    save_plot(comparison, "forest", FOLDER / "forest.png", dpi=DPI)
    save_plot(comparison, "differences", FOLDER / "differences.png", "faithfulness", dpi=DPI)
    draw_clusters(
        compare(old, new), compare(old, new, clusters="document"), FOLDER / "clusters.png"
    )


if __name__ == "__main__":
    main()

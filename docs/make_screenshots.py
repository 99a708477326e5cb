"""Photographs the pages of two, nine and twenty pipelines in Chromium: light, dark, and on a phone.

Run from the repository's root: ``python docs/make_screenshots.py FOLDER``. It needs playwright and
a Chromium (the environment variable CHROMIUM may name one). With ``RAGEVAL_DATA`` set to a folder
of public results, or ``shared/data`` beside the repository, the nine pipelines are those of
Haystack's parameter search on the ARAGOG questions; without it they are nine of example data. For
each page it writes the first screen and the whole page, and prints what the first screen says.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from rageval_report import RAGPipelineEvaluation, compare, rank, read_scores
from rageval_report.demo import demo_evaluations
from rageval_report.reports.report import Report

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
_DATA = Path(os.environ.get("RAGEVAL_DATA", _BESIDE)) / "haystack_aragog"
_MARGINS = {"faithfulness": 0.08, "answer_relevancy": 0.06}
# The name of each kind of picture, with the width and the height of the window.
_WINDOWS = {"light": (1280, 900), "dark": (1280, 900), "390": (390, 844)}


def reports() -> Iterator[tuple[str, Report]]:
    """The pages by name."""
    yield "two_pipelines", compare(*demo_evaluations(), margin=_MARGINS).report()
    yield "nine_pipelines", rank(*(_nine() or _many(9))).report()
    yield "twenty_pipelines", rank(*_many(20)).report()


def _nine() -> list[RAGPipelineEvaluation]:
    """The nine real pipelines; none where their files are not."""
    files = sorted(_DATA.glob("detailed_*.csv"))
    return [run for path in files for run in read_scores(path).values()]


def _many(n: int) -> list[RAGPipelineEvaluation]:
    """Variants of the example pipeline: each is better or worse by a little, on every metric."""
    _, hybrid = demo_evaluations()
    rng = np.random.default_rng(0)
    frame = hybrid.to_frame()
    return [
        RAGPipelineEvaluation(
            f"hybrid-search-v2__top_k={1 + place // 4}__chunk_size={64 * 2 ** (place % 4)}",
            frame.assign(
                **{
                    name: _shifted(frame[name].to_numpy(dtype=float), rng)
                    for name in ("faithfulness", "answer_relevancy", "context_relevance")
                },
                latency_ms=frame["latency_ms"] * rng.uniform(0.7, 1.3),
            ),
        )
        for place in range(n)
    ]


def _shifted(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shifted: np.ndarray = scores + rng.normal(0, 0.04) + rng.normal(0, 0.1, len(scores))
    return np.clip(shifted, 0, 1)


def _first_screen(report: Report) -> tuple[str, ...]:
    """What the first screen says in words."""
    return () if report.headline is None else report.headline.sentences


def main(folder: Path) -> None:
    """Write the pages and their pictures into a folder.

    Parameters
    ----------
    folder : Path
        It is created if needed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, report in reports():
            path = report.save(folder / f"{name}.html")
            for kind, (width, height) in _WINDOWS.items():
                scheme = "dark" if kind == "dark" else "light"
                page = browser.new_page(
                    viewport={"width": width, "height": height}, color_scheme=scheme
                )
                page.goto(path.resolve().as_uri())
                page.screenshot(path=folder / f"{name}_{kind}.png")
                page.screenshot(path=folder / f"{name}_{kind}_whole.png", full_page=True)
                page.close()
            lines = (f"{name}: {path.stat().st_size / 1000:.0f} kB", *_first_screen(report))
            sys.stdout.write("\n  ".join(lines) + "\n")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots"))

"""Draws one picture of each kind of the example data into docs/gallery.

Run from the repository's root: ``python docs/make_gallery.py``. The same version of matplotlib
writes the same files, so a change in a picture shows as a change in version control.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rageval_report import RAGPipelineEvaluation, calibrate, compare, history, rank
from rageval_report.analysis.calibrate import Calibration
from rageval_report.demo import demo_evaluations
from rageval_report.plots import save_plot
from rageval_report.run_history import monitor

FOLDER = Path(__file__).parent / "gallery"
DPI = 80


# The number of verdicts of the judge that people checked; they corrected every seventh one.
_LABELLED, _EVERY = 60, 7
# Differences that are too small to matter.
_MARGINS = {"faithfulness": 0.08, "answer_relevancy": 0.06}


def calls() -> dict[str, tuple[Any, tuple[str, ...], dict[str, Any]]]:
    """The subject, the metrics and the options of each picture, by the kind of plot."""
    bm25, hybrid = demo_evaluations()
    comparison = compare(bm25, hybrid)
    ranking = rank(bm25, hybrid)
    return {
        "agreement": (_calibration(bm25), (), {}),
        "box": (bm25, (), {}),
        "differences": (comparison, ("faithfulness",), {}),
        "distribution": (bm25, ("faithfulness",), {"threshold": 0.5}),
        "forest": (comparison, (), {}),
        "heat": (ranking, (), {}),
        "leaderboard": (ranking, (), {}),
        "monitor": (monitor(_weeks(hybrid)), ("faithfulness",), {}),
        "pareto": (ranking, (), {}),
        "slices": (comparison, ("faithfulness",), {"by": "question_type"}),
        "strip": (compare(bm25, hybrid, margin=_MARGINS), (), {}),
        "trends": (history([bm25, hybrid]), (), {}),
    }


def _weeks(run: RAGPipelineEvaluation) -> list[RAGPipelineEvaluation]:
    """The run as the reference, and twelve weeks of it; in the last four a fifth fails."""
    weeks = []
    for week in range(1, 13):
        table = run.scores.sample(60, random_state=week).reset_index()
        if week > 8:
            table.loc[::5, "faithfulness"] = 0.0
        weeks.append(RAGPipelineEvaluation(f"week {week}", table))
    return [run, *weeks]


def _calibration(run: RAGPipelineEvaluation) -> Calibration:
    """The exact matches of a run beside labels that correct some of them."""
    scores = run.scores["exact_match"].dropna().head(_LABELLED)
    labels = {
        query: 1 - score if place % _EVERY == 0 else score
        for place, (query, score) in enumerate(scores.items())
    }
    return calibrate(run, "exact_match", labels)


def main() -> None:
    """Write docs/gallery/<kind>.png for every kind of plot."""
    FOLDER.mkdir(exist_ok=True)
    for kind, (subject, args, options) in calls().items():
        save_plot(subject, kind, FOLDER / f"{kind}.png", *args, dpi=DPI, **options)


if __name__ == "__main__":
    main()

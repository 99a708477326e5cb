"""Draws every kind of plot on hard cases, as sheets of small pictures to look at.

Run from the repository's root: ``python docs/make_contact_sheets.py -o build/contact_sheets``. The
folder gets one sheet per case (2 to 20 pipelines, 1 to 12 metrics, 8 to 5,000 queries, long names,
names in other scripts, a dark style, printed grey), for eyes and not for version control. With
``--each`` every picture is a file of its own too, at its full size.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rageval_report import (
    RAGPipelineEvaluation,
    calibrate,
    compare,
    history,
    rank,
)
from rageval_report.plots import PLOTS
from rageval_report.plots.saving import draw_figure
from rageval_report.run_history import monitor

ARAGOG = tuple(
    f"detailed_all-mpnet-base-v2__top_k={k}__chunk_size={size}"
    for k in (1, 2, 3)
    for size in (64, 128, 256)
)
AZURE = tuple(
    f"rag-{model}-{search}-{size}/eval_results"
    for model in ("gpt-4o-mini", "gpt-4.1")
    for search in ("vector", "hybrid", "semantic-hybrid")
    for size in ("small", "large")
)
LONG = (
    "production-2026-10-12-bm25-with-synonyms-and-cross-encoder-reranking-top-50",
    "production-2026-11-02-hybrid-dense-and-sparse-with-query-rewriting-by-a-small-model",
)
CHINESE = ("检索方式_关键词检索_第三版的完整评估", "检索方式_混合检索与重排序_第三版的完整评估")
ARABIC = ("نظام البحث بالكلمات المفتاحية", "نظام البحث الهجين مع إعادة الترتيب")
GERMAN = (
    *("Abrechnungsfragen mit mehreren Vertragspartnern", "Versandkostenrückerstattung", "Übrige"),
)
_PICTURES_ACROSS, _DPI = 3, 75


@dataclass(frozen=True)
class Case:
    """What the pictures of a sheet are drawn from, and how they look."""

    names: Sequence[str] = ("bm25", "hybrid")
    n_metrics: int = 8
    n_queries: int = 100
    groups: Sequence[str] = ("billing", "shipping", "returns")
    style: str = "default"
    is_grey: bool = False


CASES = {
    "2 pipelines": Case(),
    "9 pipelines, ARAGOG": Case(ARAGOG),
    "12 pipelines, Azure": Case(AZURE),
    "20 pipelines": Case([f"run-{number:02d}" for number in range(1, 21)]),
    "1 metric": Case(n_metrics=1),
    "12 metrics": Case(n_metrics=12),
    "12 metrics, 20 pipelines": Case([f"variant {n}" for n in range(1, 21)], n_metrics=12),
    "8 queries": Case(n_queries=8),
    "5,000 queries": Case(n_queries=5_000),
    "long names": Case(LONG, groups=GERMAN),
    "Chinese names": Case(CHINESE, groups=("计费", "物流", "退货")),
    "right to left": Case(ARABIC, groups=("الفواتير", "الشحن", "المرتجعات")),
    "dark": Case(style="dark_background"),
    "dark, 9 pipelines": Case(ARAGOG, style="dark_background"),
    "grey": Case(is_grey=True),
    "grey, 9 pipelines": Case(ARAGOG, is_grey=True),
}


def evaluations_of(case: Case) -> list[RAGPipelineEvaluation]:
    """The pipelines of a case; later ones are a little better, on harder queries much better."""
    skill = np.random.default_rng(0).normal(0.6, 1.2, case.n_queries)
    return [
        _evaluation(name, case, skill + 1.2 * place / len(case.names), seed=place + 1)
        for place, name in enumerate(case.names)
    ]


def _evaluation(name: str, case: Case, skill: np.ndarray, *, seed: int) -> RAGPipelineEvaluation:
    rng = np.random.default_rng(seed)

    def share() -> np.ndarray:
        return 1 / (1 + np.exp(-skill - rng.normal(0, 0.8, case.n_queries)))

    columns = {
        "faithfulness": np.where(rng.random(case.n_queries) < 0.04, np.nan, share()),
        "recall@5": np.round(share() * 4) / 4,
        "exact_match": (share() > 0.6).astype(float),
        "rating": np.round(1 + 4 * share()),
        "latency_ms": np.exp(5.5 + 0.1 * seed + rng.normal(0, 0.5, case.n_queries)),
        "cost_usd": rng.random(case.n_queries) / 2_000,
        "hallucination": 1 - share(),
        "ndcg@10": share() ** 2,
        "context_relevance": np.sqrt(share()),
        "semantic_answer_similarity": share(),
        "toxicity": share() / 12,
        "rouge_l": share() / 2,
    }
    metrics = list(columns)[: case.n_metrics]
    topic = np.array(case.groups)[np.arange(case.n_queries) % len(case.groups)]
    return RAGPipelineEvaluation(
        name,
        {
            "query_id": [f"q{i}" for i in range(case.n_queries)],
            **{metric: columns[metric] for metric in metrics},
            "topic": topic,
        },
        metrics=metrics,
    )


def calls(case: Case) -> dict[str, tuple[Any, tuple[str, ...], dict[str, Any]]]:
    """The subject, the metrics and the options of each picture of a case, by the kind of plot."""
    evaluations = evaluations_of(case)
    first, second, *_ = evaluations
    comparison, ranking = compare(*evaluations), rank(*evaluations)
    weeks = [first, *(second.with_name(f"{name}, week") for name in case.names)]
    several = first.metrics.keys() - {"faithfulness"}
    drawn = {
        "agreement": (_calibration(first, second), (), {}),
        "box": (first, (), {}),
        "differences": (compare(first, second), ("faithfulness",), {}),
        "distribution": (second, ("faithfulness",), {"threshold": 0.5}),
        "forest": (comparison, (), {}),
        "heat": (ranking, (), {}),
        "leaderboard": (ranking, (), {}),
        "monitor": (monitor(weeks), ("faithfulness",), {}),
        "pareto": (ranking, (), {}),
        "slices": (comparison if len(case.names) < 5 else first, (), {"by": "topic"}),
        "strip": (compare(first, second), (), {}),
        "trends": (history(evaluations), (), {}),
    }
    # A single metric has no front.
    lacking = set() if several else {"pareto"}
    return {kind: call for kind, call in drawn.items() if kind in PLOTS and kind not in lacking}


def _calibration(judged: RAGPipelineEvaluation, people: RAGPipelineEvaluation) -> Any:
    metric = "exact_match" if "exact_match" in judged.metrics else "faithfulness"
    labels = people.scores[metric].dropna()
    return calibrate(judged, metric, labels.head(max(6, len(labels) // 2)).to_dict())


def pictures(case: Case) -> Iterator[tuple[str, np.ndarray]]:
    """The name of each kind and its picture, as an array of colours."""
    with plt.style.context(case.style):
        for kind, (subject, args, options) in calls(case).items():
            yield kind, pixels(draw_figure(subject, kind, *args, **options), is_grey=case.is_grey)


def pixels(figure: Figure, *, is_grey: bool = False) -> np.ndarray:
    """A figure as an array of colours between 0 and 1; grey as a printer without colour has it."""
    figure.set_dpi(_DPI)
    figure.canvas.draw()
    colours = np.asarray(figure.canvas.buffer_rgba())[..., :3] / 255.0  # type: ignore[attr-defined]
    if is_grey:
        colours = np.repeat((colours @ [0.299, 0.587, 0.114])[..., np.newaxis], 3, axis=2)
    return colours


def sheet(title: str, drawn: Sequence[tuple[str, np.ndarray]], paper: str) -> Figure:
    """The pictures side by side at one scale, each below the name of its kind."""
    rows = [drawn[i : i + _PICTURES_ACROSS] for i in range(0, len(drawn), _PICTURES_ACROSS)]
    widest = max(sum(image.shape[1] for _, image in row) for row in rows) + 40
    heights = [max(image.shape[0] for _, image in row) + 40 for row in rows]
    tall = sum(heights) + 40
    figure = Figure(figsize=(widest / _DPI, tall / _DPI), dpi=_DPI, facecolor=paper)
    ink = "white" if paper == "black" else "black"
    figure.text(10 / widest, 1 - 24 / tall, title, fontsize=14, fontweight="bold", color=ink)
    top = 40
    for row, height in zip(rows, heights, strict=True):
        left = 10
        for kind, image in row:
            figure.text(left / widest, 1 - (top + 16) / tall, kind, fontsize=11, color=ink)
            tall_image, wide_image = image.shape[:2]
            figure.figimage(image, left, tall - top - 24 - tall_image)
            left += wide_image + 10
        top += height
    return figure


def main() -> None:
    """Write one sheet per case into the folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("build/contact_sheets"))
    parser.add_argument("--case", action="append", choices=list(CASES), help="only these cases")
    parser.add_argument("--each", action="store_true", help="write every picture on its own too")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for title in options.case or CASES:
        case = CASES[title]
        drawn = list(pictures(case))
        name = title.replace(", ", "-").replace(" ", "-").replace(",", "")
        paper = "black" if case.style == "dark_background" else "white"
        sheet(title, drawn, paper).savefig(options.output / f"{name}.png")
        if options.each:
            (options.output / name).mkdir(exist_ok=True)
            for kind, image in drawn:
                plt.imsave(options.output / name / f"{kind}.png", np.ascontiguousarray(image))
        sys.stdout.write(f"wrote {options.output / name}.png\n")


if __name__ == "__main__":
    main()

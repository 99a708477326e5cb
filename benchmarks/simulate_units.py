"""How often clustered queries raise a false alarm, with and without their clusters.

    OMP_NUM_THREADS=1 python benchmarks/simulate_units.py

Two pipelines without a difference, or with one of exactly the margin, are compared on questions
that come from a few documents. Prints the share of the data sets in which something is shown that
is not so, if the clusters are ignored and if they are named. It takes a few minutes, and the same
seed gives the same table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from simulate_coverage import per_cent
from timing import markdown

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.compare import Comparison

METRICS = ("faithfulness", "answer_relevancy", "context_precision", "context_recall")
TOPICS = np.array(["law", "tax"])
MARGIN = 0.05
Runs = tuple[RAGPipelineEvaluation, RAGPipelineEvaluation]


@dataclass(frozen=True)
class Design:
    """Documents with as many questions each, and the true difference on every metric."""

    documents: int
    questions: int
    difference: float = 0.0

    def draw(self, rng: np.random.Generator) -> Runs:
        """Two runs whose differences depend on the document: two thirds of their variance."""
        document = np.repeat(np.arange(self.documents), self.questions)
        n, shape = document.size, (document.size, len(METRICS))
        topics = TOPICS[np.arange(self.documents) % len(TOPICS)][document]
        details = {"query_id": [f"q{i}" for i in range(n)], "topic": topics}
        details["document"] = [f"d{number}" for number in document]
        before = rng.uniform(0.35, 0.65, shape)
        of_document = rng.normal(0.0, 0.1, (self.documents, len(METRICS)))[document]
        after = before + self.difference + of_document + rng.normal(0.0, 0.07, shape)
        return tuple(  # type: ignore[return-value]
            RAGPipelineEvaluation(
                name, {**details, **dict(zip(METRICS, scores.clip(0, 1).T, strict=True))}
            )
            for name, scores in (("before", before), ("after", after))
        )


Finding = Callable[[Comparison], bool]


def any_metric(comparison: Comparison) -> bool:
    """Whether any metric is shown to differ."""
    return bool((comparison.frame["pvalue_adjusted"] <= 0.05).any())


def below_raw(comparison: Comparison) -> bool:
    """Whether an adjusted p-value is below the raw one."""
    frame = comparison.frame
    return bool((frame["pvalue_adjusted"] < frame["pvalue"] * (1 - 1e-9)).any())


def any_slice(comparison: Comparison) -> bool:
    """Whether any topic is shown to differ on the first metric."""
    return bool((comparison.slices("topic", METRICS[0]).frame["pvalue_adjusted"] <= 0.05).any())


def one_metric(comparison: Comparison) -> bool:
    """Whether the first metric is shown to differ, without correction."""
    return bool(comparison.frame["pvalue"].iloc[0] <= 0.05)


def contradicts(comparison: Comparison) -> bool:
    """Whether the interval and the p-value of any metric contradict each other."""
    frame = comparison.frame
    shown = (frame["ci_low"] > 0) | (frame["ci_high"] < 0)
    return bool((shown != (frame["pvalue"] <= 0.05)).any())


def gate_passes(comparison: Comparison) -> bool:
    """Whether the gate against a regression by the margin opens."""
    return comparison.gate(f"no_regression({METRICS[0]}, margin={MARGIN})").passed


NULL, AT_MARGIN = Design(20, 8), Design(12, 8, -MARGIN)
ROWS: tuple[tuple[str, Design, str, Finding], ...] = (
    ("20 x 8, one metric significant", NULL, "holm", one_metric),
    ("20 x 8, any of 4 metrics, Holm", NULL, "holm", any_metric),
    ("20 x 8, any of 4 metrics, Westfall-Young", NULL, "westfall-young", any_metric),
    ("20 x 8, Westfall-Young p below the raw p", NULL, "westfall-young", below_raw),
    ("20 x 8, any of 2 topics, Holm", NULL, "holm", any_slice),
    ("20 x 8, interval contradicts the test", NULL, "holm", contradicts),
    ("12 x 8, worse by the margin, gate passes", AT_MARGIN, "holm", gate_passes),
)


def share(
    design: Design,
    correction: str,
    finding: Finding,
    clusters: str | None,
    datasets: int,
    seed: int,
) -> str:
    """The share of data sets with a finding."""
    found = 0
    for number in range(datasets):
        runs = design.draw(np.random.default_rng([seed, number]))
        comparison = compare(
            *runs, correction=correction, clusters=clusters, n_resamples=999, seed=number
        )
        found += finding(comparison)
    return per_cent(found, datasets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=300, help="data sets per cell")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = []
    for name, design, correction, finding in ROWS:
        shares = [
            share(design, correction, finding, clusters, options.datasets, options.seed)
            for clusters in (None, "document")
        ]
        rows.append([name, *shares])
    print(markdown(["false findings, in percent", "by query", "by document"], rows))


if __name__ == "__main__":
    main()

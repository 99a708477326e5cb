"""How often slices mislead: false reversals, false findings among many.

    OMP_NUM_THREADS=1 python benchmarks/simulate_slices.py [reversals] [discoveries]

Prints two tables. *Reversals*: the share of data sets with a sentence that a slice differs in the
other direction, where no slice does; beside it the share by the rule that needs no correction.
*Discoveries*: the share of false findings among the slices shown to differ. It takes about half an
hour, and the same seed gives the same tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from timing import markdown, per_cent

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.compare import Comparison
from rageval_report.results import Result
from rageval_report.stats import adjust_pvalues

LEVEL = 0.05
Runs = tuple[RAGPipelineEvaluation, RAGPipelineEvaluation]
FloatArray = np.ndarray


def run_of(name: str, scores: FloatArray, details: dict[str, object]) -> RAGPipelineEvaluation:
    """A run with one metric per column of the scores."""
    metrics = ("faithfulness", "answer_relevancy", "context_precision", "context_recall")
    columns = dict(zip(metrics, scores.T, strict=False))
    return RAGPipelineEvaluation(name, {**details, **columns})


# -- reversals


@dataclass(frozen=True)
class Design:
    """Slices with their sizes and true differences, and the questions per document."""

    name: str
    sizes: tuple[int, ...]
    differences: tuple[float, ...] = ()
    metrics: int = 1
    questions: int = 1

    def draw(self, rng: np.random.Generator) -> Runs:
        """Two runs; of clustered questions two thirds of the variance lie between documents."""
        topic = np.repeat(np.arange(len(self.sizes)), self.sizes)
        document = np.arange(topic.size) // self.questions
        shape = (topic.size, self.metrics)
        truth = np.array(self.differences or (0.0,) * len(self.sizes))[topic][:, np.newaxis]
        spread = 0.1 if self.questions > 1 else 0.0
        noise = rng.normal(0.0, spread, (document[-1] + 1, self.metrics))[document]
        before = rng.uniform(0.35, 0.65, shape)
        after = before + truth + noise + rng.normal(0.0, 0.07, shape)
        details = {
            "query_id": [f"q{i}" for i in range(topic.size)],
            "topic": [f"t{i}" for i in topic],
            "document": [f"d{i}" for i in document],
        }
        return run_of("before", before, details), run_of("after", after.clip(0, 1), details)

    def compare(self, rng: np.random.Generator) -> Comparison:
        """The comparison, by document if the questions come from documents."""
        clusters = "document" if self.questions > 1 else None
        return compare(*self.draw(rng), clusters=clusters)


DESIGNS = (
    Design("2 slices of 40", (40, 40)),
    Design("4 slices of 20", (20,) * 4),
    Design("8 slices, 60 to 7 queries", (60, 40, 30, 20, 15, 10, 8, 7)),
    Design("4 slices of 20, 4 metrics", (20,) * 4, metrics=4),
    Design("4 slices of 8 documents x 5", (40,) * 4, questions=5),
    Design("4 slices of 8 documents x 5, 4 metrics", (40,) * 4, metrics=4, questions=5),
    Design("4 of 5 slices gain, one does not", (20,) * 5, (0.1, 0.1, 0.1, 0.1, 0.0)),
    Design("one of 5 slices loses, no other differs", (20,) * 5, (-0.1, 0.0, 0.0, 0.0, 0.0)),
    Design("all 5 slices gain a little", (20,) * 5, (0.01,) * 5),
)
REVERSED = Design(
    "power: one of 5 loses, the others gain", (20,) * 5, (-0.06, 0.06, 0.06, 0.06, 0.06)
)


def has_sentence(slices: Result) -> bool:
    """Whether a slice is shown to differ in the other direction than the mean of all queries."""
    return bool(slices.sentences)


def is_noted_by_estimates(slices: Result) -> bool:
    """The rule without a correction: one p-value up to 0.05, or most queries, against the whole."""
    for _, rows in slices.frame.groupby("metric"):
        overall = float(np.average(rows["difference"], weights=rows["n"]))
        against = rows["difference"] * overall < 0
        most = 2 * rows["n"][against].sum() > rows["n"].sum()
        if most or (against & (rows["pvalue"] <= LEVEL)).any():
            return True
    return False


def reversals(datasets: int, seed: int) -> str:
    """The table of false reversals."""
    rows = []
    rules = (is_noted_by_estimates, has_sentence)
    for design in (*DESIGNS, REVERSED):
        counts = [0, 0]
        for number in range(datasets):
            slices = design.compare(np.random.default_rng([seed, number])).slices("topic")
            counts = [n + rule(slices) for n, rule in zip(counts, rules, strict=True)]
        rows.append([design.name, *(per_cent(n, datasets) for n in counts)])
    heads = ("by the estimates", "sentence on a slice")
    return markdown(["data sets with a note, in percent", *heads], rows)


# -- discoveries


def discoveries(datasets: int, seed: int) -> str:
    """The table of false discovery rates: 20 slices of 20, of which some differ by 0.06."""
    rows = []
    for n_true, metrics in ((0, 1), (5, 1), (10, 1), (10, 4)):
        truth = (0.06,) * n_true + (0.0,) * (20 - n_true)
        design = Design("", (20,) * 20, truth, metrics=metrics)
        true_labels = {f"t{i}" for i in range(n_true)}
        frames = [
            design.compare(np.random.default_rng([seed, number])).slices("topic", correction="none")
            for number in range(datasets)
        ]
        for correction in ("none", "bh", "by", "holm"):
            shares, found = [], []
            for frame in (slices.frame for slices in frames):
                adjusted = adjust_pvalues(frame["pvalue"], method=correction)
                shown = frame[adjusted <= LEVEL]["topic"]
                n_false = int((~shown.isin(true_labels)).sum())
                shares.append(n_false / max(1, len(shown)))
                found.append(len(shown) - n_false)
            power = "–" if n_true == 0 else f"{100 * np.mean(found) / (n_true * metrics):.0f}"
            name = f"{n_true} of 20 slices differ" + (", 4 metrics" if metrics > 1 else "")
            any_false = per_cent(int(np.count_nonzero(shares)), datasets)
            rows.append([name, correction, f"{100 * np.mean(shares):.1f}", any_false, power])
    heads = ("correction", "share of false findings", "any false finding", "found")
    return markdown(["in percent", *heads], rows)


TABLES: dict[str, Callable[[int, int], str]] = {
    "reversals": reversals,
    "discoveries": discoveries,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=list(TABLES), help="; ".join(TABLES))
    parser.add_argument("--datasets", type=int, default=400, help="data sets per cell")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.tables:
        print(f"\n{name}\n\n{TABLES[name](options.datasets, options.seed)}", flush=True)


if __name__ == "__main__":
    main()

"""Shuffled files have the same drawn limits and p-values, to the last bit."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.analysis.calibrate import calibrate

N, MANY = 80, {"n_resamples": 199, "seed": 5}


def table(seed, shift=0.0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "query_id": [f"q{place:03d}" for place in range(N)],
            "recall@5": rng.integers(0, 6, N) / 5,
            "faithfulness": np.clip(rng.normal(0.7 + shift, 0.1, N), 0, 1),
            "latency_ms": rng.lognormal(6 + shift, 1, N),
            "document": rng.choice(list("abcdefghijkl"), N),
        }
    )
    frame.loc[rng.choice(N, 5, replace=False), "faithfulness"] = np.nan
    return frame


TABLES = [table(seed, shift) for seed, shift in enumerate((0.0, 0.03, 0.05))]
# All pipelines agree on the document of a query.
for each in TABLES[1:]:
    each["document"] = TABLES[0]["document"]


def runs_of(order_seed=None):
    """The pipelines, the rows of each in an order of its own."""
    runs = []
    for place, (name, frame) in enumerate(zip("abc", TABLES, strict=True)):
        if order_seed is not None:
            frame = frame.sample(frac=1, random_state=10 * order_seed + place)
        runs.append(RAGPipelineEvaluation(name, frame))
    return runs


def drawn(frame, *names):
    return frame[[*names]].to_numpy(dtype=float).tolist()


LABELS = pd.Series(
    np.random.default_rng(2).integers(0, 2, 30).astype(float), [f"q{n:03d}" for n in range(30)]
)
CALLS = {
    "the mean latency": lambda runs: drawn(
        runs[0].evaluation_report(metrics=["latency_ms"], **MANY).frame, "ci_low", "ci_high"
    ),
    "signs at random": lambda runs: drawn(
        compare(*runs[:2], test="sign-flip-mc", **MANY).frame, "pvalue"
    ),
    "a bootstrap": lambda runs: drawn(
        compare(*runs[:2], test="bootstrap", **MANY).frame,
        *("pvalue", "ci_low", "ci_high"),
    ),
    "a bootstrap of clusters": lambda runs: drawn(
        compare(*runs[:2], test="bootstrap", clusters="document", **MANY).frame,
        *("pvalue", "ci_low", "ci_high"),
    ),
    "Westfall and Young": lambda runs: drawn(
        compare(*runs, correction="westfall-young", **MANY).frame, "pvalue_adjusted"
    ),
    "Westfall and Young, clusters": lambda runs: drawn(
        compare(*runs, correction="westfall-young", clusters="document", **MANY).frame,
        "pvalue_adjusted",
    ),
    "a ranking's means": lambda runs: drawn(
        rank(*runs, metrics=["latency_ms"], **MANY).frame, "ci_low", "ci_high"
    ),
    "a weighted score": lambda runs: drawn(
        rank(*runs, **MANY).weighted({"recall@5": 1, "faithfulness": 2}).frame,
        *("ci_low", "ci_high", "share_of_resamples"),
    ),
    "a weighted score of clusters": lambda runs: drawn(
        rank(*runs, clusters="document", **MANY).weighted({"recall@5": 1, "latency_ms": 1}).frame,
        *("ci_low", "ci_high", "share_of_resamples"),
    ),
    "a Pareto front": lambda runs: drawn(
        rank(*runs, **MANY).pareto({"quality": ["recall@5"], "time": "p95(latency_ms)"}).frame,
        *("probability_on_front", "quality_ci_low", "time_ci_low", "time_ci_high"),
    ),
    "agreement with people": lambda runs: drawn(
        calibrate(runs[0], "faithfulness", LABELS, threshold=0.7, **MANY)
        .frame.set_index("figure")
        .loc[["Krippendorff's alpha"]],
        *("ci_low", "ci_high"),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_shuffled_rows_draw_the_same(name):
    call = CALLS[name]
    expected = call(runs_of())
    for order_seed in range(3):
        assert repr(call(runs_of(order_seed))) == repr(expected)

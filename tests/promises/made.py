"""Scores made with seeds, which several modules of calls use."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from promises import DATA

import rageval_report as rr

NAN = float("nan")
Evaluation = rr.RAGPipelineEvaluation


def logistic(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


@cache
def samples() -> dict[str, np.ndarray]:
    """Scores of one pipeline, by kind."""
    rng = np.random.default_rng(1)
    return {
        "binary": (rng.random(40) < 0.7).astype(float),
        "nearly all right": np.repeat([1.0, 0.0], [59, 1]),
        "all right": np.ones(25),
        "fifths": rng.integers(0, 6, 50) / 5,
        "reciprocal ranks": 1 / rng.integers(1, 9, 60),
        "beta": rng.beta(8, 2, 80),
        "unscored": np.where(rng.random(30) < 0.2, NAN, rng.random(30)),
        "equal": np.full(12, 0.3),
        "one other": np.repeat([0.5, 0.9], [29, 1]),
        "five": np.array([0.2, 0.4, 0.5, 0.6, 0.9]),
        "one": np.array([0.4]),
        "many": rng.beta(2, 3, 3000),
        "ratings": rng.integers(1, 6, 35).astype(float),
        "latency": rng.lognormal(6, 0.4, 60),
        "tiny": rng.random(20) * 1e-12,
        "huge": rng.random(20) * 1e150,
        "none": np.array([NAN, NAN]),
    }


@cache
def pairs() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Baseline and candidate on the same queries, by kind."""
    rng = np.random.default_rng(2)
    ease = rng.normal(size=400)

    def pair(n: int, shift: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
        first, second = (logistic(ease[:n] + s + noise * rng.normal(size=n)) for s in (0, shift))
        return first, second

    first, second = pair(50, 0.2, 0.5)
    return {
        "binary": tuple((scores > 0.5) * 1.0 for scores in pair(60, 0.5, 1.0)),
        "rare": (np.repeat([1.0, 0.0], [78, 2]), np.repeat([1.0, 0.0, 1.0], [73, 5, 2])),
        "ratings": tuple(np.round(1 + 4 * scores) for scores in pair(45, 0.4, 0.7)),
        "fifths": tuple(np.round(5 * scores) / 5 for scores in pair(80, 0.2, 0.6)),
        "reciprocal ranks": tuple(1 / np.ceil(8 - 7 * scores) for scores in pair(70, -0.3, 0.6)),
        "continuous": (first, second),
        "ties": (np.full(60, 0.5), np.where(rng.random(60) < 0.7, 0.5, rng.random(60))),
        "latency": (400 * first + 100, 420 * second + 110),
        "unscored": (np.where(first < 0.2, NAN, first), np.where(second > 0.9, NAN, second)),
        "tiny": (first * 1e-12, second * 1e-12),
        "huge": (first * 1e150, second * 1e150),
        "identical": (first, first),
        "shifted": (np.arange(8) / 16, np.arange(8) / 16 + 0.25),
        "rounding": (first, first + 1e-14),
        "one large": (np.full(30, 0.5), np.repeat([0.52, 0.0], [29, 1])),
        "seven": (first[:7], second[:7]),
        "five": (first[:5], second[:5]),
        "one": (first[:1], second[:1]),
        "many": pair(400, 0.05, 0.5),
    }


@cache
def clustered() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two pipelines on 96 queries about 12 documents, on which the differences hang."""
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(12), [3, 5, 7, 9, 10, 8, 8, 6, 12, 4, 14, 10])
    first = 0.5 + rng.normal(0, 0.1, 12)[codes] + rng.normal(0, 0.05, 96)
    second = first + 0.03 + rng.normal(0, 0.08, 12)[codes] + rng.normal(0, 0.05, 96)
    return first, second, np.array([f"d{code:02d}" for code in codes])


@cache
def documented() -> tuple[Evaluation, ...]:
    """The same two as evaluations."""
    *sides, documents = clustered()
    rows = {"query_id": [f"q{i}" for i in range(96)], "document": documents, "topic": [*"abc"] * 32}
    names = zip(("old", "new"), sides, strict=True)
    return tuple(Evaluation(name, {**rows, "f1": f1.clip(0, 1)}) for name, f1 in names)


@cache
def pipelines() -> tuple[Evaluation, ...]:
    """Pipelines p0 to p4 with five metrics of several kinds on 60 queries, in any order, gaps."""
    rng = np.random.default_rng(4)
    ease = rng.normal(size=60)
    known = {"faithfulness": {}, "recall@5": {}, "exact_match": {}, "latency_ms": {}}
    rating = {"bounds": (1, 5), "kind": "ordinal", "greater_is_better": True}
    made = []
    for i in range(5):
        share = logistic(ease + 0.35 * i + rng.normal(size=60))
        rows = {
            "query_id": np.array([f"q{k:02d}" for k in range(60)]),
            "question": np.array([f"What is q{k:02d}?" for k in range(60)]),
            "answer": np.array([f"q{k:02d} by p{i}" for k in range(60)]),
            "topic": np.array(["law", "tax", "trade"] * 20),
            "document": np.array([f"d{k // 5}" for k in range(60)]),
            "faithfulness": np.where(rng.random(60) < 0.05, NAN, share.round(3)),
            "recall@5": (5 * share).round() / 5,
            "exact_match": (share > 0.5) * 1.0,
            "answer_rating": np.round(1 + 4 * share),
            "latency_ms": np.exp(6 + 0.1 * i + 0.5 * rng.normal(size=60)).round(1),
        }
        order = np.random.default_rng(i).permutation(60)
        shuffled = {name: column[order] for name, column in rows.items()}
        made.append(Evaluation(f"p{i}", shuffled, metrics={**known, "answer_rating": rating}))
    return tuple(made)


@cache
def demo() -> tuple[Evaluation, Evaluation]:
    """The two pipelines of the demonstration."""
    bm25, hybrid = (Evaluation.load(n, DATA / "demo" / f"{n}.csv") for n in ("bm25", "hybrid"))
    return bm25, hybrid


@cache
def few() -> tuple[Evaluation, ...]:
    """Two pipelines of four queries, too few for a test; and one that is hardly scored."""
    rows = {"query_id": [*"abcd"], "recall@5": np.array([0.5, 0.6, 0.2, 0.9])}
    better = {**rows, "recall@5": rows["recall@5"] + 0.05}
    gaps = {"faithfulness": [NAN] * 12, "recall@5": [1.0] * 10 + [NAN] * 2}
    unscored = Evaluation("unscored", {"query_id": [*"abcdefghijkl"], **gaps})
    return Evaluation("few", rows), Evaluation("better", better), unscored


@cache
def named() -> dict[str, Evaluation]:
    """All of them by name."""
    return {one.name: one for one in (*demo(), *pipelines(), *documented(), *few())}


def of(names: str) -> list[Evaluation]:
    """Those with these names."""
    return [named()[name] for name in names.split()]


def from_table(section: str, function: Callable[..., Any]) -> dict[str, Callable[[], Any]]:
    """The calls of a section of data/calls.toml."""
    entries = tomllib.loads((DATA / "calls.toml").read_text("utf-8"))[section]

    def call(of_: str, options: dict[str, Any]) -> Any:
        return function(*of(of_), **options)

    return {
        f"{section}_{name}": partial(call, options.pop("of"), options)
        for name, options in entries.items()
    }

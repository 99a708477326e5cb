"""Noise of runs and judges, histories, alarms, stopping early, experiments, judges and people."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from made import Evaluation, logistic, of
from promises import errors

import rageval_report as rr


@cache
def all_runs() -> list[Evaluation]:
    """Runs of one pipeline on 80 queries, day after day; from the fourth on it is worse."""
    rng = np.random.default_rng(11)
    ease, made = rng.normal(size=80), []
    for day in range(1, 7):
        share = logistic(ease + 0.8 - 0.9 * (day >= 4) + 0.4 * rng.normal(size=80))
        rows = {
            "query_id": [f"q{i}" for i in range(80)],
            "topic": ["law", "tax"] * 40,
            "answer": share.round(1).astype(str),
            "faithfulness": share,
            "exact_match": (share > 0.5) * 1.0,
        }
        config = {"judge_model": "small", "top_k": 5 + (day >= 4)}
        made.append(Evaluation(f"run {day}", rows, created=f"2026-08-0{day}", config=config))
    return made


def runs(n: int = 6) -> list[Evaluation]:
    return all_runs()[:n]


def variance() -> Any:
    """Three runs, each judged by two judges, of 30 queries."""
    rng = np.random.default_rng(12)
    query, run, made = rng.normal(0, 0.1, 30), rng.normal(0, 0.05, 3), []
    for r, bias in np.ndindex(3, 2):
        scores = 0.6 + query + run[r] + 0.08 * bias + rng.normal(0, 0.05, 30)
        rows = {"query_id": [f"q{i}" for i in range(30)], "rating": scores.clip(0, 1)}
        made.append(Evaluation("hybrid", rows))
    return rr.variance(*made, runs=[0, 0, 1, 1, 2, 2], judges=["a", "b"] * 3)


def people(n: int, metric: str = "exact_match") -> pd.Series:
    """Labels of people on the first n queries of a pipeline; they agree with it mostly."""
    judge = of("p0")[0].scores.sort_index()[metric].head(n)
    is_same = np.random.default_rng(13).random(n) < 0.85
    return judge.where(is_same, (1 if metric == "exact_match" else 6) - judge)


def calibrated(n: int = 40, metric: str = "exact_match") -> Any:
    return rr.calibrate(of("p0")[0], metric, people(n, metric), n_resamples=999)


def stopped(*rules: str, seed: int = 0) -> Any:
    """An evaluation that ends when a rule holds: every third answer but one is right."""
    ids = [f"q{n}" for n in range(120)]
    run = rr.evaluate(
        queries=[{"query_id": i, "question": f"Is {i} right?", "reference": "yes"} for i in ids],
        target=lambda question: "yes" if int(question.split()[1][1:]) % 3 < 2 else "no",
        metrics=["exact_match"],
        baseline=Evaluation("old", {"query_id": ids, "exact_match": [True, False, False] * 40}),
        stop_when=list(rules),
        seed=seed,
        progress=False,
    )
    return {"stopping": run.stopping, "ids": run.evaluation.scores.index}


def answer(question: str, top_k: int, exact: bool) -> dict[str, Any]:
    number = question.removeprefix("Number ").removesuffix("?")
    ranked = ["x", f"d{number}"] if int(number) % 2 else [f"d{number}", "x"]
    return {"answer": number if exact else f"{number}!", "retrieved": ranked[:top_k]}


@cache
def tried() -> Any:
    """Four combinations of two settings on twelve queries."""
    rows = {n: {"query_id": f"q{n}", "question": f"Number {n}?"} for n in range(12)}
    return rr.experiment(
        {"top_k": [1, 3], "exact": [False, True]},
        target=answer,
        queries=[{**row, "reference": str(n), "relevant": [f"d{n}"]} for n, row in rows.items()],
        metrics=["recall@5", "exact_match"],
        folder="experiment",
        progress=False,
    )


def summary() -> pd.DataFrame:
    return tried().summary().frame[["pipeline", "n", "n_failed", "recall@5", "exact_match"]]


CALLS: dict[str, Callable[[], Any]] = {
    "repeats": lambda: rr.repeats(*runs(3)),
    "stability": lambda: rr.repeats(*runs(3), metrics="exact_match").stability().frame.head(9),
    "variance_of_runs": lambda: rr.variance(*(run.with_name("a") for run in runs(3))),
    "variance_of_judges": variance,
    "variance_sources": lambda: variance().sources(),
    "history": lambda: rr.history(runs()),
    "history_baseline": lambda: rr.history(runs(4), baseline="run 2", metrics="exact_match"),
    "history_fixed": lambda: rr.history(runs(5), fixed=["top_k"], metrics="exact_match"),
    "history_changes": lambda: rr.history(runs(5), metrics="faithfulness").changes(),
    "monitor": lambda: rr.monitor(runs(), metrics=["exact_match"]),
    "monitor_tolerance": lambda: rr.monitor(runs(), metrics=["exact_match"], tolerance=0.4),
    "stop_when_better": lambda: stopped("better(exact_match)", "ci_high(exact_match) <= 0.2"),
    "stop_when_no_regression": lambda: stopped("no_regression(exact_match, margin=0.05)", seed=4),
    "stop_when_narrow": lambda: stopped("ci_width(exact_match) <= 0.3"),
    "stop_never": lambda: stopped("worse(exact_match)")["stopping"],
    "experiment": summary,
    "experiment_effects": lambda: tried().effects(),
    "experiment_rank": lambda: tried().rank(),
    "calibrate": calibrated,
    "calibrate_ratings": lambda: calibrated(45, "answer_rating"),
    "calibrate_few": lambda: calibrated(12),
    "calibrate_confusion": lambda: calibrated().confusion(),
    "calibrate_disagreements": lambda: calibrated().disagreements(),
    "bad_input": lambda: [
        errors(partial(rr.history, runs(3)), baseline="run 9", metrics="recal"),
        errors(partial(rr.monitor, runs(3)), alpha=2, metrics="recal"),
        errors(rr.monitor, runs(1)),
        errors(rr.repeats, runs(1)[0]),
        errors(partial(rr.variance, *runs(3)), runs=[1]),
        errors(partial(rr.calibrate, of("p0")[0], "exact_match"), people(3).rename("x{}".format)),
        errors(partial(rr.calibrate, of("p0")[0], people=people(9)), metric="recal"),
        errors(stopped, "faster(exact_match)"),
        errors(rr.read_gates, "nowhere.toml"),
    ],
}

"""Evaluations of frames and dicts, comparisons, rankings and gates: mostly data/calls.toml."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from made import NAN, Evaluation, from_table, of, pairs
from promises import errors, parsed, pick, refused

import rageval_report as rr

mpl.use("agg")

ROWS = {
    "query_id": ["q1", "q2", "q3", "q4", "q5"],
    "question": ["Who?", "What?", "Where?", "When?", "Why?"],
    "context_relevance": [1.0, 0.5, NAN, 0.25, 0.0],
    "faithfulness": [0.9, None, 0.7, 0.4, 1.0],
    "exact_match": [1, 0, 0, 1, 1],
    "latency_ms": [120.0, 300.0, 95.5, 410.0, 230.0],
}
REPEATED = {"query_id": ["a", "b", "a", "c"], "recall": [0.0, 0.5, 1.0, 1.0]}
GATE = "metric value ci_low ci_high threshold n n_unscored passed state".split()
METRICS = ["faithfulness", "recall@5", "exact_match", "answer_rating", "latency_ms"]


def new(data: Any = ROWS, **options: Any) -> Evaluation:
    return Evaluation("new", data, **options)


def ab(**columns: Any) -> Evaluation:
    return new({"query_id": ["a", "b"], **columns})


def numbers(call: Callable[..., Any]) -> Callable[..., Any]:
    """Which queries a table of queries lists, in which order, with their numbers."""
    return lambda *sides, **options: call(*sides, **options).select_dtypes("number")


def failures(evaluation: Evaluation, **options: Any) -> Any:
    return evaluation.failures(**options).frame.head(20)


def changed(way: str, *sides: Evaluation, **options: Any) -> Any:
    """How many queries changed, and the first of them."""
    queries = getattr(rr.compare(*sides), way)(**options)
    return [len(queries), queries.head(12)]


def outcomes(*sides: Evaluation, correct: list[Any] | None = None) -> Any:
    return sides[0].comparative_detailed_summary(sides[1], correct=correct and tuple(correct))


def slices(*sides: Evaluation, metrics: Any = None, **options: Any) -> Any:
    clusters = "document" if sides[0].name == "old" else None
    return rr.compare(*sides, metrics=metrics, clusters=clusters).slices(**options)


def gate(*sides: Evaluation, rules: list[str], clusters: str | None = None, **options: Any) -> Any:
    """What a gate found, rule by rule, and the exit codes of each way to treat undecided rules."""
    if sides[1:]:
        result = rr.compare(*sides, clusters=clusters).gate(*rules)
    else:
        result = sides[0].gate(*rules, clusters=clusters, **options)
    codes = {way: result.exit_code(way) for way in ("fail", "warn", "pass")}
    return {"rows": result.frame[GATE], "exit_code": codes, **pick(result, "passed state")}


def of_pair(kind: str) -> rr.Comparison:
    """Two pipelines with the scores of one of the made pairs."""
    largest = {"huge": 1e151, "latency": 1000.0}.get(kind, 5.0)
    known = {"quality": {"bounds": (0, largest), "kind": "real", "greater_is_better": True}}
    ids = [f"q{i}" for i in range(pairs()[kind][0].size)]
    rows = [{"query_id": ids, "quality": scores} for scores in pairs()[kind]]
    return rr.compare(*(Evaluation(name, rows.pop(0), metrics=known) for name in ("old", "new")))


def saved(name: str) -> Any:
    of("p0")[0].save(name, created="2026-03-01T09:00:00Z")
    return Evaluation.load(None, name)


def file(name: str) -> Any:
    of("bm25")[0].find_thresholds().save(name)
    return parsed(name)


def haystack_file() -> Any:
    new().detailed_report(output_format="csv", csv_file="haystack.csv")
    return parsed("haystack.csv")


def haystack_pair() -> Any:
    bm25, hybrid = of("bm25 hybrid")
    return bm25.comparative_detailed_report(hybrid, output_format="df").head(9)


def drawn(kind: str) -> Any:
    axes = of("bm25")[0].plot(kind)
    mpl.pyplot.close("all")
    return isinstance(axes, mpl.axes.Axes)


@cache
def ranking() -> rr.Ranking:
    return rr.rank(*of("p0 p1 p2 p3 p4"))


CALLS: dict[str, Callable[[], Any]] = {
    **from_table("report", Evaluation.evaluation_report),
    **from_table("thresholds", Evaluation.find_thresholds),
    **from_table("below", numbers(Evaluation.get_scores_below_threshold)),
    **from_table("failures", failures),
    **from_table("slices", Evaluation.slices),
    **from_table("compare", rr.compare),
    **from_table("outcomes", outcomes),
    **from_table("regressions", partial(changed, "regressions")),
    **from_table("improvements", partial(changed, "improvements")),
    **from_table("slices_of_pairs", slices),
    **from_table("rank", rr.rank),
    **from_table("weighted", lambda *sides, weights: rr.rank(*sides).weighted(weights)),
    **from_table("pareto", lambda *sides: rr.rank(*sides).pareto()),
    **from_table("gate", gate),
    **from_table("gate_pairs", gate),
    **{
        f"pair_{kind.replace(' ', '_')}": partial(of_pair, kind)
        for kind in pairs()
        if kind not in ("tiny", "unscored")
    },
    "of_dict": new,
    "of_rows": lambda: new(pd.DataFrame(ROWS).to_dict("records")),
    "of_frame": lambda: new(pd.DataFrame(ROWS)),
    "of_indexed_frame": lambda: new(pd.DataFrame(ROWS).set_index("query_id")),
    "of_polars": lambda: new(pl.from_pandas(pd.DataFrame(ROWS))),
    "of_arrow": lambda: new(pa.Table.from_pandas(pd.DataFrame(ROWS))),
    "of_own_id": lambda: new({"case": [7, 8], "recall": [0.5, 1]}, query_id="case"),
    "of_some_metrics": lambda: new(metrics=["faithfulness"]),
    "of_lower_metric": lambda: new(
        {"query_id": [*"abc"], "rmse": [0.1, 0.2, 3.0]},
        metrics={"rmse": {"greater_is_better": False, "bounds": (0, 5)}},
    ),
    "of_percent": lambda: new({"query_id": [*"abc"], "recall": ["10 %", "55.5%", ""]}),
    "of_repeats": lambda: new(REPEATED, duplicates="mean"),
    "correct_rule": lambda: dict(new(correct=("faithfulness", 0.7)).evaluation_report()),
    "states": lambda: new().states,
    "details": lambda: [of("bm25")[0].details.head(3), of("bm25")[0].n_queries],
    "data": lambda: new().data,
    "aggregated_scores": lambda: of("bm25")[0].get_aggregated_scores(),
    "aggregated_score": lambda: new().get_aggregated_scores("faithfulness"),
    "detailed_scores": lambda: new().get_detailed_scores(),
    "detailed_scores_of_ids": lambda: of("bm25")[0].get_detailed_scores(
        "recall@5", ["q010", "q003"]
    ),
    "breakdown": lambda: of("bm25")[0].breakdown(),
    "retrieval_by_generation": lambda: of("hybrid")[0].retrieval_by_generation(),
    "haystack_aggregated": lambda: new().aggregated_report(),
    "haystack_aggregated_frame": lambda: new().aggregated_report(output_format="df"),
    "haystack_detailed": lambda: new().detailed_report(),
    "haystack_detailed_frame": lambda: new().detailed_report(output_format="df"),
    "haystack_file": haystack_file,
    "haystack_pair": haystack_pair,
    **{f"saved_{kind}": partial(saved, f"saved.{kind}") for kind in ("json", "csv", "parquet")},
    "saved_columns": lambda: [saved("columns.csv").n_queries, parsed("columns.csv").head(3)],
    "result_csv": lambda: file("thresholds.csv"),
    "result_json": lambda: file("thresholds.json")["rows"],
    **{f"plot_{kind}": partial(drawn, kind) for kind in ("distribution", "box")},
    "differences": lambda: rr.compare(*of("p0 p1")).differences("faithfulness"),
    "rank_groups": lambda: [[ranking().groups(m), ranking().best(m)] for m in METRICS],
    "rank_pairs": lambda: ranking().pairs,
    "gate_raises": lambda: of("bm25")[0].gate("mean(recall@5) >= 0.99").check(),
    "bad_data": lambda: [
        errors(new, {"recall": [0.1]}, REPEATED, {"query_id": [], "recall": []}, 5),
        errors(ab, recall=[np.inf, 0.1], f1=[1.5, 0.1], mrr=[0.1], question=["x", "y"]),
        errors(new, query_id="nope", metrics=["recal"], correct="recal", duplicates="first"),
        errors(partial(Evaluation, data=ROWS), ""),
        errors(partial(Evaluation.load, None), "nowhere.csv", "nowhere/"),
        refused(lambda: [new().save("twice.json"), new().save("twice.json")]),
    ],
    "bad_questions": lambda: [
        errors(new().get_detailed_scores, "recall", query_ids=["q1", "q9"]),
        errors(new().get_aggregated_scores, "faithfulnes"),
        errors(new().aggregated_report, output_format="xml"),
        errors(new().plot, "pie"),
        errors(new().save, "scores.docx"),
        errors(new().comparative_summary, 3),
        errors(rr.compare, [new()], 3),
        errors(ranking().best, "recal"),
    ],
}

"""Random tables, their files, the questions asked of them, and what makes answers equal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.errors import DataError
from rageval_report.results import Result

# Makes a lazy frame of an engine of a table.
Engine: TypeAlias = Callable[[pd.DataFrame, Path], Any]


def polars_frame(table: pd.DataFrame, _: Path) -> Any:
    """A lazy frame of Polars."""
    return pytest.importorskip("polars").from_pandas(table).lazy()


def dask_frame(table: pd.DataFrame, _: Path) -> Any:
    """A frame of Dask, in two parts."""
    dask = pytest.importorskip("dask.dataframe")
    return dask.from_pandas(table.reset_index(drop=True), npartitions=2)


def ibis_table(table: pd.DataFrame, folder: Path) -> Any:
    """A table of Ibis over DuckDB."""
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    table.to_parquet(path)
    return pytest.importorskip("ibis").read_parquet(path)


# The scores of n queries, by metric.
KINDS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "exact_match": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "recall@5": lambda rng, n: rng.integers(0, 6, n) / 5,
    "rating": lambda rng, n: rng.integers(1, 6, n).astype(float),
    "mrr": lambda rng, n: 1 / rng.integers(1, 11, n),
    "latency_ms": lambda rng, n: rng.gamma(2, 300, n).round(3) + 1,
    "faithfulness": lambda rng, n: rng.random(n),
    "semantic_answer_similarity": lambda rng, n: rng.uniform(-0.2, 1, n),
    "hallucinated_answer": lambda rng, n: rng.choice([0.0, 1.0, np.nan, np.nan], n),
}


def random_table(
    rng: np.random.Generator,
    *,
    n: int = 40,
    kinds: Iterable[str] = KINDS,
    gaps: float = 0.0,
    like: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Scores of queries in any order; half of them those of another table, if there is one."""
    ids = [f"q{i}" for i in rng.permutation(n)]
    table = pd.DataFrame({"query_id": ids})
    for kind in kinds:
        scores = KINDS[kind](rng, n)
        if like is not None:
            known = like.set_index("query_id")[kind].reindex(ids).to_numpy(float)
            scores = np.where((rng.random(n) < 0.5) & ~np.isnan(known), known, scores)
        scores[rng.random(n) < gaps] = np.nan
        table[kind] = scores
        if gaps and rng.random() < 0.3:
            is_blank, states = np.isnan(scores), ["failed", "not applicable", "missing"]
            table[f"{kind}_state"] = np.where(is_blank, rng.choice(states, n), "scored")
            table[f"{kind}_reason"] = np.where(is_blank, "timeout", None)
    numbers = np.array([int(query_id[1:]) for query_id in ids])
    topics, documents = np.array(["law", "tax", "trade", None]), [f"d{i // 2}" for i in numbers]
    return table.assign(topic=topics[numbers % 4], document=documents)


def save_and_scan(
    tables: Mapping[str, pd.DataFrame], folder: Path, suffix: str = "parquet"
) -> tuple[list[RAGPipelineEvaluation], list[Any]]:
    """The tables in memory, and scans of their files."""
    runs, scans = [], []
    for name, table in tables.items():
        path = folder / f"{name}.{suffix}"
        if suffix == "csv":
            table.to_csv(path, index=False)
        else:
            table.to_parquet(path)
        runs.append(RAGPipelineEvaluation.load(name, path))
        scans.append(RAGPipelineEvaluation.scan(path, name=name))
    return runs, scans


def as_frame(run: RAGPipelineEvaluation) -> pd.DataFrame:
    """The rows of an evaluation."""
    return pd.concat([run.scores, run.details], axis=1).reset_index()


def assert_equal(scanned: pd.DataFrame, in_memory: pd.DataFrame) -> None:
    """That two tables hold the same numbers to nine digits, and the same texts."""
    left, right = (_with_texts_alike(pd.DataFrame(each)) for each in (scanned, in_memory))
    pd.testing.assert_frame_equal(
        left, right, rtol=1e-9, atol=1e-11, check_dtype=False, check_index_type=False
    )


def _with_texts_alike(table: pd.DataFrame) -> pd.DataFrame:
    """The table with one value for a missing text."""
    texts = [n for n in table if table[n].dtype.kind not in "fiub" or table[n].isna().all()]
    blank = {name: table[name].astype(object).where(table[name].notna(), None) for name in texts}
    return table.assign(**blank)


def assert_same(scanned: Result, in_memory: Result) -> None:
    """That two results have the same table and the same notes."""
    assert_equal(scanned.frame, in_memory.frame)
    assert sorted(scanned.notes) == sorted(in_memory.notes)


# -- random questions


def _changed(*sides: Any, metric: str, missing: str, clusters: str | None) -> pd.DataFrame:
    changed = compare(*sides[:2], missing=missing, clusters=clusters).regressions(metric)
    sizes = changed.assign(size=-changed["difference"].abs()).reset_index()
    return sizes.sort_values(["size", "query_id"]).set_index("query_id").drop(columns="size")


def _failures(one: Any, *_: Any, metric: str, **__: Any) -> pd.DataFrame:
    return one.failures(metric, "median").frame.sort_index()


def _gated(one: Any, *_: Any, metric: str, missing: str, clusters: str | None) -> Any:
    del clusters  # which gates of scans do not take
    rules = [
        *(f"mean({metric}) >= 0.9", f"p90({metric}) <= 0.4", f"unscored({metric}) <= 0.01"),
        *(f"share_below({metric}, 0.5) <= 0.1", f"ci_low({metric}) >= 0.5", f"n({metric}) > 99"),
        *(["correct >= 0.99"] if "exact_match" in one.metrics else []),
    ]
    return one.gate(*rules, missing="worst" if missing == "worst" else "drop")


QUESTIONS: dict[str, Callable[..., Any]] = {
    "report": lambda one, *_, metric, missing, clusters: one.evaluation_report(clusters=clusters),
    "compare": lambda *sides, metric, **options: compare(*sides, **options),
    "rank": lambda *sides, metric, **options: rank(*sides, **options),
    "slices": lambda one, *_, metric, missing, clusters: one.slices("topic", clusters=clusters),
    "slices of a comparison": lambda *sides, metric, **options: compare(
        *sides[:2], **options
    ).slices("topic"),
    "gate": _gated,
    "gate of a comparison": lambda *sides, metric, **options: compare(*sides[:2], **options).gate(
        f"losses({metric}) <= 2", f"no_regression({metric}, margin=0.2)"
    ),
    "thresholds": lambda one, *_, **__: one.find_thresholds(),
    "failures": _failures,
    "changed queries": _changed,
    "pairs": lambda *sides, metric, **options: rank(*sides, **options).pairs,
}


def check_random_table(seed: int, folder: Path, engine: Engine | None = None) -> str:
    """Ask three random tables one question in memory and as scans: equal, or an equal error.

    Without an engine they are files that DuckDB reads. Gives the question.
    """
    rng = np.random.default_rng(seed)
    question = list(QUESTIONS)[seed % len(QUESTIONS)]
    kinds = [str(kind) for kind in rng.choice([*KINDS], int(rng.integers(1, 4)), replace=False)]
    options: dict[str, Any] = {"n": int(rng.integers(2, 41)), "kinds": kinds}
    options["gaps"] = float(rng.choice([0.0, 0.1, 0.5]))
    first = random_table(rng, **options)
    others = [random_table(rng, **options, like=first).iloc[rng.integers(0, 2) :] for _ in "bc"]
    names = [str(name) for name in rng.permutation(["a", "b", "c"])]
    tables = dict(zip(names, [first, *others], strict=True))
    asked: dict[str, Any] = {"metric": kinds[0], "missing": str(rng.choice(["drop", "worst"]))}
    asked["clusters"] = "document" if rng.random() < 0.5 else None
    suffix = str(rng.choice(["parquet", "csv"])) if engine is None else "parquet"
    runs, scans = save_and_scan(tables, folder, suffix)
    if engine is not None:
        makes = [(name, engine(table, folder)) for name, table in tables.items()]
        scans = [RAGPipelineEvaluation.scan(frame, name=name) for name, frame in makes]
    answers = [_answer(QUESTIONS[question], sides, asked) for sides in (runs, scans)]
    if isinstance(answers[0], str) or isinstance(answers[1], str):
        assert answers[0] == answers[1]
    elif isinstance(answers[0], Result):
        assert_same(answers[1], answers[0])
    else:
        assert_equal(answers[1], answers[0])
    return question


def _answer(question: Callable[..., Any], sides: Sequence[Any], asked: dict[str, Any]) -> Any:
    try:
        return question(*sides, **asked)
    except DataError as exc:
        return type(exc).__name__

"""Scans of one pipeline: equal to the same evaluation in memory, which is the second witness."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.gate import failing_queries
from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.scale import counted, tables
from rageval_report.scale.scan import EvaluationScan

pytest.importorskip("duckdb")

KINDS = {
    "exact_match": lambda rng, n: rng.integers(0, 2, n),
    "recall@5": lambda rng, n: rng.integers(0, 6, n) / 5,
    "rating": lambda rng, n: rng.integers(1, 6, n),
    "mrr": lambda rng, n: 1 / rng.integers(1, 11, n),
    "latency_ms": lambda rng, n: rng.lognormal(5, 1, n),
    "semantic_answer_similarity": lambda rng, n: rng.uniform(-0.2, 1, n),
    "hallucinated_answer": lambda rng, n: np.where(
        rng.random(n) < 0.7, np.nan, rng.integers(0, 2, n)
    ),
}


def random_table(seed: int) -> pd.DataFrame:
    """A small table: metrics of several kinds, gaps with and without reasons, ids in any order."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 60))
    columns: dict[str, Any] = {"query_id": [f"q{i}" for i in rng.permutation(n)]}
    for name in rng.choice(list(KINDS), 4, replace=False):
        scores = np.asarray(KINDS[name](rng, n), dtype=np.float64)
        scores[rng.random(n) < rng.choice([0.0, 0.1, 0.5])] = np.nan
        columns[name] = scores
        if rng.random() < 0.4:
            states = rng.choice(["failed", "not applicable", "missing"], n)
            columns[f"{name}_state"] = np.where(np.isnan(scores), states, "scored")
            columns[f"{name}_reason"] = np.where(np.isnan(scores), "timeout", None)
    groups = rng.choice(["a", "b", "c"], n)
    columns["topic"] = [None if rng.random() < 0.1 else group for group in groups]
    columns["question"] = [f"What is {i}?" for i in range(n)]
    return pd.DataFrame(columns)


def write(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return path


def both(frame: pd.DataFrame, path: Path) -> tuple[RAGPipelineEvaluation, EvaluationScan]:
    """The evaluation in memory and the scan of one file."""
    write(frame, path)
    return RAGPipelineEvaluation.load(None, path), RAGPipelineEvaluation.scan(path)


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with missing texts alike, ordered by id if it has rows of queries."""
    texts = [
        name for name in frame if frame[name].dtype.kind not in "fiub" or frame[name].isna().all()
    ]
    frame = frame.assign(**{name: frame[name].astype(object).fillna("-") for name in texts})
    frame.index = frame.index.astype(object)
    return frame.sort_index() if frame.index.name else frame


def assert_same(memory: Result, scan: Result, rtol: float = 1e-12) -> None:
    """The same table, notes and settings; only the engine is added."""
    assert memory.title == scan.title
    pd.testing.assert_frame_equal(
        plain(memory.frame), plain(scan.frame), check_dtype=False, rtol=rtol, atol=1e-12
    )
    assert sorted(memory.notes) == sorted(n for n in scan.notes if "65,536 cells" not in n)
    settings = dict(scan.settings)
    settings.pop("engine", None)
    assert dict(memory.settings) == settings


def rules_of(name: str) -> list[str]:
    return [
        *(f"mean({name}) >= 0.9", f"p90({name}) <= 0.4", f"unscored({name}) <= 0.01"),
        *(f"share_below({name}, 0.5) <= 0.1", f"ci_low({name}) >= 0.5", f"n({name}) > 10000"),
    ]


@pytest.mark.parametrize("seed", range(8))
def test_a_scan_gives_the_numbers_of_memory(seed: int, tmp_path: Path) -> None:
    suffix = (".parquet", ".csv")[seed % 2]
    memory, scan = both(random_table(seed), tmp_path / f"run{suffix}")
    name = next(iter(memory.metrics))
    assert scan.metrics == memory.metrics
    assert scan.n_queries == memory.n_queries
    assert_same(memory.evaluation_report(), scan.evaluation_report())
    assert_same(memory.find_thresholds(), scan.find_thresholds())
    assert_same(memory.slices("topic"), scan.slices("topic"))
    assert_same(memory.failures(name, "p25"), scan.failures(name, "p25"))
    pd.testing.assert_series_equal(memory.get_aggregated_scores(), scan.get_aggregated_scores())
    for missing in ("drop", "worst"):
        rules = [*rules_of(name), *(["correct >= 0.99"] if "exact_match" in memory.metrics else [])]
        try:
            ours = memory.gate(*rules, missing=missing)
        except DataError as exc:
            with pytest.raises(DataError, match=re.escape(str(exc))):
                scan.gate(*rules, missing=missing)
        else:
            theirs = scan.gate(*rules, missing=missing)
            assert_same(ours, theirs)
            for one, other in zip(ours.outcomes, theirs.outcomes, strict=True):
                behind, found = failing_queries(one), failing_queries(other)
                assert (behind is None) == (found is None)
                if behind is not None and found is not None:
                    assert_same(behind, found)


@pytest.mark.parametrize("seed", range(4))
def test_a_large_table_is_described_by_all_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if 60 rows were too many: the first five are read, the scores counted in cells.
    monkeypatch.setattr(tables, "MOST_HEAD", 5)
    monkeypatch.setattr(counted, "MOST_LISTED_ROWS", 0)
    frame = random_table(seed + 50)
    memory, scan = both(frame, tmp_path / "run.parquet")
    assert scan.metrics == memory.metrics
    assert_same(memory.find_thresholds(), scan.find_thresholds())
    ours, theirs = memory.evaluation_report().frame, scan.evaluation_report().frame
    # Limits lie within the grid; all other numbers, percentiles too, are exact.
    numbers = [name for name in ours if ours[name].dtype.kind in "fi"]
    exact = [name for name in numbers if not name.startswith("ci_")]
    np.testing.assert_allclose(theirs[exact], ours[exact], rtol=1e-12)
    np.testing.assert_allclose(theirs[numbers], ours[numbers], rtol=1e-4)


def test_continuous_scores_beyond_the_cells_have_exact_means_and_percentiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "MOST_LISTED_ROWS", 0)
    rng = np.random.default_rng(7)
    latency = rng.lognormal(5.0, 1.0, 20_000)
    frame = pd.DataFrame({"query_id": [f"q{i}" for i in range(20_000)], "latency_ms": latency})
    scan = RAGPipelineEvaluation.scan(write(frame, tmp_path / "run.parquet"))
    row = scan.evaluation_report().frame.iloc[0]
    # NumPy sees all of the scores.
    assert row["mean"] == pytest.approx(latency.mean(), rel=1e-12)
    assert row["std"] == pytest.approx(latency.std(ddof=1), rel=1e-12)
    assert row["p50"] == np.percentile(latency, 50)
    assert (row["min"], row["max"]) == (latency.min(), latency.max())
    assert any("65,536 cells" in note for note in scan.evaluation_report().notes)


def test_causes_of_failures_are_counted(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "query_id": [f"q{i}" for i in range(80)],
            "recall@5": rng.choice([0.0, 0.5, 1.0, np.nan], 80),
            "exact_match": rng.choice([0.0, 1.0, np.nan], 80),
            "hallucinated_answer": rng.choice([0.0, 1.0, np.nan, np.nan], 80),
        }
    )
    memory, scan = both(frame, tmp_path / "run.parquet")
    assert_same(memory.breakdown(k=5), scan.breakdown(k=5))
    failures = [run.failures("exact_match", 1, cause="retrieval") for run in (memory, scan)]
    assert_same(*failures)
    assert len(failures[1].frame)
    assert scan.evaluation_report().counts == memory.evaluation_report().counts


@pytest.mark.parametrize(
    "correct", [("recall@5", 0.5), "exact_match", {"recall@5": 0.5, "latency_ms": 200}, "label"]
)
def test_rules_for_a_correct_answer_are_counted(correct: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "query_id": [f"q{i}" for i in range(60)],
            "recall@5": rng.choice([0.0, 0.5, 1.0, np.nan], 60),
            "exact_match": rng.choice([0.0, 1.0], 60),
            "latency_ms": rng.lognormal(5, 1, 60),
            "label": rng.choice(["yes", "no", None], 60),
        }
    )
    path = write(frame, tmp_path / "run.parquet")
    memory = RAGPipelineEvaluation.load(None, path, correct=correct)
    scan = RAGPipelineEvaluation.scan(path, correct=correct)
    assert_same(memory.evaluation_report(), scan.evaluation_report())


def test_the_worst_rows_come_first_and_all_are_written(tmp_path: Path) -> None:
    frame = pd.DataFrame({"query_id": [f"q{i}" for i in range(30)], "recall@5": [0.5, 0, 1] * 10})
    scan = RAGPipelineEvaluation.scan(write(frame, tmp_path / "run.parquet"))
    file = tmp_path / "worst.parquet"
    failures = scan.failures("recall@5", 0.8, k=3, path=file)
    assert failures.frame["recall@5"].tolist() == [0.0] * 3
    assert failures.notes[0].startswith("20 of 30 scored queries")
    assert len(pd.read_parquet(file)) == 20


def test_what_needs_every_score_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = random_table(1).assign(document=lambda f: f.index // 2)
    memory, scan = both(frame, tmp_path / "run.parquet")
    by_function = RAGPipelineEvaluation.scan(
        tmp_path / "run.parquet", correct=lambda rows: rows["question"].notna()
    )
    calls = [
        lambda: scan.plot("strip"),
        lambda: scan.scores,
        lambda: scan.judges_agreement(),
        lambda: by_function.gate("correct > 0.5"),
    ]
    ours, theirs = (run.detailed_report("df").set_index("query_id") for run in (memory, scan))
    pd.testing.assert_frame_equal(plain(ours), plain(theirs)[[*ours]], check_dtype=False)
    monkeypatch.setattr("rageval_report.scale.scan.MOST_FETCHED", 5)
    calls += [lambda: scan.detailed_report(), lambda: scan.gate("n() > 1", clusters="document")]
    for call in calls:
        with pytest.raises(DataError, match=r"scan\.collect\(\)|correct"):
            call()
    with pytest.raises(AttributeError):
        scan.no_such_method()


def test_a_page_and_pictures(tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure")
    frame = random_table(2)
    memory, scan = both(frame, tmp_path / "run.parquet")
    page, own = scan.report(pictures=False), memory.report(pictures=False)
    assert [verdict.text for verdict in page.verdicts] == [verdict.text for verdict in own.verdicts]
    assert len(page.queries.ids) == len(frame)
    assert "What is 3?" in page.to_html()
    name = next(iter(scan.metrics))
    for kind in ("distribution", "box"):
        ours, theirs = (
            run.plot(kind, name, ax=figure.Figure().subplots()) for run in (memory, scan)
        )
        assert ours.get_title() == theirs.get_title()
        assert len(ours.patches) == len(theirs.patches)


def test_a_page_of_many_queries_lists_the_worst(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rageval_report.reports.report.MOST_LISTED_QUERIES", 3)
    frame = pd.DataFrame({"query_id": [f"q{i}" for i in range(9)], "recall@5": np.arange(9) / 8})
    scan = RAGPipelineEvaluation.scan(write(frame, tmp_path / "run.parquet"))
    page = scan.report(pictures=False)
    assert sorted(page.queries.ids) == ["q0", "q1", "q2"]
    assert page.some_queries.startswith("The page shows 3 of 9 queries")

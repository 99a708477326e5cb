"""Scans of one pipeline: equal to the same evaluation in memory, which is the second witness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scale_tables import assert_same, random_table, save_and_scan

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError
from rageval_report.scale import counted, tables
from rageval_report.scale.scan import EvaluationScan

pytest.importorskip("duckdb")


def both(table: pd.DataFrame, folder: Path) -> tuple[RAGPipelineEvaluation, EvaluationScan]:
    """The evaluation in memory, and the scan of a file."""
    [memory], [scan] = save_and_scan({"run": table}, folder)
    return memory, scan


@pytest.mark.parametrize("seed", range(4))
def test_a_large_table_is_described_by_all_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if 60 rows were too many: the first five are read, the scores counted in cells.
    monkeypatch.setattr(tables, "MOST_HEAD", 5)
    monkeypatch.setattr(counted, "MOST_LISTED_ROWS", 0)
    memory, scan = both(random_table(np.random.default_rng(seed), gaps=0.3), tmp_path)
    assert scan.metrics == memory.metrics
    assert_same(scan.find_thresholds(), memory.find_thresholds())
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
    _, scan = both(frame, tmp_path)
    row = scan.evaluation_report().frame.iloc[0]
    # NumPy sees all of the scores.
    assert row["mean"] == pytest.approx(latency.mean(), rel=1e-12)
    assert row["std"] == pytest.approx(latency.std(ddof=1), rel=1e-12)
    assert row["p50"] == np.percentile(latency, 50)
    assert (row["min"], row["max"]) == (latency.min(), latency.max())
    assert any("65,536 cells" in note for note in scan.evaluation_report().notes)


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
    frame.to_parquet(path := tmp_path / "run.parquet")
    memory = RAGPipelineEvaluation.load(None, path, correct=correct)
    scan = RAGPipelineEvaluation.scan(path, correct=correct)
    assert_same(memory.evaluation_report(), scan.evaluation_report())


def test_the_worst_rows_come_first(tmp_path: Path) -> None:
    frame = pd.DataFrame({"query_id": [f"q{i}" for i in range(30)], "recall@5": [0.5, 0, 1] * 10})
    scan = both(frame, tmp_path)[1]
    failures = scan.failures("recall@5", 0.8, k=3)
    assert failures.frame["recall@5"].tolist() == [0.0] * 3
    assert failures.notes[0].startswith("20 of 30 scored queries")


def test_what_needs_every_score_says_so(tmp_path: Path) -> None:
    scan = both(random_table(np.random.default_rng(1)).assign(question="Why?"), tmp_path)[1]
    by_function = RAGPipelineEvaluation.scan(
        tmp_path / "run.parquet", correct=lambda rows: rows["question"].notna()
    )
    calls = [
        lambda: scan.plot("strip"),
        lambda: scan.scores,
        lambda: scan.breakdown(),
        lambda: scan.comparative_detailed_summary(scan),
        lambda: scan.detailed_report(),
        lambda: scan.gate("n(recall@5) > 1", clusters="document"),
        lambda: by_function.gate("correct > 0.5"),
    ]
    for call in calls:
        with pytest.raises(DataError, match=r"scan\.collect\(\)|correct"):
            call()
    with pytest.raises(AttributeError):
        scan.no_such_method()


def test_a_page_and_pictures(tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure")
    frame = random_table(np.random.default_rng(2))
    frame["question"] = [f"What is {i}?" for i in range(len(frame))]
    memory, scan = both(frame, tmp_path)
    page, own = scan.report(pictures=False), memory.report(pictures=False)
    texts = [verdict.text for verdict in own.verdicts if "failures are" not in verdict.text]
    assert [verdict.text for verdict in page.verdicts] == texts  # without causes
    assert len(page.queries.ids) == len(frame)
    assert "What is 3?" in page.to_html()
    name = next(iter(scan.metrics))
    ours, theirs = (
        run.plot("distribution", name, ax=figure.Figure().subplots()) for run in (memory, scan)
    )
    assert ours.get_title() == theirs.get_title()
    assert len(ours.patches) == len(theirs.patches)


def test_a_page_of_many_queries_lists_the_worst(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rageval_report.reports.report.MOST_LISTED_QUERIES", 3)
    frame = pd.DataFrame({"query_id": [f"q{i}" for i in range(9)], "recall@5": np.arange(9) / 8})
    scan = both(frame, tmp_path)[1]
    page = scan.report(pictures=False)
    assert sorted(page.queries.ids) == ["q0", "q1", "q2"]
    assert page.some_queries.startswith("The page shows 3 of 9 queries")

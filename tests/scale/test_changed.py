"""The queries behind a comparison of scans: the first of them, and all in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scale_tables import assert_equal, random_table, save_and_scan

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import DataError


@pytest.fixture
def scans(tmp_path: Path) -> list[RAGPipelineEvaluation]:
    """Two scans of the same queries."""
    rng = np.random.default_rng(1)
    first = random_table(rng, n=50, kinds=["exact_match", "latency_ms"])
    second = random_table(rng, n=50, kinds=["exact_match", "latency_ms"], like=first)
    return save_and_scan({"old": first, "new": second.iloc[3:]}, tmp_path)[1]


def test_the_largest_changes_come_first_and_all_are_in_the_file(
    scans: list[RAGPipelineEvaluation], tmp_path: Path
) -> None:
    path = tmp_path / "changes.parquet"
    comparison = compare(*scans)
    changed = comparison.regressions("latency_ms", k=3, path=path)
    every = pd.read_parquet(path)
    assert changed["difference"].tolist() == sorted(every["difference"], reverse=True)[:3]
    assert (every["difference"] > 0).all()  # a longer latency is worse
    losses = int(comparison.frame.set_index("metric")["losses"]["latency_ms"])
    assert changed.attrs["n"] == len(every) == losses
    assert not [name for name in tmp_path.iterdir() if name.name.startswith(".")]


def test_a_file_of_another_kind_is_refused_and_an_old_one_is_kept(
    scans: list[RAGPipelineEvaluation], tmp_path: Path
) -> None:
    path = tmp_path / "changes.xlsx"
    path.write_text("kept")
    with pytest.raises(DataError, match=r"path must be a \.parquet, \.csv"):
        compare(*scans).improvements("exact_match", path=path)
    assert path.read_text() == "kept"


def test_details_that_differ_are_shown_of_both(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"query_id": ["a", "b"], "recall": [1.0, 0.5], "question": ["x", "y"], "answer": ["1", "2"]}
    )
    other = table.assign(recall=[0.5, 0.5], answer=["3", "2"])
    runs, scans = save_and_scan({"old": table, "new": other}, tmp_path)
    changed = compare(*scans).regressions("recall")
    assert_equal(changed, compare(*runs).regressions("recall"))
    assert changed.loc["a", ["question", "old_answer", "new_answer"]].tolist() == ["x", "1", "3"]


def test_outcomes_are_those_of_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    first = random_table(rng, n=60, kinds=["exact_match", "recall@5"], gaps=0.1)
    second = random_table(rng, n=60, kinds=["exact_match", "recall@5"], like=first, gaps=0.1)
    (old, new), (scan, other) = save_and_scan({"old": first, "new": second.iloc[2:]}, tmp_path)
    path = tmp_path / "outcomes.parquet"
    for correct in (None, ("recall@5", 0.6)):
        in_memory = old.comparative_detailed_summary(new, correct)
        scanned = scan.comparative_detailed_summary(other, correct, path=path)
        assert scanned.attrs["n"] == in_memory.attrs["n"]
        assert scanned.attrs["notes"] == in_memory.attrs["notes"]
        for name in in_memory:
            assert scanned[name].dropna().tolist() == sorted(in_memory[name].dropna())
        counted = pd.read_parquet(path)["outcome"].value_counts()
        assert counted["both_correct"] == in_memory.attrs["n"]["both_correct"]

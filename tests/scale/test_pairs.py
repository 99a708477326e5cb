"""Comparisons, rankings and histories of scans: what random questions do not ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scale_tables import assert_equal, assert_same, random_table, save_and_scan

from rageval_report import compare, history, rank
from rageval_report.errors import AlignmentError, DataError, UnknownNameError

pytest.importorskip("duckdb")


def several(seed: int, folder: Path, *names: str, **options: Any) -> tuple[list[Any], list[Any]]:
    """Pipelines in memory, and scans of their files; each shares scores with the first."""
    rng = np.random.default_rng(seed)
    first = random_table(rng, **options)
    others = {name: random_table(rng, **options, like=first) for name in names[1:]}
    return save_and_scan({names[0]: first, **others}, folder)


# -- the queries behind a comparison


def test_the_largest_changes_come_first(tmp_path: Path) -> None:
    _, scans = several(1, tmp_path, "old", "new", n=50, kinds=["latency_ms"])
    comparison = compare(*scans)
    every = comparison.regressions("latency_ms")["difference"]
    changed = comparison.regressions("latency_ms", k=3)
    assert changed["difference"].tolist() == every.tolist()[:3]
    assert every.tolist() == sorted(every, reverse=True)  # a longer latency is worse
    losses = int(comparison.frame.set_index("metric")["losses"]["latency_ms"])
    assert changed.attrs["n"] == len(every) == losses


def test_details_that_differ_are_shown_of_both(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"query_id": ["a", "b"], "recall": [1.0, 0.5], "question": ["x", "y"], "answer": ["1", "2"]}
    )
    other = table.assign(recall=[0.5, 0.5], answer=["3", "2"])
    runs, scans = save_and_scan({"old": table, "new": other}, tmp_path)
    changed = compare(*scans).regressions("recall")
    assert_equal(changed, compare(*runs).regressions("recall"))
    assert changed.loc["a", ["question", "old_answer", "new_answer"]].tolist() == ["x", "1", "3"]


# -- comparisons


def test_scans_and_evaluations_are_compared_with_each_other(tmp_path: Path) -> None:
    runs, scans = several(4, tmp_path, "old", "new", n=40, kinds=["recall@5", "mrr"])
    expected = compare(*runs)
    assert_same(compare(scans[0], runs[1]), expected)
    assert_same(compare(runs[0], scans[1]), expected)
    assert expected.settings | {"engine": "duckdb"} == compare(*scans).settings


def test_not_applicable_is_not_unscored(tmp_path: Path) -> None:
    states = ["scored"] * 8 + ["not applicable", "not applicable", "missing", "failed"]
    scores = [0.0, 1, 0, 1, 1, 0, 1, 1, *[None] * 4]
    table = pd.DataFrame(
        {"query_id": [f"q{i}" for i in range(12)], "recall": scores, "recall_state": states}
    )
    other = table.assign(recall=[1.0] * 8 + [None, None, 1.0, None])
    runs, scans = save_and_scan({"old": table, "new": other}, tmp_path)
    for missing in ("drop", "worst"):
        assert_same(compare(*scans, missing=missing), compare(*runs, missing=missing))
    assert "does not apply to 2 of 12 common queries" in " ".join(compare(*scans).notes)


def test_every_query_needs_a_cluster(tmp_path: Path) -> None:
    _, scans = several(6, tmp_path, "old", "new", n=40, kinds=["recall@5"])
    with pytest.raises(DataError, match=r"clusters must have a label for every query; 'q11'"):
        compare(*scans, clusters="topic")  # which every fourth query lacks


def test_a_fine_metric_of_many_rows_is_counted_in_cells(tmp_path: Path) -> None:
    # Witness: pandas 3 for the mean, the standard deviation and the counts of all 70,000 scores.
    rng = np.random.default_rng(1)
    ids = [f"q{i}" for i in range(70_000)]
    before = pd.DataFrame({"query_id": ids, "faithfulness": rng.random(len(ids))})
    after = before.assign(faithfulness=rng.random(len(ids)))
    runs, scans = save_and_scan({"old": before, "new": after}, tmp_path)
    scanned, in_memory = compare(*scans), compare(*runs)
    [row], [expected] = scanned.frame.to_dict("records"), in_memory.frame.to_dict("records")
    change = after["faithfulness"] - before["faithfulness"]
    assert row["difference"] == pytest.approx(change.mean(), rel=1e-10, abs=1e-14)
    assert row["effect_size"] == pytest.approx(change.mean() / change.std(), rel=1e-9)
    assert (row["wins"], row["losses"]) == (int((change > 0).sum()), int((change < 0).sum()))
    half = (expected["ci_high"] - expected["ci_low"]) / 2
    assert row["ci_low"] == pytest.approx(expected["ci_low"], abs=1e-4 * half)
    assert row["ci_high"] == pytest.approx(expected["ci_high"], abs=1e-4 * half)
    [note] = [note for note in scanned.notes if "cells" in note]
    assert "faithfulness" in note


def test_what_needs_every_row_says_so(tmp_path: Path) -> None:
    _, scans = several(8, tmp_path, "old", "new", n=20, kinds=["recall@5", "mrr"])
    comparison, ranking = compare(*scans), rank(*scans)
    for call in (
        lambda: compare(*scans, correction="westfall-young"),
        lambda: comparison.differences("recall@5"),
        lambda: comparison.plot("differences", "mrr"),
        lambda: ranking.weighted({"recall@5": 1}),
        lambda: ranking.pareto(),
        lambda: compare(*scans, missing="bounds"),
        lambda: compare(*scans, on="question"),
        lambda: rank(*scans, clusters={"q1": "a"}),
        lambda: compare(*scans, clusters="document").gate("mean(recall@5) >= 0.4"),
    ):
        with pytest.raises(DataError, match=r"needs every score in memory: 20 rows.*collect\(\)"):
            call()


def test_bad_input_is_named(tmp_path: Path) -> None:
    _, (old, new) = several(9, tmp_path, "old", "new", n=20, kinds=["recall@5"])
    _, [alone] = save_and_scan(
        {"alone": pd.DataFrame({"query_id": ["x", "y"], "recall@5": [0.5, 1.0]})}, tmp_path
    )
    with pytest.raises(AlignmentError, match="share no query id"):
        compare(old, alone)
    with pytest.raises(AlignmentError, match="no query is in all 2 pipelines"):
        rank(old, alone)
    with pytest.raises(DataError, match="two runs are named 'old'"):
        compare(old, old)
    with pytest.raises(UnknownNameError, match="no metric is named 'recal'"):
        compare(old, new, metrics="recal")
    with pytest.raises(UnknownNameError, match="'colour'"):
        compare(old, new).slices("colour")


# -- rankings


def test_a_pipeline_without_a_score_is_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    tables = {name: random_table(rng, n=30, kinds=["recall@5", "mrr"]) for name in ("a", "b", "c")}
    tables["c"]["mrr"] = np.nan
    runs, scans = save_and_scan(tables, tmp_path)
    options = {"metrics": ["recall@5", "mrr"]}
    assert_same(rank(*scans, **options), rank(*runs, **options))


def test_settings_of_the_test_are_those_of_memory(tmp_path: Path) -> None:
    runs, scans = several(6, tmp_path, "a", "b", "c", n=40, kinds=["recall@5", "mrr"])
    in_memory, scanned = (rank(*own, test="wilcoxon") for own in (runs, scans))
    assert_same(scanned, in_memory)
    assert scanned.summary == in_memory.summary
    assert scanned.groups("recall@5") == in_memory.groups("recall@5")


# -- pages


@pytest.mark.parametrize("ask", [compare, rank])
def test_a_page_has_the_tables_of_memory(
    ask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, scans = several(10, tmp_path, "old", "new", n=30, kinds=["exact_match", "latency_ms"])
    own, page = ask(*runs).report(pictures=False), ask(*scans).report(pictures=False)
    assert page.headline == own.headline
    tables = {table.title: table for section in page.sections for table in section.results}
    compared = [
        (tables[table.title], table)
        for section in own.sections
        for table in section.results
        if table.title in tables and section.key != "made"
    ]
    for scanned, in_memory in compared:
        assert_equal(scanned.frame, in_memory.frame)
    if ask is rank:
        assert any("Pareto" in note for note in page.notes)
    assert sorted(page.queries.ids) == sorted(own.queries.ids)
    assert "old" in page.to_html()
    monkeypatch.setattr("rageval_report.reports.report.MOST_LISTED_QUERIES", 4)
    part = ask(*scans).report(pictures=False)
    assert 2 <= len(part.queries.ids) < 30
    assert part.some_queries.startswith(f"The page shows {len(part.queries.ids)} of 30 queries")


# -- histories


@pytest.fixture
def nights(tmp_path: Path) -> tuple[list[Any], list[Any]]:
    """Runs of three nights, of which the gold set of the last is another one."""
    rng = np.random.default_rng(11)
    first = random_table(rng, n=30, kinds=["recall@5"]).assign(reference="Paris")
    second = random_table(rng, n=30, kinds=["recall@5"], like=first).assign(reference="Paris")
    third = second.iloc[2:].assign(reference=["Rome"] * 3 + ["Paris"] * 25)
    return save_and_scan({"monday": first, "tuesday": second, "wednesday": third}, tmp_path)


def test_a_history_of_scans_is_that_of_memory(nights: tuple[list[Any], list[Any]]) -> None:
    runs, scans = nights
    assert_same(history(scans), history(runs))
    assert_same(history([scans[0], *runs[1:]]), history(runs))
    assert_same(history(scans, clusters="document"), history(runs, clusters="document"))

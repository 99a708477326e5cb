"""Comparisons of scans equal those of evaluations in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scale_tables import (
    KINDS,
    Engine,
    as_frame,
    assert_equal,
    assert_same,
    random_table,
    save_and_scan,
)

from rageval_report import RAGPipelineEvaluation, compare, history, monitor
from rageval_report.errors import AlignmentError, DataError, UnknownNameError
from rageval_report.results import Result

RULES = ("no_regression(recall@5, margin=0.2)", "losses(recall@5) <= 5", "mean(recall@5) >= 0.4")


def pair(seed: int, tmp_path: Path, **options: Any) -> tuple[list[Any], list[Any]]:
    """Two pipelines in memory, and scans of their files."""
    rng = np.random.default_rng(seed)
    first = random_table(rng, **options)
    tables = {"old": first, "new": random_table(rng, **options, like=first)}
    return save_and_scan(tables, tmp_path)


@pytest.mark.parametrize("missing", ["drop", "worst", "bounds"])
@pytest.mark.parametrize("clusters", [None, "document"])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_a_comparison_of_scans_is_that_of_memory(
    missing: str, clusters: str | None, gaps: float, tmp_path: Path
) -> None:
    kinds = ["exact_match", "recall@5", "mrr", "faithfulness"]
    runs, scans = pair(7, tmp_path, n=60, kinds=kinds, gaps=gaps)
    options: dict[str, Any] = {"missing": missing, "clusters": clusters, "metrics": kinds}
    in_memory, scanned = compare(*runs, **options), compare(*scans, **options)
    assert_same(scanned, in_memory)
    assert scanned.settings == {**in_memory.settings, "engine": "duckdb"}
    assert_same(scanned.slices("topic"), in_memory.slices("topic"))


@pytest.mark.parametrize("seed", range(6))
def test_random_tables_make_no_difference(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    kinds = [str(kind) for kind in rng.choice(KINDS, 3, replace=False)]
    gaps, n = float(rng.choice([0.0, 0.2])), int(rng.integers(3, 40))
    runs, scans = pair(seed, tmp_path, n=n, kinds=kinds, gaps=gaps)
    in_memory, scanned = compare(*runs), compare(*scans)
    assert_same(scanned, in_memory)
    for metric in kinds:
        lost, lost_in_memory = scanned.regressions(metric), in_memory.regressions(metric)
        assert_equal(lost, in_order(lost_in_memory))
        assert lost.attrs["n"] == len(lost_in_memory)


def in_order(changed: pd.DataFrame) -> pd.DataFrame:
    """Changed queries, those that changed alike by id."""
    sizes = changed.assign(size=-changed["difference"].abs()).reset_index()
    return sizes.sort_values(["size", "query_id"]).set_index("query_id").drop(columns="size")


def test_gates_of_scans_are_those_of_memory(tmp_path: Path) -> None:
    runs, scans = pair(3, tmp_path, n=50, kinds=["recall@5"], gaps=0.1)
    assert_same(compare(*scans).gate(*RULES), compare(*runs).gate(*RULES))
    clustered = compare(*scans, clusters="document")
    assert_same(clustered.gate(*RULES[:2]), compare(*runs, clusters="document").gate(*RULES[:2]))
    with pytest.raises(DataError, match="collect"):
        clustered.gate(RULES[2])


def test_scans_and_evaluations_are_compared_with_each_other(tmp_path: Path) -> None:
    runs, scans = pair(4, tmp_path, n=40, kinds=["recall@5", "mrr"])
    expected = compare(*runs)
    assert_same(compare(scans[0], runs[1]), expected)
    assert_same(compare(runs[0], scans[1]), expected)


def test_exchanging_the_sides_exchanges_the_signs(tmp_path: Path) -> None:
    _, (old, new) = pair(5, tmp_path, n=40, kinds=["recall@5", "latency_ms"])
    forth, back = compare(old, new).frame, compare(new, old).frame
    np.testing.assert_allclose(forth["difference"], -back["difference"])
    np.testing.assert_allclose(forth["ci_low"], -back["ci_high"])
    assert forth["wins"].tolist() == back["losses"].tolist()


def test_not_applicable_is_not_unscored(tmp_path: Path) -> None:
    states = ["scored"] * 8 + ["not applicable", "not applicable", "missing", "failed"]
    scores = [0.0, 1, 0, 1, 1, 0, 1, 1, *[None] * 4]
    table = pd.DataFrame(
        {"query_id": [f"q{i}" for i in range(12)], "recall": scores, "recall_state": states}
    )
    other = table.assign(recall=[1.0] * 8 + [None, None, 1.0, None])
    runs, scans = save_and_scan({"old": table, "new": other}, tmp_path)
    for missing in ("drop", "worst", "bounds"):
        assert_same(compare(*scans, missing=missing), compare(*runs, missing=missing))
    assert "does not apply to 2 of 12 common queries" in " ".join(compare(*scans).notes)


def test_labels_by_query_id_are_clusters(tmp_path: Path) -> None:
    runs, scans = pair(6, tmp_path, n=40, kinds=["recall@5"])
    labels = {f"q{i}": f"c{i % 9}" for i in range(40)}
    assert_same(compare(*scans, clusters=labels), compare(*runs, clusters=labels))
    del labels["q3"]
    with pytest.raises(DataError, match=r"clusters must have a label for every query; 'q3'"):
        compare(*scans, clusters=labels)


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
    _, scans = pair(8, tmp_path, n=20, kinds=["recall@5"])
    comparison = compare(*scans)
    for call in (
        lambda: compare(*scans, correction="westfall-young"),
        lambda: compare(*scans, on="topic"),
        lambda: comparison.differences("recall@5"),
        lambda: comparison.plot("differences"),
    ):
        with pytest.raises(DataError, match=r"needs every score in memory: 20 rows.*collect\(\)"):
            call()


def test_the_page_of_a_comparison_has_the_tables_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, scans = pair(10, tmp_path, n=30, kinds=["exact_match", "recall@5"])
    own, page = compare(*runs).report(pictures=False), compare(*scans).report(pictures=False)
    assert page.headline == own.headline
    tables = {table.title: table for section in page.sections for table in section.results}
    for section in own.sections:
        for table in section.results:
            if table.title in tables and section.key != "made":
                assert_equal(tables[table.title].frame, table.frame)
    assert sorted(page.queries.ids) == sorted(own.queries.ids)
    assert "old" in page.to_html()
    monkeypatch.setattr("rageval_report.reports.common_sections.MOST_LISTED_QUERIES", 4)
    part = compare(*scans).report(pictures=False)
    assert 2 <= len(part.queries.ids) < 30
    assert part.some_queries.startswith(f"The page shows {len(part.queries.ids)} of 30 queries")


def test_bad_input_is_named(tmp_path: Path) -> None:
    _, (old, new) = pair(9, tmp_path, n=20, kinds=["recall@5"])
    _, [alone] = save_and_scan(
        {"alone": pd.DataFrame({"query_id": ["x", "y"], "recall@5": [0.5, 1.0]})}, tmp_path
    )
    with pytest.raises(AlignmentError, match="share no query id"):
        compare(old, alone)
    with pytest.raises(DataError, match="two runs are named 'old'"):
        compare(old, old)
    with pytest.raises(UnknownNameError, match="no metric is named 'recal'"):
        compare(old, new, metrics="recal")
    with pytest.raises(UnknownNameError, match="'colour'"):
        compare(old, new).slices("colour")


def test_other_engines_count_the_same(engine: Engine, tmp_path: Path) -> None:
    runs, _ = pair(2, tmp_path, n=40, kinds=["recall@5", "faithfulness"], gaps=0.1)
    scans = [
        RAGPipelineEvaluation.scan(engine(as_frame(run), tmp_path), name=run.name) for run in runs
    ]
    in_memory, scanned = compare(*runs), compare(*scans)
    assert_same(scanned, in_memory)
    assert_same(compare(*scans, clusters="document"), compare(*runs, clusters="document"))
    assert_same(scanned.slices("topic"), in_memory.slices("topic"))
    assert_equal(scanned.regressions("recall@5"), in_order(in_memory.regressions("recall@5")))


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


@pytest.mark.parametrize("by", [None, "topic"])
def test_monitoring_scans_is_that_of_memory(
    nights: tuple[list[Any], list[Any]], by: str | None
) -> None:
    runs, scans = nights
    keys = ["metric", "run", "slice"]
    results: list[Result] = [monitor(each, by=by) for each in (scans, runs)]
    scanned, in_memory = (
        result.frame.sort_values([key for key in keys if key in result.frame]) for result in results
    )
    assert_equal(scanned.reset_index(drop=True), in_memory.reset_index(drop=True))

"""Rankings of scans equal those of evaluations in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scale_tables import KINDS, Engine, as_frame, assert_same, random_table, save_and_scan

from rageval_report import RAGPipelineEvaluation, rank
from rageval_report.errors import AlignmentError, DataError


def three(seed: int, tmp_path: Path, **options: Any) -> tuple[list[Any], list[Any]]:
    """Three pipelines in memory, and scans of their files; one lacks two queries."""
    rng = np.random.default_rng(seed)
    first = random_table(rng, **options)
    second = random_table(rng, **options, like=first).iloc[2:]
    third = random_table(rng, **options, like=first)
    return save_and_scan({"bm25": first, "dense": second, "hybrid": third}, tmp_path)


@pytest.mark.parametrize("missing", ["drop", "worst", "bounds"])
@pytest.mark.parametrize("clusters", [None, "document"])
def test_a_ranking_of_scans_is_that_of_memory(
    missing: str, clusters: str | None, tmp_path: Path
) -> None:
    kinds = ["exact_match", "recall@5", "faithfulness"]
    runs, scans = three(1, tmp_path, n=50, kinds=kinds, gaps=0.1)
    options: dict[str, Any] = {"missing": missing, "clusters": clusters}
    in_memory, scanned = rank(*runs, **options), rank(*scans, **options)
    assert_same(scanned, in_memory)
    assert_same(scanned.pairs, in_memory.pairs)
    assert scanned.summary == in_memory.summary
    assert scanned.groups("recall@5") == in_memory.groups("recall@5")


@pytest.mark.parametrize("seed", range(4))
def test_random_tables_make_no_difference(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    kinds = [str(kind) for kind in rng.choice(KINDS, 2, replace=False)]
    runs, scans = three(seed, tmp_path, n=int(rng.integers(5, 40)), kinds=kinds)
    in_memory, scanned = rank(*runs), rank(*scans)
    assert_same(scanned, in_memory)
    assert_same(scanned.friedman, in_memory.friedman)


def test_a_pipeline_without_a_score_is_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    tables = {name: random_table(rng, n=30, kinds=["recall@5", "mrr"]) for name in ("a", "b", "c")}
    tables["c"]["mrr"] = np.nan
    runs, scans = save_and_scan(tables, tmp_path)
    options = {"metrics": ["recall@5", "mrr"]}
    assert_same(rank(*scans, **options), rank(*runs, **options))


def test_margins_and_settings_of_the_test_are_those_of_memory(tmp_path: Path) -> None:
    runs, scans = three(6, tmp_path, n=40, kinds=["recall@5", "mrr"])
    for options in ({"margins": {"mrr": 0.05}}, {"test": "wilcoxon"}, {"tried": 9}):
        assert_same(rank(*scans, **options), rank(*runs, **options))


def test_other_engines_rank_alike(engine: Engine, tmp_path: Path) -> None:
    runs, _ = three(7, tmp_path, n=30, kinds=["recall@5", "faithfulness"], gaps=0.1)
    scans = [
        RAGPipelineEvaluation.scan(engine(as_frame(run), tmp_path), name=run.name) for run in runs
    ]
    assert_same(rank(*scans), rank(*runs))
    assert_same(rank(scans[0], *runs[1:]), rank(*runs))


def test_what_needs_every_row_says_so(tmp_path: Path) -> None:
    _, scans = three(8, tmp_path, n=20, kinds=["recall@5", "mrr"])
    ranking = rank(*scans)
    for call in (
        lambda: rank(*scans, correction="westfall-young"),
        lambda: ranking.weighted({"recall@5": 1}),
        lambda: ranking.pareto(),
        lambda: rank(*scans, clusters="document").friedman,
    ):
        with pytest.raises(DataError, match=r"needs every score in memory.*collect\(\)"):
            call()


def test_the_page_of_a_ranking_has_the_tables_of_memory(tmp_path: Path) -> None:
    runs, scans = three(10, tmp_path, n=30, kinds=["recall@5", "mrr"])
    own, page = rank(*runs).report(pictures=False), rank(*scans).report(pictures=False)
    assert page.headline == own.headline
    assert [verdict.text for verdict in page.verdicts] == [verdict.text for verdict in own.verdicts]
    assert sorted(page.queries.ids) == sorted(own.queries.ids)
    assert "hybrid" in page.to_html()


def test_pipelines_without_a_common_query_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    first = random_table(rng, n=5, kinds=["mrr"])
    other = first.assign(query_id=[f"x{i}" for i in range(5)])
    _, scans = save_and_scan({"a": first, "b": other}, tmp_path)
    with pytest.raises(AlignmentError, match="no query is in all 2 pipelines"):
        rank(*scans)

"""The embedded example data: made by the committed script, plausible, and good for a demo."""

from __future__ import annotations

import runpy
from importlib import resources
from pathlib import Path

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.demo import demo_evaluations, write_demo_files

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "make_demo_data.py"


FILES = ("bm25.csv", "hybrid.csv")


METRICS = (
    *("reciprocal_rank", "recall@5", "context_relevance", "faithfulness", "answer_relevancy"),
    *("exact_match", "citation_f1", "latency_ms"),
)


def data_of(name: str) -> bytes:
    return (resources.files("rageval_report") / "demo" / "data" / name).read_bytes()


@pytest.fixture(scope="module")
def pair() -> tuple[RAGPipelineEvaluation, RAGPipelineEvaluation]:
    return demo_evaluations()


@pytest.fixture(scope="module")
def comparison(pair) -> pd.DataFrame:
    return compare(*pair).to_frame().set_index("metric")


@pytest.mark.skipif(not SCRIPT.exists(), reason="the script is not in an installed package")
def test_the_committed_script_writes_these_bytes():
    written = runpy.run_path(str(SCRIPT))["files"]()
    assert {name: text.encode() for name, text in written.items()} == {
        name: data_of(name) for name in FILES
    }


def test_there_are_two_hundred_queries_and_eight_metrics_a_pipeline(pair):
    assert [run.name for run in pair] == ["bm25", "hybrid"]
    assert [run.n_queries for run in pair] == [200, 200]
    assert [tuple(run.metrics) for run in pair] == [METRICS, METRICS]
    assert all(run.notes == () for run in pair)


def test_two_queries_are_in_one_run_only(pair):
    ids = [set(run.scores.index) for run in pair]
    assert (len(ids[0] - ids[1]), len(ids[1] - ids[0])) == (2, 2)


def test_some_scores_are_missing_and_more_in_the_second_run(pair):
    old, new = (run.scores.isna().sum() for run in pair)
    assert 0 < old["faithfulness"] < new["faithfulness"] < 20
    assert old["reciprocal_rank"] == new["latency_ms"] == 0


@pytest.mark.parametrize("place", [0, 1])
def test_each_row_hangs_together(pair, place):
    rows = pair[place].scores.join(pair[place].details)
    right = rows["answer"] == rows["reference"]
    assert (right == (rows["exact_match"] == 1)).all()
    assert set((1 / rows["reciprocal_rank"][rows["reciprocal_rank"] > 0]).round(4)) <= set(
        range(1, 11)
    )
    within = rows["reciprocal_rank"] >= 0.2
    assert (within == (rows["recall@5"] > 0)).all()
    explained = rows["faithfulness_reason"].notna()
    assert (explained == ~(rows["faithfulness"] == 1)).all()


def test_every_kind_of_verdict_comes_up(pair, comparison):
    words = comparison["verdict"]
    assert set(words) == {"better", "worse", "undecided"}
    sentences = dict(zip(words.index, compare(*pair).sentences, strict=True))
    assert "hybrid is better on recall@5" in sentences["recall@5"]
    assert "hybrid is better on reciprocal_rank" in sentences["reciprocal_rank"]
    assert sentences["faithfulness"].startswith("no difference shown on faithfulness;")
    assert "not significant after correcting for 7 tests" in sentences["exact_match"]
    assert "hybrid is worse on latency_ms" in sentences["latency_ms"]


def test_the_files_can_be_copied_and_read(tmp_path):
    paths = write_demo_files(tmp_path / "a" / "b")
    assert [path.read_bytes() for path in paths] == [data_of(name) for name in FILES]
    assert RAGPipelineEvaluation.load(None, paths[0]).name == "bm25"

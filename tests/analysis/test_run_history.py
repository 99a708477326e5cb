"""A folder of run files as it may be found: other files, broken ones, newer ones, without times."""

from __future__ import annotations

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import UnknownNameError
from rageval_report.run_history import history, read_runs

IDS = [f"q{i}" for i in range(8)]


def run(score=1, name="hybrid", **options):
    return RAGPipelineEvaluation(name, {"query_id": IDS, "exact_match": [score] * 8}, **options)


@pytest.fixture
def runs(tmp_path):
    """An empty folder for run files."""
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


def names(found):
    return [one.name for one in found.runs]


def test_runs_stand_in_the_order_of_their_times_not_of_their_names(runs):
    run().save(runs / "b.json", created="2026-08-01")
    run().save(runs / "a.json", created="2026-08-02")
    assert names(history(runs)) == ["b", "a"]
    store = read_runs(runs)
    assert names(history(store)) == names(history(store)) == ["b", "a"]


def test_runs_of_one_pipeline_can_be_picked(runs):
    for day, name in enumerate(("bm25", "hybrid", "bm25", "hybrid"), 1):
        run(name=name).save(runs / f"{day}.json", created=f"2026-08-0{day}")
    assert any("bm25 (2), hybrid (2)" in note for note in history(runs).notes)
    picked = history(runs, pipeline="hybrid")
    assert names(picked) == ["2", "4"]
    assert not any("bm25" in note for note in picked.notes)
    with pytest.raises(UnknownNameError, match="Did you mean 'hybrid'"):
        history(runs, pipeline="hybird")


# -- evaluations at hand


def test_successive_evaluations_of_a_real_demo_are_broken_where_references_were_edited(real_data):
    paths = sorted(real_data("ragas_elasticsearch_books").glob("v*.csv"))
    found = history([RAGPipelineEvaluation.load(path.stem[:2], path) for path in paths])
    rows = found.frame[found.frame["metric"] == "faithfulness"].set_index("run")
    assert rows.loc["v3", "differs"] == "query set: 1 with another reference"
    assert rows.loc["v3", "change_n"] == 3  # of the four questions
    assert rows.loc["v5", "since_previous"] == "not compared"
    assert rows["segment"].tolist() == [0, 1, 2, 3, 4]

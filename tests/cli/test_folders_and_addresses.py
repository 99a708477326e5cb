"""rank and history take a folder, a glob or an address in place of files, as Python does."""

import contextlib
import json
import sqlite3

import pytest

from rageval_report import RAGPipelineEvaluation, rank

SCORES = {"bm25": [0.5, 1, 0, 0.5, 0.5, 0.25], "hybrid": [1, 1, 0.5, 0.75, 1, 1]}


@pytest.fixture
def results(folder):
    """A folder of tables, a folder of run files, and a database of the same runs."""
    for day, (name, scores) in enumerate(SCORES.items(), start=1):
        data = {"query_id": list("abcdef"), "recall@5": scores}
        saved = RAGPipelineEvaluation(name, data, created=f"2026-08-0{day}")
        saved.save(f"results/{name}.csv")
        saved.save(f"runs/{name}.json")
        with contextlib.closing(sqlite3.connect("scores.db")) as database:
            saved.data.to_sql(name, database, index=False)


PLACES = ["results", "results/", "results/*.csv", "runs", "runs/*.json"]


@pytest.mark.parametrize("place", PLACES)
def test_rank_takes_a_folder_and_a_glob(results, run, place):
    told = json.loads(run(f"rank {place} --format json").stdout)
    assert told["rows"] == rank(place).to_dict()["rows"]
    assert [row["pipeline"] for row in told["rows"]] == ["hybrid", "bm25"]


def test_rank_takes_addresses(results, run):
    addresses = [f"sqlite:///scores.db?table={name}" for name in SCORES]
    told = json.loads(run(f"rank {' '.join(addresses)} --format json").stdout)
    assert told["rows"] == rank("results").to_dict()["rows"]


@pytest.mark.parametrize("command", ["rank", "history"])
@pytest.mark.parametrize("place", ["none", "none/*.csv", "nope://host/x", "mlflow:/"])
def test_a_place_without_scores_is_one_line(results, run, command, place):
    done = run(f"{command} {place}")
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""

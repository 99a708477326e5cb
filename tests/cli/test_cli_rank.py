"""rank, and compare --pareto: what they say, and what they refuse."""

from __future__ import annotations

import json

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.rank import rank

FILES = "old.csv new.csv"


RANK = f"rank {FILES}"


@pytest.fixture
def runs(folder):
    return [RAGPipelineEvaluation.load(name, f"{name}.csv") for name in ("old", "new")]


def test_rank_says_what_python_says(runs, run):
    told = json.loads(run(f"{RANK} --format json").stdout)
    assert told == rank(*runs).to_dict()


def test_weights_are_those_of_python(runs, run):
    told = json.loads(
        run(
            f"rank --weighted {FILES} --weight faithfulness=2 --weight recall@5=1 --format json"
        ).stdout
    )
    assert told == rank(*runs).weighted({"faithfulness": 2, "recall@5": 1}).to_dict()


def test_objectives_are_those_of_python(runs, run):
    told = json.loads(
        run(
            f"rank --pareto {FILES} --objective q=faithfulness,recall@5 --objective latency_ms "
            "--format json"
        ).stdout
    )
    objectives = {"q": ["faithfulness", "recall@5"], "latency_ms": ["latency_ms"]}
    assert told == rank(*runs).pareto(objectives).to_dict()


def test_metrics_are_the_objectives_of_a_front(runs, run):
    told = json.loads(
        run(f"rank --pareto {FILES} --metric recall@5 --metric latency_ms --format json").stdout
    )
    assert told == rank(*runs).pareto(["recall@5", "latency_ms"]).to_dict()


def test_the_pipelines_of_one_file_are_ranked(folder, run):
    lines = ["query_id,pipeline,metric,score"]
    lines += [f"q{i},{name},mrr,{(i + k) % 3 / 2}" for i in range(6) for k, name in enumerate("ab")]
    (folder / "both.csv").write_text("\n".join(lines) + "\n")
    told = json.loads(run("rank both.csv --format json").stdout)
    assert {row["pipeline"] for row in told["rows"]} == {"a", "b"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("rank old.csv", "rank needs at least two pipelines, and old.csv holds one, old; na"),
        (f"rank --weighted {FILES} --weight faithfulnes=1", "Did you mean 'faithfulness'"),
        (f"rank --weighted {FILES} --weight faithfulness=-1", ">= 0; got -1"),
        (f"rank --weighted {FILES} --weight faithfulness=0", "weights of the objectives are all 0"),
        (f"rank --weighted {FILES} --weight faithfulness", "expected NAME=NUMBER"),
        (
            f"rank --pareto {FILES} --objective =f1",
            "write NAME=METRIC,METRIC, NAME=p95(METRIC) or NAME",
        ),
        (f"{RANK} --pairs --pareto", "Choose one of --weighted, --pareto and --pairs."),
        (f"{RANK} --pairs --weight em=1", "Choose one of --weighted, --pareto and --pairs."),
        (f"{RANK} --correction hom", "Did you mean 'holm'"),
        ("slices old.csv --by topic --correction bh", "--correction is for several pipelines"),
        ("slices old.csv new.csv --by topic --percentiles 5", "--percentiles is for one pipeline"),
        (f"{RANK} --by topic", "--by is for a page: -o FILE.html"),
        (f"rank --pairs {FILES} --by topic", "--by is for a page"),
        ("slices old.csv", "Missing option '--by'"),
        ("slices old.csv --by topics", "Did you mean 'topic'"),
    ],
)
def test_what_makes_no_sense_is_refused(folder, refused, words, told):
    assert told in refused(words)


def test_rank_writes_the_page_of_the_ranking(folder, run):
    assert run(f"{RANK} --by topic -o ranking.html").exit_code == 0
    page = (folder / "ranking.html").read_text(encoding="utf-8")
    assert "What is one?" in page  # every query
    assert run(f"{RANK} --format html -o table.html").exit_code == 0
    assert "What is one?" not in (folder / "table.html").read_text(encoding="utf-8")

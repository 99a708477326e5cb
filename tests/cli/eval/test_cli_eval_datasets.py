"""eval on data sets, and what eval would ask."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation, read_records
from rageval_report.datasets import load_dataset

ASK = "eval --callable my_rag:answer -o run"


SQUAD = {
    "data": [
        {
            "title": "Rivers",
            "paragraphs": [
                {
                    "context": "The Seine is 777 km long.",
                    "qas": [
                        {
                            "id": f"s{n}",
                            "question": f"How long is it, {n}?",
                            "is_impossible": n % 2 == 1,
                            "answers": [] if n % 2 else [{"text": "777 km", "answer_start": 13}],
                        }
                        for n in range(6)
                    ],
                }
            ],
        }
    ]
}


@pytest.fixture(autouse=True)
def sets(demo_folder):
    Path("squad.json").write_text(json.dumps(SQUAD))
    Path("gold.jsonl").write_text(
        "".join(
            json.dumps({"query_id": f"s{n}", "question": f"Who, {n}?", "references": ["Paris."]})
            + "\n"
            for n in range(4)
        )
    )


def records():
    return read_records("run/records.jsonl")


def test_the_questions_of_a_data_set_are_asked_as_they_are_drawn(run):
    result = run(f"{ASK} --datasets squad_v2=squad.json --samples 3 --seed 5")
    assert result.exit_code == 0, result.stderr
    drawn = load_dataset("squad_v2", "squad.json", samples=3, seed=5)
    assert list(records().index) == list(drawn.index)
    assert records()["answerable"].tolist() == drawn["answerable"].tolist()
    config = RAGPipelineEvaluation.load(None, "run/scores.json").config
    assert config["datasets"] == ["squad_v2=squad.json"]
    assert (config["samples_per_dataset"], config["seed"]) == (3, 5)


@pytest.mark.parametrize(
    "words",
    [
        "--datasets squad_v2=squad.json --datasets gold.jsonl",
        "--dataset squad_v2=squad.json,gold.jsonl",
    ],
)
def test_of_several_data_sets_so_many_each_are_asked_and_ids_stay_apart(run, words):
    result = run(f"{ASK} {words} --samples 2")
    assert result.exit_code == 0, result.stderr
    assert records()["dataset"].value_counts().to_dict() == {"squad_v2": 2, "gold": 2}
    assert all(one.partition(":")[0] in ("squad_v2", "gold") for one in records().index)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--datasets squad_v3", "no data set is named 'squad_v3'. Did you mean 'squad_v2'"),
        ("--datasets squad_v2=no.json", "there is no such file or folder"),
        ("--datasets squad_v2=queries.jsonl", "queries.jsonl"),
        ("--datasets ragbench/covidqu", "Did you mean 'covidqa'"),
        ("--datasets gold.jsonl --samples 0", "samples must be an integer >= 1"),
        ("--datasets gold.jsonl --records queries.jsonl", "Give one of --records and --datasets"),
        ("", "Missing option '--records' or '--datasets'"),
    ],
)
def test_what_is_no_data_set_is_told_in_a_line(refused, words, told):
    assert told in refused(f"{ASK} {words}")
    assert not Path("run").exists()


@pytest.fixture
def judge_words(judge_server):
    url = f"http://127.0.0.1:{judge_server.server_port}/v1"
    return f"--judge coherence --judge faithfulness --base-url {url} --model gpt-5 --price 1:10"


def test_a_dry_run_asks_neither_pipeline_nor_judge(run, judge_server, judge_words):
    Path("my_rag.py").write_text("raise SystemExit('asked')\n")
    words = f"{ASK} --datasets gold.jsonl --samples 3 {judge_words} --dry-run"
    result = run(f"{words} --format json")
    assert result.exit_code == 0, result.stderr
    pipeline, judge = json.loads(result.stdout)
    assert pipeline["rows"][0]["n_queries"] == 3
    calls = {row["judge"]: row["n_calls"] for row in judge["rows"]}
    assert calls == {"coherence": 3, "faithfulness": 6}
    assert all(row["cost_usd"] is None for row in judge["rows"])  # not invented
    assert judge_server.asked == []
    assert not Path("run").exists()

"""compare: verdicts, groups, queries that changed, and what cannot be compared."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare

COMPARE = "compare old.csv new.csv"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def runs(folder):
    return [RAGPipelineEvaluation.load(name, f"{name}.csv") for name in ("old", "new")]


def test_compare_says_what_python_says(runs, run):
    told = json.loads(run(f"{COMPARE} --format json").stdout)
    assert told == compare(*runs).to_dict()


def test_compare_opens_with_a_verdict_for_each_metric(folder, run):
    told = run(COMPARE).stdout
    assert told.startswith(
        "new is worse than old on 1 of 4 metrics and better on none (7 queries)."
    )
    assert len(told.splitlines()) <= 20
    whole = run(f"{COMPARE} --verbose").stdout
    assert whole.startswith("new against old\n")
    assert sum(line.startswith("- ") for line in whole.splitlines()) == 4


def test_compare_pairs_by_query_and_lists_what_it_drops(folder, run):
    told = run(f"{COMPARE} --verbose").stdout
    assert "1 query is in 'old' only: 'q1'" in told
    assert "1 query is in 'new' only: 'q9'" in told


def test_pipelines_can_be_named(folder, run):
    [row] = rows_of(run("compare a=old.csv b=new.csv --metric em --format csv").stdout)
    assert (row["baseline"], row["candidate"]) == ("a", "b")


def test_one_side_may_come_from_standard_input(folder, run):
    data = Path("new.csv").read_bytes()
    piped = run("compare old.csv new=- --format json", stdin=data).stdout
    assert piped == run(f"{COMPARE} --format json").stdout


def test_several_candidates_are_a_row_each(folder, run):
    told = rows_of(run("compare old.csv new.csv again=new.csv --metric em --format csv").stdout)
    assert [row["candidate"] for row in told] == ["new", "again"]


@pytest.mark.parametrize(
    ("option", "setting", "value"),
    [
        ("--test t", "test", "t"),
        ("--correction bh", "correction", "bh"),
        ("--confidence-level 0.9", "confidence_level", 0.9),
        ("--metric em --missing worst", "missing", "worst"),
        ("--margin 0.1", "margin", 0.1),
        ("--tried 20", "tried", 20),
        ("--clusters topic", "clusters", "topic"),
        ("--seed 7", "seed", 7),
        ("--n-resamples 99", "n_resamples", 99),
    ],
)
def test_each_setting_reaches_the_comparison(folder, run, option, setting, value):
    result = run(f"{COMPARE} {option} --format json")
    assert json.loads(result.stdout)["settings"][setting] == value


def test_regressions_are_the_queries_that_got_worse(folder, run):
    told = rows_of(run("regressions old.csv new.csv --metric faithfulness --format csv").stdout)
    assert [row["query_id"] for row in told] == ["q4"]
    assert (told[0]["old_faithfulness"], told[0]["new_faithfulness"]) == ("1.0", "0.75")
    assert told[0]["question"] == "What is four?"


def test_improvements_come_with_the_largest_first(folder, run):
    told = rows_of(
        run("regressions old.csv new.csv --improvements --metric groundedness --format csv").stdout
    )
    assert [row["query_id"] for row in told] == ["q6", "q2", "q5", "q7"]


def test_changes_are_limited_for_people(folder, run):
    told = run("regressions old.csv new.csv --metric latency_ms --limit 2").stdout
    assert "new is worse on 7 of 7 common queries; the largest change first" in told
    assert "the first 2 of 7 rows are shown" in told


def test_changes_of_several_candidates_are_told_apart(folder, run):
    told = run("regressions old.csv new.csv b=new.csv --metric latency_ms --format csv").stdout
    assert {row["candidate"] for row in rows_of(told)} == {"new", "b"}


def test_outcomes_are_haystacks_split(runs, run):
    told = rows_of(run("outcomes old.csv new.csv --format csv").stdout)
    table = runs[0].comparative_detailed_summary(runs[1])
    assert [row["both_correct"] or None for row in told] == table["both_correct"].tolist()
    assert [row["only_new_correct"] for row in told if row["only_new_correct"]] == [
        *("q2", "q4", "q8")
    ]


def test_outcomes_by_another_rule(folder, run):
    told = run("outcomes", "old.csv", "new.csv", "--correct", "recall@5>=1").stdout
    assert "3 both_correct, 2 both_incorrect, 0 only_old_correct, 2 only_new_correct" in told


BAD = {
    "one file": ("compare old.csv", "Missing argument 'CANDIDATE...': old.csv holds one pipeline"),
    "equal names": ("compare a=old.csv a=new.csv", "give each its own name, as NAME=FILE"),
    "one file twice": ("compare old.csv old.csv", "give each its own name, as NAME=FILE"),
    "no common query": ("compare old.csv other.csv", "share no query"),
    "no common metric": ("compare old.csv metric.csv", "share no metric"),
    "an unknown metric": (f"{COMPARE} --metric recal@5", "Did you mean 'recall@5'?"),
    "an unknown test": (f"{COMPARE} --test wilcoxn", "Did you mean 'wilcoxon'?"),
    "an unknown correction": (f"{COMPARE} --correction hom", "Did you mean 'holm'?"),
    "confidence level 95": (f"{COMPARE} --confidence-level 95", "95"),
    "no resamples": (f"{COMPARE} --n-resamples 0", "0"),
    "a margin that is no number": (f"{COMPARE} --margin recall@5=much", "faithfulness=0.05"),
    "a margin of an unknown metric": (f"{COMPARE} --margin recal@5=0.1", "Did you mean"),
    "a margin below 0": (f"{COMPARE} --margin -0.1", "above 0"),
    "an unknown column": ("slices old.csv new.csv --by topik", "Did you mean 'topic'?"),
    "unknown clusters": (f"{COMPARE} --clusters topik", "topik"),
    "nothing correct": ("outcomes bare.csv b=bare.csv", "--correct exact_match"),
}


@pytest.mark.parametrize(("command", "part"), BAD.values(), ids=BAD)
def test_bad_input_is_told_in_one_line(folder, refused, command, part):
    Path("other.csv").write_text("query_id,recall@5\nx1,1\nx2,0\n")
    Path("metric.csv").write_text("query_id,toxicity\nq1,1\nq2,0\n")
    Path("bare.csv").write_text("query_id,recall\nq1,1\nq2,0\n")
    assert part in refused(command)


LONG = "".join(
    f"q{n},{name},recall,{(n * step) % 7 / 7}\n"
    for name, step in (("first", 1), ("second", 2), ("third", 3))
    for n in range(1, 8)
)


@pytest.fixture
def several(folder):
    (folder / "several.csv").write_text("query_id,pipeline,metric,value\n" + LONG)


def test_the_first_pipeline_of_one_file_is_the_baseline_of_the_others(several, run):
    told = json.loads(run("compare several.csv --format json").stdout)
    compared = [(row["baseline"], row["candidate"]) for row in told["rows"]]
    assert compared == [("first", "second"), ("first", "third")]
    assert "of the 3 pipelines in several.csv, first is the baseline" in told["notes"]


def test_another_pipeline_of_the_file_is_chosen_by_its_name(several, run):
    told = run("compare several.csv::third several.csv::first --format json")
    [row] = json.loads(told.stdout)["rows"]
    assert (row["baseline"], row["candidate"]) == ("third", "first")
    assert "is the baseline" not in told.stdout


@pytest.fixture
def three(folder):
    rng = np.random.default_rng(3)
    base = rng.uniform(0.3, 0.7, 60)
    for name, shift in (("slow", 0.0), ("worse", -0.1), ("fast", 0.15)):
        scores = np.clip(base + shift + rng.normal(0, 0.05, 60), 0, 1).round(3)
        rows = [f"q{i},{score}" for i, score in enumerate(scores)]
        Path(f"{name}.csv").write_text("\n".join(["query_id,recall", *rows]), "utf-8")
    return "slow.csv worse.csv fast.csv"


@pytest.mark.parametrize("command", ["compare", "report"])
def test_three_files_lead_with_the_best_name_the_baseline_and_point_to_rank(three, run, command):
    headline, next_line = run(f"{command} {three}").stdout.splitlines()[:2]
    assert headline == "fast is best: better than all others on recall."
    assert next_line == "The command rank compares every pair; below, slow is the baseline."

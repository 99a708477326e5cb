"""rank, and compare --pareto: what they say, and what they refuse."""

from __future__ import annotations

import csv
import io
import json

import pytest

from rageval_report import Objective, RAGPipelineEvaluation, compare
from rageval_report.analysis.rank import rank
from rageval_report.cli.notes import for_command_line
from rageval_report.render import RENDERERS

FILES = "old.csv new.csv"
RANK = f"rank {FILES}"


@pytest.fixture
def runs(folder):
    return [RAGPipelineEvaluation.load(name, f"{name}.csv") for name in ("old", "new")]


@pytest.mark.parametrize("format_name", [entry.cli_name for entry in RENDERERS.values()])
@pytest.mark.parametrize("view", ["rank", "pairs", "weighted", "pareto"])
def test_each_view_comes_in_each_format(folder, run, view, format_name):
    result = run(f"{view} {FILES} --n-resamples 99 --format {format_name}")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.strip()


def test_rank_says_what_python_says(runs, run):
    told = json.loads(run(f"{RANK} --format json").stdout)
    assert told == rank(*runs).to_dict()


def test_the_number_of_tried_pipelines_is_that_of_python(runs, run):
    told = json.loads(run(f"{RANK} --tried 20 --format json").stdout)
    expected = rank(*runs, tried=20).to_dict()
    expected["notes"] = list(map(for_command_line, expected["notes"]))
    assert told == expected
    assert told["settings"]["tried"] == 20


def test_weights_are_those_of_python(runs, run):
    told = json.loads(
        run(f"weighted {FILES} --weight faithfulness=2 --weight recall@5=1 --format json").stdout
    )
    assert told == rank(*runs).weighted({"faithfulness": 2, "recall@5": 1}).to_dict()


def test_objectives_are_those_of_python(runs, run):
    told = json.loads(
        run(
            f"pareto {FILES} --objective q=faithfulness,recall@5 --objective latency_ms "
            "--format json"
        ).stdout
    )
    objectives = {"q": ["faithfulness", "recall@5"], "latency_ms": ["latency_ms"]}
    assert told == rank(*runs).pareto(objectives).to_dict()


@pytest.mark.parametrize("option", ["--objective", "--weight"])
def test_a_percentile_is_an_objective(runs, run, option):
    text = "p95(latency_ms)"
    words = f"weighted {FILES} --format json {option} {text}{'=1' if option == '--weight' else ''}"
    told = json.loads(run(words).stdout)
    assert told == rank(*runs).weighted({text: 1.0}).to_dict()
    named = f"weighted {FILES} --format json --objective speed={text},worst=5000,best=0"
    speed = {"speed": Objective("latency_ms", statistic="p95", worst=5000, best=0)}
    assert json.loads(run(named).stdout) == rank(*runs).weighted(objectives=speed).to_dict()


def test_metrics_are_the_objectives_of_a_front(runs, run):
    told = json.loads(
        run(f"pareto {FILES} --metric recall@5 --metric latency_ms --format json").stdout
    )
    assert told == rank(*runs).pareto(["recall@5", "latency_ms"]).to_dict()


def test_margins_count_in_the_leaderboard_and_in_the_pairs(runs, run):
    margins = {"recall@5": 0.05, "latency_ms": 500.0}
    words = f"{RANK} --margin recall@5=0.05,latency_ms=500 --format json"
    ranking = rank(*runs, margins=margins)
    assert json.loads(run(words).stdout) == ranking.to_dict()
    words = words.replace("rank", "pairs", 1)
    assert json.loads(run(words).stdout) == ranking.pairs.to_dict()


def test_margins_are_those_of_python(runs, run):
    one = "--margin latency_ms=500"
    two = f"{one} --margin recall@5=0.01,score=0.05"
    ranking = rank(*runs)
    expected = {"latency_ms": 500.0, "recall@5": 0.01, "score": 0.05}
    printed = json.loads(run(f"weighted {FILES} --format json {two}").stdout)
    assert printed == ranking.weighted(margins=expected).to_dict()
    printed = json.loads(run(f"pareto {FILES} --format json {one}").stdout)
    assert printed == ranking.pareto(margins={"latency_ms": 500.0}).to_dict()
    front = run(f"compare old.csv new.csv --pareto --format json {one}").stdout
    assert json.loads(front) == printed


def test_the_rule_for_a_correct_answer_counts_in_the_score(folder, run):
    printed = run(f"weighted {FILES} --weight accuracy=1 --correct recall@5>=0.5").stdout
    assert "correct (recall@5 >= 0.5)" in " ".join(printed.split())


def test_compare_has_the_front_too(folder, run):
    ours = run("compare old.csv new.csv --pareto --format json").stdout
    assert json.loads(ours) == json.loads(run(f"pareto {FILES} --format json").stdout)


def test_a_chosen_metric_alone_is_ranked(folder, run):
    rows = list(csv.DictReader(io.StringIO(run(f"{RANK} --metric em --format csv").stdout)))
    assert [(row["metric"], row["pipeline"]) for row in rows] == [
        ("exact_match", "new"),
        ("exact_match", "old"),
    ]


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
        (f"weighted {FILES} --weight faithfulnes=1", "Did you mean 'faithfulness'"),
        (f"weighted {FILES} --weight faithfulness=-1", ">= 0; got -1"),
        (f"weighted {FILES} --weight faithfulness=0", "weights of the objectives are all 0"),
        (f"weighted {FILES} --weight faithfulness", "write NAME=W, such as faithfulness=2."),
        (f"pareto {FILES} --objective =f1", "write NAME=METRIC,METRIC, NAME=p95(METRIC) or NAME"),
        (f"{RANK} --margin fidelity=0.1", "no metric or objective is named 'fidelity'"),
        (f"weighted {FILES} --margin 0.1", "write NAME=NUMBER, such as latency_ms=50"),
        ("compare old.csv new.csv --pareto --margin 0.1", "write NAME=NUMBER, such as latency"),
        (f"{RANK} --pairs --pareto", "Choose one of the commands weighted, pareto and pairs."),
        (f"{RANK} --pairs --weight em=1", "Choose one of the commands weighted, pareto and pairs."),
        (f"{RANK} --correction hom", "Did you mean 'holm'"),
        ("compare old.csv new.csv --pareto --by topic", "Choose one of --by"),
        ("slices old.csv --by topic --correction bh", "--correction is for several pipelines"),
        ("slices old.csv new.csv --by topic --percentiles 5", "--percentiles is for one pipeline"),
        (f"{RANK} --by topic", "--by is for a page: -o FILE.html"),
        (f"pairs {FILES} --by topic", "No such option '--by'"),
        ("slices old.csv", "Missing option '--by'"),
        ("slices old.csv --by topics", "Did you mean 'topic'"),
    ],
)
def test_what_makes_no_sense_is_refused(folder, refused, words, told):
    assert told in refused(words)


# -- earlier spellings run with a note


@pytest.mark.parametrize(
    ("earlier", "now"),
    [
        (f"{RANK} --pairs", f"pairs {FILES}"),
        (f"{RANK} --weighted", f"weighted {FILES}"),
        (
            f"{RANK} --weight exact_match=1 --weight faithfulness=2",
            f"weighted {FILES} --weight exact_match=1 --weight faithfulness=2",
        ),
        (
            f"{RANK} --objective q=exact_match,faithfulness",
            f"weighted {FILES} --objective q=exact_match,faithfulness",
        ),
        (f"{RANK} --pareto", f"pareto {FILES}"),
        ("compare old.csv new.csv --by topic", "slices old.csv new.csv --by topic"),
        ("report old.csv --by topic", "slices old.csv --by topic"),
    ],
)
def test_an_earlier_spelling_says_which_command_it_is_now(folder, run, earlier, now):
    before, after = run(f"{earlier} --format json"), run(f"{now} --format json")
    assert (before.exit_code, after.exit_code) == (0, 0)
    assert json.loads(before.stdout)["rows"] == json.loads(after.stdout)["rows"]
    assert f"is now the command {now.split()[0]}" in before.stderr
    assert "is now the command" not in after.stderr
    assert "Now the command" not in run(f"{earlier.split()[0]} --help").stdout


def test_slices_are_those_of_python(runs, run):
    told = json.loads(run("slices old.csv new.csv --by topic --format json").stdout)
    assert told["rows"] == compare(*runs).slices("topic").to_dict()["rows"]
    told = json.loads(run("slices old.csv --by topic --metric em --format json").stdout)
    assert told["rows"] == runs[0].slices("topic", "exact_match").to_dict()["rows"]


def test_rank_writes_the_page_of_the_ranking(folder, run):
    assert run(f"{RANK} --by topic -o ranking.html").exit_code == 0
    page = (folder / "ranking.html").read_text(encoding="utf-8")
    assert "What is one?" in page  # every query
    assert run(f"{RANK} --format html -o table.html").exit_code == 0
    assert "What is one?" not in (folder / "table.html").read_text(encoding="utf-8")

"""report, thresholds and failures: the numbers of the Python interface, in every format."""

from __future__ import annotations

import csv
import io
import json

import pytest

from rageval_report import RAGPipelineEvaluation


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_report_says_what_the_python_report_says(folder, run):
    told = json.loads(run("report old.csv --format json").stdout)
    result = RAGPipelineEvaluation.load("old", "old.csv").evaluation_report().to_dict()
    # Advice is in the terms of each side.
    by_keyword, by_option = "change it with correct=", "change it with --correct RULE"
    result["notes"] = [note.replace(by_keyword, by_option) for note in result["notes"]]
    assert told == result
    assert by_option in " ".join(told["notes"])


def test_report_counts_what_is_unscored_and_correct(folder, run):
    told = run("report old.csv").stdout
    assert "missing scores of 8 queries, not in the means: 1 faithfulness" in told
    assert "4 of 8 queries are correct" in told


def test_report_takes_the_metrics_that_are_named_by_any_of_their_names(folder, run):
    told = rows_of(run("report old.csv --metric groundedness --metric em --format csv").stdout)
    assert [row["metric"] for row in told] == ["faithfulness", "exact_match"]


def test_report_of_two_files_as_csv_is_one_table_with_the_pipeline_first(folder, run):
    told = rows_of(run("report old.csv new.csv --metric recall@5 --format csv").stdout)
    assert next(iter(told[0])) == "pipeline"
    assert [row["pipeline"] for row in told] == ["old", "new"]


def test_report_of_two_files_as_json_is_a_list(folder, run):
    told = json.loads(run("report old.csv new.csv --format json").stdout)
    assert [one["title"] for one in told] == ["Evaluation of old", "Evaluation of new"]


def test_report_is_named_after_the_file_or_as_told(folder, run):
    for words, name in (
        ("old.csv", "old"),
        ("old.csv --name nightly", "nightly"),
        ("nightly=old.csv", "nightly"),
    ):
        assert run(f"report {words}").stdout.startswith(f"{name}: 4 of 8 queries are correct")
        assert run(f"report {words} --verbose").stdout.startswith(f"Evaluation of {name}\n")


def test_report_reads_standard_input(folder, run):
    told = run("report - --name piped", stdin=(folder / "old.csv").read_bytes()).stdout
    assert told.startswith("piped: 4 of 8 queries are correct")
    assert told.replace("piped", "old") == run("report old.csv").stdout


def test_report_with_another_rule_of_what_is_correct(folder, run):
    told = run("report", "old.csv", "--correct", "recall@5>=1,latency_ms<=130").stdout
    assert "2 of 8 queries are correct" in told  # q1 and q4


def test_csv_says_its_notes_on_standard_error(folder, run):
    result = run("report old.csv --format csv")
    assert "note: correct: exact_match = 1; 4 of 8 queries are correct" in result.stderr
    assert "queries are correct" not in result.stdout
    assert run("report old.csv --format csv --quiet").stderr == ""


def test_thresholds_by_the_exclusive_method(folder, run):
    [row] = rows_of(
        run(
            "report --thresholds old.csv --metric latency_ms --method exclusive --format csv"
        ).stdout
    )
    assert float(row["p25"]) == 112.5  # statistics.quantiles of Python 3.11: (n + 1) / 4 = 2.25th


def test_failures_are_the_wrong_side_with_the_worst_first(folder, run):
    told = rows_of(
        run("failures old.csv --metric faithfulness --threshold 0.5 --format csv").stdout
    )
    assert [row["query_id"] for row in told] == ["q2", "q7"]


@pytest.mark.parametrize("threshold", ["mean", "median", "p50", "0.625"])
def test_failures_take_any_threshold(folder, run, threshold):
    result = run(f"failures old.csv --metric recall@5 --threshold {threshold} --format csv")
    assert {"q2", "q5"} <= {row["query_id"] for row in rows_of(result.stdout)}


@pytest.fixture
def many(folder):
    lines = [f"q{i},{i / 100},question {i}" for i in range(60)]
    (folder / "many.csv").write_text("\n".join(["query_id,recall,question", *lines]) + "\n")
    return "failures many.csv --metric recall --threshold 0.5"


def test_failures_show_twenty_and_say_that_there_are_more(many, run):
    told = run(many).stdout
    assert "q19 " in told
    assert "q20 " not in told
    assert "the first 20 of 50 rows are shown; more with --limit" in told


def test_the_direction_of_a_metric_can_be_told(folder, run):
    command = "failures old.csv --metric recall@5 --threshold 0.6 --format csv"
    assert "q1" not in run(command).stdout
    assert "q1" in run(f"{command} --lower recall@5").stdout


def test_the_column_of_ids_can_be_told(folder, run):
    (folder / "case.csv").write_text("case,recall\n007,0.5\n7,1\n")
    result = run("failures case.csv --query-id case --metric recall --threshold 0.6 --format csv")
    assert [row["query_id"] for row in rows_of(result.stdout)] == ["007"]


def test_several_rows_of_a_query_can_be_averaged(folder, run, refused):
    (folder / "twice.csv").write_text("query_id,recall\nq1,0.5\nq1,1\nq2,0\n")
    assert "To average repeated runs of one pipeline, pass --duplicates mean" in refused(
        "report", "twice.csv"
    )
    result = run("report twice.csv --duplicates mean --format csv")
    assert float(rows_of(result.stdout)[0]["mean"]) == 0.375


def test_the_reader_takes_options(folder, run):
    (folder / "odd.csv").write_text((folder / "old.csv").read_text().replace(",", "^"))
    told = run("report odd.csv --reader csv --option delimiter=^ --name old").stdout
    assert told == run("report old.csv").stdout


BAD = {
    "a missing file": ("report nowhere.csv", "nowhere.csv: there is no such file"),
    "a folder with a damaged file": ("report .", "empty.csv: the file is empty"),
    "no table": ("report prose.txt", "prose.txt"),
    "binary junk": ("report junk.bin", "junk.bin"),
    "an empty file": ("report empty.csv", "the file is empty"),
    "an unknown metric": ("report old.csv --metric faithfulnes", "Did you mean 'faithfulness'?"),
    "an unknown metric of failures": (
        "failures old.csv --metric recal@5 --threshold 1",
        "Did you mean 'recall@5'?",
    ),
    "an unknown column": ("slices old.csv --by topics", "Did you mean 'topic'?"),
    "an unknown reader": ("report old.csv --reader cvs", "Did you mean 'csv'?"),
    "an unknown interval": ("report old.csv --interval wilsen", "Did you mean 'wilson'?"),
    "an unknown column of ids": ("report old.csv --query-id qid", "no column is named 'qid'"),
    "threshold p200": ("failures old.csv --metric em --threshold p200", "between 0 and 100"),
    "threshold nan": ("failures old.csv --metric em --threshold nan", "finite number"),
    "threshold low": ("failures old.csv --metric em --threshold low", 'percentile such as "p25"'),
    "a percentile above 100": (
        "report --thresholds old.csv --percentiles 50,101",
        "between 0 and 100",
    ),
    "percentiles of text": ("report --thresholds old.csv --percentiles low", "as 10,25,50"),
    "confidence level 95": ("report old.csv --confidence-level 95", "95"),
    "no resamples": ("report old.csv --interval studentised --n-resamples 0", "0"),
    "bounds of text": ("report old.csv --bounds recall@5", "as score=1:5"),
    "a reader's option of text": ("report old.csv --option delimiter", "NAME=VALUE"),
    "an option of no reader": ("report old.csv --option limiter=;", "'limiter'"),
    "an option of another reader": ("report old.csv --option sheet=a", "'sheet'"),
    "both directions": (
        "report old.csv --lower em --higher em",
        "is given to --lower and to --higher",
    ),
    "a rule against the direction": (
        "report old.csv --correct latency_ms>=100",
        "latency_ms<=100",
    ),
    "a rule without a number": ("report old.csv --correct recall@5>=all", "thresholds such as"),
    "a rule with a bare name": ("report old.csv --correct em,recall@5>=1", "thresholds such as"),
    "a rule of text": ("report old.csv --correct question", "--correct exact_match"),
    "a limit of none": ("failures old.csv --metric em --threshold 1 --limit 0", "--limit"),
    "a name for two": ("report old.csv new.csv --name both", "NAME=FILE"),
    "two of one name": ("report a=old.csv a=new.csv", "two runs are named 'a'"),
    "an unknown format": ("report old.csv --format xlsx", "xlsx"),
}


@pytest.mark.parametrize(("command", "part"), BAD.values(), ids=BAD)
def test_bad_input_is_told_in_one_line(folder, refused, command, part):
    (folder / "prose.txt").write_text("A letter to the council.\nIt has no table.\n")
    (folder / "junk.bin").write_bytes(bytes(range(256)) * 20)
    (folder / "empty.csv").write_bytes(b"")
    assert part in refused(command)

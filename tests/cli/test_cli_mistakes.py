"""Plausible mistakes: each is answered by one line that says what to type."""

from __future__ import annotations

import shlex

import pytest

MISTAKES = {
    "a second file, for a gate": (
        "gate new.csv old.csv --rule 'mean(mrr) >= 0'",
        "Compare FILE with it: --baseline old.csv",
    ),
    "a second file, for failing queries": (
        "failures old.csv new.csv --metric mrr --threshold 0.5",
        "rageval-report regressions BASELINE new.csv --metric NAME",
    ),
    "two files to export": ("export old.csv new.csv", "Export one file at a time"),
    "avg": ("gate old.csv --rule 'avg(recall@5) >= 0.5'", "Write mean(METRIC)."),
    "latency": ("compare old.csv new.csv --metric latency", "Did you mean 'latency_ms'?"),
    "the wrong column of ids": ("report old.csv --query-id id", "query_id"),
    "a column of text in a rule": ("gate old.csv --rule 'mean(topic) >= 1'", "topic"),
    "a percentage above 1": ("compare old.csv new.csv --confidence-level 95", "0.95"),
    "a share that is none": ("history monitor runs --alpha five", "a share such as 0.05 or 5%"),
    "a pair without =": ("report old.csv --role topic", "COLUMN=ROLE, such as model=pipeline"),
    "bounds": ("report old.csv --bounds mrr=1", "NAME=LOW:HIGH"),
    "a rule": ("outcomes old.csv new.csv --correct 'mrr>0.5'", "thresholds such as"),
    "both directions": ("report old.csv --lower em --higher em", "give it to one of them"),
    "a threshold that asks for bad scores": (
        "outcomes old.csv new.csv --correct 'latency_ms>=100'",
        "say so with --higher latency_ms",
    ),
    "an option of another view": ("report old.csv --by topic", "slices has tables of groups"),
    "an earlier command": ("thresholds old.csv", "no command is named 'thresholds'"),
    "an unknown family member": ("golden chek golden.jsonl", "No such command 'chek'"),
}


@pytest.mark.parametrize(("line", "part"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_that_says_what_to_type(demo_folder, refused, line, part):
    assert part in refused(*shlex.split(line))


def test_percentages_and_lists_with_commas_are_understood(demo_folder, run):
    shares = "compare old.csv new.csv --metric recall@5,em --confidence-level 90% --format json"
    single = "compare old.csv new.csv --metric recall@5 --metric em --confidence-level 0.9"
    assert run(shares).stdout == run(f"{single} --format json").stdout
    assert run("failures old.csv --metric em --threshold avg --format csv").stdout == (
        run("failures old.csv --metric em --threshold mean --format csv").stdout
    )

"""plan and variance: what a person sees, and what is refused."""

from __future__ import annotations

import json

import pytest


def rows(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)["rows"]


def test_a_plan_from_a_published_mean(run):
    result = run("plan --mean 0.85 --difference 0.05 -n 100")
    assert "cannot be resolved with the 100 of this set" in " ".join(result.stdout.split())


def test_a_plan_from_a_file_with_a_pilot_run(demo_folder, run):
    words = "plan old.csv --metric faithfulness --difference 0.05 --format json"
    assumed, measured = rows(run(words)), rows(run(f"{words} --candidate new.csv"))
    assert assumed[0]["n_needed_low"] < assumed[0]["n_needed"] < assumed[0]["n_needed_high"]
    assert measured[0]["n_needed_low"] is None
    assert measured[0]["metric"] == "faithfulness"


def test_the_sources_of_noise(demo_folder, run):
    found = rows(
        run("noise variance --sources old.csv new.csv --metric faithfulness --format json")
    )
    assert [row["source"] for row in found] == ["query", "run", "residual"]


def test_judges_and_runs_are_named(demo_folder, run):
    words = "noise variance old.csv new.csv --metric faithfulness --format json"
    row = rows(run(f"{words} --runs 1,1 --judges gpt,claude"))[0]
    assert (row["n_runs"], row["n_judges"]) == (1, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("plan --mean 2", "mean must lie between 0 and 1"),
        ("plan old.csv --mean 0.5", "mean and sd are for a plan without a baseline"),
        ("noise variance old.csv", "expected at least 2 runs or 2 judges"),
        (
            "noise variance old.csv new.csv --runs 1",
            "runs must have one label per evaluation, 2 in all",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(demo_folder, run, words, message):
    result = run(words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())

"""history and repeats: what a person sees, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def rows(result):
    return json.loads(result.stdout)["rows"]


def test_a_folder_of_runs_is_told_in_order(demo_folder, run):
    result = run("history runs --metric faithfulness --format json")
    assert result.exit_code == 0, result.stderr
    assert [row["run"] for row in rows(result)] == [f"2026-08-0{day}" for day in (1, 2, 3)]
    assert rows(result)[0]["mean"] == pytest.approx(0.5 + 3.5 / 40)


def test_the_baseline_may_be_pinned(demo_folder, run):
    told = rows(run("history runs --baseline 2026-08-02 --metric faithfulness --format json"))
    assert [row["difference"] for row in told] == [None, None, pytest.approx(0.15)]


def test_changes_between_runs_are_listed(demo_folder, run):
    told = rows(run("history changes runs --format json"))
    assert [row["config"] for row in told] == [None, "the same", "top_k: 5 → 10"]


def test_fields_that_must_be_equal_break_the_line(demo_folder, run):
    told = rows(run("history runs --fixed top_k --metric faithfulness --format json"))
    assert [row["segment"] for row in told] == [0, 0, 1]
    assert told[2]["differs"] == "top_k: 5 → 10"


def test_a_picture_is_drawn_beside_the_table_and_kept(demo_folder, run, refused):
    result = run("history runs --plot trends.png")
    assert result.exit_code == 0
    assert Path("trends.png").read_bytes().startswith(b"\x89PNG")
    assert "Compared with 2026-08-01, 2026-08-03 is better on faithfulness" in result.stdout
    assert "History of hybrid" in run("history runs --verbose").stdout
    Path("trends.png").write_bytes(b"old")
    assert "exists already" in refused("history runs --plot trends.png")
    assert run("history runs --plot trends.png --force").exit_code == 0
    assert Path("trends.png").read_bytes().startswith(b"\x89PNG")


def test_files_of_scores_are_runs_in_the_order_given(demo_folder, run):
    told = rows(run("history monday=old.csv new.csv --metric recall@5 --format json"))
    assert [row["run"] for row in told] == ["monday", "new"]
    assert told[1]["change_n"] == 7


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("history empty", "the folder is empty"),
        ("history nowhere", "nowhere"),
        ("history runs --baseline 2026-08-09", "no run is named '2026-08-09'"),
        ("history runs --fixed topk", "Did you mean 'top_k'"),
        ("history runs --pipeline dense", "no pipeline among these runs is named 'dense'"),
        ("history runs --metric recal", "no metric is named 'recal'"),
        ("history runs --reader csv", "--reader is for files"),
        ("history runs old.csv", "runs is a folder; name it alone"),
        ("history runs --confidence-level 95", "did you mean 0.95"),
        ("noise repeats old.csv", "expected at least 2 runs"),
        ("noise repeats old.csv old.csv", "two runs are named"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(demo_folder, refused, line, told):
    Path("empty").mkdir()
    assert told in refused(line)


def test_repeated_runs_tell_their_noise(demo_folder, run):
    result = run("noise repeats runs --metric exact_match --format json")
    [row] = rows(result)
    assert (row["n"], row["n_runs"], row["sd_within"]) == (8, 3, 0.0)


def test_the_stability_of_queries_takes_the_rule_of_the_user(demo_folder, run):
    result = run("noise", "repeats", "--queries", "old.csv", "new.csv", "--correct", "recall@5>=1",
                 "--format", "json")  # fmt: skip
    told = {row["query_id"]: row for row in rows(result)}
    assert told["q2"]["agreement"] == 0.5  # 0 in old.csv, 1 in new.csv
    assert told["q4"]["agreement"] == 1.0

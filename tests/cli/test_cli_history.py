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
    told = rows(run("changes runs --format json"))
    assert [row["config"] for row in told] == [None, "the same", "top_k: 5 → 10"]


@pytest.mark.parametrize(
    ("earlier", "now"),
    [
        ("history runs --changes", "changes runs"),
        (
            "repeats runs --planning --metric faithfulness",
            "plan-repeats runs --metric faithfulness",
        ),
        (
            "repeats old.csv new.csv --queries --correct recall@5>=1 --limit 3",
            "stability old.csv new.csv --correct recall@5>=1 --limit 3",
        ),
        ("variance runs --sources", "noise-sources runs"),
        ("variance runs --planning --answer-cost 2", "plan-interval runs --answer-cost 2"),
    ],
)
def test_an_option_that_is_now_a_command_runs_it_with_a_note(demo_folder, run, earlier, now):
    before, after = run(earlier), run(now)
    assert (before.exit_code, after.exit_code) == (0, 0), before.stderr + after.stderr
    assert before.stdout == after.stdout
    command, _, flag = earlier.partition(" --")
    words = f"{command.split()[0]} --{flag.split()[0]} is now the command {now.split()[0]}"
    assert f"note: {words}\n" in before.stderr
    assert "is now the command" not in after.stderr
    assert f"--{flag.split()[0]} " not in run(command.split()[0], "--help").stdout


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
    assert run("history runs --plot trends.png").exit_code == 0  # our own picture is replaced
    Path("trends.png").write_bytes(b"old")
    assert "exists already" in refused("history runs --plot trends.png")
    assert run("history runs --plot trends.png --force").exit_code == 0
    assert Path("trends.png").read_bytes().startswith(b"\x89PNG")


def test_files_of_scores_are_runs_in_the_order_given(demo_folder, run):
    told = rows(run("history monday=old.csv new.csv --metric recall@5 --format json"))
    assert [row["run"] for row in told] == ["monday", "new"]
    assert told[1]["change_n"] == 7


def test_run_files_named_one_by_one_are_named_after_their_files(demo_folder, run):
    result = run("history runs/2026-08-03.json runs/2026-08-01.json --format json")
    assert rows(result)[0]["run"] == "2026-08-01"  # by their times


def test_what_is_left_out_is_told_beside_a_table_of_values(demo_folder, run):
    Path("runs/notes.txt").write_text("x")
    result = run("history runs --format csv")
    assert "note: skipped files that are not run files: notes.txt" in result.stderr
    assert result.stdout.startswith("metric,")


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
        ("repeats old.csv", "expected at least 2 runs"),
        ("repeats old.csv new.csv --queries --planning", "Choose one of the commands stability"),
        ("repeats old.csv new.csv --tolerance 0", "tolerance must be a number above 0"),
        ("repeats old.csv old.csv", "two runs are named"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(demo_folder, refused, line, told):
    Path("empty").mkdir()
    assert told in refused(line)


def test_repeated_runs_tell_their_noise(demo_folder, run):
    result = run("repeats runs --metric exact_match --format json")
    [row] = rows(result)
    assert (row["n"], row["n_runs"], row["sd_within"]) == (8, 3, 0.0)


def test_repeated_runs_of_another_set_up_are_told(demo_folder, run):
    assert "top_k: 5 → 10" in run("repeats runs").stdout


def test_the_stability_of_queries_takes_the_rule_of_the_user(demo_folder, run):
    result = run("stability", "old.csv", "new.csv", "--correct", "recall@5>=1",
                 "--format", "json")  # fmt: skip
    told = {row["query_id"]: row for row in rows(result)}
    assert told["q2"]["agreement"] == 0.5  # 0 in old.csv, 1 in new.csv
    assert told["q4"]["agreement"] == 1.0


def test_planning_has_a_row_a_number_of_repeats(demo_folder, run):
    told = rows(run("plan-repeats runs --metric faithfulness --format json"))
    assert [row["repeats"] for row in told] == [1, 2, 3, 5, 10]
    errors = [row["standard_error"] for row in told]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("metrics", [("recall@5", "mrr"), ("hit@3", "ndcg@10")])
def test_the_doubts_of_the_runs_are_shown_in_every_format(tmp_path, monkeypatch, run, metrics):
    """One metric is 0 for all of 20 queries, while the other varies."""
    monkeypatch.chdir(tmp_path)
    zero, varying = metrics
    for name, scores in (("monday", [0] * 20), ("tuesday", [0, 1] * 10)):
        lines = [f"query_id,{zero},{varying}"]
        lines += [f"q{i},{score},{i % 2}" for i, score in enumerate(scores)]
        Path(f"{name}.csv").write_text("\n".join(lines) + "\n")
        Path("runs").mkdir(exist_ok=True)
        assert run(f"export {name}.csv -o runs/{name}.json").exit_code == 0
    doubt = f"monday: {zero} is 0 for all 20 scored queries, while {varying} varies"
    for source in ("runs", "monday.csv tuesday.csv"):
        for kind in ("table", "markdown", "html", "json"):
            result = run(f"history {source} --format {kind} --quiet")
            assert result.exit_code == 0, result.stderr
            told = " ".join(result.stdout.replace("\\_", "_").split())
            assert told.count(doubt) == 1, (kind, told)
            assert result.stderr.count(doubt) == 1
            assert "tuesday: " + zero not in told
        assert doubt in " ".join(run(f"changes {source}").stdout.split())
    assert run("history runs --strict").exit_code == 2

"""calibrate: a judge against people, from files."""

from __future__ import annotations

import pytest

FILES = "judged.csv people.csv --metric faithfulness"


WITH = f"judge calibrate {FILES}"


def test_agreement_bias_and_means_are_shown_with_the_matrix(demo_folder, run):
    result = run(f"{WITH} --label human_label --verbose")
    assert result.exit_code == 0, result.stderr
    assert "judge and people agree on 3 of 4 queries" in result.stdout  # q1, q2, q3, q6
    for part in ("judge and people", "errors of the judge", "mean of all queries", "Confusion"):
        assert part in result.stdout
    assert "labelled but not scored (1 missing): 'q4'" in result.stdout
    assert "1 labelled query is not in 'judged': 'x1'" in result.stdout
    assert "'no' is read as 0, 'yes' is read as 1" in result.stdout


def test_blank_cells_of_a_review_sheet_were_not_rated(demo_folder, run):
    result = run("judge calibrate judged.csv rated.csv --metric faithfulness --verbose")
    assert "2 queries rated by both, 6 by the judge alone" in result.stdout


def test_several_labels_are_several_raters(demo_folder, run):
    result = run(f"{WITH} --label ann --label bob --verbose")
    assert "people with each other" in result.stdout
    assert "1 query without a label: the raters are evenly split" in result.stdout


def test_the_queries_of_disagreement_are_listed(demo_folder, run):
    result = run(f"judge calibrate --disagreements {FILES} --label human_label --format csv")
    lines = result.stdout.splitlines()
    assert lines[0] == "query_id,people,judge,difference,question,reason"
    assert lines[1:] == ["q2,0.0,1.0,1.0,What is two?,all there"]


def test_two_pipelines_are_compared_by_judge_and_people(demo_folder, run):
    result = run(
        "judge compare judged.csv new=judged_new.csv people.csv --metric faithfulness "
        "--label human_label --other-label human_new"
    )
    assert result.exit_code == 0, result.stderr
    assert "new against judged on faithfulness" in result.stdout
    assert "corrected (PPI++)" in result.stdout


def test_errors_of_another_set_are_taken(demo_folder, run):
    result = run(f"{WITH} --label human_label --errors 45/50,38/50")
    assert "Rogan-Gladen, external" in result.stdout


REFUSED = {
    "no such column": (f"{WITH} --label human_lable", "Did you mean 'human_label'"),
    "which column": (WITH, "label must name the column of people's labels"),
    "no such metric": (
        "judge calibrate judged.csv people.csv --metric faithfulnes --label ann",
        "Did you mean 'faithfulness'",
    ),
    "no metric": ("judge calibrate judged.csv people.csv", "Missing option '--metric'"),
    "errors": (f"{WITH} --label ann --errors 0.9", "as 45/50,38/50"),
    "more right than there are": (f"{WITH} --label ann --errors 51/50,3/5", "51 of 50"),
    "bounds": (f"{WITH} --label ann --label-bounds 5", "expected LOW:HIGH"),
    "two tables": (f"{WITH} --label ann --confusion --disagreements", "Choose one of"),
    "no such file": ("judge calibrate judged.csv none.csv --metric faithfulness", "none.csv"),
}


@pytest.mark.parametrize(("line", "told"), REFUSED.values(), ids=REFUSED)
def test_wrong_use_is_one_line(demo_folder, refused, line, told):
    assert told in refused(line)

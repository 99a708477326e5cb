"""Files of azure-ai-evaluation 1.18.10, and by hand after the files of its samples."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "azure"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


def test_means_are_those_that_azure_gives():
    [evaluation] = read_scores(FILES / "evaluation_results.json").values()
    means = evaluation.scores.mean()
    assert list(means.index) == ["f1_score", "groundedness", "fluency", "length", "cited"]
    for metric, mean in means.items():
        [azures] = [
            value for name, value in EXPECTED["means"].items() if name.partition(".")[2] == metric
        ]
        assert mean == pytest.approx(azures, abs=1e-15)


def test_grades_go_from_1_to_5_and_a_judge_that_failed_is_unscored():
    [evaluation] = read_scores(FILES / "evaluation_results.json").values()
    assert evaluation.metrics["groundedness"].bounds == (1, 5)
    assert evaluation.states["groundedness"].tolist() == [*["scored"] * 3, "failed"]
    assert evaluation.details["groundedness_reason"].tolist()[0] == "grounded: because 5"


def test_the_rows_may_be_a_table(tmp_path):
    rows = json.loads((FILES / "evaluation_results.json").read_text(encoding="utf-8"))["rows"]
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert recognise(Source(path)) == "azure"
    [table], [whole] = (
        read_scores(path).values(),
        read_scores(FILES / "evaluation_results.json").values(),
    )
    assert table.scores.equals(whole.scores)


@pytest.mark.parametrize("path", ["run", "run/eval_results.jsonl"])
def test_a_run_folder_names_the_pipeline_and_has_its_settings(path):
    [file] = read(FILES / path)
    assert file.pipeline == "run"
    assert file.config["evaluation_gpt_model"] == "gpt-4o"
    assert file.created is not None
    assert file.created.year == 2025
    assert file.metric_columns == (
        *("groundedness", "relevance", "citations_matched", "any_citation", "latency_ms"),
    )


def test_scores_of_a_target_that_failed_do_not_count():
    [file] = read(FILES / "run")
    states = ["scored", "scored", "failed", "scored"]
    assert file.frame["groundedness_state"].tolist() == states
    assert file.frame["any_citation_state"].tolist() == states
    assert "read timed out" in file.frame["groundedness_reason"].tolist()[2]
    assert file.frame["groundedness"].dropna().tolist() == [5, 1, 4]


def test_old_names_of_grades_are_the_new_ones():
    [file] = read(FILES / "old_eval_results.jsonl")
    assert recognise(Source(FILES / "old_eval_results.jsonl")) == "azure"
    assert file.metric_columns[:2] == ("groundedness", "relevance")
    assert file.metrics["groundedness"]["bounds"] == (1, 5)
    assert "answer_length" not in file.metric_columns


def row(**outputs):
    return {"inputs.query": "Who?", **{f"outputs.{name}": value for name, value in outputs.items()}}


def outputs(evaluator, **fields):
    return {f"{evaluator}.{field}": value for field, value in fields.items()}


def written(write, *rows):
    return write(json.dumps({"rows": list(rows), "metrics": {}, "studio_url": None}))


def test_severities_are_the_numbers_beside_their_words(write):
    safe = outputs("v", violence="Very low", violence_score=0, violence_reason="calm")
    [evaluation] = read_scores(written(write, row(**safe))).values()
    assert evaluation.scores["violence"].tolist() == [0]
    assert not evaluation.metrics["violence"].greater_is_better
    assert evaluation.metrics["violence"].bounds == (0, 7)
    assert evaluation.details["violence_reason"].tolist() == ["calm"]


def test_a_verdict_without_a_number_is_a_score(write):
    pro = outputs("g", groundedness_pro_label=True, groundedness_pro_reason="all")
    [evaluation] = read_scores(written(write, row(**pro))).values()
    assert evaluation.scores["groundedness_pro"].tolist() == [1]


def test_what_azure_skipped_is_not_applicable(write):
    score = outputs("r", relevance=4, relevance_status="completed", relevance_threshold=3)
    skipped = outputs("r", relevance=None, relevance_status="skipped", relevance_reason="no tools")
    [file] = read(written(write, row(**score), {**row(**skipped), "inputs.query": "b"}))
    assert file.frame["relevance_state"].tolist() == ["scored", "not applicable"]


def test_two_evaluators_with_an_output_of_one_name_stay_apart(write):
    both = {**outputs("a", score=0.5), **outputs("b", score=1)}
    [file] = read(written(write, row(**both)))
    assert file.metric_columns == ("a.score", "b.score")


@pytest.mark.parametrize("grades", [[0.5, 1], [0, 5]])
def test_other_scales_are_not_taken_for_grades(write, grades):
    rows = [
        {**row(**outputs("g", groundedness=grade)), "inputs.id": str(grade)} for grade in grades
    ]
    [file] = read(written(write, *rows))
    assert file.metrics == {}

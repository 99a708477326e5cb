"""Output items made with the types of openai 3.54.0; ``make_openai_runs.py`` beside them."""

from __future__ import annotations

import json
from pathlib import Path

from rageval_report import read_scores
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "openai_runs"
PAGE = json.loads((FILES / "page.json").read_text(encoding="utf-8"))


def test_each_run_is_a_pipeline_with_its_graders_scores():
    runs = read_scores(FILES / "items.jsonl")
    assert list(runs) == ["gpt-4.1-mini (run_a)", "gpt-4.1-mini (run_b)"]
    first, second = (run.scores.sort_index() for run in runs.values())
    assert first["overlap"].tolist()[:2] == [0.75, 1.0]  # as written by the script
    assert second["overlap"].tolist() == [1.0, 0.5, 0.25]
    assert second["string_check"].tolist() == [1.0, 1.0, 1.0]


def test_the_zero_of_a_sample_that_failed_is_unscored():
    assert recognise(Source(FILES / "page.json")) == "openai_runs"
    [run] = read_scores(FILES / "page.json").values()
    assert run.states["overlap"].tolist() == ["scored", "scored", "failed"]
    assert run.details["overlap_reason"].tolist()[2] == "the model timed out"
    assert run.scores["string_check"].mean() == 0.5  # of 1 and 0, not of three rows


def test_verdicts_are_details_beside_scores_and_scores_without_them(write):
    [file] = read(FILES / "page.json")
    assert file.metric_columns[:2] == ("string_check", "overlap")
    assert file.frame["overlap passed"].tolist() == [True, True, False]
    for item in PAGE["data"]:
        for result in item["results"]:
            result["score"] = None
    [file] = read(write(json.dumps(PAGE["data"])))
    assert file.frame["overlap"].tolist()[:2] == [1, 1]


def test_an_id_of_the_item_is_the_id(write):
    rows = [{**item, "datasource_item": {"item": {"id": f"q{at}", "question": "?"}}}
            for at, item in enumerate(PAGE["data"])]  # fmt: skip
    [run] = read_scores(write(json.dumps({"data": rows}))).values()
    assert run.scores.index.tolist() == ["q0", "q1", "q2"]


def test_an_error_of_a_grader_fails_its_score_only(write):
    rows = json.loads(json.dumps(PAGE["data"]))
    rows[0]["results"][1] |= {"score": 0.0, "sample": {"error": {"message": "no judge"}}}
    [file] = read(write(json.dumps(rows)))
    assert file.frame["overlap_state"].tolist()[0] == "failed"
    assert file.frame["string_check_state"].tolist()[0] == "scored"

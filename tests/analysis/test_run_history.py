"""A folder of run files as it may be found: other files, broken ones, newer ones, without times."""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.run_history import history, number_repeats, read_runs

IDS = [f"q{i}" for i in range(8)]


def run(score=1, name="hybrid", **options):
    return RAGPipelineEvaluation(name, {"query_id": IDS, "exact_match": [score] * 8}, **options)


@pytest.fixture
def runs(tmp_path):
    """An empty folder for run files."""
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


def names(found):
    return [one.name for one in found.runs]


def document(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_runs_stand_in_the_order_of_their_times_not_of_their_names(runs):
    run().save(runs / "b.json", created="2026-08-01")
    run().save(runs / "a.json", created="2026-08-02")
    assert names(history(runs)) == ["b", "a"]
    store = read_runs(runs)
    assert names(history(store)) == names(history(store)) == ["b", "a"]


def test_times_of_different_zones_are_compared_as_moments(runs):
    run().save(runs / "late.json", created="2026-08-01T09:00:00-05:00")
    run().save(runs / "early.json", created="2026-08-01T10:00:00+02:00")
    assert names(history(runs)) == ["early", "late"]


def test_a_run_is_named_after_its_file_whatever_it_is_called_inside(runs):
    run().save(runs / "monday.json", created="2026-08-01")
    run().save(runs / "tuesday.json", created="2026-08-02")
    found = history(runs)
    assert names(found) == ["monday", "tuesday"]
    assert found.title == "History of hybrid, against monday"


def test_a_file_without_a_time_stands_where_it_was_written_and_that_is_told(runs):
    run().save(runs / "dated.json", created="2026-08-02")
    path = run().save(runs / "undated.json")
    assert "created" not in document(path)
    moment = datetime(2026, 8, 1, tzinfo=UTC).timestamp()
    os.utime(path, (moment, moment))
    found = history(runs)
    assert names(found) == ["undated", "dated"]
    [note] = [note for note in found.notes if "when they were written" in note]
    assert "undated.json" in note
    assert "dated.json, " not in note


def test_what_is_no_run_file_is_passed_over_and_told(runs):
    run().save(runs / "monday.json", created="2026-08-01")
    (runs / "README.md").write_text("# runs")
    (runs / "other.json").write_text('{"rows": []}')
    (runs / "old").mkdir()
    (runs / ".DS_Store").write_bytes(b"\0")
    run().save(runs / "scores.csv")
    found = history(runs)
    assert names(found) == ["monday"]
    assert (
        "skipped files that are not run files: README.md, old, other.json and scores.csv"
        in found.notes
    )


def test_a_gzipped_run_file_is_one(runs):
    path = run().save(runs / "monday.json", created="2026-08-01")
    (runs / "tuesday.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert names(history(runs)) == ["monday", "tuesday"]


NEWER = {"format_version": 99, "version": "7.0"}


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda run: json.dumps(run | NEWER), "format version 99, written by rageval_report 7.0"),
        (lambda run: json.dumps(run | NEWER), "update rageval_report"),
        (lambda run: json.dumps(run)[: len(json.dumps(run)) // 5], ""),
        (lambda run: json.dumps(run)[: len(json.dumps(run)) // 2], ""),
        (lambda run: json.dumps(run)[: -len(json.dumps(run)) // 20], ""),
        (lambda _run: "", "the file is empty"),
        (lambda run: json.dumps(run | {"created": "last monday"}), "ISO 8601"),
        (lambda run: json.dumps(run | {"created": "last monday"}), "'last monday'"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_out_with_a_note(runs, change, note):
    path = run().save(runs / "monday.json", created="2026-08-01")
    content = {key: value for key, value in document(path).items() if "digest" not in key}
    (runs / "odd.json").write_text(change(content))
    found = history(runs)
    assert names(found) == ["monday"]
    [text] = [text for text in found.notes if text.startswith("left out: odd.json: ")]
    assert note in text


def test_a_file_that_may_not_be_read_is_left_out_and_told(runs, monkeypatch):
    run().save(runs / "monday.json", created="2026-08-01")
    locked = run().save(runs / "locked.json", created="2026-08-02")
    opened = type(locked).open

    def refuse(path, *args, **options):
        if path == locked:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **options)

    monkeypatch.setattr(type(locked), "open", refuse)
    found = history(runs)
    assert names(found) == ["monday"]
    assert any(note.startswith("left out: locked.json: ") for note in found.notes)


def test_a_folder_that_may_not_be_looked_into_is_an_error(runs, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(type(runs), "iterdir", refuse)
    with pytest.raises(DataError, match="the folder cannot be read: Permission denied"):
        history(runs)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({}, r"the folder is empty.*evaluation\.save"),
        ({"a.md": "query_id,recall"}, r"no run file among a\.md; .*evaluation\.save"),
        ({"monday.json": NEWER}, r"can be read; monday\.json: .*version 99"),
    ],
)
def test_a_folder_without_runs_is_an_error_that_says_why(runs, files, problem):
    for name, content in files.items():
        if isinstance(content, dict):
            content = json.dumps(document(run().save(runs / name)) | content)
        (runs / name).write_text(content)
    with pytest.raises(DataError, match=problem):
        history(runs)


def test_what_is_no_folder_is_named(tmp_path):
    with pytest.raises(DataError, match="expected a folder of run files; it does not exist"):
        history(tmp_path / "nowhere")
    path = run().save(tmp_path / "run.json")
    with pytest.raises(DataError, match="expected a folder of run files; this is a file"):
        history(path)


def test_runs_of_one_pipeline_can_be_picked(runs):
    for day, name in enumerate(("bm25", "hybrid", "bm25", "hybrid"), 1):
        run(name=name).save(runs / f"{day}.json", created=f"2026-08-0{day}")
    assert any("bm25 (2), hybrid (2)" in note for note in history(runs).notes)
    picked = history(runs, pipeline="hybrid")
    assert names(picked) == ["2", "4"]
    assert not any("bm25" in note for note in picked.notes)
    with pytest.raises(UnknownNameError, match="Did you mean 'hybrid'"):
        history(runs, pipeline="hybird")


def test_the_origin_of_runs_stands_beside_their_changes(runs):
    run(config={"k": 5}).save(runs / "monday.json", created="2026-08-01")
    (runs / "notes.txt").write_text("x")
    assert history(runs).changes().notes == ("skipped files that are not run files: notes.txt",)


# -- evaluations at hand


def test_dated_evaluations_are_put_in_order():
    found = history([run(0, created="2026-08-02"), run(1, created="2026-08-01")])
    assert found.frame["mean"].tolist() == [1.0, 0.0]
    assert names(found) == ["hybrid (2)", "hybrid"]


def test_undated_evaluations_stand_as_given_and_that_is_told():
    found = history([run(0, created="2026-08-02"), run(1)])
    assert found.frame["mean"].tolist() == [0.0, 1.0]
    assert any("in the order of the call" in note for note in found.notes)


def test_the_config_of_evaluations_is_compared():
    frame = history([run(config={"k": 5}), run(config={"k": 9})]).changes().frame
    assert frame["config"].tolist()[1] == "k: 5 → 9"


def test_what_is_no_evaluation_is_refused():
    with pytest.raises(DataError, match="runs must be a folder of run files"):
        history(["runs/monday.json"])
    with pytest.raises(DataError, match="at least one run"):
        history([])


@pytest.mark.parametrize("options", [{"confidence_level": 95}, {"seed": -1}, {"n_resamples": 0}])
def test_settings_that_make_no_sense_are_refused(options):
    with pytest.raises(DataError):
        history([run()], **options)


def test_numbers_part_names_even_where_a_numbered_one_is_there():
    assert number_repeats(["a", "a (2)", "a", "a"]) == ["a", "a (2)", "a (3)", "a (4)"]


def test_times_survive_saving_and_loading(tmp_path):
    path = run(created="2026-08-01T09:30:00+02:00").save(tmp_path / "run.json")
    again = RAGPipelineEvaluation.load(None, path)
    assert again.created == datetime(2026, 8, 1, 7, 30, tzinfo=UTC)
    assert again.with_notes("x").created == again.with_name("y").created == again.created
    assert document(again.save(tmp_path / "again.json")) == document(path)


def test_the_time_told_on_saving_goes_before_that_of_the_evaluation(tmp_path):
    path = run(created="2026-08-01").save(tmp_path / "run.json", created="2026-08-02")
    assert document(path)["created"] == "2026-08-02T00:00:00+00:00"


def test_runs_of_many_names_are_counted_in_the_title():
    found = history([run(name=name) for name in ("a", "b", "c")])
    assert found.title == "History of 3 runs, against a"
    assert history([run(name="a"), run(name="b")]).title == "History of a and b, against a"


def test_successive_evaluations_of_a_real_demo_are_broken_where_references_were_edited(real_data):
    paths = sorted(real_data("ragas_elasticsearch_books").glob("v*.csv"))
    found = history([RAGPipelineEvaluation.load(path.stem[:2], path) for path in paths])
    rows = found.frame[found.frame["metric"] == "faithfulness"].set_index("run")
    assert rows.loc["v3", "differs"] == "query set: 1 with another reference"
    assert rows.loc["v3", "change_n"] == 3  # of the four questions
    assert rows.loc["v5", "since_previous"] == "not compared"
    assert rows["segment"].tolist() == [0, 1, 2, 3, 4]

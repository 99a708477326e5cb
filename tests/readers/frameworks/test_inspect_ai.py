from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rageval_report.errors import ReaderError
from rageval_report.files import archives
from rageval_report.readers import Source, read, recognise

GOLDEN = Path(__file__).parents[2] / "golden" / "inspect_ai"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))


def sample(query_id, scores, *, epoch=1, **more):
    return {
        "id": query_id,
        "epoch": epoch,
        "input": f"Question {query_id}?",
        "target": "yes",
        "scores": {
            name: score if isinstance(score, dict) else {"value": score}
            for name, score in scores.items()
        },
        **more,
    }


def log(samples, *, status="success", dataset=None, config=None, **more):
    told = {"task": "toy", "model": "gpt", "dataset": dataset or {}, "config": config or {}}
    return {"version": 2, "status": status, "eval": told, "samples": samples, **more}


@pytest.fixture
def read_log(write):
    def read_log_(samples, **more):
        [found] = read(write(json.dumps(log(samples, **more))))
        return found

    return read_log_


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, json.dumps(content))
    return buffer.getvalue()


def reductions_of_inspect():
    """What Inspect itself made of the epochs: a value a query, by metric."""
    values = {}
    for reduction in EXPECTED["samples"]:
        for one in reduction["samples"]:
            value = one["value"]
            parts = value if isinstance(value, dict) else {reduction["scorer"]: value}
            for name, part in parts.items():
                if name != "overlap":  # NaN for the scorer as a whole: f1 and em are unscored
                    values.setdefault(name, {})[one["sample_id"]] = part
    return values


# -- what Inspect 0.3.285 wrote


@pytest.mark.parametrize("name", ["toy.eval", "toy.json", "samples.csv"])
def test_scores_are_inspect_s_own_reductions_over_epochs_cell_by_cell(name):
    if name == "toy.eval":
        pytest.importorskip(archives._ZSTD)
    assert recognise(Source(GOLDEN / name)) == "inspect_ai"
    [found] = read(GOLDEN / name)
    frame = found.frame.set_index("query_id")
    expected = reductions_of_inspect()
    assert set(expected) <= set(found.metric_columns)
    for metric, values in expected.items():
        assert frame[metric].dropna().to_dict() == values


def test_a_scorer_that_raised_is_failed_with_its_error_and_the_others_keep_their_scores():
    [found] = read(GOLDEN / "toy.json")
    row = found.frame.set_index("query_id").loc["q2"]
    assert np.isnan(row["failing"])
    assert row["failing_state"] == "failed"
    assert row["failing_reason"] == row["error"] == "RuntimeError('judge timed out')"
    assert row["letters"] == 0.0
    assert "2 of 8 samples ended in an error; their missing scores count as failed" in found.notes


# -- public logs


# -- scores


def test_letters_are_numbers_and_said_to_be(read_log):
    found = read_log([sample(letter, {"m": letter}) for letter in "CPIN"])
    assert found.frame["m"].tolist() == [1.0, 0.5, 0.0, 0.0]
    assert found.notes == (
        "Inspect's letters are read as numbers: C as 1, I as 0, N as 0, P as 0.5",
    )


def test_unscored_epochs_are_left_out_of_the_mean(read_log):
    epochs = [sample("a", {"m": value}, epoch=n) for n, value in enumerate((1, 0, float("nan")), 1)]
    found = read_log(epochs)
    assert found.frame[["m", "n_repeats"]].to_numpy().tolist() == [[0.5, 3]]


def test_tokens_are_those_of_the_model_not_of_its_judge(read_log):
    usage = {"gpt": {"input_tokens": 7, "output_tokens": 3}, "judge": {"input_tokens": 900}}
    found = read_log([sample("a", {"m": 1}, model_usage=usage, working_time=0.25)])
    assert found.frame[["latency_ms", "prompt_tokens", "completion_tokens"]].iloc[0].tolist() == [
        *(250.0, 7.0, 3.0)
    ]


# -- logs that lack something


def test_an_archive_without_its_header_is_still_running_or_was_killed(write):
    start = {"version": 2, "eval": log([])["eval"], "plan": {}}
    members = {"_journal/start.json": start, "samples/a_epoch_1.json": sample("a", {"m": 1})}
    [found] = read(write(zipped(members)))
    assert found.frame["m"].tolist() == [1.0]
    assert "the log has status 'started', not 'success'" in found.notes


def test_samples_in_chunks_are_read(write):
    header = {key: value for key, value in log([]).items() if key != "samples"}
    members = {
        "header.json": header,
        "samples/a_epoch_1/sample.json": sample("a", {"m": 1}),
        "samples/a_epoch_1/metadata.json": {"topic": "x"},
        "samples/a_epoch_1/events/0.json": [],
    }
    [found] = read(write(zipped(members)))
    assert found.frame[["query_id", "m", "topic"]].to_numpy().tolist() == [["a", 1.0, "x"]]


def test_an_archive_that_leads_out_of_its_folder_is_known_and_refused(write):
    members = {"header.json": log([]), "../samples/a_epoch_1.json": sample("a", {"m": 1})}
    with pytest.raises(ReaderError, match="the archive contains paths outside its root"):
        read(write(zipped(members)))


def test_a_frame_of_two_logs_is_two_pipelines(write):
    rows = [
        {
            "sample_id": "x",
            "eval_id": "1",
            "id": "a",
            "epoch": 1,
            "task_name": "t",
            "model": "gpt",
            "score_m": "C",
        },
        {
            "sample_id": "y",
            "eval_id": "2",
            "id": "a",
            "epoch": 1,
            "task_name": "t",
            "model": "llama",
            "score_m": "I",
        },
    ]
    found = read(write(pd.DataFrame(rows).to_csv(index=False)))
    assert [one.pipeline for one in found] == ["t:gpt", "t:llama"]
    assert [one.frame["m"].tolist() for one in found] == [[1.0], [0.0]]

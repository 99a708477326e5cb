"""Files that langsmith 0.15.0 wrote; ``make_langsmith.py`` beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rageval_report import read_scores

FILES = Path(__file__).parents[2] / "golden" / "langsmith"
TOLD = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
BOTH = pytest.mark.parametrize("name", ["experiment.csv", "experiment.jsonl"])


def mean_told(metric, example):
    runs = [run for run, one in TOLD["examples"].items() if one == example]
    scores = [TOLD["scores"][run].get(metric) for run in runs]
    return np.mean([np.nan if one is None else float(one) for one in scores])


@BOTH
@pytest.mark.parametrize("metric", ["exact", "faithfulness"])
def test_scores_are_the_means_of_the_library_s_repetitions(name, metric):
    [evaluation] = read_scores(FILES / name).values()
    told = [mean_told(metric, example) for example in evaluation.scores.index]
    assert np.allclose(evaluation.scores[metric], told, rtol=0, atol=1e-10, equal_nan=True)


@BOTH
def test_examples_are_the_queries_and_repetitions_are_counted(name):
    [evaluation] = read_scores(FILES / name).values()
    assert evaluation.scores.index.tolist() == sorted(set(TOLD["examples"].values()))
    assert evaluation.details["n_repeats"].tolist() == [2, 2, 2]


@BOTH
def test_a_broken_pipeline_leaves_its_error(name):
    details = read_scores(FILES / name)["experiment"].details
    assert details["error"].iloc[2].startswith("ValueError('the pipeline broke')")
    assert details["error"].isna().tolist() == [True, True, False]


def test_seconds_become_milliseconds(frame_text):
    frame = frame_text("inputs.q,feedback.f1,execution_time\nwhy,1,0.25\nwho,0,\n")
    assert np.array_equal(frame["latency_ms"], [250, np.nan], equal_nan=True)


def test_an_unscored_cell_of_a_broken_run_failed(frame_text):
    rows = "inputs.q,feedback.f1,error,example_id\nwhy,,ValueError: broken,a\nwho,1,,b\n"
    frame = frame_text(rows)
    assert frame["f1_state"].tolist() == ["failed", "scored"]
    assert frame["f1_reason"].tolist()[0] == "ValueError: broken"

"""Files that the SDK braintrust 0.47.0 gave; ``make_braintrust.py`` beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import read
from rageval_report.scores.states import states_frame

FILES = Path(__file__).parents[2] / "golden" / "braintrust"
EACH = pytest.mark.parametrize("name", ["experiment.json", "experiment.jsonl", "experiment.csv"])


def case(**more):
    fields = {"input": "why?", "output": "so", "expected": "so", "metadata": None, "scores": {}}
    return fields | more


@EACH
def test_scores_are_those_of_the_scorers(name):
    """The answer doubles with each trial, so that exact match holds in the first alone."""
    [evaluation] = read_scores(FILES / name).values()
    nan = np.nan
    assert np.array_equal(evaluation.scores["exact"], [0.5, 0.5, 1, nan], equal_nan=True)
    assert np.array_equal(evaluation.scores["faithfulness"], [1 / 3, nan, nan, nan], equal_nan=True)


@EACH
def test_a_failed_scorer_a_broken_pipeline_and_none_are_told_apart(name):
    [evaluation] = read_scores(FILES / name).values()
    states = states_frame(evaluation.scores, evaluation.details)["faithfulness"]
    assert states.tolist() == ["scored", "failed", "missing", "failed"]
    reasons = evaluation.details["faithfulness_reason"].tolist()
    assert reasons[1] == "RuntimeError: the judge timed out"
    assert evaluation.details["error"].tolist()[3] == "ValueError('the pipeline broke')"


@EACH
def test_trials_of_an_input_become_one_row(name):
    [evaluation] = read_scores(FILES / name).values()
    assert evaluation.details["n_repeats"].tolist() == [2, 2, 2, 2]
    assert evaluation.details["question"].tolist()[0] == "Who wrote Dune?"
    assert evaluation.details[["k", "topic"]].to_numpy().tolist() == [[5, "t"]] * 4


def test_its_own_measures_become_latency_tokens_and_cost(write):
    metrics = {"start": 10.0, "end": 10.5, "prompt_tokens": 7, "tokens": 9, "estimated_cost": 0.01}
    [found] = read(write(json.dumps([case(scores={"f1": 1}, metrics=metrics)])))
    names = ["latency_ms", "prompt_tokens", "total_tokens", "cost_usd", "f1"]
    assert found.frame[names].to_numpy().tolist() == [[500, 7, 9, 0.01, 1]]
    assert found.metric_columns == tuple(names)


def test_spans_within_a_case_are_left_out(write):
    root = {"span_id": "r", "root_span_id": "r"}
    rows = [case(scores={"f1": 1}, **root), case(span_id="s", root_span_id="r")]
    [found] = read(write(json.dumps(rows)))
    assert found.frame["f1"].tolist() == [1]
    assert found.notes[0] == "1 rows are inner spans of a case and are left out"


def test_an_id_that_some_rows_lack_is_no_query_id(write):
    rows = [
        case(input="a", scores={"f1": 1}, metadata={"id": "x"}),
        case(input="b", scores={"f1": 0}, metadata={}),
    ]
    [evaluation] = read_scores(write(json.dumps(rows))).values()
    assert evaluation.details["metadata.id"].tolist()[0] == "x"


def test_scores_that_are_no_object_are_refused(write):
    with pytest.raises(ReaderError, match="scores must be an object; got a number"):
        read(write(json.dumps([case(scores=1)])))

"""What is unknown is never equal; what changed is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.history.changes import (
    DatedRun,
    config_changes,
    fields_of,
    is_of_measurement,
    measurement_changes,
    run_row,
)
from rageval_report.analysis.history.run_pairs import common_queries, query_set_change

CONFIGS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2))


def dated(ids=("a", "b"), *, config=None, metrics=None, **columns):
    columns = columns or {"recall": [0.5] * len(ids)}
    made = RAGPipelineEvaluation("hybrid", {"query_id": list(ids), **columns}, metrics=metrics)
    return DatedRun.of(made, config=config)


@given(CONFIGS, CONFIGS)
def test_a_field_is_silent_only_where_both_tell_the_same(before, after):
    told = {change.field: change for change in config_changes(before, after, "abcd")}
    for field in "abcd":
        both = field in before and field in after
        assert (field in told) == (not both or before[field] != after[field])
        if field in told:
            assert told[field].is_known == both


def test_unknown_is_said_on_the_side_that_does_not_tell():
    changes = config_changes({"model": "a"}, {"top_k": 5}, ["model", "top_k", "seed"])
    assert list(map(str, changes)) == ["model: a → unknown", "top_k: unknown → 5", "seed: unknown"]


def test_nested_fields_are_compared_one_by_one():
    before = dated(config={"retriever": {"top_k": 5, "index": {"kind": "flat"}}})
    after = dated(config={"retriever": {"top_k": 10, "index": {"kind": "flat"}}})
    changes = config_changes(before.config, after.config, fields_of([before, after]))
    assert list(map(str, changes)) == ["retriever.top_k: 5 → 10"]


def test_lists_and_tuples_of_one_content_are_equal():
    before, after = dated(config={"stop": ("a", "b")}), dated(config={"stop": ["a", "b"]})
    assert config_changes(before.config, after.config, ["stop"]) == []


def test_long_values_are_cut():
    [change] = config_changes({"prompt": "x" * 500}, {"prompt": "y" * 500}, ["prompt"])
    assert len(str(change)) < 100


@pytest.mark.parametrize("field", ["judge", "judge_model", "eval.Judge-Model", "dataset", "gold_v"])
def test_fields_of_judging_and_data_are_of_measurement(field):
    assert is_of_measurement(field)


@pytest.mark.parametrize("field", ["model", "top_k", "retriever.embedding", "prejudge", "goldfish"])
def test_fields_of_the_pipeline_are_not(field):
    assert not is_of_measurement(field)


def test_the_order_of_queries_changes_no_gold_set():
    assert query_set_change(dated("ab"), dated("ba")) == ""


def test_what_changed_of_a_gold_set_is_counted():
    before = dated("abc", reference=["x", "y", "z"], recall=[0.5] * 3)
    after = dated("bcd", reference=["y", "Z", "w"], recall=[0.5] * 3)
    told = "query set: 1 added, 1 removed, 1 with another reference"
    assert query_set_change(before, after) == told


def test_common_queries_have_the_same_id_and_reference():
    before = dated("abc", reference=["x", "y", "z"], recall=[0.5] * 3)
    after = dated("bcd", reference=["y", "Z", "w"], recall=[0.5] * 3)
    assert list(common_queries(before, after)) == ["b"]


def test_a_metric_of_another_direction_or_range_means_something_else():
    before = dated(metrics={"own": {"bounds": (0, 1)}}, own=[0.5, 0.6])
    after = dated(metrics={"own": {"bounds": (0, 5), "greater_is_better": False}}, own=[1.0, 2.0])
    told = measurement_changes(before, after, after.metrics["own"], [])
    assert [change.field for change in told] == ["direction", "bounds"]
    assert all(change.is_known for change in told)


def test_a_metric_is_found_by_its_meaning():
    other = dated(**{"MRR@10": [0.5, 0.6]})
    [known] = dated(**{"mrr@10": [0.5, 0.6]}).metrics.values()
    assert other.metric(known) is not None


def test_the_first_run_has_nothing_to_differ_from():
    run = dated(config={"top_k": 5})
    row = run_row(None, run, ["top_k"])
    assert row["gold_set"] is None
    assert row["config"] is None


def test_runs_that_tell_no_set_up_are_unknown_not_the_same():
    assert run_row(dated(), dated(), [])["config"] == "unknown"

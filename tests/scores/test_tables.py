"""What people write in tables, and what becomes of it: the cases of `tables.toml`."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from rageval_report.errors import DataError
from rageval_report.scores import score_table

CASES = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))
NO_CELL = "<none>"


def cells_of(values):
    return [None if value == NO_CELL else value for value in values]


@pytest.mark.parametrize(
    "case", CASES["case"], ids=lambda case: f"{case.get('name')}-{case['cells']}"[:60]
)
def test_a_column_becomes_what_its_cells_and_its_name_say(case):
    label, cells = case.get("name", "my_metric"), cells_of(case["cells"])
    data = {"query_id": [f"q{n}" for n in range(len(cells))], "recall": [1.0] * len(cells)}
    options = case.get("options", {})
    if "error" in case:
        with pytest.raises(DataError, match=case["error"]):
            score_table({**data, label: cells}, **options)
        return
    table = score_table({**data, label: cells}, **options)
    if case.get("detail"):
        assert label in table.details
    else:
        [metric] = [metric for metric in table.metrics.values() if metric.name != "recall"]
        np.testing.assert_array_equal(table.scores[metric.name], case["scores"])
        facts = {"kind": metric.kind, "title": metric.title, "higher": metric.greater_is_better}
        facts["bounds"] = None if metric.bounds is None else list(metric.bounds)
        assert {key: facts[key] for key in facts if key in case} == {
            key: case[key] for key in facts if key in case
        }
        for key in ("states", "reasons"):
            if key in case:
                assert table.details[f"{label}_{key[:-1]}"].tolist() == cells_of(case[key])
    check_notes(table, case)


def check_notes(table, case):
    assert list(table.notes) == case.get("notes", list(table.notes))
    assert any(re.search(case.get("note", ""), note) for note in [*table.notes, ""])


@pytest.mark.parametrize("case", CASES["table"], ids=lambda case: f"{case['data']}"[:70])
def test_a_table_has_the_queries_and_the_metrics_that_it_shows(case):
    data, options = (
        {name: cells_of(own) for name, own in case["data"].items()},
        case.get("options", {}),
    )
    if "error" in case:
        with pytest.raises(DataError, match=case["error"]):
            score_table(data, **options)
        return
    table = score_table(data, **options)
    assert len(table.scores) == case.get("n", len(case.get("ids", table.scores)))
    assert table.scores.index.tolist() == case.get("ids", table.scores.index.tolist())
    assert list(table.scores) == case.get("metrics", list(table.scores))
    assert list(table.details) == case.get("details", list(table.details))
    check_notes(table, case)

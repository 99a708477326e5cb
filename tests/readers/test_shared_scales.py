"""A metric of several pipelines in one file is on one scale, or the file is refused."""

from __future__ import annotations

import pandas as pd
import pytest

from rageval_report import compare, inspect, read_scores
from rageval_report.errors import DataError


def table(metric, first, second, *, column="pipeline"):
    """A wide table of pipelines "a" and "b"."""
    n = len(first)
    return pd.DataFrame(
        {
            "query_id": [f"q{i}" for i in range(n)] * 2,
            column: ["a"] * n + ["b"] * n,
            metric: [*first, *second],
        }
    )


def long(metric, first, second):
    """A long table of the same."""
    rows = [
        {"query_id": f"q{i}", "pipeline": name, "metric": metric, "value": value}
        for name, values in (("a", first), ("b", second))
        for i, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


SHARES_AND_PERCENT = ([0.4, 0.8, 0.5, 0.9], [45.0, 80.0, 50.0, 90.0])


@pytest.mark.parametrize("shape", [table, long])
@pytest.mark.parametrize("metric", ["recall@5", "faithfulness", "my_score"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "frame"])
def test_shares_in_one_pipeline_and_percent_in_another_are_refused(metric, shape, kind, tmp_path):
    frame = shape(metric, *SHARES_AND_PERCENT)
    path = tmp_path / f"runs.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    message = r"two scales: 0\.4 at 'q0 of a' and 90 at 'q3 of b'.*metrics=\{'.*': \{'bounds'"
    with pytest.raises(DataError, match=message):
        read_scores(frame if kind == "frame" else path)


@pytest.mark.parametrize("metric", ["recall@5", "my_score"])
def test_stated_bounds_decide(metric):
    runs = read_scores(table(metric, *SHARES_AND_PERCENT), metrics={metric: {"bounds": (0, 100)}})
    assert [run.metrics[metric].bounds for run in runs.values()] == [(0, 100), (0, 100)]
    assert [run.scores[metric].tolist() for run in runs.values()] == [*SHARES_AND_PERCENT]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # A decimal comma in one pipeline says what the comma of the other one is.
        (
            ["1,234", "1,235", "1,5"],
            ["1,250", "1,111", "1,3"],
            [[1.234, 1.235, 1.5], [1.25, 1.111, 1.3]],
        ),
        (
            ["0,83", "1,2", "0,5"],
            ["1,234", "1,375", "1,125"],
            [[0.83, 1.2, 0.5], [1.234, 1.375, 1.125]],
        ),
        (
            ["12,345.6", "900.5", "1.5"],
            ["1,234", "1,375", "2,125"],
            [[12345.6, 900.5, 1.5], [1234, 1375, 2125]],
        ),
    ],
)
def test_the_cells_of_all_pipelines_decide_what_a_cell_is(first, second, expected):
    runs = read_scores(table("my_score", first, second))
    assert [run.scores["my_score"].tolist() for run in runs.values()] == expected
    # As the whole column is read where all rows are one pipeline.
    one = pd.DataFrame({"query_id": list("abcdef"), "my_score": [*first, *second]})
    [whole] = read_scores(one).values()
    assert whole.scores["my_score"].tolist() == [*expected[0], *expected[1]]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (["85 %", "40 %"], ["0.9", "0.8"], r"two kinds.*'85 %' at 'q0 of a'.*'q0 of b'"),
        (["3/5", "4/5"], ["4", "5"], r"two kinds.*'3/5' at 'q0 of a'.*'4' at 'q0 of b'"),
    ],
)
def test_two_ways_to_write_a_number_are_refused_across_pipelines(first, second, message):
    with pytest.raises(DataError, match=message):
        read_scores(table("quality", first, second))


def test_marks_are_on_one_scale_even_where_a_pipeline_has_only_ones():
    runs = read_scores(table("groundedness", [1, 1, 1], [2, 5, 1]))
    assert {run.metrics["groundedness"].bounds for run in runs.values()} == {(1.0, 5.0)}
    assert all(any("marks from 1 to 5" in note for note in run.notes) for run in runs.values())
    assert compare(*runs.values()).frame["difference"].tolist() == [pytest.approx(5 / 3)]


def test_zero_and_one_beside_larger_counts_are_one_kind():
    runs = read_scores(table("my_points", [0, 1, 1, 0], [0, 7, 3, 1]))
    assert [run.metrics["my_points"].kind for run in runs.values()] == ["ordinal", "ordinal"]
    assert not any(role.in_family for run in runs.values() for role in run.metrics.values())


@pytest.mark.parametrize("metric", ["latency_ms", "cost_usd"])
def test_what_a_query_takes_has_no_scale_of_shares(metric):
    runs = read_scores(table(metric, [0.4, 0.8, 0.5], [45.0, 80.0, 50.0]))
    assert [run.scores[metric].mean() for run in runs.values()] == pytest.approx([1.7 / 3, 175 / 3])


def test_states_and_reasons_stay_with_their_cells():
    cells = ["85 %", "n/a", "judge broke"], ["45 %", "timeout", "9 %"]
    runs = read_scores(table("tone", *cells), metrics=["tone"])
    assert runs["a"].scores["tone"].isna().tolist() == [False, True, True]
    assert runs["a"].details["tone_state"].tolist()[1] == "not applicable"
    assert "judge broke" in runs["a"].details["tone_reason"].tolist()[2]
    assert runs["b"].scores["tone"].dropna().tolist() == [0.45, 0.09]
    assert runs["b"].details["tone_state"].tolist()[1] == "failed"


def test_objects_beside_numbers_of_another_pipeline_are_read():
    runs = read_scores(table("tone", [0.85, 0.4], [0.45, {"score": 0.8, "reason": "so"}]))
    assert runs["b"].details["tone_reason"].tolist()[1] == "so"


def test_an_inspection_shows_the_doubt():
    inspection = inspect(table("my_score", *SHARES_AND_PERCENT))
    assert any("two scales" in doubt for doubt in inspection.doubts)
    assert inspection.pipelines == ("a", "b")

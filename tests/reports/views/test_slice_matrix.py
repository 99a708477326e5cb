"""The matrix of groups and metrics, and the bars of causes."""

import pytest

from rageval_report import compare
from rageval_report.demo import demo_evaluations


@pytest.fixture(scope="module")
def parts():
    comparison = compare(*demo_evaluations())
    report = comparison.report(by="question_type", pictures=False)
    return comparison, {section.key: section for section in report.sections}


def test_each_group_has_a_row_and_each_metric_a_column(parts):
    comparison, sections = parts
    [matrix] = sections["slices"].views
    frame = comparison.slices("question_type").frame
    assert [row.label for row in matrix.rows] == ["all queries", *frame["question_type"].unique()]
    assert len(matrix.metrics) == 8
    for row in matrix.rows[1:]:
        assert row.n == frame.loc[frame["question_type"] == row.label, "n"].max()
        assert row.address == f"#slice.question_type={row.label}"


def test_causes_are_side_by_side(parts):
    _, sections = parts
    [causes] = sections["causes"].views
    first, second = (result.frame.set_index("cause")["n"] for result in sections["causes"].results)
    told = {row.title: [bar.n for bar in row.bars] for row in causes.rows}
    assert told == {
        "Retrieval": [str(first["retrieval"]), str(second["retrieval"])],
        "Generation": [str(first["generation"]), str(second["generation"])],
        "Nothing": [str(first["fine"]), str(second["fine"])],
    }
    failing = int(second["retrieval"] + second["generation"])
    assert causes.sentence.startswith(f"{failing} queries of hybrid fail; most often")

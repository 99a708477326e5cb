"""Every case of the headline of a comparison, in the words that a reader meets."""

import pytest

from rageval_report import compare
from rageval_report.analysis.verdicts import comparison_verdicts
from rageval_report.demo import demo_evaluations
from rageval_report.reports.comparison_report import comparison_headline

# -- not everywhere


@pytest.fixture(scope="module")
def reversed_slices():
    comparison = compare(*demo_evaluations())
    return comparison, comparison.slices("question_type")


def test_a_group_with_the_opposite_is_an_exception(reversed_slices):
    comparison, slices = reversed_slices
    told = comparison_headline(comparison, [slices]).exceptions
    frame = slices.frame[slices.frame["question_type"] == "numeric"].set_index("metric")
    # By arithmetic from the table: six of the eight metrics are shown to be worse there.
    assert int(((frame["pvalue_adjusted"] <= 0.05) & (frame["improvement"] < 0)).sum()) == 6
    before, after = frame.loc["reciprocal_rank", ["baseline_mean", "candidate_mean"]]
    assert told == (
        "On question_type numeric (39 of 198) hybrid is worse on 6 of 8 metrics: reciprocal_rank "
        f"falls from {before:.3f} to {after:.3f}.",
    )
    assert comparison_headline(comparison, [slices]).sentences[-2].startswith("Not everywhere. On")


# -- the verdicts behind it


def test_the_verdicts_are_those_of_the_other_order():
    first, second = demo_evaluations()
    there = comparison_verdicts(compare(first, second))
    back = {verdict.metric: verdict for verdict in comparison_verdicts(compare(second, first))}
    for verdict in there:
        assert verdict.turned().shown == back[verdict.metric].shown
        assert verdict.turned().difference == pytest.approx(back[verdict.metric].difference)

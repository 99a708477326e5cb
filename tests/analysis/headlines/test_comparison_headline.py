"""Every case of the headline of a comparison, in the words that a reader meets."""

import math

import pandas as pd
import pytest

from rageval_report import compare
from rageval_report.analysis.compare import Comparison
from rageval_report.analysis.verdicts import comparison_verdicts
from rageval_report.demo import demo_evaluations
from rageval_report.reports.comparison_report import comparison_headline

NAN = math.nan
ROW = {
    "baseline": "bm25",
    "candidate": "hybrid",
    "n": 100,
    "n_dropped": 0,
    "baseline_mean": 0.5,
    "candidate_mean": 0.5,
    "difference": 0.0,
    "ci_low": -0.1,
    "ci_high": 0.1,
    "pvalue": 0.5,
    "pvalue_adjusted": 0.5,
    "equivalence_pvalue_adjusted": NAN,
    "wins": 10,
    "ties": 80,
    "losses": 10,
    "min_detectable_difference": 0.12,
    "planned_difference": 0.05,
    "n_needed": 620.0,
    "smaller_planned_difference": 0.02,
    "n_needed_smaller": 3900.0,
    "greater_is_better": True,
    "kind": "proportion",
}


def table(*rows, **settings):
    named = [{"metric": f"m{place}", **ROW, **row} for place, row in enumerate(rows, start=1)]
    return Comparison("a comparison", pd.DataFrame(named), {"confidence_level": 0.95, **settings})


def headline(*rows, **settings):
    return comparison_headline(table(*rows, **settings))


# -- one candidate


# -- what it holds on


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


# -- several candidates


def several(**by_name):
    rows = [
        {**row, "candidate": name, "metric": f"m{place}"}
        for name, own in by_name.items()
        for place, row in enumerate(own, start=1)
    ]
    return headline(*rows)


# -- the verdicts behind it


def test_the_verdicts_are_those_of_the_other_order():
    first, second = demo_evaluations()
    there = comparison_verdicts(compare(first, second))
    back = {verdict.metric: verdict for verdict in comparison_verdicts(compare(second, first))}
    for verdict in there:
        assert verdict.turned().shown == back[verdict.metric].shown
        assert verdict.turned().difference == pytest.approx(back[verdict.metric].difference)

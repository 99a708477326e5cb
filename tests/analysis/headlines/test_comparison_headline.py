"""Every case of the headline of a comparison, in the words that a reader meets."""

import math

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, Result, compare
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
BETTER = {"difference": 0.2, "pvalue": 0.001, "pvalue_adjusted": 0.004}
WORSE = {"difference": -0.2, "pvalue": 0.001, "pvalue_adjusted": 0.004}
EQUIVALENT = {"equivalence_pvalue_adjusted": 0.01}
UNTESTED = {"pvalue": NAN, "pvalue_adjusted": NAN, "n": 4, "ties": 0}
IDENTICAL = {"wins": 0, "ties": 100, "losses": 0, "pvalue": 1.0, "pvalue_adjusted": 1.0}


def table(*rows, **settings):
    named = [{"metric": f"m{place}", **ROW, **row} for place, row in enumerate(rows, start=1)]
    return Comparison("a comparison", pd.DataFrame(named), {"confidence_level": 0.95, **settings})


def headline(*rows, **settings):
    return comparison_headline(table(*rows, **settings))


# -- one candidate


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [BETTER, BETTER, {}],
            "hybrid is better than bm25 on 2 of 3 metrics; nothing is shown to be worse.",
        ),
        ([BETTER, WORSE, {}], "hybrid is better than bm25 on 1 of 3 metrics and worse on m2."),
        ([BETTER, WORSE, WORSE], "hybrid is better than bm25 on 1 of 3 metrics and worse on 2."),
        ([WORSE, {}, {}], "hybrid is worse than bm25 on 1 of 3 metrics and better on none."),
        ([{}, {}], "No difference is shown between hybrid and bm25 on any of 2 metrics."),
        ([{}], "No difference is shown between hybrid and bm25 on m1."),
        (
            [EQUIVALENT, EQUIVALENT, {}],
            "No difference is shown between hybrid and bm25; 2 of 3 metrics are equivalent.",
        ),
        (
            [EQUIVALENT, {}],
            "No difference is shown between hybrid and bm25; 1 of 2 metrics is equivalent.",
        ),
        (
            [EQUIVALENT, EQUIVALENT],
            "hybrid and bm25 are equivalent on all 2 metrics, within your margins.",
        ),
        ([EQUIVALENT], "hybrid and bm25 are equivalent on m1, within your margins."),
        (
            [UNTESTED, UNTESTED],
            "Too few queries to compare hybrid and bm25: 4 in common, at least 6 are needed.",
        ),
        ([IDENTICAL, IDENTICAL], "hybrid and bm25 have the same scores on every query."),
    ],
)
def test_each_case_has_its_sentence(rows, expected):
    assert headline(*rows).text == expected


def test_a_lower_latency_is_better():
    latency = {**WORSE, "greater_is_better": False}
    assert headline(latency).text.startswith("hybrid is better than bm25 on 1 of 1 metric")


def test_the_sizes_are_told_the_surest_first_and_three_of_them():
    rows = [{**BETTER, "pvalue": 0.01 / place} for place in range(1, 6)]
    assert headline(*rows).details[0] == (
        "Better on m5 (+0.200), m4 (+0.200), m3 (+0.200) and 2 more."
    )


def test_metrics_are_called_what_the_caller_calls_them():
    titles = {"m1": "Recall@5", "m2": "Latency (ms)"}
    told = comparison_headline(table(BETTER, WORSE), labels=titles)
    assert told.text == "hybrid is better than bm25 on 1 of 2 metrics and worse on Latency (ms)."
    assert told.details == ("Better on Recall@5 (+0.200).", "Worse on Latency (ms) (-0.200).")


@pytest.mark.parametrize(
    ("needed", "expected"),
    [
        ([620.0], "1 metric is undecided: about 620 queries would show a difference of 0.05."),
        (
            [400.0, 880.0],
            "2 metrics are undecided: about 400 to 880 queries would show a difference of 0.05.",
        ),
        # Ten times the queries there are is the most that is said.
        (
            [400.0, 9000.0],
            "2 metrics are undecided: about 400 to over 1,000 queries would show a difference of "
            "0.05.",
        ),
        (
            [5000.0],
            "1 metric is undecided: over 1,000 queries would show a difference of 0.05.",
        ),
        ([NAN], "1 metric is undecided: over 1,000 queries would show a difference of 0.05."),
    ],
)
def test_what_would_decide_is_told(needed, expected):
    assert headline(*({"n_needed": n} for n in needed)).details == (expected,)


def test_a_difference_that_would_have_shown_gives_way_to_a_smaller_one():
    enough = {"n_needed": 80.0, "n_needed_smaller": 500.0}
    assert headline(enough).details == (
        "1 metric is undecided: about 500 queries would show a difference of 0.02.",
    )


def test_without_a_plan_nothing_is_promised():
    unknown = {"planned_difference": NAN, "smaller_planned_difference": NAN}
    assert headline(unknown).details == ("1 metric is undecided.",)


def test_few_queries_are_said():
    told = headline({"n": 12, "min_detectable_difference": 0.31}, {"n": 10})
    assert told.details[-1] == "Only 12 queries: differences below about 0.12 do not show."
    slow = headline({"n": 12, "kind": "real", "min_detectable_difference": 40.0})
    assert slow.details[-1] == "Only 12 queries: only large differences show."


def test_equal_and_untested_metrics_are_counted():
    told = headline(BETTER, IDENTICAL, UNTESTED, EQUIVALENT)
    assert told.details[1:] == (
        "1 metric is equivalent within your margins.",
        "1 metric is equal on every query.",
        "1 metric has fewer than 6 queries in common, too few for a test.",
    )


# -- what it holds on


def test_the_basis_counts_queries_and_those_left_out():
    first, second = demo_evaluations()
    assert comparison_headline(compare(first, second)).basis == (
        "baseline bm25, candidate hybrid · 198 paired queries · 8 metrics · 4 in one run only · "
        "up to 17 unscored on a metric"
    )


def test_a_table_without_runs_counts_its_own_queries():
    assert headline({"n": 90, "n_dropped": 10}).basis == (
        "baseline bm25, candidate hybrid · 100 paired queries · 1 metric · "
        "up to 10 unscored on a metric"
    )


def test_long_names_are_short():
    names = {f"mpnet__top_k={k}__chunk_size=128": k for k in (2, 3)}
    before, after = names
    told = headline({**BETTER, "baseline": before, "candidate": after})
    assert told.text.startswith("top_k=3 is better than top_k=2")


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


def test_a_reversal_that_is_not_tested_is_no_exception(reversed_slices):
    comparison, slices = reversed_slices
    untested = Result("", slices.frame.assign(reversal_pvalue_adjusted=NAN), slices.settings)
    assert comparison_headline(comparison, [untested]).exceptions == ()
    not_shown = Result("", slices.frame.assign(reversal_pvalue_adjusted=0.2), slices.settings)
    assert comparison_headline(comparison, [not_shown]).exceptions == ()


def test_slices_that_agree_are_no_exception(reversed_slices):
    comparison, _ = reversed_slices
    assert comparison_headline(comparison, [comparison.slices("domain")]).exceptions == ()


def test_many_exceptions_are_counted():
    rows = [
        {
            "metric": "recall",
            "candidate": "hybrid",
            "topic": f"topic {place}",
            "n": 25,
            "baseline_mean": 0.9,
            "candidate_mean": 0.4,
            "improvement": -0.5,
            "effect_size": -1.0,
            "pvalue": 0.001 * place,
            "pvalue_adjusted": 0.01 * place,
            "reversal_pvalue_adjusted": 0.01 * place,
        }
        for place in (3, 1, 2)
    ]
    slices = Result("", pd.DataFrame(rows), {"by": "topic"})
    told = comparison_headline(table(BETTER), [slices]).exceptions
    assert [text[:10] for text in told] == ["On topic t", "On topic t", "The same h"]
    assert told[0] == (
        "On topic topic 1 (25 of 75) hybrid is worse on 1 of 1 metric: recall falls from 0.900 to "
        "0.400."
    )
    assert told[2] == "The same holds for 1 more group, see below."


# -- several candidates


def several(**by_name):
    rows = [
        {**row, "candidate": name, "metric": f"m{place}"}
        for name, own in by_name.items()
        for place, row in enumerate(own, start=1)
    ]
    return headline(*rows)


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        (
            {"dense": [{}], "hybrid": [{}]},
            "No difference is shown between bm25 and any of its 2 candidates.",
        ),
        (
            {"dense": [{}, {}], "hybrid": [BETTER, {}]},
            "hybrid is better than bm25 and worse on nothing.",
        ),
        (
            {"dense": [WORSE, {}], "hybrid": [BETTER, {}]},
            "hybrid is better than bm25 and worse on nothing; dense is worse.",
        ),
        (
            {"dense": [BETTER, {}], "hybrid": [BETTER, {}], "hyde": [BETTER, WORSE]},
            "2 of 3 candidates are better than bm25 and worse on nothing; 1 is better on some "
            "metrics and worse on others.",
        ),
        (
            {"dense": [BETTER, WORSE], "hybrid": [WORSE, {}]},
            "1 of 2 candidates is better than bm25 on some metrics and worse on others; 1 is "
            "worse.",
        ),
        (
            {"dense": [WORSE, WORSE], "hybrid": [{}, {}]},
            "1 of 2 candidates is worse than bm25 and better on nothing.",
        ),
    ],
)
def test_several_candidates_are_told_together(candidates, expected):
    assert several(**candidates).text == expected


def test_each_candidate_that_differs_has_its_line():
    told = several(dense=[BETTER, WORSE], hybrid=[{}, {}], hyde=[WORSE, {}])
    assert told.details == (
        "dense: better on m1, worse on m2.",
        "hyde: worse on m1.",
        "No difference is shown for 1 candidate.",
    )
    many = several(**{f"c{n}": [BETTER] for n in range(6)})
    assert many.details[-1] == "3 more differ, see below."


# -- the verdicts behind it


def test_a_verdict_turned_twice_is_itself():
    for verdict in comparison_verdicts(compare(*demo_evaluations())):
        turned = verdict.turned()
        assert turned.improvement == -verdict.improvement
        assert turned.wins, turned.losses == (verdict.losses, verdict.wins)
        assert turned.turned() == verdict or math.isnan(verdict.margin)
        assert repr(turned.turned()) == repr(verdict)


def test_the_verdicts_are_those_of_the_other_order():
    first, second = demo_evaluations()
    there = comparison_verdicts(compare(first, second))
    back = {verdict.metric: verdict for verdict in comparison_verdicts(compare(second, first))}
    for verdict in there:
        assert verdict.turned().shown == back[verdict.metric].shown
        assert verdict.turned().difference == pytest.approx(back[verdict.metric].difference)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (BETTER, "better on 10, worse on 10 queries"),
        ({**BETTER, "losses": 1}, "better on 10, worse on 1 query"),
        ({}, "~620 queries to see 0.05, 100 now"),
        ({"n_needed": 2000.0}, "over 1,000 queries to see 0.05, 100 now"),
        (EQUIVALENT, "within ±0.08, your margin"),
        (IDENTICAL, "equal on all 100 queries"),
        (UNTESTED, "4 queries in common"),
    ],
)
def test_the_line_under_a_verdict(row, reason):
    [verdict] = comparison_verdicts(table(row, margin=0.08))
    assert verdict.reason == reason


def test_a_comparison_of_five_queries_is_too_small():
    scores = np.linspace(0, 1, 5)
    first = RAGPipelineEvaluation("a", {"query_id": list("vwxyz"), "recall": scores})
    second = RAGPipelineEvaluation("b", {"query_id": list("vwxyz"), "recall": scores[::-1]})
    told = comparison_headline(compare(first, second))
    assert told.text == ("Too few queries to compare b and a: 5 in common, at least 6 are needed.")
    assert told.details == ()

"""A paired test and an interval from outside work in Python and on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.cli import rageval_report
from rageval_report.errors import DataError
from rageval_report.stats import (
    PAIRED_INTERVALS,
    TESTS,
    Interval,
    PairedTest,
    Pairs,
    paired_interval,
    paired_test,
)

BASELINE = [0.31, 0.22, 0.44, 0.05, 0.61, 0.72, 0.13, 0.58]
CANDIDATE = [0.41, 0.35, 0.40, 0.25, 0.66, 0.81, 0.33, 0.69]
DIFFERENCE = float(np.mean(np.subtract(CANDIDATE, BASELINE)))
PVALUE = 0.0123


def median_test(pairs: Pairs, *, alternative: str, n_resamples: int, seed: int):
    """The median difference, with a p-value that shows where it comes from."""
    assert (alternative, n_resamples, seed) == ("two-sided", 9999, 0)
    return float(np.median(pairs.differences.listed())), PVALUE


def wide_interval(pairs: Pairs, *, confidence_level: float, n_resamples: int, seed: int):
    """One score unit on either side of the mean difference."""
    mean = pairs.mean
    return Interval(mean, mean - 1.0, mean + 1.0, 0.5, "wide", confidence_level)


@pytest.fixture(autouse=True)
def _additions():
    PAIRED_INTERVALS.add("wide", wide_interval)
    TESTS.add("my_test", PairedTest(median_test, statistic="median difference", interval="wide"))
    TESTS.add("bare_test", median_test)
    yield
    del PAIRED_INTERVALS._entries["wide"], TESTS._entries["my_test"], TESTS._entries["bare_test"]


def evaluations():
    ids = [f"q{i}" for i in range(len(BASELINE))]
    return [
        RAGPipelineEvaluation(name, {"query_id": ids, "faithfulness": scores})
        for name, scores in (("old", BASELINE), ("new", CANDIDATE))
    ]


@pytest.fixture
def files(tmp_path):
    paths = []
    for evaluation in evaluations():
        path = tmp_path / f"{evaluation.name}.csv"
        evaluation.data.to_csv(path, index=False)
        paths.append(str(path))
    return paths


def limits(row):
    return row["ci_low"], row["ci_high"]


WIDE = pytest.approx((max(-1.0, DIFFERENCE - 1.0), min(1.0, DIFFERENCE + 1.0)))


def test_both_work_on_plain_arrays():
    result = paired_test(BASELINE, CANDIDATE, test="my_test")
    assert (result.test, result.pvalue) == ("my_test", PVALUE)
    assert result.statistic == pytest.approx(np.median(np.subtract(CANDIDATE, BASELINE)))
    interval = paired_interval(BASELINE, CANDIDATE, method="wide")
    assert (interval.method, interval.high - interval.low) == ("wide", pytest.approx(2.0))


def test_a_comparison_takes_the_test_with_the_interval_that_its_entry_names():
    comparison = compare(*evaluations(), test="my_test")
    [row] = comparison.frame.to_dict("records")
    assert (row["test"], row["pvalue"], row["ci_method"]) == ("my_test", PVALUE, "wide")
    assert limits(row) == WIDE
    assert comparison.settings["interval"] == "wide"


def test_a_ranking_takes_the_test_and_its_interval():
    [row] = rank(*evaluations(), test="my_test").pairs.frame.to_dict("records")
    assert (row["test"], row["pvalue"]) == ("my_test", PVALUE)
    assert limits(row) == WIDE


def test_a_test_that_names_no_interval_never_gets_that_of_another_test():
    assert paired_test(BASELINE, CANDIDATE, test="bare_test").pvalue == PVALUE
    expected = r"'bare_test' has no interval of its own.*PairedTest\(function, interval=\"t\"\)"
    with pytest.raises(DataError, match=expected):
        compare(*evaluations(), test="bare_test")
    with pytest.raises(DataError, match=expected):
        _ = rank(*evaluations(), test="bare_test").pairs


def test_every_test_of_the_library_names_an_interval_and_its_statistic():
    for name, entry in TESTS.items():
        if name != "bare_test":
            assert entry.interval in {"auto", *PAIRED_INTERVALS}
            assert entry.statistic


def test_the_command_line_takes_the_test_and_its_interval(files):
    command = ["compare", *files, "--test", "my_test", "--format", "json"]
    result = CliRunner().invoke(rageval_report, command)
    assert result.exit_code == 0, result.output
    [row] = json.loads(result.stdout)["rows"]
    assert (row["test"], row["pvalue"], row["ci_method"]) == ("my_test", PVALUE, "wide")
    assert limits(row) == WIDE


def test_the_command_line_says_how_to_name_an_interval(files):
    result = CliRunner().invoke(rageval_report, ["compare", *files, "--test", "bare_test"])
    assert result.exit_code == 2
    assert "'bare_test' has no interval of its own" in result.stderr


def test_a_misspelt_name_is_met_with_the_nearest(files):
    result = CliRunner().invoke(rageval_report, ["compare", *files, "--test", "my_tset"])
    assert result.exit_code == 2
    assert "no paired test is named 'my_tset'. Did you mean 'my_test'?" in result.stderr

from __future__ import annotations

import inspect
import pickle

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, errors
from rageval_report.errors import (
    AlignmentError,
    ArgumentKindError,
    DataError,
    GateError,
    JudgeError,
    MissingDependencyError,
    PipelineError,
    RagevalError,
    ReaderError,
    UnknownNameError,
    UnknownValueError,
    check_choice,
    install_command,
    named,
)

BUILT_IN = {
    DataError: ValueError,
    AlignmentError: ValueError,
    ArgumentKindError: TypeError,
    ReaderError: ValueError,
    UnknownNameError: KeyError,
    UnknownValueError: ValueError,
    MissingDependencyError: ImportError,
    PipelineError: RuntimeError,
    JudgeError: RuntimeError,
    GateError: AssertionError,
}


@pytest.mark.parametrize("error", BUILT_IN)
def test_each_error_is_of_the_tree_and_the_built_in_that_a_caller_expects(error):
    assert issubclass(error, RagevalError)
    assert issubclass(error, BUILT_IN[error])


def test_the_tree_is_drawn_whole():
    tree = [
        one
        for _, one in inspect.getmembers(errors, inspect.isclass)
        if one.__module__ == errors.__name__
    ]
    for error in tree:
        assert error.__name__ in errors.__doc__


# -- files


def test_a_reader_error_opens_with_the_file_and_the_line():
    error = ReaderError("expected a number", "scores.csv", 12)
    assert str(error) == "scores.csv, line 12: expected a number"
    assert (error.path, error.line) == ("scores.csv", 12)
    assert str(ReaderError("it is empty", "scores.csv")) == "scores.csv: it is empty"
    assert str(ReaderError("it is empty")) == "it is empty"


# -- names


def test_an_unknown_name_is_told_with_the_nearest_and_all_known_ones():
    error = UnknownNameError("metric", "recal", ["recall", "bleu"])
    message = "no metric is named 'recal'. Did you mean 'recall'? Known: bleu, recall."
    assert str(error) == message


# -- packages


def test_a_missing_package_is_told_with_the_extra_that_brings_it():
    error = MissingDependencyError("openpyxl", "excel")
    line = install_command("rageval-report[excel]")
    assert str(error).endswith(f"'openpyxl', which is not installed: {line}")
    assert (error.package, error.extra) == ("openpyxl", "excel")


# -- lists of things


@pytest.mark.parametrize(
    ("things", "told"),
    [
        ([], ""),
        (["a"], "'a'"),
        ("abcde", "'a', 'b', 'c', 'd', 'e'"),
        ("abcdef", "'a', 'b', 'c', 'd', 'e' and 1 more"),
        (range(1000), "0, 1, 2, 3, 4 and 995 more"),
        (iter(["it's"]), '"it\'s"'),
    ],
)
def test_five_things_are_named_and_the_rest_is_counted(things, told):
    assert named(things) == told


@pytest.mark.parametrize(
    "error",
    [
        DataError("x"),
        UnknownNameError("metric", "recal", ["recall"]),
        MissingDependencyError("pyarrow", "parquet"),
        ReaderError("it is cut", "a.csv", 3),
    ],
)
def test_errors_come_back_from_another_process_as_they_were(error):
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back)) == (type(error), str(error))


# -- parameters with few values


def test_a_wrong_value_is_answered_with_the_parameter_and_its_values():
    with pytest.raises(UnknownValueError) as caught:
        check_choice("missing", "zero", ("drop", "worst", "bounds"))
    assert str(caught.value) == 'missing must be "drop", "worst" or "bounds"; got "zero"'
    assert isinstance(caught.value, UnknownNameError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


# -- arguments of wrong kinds


@pytest.mark.parametrize("other", [{}, None, pd.DataFrame({"a": [1]}), "run.csv"])
@pytest.mark.parametrize("method", ["comparative_summary", "comparative_detailed_report"])
def test_anything_but_an_evaluation_is_refused_by_its_kind(method, other):
    evaluation = RAGPipelineEvaluation("a", {"query_id": ["q1", "q2"], "recall": [0, 1]})
    with pytest.raises(DataError, match="RAGPipelineEvaluation") as caught:
        getattr(evaluation, method)(other)
    assert "\n" not in str(caught.value)

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
    RagevalWarning,
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


def test_the_warning_is_no_error():
    assert issubclass(RagevalWarning, UserWarning)
    assert not issubclass(RagevalWarning, RagevalError)


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


def test_the_nearest_name_is_found_in_any_case():
    assert "Did you mean 'holm'?" in str(UnknownNameError("correction", "HOLM", ["holm", "bh"]))


def test_a_name_like_no_other_gets_no_hint():
    error = UnknownNameError("metric", "zzz", ["recall"])
    assert str(error) == "no metric is named 'zzz'. Known: recall."


def test_nothing_known_is_told_so():
    assert str(UnknownNameError("reader", "csv", [])) == "no reader is named 'csv'. Known: none."


def test_the_message_of_an_unknown_name_is_not_quoted_like_that_of_a_key_error():
    assert str(KeyError("x")) == "'x'"
    assert not str(UnknownNameError("metric", "x", [])).startswith(("'", '"'))


# -- packages


def test_a_missing_package_is_told_with_the_extra_that_brings_it():
    error = MissingDependencyError("openpyxl", "excel")
    line = install_command("rageval-report[excel]")
    assert str(error).endswith(f"'openpyxl', which is not installed: {line}")
    assert (error.package, error.extra) == ("openpyxl", "excel")


def test_a_missing_package_that_no_extra_brings_is_told_by_its_own_name():
    line = install_command("torch")
    assert str(MissingDependencyError("torch")).endswith(f"not installed: {line}")


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


def test_more_are_named_on_request():
    assert named(range(4), most=3) == "0, 1, 2 and 1 more"


@pytest.mark.parametrize("error", [DataError("x"), GateError("y")])
def test_an_error_survives_the_way_from_another_process(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))


@pytest.mark.parametrize(
    "error",
    [
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


def test_a_near_value_is_suggested_and_a_value_that_is_not_a_text_is_shown():
    with pytest.raises(UnknownValueError, match=r'got "dorp"\. Did you mean \'drop\'\?$'):
        check_choice("missing", "dorp", ("drop", "worst"))
    with pytest.raises(UnknownValueError, match=r'^how must be "a"; got 3$'):
        check_choice("how", 3, ("a",))


def test_a_known_value_passes():
    assert check_choice("missing", "drop", ("drop", "worst")) is None


# -- arguments of wrong kinds


@pytest.mark.parametrize("other", [{}, [], None, 5, pd.DataFrame({"a": [1]}), "run.csv"])
@pytest.mark.parametrize(
    "method", ["comparative_summary", "comparative_detailed_summary", "comparative_detailed_report"]
)
def test_anything_but_an_evaluation_is_refused_by_its_kind(method, other):
    evaluation = RAGPipelineEvaluation("a", {"query_id": ["q1", "q2"], "recall": [0, 1]})
    with pytest.raises(DataError, match="RAGPipelineEvaluation") as caught:
        getattr(evaluation, method)(other)
    assert "\n" not in str(caught.value)

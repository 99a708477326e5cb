"""An error of a request keeps its fields wherever it goes."""

import pickle

import pytest

from rageval_report.http import RequestError


def test_an_error_travels_between_processes_whole():
    error = RequestError(
        "busy", url="http://host", failure="status", status=429, retry_after=2.0, attempts=3
    )
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "http://host: busy"
    assert vars(again) == vars(error)


def test_that_nobody_listens_is_known_after_a_journey_too():
    error = RequestError("no", url="http://host", failure="connection", is_unreachable=True)
    again = pickle.loads(pickle.dumps(error.after_last_attempt(2, 60.0)))
    assert (again.is_unreachable, again.attempts) == (True, 2)


@pytest.mark.parametrize(
    ("failure", "status", "passes"),
    [
        *(("status", status, True) for status in (429, 500, 502, 503, 504, 599)),
        *(("status", status, False) for status in (300, 400, 401, 404, 408, 428, 430, 600)),
        *((failure, None, True) for failure in ("connection", "timeout")),
        *((failure, 200, False) for failure in ("content", "size", "certificate")),
    ],
)
def test_some_failures_pass_and_others_do_not(failure, status, passes):
    error = RequestError("no", url="http://host", failure=failure, status=status)
    assert error.is_temporary is passes

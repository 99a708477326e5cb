"""The comparison of marks and reports, without a type checker: CI runs `check.py` with both."""

import runpy
from pathlib import Path

CHECK = runpy.run_path(str(Path(__file__).with_name("check.py")))
MARKED = CHECK["marked_lines"]()


def test_at_least_twenty_mistakes_are_marked_and_no_right_use_is():
    assert len(MARKED) >= 20
    assert {name for name, _ in MARKED} == {"mistakes.py"}


def test_checkers_that_report_exactly_the_marked_lines_agree():
    assert CHECK["problems"](dict.fromkeys(MARKED, "an error")) == []


def test_a_mistake_that_nobody_reports_is_named():
    errors = dict.fromkeys(list(MARKED)[1:], "an error")
    name, number = next(iter(MARKED))
    (problem,) = CHECK["problems"](errors)
    assert problem.startswith(f"{name}:{number}: no error reported for")


def test_an_error_in_a_right_use_is_named():
    errors = {**dict.fromkeys(MARKED, "an error"), ("right_uses.py", 3): "no such name"}
    assert CHECK["problems"](errors) == ["right_uses.py:3: no such name"]

"""A key is seen by the header alone."""

import pickle
import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.http import Key, key_from_environment

SECRET = "sk-very-secret-0123456789"


def test_a_key_shows_itself_to_the_header_alone():
    key = Key(SECRET)
    assert key.header() == f"Bearer {SECRET}"
    assert SECRET not in f"{key} {key!r} {[key]}"


def test_a_key_is_not_written_anywhere():
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Key(SECRET))


def test_the_line_end_of_a_file_is_dropped():
    assert Key(f" {SECRET}\n", scheme="").header() == SECRET


@pytest.mark.parametrize("value", ["", " \n", "sk a", "sk-1\nsk-2", "sk-é", "sk\x00"])
def test_what_no_header_can_carry_is_refused_and_not_printed(value):
    with pytest.raises(DataError, match="the key is empty, or contains") as caught:
        Key(value)
    assert not value.strip() or value not in "".join(traceback.format_exception(caught.value))


@settings(deadline=None)
@given(st.text("abc012-_", min_size=1), st.text())
def test_whatever_surrounds_it_the_key_is_hidden(value, around):
    hidden = Key(value).redact(f"{around} {value} {around}")
    assert value not in hidden


def test_the_environment_holds_the_key(monkeypatch):
    monkeypatch.setenv("SOME_KEY", f"{SECRET}\n")
    assert key_from_environment("SOME_KEY", scheme="").header() == SECRET


def test_a_missing_key_names_its_variable(monkeypatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(DataError, match="no key: the environment variable SOME_KEY is not set"):
        key_from_environment("SOME_KEY")


def test_an_empty_key_names_its_variable(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "")
    with pytest.raises(DataError, match="the environment variable SOME_KEY is empty"):
        key_from_environment("SOME_KEY")

"""Addresses are checked, and shown without what may be a key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.http import check_address, redact_url

WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789:@?#=&%", max_size=12)


@given(WORDS, WORDS)
def test_a_query_is_never_shown(path, query):
    assert "SECRET" not in redact_url(f"https://host/{path}?{query}SECRET")


@given(st.text("abcdefghijklmnopqrstuvwxyz:@%", max_size=12))
def test_a_password_is_never_shown(user):
    assert redact_url(f"https://{user}:SECRET@host/v1") == "https://host/v1"


def test_a_user_in_an_address_is_refused_and_not_printed():
    with pytest.raises(
        DataError, match="https://host/v1: do not put credentials in a URL"
    ) as caught:
        check_address("https://me:SECRET@host/v1")
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://localhost:1", "https://[::1]:80/v1", "http://a.b?c=d"])
def test_an_address_is_taken_as_it_is(url):
    assert check_address(url) == url

"""How long to wait: what the server says, in each of its ways."""

import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.http import retry_after_seconds

MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


@given(st.integers(0, 10**6))
def test_seconds_are_read(seconds):
    assert retry_after_seconds({"retry-after": str(seconds)}) == seconds


@given(MOMENTS, st.integers(-(10**5), 10**5))
def test_a_date_counts_from_the_servers_own(now, seconds):
    now = now.replace(microsecond=0)
    headers = {
        "date": format_datetime(now, usegmt=True),
        "retry-after": format_datetime(now + timedelta(seconds=seconds), usegmt=True),
    }
    assert retry_after_seconds(headers) == max(0, seconds)


def test_without_the_servers_date_ours_counts():
    then = datetime.now(UTC) + timedelta(hours=1)
    seconds = retry_after_seconds({"retry-after": format_datetime(then, usegmt=True)})
    assert 3500 < seconds <= 3600


@pytest.mark.parametrize("text", ["-5", "-0.1"])
def test_a_time_in_the_past_is_now(text):
    assert retry_after_seconds({"retry-after": text}) == 0


@given(st.text(max_size=30))
def test_whatever_stands_there_it_is_a_time_or_nothing(text):
    seconds = retry_after_seconds({"retry-after": text, "date": text})
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


@pytest.mark.parametrize("text", ["", "soon", "nan", "inf", "1e999", "Sun, 99 Foo 1994"])
def test_what_is_no_time_is_nothing(text):
    assert retry_after_seconds({"retry-after": text}) is None


def test_nothing_said_is_nothing():
    assert retry_after_seconds({}) is None

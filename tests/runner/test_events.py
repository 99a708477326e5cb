"""Server-sent events, as the HTML standard parses them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.runner.targets import events_in


def said(body: bytes) -> list[tuple[str, str]]:
    return [(event.name, event.data) for event in events_in(body)]


# The examples of the HTML Living Standard, section 9.2.6, "Interpreting an event stream".
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", ["YHOO\n+2\n10"]),
        (b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n", 2),
        (b"data\n\ndata\ndata\n\ndata:", ["", "\n"]),
        (b"data:test\n\ndata: test\n\n", ["test", "test"]),
    ],
)
def test_the_examples_of_the_standard(body, expected):
    found = [data for _, data in said(body)]
    assert found == (["first event", "second event"] if expected == 2 else expected)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_will_do(end):
    assert said(end.join([b"event: error", b"data: no", b"", b""])) == [("error", "no")]


def test_a_mark_at_the_beginning_is_no_text():
    assert said(b"\xef\xbb\xbfdata: a\n\n") == [("message", "a")]


@given(
    st.lists(st.text(alphabet=st.characters(exclude_characters="\r\n", exclude_categories=("Cs",))))
)
def test_what_was_sent_comes_back_in_order(texts):
    body = "".join(f"data: {text}\n\n" for text in texts).encode()
    assert [data for _, data in said(body)] == texts


@given(st.binary(max_size=200))
def test_no_bytes_fail_and_places_go_up(body):
    places = [event.place for event in events_in(body)]
    assert places == sorted(places)
    assert all(place < len(body) for place in places)

"""Damage to files, and what may come of it: a table that makes sense, or an error of our own."""

from __future__ import annotations

import math

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from rageval_report import read_scores
from rageval_report.errors import RagevalError
from rageval_report.readers import READERS, Source, read
from rageval_report.scores import score_table

PIECES = st.binary(max_size=3) | st.sampled_from(
    [
        *(b'"', b"'", b",", b"\n", b"\r", b"\t", b"\x00", b"{", b"]", b"[]", b"{}", b"[1]"),
        *(b"NaN", b"nan", b"null", b"1e9", b"1e999", b"\xef\xbb\xbf", b"\\ud800"),
    ]
)
# Where, as a share of the file; how many bytes are lost there; what takes their place.
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), PIECES), min_size=1, max_size=4)
VALUES = st.sampled_from(
    [
        *(None, 0, -1, 1.5, -1.5, 1e999, math.inf, math.nan, 10**40, 10**400, True),
        *("", "x", "C", "5", "none", "N/A", "1e999"),
        *([], [1], [[1]], [{}], [None], ["x", {}]),
        *({}, {"a": 1}, {"a": {"b": 1}}, {"score": 1}, {"score": [1]}, {"value": {"value": 1}}),
    ]
)


def damage_settings(max_examples):
    """Settings of a property: this number of examples, each with the same files of the test."""
    return settings(
        max_examples=max_examples,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def edited(content, edits):
    for place, n_lost, piece in edits:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + n_lost :]
    return content


def places_in(value, path=()):
    """The paths to all parts of a JSON document, the whole first."""
    yield path
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(child, (*path, key))


def with_part(value, path, part):
    """A JSON document with another part at a path."""
    if not path:
        return part
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_part(value[path[0]], path[1:], part)
    return copy


def is_sound(file):
    """Whether a reader has returned what its callers rely on."""
    metrics = file.metric_columns or ()
    return (
        len(file.frame) > 0
        and file.frame.columns.is_unique
        and set(metrics) <= set(file.frame)
        and all(file.frame[metric].dtype.kind in "fiubO" for metric in metrics)
    )


def is_read_or_refused(path, reader=None):
    """Whether a file is read soundly, up to the table of scores, or refused with a reason.

    Any other exception is not caught.
    """
    try:
        if reader is not None:
            entry = READERS[reader] if isinstance(reader, str) else reader
            assert 0 <= entry.recognise(Source(path)) <= 1
        files = read(path, reader=reader)
    except RagevalError as exc:
        return str(exc) != ""
    return all(map(is_sound, files)) and all(
        _is_done_or_refused(step) for step in _steps(path, reader, files)
    )


def _steps(path, reader, files):
    """What a user does with a file that was read."""
    for file in files:
        for unreadable in ("raise", "failed"):
            yield lambda file=file, unreadable=unreadable: score_table(
                file.frame,
                known=file.metrics,
                only=file.metric_columns,
                unreadable=unreadable,
            )
    yield lambda: read_scores(path, reader=reader)


def _is_done_or_refused(step):
    try:
        step()
    except RagevalError as exc:
        return str(exc) != ""
    return True

"""Decimal numbers in a text, many at a time, rounded as `float` rounds them.

A number is digits with at most one point and a minus: a whole number below 2 ** 64 over a power of
ten. Up to 2 ** 53 one division rounds it correctly. Beyond, the quotient is worked out to twice the
precision, and a number that lies too near the middle of two floats is left to `float`, as are those
of another form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rageval_report.metrics.joining.hits import Codes, Floats
from rageval_report.metrics.joining.trec.bytes import WORD, Text, Words

Flags = NDArray[np.bool_]

_MOST_DECIMALS = 19
_EXACT = np.uint64(1 << 53)
_SPLIT = float((1 << 27) + 1)
_NEAR = 1e-6

_POWERS = np.array([10**n for n in range(_MOST_DECIMALS + 1)], np.uint64)
_SCALES = _POWERS.astype(np.float64)  # exact: below 10 ** 23
# Whole parts below these leave room for so many decimals.
_ROOM = np.array([10 ** (_MOST_DECIMALS - n) for n in range(_MOST_DECIMALS + 1)], np.uint64)


def _repeated(byte: int) -> np.uint64:
    return np.uint64(int.from_bytes(bytes([byte]) * WORD, "little"))


_ONES, _POINTS, _ZEROS, _TOPS = map(_repeated, (1, ord("."), ord("0"), 0x80))
_HIGH_HALVES, _SIXES = _repeated(0xF0), _repeated(0x06)
# By how many of eight bytes count: which bits they are, and by how many to move the first ones up.
_FIRST = np.array([(1 << 8 * n) - 1 for n in range(WORD + 1)], np.uint64)
_LAST = ~_FIRST[::-1]
_UNUSED = np.array([0, *(8 * (WORD - n) for n in range(1, WORD + 1))], np.uint64)
_BY_BYTE = [np.uint64(8 * n) for n in range(WORD + 1)]


def decimals(text: Text, starts: Codes, ends: Codes) -> tuple[Floats, Flags]:
    """The numbers between places of a text, and which of them are left to `float`.

    Parameters
    ----------
    text : Text
        The text.
    starts, ends : ndarray of shape (n,)
        Where each word starts and ends; no word is empty.
    """
    if (ends - starts == 1).all():
        digit = text.data[starts] ^ np.uint8(ord("0"))
        return digit.astype(np.float64), digit > 9
    negative = text.data[starts] == ord("-")
    starts = starts + negative
    lengths = ends - starts
    first = text.loaded()[starts]
    n_whole = _place_of_point(first)
    has_point = n_whole < np.minimum(lengths, WORD)
    n_whole = np.where(has_point, n_whole, lengths)
    n_decimals = lengths - n_whole - has_point
    doubt = (n_whole > WORD) | (n_decimals > _MOST_DECIMALS) | (n_whole + n_decimals == 0)
    n_decimals = np.minimum(n_decimals, _MOST_DECIMALS)
    whole, odd = _digits(first, n_whole)
    doubt |= odd | (whole >= _ROOM[n_decimals])
    part, odd = _decimals(text, ends, n_decimals)
    number = whole * _POWERS[n_decimals] + part
    values, unsure = quotients(number, n_decimals)
    return np.where(negative, -values, values), doubt | odd | unsure


def _place_of_point(eight: Words) -> Codes:
    """The place of the first point among eight bytes; eight or more if there is none."""
    other = eight ^ _POINTS
    found = (other - _ONES) & ~other & _TOPS
    lowest = found & (~found + np.uint64(1))  # 2 ** (8 * place + 7), or 0
    exponent = (lowest.astype(np.float64).view(np.int64) >> 52) - 1023
    return np.where(found == 0, WORD, exponent >> 3)


def _digits(eight: Words, n: Codes) -> tuple[Words, Flags]:
    """The number that the first `n` of eight bytes spell, and whether some are no digits."""
    kept = (eight ^ _ZEROS) & _FIRST.take(n, mode="clip")
    return _spelt(kept << _UNUSED.take(n, mode="clip"))


def _spelt(value: Words) -> tuple[Words, Flags]:
    """The number of eight digits, the lowest byte the first of them, and whether one is none."""
    odd = ((value | (value + _SIXES)) & _HIGH_HALVES) != 0
    value = (value * np.uint64(2561)) >> _BY_BYTE[1]
    value = ((value & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> _BY_BYTE[2]
    value = ((value & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> _BY_BYTE[4]
    return value, odd


def _decimals(text: Text, ends: Codes, n: Codes) -> tuple[Words, Flags]:
    """The number that the last `n` bytes of words spell, eight at a time from the right."""
    loaded = text.loaded()
    total = np.zeros(len(ends), np.uint64)
    odd = ends < _MOST_DECIMALS + WORD  # there is no room to read from before
    for done in range(0, int(n.max(initial=0)), WORD):
        eight = loaded[np.maximum(ends - (done + WORD), 0)] ^ _ZEROS
        spelt, wrong = _spelt(eight & _LAST.take(n - done, mode="clip"))
        total += spelt * _POWERS[done]
        odd |= wrong
    return total, odd


def quotients(number: Words, n_decimals: Codes) -> tuple[Floats, Flags]:
    """Whole numbers over powers of ten, and which of the quotients may be rounded wrongly.

    Parameters
    ----------
    number : ndarray of uint64
        The digits of numbers, read without the point.
    n_decimals : ndarray of int64
        How many of the digits stand behind the point; at most 19.

    Examples
    --------
    >>> values, unsure = quotients(np.array([725, 1], np.uint64), np.array([2, 1]))
    >>> values.tolist(), unsure.tolist()
    ([7.25, 0.1], [False, False])
    """
    scale = _SCALES[n_decimals]
    values = number.astype(np.float64) / scale
    unsure = np.zeros(len(values), dtype=bool)
    long = np.flatnonzero(number > _EXACT)
    if long.size:
        values[long], unsure[long] = _long_quotient(number[long], scale[long])
    return values, unsure


def _long_quotient(number: Words, scale: Floats) -> tuple[Floats, Flags]:
    """The quotient of numbers that are no floats: a first one, and what is left over it."""
    high = number.astype(np.float64)
    low = (number - high.astype(np.uint64)).view(np.int64).astype(np.float64)
    quotient = high / scale
    product, lost = _product(quotient, scale)
    rest = ((high - product) - lost + low) / scale
    values = quotient + rest
    beyond = np.abs(rest - (values - quotient))
    half = np.spacing(values) / 2
    # below a power of two floats lie twice as dense, so a quarter is a middle too
    unsure = (np.abs(beyond - half) < _NEAR * half) | (np.abs(beyond - half / 2) < _NEAR * half)
    return values, unsure


def _product(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """The product, rounded, and what rounding lost, exactly (Dekker 1971)."""
    product = first * second
    a, b = _halves(first)
    c, d = _halves(second)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _halves(value: Floats) -> tuple[Floats, Floats]:
    """A float as the sum of two of half the digits (Veltkamp 1968)."""
    scaled = _SPLIT * value
    high = scaled - (scaled - value)
    return high, value - high

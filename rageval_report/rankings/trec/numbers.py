"""Decimal numbers in a text, many at a time, rounded as `float` rounds them.

A number is digits with at most one point and a minus: a whole number below 2 ** 64 over a power of
ten. Up to 2 ** 53 one division rounds it correctly. Above, the quotient is computed to twice the
precision, and a number too near the middle of two floats is left to `float`, as are numbers of
another form.
"""

from __future__ import annotations

import numpy as np

from rageval_report.rankings.trec.bytes import WORD, Text
from rageval_report.types import BoolArray, FloatArray, IntArray, WordArray

_MOST_DECIMALS = 19
_LONGEST = WORD + _MOST_DECIMALS
_EXACT = np.uint64(1 << 53)  # whole numbers up to here are floats
_SPLIT = float((1 << 27) + 1)  # Veltkamp's: half of the 53 bits of a float, rounded up, plus one
_NEAR = 1e-6  # of half a unit in the last place; the rounding error of the rest is below 1e-15

_POWERS = np.array([10**n for n in range(_MOST_DECIMALS + 1)], np.uint64)
_SCALES = _POWERS.astype(np.float64)  # exact: below 10 ** 23
# By the number of decimals that follow: the whole number so far must be below, to fit 64 bits.
_ROOM = np.array([10 ** (_MOST_DECIMALS - n) for n in range(_MOST_DECIMALS + 1)], np.uint64)


def _fill(byte: int) -> np.uint64:
    """A word of eight equal bytes."""
    return np.uint64(int.from_bytes(bytes([byte]) * WORD, "little"))


_LOWEST_BIT, _BYTE, _TOP_BYTE = np.uint64(1), np.uint64(0xFF), np.uint64(8 * (WORD - 1))
_ONES, _ZEROS, _TOPS = map(_fill, (1, ord("0"), 0x80))
_POINT = np.uint64(ord(".") ^ ord("0"))
_POINTS = _POINT * _ONES
_HIGH_HALVES, _SIXES = _fill(0xF0), _fill(0x06)
# By the number of bytes that count: by how many bits to move them up; by 64 leaves 0.
_UNUSED = np.array([8 * (WORD - n) for n in range(WORD + 1)], np.uint64)
_HALVES, _QUARTERS, _EIGHTHS = (np.uint64(n) for n in (32, 16, 8))
# Times the lowest bit of byte p, its highest byte is 7 - p: the number of bytes that follow.
_AFTER = np.uint64(0x0706050403020100)


def parse_decimals(text: Text, starts: IntArray, ends: IntArray) -> tuple[FloatArray, BoolArray]:
    """The numbers between places of a text, and which of them are left to `float`.

    Parameters
    ----------
    text : Text
        The text.
    starts, ends : ndarray of shape (n,)
        Where each word starts and ends; no word is empty.
    """
    lengths = ends - starts
    if (lengths == 1).all():  # grades mostly
        digit = text.data[starts] ^ np.uint8(ord("0"))
        return digit.astype(np.float64), digit > 9
    negative = text.data[starts] == ord("-")
    if negative.any():
        starts, lengths = starts + negative, lengths - negative
    number, n_decimals, doubt = _whole_numbers(text, starts, lengths)
    values, unsure = quotients(number, n_decimals)
    doubt |= unsure
    np.negative(values, out=values, where=negative)
    return values, doubt


def _whole_numbers(
    text: Text, starts: IntArray, lengths: IntArray
) -> tuple[WordArray, IntArray, BoolArray]:
    """The digits without the point, how many follow it, and which are left to `float`.

    The point is looked for among the first eight bytes; further ones are read eight at a time.
    """
    every_eight, longest = text.every_eight(), int(lengths.max(initial=0))
    eight, has_point, n_decimals = _without_point(_last_of(every_eight[starts], lengths))
    number, doubt = _parse_eight_digits(eight)
    doubt |= lengths <= has_point  # no digit
    if longest <= WORD:
        return number, n_decimals, doubt
    more = np.maximum(lengths - WORD, 0)
    # Without a point within eight digits the number is long or odd, which is rare: `float` reads
    # it.
    doubt |= (more > 0) & ~has_point
    n_decimals = n_decimals + more
    doubt |= n_decimals > _MOST_DECIMALS
    doubt |= number >= _ROOM.take(more, mode="clip")
    for done in range(WORD, min(longest, _LONGEST), WORD):
        n = np.clip(lengths - done, 0, WORD)
        eight = every_eight[starts + np.minimum(done, lengths)]
        part, odd = _parse_eight_digits(_last_of(eight, n))
        number = number * _POWERS[n] + part
        doubt |= odd
    return number, np.minimum(n_decimals, _MOST_DECIMALS), doubt


def _last_of(eight: WordArray, n: IntArray) -> WordArray:
    """The first `n` of eight bytes as the last ones, digits as their numbers, behind zeros."""
    eight = eight ^ _ZEROS
    eight <<= _UNUSED.take(n, mode="clip")
    return eight


def _without_point(eight: WordArray) -> tuple[WordArray, BoolArray, IntArray]:
    """Eight digits without the first point, whether there is one, and how many follow it."""
    # The classic test for a zero byte: only where `other` has one does the top bit survive.
    other = eight ^ _POINTS
    point = (other - _ONES) & ~other & _TOPS
    point &= ~point + _LOWEST_BIT  # the lowest bit that is set
    point >>= np.uint64(7)  # the bit where the byte of the point begins, or 0
    has_point = point != 0
    ahead = eight & ((point - _LOWEST_BIT) * has_point)
    # the bytes before the point move up by one, over it
    without = eight - point * _POINT + ahead * _BYTE
    return without, has_point, (point * _AFTER >> _TOP_BYTE).view(np.int64)


def _parse_eight_digits(value: WordArray) -> tuple[WordArray, BoolArray]:
    """The number of eight digits, lowest byte first, and whether a byte is not a digit."""
    # Pairs of digits, then of two-digit numbers, then of four-digit numbers are joined by one
    # multiplication each: 2561 = 1 + 10 * 256, 6553601 = 1 + 100 * 2**16 and so on.
    odd = ((value | (value + _SIXES)) & _HIGH_HALVES) != 0
    value = (value * np.uint64(2561)) >> _EIGHTHS
    value = ((value & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> _QUARTERS
    value = ((value & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> _HALVES
    return value, odd


def quotients(number: WordArray, n_decimals: IntArray) -> tuple[FloatArray, BoolArray]:
    """Whole numbers over powers of ten, and which of the quotients may be rounded wrongly.

    Parameters
    ----------
    number : ndarray of uint64
        The digits of numbers, read without the point.
    n_decimals : ndarray of int64
        How many of the digits follow the point; at most 19.

    Examples
    --------
    >>> values, unsure = quotients(np.array([725, 1], np.uint64), np.array([2, 1]))
    >>> values.tolist(), unsure.tolist()
    ([7.25, 0.1], [False, False])
    """
    scale = _SCALES[n_decimals]
    # Both are exact as floats up to 2**53, so the division rounds once, as `float` does.
    values = number.astype(np.float64) / scale
    unsure = np.zeros(len(values), dtype=bool)
    long = np.flatnonzero(number > _EXACT)
    if long.size:
        values[long], unsure[long] = _long_quotient(number[long], scale[long])
    return values, unsure


def _long_quotient(number: WordArray, scale: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The quotient of numbers that are not floats: a first one plus that of the remainder."""
    high = number.astype(np.float64)
    low = (number - high.astype(np.uint64)).view(np.int64).astype(np.float64)
    quotient = high / scale
    product, lost = _product(quotient, scale)
    rest = ((high - product) - lost + low) / scale
    values = quotient + rest
    beyond = np.abs(rest - (values - quotient))
    half = np.spacing(values) / 2
    # below a power of two floats lie twice as densely, so a quarter is a middle too
    unsure = (np.abs(beyond - half) < _NEAR * half) | (np.abs(beyond - half / 2) < _NEAR * half)
    return values, unsure


def _product(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The product, rounded, and what rounding lost, exactly (Dekker 1971)."""
    product = first * second
    a, b = _halves(first)
    c, d = _halves(second)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _halves(value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A float as the sum of two of half the digits (Veltkamp 1968)."""
    scaled = _SPLIT * value
    high = scaled - (scaled - value)
    return high, value - high

"""The edit distance of two texts: the fewest insertions, deletions, replacements of letters."""

from __future__ import annotations

# The first letters of longer texts are enough, and comparing all of them would take minutes.
MOST_LETTERS = 5000


def edit_distance(first: str, second: str) -> float:
    """The Levenshtein distance over the length of the longer text: 0 for equal texts, at most 1.

    Parameters
    ----------
    first, second : str
        The first `MOST_LETTERS` letters of each are compared.

    Notes
    -----
    A column of the table of distances is stored as two integers with one bit per letter: where the
    distance goes up from one letter to the next, and where it goes down.

    References
    ----------
    .. [1] Myers (1999). A fast bit-vector algorithm for approximate string matching.
    .. [2] Hyyrö (2003). A bit-vector algorithm for computing Levenshtein and Damerau distances.

    Examples
    --------
    >>> round(edit_distance("kitten", "sitting"), 3)  # 3 of 7
    0.429
    """
    first, second = first[:MOST_LETTERS], second[:MOST_LETTERS]
    if first == second:
        return 0.0
    longest = max(len(first), len(second))
    if not (first and second):
        return 1.0
    return _levenshtein(first, second) / longest


def _levenshtein(first: str, second: str) -> int:
    places: dict[str, int] = {}
    for place, letter in enumerate(first):
        places[letter] = places.get(letter, 0) | 1 << place
    all_bits, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    # The first column is 0, 1, 2, ...: every step goes up. Names follow Hyyro: `matches` is his PM,
    # `diagonal` D0, `rises` and `falls` the horizontal, `up` and `down` the vertical differences.
    up, down, distance = all_bits, 0, len(first)
    for letter in second:
        matches = places.get(letter, 0)
        diagonal = (((matches & up) + up) ^ up) | matches | down
        rises = (down | ~(diagonal | up)) & all_bits
        falls = up & diagonal
        distance += bool(rises & last) - bool(falls & last)
        rises = rises << 1 | 1  # the first row also rises from column to column
        up = (falls << 1 | ~(diagonal | rises)) & all_bits
        down = rises & diagonal & all_bits
    return distance

"""How far two texts are apart: the least insertions, deletions, replacements of letters."""

from __future__ import annotations

# Of longer texts the first letters tell enough, and all of them would take minutes.
MOST_LETTERS = 5000


def edit_distance(one: str, other: str) -> float:
    """The Levenshtein distance over the length of the longer text: 0 for equal ones, at most 1.

    Parameters
    ----------
    one, other : str
        Of each, the first `MOST_LETTERS` letters.

    Notes
    -----
    A column of the table of distances is held as two whole numbers, a bit a letter: where the
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
    one, other = one[:MOST_LETTERS], other[:MOST_LETTERS]
    if one == other:
        return 0.0
    longest = max(len(one), len(other))
    if not (one and other):
        return 1.0
    return _levenshtein(one, other) / longest


def _levenshtein(one: str, other: str) -> int:
    places: dict[str, int] = {}
    for place, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << place
    every, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    up, down, distance = every, 0, len(one)
    for letter in other:
        met = places.get(letter, 0)
        diagonal = (((met & up) + up) ^ up) | met | down
        rises = (down | ~(diagonal | up)) & every
        falls = up & diagonal
        distance += bool(rises & last) - bool(falls & last)
        rises = rises << 1 | 1
        up = (falls << 1 | ~(diagonal | rises)) & every
        down = rises & diagonal & every
    return distance

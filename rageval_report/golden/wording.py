"""Words, shingles and their overlap: what tells duplicates, support and leaks."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from rageval_report.errors import DataError
from rageval_report.scores.query_ids import plain_text

_WORD = re.compile(r"\w+")

# Words of English that say nothing by themselves; in other languages all words count.
_EMPTY = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his how i if in "
    "into is it its of on or she so such that the their them there these they this to was were "
    "what when where which who whom why will with would you your not no yes than then".split()
)
_N_LETTERS = 3


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case.

    Examples
    --------
    >>> words_of("What's the  capital?")
    ['what', 's', 'the', 'capital']
    """
    return _WORD.findall(plain_text(text).casefold())


def content_words(text: str) -> set[str]:
    """The words that say something.

    Examples
    --------
    >>> sorted(content_words("The river Seine"))
    ['river', 'seine']
    """
    return {word for word in words_of(text) if word not in _EMPTY}


def share_within(text: str, others: Iterable[str]) -> float:
    """The share of a text's content words that the other texts hold; NaN where it has none.

    Parameters
    ----------
    text : str
        As an answer.
    others : iterable of str
        As the passages it should come from.

    Examples
    --------
    >>> share_within("the river Seine", ["Along the Seine."])
    0.5
    """
    wanted = content_words(text)
    held = {word for other in others for word in content_words(other)}
    return len(wanted & held) / len(wanted) if wanted else math.nan


def shingles(text: str) -> frozenset[str]:
    """The runs of three characters of a text's words; a shorter text is one run.

    Examples
    --------
    >>> sorted(shingles("Who is it?"))
    [' is', ' it', 'ho ', 'is ', 'o i', 's i', 'who']
    """
    plain = " ".join(words_of(text))
    ends = range(max(1, len(plain) - _N_LETTERS + 1))
    return frozenset(plain[end : end + _N_LETTERS] for end in ends) if plain else frozenset()


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """What two sets share, over what they hold together; 0 where both are empty."""
    common = len(first & second)
    together = len(first) + len(second) - common
    return common / together if together else 0.0


def numbers_of(text: str) -> frozenset[str]:
    """The words of a text that hold a digit.

    Examples
    --------
    >>> sorted(numbers_of("From 1998 on, the B52"))
    ['1998', 'b52']
    """
    return frozenset(word for word in words_of(text) if any(map(str.isdecimal, word)))


def similarity(first: str, second: str) -> float:
    """The Jaccard similarity of two texts' shingles; 0 where they name different numbers.

    Questions of two years are two questions, however alike they read.

    Examples
    --------
    >>> similarity("Who won in 1998?", "who won in 1998"), similarity("Who won in 1998?", "in 1999")
    (1.0, 0.0)
    """
    if numbers_of(first) != numbers_of(second):
        return 0.0
    return jaccard(shingles(first), shingles(second))


def near_pairs(texts: Sequence[str], threshold: float) -> list[tuple[int, int, float]]:
    """The pairs of texts that have a `similarity` of at least `threshold`.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    threshold : float
        Above 0, at most 1.

    Returns
    -------
    list of (int, int, float)
        Places of the first and the second, and the similarity; in order.

    Notes
    -----
    Exact: no pair is missed, and nothing is drawn at random. Sets that overlap so much must share
    one of their rarest shingles, so only texts that do are compared.

    References
    ----------
    .. [1] Bayardo, Ma, Srikant (2007). Scaling up all pairs similarity search. WWW.

    Examples
    --------
    >>> near_pairs(["Who wrote Hamlet?", "who wrote Hamlet", "When?"], 0.8)
    [(0, 1, 1.0)]
    """
    if not 0.0 < threshold <= 1.0:
        raise DataError(f"the threshold must be above 0 and at most 1; got {threshold!r}")
    sets = [shingles(text) for text in texts]
    numbers = [numbers_of(text) for text in texts]
    found = (
        (one, two, jaccard(sets[one], sets[two]))
        for one, two in _candidates(sets, threshold)
        if numbers[one] == numbers[two]
    )
    return sorted(pair for pair in found if pair[2] >= threshold)


def _candidates(sets: Sequence[frozenset[str]], threshold: float) -> Iterator[tuple[int, int]]:
    """The pairs that share one of their rarest shingles, and are near enough in size."""
    frequency = Counter(one for held in sets for one in held)
    holders: defaultdict[str, list[int]] = defaultdict(list)
    by_size = sorted(range(len(sets)), key=lambda place: len(sets[place]))
    for place in by_size:
        least = threshold * len(sets[place]) - 1e-9  # rounding must not lose a pair
        prefix = list(_prefix(sets[place], frequency, threshold))
        others = {other for one in prefix for other in holders[one] if len(sets[other]) >= least}
        for one in prefix:
            holders[one].append(place)
        yield from ((min(place, other), max(place, other)) for other in others)


def _prefix(held: frozenset[str], frequency: Counter[str], threshold: float) -> Iterator[str]:
    """The rarest shingles, as many that an overlap of `threshold` cannot pass them all by."""
    ranked = sorted(held, key=lambda one: (frequency[one], one))
    needed = math.ceil(threshold * len(ranked) - 1e-9)  # 0.8 * 5 may be a little more than 4
    yield from ranked[: len(ranked) - needed + 1]

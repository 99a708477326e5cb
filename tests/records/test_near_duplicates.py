"""Near-duplicates are found, all of them and no others, however many there are."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from rageval_report.records.golden_checks import SeenQuestions, near_pairs, share_within

_words = st.sampled_from(["who", "wrote", "the", "book", "books", "of", "rain", "1998", "1999"])
_questions = st.lists(st.lists(_words, max_size=6).map(" ".join), max_size=12)


def similarity(first, second):
    """The second witness: sets of runs of three characters, one pair at a time."""
    if {"1998", "1999"} & set(first.split()) != {"1998", "1999"} & set(second.split()):
        return 0.0
    one, two = (
        {text[i : i + 3] for i in range(max(1, len(text) - 2)) if text} for text in (first, second)
    )
    return len(one & two) / len(one | two) if one | two else 0.0


@given(_questions, st.sampled_from([0.3, 0.5, 0.7, 0.8, 0.9, 1.0]))
def test_no_pair_is_missed(texts, threshold):
    values = {
        (one, two): similarity(texts[one], texts[two])
        for one, two in combinations(range(len(texts)), 2)
    }
    every = [(*pair, value) for pair, value in values.items() if value >= threshold]
    assert near_pairs(texts, threshold) == every


def test_support_counts_the_words_that_say_something():
    assert share_within("The king of France", ["A king."]) == 0.5


@given(_questions, st.sampled_from([0.5, 0.8]))
def test_the_nearest_of_those_that_were_seen_is_found(texts, threshold):
    """The second witness asks `similarity` of each one."""
    seen = SeenQuestions(threshold)
    for place, text in enumerate(texts):
        values = [similarity(text, other) for other in texts[:place]]
        best = max(values, default=0.0)
        assert seen.nearest(text) == (texts[values.index(best)] if best >= threshold else None)
        seen.add(text)

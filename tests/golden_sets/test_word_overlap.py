"""Words and their overlap."""

from __future__ import annotations

from rageval_report.golden.word_overlap import share_within


def test_support_counts_the_words_that_say_something():
    assert share_within("The king of France", ["A king."]) == 0.5

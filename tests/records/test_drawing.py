"""Samples of a data set: the same questions in whichever order a file has them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.datasets import DATASETS, Dataset, DatasetPart, load_dataset

ROWS = [
    {"query_id": str(n), "question": f"Question {n}?", "answerable": n % 3 > 0} for n in range(24)
]


@pytest.fixture(autouse=True)
def rows_as_a_set(monkeypatch):
    """A data set whose questions are the rows that a test sets."""
    monkeypatch.setattr(DATASETS, "_entries", dict(DATASETS._entries))


def drawn(rows, **options):
    """The questions that are drawn from these rows."""
    parts = [DatasetPart("rows", rows, dict)]
    DATASETS.add("rows", Dataset("rows", "", "", "", lambda _: parts))
    return load_dataset("rows", **options)["question"].tolist()


@given(st.permutations(ROWS), st.integers(1, 23))
@settings(max_examples=20)
def test_shuffled_rows_have_the_same_sample(shuffled, samples):
    first = sorted(drawn(ROWS, samples=samples, seed=7))
    assert sorted(drawn(shuffled, samples=samples, seed=7)) == first
    assert len(set(first)) == samples


def test_every_row_is_drawn_about_equally_often():
    counts = {row["question"]: 0 for row in ROWS}
    for seed in range(400):
        for question in drawn(ROWS, samples=6, seed=seed):
            counts[question] += 1
    # Binomial(400, 1/4): mean 100, standard deviation 8.7; five of them on either side.
    assert max(abs(count - 100) for count in counts.values()) < 5 * 8.7


@pytest.mark.parametrize("seed", [0, 1])
def test_a_shuffled_file_gives_the_same_questions(seed):
    rows = [{"_id": f"h{n}", "question": f"Question {n}?", "answer": "Ann"} for n in range(40)]
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "a.json"), Path(folder, "b.json")
        first.write_text(json.dumps(rows))
        second.write_text(json.dumps(rows[::-1]))
        ids = [
            set(load_dataset("hotpotqa", path, samples=8, seed=seed).index)
            for path in (first, second)
        ]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 8

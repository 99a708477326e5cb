"""Samples of a data set: the same questions in whichever order a file has them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rageval_report.datasets.drawing import draw_by_ratio, draw_evenly

from rageval_report.datasets import load_dataset
from rageval_report.records.datasets import DatasetPart

ROWS = [{"question": f"Question {n}?", "answerable": n % 3 > 0} for n in range(24)]


def questions(rows, draw):
    """The questions that are drawn from these rows, sorted."""
    part = DatasetPart("rows", rows, dict)
    return sorted(record["question"] for record in draw([part], np.random.default_rng(7)))


@given(st.permutations(ROWS), st.integers(1, 23))
def test_shuffled_rows_have_the_same_sample(shuffled, samples):
    def draw(parts, rng):
        return draw_evenly(parts, samples, rng)

    drawn = questions(shuffled, draw)
    assert drawn == questions(ROWS, draw)
    assert len(set(drawn)) == samples


@given(st.permutations(ROWS))
def test_shuffled_rows_have_the_same_sample_at_a_ratio(shuffled):
    def draw(parts, rng):
        return draw_by_ratio(parts, 10, 0.3, rng)

    assert questions(shuffled, draw) == questions(ROWS, draw)


def test_the_sample_stands_in_the_order_of_the_file():
    part = DatasetPart("rows", ROWS, dict)
    drawn = draw_evenly([part], 9, np.random.default_rng(0))
    places = [ROWS.index(record) for record in drawn]
    assert places == sorted(places)


def test_every_row_is_drawn_about_equally_often():
    part = DatasetPart("rows", ROWS, dict)
    counts = dict.fromkeys((row["question"] for row in ROWS), 0)
    for seed in range(1000):
        for record in draw_evenly([part], 6, np.random.default_rng(seed)):
            counts[record["question"]] += 1
    # Binomial(1000, 1/4): mean 250, standard deviation 13.7; five of them on either side.
    assert max(abs(count - 250) for count in counts.values()) < 5 * 13.7


@pytest.mark.parametrize("seed", [0, 1])
def test_a_shuffled_file_gives_the_same_questions(tmp_path, seed):
    rows = [{"_id": f"h{n}", "question": f"Question {n}?", "answer": "Ann"} for n in range(40)]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "b.json").write_text(json.dumps(rows[::-1]))
    first, second = (
        load_dataset("hotpotqa", tmp_path / name, samples=8, seed=seed)
        for name in ("a.json", "b.json")
    )
    assert set(first.index) == set(second.index)
    assert len(first) == 8

"""Metrics of text, word by word, and the answers beside their references.

Witnesses: the official script of SQuAD; arithmetic by hand.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import score
from rageval_report.metrics.text import (
    Answers,
    NegativeReferences,
    characters_or_words,
    exact_match,
    exact_match_squad,
    negative_reference_hit,
    normalise_squad,
    token_f1,
)


def test_scripts_without_blanks_are_cut_into_characters_and_others_into_words():
    assert characters_or_words("Tokyo 東京タワー, ไทย Ελλάδα") == [
        *("tokyo", *"東京タワー", *"ไทย", "ελλάδα")
    ]


METRICS = (exact_match, exact_match_squad, token_f1)


def squad(folder, system):
    """The sample as answers, and which questions have one: evaluate-v2.0.py's reading of it."""
    told = json.loads((folder / "dev-v2.0.sample.json").read_text(encoding="utf-8"))
    said = json.loads((folder / f"predictions.{system}.json").read_text(encoding="utf-8"))
    asked = [
        question
        for article in told["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    texts = [[answer["text"] for answer in question["answers"]] for question in asked]
    references = [[text for text in some if normalise_squad(text)] or [""] for some in texts]
    answers = Answers([said[question["id"]] for question in asked], references)
    return answers, np.array([bool(some) for some in texts])


@pytest.mark.parametrize(
    ("system", "em", "f1", "em_answerable", "em_unanswerable"),
    [("BERT", 74.519, 77.580, 71.875, 76.786), ("nlnet", 73.558, 74.723, 76.042, 71.429)],
)
def test_squad_figures_are_the_official_ones(
    real_data, system, em, f1, em_answerable, em_unanswerable
):
    answers, answerable = squad(real_data("squad_v2_sample"), system)
    scores = 100 * exact_match_squad(answers)
    assert scores.mean() == pytest.approx(em, abs=5e-4)
    assert scores[answerable].mean() == pytest.approx(em_answerable, abs=5e-4)
    assert scores[~answerable].mean() == pytest.approx(em_unanswerable, abs=5e-4)
    assert 100 * token_f1(answers).mean() == pytest.approx(f1, abs=5e-4)


def test_a_tokenizer_serves_scripts_without_blanks():
    answers = Answers(["東京都"], [["東京"]])
    assert token_f1(answers).tolist() == [0.0]
    (score,) = token_f1(answers, tokenizer=characters_or_words)
    assert score == pytest.approx(2 * (2 / 3) * 1 / (2 / 3 + 1))


@pytest.mark.parametrize("metric", METRICS)
def test_the_unanswered_and_the_unreferenced_are_unscored(metric):
    assert np.isnan(metric(Answers([None, "a"], [["a"], []]))).all()


def hit(answer, negatives, references=()):
    view = NegativeReferences([answer], [list(negatives)], [list(references)])
    return negative_reference_hit(view).item()


@pytest.mark.parametrize(
    ("answer", "negatives", "references", "expected"),
    [
        ("The capital is LYON!", ["Lyon"], [], 1.0),
        ("Lyonnais cooking", ["Lyon"], [], 0.0),  # whole words
        ("It was in  New\nYork.", ["Boston", "new york"], ["Chicago"], 1.0),
        ("York is new", ["New York"], [], 0.0),  # in a row
        ("Paris, Texas", ["Paris"], ["Paris, Texas"], 0.0),  # only as a part of what is right
        ("Paris, Texas, or Paris", ["Paris"], ["Paris, Texas"], 1.0),
        ("Paris", ["Paris"], ["Paris"], 1.0),  # the same text is right and wrong: golden check
        ("東京です", ["大阪"], ["東京"], 0.0),
        ("大阪です", ["大阪"], ["東京"], 1.0),
        ("It costs 12", ["1"], [], 0.0),
        ("", ["Lyon"], [], 0.0),
    ],
)
def test_an_answer_that_contains_a_negative_reference_is_a_hit(
    answer, negatives, references, expected
):
    assert hit(answer, negatives, references) == expected


words = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=6)


@given(words, words)
def test_without_references_it_is_a_search_for_whole_words(answer, wrong):
    pattern = rf"\b{re.escape(' '.join(wrong))}\b"
    assert hit(" ".join(answer), [" ".join(wrong)]) == bool(re.search(pattern, " ".join(answer)))


@pytest.mark.parametrize("column", ["negative_reference", "negative_references", "wrong_answers"])
def test_records_are_scored_and_lower_is_better(column):
    rows = [
        {"query_id": "a", "answer": "Lyon", "reference": "Paris", column: ["Lyon", "Nice"]},
        {"query_id": "b", "answer": "Paris", "reference": "Paris", column: "Lyon"},
        {"query_id": "c", "answer": "Paris", "reference": "Paris", column: None},
        {"query_id": "d", "answer": "", "reference": "x", column: ["y"], "error": "time-out"},
    ]
    evaluation = score(rows, "negative_reference_hit")
    assert evaluation.get_aggregated_scores("negative_reference_hit") == 0.5  # one of two
    assert evaluation.states["negative_reference_hit"].tolist() == [
        *("scored", "scored", "not applicable", "failed")
    ]
    metric = evaluation.metrics["negative_reference_hit"]
    assert (metric.greater_is_better, metric.kind) == (False, "binary")

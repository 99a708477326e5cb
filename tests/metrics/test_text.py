"""The official SQuAD 2.0 evaluator's figures for two real systems, and figures by hand."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.metrics.text import (
    Answers,
    characters_or_words,
    exact_match,
    exact_match_squad,
    normalise_squad,
    token_f1,
)

METRICS = (exact_match, exact_match_squad, token_f1)
WORDS = st.lists(st.sampled_from("red green blue cat dog".split()), min_size=1, max_size=6)


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


def test_an_exact_match_is_letter_by_letter():
    answers = Answers(["Rome", "rome", "Rome."], [["Rome"], ["Rome"], ["Rome"]])
    assert exact_match(answers).tolist() == [1.0, 0.0, 0.0]
    assert exact_match_squad(answers).tolist() == [1.0, 1.0, 1.0]


def test_f1_counts_each_word_as_often_as_it_stands_in_both():
    (score,) = token_f1(Answers(["red red cat"], [["red cat dog"]]))
    precision, recall = 2 / 3, 2 / 3
    assert score == pytest.approx(2 * precision * recall / (precision + recall))


def test_two_texts_without_a_word_agree_and_one_disagrees():
    answers = Answers(["the", "", "cat", "!"], [[""], [""], [""], ["cat"]])
    assert token_f1(answers).tolist() == [1.0, 1.0, 0.0, 0.0]


def test_a_tokenizer_serves_scripts_without_blanks():
    answers = Answers(["東京都"], [["東京"]])
    assert token_f1(answers).tolist() == [0.0]
    (score,) = token_f1(answers, tokenizer=characters_or_words)
    assert score == pytest.approx(2 * (2 / 3) * 1 / (2 / 3 + 1))


@pytest.mark.parametrize("metric", METRICS)
def test_the_unanswered_and_the_unreferenced_are_unscored(metric):
    assert np.isnan(metric(Answers([None, "a"], [["a"], []]))).all()


@pytest.mark.parametrize("metric", METRICS)
def test_a_cutoff_is_refused_not_ignored(metric):
    with pytest.raises(DataError, match=f"{metric.__name__!r} has no cutoff"):
        metric(Answers(["a"], [["a"]]), 5)


@given(WORDS, WORDS)
def test_f1_is_symmetric_and_counts_the_common_words(left, right):
    texts = " ".join(left), " ".join(right)
    (score,) = token_f1(Answers([texts[0]], [[texts[1]]]))
    (turned,) = token_f1(Answers([texts[1]], [[texts[0]]]))
    common = sum(min(n, Counter(right)[word]) for word, n in Counter(left).items())
    assert score == turned == pytest.approx(2 * common / (len(left) + len(right)))

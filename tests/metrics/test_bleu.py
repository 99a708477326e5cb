"""sacrebleu 2.6 called sentence by sentence, and figures by hand."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report._registry import load
from rageval_report.errors import DataError, MissingDependencyError, UnknownNameError
from rageval_report.metrics.text import Answers, characters_or_words

sacrebleu = pytest.importorskip("sacrebleu")

from rageval_report.metrics.overlap import (  # noqa: E402
    bleu,
    bleu_score,
    chrf,
    pooled_bleu,
)

TEXTS = st.lists(
    st.sampled_from(["the", "cat", "sat.", "3.14", "on-line", "“mat”", "don't", "&amp;", "à"]),
    min_size=1,
    max_size=12,
).map(" ".join)


@settings(max_examples=60)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_sentence_bleu_is_sacrebleu_s_clamped_to_one(text, references):
    told = sacrebleu.sentence_bleu(text, references).score / 100
    assert bleu_score(text, references) == min(told, 1.0)


def test_the_rules_of_empty_texts():
    assert bleu_score("cat", []) == bleu_score("", []) == 0.0
    assert bleu_score("", ["", ""]) == 1.0
    assert bleu_score("", ["", "cat"]) == bleu_score("cat", [""]) == 0.0


def test_an_error_of_sacrebleu_is_raised_not_scored_as_zero():
    with pytest.raises(TypeError):
        bleu_score(["the", "cat"], ["the cat"])


def test_one_text_for_references_raises():
    with pytest.raises(DataError, match="ground_truth_chunks must be a list of texts"):
        bleu_score("cat", "cat")


def test_an_unknown_tokenizer_gets_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean '13a'"):
        bleu_score("cat", ["cat"], tokenizer="13b")


def test_tokenizers_of_sacrebleu_and_of_the_caller_serve_scripts_without_blanks():
    text, reference = "猫は床に座った", "猫は床で座った"
    assert bleu_score(text, [reference]) == 0.0
    told = sacrebleu.sentence_bleu(text, [reference], tokenize="char").score / 100
    assert bleu_score(text, [reference], tokenizer="char") == told
    assert bleu_score(text, [reference], tokenizer=characters_or_words) == told


def test_pooled_bleu_is_sacrebleu_s_corpus_bleu():
    answers = Answers(
        ["the cat sat on a mat", "it rained all day", None, "unknown"],
        [["the cat sat on the mat", "a cat sat on a mat"], ["it rained all night"], ["x"], []],
    )
    streams = [["the cat sat on the mat", "it rained all night"], ["a cat sat on a mat", None]]
    told = sacrebleu.corpus_bleu([answers.answer[0], answers.answer[1]], streams).score / 100
    assert pooled_bleu(answers) == told
    assert pooled_bleu(answers) != pytest.approx(np.nanmean(bleu(answers)))


@settings(max_examples=30)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_chrf_is_sacrebleu_s_best_over_the_references(text, references):
    told = sacrebleu.sentence_chrf(text, references).score / 100
    each = [sacrebleu.sentence_chrf(text, [one]).score / 100 for one in references]
    assert chrf(Answers([text], [references])).tolist() == [min(told, 1.0)]
    assert told == max(each)


@pytest.mark.parametrize("metric", [bleu, chrf])
def test_scores_of_many_queries(metric):
    scores = metric(Answers(["a b c", None, "a", ""], [["a b c"], ["a"], [], ["a"]]))
    np.testing.assert_array_equal(scores, [1.0, np.nan, np.nan, 0.0])


@pytest.mark.parametrize("metric", [bleu, chrf])
def test_a_cutoff_is_refused(metric):
    with pytest.raises(DataError, match="has no cutoff"):
        metric(Answers(["a"], [["a"]]), 5)


def test_without_sacrebleu_the_package_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "rageval_report.metrics.overlap")
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    with pytest.raises(MissingDependencyError) as told:
        load("rageval_report.metrics.overlap:bleu_score")
    assert told.value.package == "sacrebleu"

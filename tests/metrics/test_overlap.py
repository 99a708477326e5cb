"""BLEU, chrF and ROUGE. Witnesses: sacrebleu 2.6.0, rouge-score 0.1.2."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import UnknownNameError
from rageval_report.metrics.overlap import (
    ROUGE_TYPES,
    bleu,
    bleu_score,
    chrf,
    corpus_rouge_scores,
    pooled_bleu,
    rouge_1,
    rouge_2,
    rouge_l,
    rouge_score,
    rouge_scores,
)
from rageval_report.metrics.text import Answers, characters_or_words

sacrebleu = pytest.importorskip("sacrebleu")


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


rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")


FIGURES = ("precision", "recall", "fmeasure")
PIECES = [
    *("running runs ran dogs dog flies dying generalizations agreed feed news a an the".split()),
    *("naïve", "İstanbul", "Kelvin", "ß", "日本語", "3.14", "x_y", "A.B.", "don't", "—", "\n", ""),
    *("\u00a0", "\x1c", "\ud800", "w1", "w2", "w3"),
]
LATIN_TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join), st.text())


def told(texts, references, stem, tokenizer=None):
    """rouge-score's figures, pair by pair."""
    scorer = rouge_scorer.RougeScorer(ROUGE_TYPES, use_stemmer=stem, tokenizer=tokenizer)
    pairs = [scorer.score(ref, text) for text, ref in zip(texts, references, strict=True)]
    return {name: [tuple(map(float, pair[name])) for pair in pairs] for name in ROUGE_TYPES}


def ours(*args, **options):
    scores = rouge_scores(*args, **options)
    return {
        name: list(zip(*(one[figure].tolist() for figure in FIGURES), strict=True))
        for name, one in scores.items()
    }


@settings(max_examples=60)
@given(st.lists(st.tuples(LATIN_TEXTS, LATIN_TEXTS), max_size=4), st.booleans())
def test_every_figure_is_rouge_score_s_to_the_last_bit(pairs, stem):
    texts, references = [text for text, _ in pairs], [reference for _, reference in pairs]
    assert ours(texts, references, stem=stem) == told(texts, references, stem)


def test_a_tokenizer_serves_other_scripts_as_rouge_score_would_use_it():
    class Theirs:
        def tokenize(self, text):
            return characters_or_words(text)

    texts, references = ["東京に行った", "Αθήνα 2024"], ["東京へ行く", "Η Αθήνα"]
    assert rouge_score(texts[0], references[0])["rouge1"]["fmeasure"] == 0.0
    mine = ours(texts, references, tokenizer=characters_or_words)
    assert mine == told(texts, references, stem=False, tokenizer=Theirs())
    assert mine["rouge1"][0][0] > 0


def test_a_query_takes_the_chunk_of_the_highest_recall_for_each_truth():
    chunks = ["a dog ran", "the dog ran home fast today", "cats sleep"]
    truths = ["the dog ran home", "a cat sleeps", "zebra"]
    expected = {}
    for name in ROUGE_TYPES:
        best = []
        for truth in truths:
            each = [rouge_score(chunk, truth)[name] for chunk in chunks]
            best.append(max(each, key=lambda one: one["recall"]))  # the first of equals
        expected[name] = {f: sum(one[f] for one in best) / len(truths) for f in FIGURES}
    assert corpus_rouge_scores(chunks, truths) == expected


@pytest.mark.parametrize(
    ("metric", "name"),
    [(rouge_1, "rouge1"), (rouge_2, "rouge2"), (rouge_l, "rougeL")],
)
def test_a_metric_is_the_best_f_measure_over_the_references(metric, name):
    references = ["the dogs ran", "a dog ran home"]
    answers = Answers(["the dog ran home", None, "a"], [references, ["a"], []])
    scorer = rouge_scorer.RougeScorer([name], use_stemmer=True)
    best = scorer.score_multi(references, "the dog ran home")[name].fmeasure
    np.testing.assert_array_equal(metric(answers), [best, np.nan, np.nan])

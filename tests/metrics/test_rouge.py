"""rouge-score 0.1.2, bit by bit, and datapizza-ai's aggregation spelt out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.metrics.text import Answers, characters_or_words

rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")

from rageval_report.metrics.overlap import (  # noqa: E402
    ROUGE_TYPES,
    corpus_rouge_scores,
    rouge_1,
    rouge_2,
    rouge_l,
    rouge_score,
    rouge_scores,
)

FIGURES = ("precision", "recall", "fmeasure")
PIECES = [
    *("running runs ran dogs dog flies dying generalizations agreed feed news a an the".split()),
    *("naïve", "İstanbul", "Kelvin", "ß", "日本語", "3.14", "x_y", "A.B.", "don't", "—", "\n", ""),
    *("\u00a0", "\x1c", "\ud800", "w1", "w2", "w3"),
]
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join), st.text())


def told(texts, references, stem, tokenizer=None):
    """rouge-score's figures, pair by pair."""
    scorer = rouge_scorer.RougeScorer(ROUGE_TYPES, use_stemmer=stem, tokenizer=tokenizer)
    pairs = [scorer.score(ref, text) for text, ref in zip(texts, references, strict=True)]
    return {name: [tuple(map(float, pair[name])) for pair in pairs] for name in ROUGE_TYPES}


def ours(*args, **options):
    scores = rouge_scores(*args, **options)
    return {
        name: list(zip(*(getattr(one, figure).tolist() for figure in FIGURES), strict=True))
        for name, one in scores.items()
    }


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4), st.booleans())
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
    with pytest.raises(DataError, match="has no cutoff"):
        metric(answers, 5)


def test_sides_of_unequal_length_raise():
    with pytest.raises(DataError, match="must have one length; got 1 and 2"):
        rouge_scores(["a"], ["a", "b"])


def test_an_unknown_type_gets_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'rouge2'"):
        rouge_scores(["a"], ["a"], types=["rouge-2"])

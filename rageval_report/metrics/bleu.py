"""BLEU and chrF by sacrebleu, between 0 and 1; needs the extra ``text``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol, cast

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.metrics.answers import Answers, Floats, Tokenizer
from rageval_report.rankings.checks import check_list, refuse_cutoff


class _SentenceScorer(Protocol):
    def sentence_score(self, hypothesis: str, references: list[str]) -> _Score: ...


class _Score(Protocol):
    score: float


def bleu_score(
    retrieved_chunk: str,
    ground_truth_chunks: Iterable[str],
    *,
    tokenizer: Tokenizer | str = "13a",
) -> float:
    """Sentence BLEU of a text against its references: n-gram precision, brevity penalised.

    N-grams of 1 to 4 tokens, each clipped by its largest count in one reference; orders without an
    n-gram in the text are left out, orders without a match are smoothed exponentially.

    Parameters
    ----------
    retrieved_chunk : str
        The text.
    ground_truth_chunks : list of str
        The references.
    tokenizer : str or callable, default "13a"
        A tokenizer of sacrebleu by name ("13a", "intl", "zh", "char", "none", ...), or a callable
        that cuts a text into tokens without blanks. "13a" keeps the case, and takes a sentence
        without blanks for one token: for Chinese, Japanese or Thai hand in another.

    Returns
    -------
    float
        Between 0 and 1: sacrebleu's figure over 100, and where rounding takes it above 1, just 1.
        0 without references; for an empty text 1 if every reference is empty, else 0.

    Raises
    ------
    UnknownNameError
        If sacrebleu has no tokenizer of that name.

    References
    ----------
    .. [1] Papineni et al. (2002). BLEU: a method for automatic evaluation of machine translation.
    .. [2] Post (2018). A call for clarity in reporting BLEU scores.

    Examples
    --------
    >>> bleu_score("the cat sat on the mat", ["a cat", "the cat sat on the mat"])
    1.0
    >>> round(bleu_score("the dog", ["the cat"]), 3)
    0.5
    """
    references = check_list("ground_truth_chunks", ground_truth_chunks)
    return _sentence(_bleu(tokenizer), retrieved_chunk, references)


def corpus_bleu_score(
    retrieved_chunks: Iterable[str],
    ground_truth_chunks: Iterable[str],
    *,
    tokenizer: Tokenizer | str = "13a",
) -> float:
    """The mean over the truths of the best sentence BLEU that any retrieved chunk reaches.

    This is datapizza-ai's figure for one query. It is not the corpus BLEU of machine translation,
    which pools the n-grams of all sentences: see `pooled_bleu`.

    Parameters
    ----------
    retrieved_chunks : list of str
        The chunks, in any order.
    ground_truth_chunks : list of str
        The truths, each the only reference in its turn.
    tokenizer : str or callable, default "13a"
        As in `bleu_score`.

    Returns
    -------
    float
        Between 0 and 1; 0 where nothing was retrieved.

    Raises
    ------
    DataError
        If there is no truth, even where nothing was retrieved.

    Examples
    --------
    >>> corpus_bleu_score(["the cat sat down", "it rained"], ["the cat sat down", "no", "snow"])
    0.3333333333333333
    """
    chunks = check_list("retrieved_chunks", retrieved_chunks)
    truths = check_list("ground_truth_chunks", ground_truth_chunks)
    if not truths:
        raise DataError("ground_truth_chunks is empty: without a truth there is nothing to compare")
    scorer = _bleu(tokenizer)
    best = [max((_sentence(scorer, c, [truth]) for c in chunks), default=0.0) for truth in truths]
    return float(np.cumsum(best)[-1]) / len(truths)


def pooled_bleu(answers: Answers, *, tokenizer: Tokenizer | str = "13a") -> float:
    """Corpus BLEU as machine translation knows it: n-grams counted over all queries, then divided.

    Parameters
    ----------
    answers : Answers
        Answers and references; queries without an answer or a reference are left out.
    tokenizer : str or callable, default "13a"
        As in `bleu_score`.

    Returns
    -------
    float
        Between 0 and 1; NaN where no query has both.

    Examples
    --------
    >>> answers = Answers(["the cat sat on the mat"], [["the cat sat on the mat", "a mat"]])
    >>> pooled_bleu(answers)
    1.0
    """
    both = zip(answers.answer, answers.references, strict=True)
    kept = [(answer, references) for answer, references in both if answer is not None]
    kept = [(answer, references) for answer, references in kept if references]
    if not kept:
        return float("nan")
    most = max(len(references) for _, references in kept)
    streams = [[refs[i] if i < len(refs) else None for _, refs in kept] for i in range(most)]
    scorer = _Bleu(tokenizer, effective_order=False)
    texts = [answer for answer, _ in kept]
    pooled = scorer.corpus_score(texts, cast("list[list[str]]", streams))  # None is allowed there
    return min(float(pooled.score) / 100.0, 1.0)


def bleu(answers: Answers, k: int | None = None, *, tokenizer: Tokenizer | str = "13a") -> Floats:
    """Sentence BLEU of each answer against all its references at once.

    Parameters
    ----------
    answers : Answers
        Answers and references.
    k : None
        There is no ranking to cut.
    tokenizer : str or callable, default "13a"
        As in `bleu_score`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN where there is no answer or no reference.

    Examples
    --------
    >>> bleu(Answers(["the cat sat down", None], [["the cat sat down"], ["no"]]))
    array([ 1., nan])
    """
    refuse_cutoff("bleu", k)
    scorer = _bleu(tokenizer)
    return answers.scored(lambda answer, references: _sentence(scorer, answer, references))


def chrf(answers: Answers, k: int | None = None) -> Floats:
    """The chrF of each answer: F2 of n-grams of 1 to 6 characters, blanks left out.

    It needs no tokens, so it serves scripts without blanks as they are.

    Parameters
    ----------
    answers : Answers
        Answers and references; of several references the one that gives most counts.
    k : None
        There is no ranking to cut.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN where there is no answer or no reference. An empty answer scores 1 if
        every reference is empty, else 0.

    References
    ----------
    .. [1] Popović (2015). chrF: character n-gram F-score for automatic MT evaluation.

    Examples
    --------
    >>> chrf(Answers(["Rome", "Rom"], [["Rome"], ["Oslo", "Rome"]])).round(3)
    array([1.   , 0.689])
    """
    refuse_cutoff("chrf", k)
    scorer = CHRF()
    return answers.scored(lambda answer, references: _sentence(scorer, answer, references))


class _Bleu(BLEU):
    """sacrebleu's BLEU, with any callable for a tokenizer."""

    def __init__(self, tokenizer: Tokenizer | str, *, effective_order: bool) -> None:
        named = tokenizer if isinstance(tokenizer, str) else "none"
        if named not in BLEU.TOKENIZERS:
            raise UnknownNameError("tokenizer of sacrebleu", named, BLEU.TOKENIZERS)
        super().__init__(tokenize=named, effective_order=effective_order, force=True)
        self._cut = None if isinstance(tokenizer, str) else tokenizer

    def _preprocess_segment(self, sent: str) -> str:
        if self._cut is not None:
            return " ".join(self._cut(sent))
        return super()._preprocess_segment(sent)


@lru_cache(maxsize=8)
def _bleu(tokenizer: Tokenizer | str) -> _Bleu:
    """The scorer of sentences with that tokenizer, made once."""
    return _Bleu(tokenizer, effective_order=True)


def _sentence(scorer: _SentenceScorer, text: str, references: list[str]) -> float:
    """The score of one text; empty texts are decided here, as sacrebleu has no rule for them."""
    if not references:
        return 0.0
    if not text:
        return float(not any(references))
    return min(scorer.sentence_score(text, references).score / 100.0, 1.0)

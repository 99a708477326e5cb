"""BLEU and chrF by sacrebleu, between 0 and 1; needs the extra ``text``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol, cast

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.metrics.answers import Answers, Tokenizer
from rageval_report.rankings.checks import check_list, refuse_cutoff
from rageval_report.types import FloatArray


class _SentenceScorer(Protocol):
    """The part of a metric of sacrebleu that is used here."""

    def sentence_score(self, hypothesis: str, references: list[str]) -> _Score: ...


class _Score(Protocol):
    score: float


def bleu_score(
    retrieved_chunk: str,
    ground_truth_chunks: Iterable[str],
    *,
    tokenizer: Tokenizer | str = "13a",
) -> float:
    """Sentence BLEU of a text and its references: n-gram precision with a penalty for brevity.

    N-grams of 1 to 4 tokens, each clipped by its largest count in one reference. Orders without an
    n-gram in the text are left out; orders without a match are smoothed exponentially.

    Parameters
    ----------
    retrieved_chunk : str
        The text.
    ground_truth_chunks : list of str
        The references.
    tokenizer : str or callable, default "13a"
        A tokenizer of sacrebleu by name ("13a", "intl", "zh", "char", "none", ...), or a callable
        that cuts a text into tokens without blanks. "13a" keeps upper and lower case, and treats a
        sentence without blanks as one token: use another one for Chinese, Japanese or Thai.

    Returns
    -------
    float
        Between 0 and 1: the figure of sacrebleu divided by 100, at most 1 in spite of rounding. 0
        without references; for an empty text 1 if every reference is empty, otherwise 0.

    Raises
    ------
    UnknownNameError
        If sacrebleu has no tokenizer with that name.

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
    return _score_sentence(_bleu(tokenizer), retrieved_chunk, references)


def corpus_bleu_score(
    retrieved_chunks: Iterable[str],
    ground_truth_chunks: Iterable[str],
    *,
    tokenizer: Tokenizer | str = "13a",
) -> float:
    """The mean over the truths of the best sentence BLEU of any retrieved chunk.

    This is the figure of datapizza-ai for one query. It is not the corpus BLEU of machine
    translation, which pools the n-grams of all sentences: see `pooled_bleu`.

    Parameters
    ----------
    retrieved_chunks : list of str
        The chunks, in any order.
    ground_truth_chunks : list of str
        The truths, each used as the only reference in turn.
    tokenizer : str or callable, default "13a"
        As in `bleu_score`.

    Returns
    -------
    float
        Between 0 and 1; 0 if nothing was retrieved.

    Raises
    ------
    DataError
        If there is no truth, even if nothing was retrieved.

    Examples
    --------
    >>> corpus_bleu_score(["the cat sat down", "it rained"], ["the cat sat down", "no", "snow"])
    0.3333333333333333
    """
    chunks = check_list("retrieved_chunks", retrieved_chunks)
    truths = check_list("ground_truth_chunks", ground_truth_chunks)
    if not truths:
        raise DataError("ground_truth_chunks must have at least one chunk; got none")
    scorer = _bleu(tokenizer)
    best = [
        max((_score_sentence(scorer, c, [truth]) for c in chunks), default=0.0) for truth in truths
    ]
    # cumsum adds one after the other, as the loop of datapizza-ai; np.sum adds pairwise and may
    # differ in the last bit.
    return float(np.cumsum(best)[-1]) / len(truths)


def pooled_bleu(answers: Answers, *, tokenizer: Tokenizer | str = "13a") -> float:
    """Corpus BLEU as in machine translation: n-grams are counted over all queries, then divided.

    Parameters
    ----------
    answers : Answers
        Answers and references; queries without an answer or a reference are left out.
    tokenizer : str or callable, default "13a"
        As in `bleu_score`.

    Returns
    -------
    float
        Between 0 and 1; NaN if no query has both.

    Examples
    --------
    >>> answers = Answers(["the cat sat on the mat"], [["the cat sat on the mat", "a mat"]])
    >>> pooled_bleu(answers)
    1.0
    """
    both = zip(answers.answer, answers.references, strict=True)
    complete = [(answer, refs) for answer, refs in both if answer is not None and refs]
    if not complete:
        return float("nan")
    most = max(len(refs) for _, refs in complete)
    # sacrebleu takes the first references of all texts, then the second ones; None if there is none
    streams = [[refs[i] if i < len(refs) else None for _, refs in complete] for i in range(most)]
    # Over a whole corpus all four orders have n-grams; sacrebleu leaves out empty orders for
    # sentences only.
    scorer = _Bleu(tokenizer, effective_order=False)
    texts = [answer for answer, _ in complete]
    pooled = scorer.corpus_score(texts, cast("list[list[str]]", streams))
    return min(float(pooled.score) / 100.0, 1.0)


def bleu(
    answers: Answers, k: int | None = None, *, tokenizer: Tokenizer | str = "13a"
) -> FloatArray:
    """Sentence BLEU of each answer against all its references at once.

    Parameters
    ----------
    answers : Answers
        Answers and references.
    k : None
        Not used: there is no ranking to cut.
    tokenizer : str or callable, default "13a"
        As in `bleu_score`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN if there is no answer or no reference.

    Examples
    --------
    >>> bleu(Answers(["the cat sat down", None], [["the cat sat down"], ["no"]]))
    array([ 1., nan])
    """
    refuse_cutoff("bleu", k)
    scorer = _bleu(tokenizer)
    return answers.score_each(
        lambda answer, references: _score_sentence(scorer, answer, references)
    )


def chrf(answers: Answers, k: int | None = None) -> FloatArray:
    """The chrF of each answer: F2 of n-grams of 1 to 6 characters, without blanks.

    It needs no tokens, so it also works for scripts without blanks.

    Parameters
    ----------
    answers : Answers
        Answers and references; of several references the best one counts.
    k : None
        Not used: there is no ranking to cut.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN if there is no answer or no reference. An empty answer scores 1 if
        every reference is empty, otherwise 0.

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
    return answers.score_each(
        lambda answer, references: _score_sentence(scorer, answer, references)
    )


class _Bleu(BLEU):
    """BLEU of sacrebleu, with any callable as the tokenizer."""

    def __init__(self, tokenizer: Tokenizer | str, *, effective_order: bool) -> None:
        name = tokenizer if isinstance(tokenizer, str) else "none"
        if name not in BLEU.TOKENIZERS:
            raise UnknownNameError("tokenizer of sacrebleu", name, BLEU.TOKENIZERS)
        # force: otherwise sacrebleu warns of texts that look tokenised already.
        super().__init__(tokenize=name, effective_order=effective_order, force=True)
        self._cut = None if isinstance(tokenizer, str) else tokenizer

    def _preprocess_segment(self, sent: str) -> str:
        if self._cut is not None:
            return " ".join(self._cut(sent))
        return super()._preprocess_segment(sent)


@lru_cache(maxsize=8)
def _bleu(tokenizer: Tokenizer | str) -> _Bleu:
    """The scorer of sentences with that tokenizer, created once."""
    # A one-word answer has no longer n-grams; without this its BLEU would be 0 however right it is.
    return _Bleu(tokenizer, effective_order=True)


def _score_sentence(scorer: _SentenceScorer, text: str, references: list[str]) -> float:
    """The score of one text; sacrebleu has no rule for empty texts, so they are scored here."""
    if not references:
        return 0.0
    if not text:
        # datapizza-ai's rule: an empty text matches only empty references.
        return float(not any(references))
    # sacrebleu gives 1.0000000000000004 for equal texts, which is outside the bounds.
    return min(scorer.sentence_score(text, references).score / 100.0, 1.0)

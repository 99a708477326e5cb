"""ROUGE-1, ROUGE-2 and ROUGE-L of many pairs at once; needs the extra ``text``.

The figures equal those of the package rouge-score, to the last bit. Its tokens and stems are used,
each word stemmed once; n-grams are counted for many pairs at once by sorting integers, and the
longest common subsequences come from rapidfuzz.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report.errors import DataError, check_choice
from rageval_report.metrics._overlap import PairBlock, blocks_of
from rageval_report.metrics.answers import Answers, Tokenizer
from rageval_report.rankings.checks import check_list, refuse_cutoff
from rageval_report.types import FloatArray

ROUGE_TYPES = ("rouge1", "rouge2", "rougeL")

_FIGURES = ("precision", "recall", "fmeasure")


@dataclass(frozen=True, eq=False)
class RougeScores:
    """The scores of pairs of texts for one type of ROUGE.

    Parameters
    ----------
    precision, recall, fmeasure : ndarray of shape (n_pairs,)
        The common tokens over those of the text, over those of the reference; the harmonic mean.
    """

    precision: FloatArray
    recall: FloatArray
    fmeasure: FloatArray

    def at(self, place: int) -> dict[str, float]:
        """The three figures of one pair."""
        return {name: float(getattr(self, name)[place]) for name in _FIGURES}


def rouge_scores(
    texts: Sequence[str],
    references: Sequence[str],
    *,
    types: Sequence[str] = ROUGE_TYPES,
    stem: bool = True,
    tokenizer: Tokenizer | None = None,
) -> dict[str, RougeScores]:
    """ROUGE of pairs of texts: the first text with the first reference, and so on.

    Parameters
    ----------
    texts, references : list of str of equal length
        The texts and what each is compared with.
    types : sequence of {"rouge1", "rouge2", "rougeL"}
        Overlap of words, of pairs of words; longest common subsequence of the whole texts.
    stem : bool, default True
        Whether to stem words of more than three letters (Porter), as datapizza-ai does; rouge-score
        itself does not by default.
    tokenizer : callable, optional
        A function that cuts a text into tokens, which are then not stemmed. If omitted, tokens are
        runs of a-z and 0-9 in lower case: an accent splits a word, and texts in other scripts have
        no tokens and score 0; use `rageval_report.metrics.tokens.characters_or_words` for those.

    Returns
    -------
    dict of str to RougeScores
        By type.

    Raises
    ------
    DataError
        If the numbers of texts and references differ.

    References
    ----------
    .. [1] Lin (2004). ROUGE: a package for automatic evaluation of summaries.

    Examples
    --------
    >>> scores = rouge_scores(["the dogs jumped"], ["a dog jumps high"])
    >>> scores["rouge1"].at(0)["recall"], scores["rouge2"].at(0)["recall"]
    (0.5, 0.3333333333333333)
    """
    if len(texts) != len(references):
        raise DataError(
            f"texts and references must have one length; got {len(texts)} and {len(references)}"
        )
    for name in types:
        check_choice("types", name, ROUGE_TYPES)
    blocks = [
        {name: _COUNTS[name](block) for name in types}
        for block in blocks_of(texts, references, stem=stem, tokenizer=tokenizer)
    ]
    counts = {name: np.hstack([_NO_PAIR, *(block[name] for block in blocks)]) for name in types}
    return {name: _scores(rows) for name, rows in counts.items()}


# Counts of what is common, of the text and of the reference: three rows, one column per pair.
_COUNTS: dict[str, Callable[[PairBlock], FloatArray]] = {
    "rouge1": lambda block: block.ngrams(1),
    "rouge2": lambda block: block.ngrams(2),
    "rougeL": lambda block: block.subsequences(),
}
_NO_PAIR = np.empty((3, 0))


def _scores(counts: FloatArray) -> RougeScores:
    """Precision, recall and F, in the order of operations of rouge-score, so that bits agree."""
    common, in_text, in_reference = counts
    # rouge-score's divisor for a text without tokens.
    precision = common / np.maximum(in_text, 1)
    recall = common / np.maximum(in_reference, 1)
    both = precision + recall
    fmeasure = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return RougeScores(precision, recall, fmeasure)


def rouge_score(
    retrieved_chunk: str, ground_truth_chunk: str, *, tokenizer: Tokenizer | None = None
) -> dict[str, dict[str, float]]:
    """ROUGE-1, ROUGE-2 and ROUGE-L of a text and its reference, words stemmed.

    Parameters
    ----------
    retrieved_chunk, ground_truth_chunk : str
        The text and the reference.
    tokenizer : callable, optional
        As in `rouge_scores`.

    Returns
    -------
    dict of str to dict
        "rouge1", "rouge2" and "rougeL", each with "precision", "recall" and "fmeasure", as the
        code of datapizza-ai returns them (its documentation mentions F alone). 0 if a text is empty
        or has no token. `rouge_fmeasures` flattens it.

    Examples
    --------
    >>> rouge_score("the dogs jumped", "the dog jumps")["rougeL"]
    {'precision': 1.0, 'recall': 1.0, 'fmeasure': 1.0}
    """
    scores = rouge_scores([retrieved_chunk], [ground_truth_chunk], tokenizer=tokenizer)
    return {name: score.at(0) for name, score in scores.items()}


def rouge_fmeasures(scores: dict[str, dict[str, float]]) -> dict[str, float]:
    """The F-measures alone of a result of `rouge_score` or `corpus_rouge_scores`.

    Examples
    --------
    >>> rouge_fmeasures(rouge_score("a cat", "a dog"))
    {'rouge1': 0.5, 'rouge2': 0.0, 'rougeL': 0.5}
    """
    return {name: figures["fmeasure"] for name, figures in scores.items()}


def corpus_rouge_scores(
    retrieved_chunks: Iterable[str],
    ground_truth_chunks: Iterable[str],
    *,
    tokenizer: Tokenizer | None = None,
) -> dict[str, dict[str, float]]:
    """The mean over the truths of the ROUGE of the chunk with the highest recall of each.

    Parameters
    ----------
    retrieved_chunks : list of str
        The chunks of one query; of equal recalls the first chunk counts, for each type of ROUGE.
    ground_truth_chunks : list of str
        The truths.
    tokenizer : callable, optional
        As in `rouge_scores`.

    Returns
    -------
    dict of str to dict
        As `rouge_score`. All 0 if nothing was retrieved, even without truths.

    Raises
    ------
    DataError
        If there is no truth although something was retrieved.

    Examples
    --------
    >>> corpus_rouge_scores(["a cat", "a dog ran"], ["a dog", "some cats"])["rouge1"]
    {'precision': 0.5833333333333333, 'recall': 0.75, 'fmeasure': 0.65}
    """
    chunks = check_list("retrieved_chunks", retrieved_chunks)
    truths = check_list("ground_truth_chunks", ground_truth_chunks)
    if not chunks:
        return {name: dict.fromkeys(_FIGURES, 0.0) for name in ROUGE_TYPES}
    if not truths:
        raise DataError("ground_truth_chunks must have at least one chunk; got none")
    texts, references = chunks * len(truths), [truth for truth in truths for _ in chunks]
    scores = rouge_scores(texts, references, tokenizer=tokenizer)
    return {name: _mean_of_best(score, len(truths)) for name, score in scores.items()}


def _mean_of_best(scores: RougeScores, n_truths: int) -> dict[str, float]:
    """The mean figures over the truths of the first pair with the highest recall."""
    # By recall, and the first of several, as in datapizza-ai.
    best = scores.recall.reshape(n_truths, -1).argmax(axis=1)
    figures = {name: getattr(scores, name).reshape(n_truths, -1) for name in _FIGURES}
    chosen = {name: table[np.arange(n_truths), best] for name, table in figures.items()}
    # cumsum adds in order, as a loop does, so that the last bit agrees with datapizza-ai.
    return {name: float(np.cumsum(values)[-1]) / n_truths for name, values in chosen.items()}


def rouge_1(
    answers: Answers, k: int | None = None, *, stem: bool = True, tokenizer: Tokenizer | None = None
) -> FloatArray:
    """The F-measure of the words that each answer shares with its best reference.

    Parameters
    ----------
    answers : Answers
        Answers and references; of several references the best one counts.
    k : None
        Not used: there is no ranking to cut.
    stem, tokenizer
        As in `rouge_scores`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN if there is no answer or no reference.

    Examples
    --------
    >>> rouge_1(Answers(["a red cat", None], [["cats", "the red cats"], ["a"]])).round(3)
    array([0.667,   nan])
    """
    refuse_cutoff("rouge_1", k)
    return _best_fmeasure(answers, "rouge1", stem, tokenizer)


def rouge_2(
    answers: Answers, k: int | None = None, *, stem: bool = True, tokenizer: Tokenizer | None = None
) -> FloatArray:
    """The F-measure of the pairs of words that each answer shares with its best reference.

    Parameters
    ----------
    answers, k, stem, tokenizer
        As in `rouge_1`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN if there is no answer or no reference.

    Examples
    --------
    >>> rouge_2(Answers(["a red cat", None], [["cats", "the red cats"], ["a"]])).round(3)
    array([0.5, nan])
    """
    refuse_cutoff("rouge_2", k)
    return _best_fmeasure(answers, "rouge2", stem, tokenizer)


def rouge_l(
    answers: Answers, k: int | None = None, *, stem: bool = True, tokenizer: Tokenizer | None = None
) -> FloatArray:
    """The F-measure of the longest subsequence of words in each answer and its best reference.

    Parameters
    ----------
    answers, k, stem, tokenizer
        As in `rouge_1`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN if there is no answer or no reference.

    Examples
    --------
    >>> rouge_l(Answers(["a red cat", None], [["cats", "the red cats"], ["a"]])).round(3)
    array([0.667,   nan])
    """
    refuse_cutoff("rouge_l", k)
    return _best_fmeasure(answers, "rougeL", stem, tokenizer)


def _best_fmeasure(
    answers: Answers, name: str, stem: bool, tokenizer: Tokenizer | None
) -> FloatArray:
    texts = [answer for answer, _ in answers.pairs]
    references = [reference for _, reference in answers.pairs]
    scores = rouge_scores(texts, references, types=[name], stem=stem, tokenizer=tokenizer)
    return answers.best(scores[name].fmeasure)

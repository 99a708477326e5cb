"""ROUGE-1, ROUGE-2 and ROUGE-L of many pairs at once; needs the extra ``text``.

The figures are those of the package rouge-score, to the last bit. Its tokens and stems are used as
they are, each word stemmed once; n-grams are counted for a block of pairs by sorting whole numbers,
and the longest common subsequences come from rapidfuzz.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.metrics._overlap import Block, blocks_of
from rageval_report.metrics.answers import Answers, Floats, Tokenizer
from rageval_report.rankings.checks import check_list, refuse_cutoff

ROUGE_TYPES = ("rouge1", "rouge2", "rougeL")

_FIGURES = ("precision", "recall", "fmeasure")


@dataclass(frozen=True, eq=False)
class RougeScores:
    """The scores of pairs of texts in one type of ROUGE.

    Parameters
    ----------
    precision, recall, fmeasure : ndarray of shape (n_pairs,)
        What is common over what the text has, over what the reference has; their harmonic mean.
    """

    precision: Floats
    recall: Floats
    fmeasure: Floats

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
    """ROUGE of pairs of texts, the first with the first, and so on.

    Parameters
    ----------
    texts, references : list of str of equal length
        What was said, and what should have been.
    types : sequence of {"rouge1", "rouge2", "rougeL"}
        Overlap of words, of pairs of words; longest common subsequence of the whole texts.
    stem : bool, default True
        Stem words of more than three letters by Porter, as datapizza-ai does; rouge-score itself
        does not unless asked.
    tokenizer : callable, optional
        Cuts a text into tokens, which are then not stemmed. Without one, tokens are runs of a-z and
        0-9 in lower case: an accent splits a word, and scripts other than Latin have no token and
        score 0; hand in `rageval_report.metrics.tokens.characters_or_words` for those.

    Returns
    -------
    dict of str to RougeScores
        By type.

    Raises
    ------
    DataError
        If there are not as many texts as references.

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
            f"texts and references are compared one by one; got {len(texts)} and {len(references)}"
        )
    for name in types:
        if name not in ROUGE_TYPES:
            raise UnknownNameError("type of ROUGE", name, ROUGE_TYPES)
    blocks = [
        {name: _COUNTS[name](block) for name in types}
        for block in blocks_of(texts, references, stem=stem, tokenizer=tokenizer)
    ]
    return {name: _scores(np.hstack([_NO_PAIR, *(one[name] for one in blocks)])) for name in types}


# What is common, what the texts have, what the references have: three rows, a column a pair.
_COUNTS: dict[str, Callable[[Block], Floats]] = {
    "rouge1": lambda block: block.ngrams(1),
    "rouge2": lambda block: block.ngrams(2),
    "rougeL": lambda block: block.subsequences(),
}
_NO_PAIR = np.empty((3, 0))


def _scores(counts: Floats) -> RougeScores:
    """Precision, recall and F, rounded where rouge-score rounds."""
    common, said, meant = counts
    precision, recall = common / np.maximum(said, 1), common / np.maximum(meant, 1)
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
        "rouge1", "rouge2" and "rougeL", each with "precision", "recall" and "fmeasure", as
        the code of datapizza-ai gives them (its documents speak of F alone). 0 where a text is
        empty or has no token. `rouge_fmeasures` flattens it.

    Examples
    --------
    >>> rouge_score("the dogs jumped", "the dog jumps")["rougeL"]
    {'precision': 1.0, 'recall': 1.0, 'fmeasure': 1.0}
    """
    scores = rouge_scores([retrieved_chunk], [ground_truth_chunk], tokenizer=tokenizer)
    return {name: score.at(0) for name, score in scores.items()}


def rouge_fmeasures(scores: dict[str, dict[str, float]]) -> dict[str, float]:
    """The F-measures alone of what `rouge_score` or `corpus_rouge_scores` gives.

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
    """The mean over the truths of the ROUGE of the chunk that recalls most of each.

    Parameters
    ----------
    retrieved_chunks : list of str
        The chunks of one query; of equal recalls the first chunk counts, by type of ROUGE.
    ground_truth_chunks : list of str
        The truths.
    tokenizer : callable, optional
        As in `rouge_scores`.

    Returns
    -------
    dict of str to dict
        As `rouge_score`. All 0 where nothing was retrieved, even without truths.

    Raises
    ------
    DataError
        If there is no truth though something was retrieved.

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
        raise DataError("ground_truth_chunks is empty: without a truth there is nothing to compare")
    texts, references = chunks * len(truths), [truth for truth in truths for _ in chunks]
    scores = rouge_scores(texts, references, tokenizer=tokenizer)
    return {name: _mean_of_best(score, len(truths)) for name, score in scores.items()}


def _mean_of_best(scores: RougeScores, n_truths: int) -> dict[str, float]:
    """The mean figures of the first pair of the highest recall of each truth."""
    best = scores.recall.reshape(n_truths, -1).argmax(axis=1)
    figures = {name: getattr(scores, name).reshape(n_truths, -1) for name in _FIGURES}
    chosen = {name: table[np.arange(n_truths), best] for name, table in figures.items()}
    return {name: float(np.cumsum(values)[-1]) / n_truths for name, values in chosen.items()}


def rouge_1(
    answers: Answers, k: int | None = None, *, stem: bool = True, tokenizer: Tokenizer | None = None
) -> Floats:
    """The F-measure of the words that each answer shares with its best reference.

    Parameters
    ----------
    answers : Answers
        Answers and references; of several references the one that gives most counts.
    k : None
        There is no ranking to cut.
    stem, tokenizer
        As in `rouge_scores`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN where there is no answer or no reference.

    Examples
    --------
    >>> rouge_1(Answers(["a red cat", None], [["cats", "the red cats"], ["a"]])).round(3)
    array([0.667,   nan])
    """
    refuse_cutoff("rouge_1", k)
    return _best_fmeasure(answers, "rouge1", stem, tokenizer)


def rouge_2(
    answers: Answers, k: int | None = None, *, stem: bool = True, tokenizer: Tokenizer | None = None
) -> Floats:
    """The F-measure of the pairs of words that each answer shares with its best reference.

    Parameters
    ----------
    answers : Answers
        Answers and references; of several references the one that gives most counts.
    k : None
        There is no ranking to cut.
    stem, tokenizer
        As in `rouge_scores`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN where there is no answer or no reference.

    Examples
    --------
    >>> rouge_2(Answers(["a red cat", None], [["cats", "the red cats"], ["a"]])).round(3)
    array([0.5, nan])
    """
    refuse_cutoff("rouge_2", k)
    return _best_fmeasure(answers, "rouge2", stem, tokenizer)


def rouge_l(
    answers: Answers, k: int | None = None, *, stem: bool = True, tokenizer: Tokenizer | None = None
) -> Floats:
    """The F-measure of the longest subsequence of words in each answer and its best reference.

    Parameters
    ----------
    answers : Answers
        Answers and references; of several references the one that gives most counts.
    k : None
        There is no ranking to cut.
    stem, tokenizer
        As in `rouge_scores`.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN where there is no answer or no reference.

    Examples
    --------
    >>> rouge_l(Answers(["a red cat", None], [["cats", "the red cats"], ["a"]])).round(3)
    array([0.667,   nan])
    """
    refuse_cutoff("rouge_l", k)
    return _best_fmeasure(answers, "rougeL", stem, tokenizer)


def _best_fmeasure(answers: Answers, name: str, stem: bool, tokenizer: Tokenizer | None) -> Floats:
    texts = [answer for answer, _ in answers.pairs]
    references = [reference for _, reference in answers.pairs]
    scores = rouge_scores(texts, references, types=[name], stem=stem, tokenizer=tokenizer)
    return answers.best(scores[name].fmeasure)

"""BLEU and chrF by sacrebleu, ROUGE as rouge-score computes it; needs the extra ``text``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import cast

import numpy as np
from nltk.stem.porter import PorterStemmer  # type: ignore[import-untyped]
from rapidfuzz.distance import LCSseq
from rouge_score.tokenize import tokenize  # type: ignore[import-untyped]
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.metrics.checks import check_list
from rageval_report.metrics.text import Answers, Tokenizer
from rageval_report.types import FloatArray


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
    """Corpus BLEU as in machine translation: n-grams are counted over all queries, then divided."""
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


def bleu(answers: Answers, *, tokenizer: Tokenizer | str = "13a") -> FloatArray:
    """Sentence BLEU of each answer against all its references at once."""
    scorer = _bleu(tokenizer)
    return answers.score_each(partial(_score_sentence, scorer))


def chrf(answers: Answers) -> FloatArray:
    """The chrF of each answer: F2 of n-grams of 1 to 6 characters, without blanks."""
    scorer = CHRF()
    return answers.score_each(partial(_score_sentence, scorer))


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


def _score_sentence(scorer: BLEU | CHRF, text: str, references: list[str]) -> float:
    """The score of one text; sacrebleu has no rule for empty texts, so they are scored here."""
    if not references:
        return 0.0
    if not text:
        # datapizza-ai's rule: an empty text matches only empty references.
        return float(not any(references))
    # sacrebleu gives 1.0000000000000004 for equal texts, which is outside the bounds.
    return min(scorer.sentence_score(text, references).score / 100.0, 1.0)


ROUGE_TYPES = ("rouge1", "rouge2", "rougeL")

# Precision, recall and F-measure of pairs of texts for one type of ROUGE.
RougeScores = dict[str, FloatArray]


def rouge_scores(
    texts: Sequence[str],
    references: Sequence[str],
    *,
    types: Sequence[str] = ROUGE_TYPES,
    stem: bool = True,
    tokenizer: Tokenizer | None = None,
) -> dict[str, RougeScores]:
    """ROUGE of pairs of texts: the first text with the first reference, and so on."""
    cut = tokenizer or (_stems if stem else _words)
    # Each text is cut once: a reference has many answers, and a chunk many truths.
    tokens = {text: cut(text) for text in {*texts, *references}}
    pairs = [(tokens[text], tokens[reference])
             for text, reference in zip(texts, references, strict=True)]  # fmt: skip
    return {name: _scores([_COUNTS[name](*pair) for pair in pairs]) for name in types}


_STEMMER = SimpleNamespace(stem=lru_cache(maxsize=1 << 17)(PorterStemmer().stem))


def _words(text: str) -> list[str]:
    return list(tokenize(text, None))


def _stems(text: str) -> list[str]:
    return list(tokenize(text, _STEMMER))


def _count_ngrams(text: list[str], reference: list[str], n: int) -> tuple[int, int, int]:
    """The n-grams in common, of the text and of the reference, for n of 1 or 2."""
    ours, theirs = (
        Counter(zip(*(tokens[start:] for start in range(n)), strict=False))
        for tokens in (text, reference)
    )
    return (ours & theirs).total(), ours.total(), theirs.total()


# Counts of what is common, of the text and of the reference.
_COUNTS: dict[str, Callable[[list[str], list[str]], tuple[int, int, int]]] = {
    "rouge1": partial(_count_ngrams, n=1),
    "rouge2": partial(_count_ngrams, n=2),
    "rougeL": lambda text, reference: (
        LCSseq.similarity(text, reference),
        len(text),
        len(reference),
    ),
}


def _scores(counts: list[tuple[int, int, int]]) -> RougeScores:
    """Precision, recall and F, in the order of operations of rouge-score, so that bits agree."""
    common, in_text, in_reference = np.array(counts, dtype=np.float64).reshape(-1, 3).T
    # rouge-score's divisor for a text without tokens.
    precision = common / np.maximum(in_text, 1)
    recall = common / np.maximum(in_reference, 1)
    both = precision + recall
    fmeasure = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return {"precision": precision, "recall": recall, "fmeasure": fmeasure}


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
        or has no token.

    Examples
    --------
    >>> rouge_score("the dogs jumped", "the dog jumps")["rougeL"]
    {'precision': 1.0, 'recall': 1.0, 'fmeasure': 1.0}
    """
    scores = rouge_scores([retrieved_chunk], [ground_truth_chunk], tokenizer=tokenizer)
    return {name: _mean_of_best(score, 1) for name, score in scores.items()}


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
        return {
            name: dict.fromkeys(("precision", "recall", "fmeasure"), 0.0) for name in ROUGE_TYPES
        }
    if not truths:
        raise DataError("ground_truth_chunks must have at least one chunk; got none")
    texts, references = chunks * len(truths), [truth for truth in truths for _ in chunks]
    scores = rouge_scores(texts, references, tokenizer=tokenizer)
    return {name: _mean_of_best(score, len(truths)) for name, score in scores.items()}


def _mean_of_best(scores: RougeScores, n_truths: int) -> dict[str, float]:
    """The mean figures over the truths of the first pair with the highest recall."""
    # By recall, and the first of several, as in datapizza-ai.
    best = scores["recall"].reshape(n_truths, -1).argmax(axis=1)
    chosen = {name: figures.reshape(n_truths, -1)[np.arange(n_truths), best]
              for name, figures in scores.items()}  # fmt: skip
    # cumsum adds in order, as a loop does, so that the last bit agrees with datapizza-ai.
    return {name: float(np.cumsum(values)[-1]) / n_truths for name, values in chosen.items()}


def _best_fmeasure(
    answers: Answers, *, name: str, stem: bool = True, tokenizer: Tokenizer | None = None
) -> FloatArray:
    """The F-measure of what each answer has in common with its best reference."""
    texts = [answer for answer, _ in answers.pairs]
    references = [reference for _, reference in answers.pairs]
    scores = rouge_scores(texts, references, types=[name], stem=stem, tokenizer=tokenizer)
    return answers.best(scores[name]["fmeasure"])


rouge_1 = partial(_best_fmeasure, name="rouge1")
rouge_2 = partial(_best_fmeasure, name="rouge2")
rouge_l = partial(_best_fmeasure, name="rougeL")

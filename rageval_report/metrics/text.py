"""Metrics that compare answers with references word for word: exact match and token F1.

They need only NumPy; BLEU, chrF and ROUGE are in `bleu` and `rouge` and need the extra ``text``.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from rageval_report.metrics.answers import Answers, Tokenizer
from rageval_report.rankings.checks import refuse_cutoff
from rageval_report.types import FloatArray

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")  # faster than str.translate


def normalise_squad(text: str) -> str:
    """A text in lower case, without ASCII punctuation, English articles and extra blanks.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str

    References
    ----------
    .. [1] Rajpurkar et al. (2016). SQuAD: 100,000+ questions for machine comprehension of text.

    Examples
    --------
    >>> normalise_squad("  The Duke, an  heir of A. Normandy!")
    'duke heir of normandy'
    """
    # The order of SQuAD's script: lower case, punctuation, articles, blanks.
    bare = _PUNCTUATION.sub("", text.lower())
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answers: Answers, k: int | None = None) -> FloatArray:
    """Whether the answer equals a reference, letter by letter.

    Parameters
    ----------
    answers : Answers
        Answers and references.
    k : None
        Not used: there is no ranking to cut.

    Returns
    -------
    ndarray of shape (n_queries,)
        0 or 1; NaN if there is no answer or no reference. For a question that is known to have no
        answer, a refusal is right: see `Answers.with_refusals`.

    See Also
    --------
    exact_match_squad : The same after the normalisation of SQuAD.

    Examples
    --------
    >>> exact_match(Answers(["Rome", "rome", None], [["Rome", "Roma"], ["Rome"], ["Oslo"]]))
    array([ 1.,  0., nan])
    """
    refuse_cutoff("exact_match", k)
    scores = answers.best([answer == reference for answer, reference in answers.pairs])
    return answers.with_refusals(scores)


def exact_match_squad(answers: Answers, k: int | None = None) -> FloatArray:
    """Whether the answer equals a reference after both are normalised as in SQuAD.

    The reference of a question without an answer is the empty text, and the empty text is its right
    answer.

    Parameters
    ----------
    answers : Answers
        Answers and references.
    k : None
        Not used: there is no ranking to cut.

    Returns
    -------
    ndarray of shape (n_queries,)
        0 or 1; NaN if there is no answer or no reference.

    References
    ----------
    .. [1] Rajpurkar et al. (2018). Know what you don't know: unanswerable questions for SQuAD.

    Examples
    --------
    >>> exact_match_squad(Answers(["the city of Rome.", ""], [["City of Rome"], [""]]))
    array([1., 1.])
    """
    refuse_cutoff("exact_match_squad", k)
    bare = normalise_squad
    scores = answers.best([bare(answer) == bare(reference) for answer, reference in answers.pairs])
    return answers.with_refusals(scores)


def token_f1(
    answers: Answers, k: int | None = None, *, tokenizer: Tokenizer | None = None
) -> FloatArray:
    """The harmonic mean of the shares of tokens that answer and reference have in common.

    Tokens count as often as they appear in both. If a text has no token, the score is 1 if neither
    has one, otherwise 0.

    Parameters
    ----------
    answers : Answers
        Answers and references; of several references the best one counts.
    k : None
        Not used: there is no ranking to cut.
    tokenizer : callable, optional
        A function that cuts a text into tokens; words after the normalisation of SQuAD if omitted.
        Scripts without blanks need one, such as
        `rageval_report.metrics.tokens.characters_or_words`: otherwise a sentence is one token.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN if there is no answer or no reference.

    References
    ----------
    .. [1] Rajpurkar et al. (2016). SQuAD: 100,000+ questions for machine comprehension of text.

    Examples
    --------
    Two of the three words of the answer are right, and both words of the reference appear.

    >>> token_f1(Answers(["the old city Rome"], [["City of Rome", "city, Rome"]]))
    array([0.8])
    """
    refuse_cutoff("token_f1", k)
    cut = tokenizer or _squad_tokens
    counts: dict[str, Counter[str]] = {}
    for text in {text for pair in answers.pairs for text in pair}:
        counts[text] = Counter(cut(text))
    scores = answers.best([_overlap_f1(counts[a], counts[b]) for a, b in answers.pairs])
    return answers.with_refusals(scores)


def _squad_tokens(text: str) -> list[str]:
    return normalise_squad(text).split()


def _overlap_f1(answer: Counter[str], reference: Counter[str]) -> float:
    # SQuAD's rule: two texts without tokens agree, one alone does not.
    if not answer or not reference:
        return float(answer == reference)
    common = (answer & reference).total()
    precision, recall = common / answer.total(), common / reference.total()
    return 2 * precision * recall / (precision + recall) if common else 0.0

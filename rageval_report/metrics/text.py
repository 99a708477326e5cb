"""Answers compared with references word for word: exact match and token F1.

Nothing beyond NumPy is needed here; BLEU, chrF and ROUGE stand in `bleu` and `rouge`, with the
extra ``text``.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from rageval_report.metrics.answers import Answers, Floats, Tokenizer
from rageval_report.rankings.checks import refuse_cutoff

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")  # faster than str.translate


def squad_normalised(text: str) -> str:
    """A text in lower case, without ASCII punctuation, English articles and surplus blanks.

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
    >>> squad_normalised("  The Duke, an  heir of A. Normandy!")
    'duke heir of normandy'
    """
    bare = _PUNCTUATION.sub("", text.lower())
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answers: Answers, k: int | None = None) -> Floats:
    """Whether the answer equals a reference, letter by letter.

    Parameters
    ----------
    answers : Answers
        Answers and references.
    k : None
        There is no ranking to cut.

    Returns
    -------
    ndarray of shape (n_queries,)
        0 or 1; NaN where there is no answer or no reference.

    See Also
    --------
    exact_match_squad : The same, after SQuAD's normalisation.

    Examples
    --------
    >>> exact_match(Answers(["Rome", "rome", None], [["Rome", "Roma"], ["Rome"], ["Oslo"]]))
    array([ 1.,  0., nan])
    """
    refuse_cutoff("exact_match", k)
    return answers.best([answer == reference for answer, reference in answers.pairs])


def exact_match_squad(answers: Answers, k: int | None = None) -> Floats:
    """Whether the answer equals a reference after SQuAD's normalisation of both.

    A question without an answer has the empty text for a reference, and is answered rightly by the
    empty text.

    Parameters
    ----------
    answers : Answers
        Answers and references.
    k : None
        There is no ranking to cut.

    Returns
    -------
    ndarray of shape (n_queries,)
        0 or 1; NaN where there is no answer or no reference.

    References
    ----------
    .. [1] Rajpurkar et al. (2018). Know what you don't know: unanswerable questions for SQuAD.

    Examples
    --------
    >>> exact_match_squad(Answers(["the city of Rome.", ""], [["City of Rome"], [""]]))
    array([1., 1.])
    """
    refuse_cutoff("exact_match_squad", k)
    bare = squad_normalised
    return answers.best([bare(answer) == bare(reference) for answer, reference in answers.pairs])


def token_f1(
    answers: Answers, k: int | None = None, *, tokenizer: Tokenizer | None = None
) -> Floats:
    """The harmonic mean of the shares of tokens that answer and reference have in common.

    Tokens count as often as they stand in both. Where either text has no token the score is 1 if
    neither has one, else 0.

    Parameters
    ----------
    answers : Answers
        Answers and references; of several references the one that gives most counts.
    k : None
        There is no ranking to cut.
    tokenizer : callable, optional
        Cuts a text into tokens; words after SQuAD's normalisation where none is given. Scripts
        without blanks need one, as `rageval_report.metrics.tokens.characters_or_words`: else a
        sentence is one token.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN where there is no answer or no reference.

    References
    ----------
    .. [1] Rajpurkar et al. (2016). SQuAD: 100,000+ questions for machine comprehension of text.

    Examples
    --------
    Two of three words of the answer are right, and both words of the reference are there.

    >>> token_f1(Answers(["the old city Rome"], [["City of Rome", "city, Rome"]]))
    array([0.8])
    """
    refuse_cutoff("token_f1", k)
    cut = tokenizer or _squad_tokens
    counts: dict[str, Counter[str]] = {}
    for text in {text for pair in answers.pairs for text in pair}:
        counts[text] = Counter(cut(text))
    return answers.best([_overlap_f1(counts[a], counts[b]) for a, b in answers.pairs])


def _squad_tokens(text: str) -> list[str]:
    return squad_normalised(text).split()


def _overlap_f1(answer: Counter[str], reference: Counter[str]) -> float:
    if not answer or not reference:
        return float(answer == reference)
    common = (answer & reference).total()
    precision, recall = common / answer.total(), common / reference.total()
    return 2 * precision * recall / (precision + recall) if common else 0.0

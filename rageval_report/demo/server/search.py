"""Retrieval and answers without a model: BM25 finds documents, and the best sentence answers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from rageval_report._registry import load
from rageval_report.demo.server.corpus import Document
from rageval_report.errors import DataError

REFUSAL = "I don't know: the documents do not say."
MODEL = "extractive-bm25"

_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_STOP_WORDS = frozenset(
    "a an and any are as at be by can did do does for from get has have how i if in is it its may "
    "me must my no not of on or our s t that the their there they this to was we what when where "
    "which who whom why will with you your".split()
)
_LEAST_COVERED = 0.5


def words_of(text: str) -> list[str]:
    """The words of a text that say something, in lower case and singular.

    Examples
    --------
    >>> words_of("What are the fees for the ferry?")
    ['fee', 'ferry']
    """
    words = _WORD.findall(text.lower())
    return [_singular(word) for word in words if word not in _STOP_WORDS]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


class ExtractiveRag:
    """Answers questions with sentences of documents; equal questions are answered equally.

    Parameters
    ----------
    documents : sequence of Document
        What is searched.
    k : int, default 3
        How many documents are retrieved.

    Raises
    ------
    DataError
        If no document holds a word.

    Examples
    --------
    >>> rag = ExtractiveRag([Document("d1", "The fee is 6 crowns. Pay at the harbour.")])
    >>> rag.answer("Where do I pay?")["answer"]
    'Pay at the harbour.'
    >>> rag.answer("How tall is the lighthouse?")["answer"]
    "I don't know: the documents do not say."
    """

    def __init__(self, documents: Sequence[Document], k: int = 3):
        words = [words_of(document.text) for document in documents]
        if not any(words):
            raise DataError("expected documents that hold words; got none")
        if k < 1:
            raise DataError(f"k must be at least 1; got {k!r}")
        self.k = k
        self._documents = list(documents)
        held = Counter(word for found in words for word in set(found))
        self._weights = {word: math.log(1 + len(words) / n) for word, n in held.items()}
        self._unknown = math.log(1 + len(words))
        self._index = load("bm25s:BM25")()
        self._index.index(words, show_progress=False)

    def answer(self, question: str, k: int | None = None) -> dict[str, Any]:
        """What the server answers.

        Parameters
        ----------
        question : str
            Any text.
        k : int, optional
            How many documents are retrieved; as many as usual where not given.

        Returns
        -------
        dict
            ``answer``; ``retrieved``, a list of ``doc_id``, ``score`` and ``text``, the best first;
            ``citations``, ids; ``model``.
        """
        asked = sorted(set(words_of(question)))
        found = self._retrieved(asked, k or self.k)
        place, sentence, covered = self._best_sentence(asked, found)
        known = covered >= _LEAST_COVERED
        return {
            "answer": sentence if known else REFUSAL,
            "retrieved": found,
            "citations": [found[place]["doc_id"]] if known else [],
            "model": MODEL,
        }

    def _retrieved(self, asked: list[str], k: int) -> list[dict[str, Any]]:
        if not asked:
            return []
        scores = np.asarray(self._index.get_scores(asked), dtype=np.float64)
        best = np.argsort(-scores, kind="stable")[:k]
        return [
            {
                "doc_id": self._documents[place].doc_id,
                "score": round(float(scores[place]), 4),
                "text": self._documents[place].text,
            }
            for place in best
            if scores[place] > 0
        ]

    def _best_sentence(
        self, asked: list[str], found: list[dict[str, Any]]
    ) -> tuple[int, str, float]:
        """The retrieved sentence that holds most of the question, by weight, and how much."""
        total = sum(self._weight(word) for word in asked)
        best = (0, "", 0.0)
        for place, document in enumerate(found):
            for sentence in _SENTENCE.split(document["text"].strip()):
                held = set(words_of(sentence))
                covered = sum(self._weight(word) for word in asked if word in held) / total
                if covered > best[2]:
                    best = (place, sentence, covered)
        return best

    def _weight(self, word: str) -> float:
        return self._weights.get(word, self._unknown)

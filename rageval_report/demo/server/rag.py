"""Documents, and answers to questions about them without a model: BM25 and the best sentence."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from rageval_report._registry import load
from rageval_report.errors import DataError, named
from rageval_report.files.source import Source, json_objects

SUFFIXES = (".txt", ".md")

_DATA = resources.files(__name__.rpartition(".")[0]) / "data"


@dataclass(frozen=True)
class Document:
    """A text that the server can retrieve.

    Parameters
    ----------
    doc_id : str
        Its id.
    text : str
        The text.

    Examples
    --------
    >>> Document("d1", "The fee is 6 crowns.").doc_id
    'd1'
    """

    doc_id: str
    text: str


def read_documents(path: str | Path) -> list[Document]:
    r"""The documents of a folder, or of a JSON Lines file.

    Parameters
    ----------
    path : str or Path
        A folder of ``.txt`` and ``.md`` files, whose ids are their paths in the folder;
        or a JSON Lines file of objects with ``doc_id`` and ``text``.

    Raises
    ------
    DataError
        If there are no documents, or two have the same id.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "ferry.md").write_text("The ferry leaves at nine.\n")
    ...     read_documents(folder)
    [Document(doc_id='ferry.md', text='The ferry leaves at nine.\n')]
    """
    documents = _read_folder(Path(path)) if Path(path).is_dir() else _read_lines(path)
    if not documents:
        raise DataError(
            f"{path}: expected documents, e.g. {' or '.join(SUFFIXES)} files; found none"
        )
    repeated = sorted(
        doc_id for doc_id, n in Counter(document.doc_id for document in documents).items() if n > 1
    )
    if repeated:
        raise DataError(f"{path}: document ids must be unique; repeated: {named(repeated)}")
    return documents


def demo_documents() -> list[Document]:
    """The example documents: services of an invented island's council.

    Examples
    --------
    >>> len(demo_documents())
    24
    """
    with resources.as_file(_DATA / "documents.jsonl") as path:
        return _read_lines(path)


def demo_queries() -> list[dict[str, Any]]:
    """Questions about the example documents, with references and gold; some have no answer.

    Examples
    --------
    >>> demo_queries()[3]["question"]
    "Which form do I hand in to apply for a resident's ferry pass?"
    """
    with resources.as_file(_DATA / "queries.jsonl") as path:
        return [query for _, query in json_objects(Source(path))]


def _read_folder(folder: Path) -> list[Document]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    files = [path for path in paths if path.is_file()]
    return [Document(path.relative_to(folder).as_posix(), Source(path).text) for path in files]


def _read_lines(path: str | Path) -> list[Document]:
    source = Source(path)
    documents = []
    for line, row in json_objects(source):
        doc_id, text = row.get("doc_id"), row.get("text")
        if not isinstance(doc_id, str) or not isinstance(text, str):
            raise source.error("expected an object with the texts doc_id and text", line=line)
        documents.append(Document(doc_id, text))
    return documents


# -- retrieval and answers

REFUSAL = "I don't know: the documents do not say."
MODEL = "extractive-bm25"

_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_STOP_WORDS = frozenset(
    "a an and any are as at be by can did do does for from get has have how i if in is it its may "
    "me must my no not of on or our s t that the their there they this to was we what when where "
    "which who whom why will with you your".split()
)
# A sentence is an answer if its words have at least half the weight of the words in the question.
LEAST_COVERED = 0.5
# What people say, and what a council writes instead.
_SYNONYMS = {
    "boat": ("ferry",),
    "charge": ("fee",),
    "cost": ("fee", "crown"),
    "paper": ("form",),
    "pay": ("fee", "crown"),
    "permit": ("licence",),
    "price": ("fee", "crown"),
    "quickly": ("day",),
    "sell": ("stall",),
    "send": ("freight",),
}
_RERANKED = 10  # the documents of which a reranker chooses


def words_of(text: str) -> list[str]:
    """The words of a text without stop words, in lower case and singular.

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
    """Answers questions with sentences of documents; equal questions get equal answers.

    Parameters
    ----------
    documents : sequence of Document
        The documents to search.
    k : int, default 3
        The number of documents to retrieve.

    Raises
    ------
    DataError
        If no document contains a word.

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
            raise DataError("expected documents with words; there are none")
        if k < 1:
            raise DataError(f"k must be an integer >= 1; got {k!r}")
        self.k = k
        self._documents = list(documents)
        document_counts = Counter(word for in_document in words for word in set(in_document))
        self._weights = {word: math.log(1 + len(words) / n) for word, n in document_counts.items()}
        # A word in no document weighs most: a question about it is most likely unanswerable.
        self._unknown_weight = math.log(1 + len(words))
        self._index = load("bm25s:BM25")()
        self._index.index(words, show_progress=False)

    def answer(
        self,
        question: str,
        k: int | None = None,
        *,
        synonyms: bool = False,
        rerank: bool = False,
        least_covered: float = LEAST_COVERED,
    ) -> dict[str, Any]:
        """Answer a question.

        Parameters
        ----------
        question : str
            Any text.
        k : int, optional
            The number of documents to retrieve; if omitted, the `k` of the server.
        synonyms : bool
            Whether documents are also found by words that mean the same.
        rerank : bool
            Whether the `k` documents are those of the first ten whose best sentence has the largest
            share of the words of the question.
        least_covered : float
            The smallest share of the words of the question that an answer has, weighted by how rare
            they are; a question without such a sentence is refused.

        Returns
        -------
        dict
            ``answer``; ``retrieved``, a list of ``doc_id``, ``score`` and ``text``, the best first;
            ``citations``, ids; ``model``.
        """
        words = sorted(set(words_of(question)))
        n = k or self.k
        meant = [(word, *(_SYNONYMS.get(word, ()) if synonyms else ())) for word in words]
        searched = sorted({word for alike in meant for word in alike})
        documents = self._retrieve(searched, max(n, _RERANKED) if rerank else n)
        if rerank:
            documents = self._rerank(meant, documents)[:n]
        place, sentence, covered = self._best_sentence(meant, documents)
        is_answered = covered > 0 and covered >= least_covered
        return {
            "answer": sentence if is_answered else REFUSAL,
            "retrieved": documents,
            "citations": [documents[place]["doc_id"]] if is_answered else [],
            "model": MODEL,
        }

    def _retrieve(self, words: list[str], k: int) -> list[dict[str, Any]]:
        if not words:
            return []
        scores = np.asarray(self._index.get_scores(words), dtype=np.float64)
        # Stable: equal scores keep the order of the documents, so that equal questions get equal
        # answers.
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

    def _rerank(
        self, meant: Sequence[tuple[str, ...]], documents: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """The documents by the share of their best sentence, which becomes their score."""
        shares = [self._best_sentence(meant, [document])[2] for document in documents]
        order = sorted(range(len(documents)), key=lambda place: -shares[place])  # stable
        return [{**documents[place], "score": round(shares[place], 4)} for place in order]

    def _best_sentence(
        self, meant: Sequence[tuple[str, ...]], documents: list[dict[str, Any]]
    ) -> tuple[int, str, float]:
        """The sentence with the largest weighted share of the words: place, text and share."""
        weights = [self._weight(alike[0]) for alike in meant]
        best = (0, "", 0.0)
        for place, document in enumerate(documents):
            for sentence in _SENTENCE.split(document["text"].strip()):
                in_sentence = set(words_of(sentence))
                covered = sum(
                    weight
                    for weight, alike in zip(weights, meant, strict=True)
                    if not in_sentence.isdisjoint(alike)
                ) / sum(weights)
                if covered > best[2]:
                    best = (place, sentence, covered)
        return best

    def _weight(self, word: str) -> float:
        return self._weights.get(word, self._unknown_weight)

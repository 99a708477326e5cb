"""Metrics of citations: what the answers cite, compared with the gold.

Each metric takes the citations of all queries (`Citations`) and a cutoff, and returns one score per
query. With a cutoff, as in ``citation_precision@3``, only the first citations of an answer count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.rankings.checks import check_cutoff
from rageval_report.records.levels import Section
from rageval_report.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Citations:
    """All citations of all answers, as arrays; see `citations_of` and `citations_between`.

    Parameters
    ----------
    query : ndarray of int
        The query of each citation, from 0 to n_queries - 1.
    rank : ndarray of int
        Its position in the answer, from 0.
    is_new : ndarray of bool
        Whether the answer did not cite the same source before.
    is_gold : ndarray of bool
        Whether the source is relevant.
    is_gold_section : ndarray of bool
        Whether the document and the chunk are those of a relevant passage.
    is_gold_document : ndarray of bool
        Whether the document is that of a relevant passage.
    is_retrieved : ndarray of bool
        Whether the source was retrieved; true if it is not known what was retrieved.
    n_gold : ndarray of float
        The number of relevant sources of each query; NaN if they are not known.
    is_known : ndarray of bool
        Whether the citations of the query's answer are known.
    names_documents : ndarray of bool
        Whether gold and citations of the query name their documents.
    """

    query: IntArray
    rank: IntArray
    is_new: BoolArray
    is_gold: BoolArray
    is_gold_section: BoolArray
    is_gold_document: BoolArray
    is_retrieved: BoolArray
    n_gold: FloatArray
    is_known: BoolArray
    names_documents: BoolArray

    @property
    def n_queries(self) -> int:
        """The number of queries, with and without citations."""
        return len(self.n_gold)

    def applies(self, metric: str) -> BoolArray:
        """Whether a metric applies to each query: not if there is nothing to cite."""
        del metric  # all metrics of citations apply to the same queries
        return np.not_equal(self.n_gold, 0.0)

    def count(self, chosen: BoolArray, k: int | None) -> FloatArray:
        """How many of the chosen citations each query has among its first `k`."""
        if k is not None:
            chosen = chosen & (self.rank < check_cutoff(k))
        return np.bincount(self.query[chosen], minlength=self.n_queries).astype(np.float64)

    def where_defined(self, scores: FloatArray) -> FloatArray:
        """The scores of the queries with gold and known citations; NaN for all others."""
        return np.where(self.is_known & (self.n_gold > 0), scores, np.nan)


def citations_of(records: pd.DataFrame) -> Citations:
    """The citations of checked records.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` returns it: ``citations`` and ``relevant``, and if
        present ``retrieved``, ``cited_sections`` and ``relevant_sections``.

    Examples
    --------
    >>> records = pd.DataFrame({"citations": [["d1", "d9"]], "relevant": [{"d1": 1.0, "d2": 1.0}]})
    >>> citation_precision(citations_of(records))
    array([0.5])
    """

    def column(name: str) -> list[Any]:
        return records[name].tolist() if name in records else [None] * len(records)

    return citations_between(
        column("citations"),
        column("relevant"),
        retrieved=column("retrieved"),
        cited_sections=column("cited_sections"),
        relevant_sections=column("relevant_sections"),
    )


def citations_between(
    cited: Sequence[Sequence[str] | None],
    relevant: Sequence[Mapping[str, float] | None],
    *,
    retrieved: Sequence[Sequence[str] | None] | None = None,
    cited_sections: Sequence[Sequence[Section] | None] | None = None,
    relevant_sections: Sequence[Sequence[Sequence[Any]] | None] | None = None,
) -> Citations:
    """The citations of lists: the ids that each answer cites, and the relevant ids with grades.

    Examples
    --------
    >>> view = citations_between([["a", "a", "b"], []], [{"a": 1.0, "c": 1.0, "b": 0.0}, {}])
    >>> view.is_gold.tolist(), view.n_gold.tolist()
    ([True, True, False], [2.0, 0.0])
    """
    nothing: list[Any] = [None] * len(cited)
    rows = zip(
        cited,
        relevant,
        retrieved or nothing,
        cited_sections or nothing,
        relevant_sections or nothing,
        strict=True,
    )
    answers = [_CitedAnswer.of(*row) for row in rows]
    lengths = np.array([len(answer.flags) for answer in answers], dtype=np.int64)
    rows_of_flags = [row for answer in answers for row in answer.flags]
    flags = np.array(rows_of_flags, dtype=bool).reshape(-1, 5)
    starts = np.cumsum(lengths) - lengths
    return Citations(
        query=np.repeat(np.arange(len(answers)), lengths),
        rank=np.arange(len(flags)) - np.repeat(starts, lengths),
        is_new=flags[:, 0],
        is_gold=flags[:, 1],
        is_gold_section=flags[:, 2],
        is_gold_document=flags[:, 3],
        is_retrieved=flags[:, 4],
        n_gold=np.array([answer.n_gold for answer in answers], dtype=np.float64),
        is_known=np.array([ids is not None for ids in cited], dtype=bool),
        names_documents=np.array([answer.names_documents for answer in answers], dtype=bool),
    )


@dataclass(frozen=True)
class _CitedAnswer:
    """The citations of one answer: five flags each, in the order of the fields of `Citations`."""

    flags: list[tuple[bool, bool, bool, bool, bool]]
    n_gold: float
    names_documents: bool

    @classmethod
    def of(
        cls,
        cited: Sequence[str] | None,
        relevant: Mapping[str, float] | None,
        retrieved: Sequence[str] | None,
        cited_sections: Sequence[Section] | None,
        relevant_sections: Sequence[Sequence[Any]] | None,
    ) -> _CitedAnswer:
        ids = cited or ()
        gold = {name for name, grade in (relevant or {}).items() if grade > 0}
        pairs = cited_sections or [(None, name) for name in ids]
        # A third value is the grade: sections that were judged not relevant are no gold.
        gold_pairs: set[Section] = {
            (document, chunk)
            for document, chunk, *grade in relevant_sections or ()
            if not grade or grade[0] > 0
        }
        # Gold may name documents for some of its chunks only.
        gold_pairs |= {(None, name) for name in gold - {chunk for _, chunk in gold_pairs}}
        gold_documents = {document for document, _ in gold_pairs} - {None}
        retrieved_ids = None if retrieved is None else set(retrieved)
        seen: set[str] = set()
        flags = []
        for name, pair in zip(ids, pairs, strict=True):
            is_section = _is_section(pair, gold_pairs, gold)
            # Without a ranking nothing shows that a citation was invented.
            is_retrieved = retrieved_ids is None or name in retrieved_ids
            place = (name not in seen, name in gold, is_section, pair[0] in gold_documents)
            flags.append((*place, is_retrieved))
            seen.add(name)
        # One citation without its document would count as wrong, though nobody knows.
        all_named = bool(gold_documents) and all(document is not None for document, _ in pairs)
        return cls(flags, np.nan if relevant is None else len(gold), all_named)


def _is_section(pair: Section, gold_pairs: Iterable[Section], gold: Iterable[str]) -> bool:
    """Whether document and chunk are gold; the document is compared only if both sides name it."""
    document, chunk = pair
    if document is None:
        return chunk in gold
    return pair in gold_pairs or (None, chunk) in gold_pairs


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """The quotient; 0 if the divisor is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def citation_precision(view: Citations, k: int | None = None) -> FloatArray:
    """The share of the distinct cited sources that are relevant.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; 0 if nothing is cited; NaN if no source is relevant (not applicable), or if
        gold or citations are not known (missing).

    Examples
    --------
    >>> citation_precision(citations_between([["a", "a", "b"], [], ["a"]], [{"a": 1.0}] * 2 + [{}]))
    array([0.5, 0. , nan])
    """
    right = view.count(view.is_new & view.is_gold, k)
    return view.where_defined(_ratio(right, view.count(view.is_new, k)))


def citation_recall(view: Citations, k: int | None = None) -> FloatArray:
    """The share of the relevant sources that are cited.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; NaN as for `citation_precision`.

    Examples
    --------
    >>> citation_recall(citations_between([["a", "b"]], [{"a": 1.0, "c": 1.0}]))
    array([0.5])
    """
    right = view.count(view.is_new & view.is_gold, k)
    return view.where_defined(_ratio(right, np.nan_to_num(view.n_gold)))


def citation_f1(view: Citations, k: int | None = None) -> FloatArray:
    """The harmonic mean of citation precision and recall; 0 if both are 0.

    Examples
    --------
    >>> citation_f1(citations_between([["a", "b"], ["b"]], [{"a": 1.0, "c": 1.0}] * 2))
    array([0.5, 0. ])
    """
    precision, recall = citation_precision(view, k), citation_recall(view, k)
    return view.where_defined(_ratio(2.0 * precision * recall, np.nan_to_num(precision + recall)))


def section_accuracy(view: Citations, k: int | None = None) -> FloatArray:
    """The share of all citations (repeated ones count) whose document and chunk are both right.

    If the gold or a citation names no document, the chunk alone decides.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; 0 if nothing is cited; NaN as for `citation_precision`.

    Examples
    --------
    >>> view = citations_between(
    ...     [["c1", "c1"]],
    ...     [{"c1": 1.0}],
    ...     cited_sections=[[("guide", "c1"), ("notes", "c1")]],
    ...     relevant_sections=[[("guide", "c1")]],
    ... )
    >>> section_accuracy(view), citation_precision(view)
    (array([0.5]), array([1.]))
    """
    everything = np.ones_like(view.is_gold)
    return view.where_defined(
        _ratio(view.count(view.is_gold_section, k), view.count(everything, k))
    )


def document_accuracy(view: Citations, k: int | None = None) -> FloatArray:
    """The share of all citations whose document is right, whatever the chunk.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; 0 if nothing is cited; NaN as for `citation_precision`, and if gold or
        citations do not name their documents.

    Examples
    --------
    >>> view = citations_between(
    ...     [["c2"]],
    ...     [{"c1": 1.0}],
    ...     cited_sections=[[("guide", "c2")]],
    ...     relevant_sections=[[("guide", "c1")]],
    ... )
    >>> document_accuracy(view)
    array([1.])
    """
    everything = np.ones_like(view.is_gold)
    shares = _ratio(view.count(view.is_gold_document, k), view.count(everything, k))
    return np.where(view.names_documents, view.where_defined(shares), np.nan)


def citation_hit(view: Citations, k: int | None = None) -> FloatArray:
    """Whether an answer cites a relevant source, and nothing that was not retrieved.

    If no source is relevant, an answer without citations is a hit.

    Returns
    -------
    ndarray of shape (n_queries,)
        0 or 1; NaN if gold or citations are not known.

    Examples
    --------
    >>> citation_hit(
    ...     citations_between(
    ...         [["a"], ["a", "z"], []], [{"a": 1.0}, {"a": 1.0}, {}], retrieved=[["a", "b"]] * 3
    ...     )
    ... )
    array([1., 0., 1.])
    """
    outside = view.count(~view.is_retrieved, k)
    right = view.count(view.is_gold, k)
    cited = view.count(np.ones_like(view.is_gold), k)
    # The rule of the gold and trace scorer: without gold the right thing is to cite nothing.
    hit = (outside == 0) & np.where(view.n_gold == 0, cited == 0, right > 0)
    return np.where(view.is_known & ~np.isnan(view.n_gold), hit.astype(np.float64), np.nan)

"""What the answers cite, beside what they should have cited.

A cutoff, as in ``citation_precision@3``, looks at the first citations of an answer only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rageval_report.rankings.checks import check_cutoff

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int64]
Section = tuple[str | None, str]


@dataclass(frozen=True, eq=False)
class Citations:
    """All citations of all answers, as arrays; made by `citations_of` or `citations_between`.

    Parameters
    ----------
    query : ndarray of int
        The query of each citation, 0 to n_queries - 1.
    rank : ndarray of int
        Its place in the answer, from 0.
    is_new : ndarray of bool
        Whether the answer did not cite the same before.
    is_gold : ndarray of bool
        Whether it is of a relevant source.
    is_gold_section : ndarray of bool
        Whether document and chunk are those of a relevant passage.
    is_gold_document : ndarray of bool
        Whether the document is that of a relevant passage.
    is_retrieved : ndarray of bool
        Whether the source was retrieved; true where it is not known what was.
    n_gold : ndarray of float
        The relevant sources of each query; NaN where they are not known.
    is_known : ndarray of bool
        Whether it is known what the query's answer cites.
    names_documents : ndarray of bool
        Whether gold and citations of the query name their documents.
    """

    query: Codes
    rank: Codes
    is_new: Flags
    is_gold: Flags
    is_gold_section: Flags
    is_gold_document: Flags
    is_retrieved: Flags
    n_gold: Floats
    is_known: Flags
    names_documents: Flags

    @property
    def n_queries(self) -> int:
        """How many queries there are, with and without citations."""
        return len(self.n_gold)

    def applies(self, metric: str) -> Flags:
        """Whether a metric of this family is about each query: not where nothing can be cited."""
        del metric  # they all are about the same queries
        return np.not_equal(self.n_gold, 0.0)

    def count(self, chosen: Flags, k: int | None) -> Floats:
        """How many of the chosen citations each query has among its first `k`."""
        if k is not None:
            chosen = chosen & (self.rank < check_cutoff(k))
        return np.bincount(self.query[chosen], minlength=self.n_queries).astype(np.float64)

    def where_defined(self, scores: Floats) -> Floats:
        """The scores of queries that have gold and known citations; NaN for all others."""
        return np.where(self.is_known & (self.n_gold > 0), scores, np.nan)


def citations_of(records: pd.DataFrame) -> Citations:
    """The citations of checked records.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` gives it: ``citations`` and ``relevant``, and where
        they are there ``retrieved``, ``cited_sections`` and ``relevant_sections``.

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
    relevant_sections: Sequence[Sequence[Section] | None] | None = None,
) -> Citations:
    """The citations of lists: what each answer cites, and what is relevant with its grade.

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
    answers = [_Answer.of(*row) for row in rows]
    lengths = np.array([len(one.flags) for one in answers], dtype=np.int64)
    flags = np.array([flag for one in answers for flag in one.flags], dtype=bool).reshape(-1, 5)
    starts = np.cumsum(lengths) - lengths
    return Citations(
        query=np.repeat(np.arange(len(answers)), lengths),
        rank=np.arange(len(flags)) - np.repeat(starts, lengths),
        is_new=flags[:, 0],
        is_gold=flags[:, 1],
        is_gold_section=flags[:, 2],
        is_gold_document=flags[:, 3],
        is_retrieved=flags[:, 4],
        n_gold=np.array([one.n_gold for one in answers], dtype=np.float64),
        is_known=np.array([ids is not None for ids in cited], dtype=bool),
        names_documents=np.array([one.names_documents for one in answers], dtype=bool),
    )


@dataclass(frozen=True)
class _Answer:
    """One answer's citations: five flags each, in the order of the fields of `Citations`."""

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
        relevant_sections: Sequence[Section] | None,
    ) -> _Answer:
        ids = cited or ()
        gold = {name for name, grade in (relevant or {}).items() if grade > 0}
        pairs = cited_sections or [(None, name) for name in ids]
        gold_pairs = set(relevant_sections or ())
        gold_pairs |= {(None, name) for name in gold - {chunk for _, chunk in gold_pairs}}
        gold_documents = {document for document, _ in gold_pairs} - {None}
        known = None if retrieved is None else set(retrieved)
        seen: set[str] = set()
        flags = []
        for name, pair in zip(ids, pairs, strict=True):
            is_section = _is_section(pair, gold_pairs, gold)
            is_retrieved = known is None or name in known
            place = (name not in seen, name in gold, is_section, pair[0] in gold_documents)
            flags.append((*place, is_retrieved))
            seen.add(name)
        names = bool(gold_documents) and all(document is not None for document, _ in pairs)
        return cls(flags, np.nan if relevant is None else len(gold), names)


def _is_section(pair: Section, gold_pairs: Iterable[Section], gold: Iterable[str]) -> bool:
    """Whether document and chunk are gold; a document that one side does not name is not asked."""
    document, chunk = pair
    if document is None:
        return chunk in gold
    return pair in gold_pairs or (None, chunk) in gold_pairs


def _ratio(part: Floats, whole: Floats) -> Floats:
    """The share, 0 where there is nothing to share."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def citation_precision(view: Citations, k: int | None = None) -> Floats:
    """The share of the distinct cited sources that are relevant.

    Parameters
    ----------
    view : Citations
        The citations of all queries.
    k : int, optional
        How many citations of each answer are looked at; all where not given.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; 0 where nothing is cited; NaN where no source is relevant (not
        applicable), or where gold or citations are not known (missing).

    Examples
    --------
    >>> citation_precision(citations_between([["a", "a", "b"], [], ["a"]], [{"a": 1.0}] * 2 + [{}]))
    array([0.5, 0. , nan])
    """
    right = view.count(view.is_new & view.is_gold, k)
    return view.where_defined(_ratio(right, view.count(view.is_new, k)))


def citation_recall(view: Citations, k: int | None = None) -> Floats:
    """The share of the relevant sources that are cited.

    Parameters
    ----------
    view : Citations
        The citations of all queries.
    k : int, optional
        How many citations of each answer are looked at; all where not given.

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


def citation_f1(view: Citations, k: int | None = None) -> Floats:
    """The harmonic mean of citation precision and recall; 0 where both are 0.

    Parameters
    ----------
    view : Citations
        The citations of all queries.
    k : int, optional
        How many citations of each answer are looked at; all where not given.

    Examples
    --------
    >>> citation_f1(citations_between([["a", "b"], ["b"]], [{"a": 1.0, "c": 1.0}] * 2))
    array([0.5, 0. ])
    """
    precision, recall = citation_precision(view, k), citation_recall(view, k)
    return view.where_defined(_ratio(2.0 * precision * recall, np.nan_to_num(precision + recall)))


def section_accuracy(view: Citations, k: int | None = None) -> Floats:
    """The share of all citations, repeated ones too, whose document and chunk are both right.

    Where gold or a citation names no document, the chunk alone decides.

    Parameters
    ----------
    view : Citations
        The citations of all queries.
    k : int, optional
        How many citations of each answer are looked at; all where not given.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; 0 where nothing is cited; NaN as for `citation_precision`.

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


def document_accuracy(view: Citations, k: int | None = None) -> Floats:
    """The share of all citations whose document is right, whatever the chunk.

    Parameters
    ----------
    view : Citations
        The citations of all queries.
    k : int, optional
        How many citations of each answer are looked at; all where not given.

    Returns
    -------
    ndarray of shape (n_queries,)
        Between 0 and 1; 0 where nothing is cited; NaN as for `citation_precision`, and where gold
        or citations do not name their documents.

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


def citation_hit(view: Citations, k: int | None = None) -> Floats:
    """Whether an answer cites something relevant, and nothing that was not retrieved.

    Where no source is relevant, citing nothing is the hit.

    Parameters
    ----------
    view : Citations
        The citations of all queries.
    k : int, optional
        How many citations of each answer are looked at; all where not given.

    Returns
    -------
    ndarray of shape (n_queries,)
        0 or 1; NaN where gold or citations are not known.

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
    hit = (outside == 0) & np.where(view.n_gold == 0, cited == 0, right > 0)
    return np.where(view.is_known & ~np.isnan(view.n_gold), hit.astype(np.float64), np.nan)

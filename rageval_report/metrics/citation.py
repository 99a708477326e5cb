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

from rageval_report.metrics.checks import check_cutoff
from rageval_report.records.levels import Section
from rageval_report.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Citations:
    """All citations of all answers, as arrays; see `citations_of` and `citations_between`."""

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
    """The citations of checked records."""

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
    """The citations of lists: the ids that each answer cites, and the relevant ids with grades."""
    nothing: list[Any] = [None] * len(cited)
    n_gold, all_named = np.full(len(cited), np.nan), np.zeros(len(cited), dtype=bool)
    rows: list[tuple[int, int, bool, bool, bool, bool, bool]] = []
    answers = zip(cited, relevant, retrieved or nothing, cited_sections or nothing,
                  relevant_sections or nothing, strict=True)  # fmt: skip
    for query, (ids, grades, ranking, own_sections, sections) in enumerate(answers):
        gold = {name for name, grade in (grades or {}).items() if grade > 0}
        pairs = own_sections or [(None, name) for name in ids or ()]
        # A third value is the grade: sections that were judged not relevant are no gold.
        gold_pairs = {(document, chunk) for document, chunk, *grade in sections or ()
                      if not grade or grade[0] > 0}  # fmt: skip
        # Gold may name documents for some of its chunks only.
        gold_pairs |= {(None, name) for name in gold - {chunk for _, chunk in gold_pairs}}
        documents = {document for document, _ in gold_pairs} - {None}
        n_gold[query] = np.nan if grades is None else len(gold)
        # One citation without its document would count as wrong, though nobody knows.
        all_named[query] = bool(documents) and all(document is not None for document, _ in pairs)
        for rank, (name, pair) in enumerate(zip(ids or (), pairs, strict=True)):
            is_section = _is_section(pair, gold_pairs, gold)
            # Without a ranking nothing shows that a citation was invented.
            is_retrieved = ranking is None or name in ranking
            is_new = name not in (ids or ())[:rank]
            flags = is_new, name in gold, is_section, pair[0] in documents, is_retrieved
            rows.append((query, rank, *flags))
    table = np.array(rows, dtype=np.int64).reshape(-1, 7)
    is_known = np.array([ids is not None for ids in cited], dtype=bool)
    flags_of = table[:, 2:].astype(bool).T
    return Citations(
        *(table[:, 0], table[:, 1]),
        *(flags_of[0], flags_of[1], flags_of[2], flags_of[3], flags_of[4]),
        *(n_gold, is_known, all_named),
    )


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
    """The share of the distinct cited sources that are relevant."""
    right = view.count(view.is_new & view.is_gold, k)
    return view.where_defined(_ratio(right, view.count(view.is_new, k)))


def citation_recall(view: Citations, k: int | None = None) -> FloatArray:
    """The share of the relevant sources that are cited."""
    right = view.count(view.is_new & view.is_gold, k)
    return view.where_defined(_ratio(right, np.nan_to_num(view.n_gold)))


def citation_f1(view: Citations, k: int | None = None) -> FloatArray:
    """The harmonic mean of citation precision and recall; 0 if both are 0."""
    precision, recall = citation_precision(view, k), citation_recall(view, k)
    return view.where_defined(_ratio(2.0 * precision * recall, np.nan_to_num(precision + recall)))


def section_accuracy(view: Citations, k: int | None = None) -> FloatArray:
    """The share of all citations (repeated ones count) whose document and chunk are both right."""
    everything = np.ones_like(view.is_gold)
    return view.where_defined(
        _ratio(view.count(view.is_gold_section, k), view.count(everything, k))
    )


def document_accuracy(view: Citations, k: int | None = None) -> FloatArray:
    """The share of all citations whose document is right, whatever the chunk."""
    everything = np.ones_like(view.is_gold)
    shares = _ratio(view.count(view.is_gold_document, k), view.count(everything, k))
    return np.where(view.names_documents, view.where_defined(shares), np.nan)


def citation_hit(view: Citations, k: int | None = None) -> FloatArray:
    """Whether an answer cites a relevant source, and nothing that was not retrieved."""
    outside = view.count(~view.is_retrieved, k)
    right = view.count(view.is_gold, k)
    cited = view.count(np.ones_like(view.is_gold), k)
    # The rule of the gold and trace scorer: without gold the right thing is to cite nothing.
    hit = (outside == 0) & np.where(view.n_gold == 0, cited == 0, right > 0)
    return np.where(view.is_known & ~np.isnan(view.n_gold), hit.astype(np.float64), np.nan)

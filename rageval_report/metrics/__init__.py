"""Metrics of records: retrieval, similarity, text, citation, refusal, traces, performance.

A metric is a function of a view of the records and of a cutoff that returns an array of one score
per query, NaN where unscored. Its entry in `rageval_report.scores.catalogue` describes it and names
the function. The functions of single lists and texts can be imported from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.metrics.chunks import f1_at_k_exact as f1_at_k_exact
    from rageval_report.metrics.chunks import f1_at_k_similarity as f1_at_k_similarity
    from rageval_report.metrics.chunks import (
        hybrid_log_rank_score_exact as hybrid_log_rank_score_exact,
    )
    from rageval_report.metrics.chunks import (
        hybrid_log_rank_score_similarity as hybrid_log_rank_score_similarity,
    )
    from rageval_report.metrics.chunks import precision_at_k_exact as precision_at_k_exact
    from rageval_report.metrics.chunks import precision_at_k_similarity as precision_at_k_similarity
    from rageval_report.metrics.chunks import recall_at_k_exact as recall_at_k_exact
    from rageval_report.metrics.chunks import recall_at_k_similarity as recall_at_k_similarity
    from rageval_report.metrics.overlap import bleu_score as bleu_score
    from rageval_report.metrics.overlap import corpus_bleu_score as corpus_bleu_score
    from rageval_report.metrics.overlap import corpus_rouge_scores as corpus_rouge_scores
    from rageval_report.metrics.overlap import rouge_score as rouge_score
    from rageval_report.metrics.retrieval import log_rank_score as log_rank_score
    from rageval_report.metrics.trace_results import score_traces as score_traces
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)

"""The metrics that are known by name, in the order in which reports show them.

To add one, add an entry to its group, and where no judge is needed its name to `_COMPUTED`; from
outside, ``METRICS.add(name, Metric(...))``.
"""

from __future__ import annotations

from dataclasses import replace

from rageval_report.scores.catalogue.conduct import CONDUCT
from rageval_report.scores.catalogue.generation import GENERATION
from rageval_report.scores.catalogue.retrieval import RETRIEVAL
from rageval_report.scores.metric import METRICS, Metric

# How the metrics are computed that need no judge: for each view of the records and each module the
# metrics whose functions there bear their names.
_COMPUTED: dict[str, dict[str, str]] = {
    "rankings": {
        "metrics.log_rank": "hybrid_log_rank",
        "rankings.retrieval": "average_precision bpref document_recall_multi_hit "
        "document_recall_single_hit f1 hit multi_hit ndcg ndcg_exp precision r_precision "
        "reachable_recall recall reciprocal_rank single_hit",
    },
    "answers": {
        "metrics.bleu": "bleu chrf",
        "metrics.rouge": "rouge_1 rouge_2 rouge_l",
        "metrics.text": "exact_match exact_match_squad token_f1",
    },
    "answer_similarities": {"metrics.similarity": "semantic_answer_similarity"},
    "similarities": {
        "metrics.similarity": "f1_similarity hybrid_log_rank_similarity precision_similarity "
        "recall_similarity",
    },
    "citations": {
        "metrics.citation": "citation_f1 citation_hit citation_precision citation_recall "
        "document_accuracy section_accuracy",
    },
    "refusals": {
        "metrics.refusal": "abstention_accuracy false_refusal hallucinated_answer "
        "unanswerable_accuracy",
    },
    "performance": {
        "metrics.performance": "completion_tokens cost_usd latency latency_ms prompt_tokens "
        "total_tokens",
    },
}


def _computed(metric: Metric) -> Metric:
    for view, modules in _COMPUTED.items():
        for module, names in modules.items():
            if metric.name in names.split():
                path = f"rageval_report.{module}:{metric.name}"
                return replace(metric, compute=path, needs=view)
    return metric


for _metric in (*RETRIEVAL, *GENERATION, *CONDUCT):
    METRICS.add(_metric.name, _computed(_metric))

"""The metrics that are known by name: one entry each, in the order in which reports show them.

To add one, add a line; from outside, ``METRICS.add(name, Metric(...))``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from rageval_report.scores.metric import METRICS, Kind, Metric

_HAYSTACK = "Haystack evaluators"
_RAGAS = "Ragas"
_TREC = "trec_eval"


def _share(
    kind: Kind,
    name: str,
    group: str,
    description: str,
    source: str,
    *aliases: str,
    title: str = "",
    greater_is_better: bool = True,
) -> Metric:
    """A metric between 0 and 1."""
    return Metric(
        name,
        title=title,
        group=group,
        kind=kind,
        greater_is_better=greater_is_better,
        bounds=(0.0, 1.0),
        description=description,
        source=source,
        aliases=aliases,
    )


_proportion = partial(_share, "proportion")
_binary = partial(_share, "binary")
_defect = partial(_share, "proportion", greater_is_better=False)


def _spent(name: str, title: str, description: str, *aliases: str) -> Metric:
    """Something that is spent: no upper limit, lower is better."""
    return Metric(
        name,
        title=title,
        group="performance",
        greater_is_better=False,
        description=description,
        source="measured at the client",
        aliases=aliases,
    )


_CATALOGUE = (
    # -- retrieval
    _proportion(
        "reciprocal_rank",
        "retrieval",
        "One over the rank of the first relevant result, 0 where there is none.",
        "Voorhees 1999; " + _HAYSTACK,
        "mrr",
        "rr",
        "recip_rank",
        "mean_reciprocal_rank",
        "document_mrr",
        "doc_mrr",
    ),
    _binary(
        "single_hit",
        "retrieval",
        "Whether the first result is relevant (the proposal), or any is (Haystack 2).",
        _HAYSTACK,
        "document_recall_single_hit",
        "recall_single_hit",
        "doc_recall_single",
    ),
    _proportion(
        "multi_hit",
        "retrieval",
        "The share of relevant among the results (the proposal), or of the truths that were "
        "found (Haystack 2).",
        _HAYSTACK,
        "document_recall_multi_hit",
        "recall_multi_hit",
        "doc_recall_multi",
    ),
    _proportion(
        "precision",
        "retrieval",
        "The share of the retrieved documents that are relevant.",
        _TREC,
        "p",
        "retrieval_precision",
    ),
    _proportion(
        "recall",
        "retrieval",
        "The share of the relevant documents that were retrieved.",
        _TREC,
        "retrieval_recall",
        "document_recall",
    ),
    _proportion(
        "f1",
        "retrieval",
        "The harmonic mean of precision and recall.",
        "van Rijsbergen 1979",
        "f1_measure",
        "f_measure",
        "retrieval_f1",
    ),
    _binary(
        "hit",
        "retrieval",
        "Whether any relevant document was retrieved.",
        _TREC + " (success)",
        "hit_rate",
        "success",
        "retrieval_hit",
    ),
    _proportion(
        "average_precision",
        "retrieval",
        "The mean of the precisions at the ranks of the relevant documents.",
        _TREC + " (map)",
        "map",
        "ap",
        "mean_average_precision",
        "document_map",
        "doc_map",
    ),
    _proportion(
        "ndcg",
        "retrieval",
        "Discounted cumulative gain over that of the ideal order, linear gains.",
        "Järvelin & Kekäläinen 2002; " + _TREC,
        "document_ndcg",
        "doc_ndcg",
        "normalized_dcg",
        title="nDCG",
    ),
    _proportion(
        "ndcg_exp",
        "retrieval",
        "Discounted cumulative gain over that of the ideal order, gains of 2^grade - 1.",
        "Burges et al. 2005",
        "ndcg_burges",
        title="nDCG (exponential)",
    ),
    _proportion(
        "r_precision",
        "retrieval",
        "The precision after as many results as there are relevant documents.",
        _TREC,
        "rprec",
    ),
    _proportion(
        "bpref",
        "retrieval",
        "How often judged relevant documents stand before judged non-relevant ones.",
        "Buckley & Voorhees 2004; " + _TREC,
    ),
    _proportion(
        "reachable_recall",
        "retrieval",
        "Relevant documents retrieved over those that could have been within the cutoff.",
        "hits over min(k, relevant)",
    ),
    _proportion(
        "hybrid_log_rank",
        "retrieval",
        "Recall, weighed with how early the relevant stand on a logarithmic scale.",
        "datapizza-ai",
        *("hybrid_log_rank_score", "hybrid_log_rank_score_exact"),
        title="Hybrid Log-Rank",
    ),
    _proportion(
        "precision_similarity",
        "retrieval",
        "The share of the results whose vector is near a truth's.",
        "datapizza-ai",
        title="Precision (similarity)",
    ),
    _proportion(
        "recall_similarity",
        "retrieval",
        "The share of the truths whose vector is near a result's.",
        "datapizza-ai",
        title="Recall (similarity)",
    ),
    _proportion(
        "f1_similarity",
        "retrieval",
        "The harmonic mean of precision and recall by similarity.",
        "datapizza-ai",
        title="F1 (similarity)",
    ),
    _proportion(
        "hybrid_log_rank_similarity",
        "retrieval",
        "Recall of near truths, weighed with how early they stand.",
        "datapizza-ai",
        "hybrid_log_rank_score_similarity",
        title="Hybrid Log-Rank (similarity)",
    ),
    _binary(
        "full_recall",
        "retrieval",
        "Whether all gold is among the results; of answerable questions.",
        "the gold and trace scorer",
    ),
    _proportion(
        "context_relevance",
        "retrieval",
        "The share of the retrieved context that bears on the question.",
        _HAYSTACK + "; TruLens; DeepEval",
        "contextual_relevancy",
        "contextual_relevance",
        "context_relevancy",
        "nv_context_relevance",
        "retrieval_relevance",
    ),
    _proportion(
        "context_precision",
        "retrieval",
        "Whether the useful contexts stand before the useless ones.",
        _RAGAS,
        "contextual_precision",
        "llm_context_precision_with_reference",
        "llm_context_precision_without_reference",
        "non_llm_context_precision_with_reference",
    ),
    _proportion(
        "context_recall",
        "retrieval",
        "The share of the reference that the retrieved contexts support.",
        _RAGAS,
        "contextual_recall",
        "llm_context_recall",
        "non_llm_context_recall",
    ),
    _proportion(
        "context_entity_recall",
        "retrieval",
        "The share of the reference's entities that the contexts name.",
        _RAGAS,
        "context_entities_recall",
    ),
    _proportion(
        "context_utilization",
        "retrieval",
        "How far the retrieved contexts were used in the answer.",
        _RAGAS,
        "context_utilisation",
    ),
    # -- generation
    _proportion(
        "faithfulness",
        "generation",
        "The share of the answer's claims that the contexts support.",
        _RAGAS + "; " + _HAYSTACK,
        "groundedness",
        "answer_faithfulness",
        "response_groundedness",
        "nv_response_groundedness",
        "grounded",
        "answer_groundedness",
    ),
    _proportion(
        "answer_relevancy",
        "generation",
        "How far the answer addresses the question.",
        _RAGAS + "; DeepEval; TruLens",
        "answer_relevance",
        "response_relevancy",
        "response_relevance",
    ),
    _proportion(
        "answer_correctness",
        "generation",
        "How far the answer agrees with the reference.",
        _RAGAS,
        "correctness",
        "answer_accuracy",
        "nv_accuracy",
        "factual_correctness",
        "g_eval_correctness",
        "llm_correctness",
    ),
    Metric(
        "semantic_answer_similarity",
        group="generation",
        kind="real",
        bounds=(-1.0, 1.0),
        description="The similarity of the answer's and the reference's embeddings; slightly "
        "below 0 is possible.",
        source="Risch et al. 2021; " + _HAYSTACK,
        aliases=("sas", "answer_similarity", "semantic_similarity", "answer_semantic_similarity"),
    ),
    _binary(
        "exact_match",
        "generation",
        "Whether the answer equals the reference.",
        "Rajpurkar et al. 2016; " + _HAYSTACK,
        "em",
        "answer_exact_match",
        "exact",
    ),
    _binary(
        "exact_match_squad",
        "generation",
        "Whether the answer equals the reference after SQuAD's normalisation.",
        "Rajpurkar et al. 2016",
        *("squad_em", "squad_exact_match", "normalized_exact_match"),
        title="Exact Match (SQuAD)",
    ),
    _proportion(
        "token_f1",
        "generation",
        "The overlap of the answer's and the reference's words.",
        "Rajpurkar et al. 2016",
        "answer_f1",
        "squad_f1",
        "word_f1",
    ),
    _proportion(
        "chrf",
        "generation",
        "Overlap of runs of characters, between 0 and 1.",
        "Popović 2015",
        "chrf_score",
        title="chrF",
    ),
    _binary(
        "answered_precision",
        "generation",
        "Whether a shipped answer holds a gold claim and cites gold; of answered questions.",
        "the gold and trace scorer",
    ),
    _proportion(
        "bleu",
        "generation",
        "N-gram precision of the answer with a penalty for brevity, between 0 and 1.",
        "Papineni et al. 2002",
        "bleu_score",
        "sentence_bleu",
        title="BLEU",
    ),
    _proportion(
        "rouge_1",
        "generation",
        "Overlap of single words.",
        "Lin 2004",
        "rouge1",
        "rouge",
        title="ROUGE-1",
    ),
    _proportion(
        "rouge_2", "generation", "Overlap of pairs of words.", "Lin 2004", "rouge2", title="ROUGE-2"
    ),
    _proportion(
        "rouge_l",
        "generation",
        "Longest common subsequence of words.",
        "Lin 2004",
        "rougel",
        "rouge_lsum",
        "rougelsum",
        title="ROUGE-L",
    ),
    _proportion(
        "completeness",
        "generation",
        "How much of what the reference holds the answer says.",
        "judged",
        "answer_completeness",
        "comprehensiveness",
    ),
    _proportion("coherence", "generation", "Whether the answer hangs together.", "judged"),
    _proportion("harmlessness", "generation", "Whether the answer is free of harm.", "judged"),
    _defect(
        "hallucination",
        "generation",
        "The share of the answer that contradicts or exceeds the contexts.",
        "DeepEval",
        "hallucination_rate",
        "hallucinations",
    ),
    _defect("toxicity", "generation", "How toxic the answer is.", "DeepEval", "toxic"),
    _defect("bias", "generation", "How biased the answer is.", "DeepEval"),
    _defect(
        "noise_sensitivity",
        "generation",
        "How often the answer follows irrelevant context.",
        _RAGAS,
        "noise_sensitivity_relevant",
        "noise_sensitivity(mode=relevant)",
        "noise_sensitivity(mode=irrelevant)",
    ),
    # -- citation
    _proportion(
        "citation_precision",
        "citation",
        "The share of the citations that point to a relevant source.",
        "Gao et al. 2023",
    ),
    _proportion(
        "citation_recall",
        "citation",
        "The share of the relevant sources that are cited.",
        "Gao et al. 2023",
    ),
    _proportion("citation_f1", "citation", "Of citation precision and recall.", "Gao et al. 2023"),
    _binary(
        "citation_hit",
        "citation",
        "Whether any citation points to a relevant source.",
        "the gold and trace scorer",
        "citation_hit_rate",
    ),
    _proportion(
        "document_accuracy", "citation", "The share of citations of the right document.", "ragbench"
    ),
    _binary(
        "answered_citation_hit",
        "citation",
        "Whether a shipped answer to an answerable question cites gold; of answered questions.",
        "the gold and trace scorer",
        "chr",
    ),
    _proportion(
        "section_accuracy", "citation", "The share of citations with the right section.", "ragbench"
    ),
    # -- abstention
    _binary(
        "abstention_accuracy",
        "abstention",
        "Whether an answerable question was answered, or another refused.",
        "ragbench",
    ),
    _binary(
        "unanswerable_accuracy",
        "abstention",
        "Whether a question without an answer was refused; of unanswerable questions only.",
        "Rajpurkar et al. 2018",
        "refusal_accuracy",
    ),
    _defect(
        "false_refusal",
        "abstention",
        "Whether an answerable question was refused; of answerable questions only.",
        "the gold and trace scorer (over-refusal)",
        "false_refusal_rate",
        "over_refusal",
    ),
    _defect(
        "hallucinated_answer",
        "abstention",
        "Whether an unanswerable question was answered; of unanswerable questions only.",
        "the gold and trace scorer (under-refusal)",
        "hallucinated_answer_rate",
        "under_refusal",
    ),
    # -- performance
    _spent("latency_ms", "Latency (ms)", "Milliseconds to the whole answer.", "latency_in_ms"),
    _spent("latency", "Latency", "Time to the whole answer.", "response_time", "latency_s"),
    _spent("prompt_tokens", "Prompt Tokens", "Tokens sent.", "input_tokens"),
    _spent("completion_tokens", "Completion Tokens", "Tokens received.", "output_tokens"),
    _spent("total_tokens", "Total Tokens", "Tokens sent and received.", "tokens"),
    _spent("cost_usd", "Cost (USD)", "Dollars spent on the query.", "cost", "total_cost"),
)

# How the metrics are computed that need no judge: for each view of the records and each module the
# metrics whose functions there bear their names.
_COMPUTED: dict[str, dict[str, str]] = {
    "rankings": {
        "log_rank": "hybrid_log_rank",
        "retrieval": "average_precision bpref f1 hit ndcg ndcg_exp precision r_precision "
        "reachable_recall recall reciprocal_rank",
    },
    "answers": {
        "bleu": "bleu chrf",
        "rouge": "rouge_1 rouge_2 rouge_l",
        "text": "exact_match exact_match_squad token_f1",
    },
    "answer_similarities": {"similarity": "semantic_answer_similarity"},
    "similarities": {
        "similarity": "f1_similarity hybrid_log_rank_similarity precision_similarity "
        "recall_similarity",
    },
    "citations": {
        "citation": "citation_f1 citation_hit citation_precision citation_recall "
        "document_accuracy section_accuracy",
    },
    "refusals": {
        "refusal": "abstention_accuracy false_refusal hallucinated_answer unanswerable_accuracy",
    },
    "performance": {
        "performance": "completion_tokens cost_usd latency latency_ms prompt_tokens total_tokens",
    },
}


def _computed(metric: Metric) -> Metric:
    for view, modules in _COMPUTED.items():
        for module, names in modules.items():
            if metric.name in names.split():
                path = f"rageval_report.metrics.{module}:{metric.name}"
                return replace(metric, compute=path, needs=view)
    return metric


for _metric in _CATALOGUE:
    METRICS.add(_metric.name, _computed(_metric))

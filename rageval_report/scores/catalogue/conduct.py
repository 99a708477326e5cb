"""Metrics of how it was answered: citations, refusals, time and money."""

from __future__ import annotations

from rageval_report.scores.catalogue.entries import binary, defect, proportion, spent
from rageval_report.scores.metric import Metric

CONDUCT: tuple[Metric, ...] = (
    proportion(
        "citation_precision",
        "citation",
        "The share of the citations that point to a relevant source.",
        "Gao et al. 2023",
    ),
    proportion(
        "citation_recall",
        "citation",
        "The share of the relevant sources that are cited.",
        "Gao et al. 2023",
    ),
    proportion("citation_f1", "citation", "Of citation precision and recall.", "Gao et al. 2023"),
    binary(
        "citation_hit",
        "citation",
        "Whether any citation points to a relevant source.",
        "the gold and trace scorer",
        "citation_hit_rate",
    ),
    proportion(
        "document_accuracy", "citation", "The share of citations of the right document.", "ragbench"
    ),
    binary(
        "answered_citation_hit",
        "citation",
        "Whether a shipped answer to an answerable question cites gold; of answered questions.",
        "the gold and trace scorer",
        "chr",
    ),
    proportion(
        "section_accuracy", "citation", "The share of citations with the right section.", "ragbench"
    ),
    binary(
        "abstention_accuracy",
        "abstention",
        "Whether an answerable question was answered, or another refused.",
        "ragbench",
    ),
    binary(
        "unanswerable_accuracy",
        "abstention",
        "Whether a question without an answer was refused; of unanswerable questions only.",
        "Rajpurkar et al. 2018",
        "refusal_accuracy",
    ),
    defect(
        "false_refusal",
        "abstention",
        "Whether an answerable question was refused; of answerable questions only.",
        "the gold and trace scorer (over-refusal)",
        "false_refusal_rate",
        "over_refusal",
    ),
    defect(
        "hallucinated_answer",
        "abstention",
        "Whether an unanswerable question was answered; of unanswerable questions only.",
        "the gold and trace scorer (under-refusal)",
        "hallucinated_answer_rate",
        "under_refusal",
    ),
    spent("latency_ms", "Latency (ms)", "Milliseconds to the whole answer.", "latency_in_ms"),
    spent("latency", "Latency", "Time to the whole answer.", "response_time", "latency_s"),
    spent("prompt_tokens", "Prompt Tokens", "Tokens sent.", "input_tokens"),
    spent("completion_tokens", "Completion Tokens", "Tokens received.", "output_tokens"),
    spent("total_tokens", "Total Tokens", "Tokens sent and received.", "tokens"),
    spent("cost_usd", "Cost (USD)", "Dollars spent on the query.", "cost", "total_cost"),
)

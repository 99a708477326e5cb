"""The names that frameworks give to columns of texts; such a column is never a metric."""

from __future__ import annotations

QUESTION = ("question", "questions", "query", "user_input", "input", "reference_question")
ANSWER = (
    *("answer", "answers", "predicted_answer", "predicted_answers", "response", "actual_output"),
    *("output", "prediction", "predicted", "generated_answer", "llm_answer", "responses"),
)
REFERENCE = (
    *("reference", "references", "true_answer", "true_answers", "ground_truth", "ground_truths"),
    *("golden_answer", "expected_output", "expected_answer", "reference_answer", "target"),
    *("ground_truth_answers", "expected"),
)
CONTEXTS = ("context", "contexts", "retrieved_contexts", "retrieval_context", "retrieved")
REASON = ("reason", "reasons", "explanation", "error")

TEXTS = frozenset((*QUESTION, *ANSWER, *REFERENCE, *CONTEXTS, *REASON))

"""Two small pipelines whose every number can be worked out by hand."""

import pytest

from rageval_report import RAGPipelineEvaluation

PROPOSAL = {
    "query_id": ["53c3b3e6", "225f87f7", "8ac473ec", "97d284ca"],
    "reciprocal_rank": [0.378064, 0.534964, 0.216058, 0.778642],
    "single_hit": [1, 1, 0, 1],
    "multi_hit": [0.706125, 0.454976, 0.445512, 0.250522],
    "context_relevance": [0.805466, 0.410251, 0.750070, 0.361332],
    "faithfulness": [0.135581, 0.695974, 0.749861, 0.041999],
    "semantic_answer_similarity": [0.971241, 0.159320, 0.019722, 1],
    "exact_match": [1, 0, 0, 0],
}


@pytest.fixture
def proposal() -> RAGPipelineEvaluation:
    return RAGPipelineEvaluation("hybrid", PROPOSAL)


def pipeline(name: str, **columns: list) -> RAGPipelineEvaluation:
    """A pipeline of queries q0, q1, ... with the given columns."""
    n = len(next(iter(columns.values())))
    return RAGPipelineEvaluation(name, {"query_id": [f"q{i}" for i in range(n)], **columns})

"""Two small pipelines whose every number can be worked out by hand."""

from collections.abc import Callable

import numpy as np
import pandas as pd
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


def _judged(scores, name="hybrid", metric="faithfulness", **columns) -> RAGPipelineEvaluation:
    ids = [f"q{i}" for i in range(len(scores))]
    return RAGPipelineEvaluation(name, {"query_id": ids, metric: list(scores), **columns})


@pytest.fixture(scope="session")
def judged() -> Callable[..., RAGPipelineEvaluation]:
    """Makes a pipeline of queries q0, q1, ... with these scores of a judge."""
    return _judged


@pytest.fixture(scope="session")
def labels() -> Callable[..., pd.Series]:
    """Makes people's labels of queries q0, q1, ..."""
    return lambda values: pd.Series(
        list(values), index=[f"q{i}" for i in range(len(values))], name="people"
    )


@pytest.fixture(scope="session")
def drawn() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Draws n truths, 70 % of them 1, and a judge who is right so often about 1 and about 0."""

    def draw(n, seed=0, right_on_1=0.9, right_on_0=0.8):
        rng = np.random.default_rng(seed)
        truth = (rng.random(n) < 0.7).astype(float)
        right = rng.random(n) < np.where(truth == 1, right_on_1, right_on_0)
        return truth, np.where(right, truth, 1 - truth)

    return draw

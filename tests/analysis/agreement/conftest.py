"""Judges and people whose every count can be worked out by hand, and others of any size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation

NAN = float("nan")


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

"""Complete scores are compared without a copy, with the same results and without a change."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rageval_report import RAGPipelineEvaluation, compare


def run(name: str, seed: int, *, extra: bool) -> RAGPipelineEvaluation:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "query_id": [f"q{row}" for row in range(60)],
            "hit": rng.integers(0, 2, 60).astype(float),
            "rating": rng.integers(1, 6, 60).astype(float),
            "faithfulness": rng.beta(5, 2, 60),
        }
    )
    if extra:
        unscored = pd.DataFrame({"query_id": ["q60"], "hit": [np.nan]})
        frame = pd.concat([frame, unscored], ignore_index=True)
    return RAGPipelineEvaluation(name, frame)


def test_an_unscored_query_changes_only_the_number_of_dropped_queries():
    complete = compare(run("a", 0, extra=False), run("b", 1, extra=False)).frame
    dropped = compare(run("a", 0, extra=True), run("b", 1, extra=True)).frame
    assert dropped["n_dropped"].tolist() == [1, 1, 1]
    pd.testing.assert_frame_equal(
        complete.drop(columns="n_dropped"), dropped.drop(columns="n_dropped"), check_exact=True
    )


def test_a_comparison_leaves_the_scores_as_they_are():
    runs = [run("a", 0, extra=False), run("b", 1, extra=False)]
    before = [each.scores.copy(deep=True) for each in runs]
    comparison = compare(*runs, margin=0.1, tried=3)
    comparison.regressions("rating")
    for each, scores in zip(runs, before, strict=True):
        pd.testing.assert_frame_equal(each.scores, scores, check_exact=True)

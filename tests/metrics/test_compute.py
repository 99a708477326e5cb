"""From records to scores; each value worked out by hand."""

import math

import numpy as np
import pytest

from rageval_report.errors import DataError
from rageval_report.metrics.record_scores import Tools, score_records

ROWS = [
    {
        "query_id": "q1",
        "retrieved": ["a", "b", "c"],
        "relevant": {"b": 2},
        "answer": "Rome",
        "reference": ["Rome", "Roma"],
        "citations": ["b"],
        "answerable": True,
        "latency_ms": 30,
    },
    {
        "query_id": "q2",
        "retrieved": ["d"],
        "relevant": ["e", "d"],
        "answer": "I don't know.",
        "reference": ["Oslo"],
        "citations": [],
        "answerable": False,
        "latency_ms": 20,
    },
]


def scores(metrics, rows=ROWS, **options):
    return score_records(rows, metrics, **options).scores


def test_similarity_needs_a_function_that_embeds():
    with pytest.raises(DataError, match="embed="):
        scores("semantic_answer_similarity")
    letters = Tools(embed=lambda texts: [[text.count("R"), text.count("O"), 1] for text in texts])
    near = scores("semantic_answer_similarity", tools=letters)["semantic_answer_similarity"]
    assert near.iloc[0] == pytest.approx(1.0)
    assert near.iloc[1] == pytest.approx(1 / math.sqrt(2))


def test_a_field_that_is_missing_is_named_before_anything_is_computed():
    with pytest.raises(
        DataError, match=r"recall@5 cannot be computed: the records have no relevant"
    ):
        scores("recall@5", [{"query_id": "q", "retrieved": ["a"]}])


def test_a_metric_whose_field_is_nowhere_is_not_applicable_on_demand():
    rows = [{"query_id": "a", "answer": "Rome", "reference": "Rome"}]
    with pytest.raises(DataError, match="the records have no retrieved and no relevant"):
        score_records(rows, ["exact_match", "recall@5"])
    scored = score_records(rows, ["recall@5", "exact_match"], lacking="unscored")
    assert scored.scores.columns.tolist() == ["recall@5", "exact_match"]
    assert scored.scores.loc["a", "exact_match"] == 1.0
    assert np.isnan(scored.scores.loc["a", "recall@5"])
    told = scored.states.loc["a", ["recall@5_state", "recall@5_reason"]].tolist()
    assert told == ["not applicable", "the records have no retrieved and no relevant"]

"""The guess that queries come in clusters: a note, and never more."""

import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.scores.align import cluster_hint, cluster_noun

HINT = "24 queries come from 8 documents; if these are not independent, pass clusters='document'"


def run(name="rag", scores=None, **details):
    n = len(next(iter(details.values())))
    scores = [0.5] * n if scores is None else scores
    data = {"query_id": [f"q{i}" for i in range(n)], "recall": scores, **details}
    return RAGPipelineEvaluation(name, data)


def documents(n=24, questions=3):
    return [f"d{i // questions}" for i in range(n)]


@pytest.mark.parametrize(
    ("column", "noun"),
    [
        ("document", "documents"),
        ("Document ID", "documents"),
        ("doc_id", "documents"),
        ("conversationId", "conversations"),
        ("cluster_id", "clusters"),
        ("user", "users"),
        ("source", "sources"),
        ("session-id", "sessions"),
        ("user_input", None),
        ("resource", None),
        ("topic", None),
        ("query_id", None),
    ],
)
def test_a_column_is_known_by_its_name(column, noun):
    assert cluster_noun(column) == noun


@pytest.mark.parametrize(
    "values",
    [
        [f"d{i}" for i in range(24)],  # each query has its own
        [f"d{max(i - 6, 0)}" for i in range(24)],  # few share one
        ["web", "file"] * 12,  # kinds, not clusters
        [None] * 24,
    ],
)
def test_what_few_queries_share_is_no_cluster(values):
    assert cluster_hint(run(source=values)) is None


def test_cells_that_have_no_hash_are_counted_as_texts():
    assert "8 documents" in cluster_hint(run(document=[[name] for name in documents()]))


def test_a_comparison_and_its_gates_give_the_hint_and_apply_nothing():
    before, after = (
        [0.3 + i / 50 for i in range(24)],
        [0.3 + i / 50 + (i % 5 - 2) / 31 for i in range(24)],
    )
    a, b = run("a", before, document=documents()), run("b", after, document=documents())
    comparison = compare(a, b)
    assert HINT in comparison.notes
    assert HINT in comparison.gate("losses(recall) <= 24").notes
    assert HINT in b.gate("mean(recall) >= 0").notes
    assert not comparison.frame["test"].str.startswith("cluster").any()
    assert HINT in b.evaluation_report().notes
    assert HINT in b.report().sections[0].results[0].notes

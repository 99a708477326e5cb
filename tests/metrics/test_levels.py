"""Records at both levels, with repeats in every way, and questions without gold: numbers by hand.

The second witness of ``duplicates="keep"`` are the formulas of Haystack 2 (document recall, MRR and
MAP) and of ragbench (recall at k, MRR), written out below.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from rageval_report import score, score_rankings


def chunk(name):
    """a2 is the second chunk of document a."""
    return {"document_id": name[0], "node_id": name, "content": f"text of {name}"}


def row(retrieved, relevant, query_id="q", **more):
    return {
        "query_id": query_id,
        "retrieved": [chunk(name) for name in retrieved],
        "relevant": relevant,
        **more,
    }


# The ranking a1 a2 b1 b2 c1, of the documents a a b b c.
RETRIEVED = ["a1", "a2", "b1", "b2", "c1"]
GOLD_DOCUMENTS = ["b", "c"]
NAMES = ["recall@2", "recall@3", "recall@5", "mrr", "precision@3", "map", "ndcg@5"]


def values(evaluation):
    return {name: evaluation.scores[name].iloc[0] for name in NAMES}


def dcg(*ranks):
    return sum(1 / math.log2(rank + 1) for rank in ranks)


# With "best" the documents are a b c: b at rank 2, c at rank 3.
BEST = {
    "recall@2": 1 / 2, "recall@3": 1, "recall@5": 1, "mrr": 1 / 2, "precision@3": 2 / 3,
    "map": (1 / 2 + 2 / 3) / 2, "ndcg@5": dcg(2, 3) / dcg(1, 2),
}  # fmt: skip
# With "keep" they are a . b . c: b at rank 3, c at rank 5.
KEEP = {
    "recall@2": 0, "recall@3": 1 / 2, "recall@5": 1, "mrr": 1 / 3, "precision@3": 1 / 3,
    "map": (1 / 3 + 2 / 5) / 2, "ndcg@5": dcg(3, 5) / dcg(1, 2),
}  # fmt: skip


@pytest.mark.parametrize(("duplicates", "expected"), [("best", BEST), ("keep", KEEP), (None, BEST)])
def test_gold_documents_are_compared_with_the_documents_of_chunks(duplicates, expected):
    evaluation = score([row(RETRIEVED, GOLD_DOCUMENTS)], NAMES, duplicates=duplicates)
    assert values(evaluation) == pytest.approx(expected)
    assert evaluation.config["retrieval"] == {
        "level": "document", "duplicates": duplicates or "best", "no_relevant": "skip",
    }  # fmt: skip
    assert any("computed at the level of documents" in note for note in evaluation.notes)
    assert any(note.startswith("duplicates: 2 chunks of documents") for note in evaluation.notes)


def test_gold_chunks_are_compared_with_chunks_unless_documents_are_asked_for():
    rows = [row(RETRIEVED, [chunk("b2"), chunk("c1")])]
    # b2 at rank 4 and c1 at rank 5
    chunks = {
        "recall@2": 0, "recall@3": 0, "recall@5": 1, "mrr": 1 / 4, "precision@3": 0,
        "map": (1 / 4 + 2 / 5) / 2, "ndcg@5": dcg(4, 5) / dcg(1, 2),
    }  # fmt: skip
    assert values(score(rows, NAMES)) == pytest.approx(chunks)
    assert values(score(rows, NAMES, level="document")) == pytest.approx(BEST)
    assert values(score(rows, NAMES, level="document", duplicates="keep")) == pytest.approx(KEEP)


def haystack(retrieved, relevant):
    """Haystack 2.9: DocumentRecall (multi_hit), DocumentMRR, DocumentMAP, each truth once."""
    truths, seen = set(relevant), set()
    numerator, reciprocal = 0.0, 0.0
    for rank, document in enumerate(retrieved, 1):
        if document in truths and document not in seen:
            seen.add(document)
            numerator += len(seen) / rank
            reciprocal = reciprocal or 1 / rank
    return {
        "recall": len(seen) / len(truths), "mrr": reciprocal, "map": numerator / len(truths)
    }  # fmt: skip


def ragbench_recall(retrieved, relevant, k):
    """ragbench: the distinct gold ids among the first k retrieved, over the distinct gold ids."""
    return len(set(retrieved[:k]) & set(relevant)) / len(set(relevant))


@pytest.mark.parametrize("seed", range(20))
def test_repeats_that_keep_their_rank_count_as_in_haystack_and_ragbench(seed):
    rng = np.random.default_rng(seed)
    retrieved = [f"{document}{n}" for n, document in enumerate(rng.choice(list("abcde"), 8))]
    relevant = list(rng.choice(list("abcdef"), 3, replace=False))
    documents = [name[0] for name in retrieved]
    names = ["recall", "mrr", "map", "recall@1", "recall@3", "recall@5"]
    evaluation = score(
        [row(retrieved, relevant)], names, level="document", duplicates="keep"
    ).scores.iloc[0]
    for name, expected in haystack(documents, relevant).items():
        assert evaluation[name] == pytest.approx(expected)
    for k in (1, 3, 5):
        assert evaluation[f"recall@{k}"] == ragbench_recall(documents, relevant, k)
    # The same list of documents as a ranking, without any chunk.
    ranked = score_rankings({"q": documents}, {"q": relevant}, names, duplicates="keep").scores
    np.testing.assert_allclose(ranked.iloc[0], evaluation)


# -- repeats in runs of every form


# -- tables one at a time

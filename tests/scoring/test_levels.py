"""Records at both levels, with repeats in every way, and questions without gold: numbers by hand.

The second witness of ``duplicates="keep"`` are the formulas of Haystack 2 (document recall, MRR and
MAP) and of ragbench (recall at k, MRR), written out below.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from rageval_report import score, score_rankings
from rageval_report.errors import DataError
from rageval_report.records import record_table
from rageval_report.scoring.blocks import score_blocks

NAN = math.nan


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


def test_a_document_that_is_retrieved_twice_may_be_refused():
    rows = [row(RETRIEVED, GOLD_DOCUMENTS)]
    with pytest.raises(DataError, match=r"twice in query 'q': 'a', 'b'; duplicates=\"best\""):
        score(rows, "mrr", duplicates="error")
    twice = [{"query_id": "q", "retrieved": ["a", "a"], "relevant": ["a"]}]
    with pytest.raises(DataError, match="twice in query 'q': 'a'"):
        score(twice, "mrr")


# -- repeats in runs of every form


RUN = [("a", 0.9), ("b", 0.8), ("a", 0.7), ("c", 0.7), ("b", 0.7), ("d", 0.1)]


@pytest.mark.parametrize("form", ["lists", "frame", "file"])
@pytest.mark.parametrize(
    ("duplicates", "rank"),
    # Ties go by id, descending: a, b, then c, b, a (0.7 each), then d. With "input" a, b, a, c.
    [("best", {"docid": 3, "input": 3}), ("keep", {"docid": 3, "input": 4})],
)
@pytest.mark.parametrize("ties", ["docid", "input"])
def test_repeats_of_frames_and_files_are_those_of_lists(tmp_path, form, duplicates, rank, ties):
    ordered = [doc for doc, _ in RUN]
    if ties == "docid":
        ordered = ["a", "b", "c", "b", "a", "d"]
    run = {"q": ordered}
    if form == "frame":
        run = pd.DataFrame(RUN, columns=["doc_id", "score"]).assign(query_id="q")
    elif form == "file":
        run = tmp_path / "a.run"
        lines = [f"q Q0 {doc} {n} {value} tag" for n, (doc, value) in enumerate(RUN)]
        run.write_text("\n".join(lines) + "\n")
    evaluation = score_rankings(run, {"q": ["c"]}, ["mrr"], duplicates=duplicates, ties=ties)
    assert evaluation.get_aggregated_scores("mrr") == pytest.approx(1 / rank[ties])
    assert evaluation.details["n_retrieved"].tolist() == [4 if duplicates == "best" else 6]
    assert "duplicates: 2 documents were retrieved again" in evaluation.notes[0]


# -- tables one at a time


def test_the_level_of_tables_one_at_a_time_is_that_of_all_together():
    rows = [row(["a1", "b1"], ["b"], query_id="q1"), row(["a1", "c1"], ["a1"], query_id="q2"),
            row(["c1", "b1"], ["b"], query_id="q3")]  # fmt: skip
    whole = score(rows, ["mrr", "recall@1"])
    found = score_blocks(lambda: [record_table([cells]) for cells in rows], ["mrr", "recall@1"])
    assert whole.scores["mrr"].tolist() == [1 / 2, 0, 1 / 2]  # a1 is no document
    pd.testing.assert_frame_equal(found.evaluation.scores, whole.scores)
    assert set(whole.notes) <= set(found.evaluation.notes)

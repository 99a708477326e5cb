"""Metrics of rankings. Witnesses: arithmetic by hand, pytrec_eval-terrier 0.5.11 to the bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.metrics import retrieval
from rageval_report.metrics.ranking_scores import join_inputs, score_table_of_rankings
from rageval_report.scores.metric import METRICS, Catalogue

# The functions of the module, by the names of their metrics; hybrid_log_rank has its own tests.
RETRIEVAL = {
    name: metric.function()
    for name, metric in METRICS.known().items()
    if str(metric.compute).startswith(f"{retrieval.__name__}:") and name != "hybrid_log_rank"
}

# Relevant at ranks 2 and 4 of 5, a third one not retrieved.
RETRIEVED = [["x", "a", "y", "b", "z"]]
RELEVANT = [["a", "b", "c"]]
BY_HAND = {
    ("precision", None): 2 / 5,
    ("precision", 2): 1 / 2,
    ("precision", 10): 2 / 10,
    ("recall", None): 2 / 3,
    ("recall", 3): 1 / 3,
    ("f1", 2): 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3),
    ("f1", 1): 0,
    ("hit", 1): 0,
    ("hit", 2): 1,
    ("hit", None): 1,
    ("reciprocal_rank", None): 1 / 2,
    ("reciprocal_rank", 1): 0,
    ("average_precision", None): (1 / 2 + 2 / 4) / 3,
    ("average_precision", 3): (1 / 2) / 3,
    ("r_precision", None): 1 / 3,
    ("r_precision", 1): 0,
    ("reachable_recall", 2): 1 / 2,
    ("reachable_recall", None): 2 / 3,
    ("ndcg", 2): (1 / math.log2(3)) / (1 + 1 / math.log2(3)),
    ("single_hit", None): 0,  # the first of the five is not relevant
    ("single_hit", 2): 0,
    ("multi_hit", None): 2 / 5,
    ("multi_hit", 2): 1 / 2,
    ("multi_hit", 10): 2 / 10,  # a list of five is filled up
    ("document_recall_single_hit", None): 1,
    ("document_recall_single_hit", 1): 0,
    ("document_recall_single_hit", 2): 1,
    ("document_recall_multi_hit", None): 2 / 3,
    ("document_recall_multi_hit", 3): 1 / 3,
    ("bpref", None): 2 / 3,  # nothing was judged not relevant
}

PEERS = {
    "P@1": "P_1", "P@5": "P_5", "recall@10": "recall_10", "success@5": "success_5",
    "ndcg@10": "ndcg_cut_10", "map": "map", "map@10": "map_cut_10", "mrr": "recip_rank",
    "Rprec": "Rprec", "bpref": "bpref", "ndcg": "ndcg", "precision": "set_P",
    "recall": "set_recall",
}  # fmt: skip
ASKED = {"P.1,5", "recall.10", "success.5", "ndcg_cut.10", "map", "map_cut.10", "recip_rank"}
ASKED |= {"Rprec", "bpref", "ndcg", "set_P", "set_recall"}


def hits_of(retrieved, relevant):
    """The hit table of lists of ids."""
    run, qrels = (dict(zip("abcdefgh", lists, strict=False)) for lists in (retrieved, relevant))
    return join_inputs(run, qrels, ties="input", relevance_level=1).hits


@pytest.mark.parametrize(("name", "k"), BY_HAND)
def test_a_metric_is_what_the_hand_computes(name, k):
    (value,) = RETRIEVAL[name](hits_of(RETRIEVED, RELEVANT), k)
    assert value == pytest.approx(BY_HAND[name, k], abs=1e-15)


def made(seed, *, depth=30, n_judged=8, decimals=None):
    """A run and judgments of 15 queries; the scores are single-precision numbers, or rounded."""
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for query in range(15):
        pool = [f"d{one}" for one in rng.permutation(2 * depth)]
        scores = rng.random(int(rng.integers(1, depth + 1))).astype(np.float32).astype(float)
        scores = scores if decimals is None else np.round(scores, decimals)
        run[f"q{query}"] = dict(zip(pool, scores.tolist(), strict=False))
        judged = rng.permutation(pool)[:n_judged].tolist()
        # pytrec_eval does not come back from a query whose grades are all below the level
        grades = [3, *rng.integers(-1, 4, n_judged - 1).tolist()]
        qrels[f"q{query}"] = dict(zip(judged, grades, strict=True))
    return run, qrels


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    depth=st.sampled_from([1, 7, 30, 150]),
    n_judged=st.sampled_from([1, 2, 8, 20]),
    decimals=st.sampled_from([None, 2, 1, 0]),
    level=st.sampled_from([1, 2]),
)
def test_every_value_is_that_of_pytrec_eval_to_the_last_bit(seed, depth, n_judged, decimals, level):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = made(seed, depth=depth, n_judged=min(n_judged, 2 * depth), decimals=decimals)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, ASKED, relevance_level=level)
    theirs = evaluator.evaluate(run)
    ours = score_table_of_rankings(run, qrels, list(PEERS), relevance_level=level).scores
    for name, peer in PEERS.items():
        expected = [theirs[query][peer] for query in ours.index]
        assert ours[name].tolist() == expected, name


@pytest.mark.parametrize("k", [1, 5, 10])
def test_exponential_ndcg_is_linear_ndcg_of_exponential_grades(k):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = made(7)
    gains = {q: {d: 2 ** max(g, 0) - 1 for d, g in docs.items()} for q, docs in qrels.items()}
    theirs = pytrec_eval.RelevanceEvaluator(gains, {f"ndcg_cut.{k}"}).evaluate(run)
    ours = score_table_of_rankings(run, qrels, f"ndcg_exp@{k}").scores.iloc[:, 0]
    assert ours.to_dict() == {query: one[f"ndcg_cut_{k}"] for query, one in theirs.items()}


@pytest.mark.parametrize("name", RETRIEVAL)
@pytest.mark.parametrize("k", [None, 3])
def test_nothing_retrieved_and_nothing_relevant_score_zero(name, k):
    hits = hits_of([[], ["a"]], [["a"], []])
    scores = RETRIEVAL[name](hits, k)
    assert scores.dtype == np.float64
    assert scores.tolist() == [0, 0]


@pytest.mark.parametrize("name", RETRIEVAL)
@pytest.mark.parametrize("k", [0, -1, 2.5, True, "5"])
def test_a_cutoff_that_is_none_is_refused(name, k):
    with pytest.raises(DataError, match=r"k must be an integer >= 1"):
        RETRIEVAL[name](hits_of([["a"]], [["a"]]), k)


# -- single hit and multi hit, of Haystack's proposal and of Haystack 2


# The first of three is right; the second and third; none; nothing retrieved; nothing relevant.


@pytest.mark.parametrize(
    ("name", "title", "kind"),
    [
        ("single_hit", "Single Hit", "binary"),
        ("multi_hit", "Multi Hit", "proportion"),
        ("document_recall_single_hit", "Document Recall (Single Hit)", "binary"),
        ("recall_multi_hit", "Document Recall (Multi Hit)", "proportion"),
    ],
)
def test_the_catalogue_tells_the_meanings_apart(name, title, kind):
    metric = Catalogue().find(name)
    assert (metric.title, metric.kind, metric.needs) == (title, kind, "rankings")

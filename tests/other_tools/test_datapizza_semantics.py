"""The functions of datapizza-ai: its values, the order of its checks, and what is mended here.

Every number is worked out by hand from the definitions, or is the value that its functions print.
"""

from __future__ import annotations

import inspect
import math

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.judges import ScriptedChat, judge
from rageval_report.metrics import (
    bleu_score,
    corpus_bleu_score,
    corpus_rouge_scores,
    f1_at_k_exact,
    f1_at_k_similarity,
    hybrid_log_rank_score_exact,
    hybrid_log_rank_score_similarity,
    log_rank_score,
    precision_at_k_exact,
    precision_at_k_similarity,
    recall_at_k_exact,
    recall_at_k_similarity,
    rouge_score,
)
from rageval_report.records import record_table

A, B = [1.0, 0.0], [0.0, 1.0]
AT_K_EXACT = (precision_at_k_exact, recall_at_k_exact, f1_at_k_exact)
AT_K_SIMILAR = (precision_at_k_similarity, recall_at_k_similarity, f1_at_k_similarity)


EXACT, CHUNKS = "retrieved_chunks, ground_truth_chunks", "retrieved_chunk, ground_truth_chunk"
SIMILAR = "retrieved_embeddings, ground_truth_embeddings"
SIGNATURES = {
    **dict.fromkeys(AT_K_EXACT, f"{EXACT}, k"),
    **dict.fromkeys(AT_K_SIMILAR, f"{SIMILAR}, k, similarity_threshold=0.8"),
    log_rank_score: "rank, n, gamma=1.0",
    hybrid_log_rank_score_exact: f"{EXACT}, gamma=1.0, alpha=0.5",
    hybrid_log_rank_score_similarity: f"{SIMILAR}, similarity_threshold=0.8, gamma=1.0, alpha=0.5",
    bleu_score: f"{CHUNKS}s",
    corpus_bleu_score: EXACT,
    rouge_score: CHUNKS,
    corpus_rouge_scores: EXACT,
}


@pytest.mark.parametrize("function", SIGNATURES)
def test_arguments_have_its_names_order_and_defaults(function):
    parameters = inspect.signature(function).parameters.values()
    shown = ", ".join(str(one.replace(annotation=one.empty)) for one in parameters)
    assert shown.replace(" = ", "=").startswith(SIGNATURES[function])


# -- precision, recall and F1 at k


def test_precision_divides_by_k_even_if_fewer_were_retrieved():
    assert precision_at_k_exact(list("abcd"), list("bdx"), 3) == 1 / 3
    assert precision_at_k_exact(list("abcd"), list("bdx"), 10) == 0.2


def test_exact_functions_count_sets_and_those_of_similarity_count_rows():
    assert precision_at_k_exact(["a", "a", "b"], ["a"], 3) == 1 / 3
    assert precision_at_k_similarity([A, A, B], [A], 3) == 2 / 3
    assert recall_at_k_exact(["a"], ["a", "a", "b"], 1) == 0.5
    assert recall_at_k_similarity([A], [A, A, B], 1) == 2 / 3


def test_f1_is_the_harmonic_mean_and_0_if_both_are_0():
    # precision 1/3 and recall 1/3; precision 2/3 and recall 1
    assert f1_at_k_exact(list("abc"), list("bxy"), 3) == pytest.approx(1 / 3)
    assert f1_at_k_similarity([A, A, B], [A], 3) == pytest.approx(2 * (2 / 3) / (5 / 3))
    assert f1_at_k_exact(["a"], ["b"], 1) == 0.0
    assert f1_at_k_similarity([A], [B], 1) == 0.0


@pytest.mark.parametrize("function", AT_K_EXACT)
def test_exact_functions_look_first_whether_anything_was_retrieved(function):
    assert function([], ["a"], 3) == 0.0
    assert function(["a"], ["a"], 0) == 0.0
    assert function([], [], 3) == 0.0
    with pytest.raises(ValueError, match="at least one chunk"):
        function(["a"], [], 3)


def test_recall_by_similarity_looks_first_whether_there_is_a_truth():
    assert precision_at_k_similarity([], [], 3) == 0.0
    assert recall_at_k_similarity([], [A], 3) == 0.0
    assert recall_at_k_similarity([A], [A], 0) == 0.0
    for function in (recall_at_k_similarity, f1_at_k_similarity):
        with pytest.raises(ValueError, match="ground_truth_embeddings"):
            function([], [], 3)
    with pytest.raises(ValueError, match="ground_truth_embeddings"):
        precision_at_k_similarity([A], [], 3)


def test_a_similarity_at_the_threshold_counts():
    """The cosine of (3, 4) and (1, 0) is 0.6."""
    assert precision_at_k_similarity([[3.0, 4.0]], [A], 1, 0.6) == 1.0
    assert precision_at_k_similarity([[3.0, 4.0]], [A], 1, 0.61) == 0.0


# -- log ranks


def test_log_rank_falls_from_1_to_0():
    values = [log_rank_score(rank, 4) for rank in (1, 2, 3, 4)]
    assert values == pytest.approx([1.0, 0.5, 0.20751874963942185, 0.0], abs=1e-15)
    assert log_rank_score(2, 4, gamma=10) == pytest.approx(0.3017168876848263, abs=1e-15)
    assert log_rank_score(2, 4, gamma=0.1) == pytest.approx(0.6367257560865931, abs=1e-15)
    assert log_rank_score(1, 1) == 1.0


def test_hybrid_is_alpha_recall_and_the_rest_log_ranks():
    """Two of two at ranks 1 and 2 of 2: recall 1, and (1 + 0) / 2 for the ranks."""
    assert hybrid_log_rank_score_exact(["a", "b"], ["a", "b"]) == 0.75
    ranks = ["x", "a", "y", "b", "z"]
    expected = 0.5 + 0.5 * (log_rank_score(2, 5) + log_rank_score(4, 5)) / 2
    assert hybrid_log_rank_score_exact(ranks, ["a", "b"]) == pytest.approx(expected)
    assert expected == pytest.approx(0.6769925814449552, abs=1e-15)
    assert hybrid_log_rank_score_exact(ranks, ["a", "c"], alpha=1.0) == 0.5
    assert hybrid_log_rank_score_similarity([A, B], [A, B]) == 0.75


def test_hybrid_looks_first_whether_there_is_a_truth():
    for function, item in (
        (hybrid_log_rank_score_exact, "a"),
        (hybrid_log_rank_score_similarity, A),
    ):
        assert function([], [item]) == 0.0
        with pytest.raises(ValueError, match="ground_truth"):
            function([], [])


def test_hybrid_counts_repeats_in_the_length_and_equal_truths_by_similarity_each():
    # a at rank 1 of 3: ln 1 = 0 is lost, whatever repeats it.
    assert hybrid_log_rank_score_exact(["a", "a", "b"], ["a"]) == 1.0
    # b is at rank 3 of 3, the last, because the repeat takes a rank.
    assert hybrid_log_rank_score_exact(["a", "a", "b"], ["b"]) == 0.5
    # Truths a, a and b: recall 2/3, ranks (1 + 1 + 0) / 3
    assert hybrid_log_rank_score_similarity([A], [A, A, B]) == pytest.approx(2 / 3)


def test_a_perfect_ranking_reaches_1_when_normalized():
    assert hybrid_log_rank_score_exact(["a", "b"], ["a", "b"], normalized=True) == 1.0
    assert hybrid_log_rank_score_similarity([A, B], [A, B], normalized=True) == 1.0


# -- BLEU and ROUGE


def test_bleu_has_brevity_smoothing_and_effective_order():
    # one right word of seven: only n = 1 exists, so the score is the brevity penalty e^(1 - 7)
    short = bleu_score("fox", ["the quick brown fox jumps over dogs"])
    assert short == pytest.approx(math.exp(-6), abs=1e-15)
    assert short == pytest.approx(0.0024787521766663594, abs=1e-15)
    # two tokens, one shared: 1/2 for n = 1, and 1/(2 * 1) by smoothing for n = 2
    assert bleu_score("a cat", ["a dog"]) == pytest.approx(0.5, abs=1e-15)
    assert bleu_score("cat", ["dog"]) == 0.0  # no match at any n


def test_bleu_uses_the_closest_reference_for_its_length_and_all_for_its_counts():
    """Lengths 3 and 9; the closest to 4 is 3, so there is no penalty: 4 * 3 n-grams by hand."""
    text, references = "a b c d", ["a b c", "z z z z z z z z d"]
    # n = 1: all four; n = 2: ab and bc; n = 3: abc; n = 4: none, smoothed to 1/2
    expected = (1.0 * (2 / 3) * (1 / 2) * (1 / 2)) ** 0.25
    assert bleu_score(text, references) == pytest.approx(expected)


def test_bleu_tokens_are_those_of_mteval_13a():
    assert bleu_score("R&amp;D costs 3.5 %", ["R&D costs 3.5 %"]) == pytest.approx(1.0)
    assert bleu_score("Yes, well.", ["Yes , well ."]) == pytest.approx(1.0)
    assert bleu_score("Oslo", ["oslo"]) == 0.0  # case is kept
    # A sentence without blanks is one token.
    assert bleu_score("東京は日本です", ["東京は日本だ"]) == 0.0


def test_bleu_of_empty_texts():
    assert bleu_score("text", []) == 0.0
    assert bleu_score("", [""]) == 1.0
    assert bleu_score("", ["text", ""]) == 0.0
    assert bleu_score("the same", ["the same"]) == 1.0  # never above


def test_corpus_bleu_is_the_mean_over_truths_of_the_best_chunk():
    expected = (bleu_score("a cat", ["a dog"]) + 1.0) / 2
    assert corpus_bleu_score(["a cat", "one two"], ["a dog", "one two"]) == pytest.approx(expected)
    assert corpus_bleu_score([], ["a"]) == 0.0
    with pytest.raises(ValueError, match="ground_truth_chunks"):
        corpus_bleu_score([], [])


def test_rouge_gives_precision_recall_and_f_of_three_types():
    scores = rouge_score("the cat sat", "the cat ran home")
    assert list(scores) == ["rouge1", "rouge2", "rougeL"]
    # shared: the, cat; one bigram; the longest common subsequence is "the cat"
    assert scores["rouge1"] == pytest.approx(
        {"precision": 2 / 3, "recall": 1 / 2, "fmeasure": 4 / 7}
    )
    assert scores["rouge2"] == pytest.approx({"precision": 1 / 2, "recall": 1 / 3, "fmeasure": 0.4})
    assert scores["rougeL"] == scores["rouge1"]


def test_rouge_stems_and_knows_latin_letters_only():
    scores = rouge_score("The fox jumped over the dogs", "the fox jumps over the dog")
    assert {value for figures in scores.values() for value in figures.values()} == {1.0}
    nothing = rouge_score("東京", "東京")
    assert {value for figures in nothing.values() for value in figures.values()} == {0.0}
    assert rouge_score("", "text")["rouge1"]["fmeasure"] == 0.0
    assert rouge_score("text", "")["rougeL"]["recall"] == 0.0


def test_corpus_rouge_takes_the_chunk_of_the_highest_recall_for_each_truth():
    scores = corpus_rouge_scores(["the cat sat down", "cat"], ["the cat", "cat"])
    # "the cat": the first chunk, P 2/4, R 1; "cat": R 1 of both, so that the first counts: P 1/4
    assert scores["rouge1"]["recall"] == 1.0
    assert scores["rouge1"]["precision"] == pytest.approx((1 / 2 + 1 / 4) / 2)
    nothing = corpus_rouge_scores([], [])
    assert {value for figures in nothing.values() for value in figures.values()} == {0.0}
    with pytest.raises(ValueError, match="ground_truth_chunks"):
        corpus_rouge_scores(["a"], [])


# -- what is mended


@pytest.mark.parametrize("function", AT_K_EXACT)
def test_a_negative_k_is_an_error(function):
    with pytest.raises(ValueError, match="k must be"):
        function(["a"], ["a"], -1)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: log_rank_score(1, 3, gamma=-1), "gamma"),
        (lambda: log_rank_score(4, 3), "rank"),
        (lambda: hybrid_log_rank_score_exact(["a"], ["a"], alpha=1.5), "alpha"),
        (lambda: hybrid_log_rank_score_similarity([A], [A], alpha=-0.1), "alpha"),
        (lambda: precision_at_k_similarity([A], [A], 1, 1.5), "similarity_threshold"),
        (lambda: precision_at_k_similarity([A], [A], -1), "k must be"),
    ],
)
def test_arguments_out_of_range_are_errors(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_gamma_of_0_is_the_limit():
    assert log_rank_score(2, 3, gamma=0) == 0.5


def test_an_identical_vector_is_found_at_a_threshold_of_1():
    vector = [0.1, 0.2, 0.3]  # whose cosine with itself may be 0.9999999999999999
    assert recall_at_k_similarity([vector], [vector], 1, 1.0) == 1.0


# -- its table, its judge, its golden set


def test_a_table_of_its_columns_is_summarised_with_missing_scores():
    rows = [
        {
            "query_id": n,
            "query": f"What is {n}?",
            "precision_at_5_exact": 0.2 * n,
            "recall_at_5_similarity": None if n == 0 else 0.5 * (n - 1),
            "hybrid_log_rank_score_exact": 0.75,
            "corpus_bleu": 0.1 * n,
            "corpus_rougeL_fmeasure": 0.25,
            "llm_as_judge_answer_metrics": n % 2,
        }
        for n in range(4)
    ]
    report = RAGPipelineEvaluation("rag", rows).evaluation_report()
    frame = report.frame.set_index("metric")
    assert len(frame) == 6
    row = frame.loc[next(name for name in frame.index if "recall" in name)]
    assert (row["n"], row["n_unscored"], row["mean"]) == (3, 1, 0.5)
    assert (row["min"], row["max"], row["p50"]) == (0.0, 1.0, 0.5)
    assert row["std"] == 0.5  # of 0, 0.5 and 1


def test_its_judge_says_whether_the_answer_matches_and_a_failure_is_missing():
    rows = [
        {"query_id": name, "question": "Where?", "answer": name, "reference": "Oslo"}
        for name in ("right", "wrong", "broken")
    ]
    replies = ['{"is_matching": true}', '{"is_matching": false}', "sorry", "sorry"]
    judged = judge(rows, "is_matching", ScriptedChat(replies), concurrency=1)
    [name] = judged.scores
    assert judged.scores[name].tolist()[:2] == [1.0, 0.0]
    assert math.isnan(judged.scores[name].iloc[2])
    assert judged.states[f"{name}_state"].iloc[2] == "failed"


def test_its_results_file_has_predictions_chunks_and_true_chunks():
    row = {
        "query": "How long?",
        "answer": "777 km",
        "prediction": "It is 777 km long.",
        "chunks": [{"id": "c1", "title": "Seine", "text": "It is 777 km long. It is wide."}],
        "gt_chunks": [{"title": "Seine", "fact": "It is 777 km long."}],
    }
    table = record_table([row])
    assert table["answer"].tolist() == ["It is 777 km long."]
    assert table["reference"].tolist() == [["777 km"]]
    assert table["retrieved"].tolist() == [["c1"]]
    assert table["relevant"].tolist() == [{"c1": 1.0}]

"""From runs and judgments to a table of scores: forms of input, names of metrics, arguments.

Witnesses: arithmetic by hand, and one form of the same input for another.
"""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_report import score_rankings
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.rankings.score_tables import hits_of, metric_of, score_table_of_rankings
from rageval_report.scores.metric import METRICS, Metric

NAMES = ["mrr", "ndcg@10", "map", "bpref", "recall@2"]


# -- forms of input


FORMS = ["frames", "polars", "pyarrow", "files", "run file", "qrels file", "gzip", "mixed"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_input_gives_the_same_scores(
    form, run, qrels, frame_of, write_run, write_qrels, tmp_path
):
    frames = frame_of(run, "score"), frame_of(qrels, "relevance")
    files = write_run(run), write_qrels(qrels)
    zipped = tmp_path / "run.gz"
    zipped.write_bytes(gzip.compress(files[0].read_bytes()))
    given_as = {
        "frames": lambda: frames,
        "polars": lambda: tuple(map(pytest.importorskip("polars").from_pandas, frames)),
        "pyarrow": lambda: tuple(map(pytest.importorskip("pyarrow").table, frames)),
        "files": lambda: (files[0], str(files[1])),
        "run file": lambda: (files[0], qrels),
        "qrels file": lambda: (run, files[1]),
        "gzip": lambda: (zipped, files[1]),
        "mixed": lambda: (frames[0], files[1]),
    }
    expected = score_table_of_rankings(run, qrels, NAMES)
    ranked = score_table_of_rankings(*given_as[form](), NAMES)
    pd.testing.assert_frame_equal(ranked.scores, expected.scores)
    pd.testing.assert_frame_equal(ranked.details, expected.details)
    assert ranked.notes == expected.notes


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    seed=st.integers(0, 10**6),
    decimals=st.sampled_from([0, 1, 5]),
    ties=st.sampled_from(["docid", "input"]),
    drop_self=st.booleans(),
)
def test_dicts_frames_and_shuffled_rows_agree(frame_of, seed, decimals, ties, drop_self):
    rng = np.random.default_rng(seed)
    words = [f"{'é' * int(rng.integers(0, 3))}{one:x}" for one in rng.permutation(60)]
    words += [f"q{query}" for query in range(7)]
    run, qrels = {}, {}
    for query in range(6):
        chosen = rng.permutation(words)[: int(rng.integers(1, 40))].tolist()
        run[f"q{query}"] = dict(zip(chosen, np.round(rng.random(40), decimals), strict=False))
        judged = rng.permutation(words)[: int(rng.integers(1, 20))].tolist()
        qrels[f"q{query + 1}"] = {doc: int(rng.integers(0, 3)) for doc in judged}
    options = {"ties": ties, "drop_self": drop_self}
    frame = frame_of(run, "score")
    if ties == "docid":
        frame = frame.sample(frac=1, random_state=seed % 1000)
    by_dict = score_table_of_rankings(run, qrels, NAMES, **options)
    by_frame = score_table_of_rankings(frame, frame_of(qrels, "label"), NAMES, **options)
    pd.testing.assert_frame_equal(by_dict.scores, by_frame.scores)
    pd.testing.assert_frame_equal(by_dict.details, by_frame.details)
    if ties == "input":  # shuffled rows name the queries in another order
        assert by_dict.notes == by_frame.notes


def test_the_order_of_the_keys_of_dicts_does_not_matter(run, qrels):
    # ranx 0.3.21 pairs the queries of plain dicts by position: the same run gives other scores
    turned = dict(reversed(run.items())), dict(reversed(qrels.items()))
    expected = score_table_of_rankings(run, qrels, NAMES).scores
    assert score_table_of_rankings(turned[0], qrels, NAMES).scores.equals(expected)
    both = score_table_of_rankings(*turned, NAMES).scores
    assert both.loc[expected.index].equals(expected)


def test_lists_of_ids_are_taken_in_their_order():
    ranked = score_table_of_rankings({"q": ["x", "b", "a"]}, {"q": ["a", "b"]}, ["mrr", "map"])
    assert ranked.scores.loc["q"].tolist() == pytest.approx([1 / 2, (1 / 2 + 2 / 3) / 2])


@pytest.mark.parametrize("run", [{1: {7: 1.0}}, {"1": {"7": 1.0}}, {np.int64(1): [7]}])
@pytest.mark.parametrize("qrels", [{1: {7: 1}}, {"1": {"7": 1}}, {1: ["7"]}])
def test_whole_numbers_as_ids_are_texts_on_both_sides(run, qrels):
    ranked = score_table_of_rankings(run, qrels, "mrr")
    assert ranked.scores["mrr"].to_dict() == {"1": 1.0}


@pytest.mark.parametrize("dtype", ["int64", "Int64", "str", "object", "category"])
def test_ids_of_frames_are_texts_whatever_their_type(dtype):
    run = pd.DataFrame({"qid": [1, 1], "docno": [7, 8], "score": [0.5, 0.9]})
    run = run.astype({"qid": dtype, "docno": dtype})
    ranked = score_table_of_rankings(run, {"1": {"7": 1}}, "mrr")
    assert ranked.scores["mrr"].to_dict() == {"1": 0.5}


def test_ids_that_only_look_alike_stay_different():
    ranked = score_table_of_rankings({"1": ["01"], "2": ["1.0"]}, {"1": ["1"], "2": ["1.0"]}, "hit")
    assert ranked.scores["hit"].tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, "Float64", "Int64"])
def test_scores_may_be_numbers_of_any_type(frame_of, dtype):
    # pytrec_eval 0.5.11 refuses float32
    run = {"q": {"a": 1, "b": 2}}
    frame = frame_of(run, "score").astype({"score": dtype})
    by_dict = {"q": dict(zip("ab", np.array([1, 2], np.float32), strict=True))}
    for given_run in (frame, by_dict):
        assert score_table_of_rankings(given_run, {"q": ["a"]}, "mrr").scores["mrr"].item() == 0.5


def test_hits_of_lists_name_the_query_in_an_error():
    with pytest.raises(DataError, match="must name each document once; twice in query 'why': 'a'"):
        hits_of([["b"], ["a", "a"]], [["b"], ["a"]], query_ids=["who", "why"])


# -- names of metrics


@pytest.mark.parametrize(
    ("name", "function", "k"),
    [
        ("nDCG@10", "ndcg", 10), ("ndcg_cut_10", "ndcg", 10), ("P_5", "precision", 5),
        ("precision@5", "precision", 5), ("mrr", "reciprocal_rank", None), ("hit@1", "hit", 1),
        ("success_1", "hit", 1), ("hit_rate@1", "hit", 1), ("ndcg_exp@10", "ndcg_exp", 10),
        ("recip_rank", "reciprocal_rank", None), ("map@100", "average_precision", 100),
        ("MRR@10", "reciprocal_rank", 10), ("Rprec", "r_precision", None),
        ("Single Hit", "single_hit", None), ("multi-hit@3", "multi_hit", 3),
        ("document_recall_multi_hit", "document_recall_multi_hit", None),
        ("recall_single_hit@5", "document_recall_single_hit", 5),
    ],
)  # fmt: skip
def test_the_fields_names_are_understood(name, function, k):
    compute, cutoff = metric_of(name)
    assert (compute.__name__, cutoff) == (function, k)


def test_columns_are_named_as_asked(run, qrels):
    table = score_table_of_rankings(run, qrels, ["nDCG@10", "P_1"])
    assert list(table.scores) == ["nDCG@10", "P_1"]


def test_an_unknown_metric_gets_the_nearest(run, qrels):
    with pytest.raises(UnknownNameError, match=r"named 'recal@5'. Did you mean 'recall'"):
        score_table_of_rankings(run, qrels, "recal@5")


def test_a_metric_that_rankings_do_not_give_is_refused(run, qrels):
    with pytest.raises(UnknownNameError, match="no metric of rankings is named 'faithfulness'"):
        score_table_of_rankings(run, qrels, "faithfulness")


def test_a_metric_from_outside_is_computed(monkeypatch, run, qrels):
    counted = Metric("n_found", needs="rankings", compute=lambda hits, k: hits.n_retrieved * 1.0)
    monkeypatch.setitem(METRICS._entries, "n_found", counted)
    assert score_table_of_rankings(run, qrels, "n_found").scores["n_found"].tolist() == [3.0, 2.0]


# -- arguments


@pytest.mark.parametrize(
    ("metrics", "options", "told"),
    [
        ([], {}, "metrics must name at least one metric"),
        ("recall@0", {}, "k must be an integer >= 1"),
        ("mrr", {"ties": "random"}, 'ties must be "docid", "input" or "error"; got "random"'),
        ("mrr", {"no_relevant": "one"}, 'no_relevant must be "zero" or "skip"; got "one"'),
        ("mrr", {"duplicates": "last"}, 'duplicates must be "error", "best" or "keep"; got "last"'),
        ("mrr", {"relevance_level": 0}, "relevance_level must be a number > 0"),
        ("mrr", {"relevance_level": "2"}, "relevance_level must be a number > 0"),
    ],
)
def test_arguments_are_checked(run, qrels, metrics, options, told):
    with pytest.raises((DataError, UnknownNameError), match=told):
        score_rankings(run, qrels, metrics, **options)

"""From runs and judgments, in every form they come in, to a table of scores.

Witnesses: trec_eval's own expected output (commit f4253652), pytrec_eval-terrier 0.5.11, the means
of the public TREC runs, and arithmetic by hand.
"""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import AlignmentError, DataError, ReaderError, UnknownNameError
from rageval_report.metrics.rankings import metric_of, score_table_of_rankings
from rageval_report.scores.metric import METRICS, Metric

TREC_NAMES = {
    "map": "map", "Rprec": "Rprec", "bpref": "bpref", "recip_rank": "mrr", "ndcg": "ndcg",
    **{f"P_{k}": f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"recall_{k}": f"recall@{k}" for k in (5, 10, 100, 1000)},
    **{f"ndcg_cut_{k}": f"ndcg@{k}" for k in (5, 10, 100, 1000)},
    **{f"map_cut_{k}": f"map@{k}" for k in (5, 10, 100, 1000)},
    **{f"success_{k}": f"hit@{k}" for k in (1, 5, 10)},
    "set_P": "precision", "set_recall": "recall",
}  # fmt: skip
RUN = {"q1": {"a": 0.9, "b": 0.8, "c": 0.7}, "q2": {"b": 0.5, "d": 0.4}}
QRELS = {"q1": {"b": 1, "c": 2}, "q2": {"d": 1, "b": 0}}
NAMES = ["mrr", "ndcg@10", "map", "bpref", "recall@2"]


def frame_of(table, number):
    rows = [(query, doc, x) for query, docs in table.items() for doc, x in docs.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", number])


def write_run(path, run):
    lines = (f"{q} Q0 {d} 1 {x!r} tag\n" for q, docs in run.items() for d, x in docs.items())
    path.write_text("".join(lines))
    return path


def write_qrels(path, qrels):
    lines = (f"{q} 0 {d} {x}\n" for q, docs in qrels.items() for d, x in docs.items())
    path.write_text("".join(lines))
    return path


# -- published values


@pytest.mark.parametrize(
    ("qrels", "run", "output", "level"),
    [
        ("qrels.test", "results.test", "out.test.aq", 1),
        ("qrels.rel_level", "results.test", "out.test.aql", 2),
        ("qrels.test", "results.trunc", "out.test.aqc", 1),
        ("qrels.test.with-comments", "results.test", "out.test.aq", 1),
    ],
)
def test_trec_evals_own_expected_output_is_met(real_data, tmp_path, qrels, run, output, level):
    folder = real_data("trec_eval_official_test")
    lines = (folder / run).read_text().splitlines()
    path = tmp_path / run  # some tags of results.trunc have words behind them, which are refused
    path.write_text("".join(" ".join(line.split()[:6]) + "\n" for line in lines))
    ours = score_table_of_rankings(
        path, folder / qrels, list(TREC_NAMES.values()), relevance_level=level
    ).scores
    seen = 0
    for line in (folder / output).read_text().splitlines():
        measure, query, value = line.split()
        if measure in TREC_NAMES:
            column = ours[TREC_NAMES[measure]]
            mine = column.mean() if query == "all" else column[query]
            assert mine == pytest.approx(float(value), abs=5.1e-5), (measure, query)
            seen += 1
    assert seen == 4 * len(TREC_NAMES)  # three topics, and all


MEANS = {  # pytrec_eval-terrier 0.5.11, 43 topics
    "BM25": (0.5058, 0.2993, 0.8245, 0.4531, 0.6186),
    "D_BERT_KD_TASB": (0.7210, 0.3953, 0.9510, 0.5158, 0.8093),
    "SPLADE_P_P_ENSEMBLE_DISTIL": (0.7308, 0.4382, 0.9729, 0.5549, 0.8093),
    "BM25+vicuna-13b-rerank": (0.4517, 0.2780, 0.6123, 0.4531, 0.5930),
}


@pytest.mark.parametrize("name", MEANS)
def test_the_means_of_real_runs_are_the_published_ones(real_data, name):
    folder = real_data("trec_dl19")
    ours = score_table_of_rankings(
        folder / f"run.{name}.dl19.txt",
        folder / "qrels.dl19-passage.txt",
        ["nDCG@10", "MAP", "MRR", "recall@100", "P@10"],
    )
    assert ours.scores.mean().tolist() == pytest.approx(MEANS[name], abs=5.1e-5)


@pytest.mark.parametrize("name", ["BM25", "D_BERT_KD_TASB", "SPLADE_P_P_ENSEMBLE_DISTIL"])
def test_real_runs_equal_pytrec_eval_to_the_last_bit(real_data, name):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    folder = real_data("trec_dl19")
    paths = folder / f"run.{name}.dl19.txt", folder / "qrels.dl19-passage.txt"
    with paths[0].open() as run, paths[1].open() as qrels:
        judged = pytrec_eval.parse_qrel(qrels)
        evaluator = pytrec_eval.RelevanceEvaluator(judged, {"map", "ndcg", "bpref", "recip_rank"})
        theirs = pd.DataFrame(evaluator.evaluate(pytrec_eval.parse_run(run))).T
    ours = score_table_of_rankings(*paths, ["map", "ndcg", "bpref", "recip_rank"]).scores
    pd.testing.assert_frame_equal(
        ours, theirs.loc[ours.index, ours.columns], check_exact=True, check_names=False,
        check_index_type=False,
    )  # fmt: skip


def test_beir_judgments_are_those_of_the_trec_form(real_data):
    folder = real_data("beir_nfcorpus_qrels")
    run = {"PLAIN-2": ["MED-10", "MED-1", "MED-2427"], "PLAIN-12": ["MED-2513"]}
    both = [
        score_table_of_rankings(run, path, ["map", "ndcg@10", "recall@5"])
        for path in (folder / "qrels" / "test.tsv",
                     folder / "qrels.beir-v1.0.0-nfcorpus.test.trec.txt")
    ]  # fmt: skip
    pd.testing.assert_frame_equal(both[0].scores.sort_index(), both[1].scores.sort_index())
    assert both[0].scores.loc["PLAIN-2", "map"] > 0


# -- forms of input


@pytest.mark.parametrize("form", ["frames", "files", "run file", "qrels file", "gzip", "mixed"])
def test_every_form_of_input_gives_the_same_scores(tmp_path, form):
    expected = score_table_of_rankings(RUN, QRELS, NAMES)
    run, qrels = write_run(tmp_path / "run", RUN), write_qrels(tmp_path / "qrels", QRELS)
    zipped = tmp_path / "run.gz"
    zipped.write_bytes(gzip.compress(run.read_bytes()))
    given_as = {
        "frames": (frame_of(RUN, "score"), frame_of(QRELS, "relevance")),
        "files": (run, str(qrels)),
        "run file": (run, QRELS),
        "qrels file": (RUN, qrels),
        "gzip": (zipped, qrels),
        "mixed": (frame_of(RUN, "score"), qrels),
    }
    ranked = score_table_of_rankings(*given_as[form], NAMES)
    pd.testing.assert_frame_equal(ranked.scores, expected.scores)
    pd.testing.assert_frame_equal(ranked.details, expected.details)
    assert ranked.notes == expected.notes


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), decimals=st.sampled_from([0, 1, 5]), ties=st.sampled_from(
    ["docid", "input"]))  # fmt: skip
def test_dicts_frames_and_shuffled_rows_agree(seed, decimals, ties):
    rng = np.random.default_rng(seed)
    words = [f"{'é' * int(rng.integers(0, 3))}{one:x}" for one in rng.permutation(60)]
    run, qrels = {}, {}
    for query in range(6):
        chosen = rng.permutation(words)[: int(rng.integers(1, 40))].tolist()
        run[f"q{query}"] = dict(zip(chosen, np.round(rng.random(40), decimals), strict=False))
        judged = rng.permutation(words)[: int(rng.integers(1, 20))].tolist()
        qrels[f"q{query + 1}"] = {doc: int(rng.integers(0, 3)) for doc in judged}
    by_dict = score_table_of_rankings(run, qrels, NAMES, ties=ties)
    frame = frame_of(run, "score")
    if ties == "docid":
        frame = frame.sample(frac=1, random_state=seed % 1000)
    by_frame = score_table_of_rankings(frame, frame_of(qrels, "label"), NAMES, ties=ties)
    pd.testing.assert_frame_equal(by_dict.scores, by_frame.scores)
    pd.testing.assert_frame_equal(by_dict.details, by_frame.details)


def test_lists_of_ids_are_taken_in_their_order():
    ranked = score_table_of_rankings({"q": ["x", "b", "a"]}, {"q": ["a", "b"]}, ["mrr", "map"])
    assert ranked.scores.loc["q"].tolist() == pytest.approx([1 / 2, (1 / 2 + 2 / 3) / 2])


@pytest.mark.parametrize("run", [{1: {7: 1.0}}, {"1": {"7": 1.0}}, {np.int64(1): [7]}])
@pytest.mark.parametrize("qrels", [{1: {7: 1}}, {"1": {"7": 1}}, {1: ["7"]}])
def test_whole_numbers_as_ids_are_texts_on_both_sides(run, qrels):
    ranked = score_table_of_rankings(run, qrels, "mrr")
    assert ranked.scores["mrr"].to_dict() == {"1": 1.0}


def test_numbers_as_ids_of_frames_are_texts_on_both_sides():
    run = pd.DataFrame({"qid": [1, 1], "docno": [7, 8], "score": [0.5, 0.9]})
    ranked = score_table_of_rankings(run, {"1": {"7": 1}}, "mrr")
    assert ranked.scores["mrr"].to_dict() == {"1": 0.5}


def test_ids_that_only_look_alike_stay_different():
    ranked = score_table_of_rankings({"1": ["01"], "2": ["1.0"]}, {"1": ["1"], "2": ["1.0"]}, "hit")
    assert ranked.scores["hit"].tolist() == [0, 1]


def test_a_run_longer_than_one_chunk_keeps_its_lines(tmp_path, monkeypatch):
    monkeypatch.setattr("rageval_report.metrics.trec_files._CHUNK", 64)
    run, qrels = write_run(tmp_path / "run", RUN), write_qrels(tmp_path / "qrels", QRELS)
    ranked = score_table_of_rankings(run, qrels, NAMES)
    pd.testing.assert_frame_equal(ranked.scores, score_table_of_rankings(RUN, QRELS, NAMES).scores)
    run.write_text(run.read_text() + "\n# end\nq1 Q0 z 9 much tag\n")
    with pytest.raises(ReaderError, match="line 8: the score must be a number; found 'much'"):
        score_table_of_rankings(run, qrels, NAMES)


# -- ties


def test_of_equal_scores_the_later_id_goes_first():
    run = {"q": {"d1": 0.5, "d3": 0.5, "d2": 0.5, "d0": 0.9}}
    assert hits_in_order(run, ["d3", "d2", "d1"], "docid") == [1, 2, 3]


def test_on_request_equal_scores_stand_as_given():
    run = {"q": {"d1": 0.5, "d3": 0.5, "d2": 0.5, "d0": 0.9}}
    assert hits_in_order(run, ["d1", "d3", "d2"], "input") == [1, 2, 3]


def hits_in_order(run, docs, ties):
    ranked = (score_table_of_rankings(run, {"q": [doc]}, "mrr", ties=ties) for doc in docs)
    return [int(one.hits.rank[0]) for one in ranked]


def test_ids_are_compared_by_code_point():
    # a private-use character of two UTF-16 units still comes after one of a single unit
    run = {"q": {"z": 1, "é": 1, "\uffee": 1, "\U0001f600": 1}}
    assert hits_in_order(run, ["\U0001f600", "\uffee", "é", "z"], "docid") == [0, 1, 2, 3]


def test_scores_differ_in_double_precision():
    ranked = score_table_of_rankings({"q": {"a": 16777217, "b": 16777216}}, {"q": ["a"]}, "mrr")
    assert ranked.scores["mrr"].tolist() == [1.0]
    assert ranked.details["tied_share"].tolist() == [0.0]


@pytest.mark.parametrize("as_frame", [False, True])
def test_ties_can_be_refused(as_frame):
    run = {"q1": {"a": 0.5, "b": 0.5}, "q2": {"a": 1.0}}
    given_run = frame_of(run, "score") if as_frame else run
    with pytest.raises(DataError, match="equal scores in 1 queries: 'q1'"):
        score_table_of_rankings(given_run, {"q1": ["a"], "q2": ["a"]}, "mrr", ties="error")


def test_the_share_of_tied_documents_is_told():
    run = {"q1": {"a": 0.5, "b": 0.5, "c": 0.1, "d": 0.0}, "q2": {"a": 1.0}}
    ranked = score_table_of_rankings(run, {"q1": ["c"], "q2": ["a"]}, "mrr")
    assert ranked.details["tied_share"].tolist() == [0.5, 0.0]
    assert "1 of 2 queries has documents of equal score" in ranked.notes[0]


def test_neighbouring_queries_of_equal_scores_are_not_tied():
    ranked = score_table_of_rankings({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": "a".split(),
                                     "q2": ["b"]}, "mrr", ties="error")  # fmt: skip
    assert ranked.notes == ()


# -- coverage


def test_a_judged_query_that_is_missing_scores_zero_and_is_counted():
    ranked = score_table_of_rankings({"q1": ["a"]}, {"q1": ["a"], "q2": ["b"]}, NAMES)
    assert ranked.scores.loc["q2"].tolist() == [0] * len(NAMES)
    assert ranked.details.loc["q2", "n_retrieved"] == 0
    assert ranked.notes == ("1 of 2 judged queries is missing from the run and scores 0: 'q2'",)


def test_an_unjudged_query_is_ignored_and_listed():
    ranked = score_table_of_rankings({"q1": ["a"], "q9": ["a"]}, {"q1": ["a"]}, "mrr")
    assert ranked.scores.index.tolist() == ["q1"]
    assert ranked.notes == ("1 query of the run is not judged and is ignored: 'q9'",)


@pytest.mark.parametrize("as_frame", [False, True])
def test_no_query_in_common_is_an_error_that_shows_both_sides(as_frame):
    run, qrels = {"q1": {"a": 1.0}}, {"1": {"a": 1}}
    if as_frame:
        run = frame_of(run, "score")
    with pytest.raises(AlignmentError, match="the run's: 'q1'; judged: '1'"):
        score_table_of_rankings(run, qrels, "mrr")


def test_no_judgments_are_an_error():
    with pytest.raises(DataError, match="there are no judgments"):
        score_table_of_rankings({"q1": ["a"]}, {}, "mrr")


def test_a_query_without_relevant_documents_scores_zero_or_nothing():
    run, qrels = {"q1": ["a"], "q2": ["a"]}, {"q1": {"a": 0}, "q2": {"a": 1}}
    zero = score_table_of_rankings(run, qrels, "mrr")
    skip = score_table_of_rankings(run, qrels, "mrr", no_relevant="skip")
    assert zero.scores["mrr"].tolist() == [0.0, 1.0]
    np.testing.assert_array_equal(skip.scores["mrr"], [np.nan, 1.0])
    assert zero.notes == ("1 of 2 queries has no relevant document and scores 0: 'q1'",)
    assert skip.notes == ("1 of 2 queries has no relevant document and scores nothing: 'q1'",)


def test_the_details_count_relevant_retrieved_and_judged():
    details = score_table_of_rankings(RUN, QRELS, ["recall@1", "ndcg@2", "map"]).details
    assert list(details) == [
        *("n_relevant", "n_retrieved", "tied_share"), "n_judged@1", "n_judged@2", "n_judged",
    ]  # fmt: skip
    assert details.loc["q1"].tolist() == [2, 3, 0, 0, 1, 2]
    assert details.loc["q2"].tolist() == [1, 2, 0, 1, 2, 2]


# -- names of metrics


@pytest.mark.parametrize(
    ("name", "function", "k"),
    [
        ("nDCG@10", "ndcg", 10), ("ndcg_cut_10", "ndcg", 10), ("P_5", "precision", 5),
        ("precision@5", "precision", 5), ("mrr", "reciprocal_rank", None), ("hit@1", "hit", 1),
        ("success_1", "hit", 1), ("hit_rate@1", "hit", 1), ("ndcg_exp@10", "ndcg_exp", 10),
        ("recip_rank", "reciprocal_rank", None), ("map@100", "average_precision", 100),
        ("MRR@10", "reciprocal_rank", 10), ("Rprec", "r_precision", None),
    ],
)  # fmt: skip
def test_the_fields_names_are_understood(name, function, k):
    compute, cutoff = metric_of(name)
    assert (compute.__name__, cutoff) == (function, k)


def test_columns_are_named_as_asked():
    assert list(score_table_of_rankings(RUN, QRELS, ["nDCG@10", "P_1"]).scores) == [
        "nDCG@10",
        "P_1",
    ]


def test_an_unknown_metric_gets_the_nearest():
    with pytest.raises(UnknownNameError, match=r"named 'recal@5'. Did you mean 'recall'"):
        score_table_of_rankings(RUN, QRELS, "recal@5")


def test_a_metric_that_rankings_do_not_give_is_refused():
    with pytest.raises(UnknownNameError, match="no metric of rankings is named 'faithfulness'"):
        score_table_of_rankings(RUN, QRELS, "faithfulness")


def test_a_metric_from_outside_is_computed(monkeypatch):
    counted = Metric("n_found", needs="rankings", compute=lambda hits, k: hits.n_retrieved * 1.0)
    monkeypatch.setitem(METRICS._entries, "n_found", counted)
    assert score_table_of_rankings(RUN, QRELS, "n_found").scores["n_found"].tolist() == [3.0, 2.0]


@pytest.mark.parametrize(
    ("metrics", "options", "told"),
    [
        ([], {}, "expected at least one metric"),
        ("recall@0", {}, "a cutoff must be a whole number from 1 up"),
        ("mrr", {"ties": "random"}, "no rule for ties is named 'random'"),
        ("mrr", {"no_relevant": "one"}, "Known: skip, zero"),
        ("mrr", {"relevance_level": 0}, "relevance_level must be a number above 0"),
        ("mrr", {"relevance_level": "2"}, "relevance_level must be a number above 0"),
    ],
)
def test_arguments_are_checked(metrics, options, told):
    with pytest.raises((DataError, UnknownNameError), match=told):
        score_table_of_rankings(RUN, QRELS, metrics, **options)


# -- bad input


@pytest.mark.parametrize(
    ("run", "qrels", "told"),
    [
        ({"q": {"a": float("nan")}}, {"q": ["a"]}, "score of document 'a' for query 'q'.*got nan"),
        ({"q": {"a": None}}, {"q": ["a"]}, "score of document 'a' .* got None"),
        ({"q": {"a": "high"}}, {"q": ["a"]}, "got 'high'"),
        ({"q": {"a": 1}}, {"q": {"a": "yes"}}, "the grade of document 'a' .* got 'yes'"),
        ({"q": {"a": 1}}, {"q": {"a": float("inf")}}, "the grade of document 'a' .* got inf"),
        ({"q": ["a", "b", "a"]}, {"q": ["a"]}, "documents of query 'q' twice: 'a'"),
        ({"q": "abc"}, {"q": ["a"]}, "must give each query its documents.*got 'abc'"),
        ({"q": 3}, {"q": ["a"]}, "got 3 for query 'q'"),
        ({1.5: ["a"]}, {"q": ["a"]}, "must be texts or whole numbers; got 1.5"),
        ({"q": {1: 0.5, "1": 0.4}}, {"q": ["1"]}, "read alike, as 1 and '1'"),
        ({"q": {"a": 1, 2: 1}}, {"q": ["a"]}, "document ids must all be texts"),
        ([1, 2], {"q": ["a"]}, "must be a mapping, a DataFrame or the path of a file"),
    ],
)
def test_dicts_that_make_no_sense_are_refused(run, qrels, told):
    with pytest.raises(DataError, match=told):
        score_table_of_rankings(run, qrels, "mrr")


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"query_id": ["q"], "score": [1.0]}, "needs a column 'doc_id' .*columns: 'query_id'"),
        ({"query_id": ["q"], "doc_id": [None], "score": [1.0]}, "row 0, counted from 0, has none"),
        ({"query_id": ["q"], "doc_id": [1.5], "score": [1.0]}, "it holds floating values, as 1.5"),
        ({"query_id": ["q"], "doc_id": ["a"], "score": ["x"]}, "score must be a number; got 'x'"),
        (
            {"query_id": ["q"] * 2, "doc_id": ["a"] * 2, "score": [1, 2]},
            r"row 1 .*'q', document 'a'\): stands twice, first in row 0",
        ),
    ],
)
def test_frames_that_make_no_sense_are_refused(columns, told):
    with pytest.raises(DataError, match=told):
        score_table_of_rankings(pd.DataFrame(columns), {"q": {"a": 1}}, "mrr")


GOOD_RUN = b"q1 Q0 a 1 0.9 t\nq1 Q0 b 2 0.8 t\n"
GOOD_QRELS = b"q1 0 a 1\nq1 0 b 0\n"


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (b"", "expected a TREC run"),
        (b"# only this\n\n", "there is no line"),
        (GOOD_RUN + b"q1 Q0 c 3 0.7\n", "line 3: expected 6 columns, .*; found 5, in 'q1 Q0 c 3"),
        (GOOD_RUN + b"q1 Q0 c 3 0.7 a tag\n", "line 3: expected 6 columns, .*; found 7"),
        (GOOD_RUN + b"q1 Q0 c 3 nan t\n", "line 3: the score must be a number; found 'nan'"),
        (GOOD_RUN + b"q1 Q0 c 3 high t\n", "line 3: the score must be a number; found 'high'"),
        (GOOD_RUN + b"q1 Q0 c 3 1_0 t\n", "line 3: the score must be a number; found '1_0'"),
        (GOOD_RUN + b"q1 Q0 c 3 0,7 t\n", "line 3: the score must be a number; found '0,7'"),
        (GOOD_RUN + b"\nq1 Q0 a 3 0.1 t\n", "line 4: .*document 'a': stands twice, .*line 1"),
        (GOOD_RUN + b"q1 Q0 \xff 3 0.7 t\n", "line 3: expected UTF-8"),
        (GOOD_RUN + b"q1 Q0 a\x00 3 0.7 t\n", "line 3: expected text; found the byte"),
        (GOOD_RUN.decode().encode("utf-16"), "this is UTF-16"),
        (gzip.compress(GOOD_RUN)[:-9], "the gzip file is damaged"),
        (GOOD_QRELS, "line 1: expected 6 columns, .*; found 4"),
        (b"x" * 5000 + b" Q0 a 1 1 t\n", "line 1: a word of 5000 bytes"),
    ],
)
def test_a_run_that_cannot_be_read_is_told_by_file_and_line(tmp_path, run, told):
    path = tmp_path / "bad.run"
    path.write_bytes(run)
    with pytest.raises(ReaderError, match=rf"bad\.run.*{told}"):
        score_table_of_rankings(path, {"q1": {"a": 1}}, "mrr")


@pytest.mark.parametrize(
    ("qrels", "told"),
    [
        (b"", "expected TREC qrels"),
        (GOOD_QRELS + b"q1 0 c yes\n", "line 3: the relevance must be a number; found 'yes'"),
        (GOOD_QRELS + b"q1 0 c inf\n", "line 3: the relevance must be a number; found 'inf'"),
        (GOOD_QRELS + b"q1 0 c\n", "line 3: expected 4 columns"),
        (GOOD_QRELS + b"q1 0 a 1\n", "line 3: .*document 'a': stands twice, first in line 1"),
        (GOOD_RUN, "line 1: expected 4 columns, .*; found 6"),
        (b"query-id\tcorpus-id\tscore\nq1\ta\tx\n", "line 2: the relevance must be a number"),
        (b"query-id\tcorpus-id\tscore\nq1\ta\n", "line 2: expected 3 columns"),
    ],
)
def test_judgments_that_cannot_be_read_are_told_by_file_and_line(tmp_path, qrels, told):
    path = tmp_path / "bad.qrels"
    path.write_bytes(qrels)
    with pytest.raises(ReaderError, match=rf"bad\.qrels.*{told}"):
        score_table_of_rankings({"q1": {"a": 1}}, path, "mrr")


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ReaderError, match="there is no such file"):
        score_table_of_rankings(tmp_path / "none.run", {"q1": {"a": 1}}, "mrr")
    with pytest.raises(ReaderError, match="the file cannot be read: Is a directory"):
        score_table_of_rankings(tmp_path, {"q1": {"a": 1}}, "mrr")


@pytest.mark.parametrize(
    "run",
    [
        b"\xef\xbb\xbf" + GOOD_RUN,
        GOOD_RUN.replace(b"\n", b"\r\n"),
        GOOD_RUN.removesuffix(b"\n"),
        b"\n# comment\n  \n" + GOOD_RUN.replace(b" ", b"\t  "),
        GOOD_RUN.replace(b"0.9", b"+9e-1"),
        GOOD_RUN.replace(b"0.9", b"inf"),
    ],
)
def test_what_only_looks_odd_is_read(tmp_path, run):
    path = tmp_path / "odd.run"
    path.write_bytes(run)
    ranked = score_table_of_rankings(path, {"q1": {"a": 1}}, ["mrr", "P@2"])
    assert ranked.scores.loc["q1"].tolist() == [1.0, 0.5]
    assert ranked.details.loc["q1", "n_retrieved"] == 2


def test_a_non_breaking_space_is_part_of_an_id(tmp_path):
    path = tmp_path / "odd.run"
    path.write_text("q1 Q0 a\u00a0b 1 0.9 t\n", encoding="utf-8")
    assert score_table_of_rankings(path, {"q1": {"a\u00a0b": 1}}, "mrr").scores["mrr"].item() == 1.0


def test_a_hash_within_a_line_is_no_comment(tmp_path):
    path = tmp_path / "hash.run"
    path.write_text("# told\nq1 Q0 a#1 1 0.9 #t\n")
    assert score_table_of_rankings(path, {"q1": {"a#1": 1}}, "mrr").scores["mrr"].item() == 1.0


def test_beir_judgments_need_no_header(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("q1\ta b\t2\nq1\tc\t0\n")
    ranked = score_table_of_rankings({"q1": ["c", "a b"]}, path, "mrr")
    assert ranked.scores["mrr"].tolist() == [0.5]


def test_ids_of_one_hash_are_still_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr("rageval_report.metrics._from_rows._MIX", np.uint64(0))  # all hash to 0
    run, qrels = write_run(tmp_path / "run", RUN), write_qrels(tmp_path / "qrels", QRELS)
    ranked = score_table_of_rankings(run, qrels, NAMES)
    pd.testing.assert_frame_equal(ranked.scores, score_table_of_rankings(RUN, QRELS, NAMES).scores)

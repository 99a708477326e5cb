"""Runs and judgments as dicts, frames and files give one result.

Witnesses: each list sorted by Python, score by score and id by id; Python's `float`;
pytrec_eval-terrier 0.5.11.
"""

import os
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.files.source import Source
from rageval_report.metrics.ranking_scores import join_inputs, score_table_of_rankings
from rageval_report.metrics.trec_files import read_trec_run

NAMES = ["mrr", "ndcg@10", "map", "bpref", "recall@2"]
EIGHT = "12345678"
# Ids that begin alike, around one and two words of eight bytes, and other letters.
DOCS = [f"d{n}" for n in range(30)] + ["a", "A", "é", "z\U0001f600", "z\uffff", EIGHT, EIGHT + "9",
        EIGHT + "é", 5 * EIGHT, 5 * EIGHT + "x"]  # fmt: skip
SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, 2.5, float("inf"), float("-inf")])
TABLES = st.dictionaries(
    st.sampled_from(["q1", "q2", "q33333333"]),
    st.dictionaries(st.sampled_from(DOCS), SCORES, min_size=1, max_size=40),
    min_size=1,
)


def frame_of(table, number):
    rows = [(query, doc, x) for query, docs in table.items() for doc, x in docs.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", number])


def files_of(folder, run, qrels):
    lines = (
        "".join(f"{q} Q0 {d} 1 {x!r} t\n" for q, docs in run.items() for d, x in docs.items()),
        "".join(f"{q} 0 {d} {x}\n" for q, docs in qrels.items() for d, x in docs.items()),
    )
    return write(folder, *lines)


def write(folder, run, qrels):
    paths = folder / "a.run", folder / "a.qrels"
    for path, text in zip(paths, (run, qrels), strict=True):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return paths


def assert_same(ranked, expected):
    pd.testing.assert_frame_equal(ranked.scores, expected.scores, check_exact=True)
    pd.testing.assert_frame_equal(ranked.details, expected.details, check_exact=True)
    assert ranked.notes == expected.notes


def drawn(seed, n_scores):
    """Lists of very different lengths, many ties, queries of either side alone."""
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for query in rng.permutation(9).tolist():
        docs = rng.permutation([*DOCS, *map(str, range(40 * (query % 3)))]).tolist()
        scores = (rng.integers(0, n_scores, len(docs)) / 4).tolist()
        run[f"q{query}"] = dict(zip(docs, scores, strict=True))
        judged = rng.permutation(docs)[: 1 + 3 * query].tolist()
        qrels[f"q{(query + 1) % 11}"] = {doc: n % 3 for n, doc in enumerate(judged, 1)}
    return run, qrels


# -- one result for every form


@settings(max_examples=50)
@given(run=TABLES, share=st.integers(1, 9), by_id=st.booleans())
def test_ranks_are_those_of_sorted_lists(tmp_path_factory, run, share, by_id):
    qrels = {query: {doc: n for n, doc in enumerate(DOCS) if n % share == 0}
             for query in (*run, "q9")}  # fmt: skip
    expected = []
    for code, (query, judged) in enumerate(qrels.items()):
        ranking = sorted(run.get(query, {}).items(), reverse=True) if by_id else list(
            run.get(query, {}).items())  # fmt: skip
        ranking.sort(key=lambda row: -row[1])  # stable
        expected += [(code, rank, judged[doc]) for rank, (doc, _) in enumerate(ranking)
                     if doc in judged]  # fmt: skip
    folder = tmp_path_factory.mktemp("files")
    frames = frame_of(run, "score"), frame_of(qrels, "relevance")
    for pair in ((run, qrels), frames, files_of(folder, run, qrels)):
        hits = join_inputs(*pair, ties="docid" if by_id else "input", relevance_level=1).hits
        found = zip(hits.query.tolist(), hits.rank.tolist(), hits.grade.tolist(), strict=True)
        assert list(found) == expected


@pytest.mark.parametrize("ties", ["docid", "input"])
@pytest.mark.parametrize("n_scores", [1, 4, 40])
def test_dicts_frames_and_files_score_alike_and_in_any_order(tmp_path, n_scores, ties):
    run, qrels = drawn(n_scores, n_scores)
    expected = score_table_of_rankings(run, qrels, NAMES, ties=ties)
    frames = frame_of(run, "score"), frame_of(qrels, "relevance")
    paths = files_of(tmp_path, run, qrels)
    for pair in (frames, paths, (frames[0], paths[1]), (paths[0], qrels)):
        assert_same(score_table_of_rankings(*pair, NAMES, ties=ties), expected)
    if ties == "docid":
        shuffled = [frame.sample(frac=1, random_state=0) for frame in frames]
        rng = np.random.default_rng(0)
        lines = ["".join(rng.permutation(path.read_text().splitlines(keepends=True)))
                 for path in paths]  # fmt: skip
        for pair in (shuffled, write(tmp_path, *lines)):
            mixed = score_table_of_rankings(*pair, NAMES)
            pd.testing.assert_frame_equal(
                mixed.scores.sort_index(), expected.scores.sort_index(), check_exact=True
            )


@pytest.mark.parametrize("n_scores", [1, 4, 40])
def test_ties_at_cutoffs_equal_pytrec_eval_to_the_last_bit(tmp_path, n_scores):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = drawn(n_scores, n_scores)
    qrels = {query: {**docs, next(iter(docs)): 1} for query, docs in qrels.items() if query in run}
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {"P.1,5,10", "recall.5", "ndcg_cut.10", "map", "bpref", "recip_rank"}
    ).evaluate(run)
    names = ["P_1", "P_5", "P_10", "recall_5", "ndcg_cut_10", "map", "bpref", "recip_rank"]
    for pair in ((run, qrels), files_of(tmp_path, run, qrels)):
        ours = score_table_of_rankings(*pair, names).scores
        assert {query: ours.loc[query].to_dict() for query in theirs} == theirs


@pytest.mark.parametrize("storage", ["category", "str", "string[pyarrow]"])
def test_ids_of_a_frame_may_be_stored_in_any_way(storage):
    if "pyarrow" in storage:
        pytest.importorskip("pyarrow")
    run, qrels = drawn(1, 3)
    frames = [frame_of(table, name).astype({"query_id": storage, "doc_id": storage})
              for table, name in ((run, "score"), (qrels, "relevance"))]  # fmt: skip
    expected = score_table_of_rankings(run, qrels, NAMES)
    assert_same(score_table_of_rankings(*frames, NAMES), expected)


def test_zeros_of_both_signs_and_infinities_are_tied(tmp_path):
    run = "q Q0 a 1 0.0 t\nq Q0 b 1 -0.0 t\nq Q0 c 1 inf t\nq Q0 d 1 1e999 t\n"
    paths = write(tmp_path, run, "q 0 a 1\nq 0 b 1\nq 0 c 1\nq 0 d 1\n")
    ranked = score_table_of_rankings(*paths, "P@1")
    assert ranked.details["tied_share"].tolist() == [1.0]
    assert ranked.notes[0].startswith("1 of 1 queries has documents of equal score")
    with pytest.raises(DataError, match="equal scores in 1 queries: 'q'"):
        score_table_of_rankings(*paths, "P@1", ties="error")


# -- numbers of files


WORDS = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(0, 1, width=32).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"\A-?[0-9]{0,12}\.?[0-9]{1,22}\Z"),
    st.sampled_from(["5.", ".5", "-.5", "-0.0", "+1", "1e5", "-1E-5", "inf", "-Infinity", "00.10",
                     "9007199254740993", "900719925474099.3", "0.1" + "0" * 40, "1" * 40]),
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(WORDS, min_size=1, max_size=30))
def test_numbers_are_read_as_python_reads_them(words):
    text = "".join(f"q Q0 {n} 1 {word} t\n" for n, word in enumerate(words))
    read = read_trec_run(Source(text.encode()))["q"].values()
    assert list(map(repr, read)) == [repr(float(word)) for word in words]


# -- files


RUN, QRELS = "q1 Q0 a 1 0.9 t\nq1 Q0 b 2 0.8 t\n", "q1 0 a 1\nq1 0 b 0\n"


def test_a_pipe_is_read_to_its_end(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(RUN,))
    writer.start()
    ranked = score_table_of_rankings(path, {"q1": {"b": 1}}, "mrr")
    writer.join()
    assert ranked.scores["mrr"].tolist() == [0.5]


# -- what is left out on request


ROWS = st.lists(
    st.tuples(st.sampled_from(["q1", "q2"]), st.sampled_from(["a", "b", "c", "q1", "q2"]),
              st.sampled_from([0.0, 0.5, 1.0])),
    min_size=1,
    max_size=14,
)  # fmt: skip
JUDGED = {"q1": {"a": 1, "b": 2, "q1": 1}, "q2": {"a": 1, "c": 0, "q2": 3}}


def joined_by_loop(rows, ties, drop_self, duplicates):
    """Ranks, grades and counts, row by row: the best place of a document counts."""
    by_query, n_retrieved, n_self, n_repeats = {}, [], 0, 0
    for query, judged in JUDGED.items():
        ranking = [(doc, score) for name, doc, score in rows if name == query]
        ranking.sort(key=lambda row: -row[1])  # stable
        firsts = {doc: place for place, (doc, _) in reversed([*enumerate(ranking)])}
        kept = [(row, firsts[row[0]] != place) for place, row in enumerate(ranking)]
        if duplicates == "best":
            n_repeats += sum(repeats for _, repeats in kept)
            kept = [row for row in kept if not row[1]]
        own = [row for row in kept if drop_self and row[0][0] == query]
        n_self += len(own) if duplicates == "best" else 0
        kept = [row for row in kept if row not in own]
        if ties == "docid":  # of equal scores the later id goes first, a repeat after it
            kept.sort(key=lambda row: row[1])
            kept.sort(key=lambda row: row[0][0], reverse=True)
            kept.sort(key=lambda row: -row[0][1])
        if duplicates == "keep":
            n_repeats += sum(repeats for _, repeats in kept)
        by_query[query] = [
            (place, judged[doc])
            for place, ((doc, _), repeats) in enumerate(kept)
            if doc in judged and not repeats
        ]
        n_retrieved.append(len(kept))
    return by_query, n_retrieved, n_self, n_repeats


@given(ROWS, st.sampled_from(["docid", "input"]), st.booleans(), st.sampled_from(["best", "keep"]))
@settings(max_examples=50, deadline=None)
def test_repeats_and_the_query_itself_are_left_out_as_a_loop_does(rows, ties, drop_self, rule):
    drop_self = drop_self and rule == "best"
    by_query, n_retrieved, n_self, n_repeats = joined_by_loop(rows, ties, drop_self, rule)
    assume(any(n_retrieved))  # something must be left
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    options = {"ties": ties, "relevance_level": 1, "drop_self": drop_self, "duplicates": rule}
    found = join_inputs(frame, JUDGED, **options)
    hits = found.hits
    ranks = {query: [] for query in JUDGED}
    for code, rank, grade in zip(hits.query, hits.rank, hits.grade, strict=True):
        ranks[found.query_ids[code]].append((rank, grade))
    assert ranks == by_query
    assert hits.n_retrieved.tolist() == n_retrieved
    assert (found.n_self, found.n_repeats) == (n_self, n_repeats)


@pytest.mark.parametrize(
    ("rule", "ranks", "n"), [("keep", [(1, 1), (4, 2)], 5), ("best", [(1, 1), (2, 2)], 3)]
)
def test_repeats_of_lists_and_of_files_count_once(tmp_path, rule, ranks, n):
    path = tmp_path / "run"
    path.write_text("".join(f"q1 Q0 {doc} 1 {9 - n} t\n" for n, doc in enumerate("xaxab")))
    for run in (path, {"q1": list("xaxab")}):
        found = join_inputs(run, JUDGED, ties="docid", relevance_level=1, duplicates=rule)
        hits = found.hits
        assert list(zip(hits.rank.tolist(), hits.grade.tolist(), strict=True)) == ranks
        assert (hits.n_retrieved.tolist(), found.n_repeats) == ([n, 0], 2)


def test_equal_scores_are_counted_as_they_were_before_repeats_got_other_names():
    rows = [("q1", "a", 1.0), ("q1", "a", 1.0), ("q1", "b", 0.5), ("q2", "c", 1.0), ("q2", "a", 0)]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    found = join_inputs(frame, JUDGED, ties="docid", relevance_level=1, duplicates="keep")
    assert found.n_tied.tolist() == [2, 0]
    with pytest.raises(DataError, match="equal scores in 1 queries: 'q1'"):
        join_inputs(frame, JUDGED, ties="error", relevance_level=1, duplicates="keep")


def test_a_run_is_not_changed_by_leaving_the_query_out():
    run = {"q1": {"q1": 1.0, "a": 0.5}, "q2": {"q2": 1.0}}
    ranked = score_table_of_rankings(run, JUDGED, "mrr", drop_self=True)
    assert ranked.scores["mrr"].tolist() == [1.0, 0.0]
    assert run == {"q1": {"q1": 1.0, "a": 0.5}, "q2": {"q2": 1.0}}
    assert ranked.notes[0].startswith("drop_self: 2 retrieved documents have their query's id")
    # Nothing is left of q2, so it is missing, as it is from a frame.
    assert ranked.notes[1].startswith("1 of 2 judged queries is missing")

"""TREC files on their own way from bytes to ranks, by NumPy and by numba.

Witnesses: pytrec_eval-terrier 0.5.11, Python's `float`, and the way over dicts and frames.
"""

import gzip
import os
import re
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import AlignmentError, DataError, ReaderError
from rageval_report.rankings import score_tables as rankings
from rageval_report.rankings.trec import bytes as trec_bytes
from rageval_report.rankings.trec import kernels
from rageval_report.rankings.trec.bytes import read_text
from rageval_report.rankings.trec.files import (
    _RUN,
    join_files,
    read_trec_qrels,
    read_trec_run,
)
from rageval_report.rankings.trec.kernels import compiled_scan
from rageval_report.rankings.trec.numbers import parse_decimals
from rageval_report.rankings.trec.rank_kernel import compiled_rank
from rageval_report.rankings.trec.text_rows import TextRows, columns_of_chunk, hashes, read_columns

NAMES = ["mrr", "ndcg@10", "map", "bpref", "recall@2"]
WAYS = ["numpy", "numba"]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    choose(request.param, monkeypatch)
    return request.param


def choose(way, monkeypatch):
    if way == "numba":
        pytest.importorskip("numba")
        monkeypatch.setattr(kernels, "WORTH_LOADING", 0)
    else:
        scan_for = "rageval_report.rankings.trec.text_rows.scan_for"
        monkeypatch.setattr(scan_for, lambda n_bytes: None)


def score(tmp_path, run, qrels, metrics=NAMES, **options):
    paths = tmp_path / "a.run", tmp_path / "a.qrels"
    for path, text in zip(paths, (run, qrels), strict=True):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return rankings.score_table_of_rankings(*paths, metrics, **options)


def lines_of(run, qrels):
    return (
        "".join(f"{q} Q0 {d} 1 {x!r} t\n" for q, docs in run.items() for d, x in docs.items()),
        "".join(f"{q} 0 {d} {x}\n" for q, docs in qrels.items() for d, x in docs.items()),
    )


def drawn(seed, decimals=1, n_queries=6):
    rng = np.random.default_rng(seed)
    words = [f"{'é' * int(rng.integers(0, 9))}{one:x}" for one in rng.permutation(60)]
    run, qrels = {}, {}
    for query in rng.permutation(n_queries).tolist():
        n = int(rng.integers(1, 40))
        scores = np.round(rng.normal(size=n), decimals).tolist()
        run[f"q{query}"] = dict(zip(rng.permutation(words).tolist(), scores, strict=False))
        judged = rng.permutation(words)[: int(rng.integers(1, 20))].tolist()
        qrels[f"q{(query + 1) % 9}"] = {doc: int(rng.integers(0, 3)) for doc in judged}
    return run, qrels


# -- the same as by other ways


@pytest.mark.parametrize("ties", ["docid", "input"])
@pytest.mark.parametrize("seed", range(12))
def test_files_give_what_dicts_give(tmp_path, way, seed, ties):
    run, qrels = drawn(seed, decimals=seed % 3)
    expected = rankings.score_table_of_rankings(run, qrels, NAMES, ties=ties)
    ranked = score(tmp_path, *lines_of(run, qrels), ties=ties)
    pd.testing.assert_frame_equal(ranked.scores, expected.scores, check_exact=True)
    pd.testing.assert_frame_equal(ranked.details, expected.details, check_exact=True)
    assert ranked.notes == expected.notes


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_lines_does_not_matter(tmp_path, way, seed):
    run, qrels = drawn(seed)
    rng = np.random.default_rng(seed)
    texts = lines_of(run, qrels)
    shuffled = ["".join(rng.permutation(text.splitlines(keepends=True))) for text in texts]
    in_order, mixed = score(tmp_path, *texts), score(tmp_path, *shuffled)
    pd.testing.assert_frame_equal(in_order.scores.sort_index(), mixed.scores.sort_index())
    pd.testing.assert_frame_equal(in_order.details.sort_index(), mixed.details.sort_index())


def test_lines_in_order_of_score_and_ties_equal_pytrec_eval_to_the_last_bit(tmp_path, way):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = drawn(3)
    run = {q: dict(sorted(docs.items(), key=lambda one: -one[1])) for q, docs in run.items()}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "bpref"}).evaluate(run)
    ours = score(tmp_path, *lines_of(run, qrels), ["map", "bpref"]).scores
    assert {q: ours.loc[q].to_dict() for q in theirs} == theirs


# Ids of around one and two words of eight bytes, ids that begin with others, and other letters.
IDS = [*("x" * n for n in range(6, 19)), *("x" * n + "y" for n in (7, 8, 15, 16)), "é", "éa",
       "é" * 4, "é" * 8, *(f"d{n:06}" for n in range(9)), *(f"d{n:07}" for n in range(9)),
       "d~", "d\uffee", "d\U0001f600"]  # fmt: skip


@pytest.mark.parametrize("part", [60, 2000, 1 << 20])
@pytest.mark.parametrize("n_scores", [1, 4, 12])
def test_ties_at_cutoffs_equal_pytrec_eval_to_the_last_bit(
    tmp_path, way, monkeypatch, part, n_scores
):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    monkeypatch.setattr("rageval_report.rankings.trec.files._WIDTH", part)
    monkeypatch.setattr("rageval_report.rankings.from_dicts._PART", 1 + part % 7)
    rng = np.random.default_rng(n_scores)
    run, qrels = {}, {}
    for query in range(12):
        # Groups of up to 90 documents; from 64 on ids are sorted, not compared pair by pair.
        docs = rng.permutation([*IDS, *map(str, range(50 * (query % 2)))]).tolist()
        scores = (rng.integers(0, n_scores, len(docs)) / 4).tolist()
        run[f"q{query}"] = dict(zip(docs, scores, strict=True))
        judged = rng.permutation(docs)[: 1 + 3 * query].tolist()
        qrels[f"q{query}"] = {doc: int(n == 0) + n % 3 for n, doc in enumerate(judged)}
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {"P.1,5,10", "recall.5", "ndcg_cut.10", "map", "bpref", "recip_rank"}
    ).evaluate(run)
    names = ["P_1", "P_5", "P_10", "recall_5", "ndcg_cut_10", "map", "bpref", "recip_rank"]
    frames = [
        pd.DataFrame(
            [(query, doc, number) for query, docs in table.items() for doc, number in docs.items()],
            columns=["query_id", "doc_id", column],
        )
        for table, column in ((run, "score"), (qrels, "relevance"))
    ]
    for ours in (
        score(tmp_path, *lines_of(run, qrels), names),
        rankings.score_table_of_rankings(run, qrels, names),
        rankings.score_table_of_rankings(*frames, names),
    ):
        assert {q: ours.scores.loc[q].to_dict() for q in theirs} == theirs


@pytest.mark.parametrize("part", [1, 7, 64])
def test_small_parts_change_nothing(tmp_path, way, monkeypatch, part):
    texts = lines_of(*drawn(5))
    whole = score(tmp_path, *texts)
    monkeypatch.setattr(trec_bytes, "_CHUNK", part)
    monkeypatch.setattr("rageval_report.rankings.trec.files._WIDTH", part)
    in_parts = score(tmp_path, *texts)
    pd.testing.assert_frame_equal(in_parts.scores, whole.scores)
    pd.testing.assert_frame_equal(in_parts.details, whole.details)


def test_documents_of_one_hash_are_told_apart(tmp_path, way, monkeypatch):
    texts = lines_of(*drawn(6))
    apart = score(tmp_path, *texts)
    monkeypatch.setattr(TextRows, "hashes", lambda rows: np.zeros(len(rows), np.uint64))
    as_one = score(tmp_path, *texts)
    pd.testing.assert_frame_equal(as_one.scores, apart.scores)
    twice = texts[0] + texts[0].splitlines()[2] + "\n"
    with pytest.raises(ReaderError, match="appears twice, first in line 3"):
        score(tmp_path, twice, texts[1])


def test_the_hash_of_a_word_is_its_own_on_both_ways(tmp_path, monkeypatch):
    if pytest.importorskip("numba").config.DISABLE_JIT:
        pytest.skip("numba compiles nothing: NUMBA_DISABLE_JIT is set")
    words = ["a" * n for n in range(1, 40)] + ["é" * n for n in range(1, 20)]
    (tmp_path / "run").write_text("".join(f"q Q0 {word} 1 1 t\n" for word in words))
    text = read_text(tmp_path / "run")
    choose("numpy", monkeypatch)
    columns = read_columns(text, 0, _RUN)
    scanner = kernels.Scanner(compiled_scan(), (6, 0, 2, 4), ord(" "))
    by_numba = columns_of_chunk(text, 0, text.end, _RUN, scanner)
    alone = [hashes(text, columns.doc_start[[n]], columns.doc_length[[n]]) for n in range(58)]
    assert columns.doc_hash.tolist() == by_numba.doc_hash.tolist() == np.ravel(alone).tolist()


def test_rows_of_a_file_are_the_same_on_both_ways(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    texts = lines_of(*drawn(7, decimals=17))
    for name, text in zip(("run", "qrels"), texts, strict=True):
        (tmp_path / name).write_text("\n# told\n" + text.replace(" ", " \t"))
    found = []
    for way in WAYS:
        with monkeypatch.context() as patch:
            choose(way, patch)
            found.append((read_trec_run(tmp_path / "run"), read_trec_qrels(tmp_path / "qrels")))
    for by_numpy, by_numba in zip(*found, strict=True):
        for column in ("query", "doc", "value", "line"):
            np.testing.assert_array_equal(getattr(by_numpy, column), getattr(by_numba, column))


# -- numbers


WORDS = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(-1e4, 1e4).map(repr),
    st.floats(0, 1, width=32).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"\A-?[0-9]{0,12}\.?[0-9]{1,22}\Z"),
    st.tuples(st.integers(2**53, 2**63), st.integers(1, 18)).map(
        lambda one: f"{one[0] // 10 ** one[1]}.{one[0] % 10 ** one[1]:0{one[1]}d}"
    ),
    st.sampled_from(["5.", ".5", "-.5", "-0.0", "+1", "1e5", "-1E-5", "inf", "-Infinity", "00.10",
                     "9007199254740993", "900719925474099.3", "0.1" + "0" * 40, "1" * 40]),
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(WORDS, min_size=1, max_size=30), st.sampled_from(WAYS))
def test_numbers_are_read_as_python_reads_them(tmp_path_factory, words, way):
    with pytest.MonkeyPatch.context() as patch:
        choose(way, patch)
        path = tmp_path_factory.mktemp("numbers") / "a.run"
        path.write_text("".join(f"q Q0 {n} 1 {word} t\n" for n, word in enumerate(words)))
        read = read_trec_run(path).value
    assert [repr(one) for one in read.tolist()] == [repr(float(word)) for word in words]


@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_are_read_wherever_their_point_stands(tmp_path, way, sign):
    digits = ["0" * 9 + "1" * 22, "12345678" * 3, "9" * 24, "0" * 24]
    words = [sign + one[:n] + point + one[n : n + more] for one in digits for n in range(1, 12)
             for point, more in [("", 0), *((".", more) for more in range(23))]]  # fmt: skip
    path = tmp_path / "numbers.run"
    path.write_text("".join(f"q Q0 {n} 1 {word} t\n" for n, word in enumerate(words)))
    found = read_trec_run(path).value.tolist()
    assert [repr(one) for one in found] == [repr(float(word)) for word in words]


def test_hardly_a_number_of_seventeen_digits_is_left_to_float(tmp_path):
    rng = np.random.default_rng(0)
    words = [repr(one) for one in (rng.random(2000) * rng.choice([-1, 1], 2000)).tolist()]
    path = tmp_path / "numbers"
    path.write_text("x" * 40 + " " + " ".join(words))
    lengths = np.array([len(word) for word in words])
    starts = 41 + np.cumsum(lengths + 1) - lengths - 1
    values, doubt = parse_decimals(read_text(path), starts, starts + lengths)
    assert doubt.mean() < 0.02
    assert values[~doubt].tolist() == np.array(words, float)[~doubt].tolist()


def test_short_numbers_are_never_left_to_float(tmp_path):
    words = ["0", "7", "-7", "12", "12345678", "-1234567", "0.5", "-0.5", "12.25", "1234567.5",
             "0.12345678", "123456.789012345"]  # fmt: skip
    path = tmp_path / "numbers"
    path.write_text("x" * 40 + " " + " ".join(words))
    lengths = np.array([len(word) for word in words])
    starts = 41 + np.cumsum(lengths + 1) - lengths - 1
    values, doubt = parse_decimals(read_text(path), starts, starts + lengths)
    assert values.tolist() == list(map(float, words))
    assert not doubt.any()


@pytest.mark.parametrize(
    "word", ["nan", "high", "1_0", "0,7", ".", "-", "-.", "--1", "1.2.3", "1-2", "1e", "١", "0x10"]
)
def test_what_is_no_number_is_named_with_its_line(tmp_path, way, word):
    run = f"q1 Q0 a 1 0.9 t\n\nq1 Q0 b 2 {word} t\n"
    told = rf"a\.run.*line 3: the score must be a number; got '{re.escape(word)}'"
    with pytest.raises(ReaderError, match=told):
        score(tmp_path, run, "q1 0 a 1\n")


@pytest.mark.parametrize("grade", ["inf", "nan", "-inf", "yes"])
def test_a_grade_that_cannot_be_added_up_is_refused(tmp_path, way, grade):
    with pytest.raises(ReaderError, match=rf"line 2: the relevance must be a number.*'{grade}'"):
        score(tmp_path, "q1 Q0 a 1 0.9 t\n", f"q1 0 a 1\nq1 0 b {grade}\n")


def test_huge_and_fractional_grades_are_read(tmp_path, way):
    ranked = score(tmp_path, "q Q0 a 1 2 t\nq Q0 b 2 1 t\n", "q 0 a 200000000\nq 0 b 0.5\n", "P@2")
    assert ranked.hits.grade.tolist() == [200_000_000, 0.5]


# -- lines


QRELS = "q1 0 a 1\nq1 0 b 0\n"
RUN = "q1 Q0 a 1 0.9 t\nq1 Q0 b 2 0.8 t\n"


@pytest.mark.parametrize(
    "run",
    [
        b"\xef\xbb\xbf" + RUN.encode(),
        RUN.replace("\n", "\r\n"),
        RUN.removesuffix("\n"),
        "\n# comment\n  \n" + RUN.replace(" ", "\t  "),
        "  " + RUN.replace("\n", "  \n"),
        RUN.replace("0.9", "+9e-1"),
        RUN + "#",
        gzip.compress(RUN.encode(), mtime=0),
        "# " + "x" * 3_000_000 + "\n" + RUN,
    ],
)
def test_what_only_looks_odd_is_read(tmp_path, way, run):
    ranked = score(tmp_path, run, QRELS.replace("\n", "\r\n"), ["mrr", "P@2"])
    assert ranked.scores.loc["q1"].tolist() == [1.0, 0.5]
    assert ranked.details.loc["q1", "n_retrieved"] == 2


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ("", "expected a TREC run"),
        ("# only this\n\n", "the file has no rows"),
        (RUN + "q1 Q0 c 3 0.7\n", "line 3: expected 6 columns, .*; got 5, in 'q1 Q0 c 3"),
        (RUN + "q1 Q0 c 3 0.7 a tag\n", "line 3: expected 6 columns, .*; got 7"),
        (RUN + "\nq1 Q0 a 3 0.1 t\n", "line 4: query 'q1', document 'a': appears twice, .*line 1"),
        (RUN + RUN + RUN, "line 3: .*document 'a': appears twice, first in line 1"),
        (RUN.encode() + b"q1 Q0 \xff 3 0.7 t\n", "line 3: expected UTF-8"),
        (RUN + "q1 Q0 a\x00 3 0.7 t\n", r"line 3: expected text; got the byte b'\\x00'"),
        (RUN.encode("utf-16"), "got UTF-16"),
        (QRELS, "line 1: expected 6 columns, .*; got 4"),
        (
            RUN + "x" * 5000 + " Q0 a 1 1 t\n",
            "line 3: .* at most 4096 bytes; got 5000",
        ),
    ],
)
def test_a_run_that_cannot_be_read_is_told_by_file_and_line(tmp_path, way, run, told):
    with pytest.raises(ReaderError, match=rf"a\.run.*{told}"):
        score(tmp_path, run, QRELS)


def test_a_judgment_that_stands_twice_is_told_before_a_document_that_does(tmp_path, way):
    with pytest.raises(ReaderError, match=r"a\.qrels.*line 3: .*'b': appears twice.*line 2"):
        score(tmp_path, RUN + RUN, QRELS + "q1 0 b 1\n")


def test_a_retrieved_document_that_is_judged_and_stands_twice_is_told(tmp_path, way):
    run = "q1 Q0 c 1 1 t\n" + RUN + "q1 Q0 b 9 0.1 t\n"
    with pytest.raises(ReaderError, match=r"a\.run.*line 4: .*'b': appears twice.*line 3"):
        score(tmp_path, run, QRELS)


def test_no_query_in_common_is_an_error_that_shows_both_sides(tmp_path, way):
    with pytest.raises(AlignmentError, match="queries of the run: 'q1'; judged queries: '1'"):
        score(tmp_path, RUN, "1 0 a 1\n")


def test_ties_can_be_refused(tmp_path, way):
    with pytest.raises(DataError, match="equal scores in 1 queries: 'q1'"):
        score(tmp_path, RUN.replace("0.9", "0.8"), QRELS, ties="error")


def test_zeros_of_both_signs_and_infinities_are_tied(tmp_path, way):
    run = "q Q0 a 1 0.0 t\nq Q0 b 1 -0.0 t\nq Q0 c 1 inf t\nq Q0 d 1 1e999 t\n"
    ranked = score(tmp_path, run, "q 0 a 1\nq 0 b 1\nq 0 c 1\nq 0 d 1\n", "P@1")
    assert ranked.details["tied_share"].tolist() == [1.0]
    assert ranked.notes == (
        "1 of 1 queries has documents of equal score, which are ordered by document id, descending",
    )


def test_a_non_breaking_space_is_part_of_an_id(tmp_path, way):
    ranked = score(tmp_path, "q Q0 a\u00a0b 1 0.9 t\n", "q 0 a\u00a0b 1\n", "mrr")
    assert ranked.scores["mrr"].tolist() == [1.0]


def test_ids_that_begin_alike_are_told_apart(tmp_path, way):
    ids = ["a" * n for n in (1, 7, 8, 9, 15, 16, 17)]
    run = "".join(f"{one} Q0 {one} 1 {n} t\n" for n, one in enumerate(ids))
    ranked = score(tmp_path, run, "".join(f"{one} 0 {one} 1\n" for one in ids), "mrr")
    assert ranked.scores["mrr"].to_dict() == dict.fromkeys(ids, 1.0)


@pytest.mark.parametrize("header", ["", "query-id\tcorpus-id\tscore\n"])
def test_beir_judgments_split_at_tabs_alone(tmp_path, way, header):
    ranked = score(tmp_path, "q1 Q0 c 1 2 t\nq1 Q0 d 2 1 t\n",
                   f"# told\n\n{header}q1\ta b\t2\nq1\td\t1\n", "mrr")  # fmt: skip
    assert ranked.scores["mrr"].tolist() == [0.5]
    assert ranked.details["n_relevant"].tolist() == [2]


def test_beir_errors_count_the_header_as_a_line(tmp_path, way):
    with pytest.raises(ReaderError, match=r"line 3: expected 3 columns, .*; got 2"):
        score(tmp_path, RUN, "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\n")


def test_a_file_that_grows_no_size_is_read_to_its_end(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(RUN,))
    writer.start()
    (tmp_path / "qrels").write_text(QRELS)
    joined = join_files(path, tmp_path / "qrels", ties="docid", relevance_level=1)
    writer.join()
    assert joined.hits.n_retrieved.tolist() == [2]


# -- numba


def test_nothing_is_loaded_for_a_small_file(monkeypatch):
    monkeypatch.setattr(kernels, "compiled_scan", FakeScan(n_loaded=0))
    assert kernels.scan_for(kernels.WORTH_LOADING - 1) is None
    assert kernels.scan_for(kernels.WORTH_LOADING) == "a scan"


def test_what_is_loaded_is_used_for_small_files_too(monkeypatch):
    monkeypatch.setattr(kernels, "compiled_scan", FakeScan(n_loaded=1))
    assert kernels.scan_for(1) == "a scan"


class FakeScan:
    def __init__(self, n_loaded):
        self.currsize = n_loaded

    def cache_info(self):
        return self

    def __call__(self):
        return "a scan"


def test_without_numba_there_is_no_scan(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "numba", None)
    compiled_scan.cache_clear()
    try:
        assert compiled_scan() is None
    finally:
        compiled_scan.cache_clear()


def test_where_numba_is_not_to_compile_there_is_no_scan(monkeypatch):
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    for compiled in (compiled_scan, kernels.compiled_match, compiled_rank):
        compiled.cache_clear()
        try:
            assert compiled() is None
        finally:
            compiled.cache_clear()


@pytest.mark.parametrize(("n", "is_cut"), [(80, False), (81, True)])
def test_a_long_line_is_cut_in_an_error(tmp_path, n, is_cut):
    line = "q1 Q0 " + "d" * (n - 6)
    with pytest.raises(ReaderError) as caught:
        score(tmp_path, f"{RUN}{line}\n", QRELS)
    shown = repr(line[:80] + "...") if is_cut else repr(line)
    assert f"got 3, in {shown}." in str(caught.value)

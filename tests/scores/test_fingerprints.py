"""The answer is always that of pandas, by whichever way it was found."""

import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rageval_report.scores import fingerprints
from rageval_report.scores.fingerprints import all_different, find_rows

# Ids that share words, lengths and borders: what a careless reading of the bytes would mix up.
PARTS = st.sampled_from(["", "a", "b", "\0", "é", "🦶", "1234567", "12345678", "123456789" * 2])
TEXTS = st.text(max_size=20) | st.lists(PARTS, max_size=6).map("".join)
IDS = st.lists(TEXTS, unique=True, min_size=1, max_size=40)


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch):
    monkeypatch.setattr(fingerprints, "FEWEST", 1)
    monkeypatch.setattr(fingerprints, "_BLOCK", 7)


def arrow(texts):
    return pd.Index(texts, dtype="string[pyarrow]")


def by_pandas(ids, wanted):
    return pd.Index(ids, dtype=object).get_indexer(pd.Index(wanted, dtype=object)).tolist()


slowly = settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def test_the_fingerprint_of_an_id_does_not_depend_on_the_ids_around_it():
    alone = [fingerprints._fingerprints(arrow([text]))[0] for text in ("12345678", "a")]
    among = fingerprints._fingerprints(arrow(["x" * 40, "12345678", "a", "y" * 20]))
    assert among[1:3].tolist() == alone


@given(IDS, st.lists(TEXTS, min_size=1, max_size=40))
@slowly
@example(["a", "ba"], ["aa", "ba"])
@example(["12345678", "2345678"], ["x12345678", "12345678"])
@example(["a", "a\0"], ["a\0", "\0a", "a\0\0"])
@example(["x" * 16, "x" * 17], ["x" * 15, "x" * 16])
def test_any_ids_are_found_where_pandas_finds_them(ids, wanted):
    found = fingerprints._find_by_fingerprint(arrow(ids), arrow(wanted))
    assert found.tolist() == by_pandas(ids, wanted)


@given(IDS, st.randoms(use_true_random=False))
@slowly
def test_ids_find_themselves_in_any_order(ids, random):
    shuffled = random.sample(ids, len(ids))
    found = fingerprints._find_by_fingerprint(arrow(ids), arrow(shuffled))
    assert [ids[row] for row in found] == shuffled


@given(st.lists(TEXTS, min_size=1, max_size=40))
@slowly
def test_repeated_ids_are_seen(ids):
    assert all_different(arrow(ids)) == (len(set(ids)) == len(ids))


@given(
    st.lists(st.text("ab\u00e9\0", min_size=7, max_size=17), min_size=1, max_size=30),
    st.integers(0, 30),
    st.integers(7, 17),
)
@slowly
@example(["a" * 8, "a" * 7 + "b"], 1, 8)
@example(["a" * 9, "b" * 9, "b" * 9], 0, 9)
@example(["a" * 16, "b" * 16], 1, 16)
def test_ids_that_ascend_are_different(ids, n_first, size):
    """Python sorts the bytes; ids in two chunks, of one length or of several."""
    ids = sorted((text.encode()[:size].decode(errors="ignore") for text in ids), key=str.encode)
    chunks = pa.chunked_array([ids[:n_first], ids[n_first:]], type=pa.string())
    index = pd.Index(pd.array(chunks, dtype="string[pyarrow]"))
    lengths = {len(text.encode()) for text in ids}
    is_fit = len(lengths) == 1 and 8 <= min(lengths) <= 16
    assert fingerprints._are_ascending(index) == (is_fit and len(set(ids)) == len(ids))
    assert all_different(index) == (len(set(ids)) == len(ids))
    if len(set(ids)) > 1:
        assert not fingerprints._are_ascending(index[::-1])


def test_a_missing_id_among_ascending_ones_is_left_to_pandas():
    ids = arrow(["query-01", None, "query-02", "query-03"])
    assert not fingerprints._are_ascending(ids)


@pytest.mark.parametrize(
    "make",
    [
        str,
        lambda i: f"query-{i:07d}",
        lambda i: f"{i:02d}" * 20,
        lambda i: str(uuid.UUID(int=i * (2**100 + 12345))),
        lambda i: chr(0x4E00 + i),
        lambda i: "x" * (i % 250) + f"{i:05d}",
    ],
)
def test_many_ids_are_found_where_pandas_finds_them(make, monkeypatch):
    monkeypatch.setattr(fingerprints, "_BLOCK", 1000)
    ids = [make(i) for i in range(5000)]
    rng = np.random.default_rng(1)
    theirs = [ids[row] for row in rng.permutation(5000)[:4700]]
    found = fingerprints._find_by_fingerprint(arrow(theirs), arrow(ids))
    assert found.tolist() == by_pandas(theirs, ids)
    assert len(np.unique(fingerprints._fingerprints(arrow(ids)))) == 5000


def test_ids_cut_out_of_a_longer_array_are_read_from_where_they_start():
    ids = arrow([f"q{i}" for i in range(50)])
    cut = ids[13:31]
    assert find_rows(cut, ids).tolist() == by_pandas(list(cut), list(ids))


def test_ids_in_several_chunks_are_read_as_one():
    chunks = pa.chunked_array([["a", "bb"], ["ccc"], ["dddddddddd"]])
    ids = pd.Index(pd.array(chunks, dtype="string[pyarrow]"))
    assert find_rows(ids, arrow(["dddddddddd", "bb", "x"])).tolist() == [3, 1, -1]


# -- what fingerprints do not tell is left to pandas


def test_ids_that_share_a_fingerprint_are_still_told_apart(monkeypatch):
    """The worst there could be: one fingerprint for all ids of one length."""
    monkeypatch.setattr(
        fingerprints, "_hash_block", lambda starts, ends, words: (ends - starts).view(np.uint64)
    )
    ids, wanted = arrow(["a", "b", "cc", "dd"]), arrow(["b", "dd", "x", "yyy"])
    assert fingerprints._find_by_fingerprint(ids, wanted) is None
    assert find_rows(ids, wanted).tolist() == [1, 3, -1, -1]
    assert all_different(ids)
    assert not all_different(arrow(["a", "b", "a"]))


@given(
    st.lists(st.integers(0, 60), unique=True, min_size=1, max_size=60),
    st.lists(st.integers(0, 60), min_size=1, max_size=60),
    st.integers(0, 63),
)
@slowly
def test_fingerprints_that_want_the_same_seat_are_all_found(prints, wanted, shift):
    """Numbers that agree in most bits, so that many want one seat in every round."""
    shift_by = np.uint64(min(shift, 57))
    ours = np.array(prints, dtype=np.uint64) << shift_by
    theirs = np.array(wanted, dtype=np.uint64) << shift_by
    found = fingerprints._join_fingerprints(ours, theirs)
    assert found.tolist() == by_pandas(prints, wanted)


@pytest.mark.parametrize(
    "ids",
    [
        pd.Index(["a", "b", "c"], dtype=object),
        pd.Index(["a", "b", "c"], dtype="string[python]"),
        pd.Index([1, 2, 3]),
        pd.CategoricalIndex(["a", "b", "c"]),
        arrow(["a", "b", "c" * 300]),
    ],
)
def test_other_ids_are_left_to_pandas(ids):
    assert fingerprints._fingerprints(ids) is None
    assert find_rows(ids, ids[::-1]).tolist() == [2, 1, 0]
    assert all_different(ids)


def test_few_ids_are_left_to_pandas(monkeypatch):
    monkeypatch.setattr(fingerprints, "FEWEST", 4)
    assert fingerprints._fingerprints(arrow(["a", "b", "c"])) is None
    assert fingerprints._fingerprints(arrow(["a", "b", "c", "d"])) is not None


def test_ids_of_two_kinds_are_left_to_pandas():
    ids, wanted = ["a", "b", "c"], ["c", "x", "a"]
    assert find_rows(pd.Index(ids, dtype=object), arrow(wanted)).tolist() == [2, -1, 0]
    assert find_rows(arrow(ids), pd.Index(wanted, dtype=object)).tolist() == [2, -1, 0]


# -- the last byte of texts


@given(st.lists(TEXTS, min_size=1, max_size=40), st.integers(0, 6))
@slowly
@example(["", "", "a"], 1)
@example(["a"] * 15, 0)
def test_texts_with_a_last_byte_are_the_rows_that_python_finds(texts, n_cut):
    texts = texts[n_cut:] or texts
    is_end = np.zeros(256, dtype=bool)
    is_end[[ord("a"), ord("8"), "é".encode()[-1]]] = True
    found = fingerprints.rows_ending_in(pd.Series(texts, dtype="string[pyarrow]"), is_end)
    ends = tuple(bytes([byte]) for byte in np.flatnonzero(is_end).tolist())
    expected = [row for row, text in enumerate(texts) if text.encode().endswith(ends)]
    # An empty text may be found too: the caller compares whole texts.
    assert [row for row in found.tolist() if texts[row]] == expected


def test_texts_in_several_pieces_are_numbered_through(monkeypatch):
    monkeypatch.setattr(fingerprints, "_PIECE", 3)
    texts = pd.Series([f"q{n}" for n in range(30)] + ["mean"], dtype="string[pyarrow]")
    is_end = np.zeros(256, dtype=bool)
    is_end[[ord("n"), ord("7")]] = True
    assert fingerprints.rows_ending_in(texts, is_end).tolist() == [7, 17, 27, 30]
    assert fingerprints.rows_ending_in(texts[5:20], is_end).tolist() == [2, 12]
    assert fingerprints.rows_ending_in(texts.astype(object), is_end) is None


@pytest.mark.parametrize("n", [7, 8, 9])
def test_many_fingerprints_are_sorted_and_few_are_hashed(n, monkeypatch):
    monkeypatch.setattr(fingerprints, "_MANY", 8)
    different = np.arange(n, dtype=np.uint64)[::-1].copy()
    assert fingerprints._are_different(different)
    assert not fingerprints._are_different(np.array([*range(1, n), 1], dtype=np.uint64))

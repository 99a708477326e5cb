"""Runs and judgments as rows: every way in which ids can lie in memory gives the same.

Witness: the same rankings as dicts, which `test_from_dicts` holds against sorted lists.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.rankings.id_columns import ByteIds, ObjectIds, id_columns, texts
from rageval_report.rankings.order import groups_of_similar_length
from rageval_report.rankings.score_tables import score_table_of_rankings

NAMES = ["mrr", "ndcg@10", "map", "bpref", "recall@2"]
EIGHT = "12345678"
DOCS = ["", "a", "b", "ab", EIGHT, EIGHT + "9", EIGHT + "é", 5 * EIGHT, 5 * EIGHT + "x"]
# pandas 2 ends a text at a NUL character where it hashes texts, so "a" and this id are one to it.
if len(pd.factorize(np.array(["a", "a\0"], dtype=object))[1]) == 2:
    DOCS.insert(4, "a\0")
TABLES = st.dictionaries(
    st.sampled_from(["q1", "q2", "q33333333"]),
    st.dictionaries(st.sampled_from(DOCS), st.sampled_from([0.5, 1, 2]), min_size=1),
    min_size=1,
)
STORAGES = ["object", "category", "str", "string[python]", "string[pyarrow]"]


def assert_same(ranked, expected):
    pd.testing.assert_frame_equal(ranked.scores, expected.scores)
    pd.testing.assert_frame_equal(ranked.details, expected.details)
    assert ranked.notes == expected.notes


def in_storage(frame, storage):
    return frame.astype({"query_id": storage, "doc_id": storage})


@pytest.fixture(scope="module")
def many():
    """Lists of very different lengths, many ties, ids that share their beginning."""
    rng = np.random.default_rng(0)
    run, qrels = {}, {}
    for query in range(40):
        ids = [f"document-{one}" for one in rng.permutation(300).tolist()]
        depth = int(rng.integers(1, 120))
        scores = rng.integers(0, 30, depth) / 4
        run[f"query {query}"] = dict(zip(ids[:depth], scores.tolist(), strict=True))
        chosen = rng.permutation(ids)[: int(rng.integers(1, 90))].tolist()
        qrels[f"query {query}"] = {doc: int(rng.integers(0, 3)) for doc in chosen}
    return run, qrels


@settings(max_examples=60)
@given(run=TABLES, storage=st.sampled_from(STORAGES), ties=st.sampled_from(["docid", "input"]))
def test_frames_score_as_dicts_do(frame_of, run, storage, ties):
    if "pyarrow" in storage:
        pytest.importorskip("pyarrow")
    qrels = {query: {doc: place % 3 for place, doc in enumerate(DOCS)} for query in run}
    frames = frame_of(run, "score"), frame_of(qrels, "relevance")
    ranked = score_table_of_rankings(
        *(in_storage(frame, storage) for frame in frames), NAMES, ties=ties
    )
    assert_same(ranked, score_table_of_rankings(run, qrels, NAMES, ties=ties))


@settings(max_examples=60)
@given(run=TABLES, qrels=TABLES, storage=st.sampled_from(STORAGES))
def test_judged_ids_are_found_whatever_the_lengths_of_the_other_ids(frame_of, run, qrels, storage):
    """Only some ids are judged, so that the longest id may be on one side alone."""
    if "pyarrow" in storage:
        pytest.importorskip("pyarrow")
    qrels = {**qrels, **{query: qrels.get(query, {DOCS[0]: 1}) for query in run}}
    frames = (in_storage(frame_of(table, name), storage)
              for table, name in ((run, "score"), (qrels, "relevance")))  # fmt: skip
    assert_same(score_table_of_rankings(*frames, NAMES), score_table_of_rankings(run, qrels, NAMES))


def test_a_short_id_is_found_beside_a_long_one(frame_of):
    run, qrels = {"q": {"d0": 2.0, "a-much-longer-id": 1.0}}, {"q": {"d0": 1}}
    frames = frame_of(run, "score"), frame_of(qrels, "relevance")
    assert score_table_of_rankings(*frames, "recall@5").scores.loc["q", "recall@5"] == 1.0


@pytest.mark.parametrize("storage", STORAGES)
def test_lists_of_any_length_score_as_dicts_do(frame_of, many, storage):
    if "pyarrow" in storage:
        pytest.importorskip("pyarrow")
    frames = (in_storage(frame_of(table, name), storage)
              for table, name in zip(many, ("score", "relevance"), strict=True))  # fmt: skip
    assert_same(score_table_of_rankings(*frames, NAMES), score_table_of_rankings(*many, NAMES))


@pytest.mark.parametrize("storage", STORAGES)
def test_the_order_of_rows_does_not_matter(frame_of, many, storage):
    if "pyarrow" in storage:
        pytest.importorskip("pyarrow")
    run, qrels = frame_of(many[0], "score"), frame_of(many[1], "relevance")
    mixed = [in_storage(frame.sample(frac=1, random_state=0), storage) for frame in (run, qrels)]
    ranked = score_table_of_rankings(*mixed, NAMES)
    expected = score_table_of_rankings(*many, NAMES)
    pd.testing.assert_frame_equal(ranked.scores.sort_index(), expected.scores.sort_index())


def test_columns_of_several_pieces_and_cut_ones_are_read_whole(frame_of, many):
    pytest.importorskip("pyarrow")
    run = in_storage(frame_of(many[0], "score"), "string[pyarrow]")
    pieces = [run[:7], run[7:7], run[7:900], run[900:]]
    joined = pd.concat(pieces)
    longer = pd.concat([run[:5], joined])[5:]
    qrels = frame_of(many[1], "relevance")
    expected = score_table_of_rankings(*many, NAMES)
    for frame in (joined, longer):
        assert_same(score_table_of_rankings(frame, qrels, NAMES), expected)


def test_ids_may_be_whole_numbers(frame_of):
    run = pd.DataFrame({"query_id": [1, 1, 20], "doc_id": [7, 70, 7], "score": [0.5, 0.5, 1]})
    ranked = score_table_of_rankings(run, {"1": {"7": 1}, "20": {"70": 1}}, "mrr")
    assert ranked.scores["mrr"].tolist() == [0.5, 0.0]  # "70" is before "7", as a later text


def test_a_frame_and_a_file_are_matched(frame_of, many, write_qrels):
    run, qrels = ({query.replace(" ", ""): docs for query, docs in table.items()}
                  for table in many)  # fmt: skip
    ranked = score_table_of_rankings(frame_of(run, "score"), write_qrels(qrels), NAMES)
    assert_same(ranked, score_table_of_rankings(run, qrels, NAMES))


# -- hashes


@pytest.fixture
def one_hash(monkeypatch):
    """All ids hash to 0."""
    monkeypatch.setattr("rageval_report.rankings.id_columns._MIX", np.uint64(0))


@pytest.mark.parametrize("storage", ["object", "str"])
def test_ids_of_one_hash_are_still_told_apart(frame_of, many, storage, one_hash):
    frames = (in_storage(frame_of(table, name), storage)
              for table, name in zip(many, ("score", "relevance"), strict=True))  # fmt: skip
    assert_same(score_table_of_rankings(*frames, NAMES), score_table_of_rankings(*many, NAMES))


@pytest.mark.parametrize("storage", ["object", "str"])
def test_a_hash_that_few_ids_share_spoils_nothing(frame_of, many, storage, monkeypatch):
    few = np.uint64(1 << 58)  # six bits are left
    monkeypatch.setattr("rageval_report.rankings.id_columns._MIX", few)
    monkeypatch.setattr("rageval_report.rankings.id_columns._SHIFT", np.uint64(56))
    frames = (in_storage(frame_of(table, name), storage)
              for table, name in zip(many, ("score", "relevance"), strict=True))  # fmt: skip
    assert_same(score_table_of_rankings(*frames, NAMES), score_table_of_rankings(*many, NAMES))


@pytest.mark.parametrize("what", ["run", "qrels"])
@pytest.mark.parametrize("collide", [False, True])
def test_the_first_document_that_stands_twice_is_named(frame_of, many, what, collide, request):
    if collide:
        request.getfixturevalue("one_hash")
    frames = {"run": frame_of(many[0], "score"), "qrels": frame_of(many[1], "relevance")}
    frame = frames[what]
    frames[what] = pd.concat([frame, frame[3:4], frame[:1]])
    with pytest.raises(DataError, match=rf"row {len(frame)} .* appears twice, first in row 3;"):
        score_table_of_rankings(*frames.values(), NAMES)


def test_a_document_may_stand_in_several_queries(frame_of):
    run = {"q1": {"a": 1.0, "b": 0.5}, "q2": {"a": 0.5, "b": 1.0}}
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    ranked = score_table_of_rankings(frame_of(run, "score"), frame_of(qrels, "relevance"), "mrr")
    assert ranked.scores["mrr"].tolist() == [1.0, 0.5]


@settings(max_examples=60)
@given(ids=st.lists(st.text(max_size=20).filter(lambda one: "\0" not in one), max_size=20))
def test_bytes_and_objects_tell_the_same_ids_apart(ids):
    encoded = np.array([one.encode("utf-8", "surrogatepass") for one in ids], dtype="S")
    column, _ = id_columns(encoded, encoded)
    assert isinstance(column, ByteIds)
    rows = np.arange(len(ids))
    assert [one.decode("utf-8", "surrogatepass") for one in column.objects(rows)] == ids
    left, right = np.repeat(rows, len(ids)), np.tile(rows, len(ids))
    expected = [ids[one] == ids[other] for one, other in zip(left, right, strict=True)]
    assert column.are_equal(left, column, right).tolist() == expected
    assert len(set(column.hashes().tolist())) == len(set(ids))


def test_columns_of_different_forms_become_objects():
    one, other = id_columns(np.array([b"a", b"bc"]), pd.array(["bc", "d"], dtype="string[python]"))
    assert isinstance(one, ObjectIds)
    assert isinstance(other, ObjectIds)
    assert one.are_equal(np.array([0, 1]), other, np.array([0, 0])).tolist() == [False, True]
    assert texts(np.array([b"a", b"bc"])) == ["a", "bc"]


@settings(max_examples=60)
@given(lengths=st.lists(st.integers(0, 5000), max_size=60))
def test_alike_queries_are_each_query_with_rows_once(lengths):
    lengths = np.array(lengths, np.int64)
    groups = list(groups_of_similar_length(lengths))
    assert sorted(np.concatenate([[], *groups])) == np.flatnonzero(lengths).tolist()
    assert all(lengths[group].max() < 2 * lengths[group].min() for group in groups)

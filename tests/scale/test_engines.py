"""Every engine gives the pairs of pandas' merge, for ids in any order."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.scale import pieces
from rageval_report.scale.engines import join
from rageval_report.scale.engines.automatic import engine_of
from rageval_report.scale.engines.base import PairedColumns
from rageval_report.scale.mergeable import StateOfEach
from rageval_report.scale.pairs import CommonIds, UnorderedIdsError
from rageval_report.scale.pieces import read_footer
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import TableShape
from rageval_report.scores import fingerprints

ENGINE_NAMES = ["stream", "join", "duckdb", "auto"]

COLUMNS = PairedColumns(("recall",), ("recall",), ("topic",))


def count_pairs(rows):
    """Each pair of scores with the topic, counted."""
    topics = rows.before.cells.column("topic").to_pylist() if len(rows.before) else []
    scores = (rows.before.scores["recall"].tolist(), rows.after.scores["recall"].tolist())
    return Counter(zip(topics, *scores, strict=True))


def merged(first, second):
    both = first.merge(second, on="query_id", suffixes=("", "_after"))
    return Counter(zip(both["topic"], both["recall"], both["recall_after"], strict=True))


def fold(engine, first, second):
    state = engine.fold_pairs(first, second, StateOfEach((CommonIds.of, count_pairs)), COLUMNS)
    return state.parts


ORDERS = {
    "sorted": lambda frame: frame,
    "shuffled": lambda frame: frame.sample(frac=1, random_state=4),
    "by length": lambda frame: frame.assign(
        query_id=frame["query_id"].str.replace("q0*", "q", regex=True)
    ),
}


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("order", ORDERS)
def test_pairs_are_those_of_merge(frames, make_table, engine, order):
    if engine == "stream" and order == "shuffled":
        pytest.skip("needs ids in order")
    first, second = frames[0], ORDERS[order](frames[1])
    if order == "by length":
        first = ORDERS[order](first)
    common, counts = fold(engine_of(engine), make_table(first, "a"), make_table(second, "b"))
    assert counts == merged(first, second)
    alone = sorted(set(first["query_id"]) - set(second["query_id"]))
    assert (common.n_common, common.n_only_before) == (sum(counts.values()), len(alone))
    assert list(common.only_before) == alone[:5]


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
def test_both_tables_bring_their_details(frames, make_table, engine):
    columns = PairedColumns(("recall",), ("recall",), ("topic",), ("topic",))
    state = engine_of(engine).fold_pairs(
        *(make_table(frame, name) for frame, name in zip(frames, "ab", strict=True)),
        count_topics,
        columns,
    )
    both = frames[0].merge(frames[1], on="query_id", suffixes=("", "_after"))
    assert state == Counter(zip(both["topic"], both["topic_after"], strict=True))


def count_topics(rows):
    """Each pair of topics, counted."""
    if not len(rows.before):
        return Counter()
    sides = (side.cells.column("topic").to_pylist() for side in (rows.before, rows.after))
    return Counter(zip(*sides, strict=True))


def test_the_automatic_engine_says_which_engine_worked(frames, make_table):
    engine = engine_of("auto")
    tables = [make_table(frame, str(place)) for place, frame in enumerate(frames)]
    fold(engine, *tables)
    assert engine.name == "stream"
    fold(engine, tables[0], make_table(ORDERS["shuffled"](frames[1]), "c"))
    assert engine.name == "join"
    n_rows = engine.fold(tables[0], len, ())
    assert (n_rows, engine.name) == (len(frames[0]), "stream")


def test_the_same_order_on_both_sides_needs_no_sorted_ids(frames, make_table):
    shuffled = ORDERS["shuffled"](frames[0])
    again = shuffled.assign(recall=shuffled["recall"] / 2)
    _, counts = fold(engine_of("stream"), make_table(shuffled, "a"), make_table(again, "b"))
    assert counts == merged(shuffled, again)


def test_a_stream_of_unordered_ids_names_the_engine_that_can(frames, make_table):
    tables = make_table(frames[0], "a"), make_table(ORDERS["shuffled"](frames[1]), "b")
    with pytest.raises(UnorderedIdsError, match="use engine='join'"):
        fold(engine_of("stream"), *tables)


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("side", [0, 1])
def test_repeated_ids_are_named(frames, make_table, engine, side):
    changed = list(frames)
    ids = changed[side]["query_id"].tolist()
    ids[400] = ids[10]
    changed[side] = changed[side].assign(query_id=ids)
    tables = [make_table(frame, name) for frame, name in zip(changed, "ab", strict=True)]
    with pytest.raises(DataError, match=f"{'ab'[side]}: query ids must be unique; .* '{ids[10]}'"):
        fold(engine_of(engine), *tables)


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
def test_a_damaged_file_is_named(frames, make_table, tmp_path, engine):
    tables = [make_table(frame, name) for frame, name in zip(frames, "ab", strict=True)]
    content = bytearray((tmp_path / "b.parquet").read_bytes())
    content[len(content) // 2 :][:300] = bytes(300)
    content[len(content) // 3 : len(content) // 3 + 300] = bytes(300)
    (tmp_path / "b.parquet").write_bytes(content)
    with pytest.raises(ReaderError, match=r"b\.parquet: this file is damaged"):
        fold(engine_of(engine), *tables)


def test_an_empty_table_has_no_pairs(frames, make_table):
    tables = make_table(frames[0], "a"), make_table(frames[1][:0], "b")
    for engine in ("stream", "join", "duckdb"):
        common, counts = fold(engine_of(engine), *tables)
        assert (common.n_common, common.n_only_before) == (0, len(frames[0]))
        assert not counts


def test_a_join_larger_than_its_memory_is_written_to_disk(make_table, monkeypatch):
    monkeypatch.setattr(pieces, "ROWS_OF_PART", 50_000)
    rng = np.random.default_rng(1)
    ids = np.array([f"a rather long id of a query, number {n}" for n in range(150_000)])
    frames = [
        pd.DataFrame({"query_id": rng.permutation(ids), "recall": 0.5, "topic": "x"})
        for _ in range(2)
    ]
    tables = [make_table(frame, name, 50_000) for frame, name in zip(frames, "ab", strict=True)]
    common, _ = fold(engine_of("duckdb", memory_limit="48MB"), *tables)
    assert common == CommonIds(150_000, 0, 0)


def test_an_unknown_engine_is_refused():
    with pytest.raises(UnknownNameError, match="spark"):
        engine_of("spark")


def test_a_memory_limit_is_a_size(frames, make_table):
    tables = [make_table(frame, name) for frame, name in zip(frames, "ab", strict=True)]
    with pytest.raises(DataError, match="memory_limit must be a size"):
        fold(engine_of("duckdb", memory_limit="lots"), *tables)


@pytest.fixture
def make_files(tmp_path):
    """Writes frames as the files of one table, each with types of its own."""

    def make(frames, name):
        pieces = []
        for place, frame in enumerate(frames):
            path = tmp_path / f"{name}-{place:03d}.parquet"
            frame.to_parquet(path, index=False, row_group_size=30)
            pieces += read_footer(path).pieces()
        shape = TableShape("query_id", {"recall": "recall"}, {}, {"topic": "topic"})
        return ScanTable(name, tuple(pieces), shape)

    return make


def cut(frame, n):
    """The rows of a frame in n parts."""
    return [frame.iloc[place] for place in np.array_split(np.arange(len(frame)), n)]


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("kinds", [("float32", "float32"), ("float32", "float64"), ("int8", "str")])
def test_files_of_one_table_may_have_numbers_of_different_types(frames, make_files, engine, kinds):
    first, second = (frame.assign(recall=(frame["recall"] > 0.5) * 1.0) for frame in frames)
    tables = [
        make_files(
            [
                part.astype({"recall": kind})
                for part, kind in zip(cut(frame, 2), kinds, strict=True)
            ],
            name,
        )
        for frame, name in zip((first, second), "ab", strict=True)
    ]
    _, counts = fold(engine_of(engine), *tables)
    assert counts == merged(first, second)


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_single_precision_is_not_rounded_to_it_twice(frames, make_files, engine):
    """A file in double precision beside one in single precision keeps its digits."""
    parts = [
        [
            part.assign(recall=part["recall"].astype(kind) / 3)
            for part, kind in zip(cut(frame, 2), kinds, strict=True)
        ]
        for frame, kinds in zip(
            frames, (("float32", "float64"), ("float64", "float32")), strict=True
        )
    ]
    tables = [make_files(part, name) for part, name in zip(parts, "ab", strict=True)]
    whole = [pd.concat([p.astype({"recall": float}) for p in part]) for part in parts]
    _, counts = fold(engine_of(engine), *tables)
    assert counts == merged(*whole)


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("n_files", [1, 7])
def test_unscored_queries_stay_in_their_pairs(frames, make_files, engine, n_files):
    first, second = (
        frame.assign(recall=frame["recall"].where(frame["recall"] > 0.2)) for frame in frames
    )
    tables = [
        make_files(cut(f, n), name)
        for f, n, name in zip((first, second), (n_files, 3), "ab", strict=True)
    ]
    _, counts = fold(engine_of(engine), *tables)
    assert without_nan(counts) == without_nan(merged(first, second))
    assert any("nan" in map(str, key) for key in counts)


def without_nan(counts):
    """NaN as None, since NaN is not equal to itself."""
    total = Counter()
    for (topic, *scores), n in counts.items():
        total[topic, *(None if np.isnan(score) else score for score in scores)] += n
    return total


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_an_id_that_occurs_twice_among_those_of_one_table_only_is_named(frames, make_table, engine):
    first, second = frames
    alone = "r0001"
    ids = first["query_id"].tolist()
    ids[-2:] = [alone, alone]
    tables = make_table(first.assign(query_id=ids), "a"), make_table(second, "b")
    with pytest.raises(DataError, match=f"a: query ids must be unique; .* '{alone}'"):
        fold(engine_of(engine), *tables)


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_one_id_for_all_rows_ends_before_every_pair_is_made(frames, make_table, engine):
    """600 rows of one id on both sides are 360,000 pairs; the table is refused after some parts."""
    tables = [
        make_table(frame.assign(query_id="q"), n) for frame, n in zip(frames, "ab", strict=True)
    ]
    seen = []

    def count(rows):
        seen.append(len(rows.before))
        return 0

    with pytest.raises(DataError, match=r"query ids must be unique; .* 'q'"):
        engine_of(engine).fold_pairs(*tables, count, COLUMNS)
    assert sum(seen) < 3000


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_the_damaged_file_of_a_hundred_is_named(frames, make_files, tmp_path, engine):
    tables = [make_files(cut(frame, 100), name) for frame, name in zip(frames, "ab", strict=True)]
    path = tmp_path / "b-057.parquet"
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 3] = bytes(len(content) // 3 - 4)
    path.write_bytes(content)
    with pytest.raises(ReaderError, match=r"b-057\.parquet: this file is damaged"):
        fold(engine_of(engine), *tables)


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_a_file_that_has_lost_a_column_is_named(frames, make_files, tmp_path, engine):
    tables = [make_files(cut(frame, 5), name) for frame, name in zip(frames, "ab", strict=True)]
    path = tmp_path / "a-003.parquet"
    pd.read_parquet(path).drop(columns="recall").to_parquet(path, row_group_size=30)
    with pytest.raises(ReaderError, match=r"a-003\.parquet"):
        fold(engine_of(engine), *tables)


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("blank", [None, "", "  ", "\u2003"])
def test_a_row_without_an_id_is_an_error_that_names_the_file(frames, make_files, engine, blank):
    first = frames[0].copy()
    first.loc[0, "query_id"] = blank
    tables = make_files(cut(first, 3), "a"), make_files(cut(frames[1], 2), "b")
    with pytest.raises(ReaderError, match=r"a-000\.parquet: every row needs a query id"):
        fold(engine_of(engine), *tables)


# -- the join by fingerprints


@pytest.fixture
def shuffled(frames):
    return [frame.sample(frac=1, random_state=seed) for seed, frame in enumerate(frames)]


@pytest.mark.parametrize("memory_limit", ["1KB", "20KB", "1GB"])
@pytest.mark.parametrize("rows_of_bucket", [7, 64, 1 << 18])
def test_pairs_do_not_depend_on_memory(
    shuffled, make_table, monkeypatch, memory_limit, rows_of_bucket
):
    monkeypatch.setattr(join, "_FEWEST_ROWS_OF_BUCKET", rows_of_bucket)
    tables = [make_table(frame, name) for frame, name in zip(shuffled, "ab", strict=True)]
    common, counts = fold(engine_of("join", memory_limit=memory_limit), *tables)
    assert counts == merged(*shuffled)
    ids = [set(frame["query_id"]) for frame in shuffled]
    assert common.n_common == len(ids[0] & ids[1])
    assert common.only_before == tuple(sorted(ids[0] - ids[1])[:5])
    assert common.only_after == tuple(sorted(ids[1] - ids[0])[:5])
    assert (common.n_only_before, common.n_only_after) == (
        len(ids[0] - ids[1]),
        len(ids[1] - ids[0]),
    )


def test_ids_of_pairs_are_the_same_on_both_sides(shuffled, make_table):
    tables = [make_table(frame, name) for frame, name in zip(shuffled, "ab", strict=True)]
    pairs = {}

    def remember(rows):
        assert rows.before.ids.equals(rows.after.ids)
        scores = (side.scores["recall"].tolist() for side in (rows.before, rows.after))
        pairs.update(zip(rows.before.ids.to_pylist(), zip(*scores, strict=True), strict=True))
        return 0

    engine_of("join").fold_pairs(*tables, remember, COLUMNS)
    both = shuffled[0].merge(shuffled[1], on="query_id")
    assert pairs == {
        row.query_id: (row.recall_x, row.recall_y) for row in both.itertuples(index=False)
    }


def test_different_ids_with_equal_fingerprints_are_never_a_pair(shuffled, make_table, monkeypatch):
    """With one fingerprint for all ids of a length, two ids that no table shares look equal."""
    monkeypatch.setattr(fingerprints, "_MULTIPLIER", np.uint64(0))
    first, second = (frame[:1] for frame in shuffled)
    assert first["query_id"].iloc[0] != second["query_id"].iloc[0]
    tables = make_table(first, "a"), make_table(second, "b")
    with pytest.raises(DataError, match="have the same fingerprint"):
        engine_of("join").fold_pairs(*tables, count_pairs, COLUMNS)

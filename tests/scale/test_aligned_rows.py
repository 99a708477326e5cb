"""Every engine aligns three tables as pandas' merge does, for ids in any order."""

import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from rageval_report.errors import DataError
from rageval_report.scale import id_buckets, id_ranges, pieces
from rageval_report.scale.aligned_rows import QueryCounts, TableColumns
from rageval_report.scale.engines.automatic import engine_of
from rageval_report.scale.id_ranges import cut_into_ranges
from rageval_report.scale.mergeable import StateOfEach
from rageval_report.scale.pairs import UnorderedIdsError

ORDERS = {
    "sorted": lambda frame: frame,
    "shuffled": lambda frame: frame.sample(frac=1, random_state=4),
    "by length": lambda frame: frame.assign(
        query_id=frame["query_id"].str.replace("q0*", "q", regex=True)
    ),
}
COLUMNS = [
    TableColumns(("recall",), ("topic",)),
    TableColumns(("recall",)),
    TableColumns(("recall",)),
]


@pytest.fixture
def three(frames):
    rng = np.random.default_rng(8)
    ids = [f"q{number:04d}" for number in range(620) if rng.random() < 0.9]
    third = pd.DataFrame({"query_id": ids, "recall": rng.random(len(ids)), "topic": "z"})
    return [*frames, third]


def count_rows(rows):
    """The scores of each query of all tables with the topic, counted."""
    if not len(rows.common[0]):
        return Counter()
    topics = rows.common[0].cells.column("topic").to_pylist()
    return Counter(
        zip(topics, *(each.scores["recall"].tolist() for each in rows.common), strict=True)
    )


def merged(frames):
    both = frames[0].merge(frames[1], on="query_id", suffixes=("", "_1"))
    every = both.merge(frames[2], on="query_id", suffixes=("", "_2"))
    return Counter(
        zip(every["topic"], every["recall"], every["recall_1"], every["recall_2"], strict=True)
    )


def fold(engine, tables, columns=COLUMNS):
    return engine.fold_aligned(tables, StateOfEach((QueryCounts.of, count_rows)), columns).parts


def assert_merged(found, frames):
    counts, rows = found
    assert rows == merged(frames)
    sets = [set(frame["query_id"]) for frame in frames]
    common = set.intersection(*sets)
    assert counts.n_common == len(common)
    assert counts.n_others == len(set.union(*sets) - common)
    assert counts.rows == tuple(map(len, frames))
    assert counts.first_others == tuple(tuple(sorted(ids - common)[:5]) for ids in sets)


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb", "auto"])
@pytest.mark.parametrize("order", ORDERS)
def test_rows_are_those_of_merge(three, make_table, engine, order):
    if engine == "stream" and order == "shuffled":
        pytest.skip("needs ids in order")
    change = ORDERS[order]
    frames = [change(frame) if order == "by length" else frame for frame in three]
    frames[1] = change(three[1])
    tables = [make_table(frame, name) for frame, name in zip(frames, "abc", strict=True)]
    assert_merged(fold(engine_of(engine), tables), frames)


@pytest.mark.parametrize("rows_of_part", [7, 40, 10_000])
def test_the_size_of_parts_moves_no_row(three, make_table, monkeypatch, rows_of_part):
    monkeypatch.setattr(pieces, "ROWS_OF_PART", rows_of_part)
    tables = [make_table(frame, name) for frame, name in zip(three, "abc", strict=True)]
    assert_merged(fold(engine_of("stream"), tables), three)


def test_tables_without_a_common_query_have_none(three, make_table):
    frames = [three[0], three[1].assign(query_id="x" + three[1]["query_id"]), three[2]]
    tables = [make_table(frame, name) for frame, name in zip(frames, "abc", strict=True)]
    assert_merged(fold(engine_of("stream"), tables), frames)


def test_repeated_ids_are_named(three, make_table):
    frames = [three[0], pd.concat([three[1], three[1].iloc[[3]]]), three[2]]
    tables = [make_table(frame, name) for frame, name in zip(frames, "abc", strict=True)]
    for engine in ("stream", "join", "duckdb", "auto"):
        with pytest.raises(DataError, match="b: query ids must be unique"):
            fold(engine_of(engine), tables)


def test_the_automatic_engine_joins_only_what_is_in_no_order(three, make_table):
    engine = engine_of("auto")
    tables = [make_table(frame, name) for frame, name in zip(three, "abc", strict=True)]
    fold(engine, tables)
    assert engine.name == "stream"
    fold(engine, [*tables[:2], make_table(ORDERS["shuffled"](three[2]), "d")])
    assert engine.name == "join"
    with pytest.raises(UnorderedIdsError, match="'a', 'b' and 'd' sorted, or in the same order"):
        fold(engine_of("stream"), [*tables[:2], make_table(ORDERS["shuffled"](three[2]), "d")])


def test_names_of_columns_do_not_reach_the_query_of_duckdb(three, make_table):
    frames = [frame.rename(columns={"topic": 'a "b"; --'}) for frame in three]
    tables = [make_table(frame, name) for frame, name in zip(frames, "abc", strict=True)]
    columns = [TableColumns(("recall",), ('a "b"; --',)), *COLUMNS[1:]]
    total = engine_of("duckdb").fold_aligned(tables, QueryCounts.of, columns)
    assert total.n_common == sum(merged(three).values())


# -- Dask

cloudpickle = pytest.importorskip("cloudpickle", reason="needs the extra 'dask'")
# The workers do not have this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_workers_give_the_rows_of_merge(three, make_table, scheduler, monkeypatch, order):
    monkeypatch.setattr(id_ranges, "_ROWS_OF_RANGE", 100)
    monkeypatch.setattr(id_buckets, "_ROWS_OF_BUCKET", 100)
    frames = [three[0], ORDERS[order](three[1]), three[2]]
    tables = [make_table(frame, name) for frame, name in zip(frames, "abc", strict=True)]
    ranges = cut_into_ranges(*tables)
    assert (ranges is not None and len(ranges) > 2) == (order == "sorted")
    assert_merged(fold(engine_of("dask", scheduler=scheduler), tables), frames)


def test_workers_name_repeated_ids(three, make_table, scheduler):
    frames = [three[0], pd.concat([three[1], three[1].iloc[[3]]]), three[2]]
    tables = [make_table(frame, name) for frame, name in zip(frames, "abc", strict=True)]
    with pytest.raises(DataError, match="b: query ids must be unique"):
        fold(engine_of("dask", scheduler=scheduler), tables)

"""The workers of a Dask cluster give the pairs of pandas' merge and the numbers of one process."""

import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, history, rank
from rageval_report.errors import DataError, ReaderError
from rageval_report.scale import id_buckets, id_ranges
from rageval_report.scale.engines.automatic import engine_of
from rageval_report.scale.engines.base import PairedColumns
from rageval_report.scale.id_ranges import cut_into_ranges, fold_range
from rageval_report.scale.mergeable import StateOfEach, add_states
from rageval_report.scale.pairs import CommonIds, UnorderedIdsError
from rageval_report.scale.pieces import FileSchema

distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
cloudpickle = pytest.importorskip("cloudpickle", reason="needs the extra 'dask'")
dask_cluster = pytest.importorskip("rageval_report.scale.engines.dask_cluster")

COLUMNS = PairedColumns(("recall",), ("recall",), ("topic",))
# The workers do not have this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ORDERS = {
    "sorted": lambda frame: frame,
    "shuffled": lambda frame: frame.sample(frac=1, random_state=4),
    "by length": lambda frame: frame.assign(
        query_id=frame["query_id"].str.replace("q0*", "q", regex=True)
    ),
    "integers": lambda frame: frame.assign(query_id=frame["query_id"].str[1:].astype(int)),
    "integers below 0": lambda frame: frame.assign(
        query_id=frame["query_id"].str[1:].astype(int) - 300
    ),
}


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch):
    """Ranges and buckets of some hundred rows, so that there are several."""
    monkeypatch.setattr(id_ranges, "_ROWS_OF_RANGE", 100)
    monkeypatch.setattr(id_buckets, "_ROWS_OF_BUCKET", 100)


def count_pairs(rows):
    """Each pair of scores with the topic, counted."""
    topics = rows.before.cells.column("topic").to_pylist() if len(rows.before) else []
    scores = (rows.before.scores["recall"].tolist(), rows.after.scores["recall"].tolist())
    return Counter(zip(topics, *scores, strict=True))


def merged(first, second):
    both = first.merge(second, on="query_id", suffixes=("", "_after"))
    return Counter(zip(both["topic"], both["recall"], both["recall_after"], strict=True))


def fold(scheduler, *tables, partial=count_pairs):
    engine = engine_of("dask", scheduler=scheduler)
    return engine.fold_pairs(*tables, StateOfEach((CommonIds.of, partial)), COLUMNS).parts


@pytest.mark.parametrize("order", ORDERS)
def test_pairs_are_those_of_merge(frames, make_table, scheduler, order):
    first, second = frames[0], ORDERS[order](frames[1])
    if order != "shuffled":
        first = ORDERS[order](first)
    common, counts = fold(scheduler, make_table(first, "a"), make_table(second, "b"))
    assert counts == merged(first, second)
    alone = sorted(map(str, set(first["query_id"]) - set(second["query_id"])))
    assert (common.n_common, common.n_only_before) == (sum(counts.values()), len(alone))
    assert list(common.only_before) == alone[:5]


def test_details_come_from_both_tables(frames, make_table, scheduler):
    columns = PairedColumns((), (), ("topic",), ("topic",))
    engine = engine_of("dask", scheduler=scheduler)
    first, second = frames[0], ORDERS["shuffled"](frames[1])
    state = engine.fold_pairs(make_table(first, "a"), make_table(second, "b"), topics, columns)
    both = first.merge(second, on="query_id", suffixes=("", "_after"))
    assert state == Counter(zip(both["topic"], both["topic_after"], strict=True))


def topics(rows):
    """Each pair of topics, counted."""
    if not len(rows.before):
        return Counter()
    sides = (side.cells.column("topic").to_pylist() for side in (rows.before, rows.after))
    return Counter(zip(*sides, strict=True))


def test_rows_are_folded_in_their_order(frames, make_table, scheduler):
    table = make_table(frames[0], "a", rows_of_group=20)
    ids = engine_of("dask", scheduler=scheduler).fold(table, list_ids, ())
    assert ids == frames[0]["query_id"].tolist()


def list_ids(rows):
    return rows.ids.to_pylist()


@dataclass(frozen=True)
class DiesOnce:
    """Kills the process of the worker that is the first to call it."""

    mark: Path

    def __call__(self, rows):
        die_once(self.mark)
        return count_pairs(rows)


def die_once(mark):
    """Kill this process, unless another one was killed for the same mark."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        pass


@dataclass(frozen=True)
class MostHeld:
    """The most results that a worker held while a part was read, and the number of parts."""

    results: int
    parts: int = 1

    @classmethod
    def of(cls, rows):
        np.sort(np.random.default_rng(0).random(1 << 19))  # as long as a part of a large file takes
        return cls(len(distributed.get_worker().data))

    def __add__(self, other):
        return MostHeld(max(self.results, other.results), self.parts + other.parts)


def test_states_are_added_while_other_parts_are_read(frames, make_table, scheduler, monkeypatch):
    monkeypatch.setattr(id_ranges, "_ROWS_OF_RANGE", 10)
    tables = [
        make_table(frame, name, rows_of_group=5) for frame, name in zip(frames, "ab", strict=True)
    ]
    _, held = fold(scheduler, *tables, partial=MostHeld.of)
    assert held.parts > 50
    assert held.results < held.parts / 4  # a worker reads half of the parts


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_a_worker_that_is_killed_changes_nothing(frames, make_table, scheduler, tmp_path, order):
    first, second = frames[0], ORDERS[order](frames[1])
    tables = make_table(first, "a"), make_table(second, "b")
    mark = tmp_path / "killed"
    _, counts = fold(scheduler, *tables, partial=DiesOnce(mark))
    assert mark.exists()
    assert counts == merged(first, second)


@pytest.fixture
def scans(tmp_path, scheduler, monkeypatch):
    """The same three pipelines, scanned by Dask and by one process; the last is in no order."""
    monkeypatch.setattr(id_ranges, "_ROWS_OF_RANGE", 3000)
    monkeypatch.setattr(id_buckets, "_ROWS_OF_BUCKET", 3000)
    rng = np.random.default_rng(8)
    n = 9000
    for name, shift in (("bm25", 0.0), ("dense", 0.01), ("hybrid", 0.03)):
        rows = np.sort(rng.permutation(n)[: n - 50])
        frame = pd.DataFrame(
            {
                "query_id": [f"q{number:05d}" for number in rows],
                "hit@5": (rng.random(len(rows)) < 0.6 + shift).astype("float32"),
                "faithfulness": rng.integers(0, 6, len(rows)) / 5,
                "similarity": rng.beta(4, 2, len(rows)) * 0.9 + shift,
                "question": [f"What is {number}?" for number in rows],
                "document": [f"doc {number % 300}" for number in rows],
            }
        )
        frame.loc[::97, "faithfulness"] = np.nan
        frame = frame.sample(frac=1, random_state=2) if name == "hybrid" else frame
        frame.to_parquet(tmp_path / f"{name}.parquet", index=False, row_group_size=2500)

    def open_scans(**options):
        names = ("bm25", "dense", "hybrid")
        return [RAGPipelineEvaluation.scan(tmp_path / f"{n}.parquet", **options) for n in names]

    return open_scans(engine="dask", scheduler=scheduler), open_scans(engine="auto")


WESTFALL_YOUNG = {"correction": "westfall-young", "n_resamples": 199}
METHODS = {
    "report": lambda runs: runs[0].evaluation_report(),
    "thresholds": lambda runs: runs[0].find_thresholds(),
    "failures": lambda runs: runs[0].failures("faithfulness", "p25", k=40),
    "sorted comparison": lambda runs: compare(*runs[:2]),
    "comparison": lambda runs: compare(runs[0], runs[2]),
    "clusters": lambda runs: compare(*runs[:2], clusters="document"),
    "westfall-young": lambda runs: compare(*runs, **WESTFALL_YOUNG),
    "ranking": lambda runs: rank(*runs),
    "ranking by flips": lambda runs: rank(*runs, **WESTFALL_YOUNG),
    "pairs": lambda runs: rank(*runs).pairs,
    "friedman": lambda runs: rank(*runs).friedman,
    "history": lambda runs: history(list(runs)),
}


# Sums of clusters are added in another order, and the limits of an interval are searched.
SEARCHED = {"clusters": ("hit@5", "faithfulness", "similarity")}


def assert_same_result(ours, expected, searched=()):
    """Lattice metrics equal to the last bit, others up to 1e-12; what is searched up to 1e-9."""
    assert list(ours.notes) == list(expected.notes)
    exact = {"hit@5", "faithfulness"} - set(searched) if "metric" in ours.frame else set()
    if exact:
        frames = [result.frame[result.frame["metric"].isin(exact)] for result in (ours, expected)]
        pd.testing.assert_frame_equal(*frames, check_exact=True)
    rtol = 1e-9 if searched else 1e-12
    pd.testing.assert_frame_equal(ours.frame, expected.frame, rtol=rtol)


@pytest.mark.parametrize("method", METHODS)
def test_results_are_those_of_one_process(scans, method):
    ours, expected = (METHODS[method](runs) for runs in scans)
    assert ours.settings.get("engine", "dask") == "dask"
    assert_same_result(ours, expected, SEARCHED.get(method, ()))


@dataclass(frozen=True)
class DiesFirst:
    """A function whose first call kills the process of its worker."""

    mark: Path
    function: object

    def __call__(self, *arguments):
        die_once(self.mark)
        return self.function(*arguments)


@pytest.mark.parametrize("method", ["clusters", "westfall-young", "ranking", "history"])
def test_results_are_the_same_if_a_worker_is_killed(scans, tmp_path, monkeypatch, method):
    mark = tmp_path / "killed"
    submit = dask_cluster._Tasks.submit

    def submit_deadly(tasks, function, arguments, **options):
        return submit(tasks, DiesFirst(mark, function), arguments, **options)

    monkeypatch.setattr(dask_cluster._Tasks, "submit", submit_deadly)
    ours, expected = (METHODS[method](runs) for runs in scans)
    assert mark.exists()
    assert_same_result(ours, expected, SEARCHED.get(method, ()))


@pytest.mark.parametrize("place", [0, 14, 17, 18])
def test_a_worker_that_is_killed_while_it_adds_states_changes_nothing(
    frames, make_table, scheduler, tmp_path, monkeypatch, place
):
    """The parts of the sums that it held were forgotten, and are read again."""
    mark, submit, adding = tmp_path / "killed", dask_cluster._Tasks.submit, []

    def submit_deadly(tasks, function, arguments, **options):
        if function is dask_cluster._add_neighbours:
            adding.append(function)
            if len(adding) == place + 1:
                function = DiesFirst(mark, function)
        return submit(tasks, function, arguments, **options)

    monkeypatch.setattr(dask_cluster._Tasks, "submit", submit_deadly)
    monkeypatch.setattr(id_ranges, "_ROWS_OF_RANGE", 10)
    tables = [
        make_table(frame, name, rows_of_group=10) for frame, name in zip(frames, "ab", strict=True)
    ]
    _, counts = fold(scheduler, *tables)
    assert mark.exists()
    assert len(adding) == 20
    assert counts == merged(*frames)


@pytest.mark.parametrize("side", [0, 1])
def test_repeated_ids_are_named(frames, make_table, scheduler, side):
    changed = list(frames)
    ids = changed[side]["query_id"].tolist()
    ids[400] = ids[10]
    changed[side] = changed[side].assign(query_id=ids)
    tables = [make_table(frame, name) for frame, name in zip(changed, "ab", strict=True)]
    with pytest.raises(DataError, match=f"{'ab'[side]}: query ids must be unique; .* '{ids[10]}'"):
        fold(scheduler, *tables)


def test_the_error_of_a_worker_names_the_file_without_a_remote_traceback(
    frames, make_table, scheduler, tmp_path
):
    tables = [make_table(frame, name) for frame, name in zip(frames, "ab", strict=True)]
    content = bytearray((tmp_path / "b.parquet").read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    (tmp_path / "b.parquet").write_bytes(content)
    with pytest.raises(ReaderError, match=r"b\.parquet: this file is damaged") as caught:
        fold(scheduler, *tables)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert not any("worker" in str(entry.path) for entry in caught.traceback)


def fail(rows):
    raise ZeroDivisionError("of this worker")


def test_any_other_error_of_a_worker_is_one_sentence(frames, make_table, scheduler):
    engine = engine_of("dask", scheduler=scheduler)
    with pytest.raises(DataError, match=r"a worker of .* failed: ZeroDivisionError: of this"):
        engine.fold(make_table(frames[0], "a"), fail, ())


def test_a_file_that_workers_cannot_see_says_where_files_must_be(
    frames, make_table, scheduler, tmp_path, monkeypatch
):
    tables = [make_table(frame, name) for frame, name in zip(frames, "ab", strict=True)]
    (tmp_path / "b.parquet").rename(tmp_path / "elsewhere.parquet")
    ranges = cut_into_ranges(tables[0], tables[0])
    monkeypatch.setattr(
        "rageval_report.scale.engines.dask_cluster.cut_into_ranges",
        lambda *_: [
            id_ranges.IdRange(tuple(tables), None, None, each.order) for each in ranges[:1]
        ],
    )
    with pytest.raises(ReaderError, match=r"b\.parquet: the file does not exist"):
        fold(scheduler, *tables)
    # As this machine has the file, only the workers lack it.
    monkeypatch.setattr(Path, "exists", lambda path: True)
    with pytest.raises(ReaderError, match="where every worker can read them"):
        fold(scheduler, *tables)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://here", "tcp://"])
def test_a_scheduler_that_does_not_answer_is_refused(frames, make_table, monkeypatch, address):
    monkeypatch.setattr("rageval_report.scale.engines.dask_clients._PATIENCE", 0.3)
    with pytest.raises(DataError, match="scheduler must be the address of a running Dask"):
        engine_of("dask", scheduler=address).fold(make_table(frames[0], "a"), len, ())


@pytest.mark.parametrize("engine", ["stream", "duckdb", "auto"])
def test_other_engines_have_no_scheduler(engine):
    with pytest.raises(DataError, match='scheduler is for engine="dask"'):
        engine_of(engine, scheduler="tcp://127.0.0.1:8786")


def test_the_memory_of_other_peoples_workers_is_not_set():
    with pytest.raises(DataError, match="memory_limit is a setting of workers"):
        engine_of("dask", scheduler="tcp://127.0.0.1:8786", memory_limit="1GB")


def test_a_memory_limit_is_a_size(frames, make_table):
    with pytest.raises(DataError, match="memory_limit must be a size"):
        engine_of("dask", memory_limit="lots").fold(make_table(frames[0], "a"), len, ())


def test_without_a_scheduler_workers_start_here_and_need_no_main_guard(tmp_path):
    pd.DataFrame({"query_id": ["q1", "q2"], "recall": [0.5, 1.0]}).to_parquet(
        tmp_path / "hybrid.parquet", index=False
    )
    script = tmp_path / "script.py"
    script.write_text(
        "from rageval_report import RAGPipelineEvaluation\n"
        "scan = RAGPipelineEvaluation.scan('hybrid.parquet', engine='dask')\n"
        "print(scan.evaluation_report()['Recall'])\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stdout.strip() == "0.75", done.stderr


def test_workers_that_start_here_keep_memory_and_have_loaded_the_packages(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\n"
        "from rageval_report.scale.engines.dask_clients import client_of\n"
        "NAMES = ('MALLOC_ARENA_MAX', 'MIMALLOC_PURGE_DELAY', 'MALLOC_TRIM_THRESHOLD_')\n"
        "def look():\n"
        "    loaded = 'rageval_report.scale.engines.base' in sys.modules\n"
        "    return [*map(os.environ.get, NAMES), loaded]\n"
        "import rageval_report.scale.engines.base\n"
        "workers = client_of(None).run(look)\n"
        "print(len(workers) >= 1, *{tuple(seen) for seen in workers.values()})\n"
        "print(*map(os.environ.get, NAMES))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        # Dask's own setting, and ours where the environment has another one.
        env={
            **{name: value for name, value in os.environ.items() if "MALLOC" not in name},
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "MIMALLOC_PURGE_DELAY": "50",
        },
    )
    assert done.stdout.splitlines() == [
        f"True {('1', '50', str(2**28), True)}",
        "None 50 None",
    ], done.stderr


# -- ranges of ids, without a cluster


@pytest.mark.parametrize("order", ["sorted", "integers"])
@pytest.mark.parametrize("rows_of_group", [7, 70, 1000])
def test_ranges_divide_both_tables(frames, make_table, order, rows_of_group):
    first, second = (ORDERS[order](frame) for frame in frames)
    tables = make_table(first, "a", rows_of_group), make_table(second, "b", 90)
    ranges = cut_into_ranges(*tables)
    assert len(ranges) > 2 or rows_of_group == 1000
    metrics, details = (("recall",), ("recall",)), (("topic",), ())
    states = [fold_range(each, count_pairs, metrics, details) for each in ranges]
    counts, pairs = add_states(state for state in states if state is not None).parts
    assert pairs == merged(first, second)
    assert (counts.n_before, counts.n_after) == (len(first), len(second))


@pytest.mark.parametrize("order", ["shuffled", "by length", "integers below 0"])
def test_other_orders_have_no_ranges(frames, make_table, order):
    tables = [make_table(ORDERS[order](f), n) for f, n in zip(frames, "ab", strict=True)]
    assert cut_into_ranges(*tables) is None


def test_rows_out_of_order_within_a_group_are_seen(frames, make_table):
    swapped = frames[0].copy()
    swapped.loc[[20, 21]] = swapped.loc[[21, 20]].to_numpy()
    tables = make_table(swapped, "a"), make_table(frames[1], "b")
    columns = (("recall",), ("recall",)), (("topic",), ())
    first = cut_into_ranges(*tables)[0]
    with pytest.raises(UnorderedIdsError, match="'a' are not in order"):
        fold_range(first, count_pairs, *columns)


def test_statistics_that_leave_out_ids_lose_no_row(frames, make_table, scheduler, monkeypatch):
    """Groups that state narrower ranges than they have are read again, divided by a hash."""
    tables = [make_table(frame, name) for frame, name in zip(frames, "ab", strict=True)]
    stated = FileSchema.ranges

    def narrower(footer, column):
        return [(low, low) for low, _ in stated(footer, column)]

    monkeypatch.setattr(FileSchema, "ranges", narrower)
    _, counts = fold(scheduler, *tables)
    assert counts == merged(*frames)

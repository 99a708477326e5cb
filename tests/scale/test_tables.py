"""Opening tables beyond memory: files, folders, lazy frames of every engine, and bad input."""

from __future__ import annotations

import importlib.util
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scale_tables import dask_frame, ibis_table, polars_frame

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import ArgumentKindError, DataError, ReaderError, UnknownNameError
from rageval_report.scale import counted, tables
from rageval_report.scale.scan import EvaluationScan

pytest.importorskip("duckdb")

FRAME = pd.DataFrame(
    {
        "query_id": [f"q{i}" for i in range(40)],
        "Recall@5": [0.0, 0.5, 1.0, np.nan] * 10,
        "exact_match": [0, 1] * 20,
        "latency_ms": np.linspace(80.0, 900.0, 40) ** 1.01,
        "topic": ["tax", "law", None, "tax"] * 10,
    }
)
MEMORY = RAGPipelineEvaluation("run", FRAME)


def save(frame: pd.DataFrame, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(path, index=False)
    return path


def duckdb_relation(table: pd.DataFrame, folder: Path) -> Any:
    import duckdb

    return duckdb.connect().sql(f"select * from '{save(table, folder / 'run.parquet')}'")


def check_equal(scan: EvaluationScan) -> None:
    """The report, the slices and the failures of memory."""
    assert scan.metrics == MEMORY.metrics
    pairs = [
        (MEMORY.evaluation_report(), scan.evaluation_report()),
        (MEMORY.slices("topic"), scan.slices("topic")),
    ]
    for ours, theirs in pairs:
        pd.testing.assert_frame_equal(ours.frame, theirs.frame, check_dtype=False, rtol=1e-9)
    worst = scan.failures("recall@5", 0.7, k=3)
    assert worst.frame.index.tolist() == ["q0", "q12", "q16"]
    assert worst.notes[0] == MEMORY.failures("recall@5", 0.7).notes[0]


# What Dask, Ibis and Spark call in other libraries is their business.
ignore_warnings_of_engines = pytest.mark.filterwarnings(
    *("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning")
)


@ignore_warnings_of_engines
@pytest.mark.parametrize(
    ("engine", "opener"),
    [
        ("duckdb", duckdb_relation),
        ("polars", polars_frame),
        ("dask", dask_frame),
        ("ibis", ibis_table),
    ],
)
def test_every_engine_gives_the_same_numbers(
    engine: str, opener: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Counted in cells, as a large table is.
    monkeypatch.setattr(counted, "MOST_LISTED_ROWS", 0)
    scan = RAGPipelineEvaluation.scan(opener(FRAME, tmp_path), name="run")
    check_equal(scan)
    assert scan.evaluation_report().settings["engine"] == engine


@ignore_warnings_of_engines
def test_spark_gives_the_same_numbers(tmp_path: Path) -> None:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("needs pyspark and Java")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    try:
        path = save(FRAME, tmp_path / "run.parquet")
        check_equal(RAGPipelineEvaluation.scan(path, engine="spark"))
    finally:
        session.stop()


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".csv.gz"])
def test_text_files_are_read_as_parquet_is(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{suffix}"
    if suffix == ".jsonl":
        FRAME.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        FRAME.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    scan = RAGPipelineEvaluation.scan(path)
    assert scan.name == "run"
    check_equal(scan)


def test_parts_of_a_folder_are_one_table(tmp_path: Path) -> None:
    for place, part in enumerate((FRAME[:11], FRAME[11:])):
        save(part, tmp_path / "scores" / f"part-{place}.parquet")
    for source in (tmp_path / "scores", f"{tmp_path}/scores/*.parquet"):
        scan = RAGPipelineEvaluation.scan(source)
        assert (scan.name, scan.n_queries) == ("scores", 40)
    check_equal(RAGPipelineEvaluation.scan([*(tmp_path / "scores").iterdir()]))


def test_partitions_become_details(tmp_path: Path) -> None:
    for month, part in (("2026-01", FRAME[:20]), ("2026-02", FRAME[20:])):
        save(part, tmp_path / "lake" / f"month={month}" / "part-0.parquet")
    scan = RAGPipelineEvaluation.scan(tmp_path / "lake")
    groups = scan.slices("month", "exact_match").frame
    assert groups[["month", "n"]].to_numpy().tolist() == [["2026-01", 20], ["2026-02", 20]]
    assert scan.name == "lake"


def test_a_saved_description_is_kept(tmp_path: Path) -> None:
    metrics = {"stars": {"bounds": (1, 5), "title": "Stars of 5"}}
    rows = {"query_id": ["a", "b", "c"], "stars": [3, 4, 5]}
    saved = RAGPipelineEvaluation("rated", rows, metrics=metrics, config={"top_k": 5})
    scan = RAGPipelineEvaluation.scan(saved.save(tmp_path / "rated.parquet"))
    assert scan.metrics["stars"].title == "Stars of 5"
    assert scan.config == {"top_k": 5}


def test_an_evaluation_in_memory_is_collected(tmp_path: Path) -> None:
    scan = RAGPipelineEvaluation.scan(save(FRAME, tmp_path / "run.parquet"))
    collected = scan.collect()
    pd.testing.assert_frame_equal(collected.scores, MEMORY.scores)
    assert repr(scan).startswith("EvaluationScan('run', ")


# -- what the columns are, by all rows


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        ([0.0, 1.0] * 10 + [0.5], "proportion"),
        ([0.0, 1.0] * 10 + [3.0], "ordinal"),
        ([0.0, 1.0] * 10 + [-2.5], "real"),
        ([0.0, 1.0] * 10 + [1.0], "binary"),
    ],
)
def test_a_late_row_decides_what_a_metric_is(
    scores: list[float], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MOST_HEAD", 10)
    rows = pd.DataFrame({"query_id": [f"q{i}" for i in range(21)], "my_score": scores})
    scan = RAGPipelineEvaluation.scan(save(rows, tmp_path / "run.parquet"), metrics=["my_score"])
    memory = RAGPipelineEvaluation("run", rows, metrics=["my_score"])
    assert scan.metrics["my_score"].kind == kind
    assert scan.metrics == memory.metrics
    assert scan.notes == memory.notes


def test_a_doubt_counts_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_HEAD", 15)
    rows = FRAME.assign(**{"Recall@5": 0.0, "mrr": np.tile([0.5, 1.0], 20)})
    path = save(rows, tmp_path / "run.parquet")
    assert RAGPipelineEvaluation.scan(path).notes == RAGPipelineEvaluation("run", rows).notes
    with pytest.raises(DataError, match=r"strict: 1 doubt .* all 40 scored queries"):
        RAGPipelineEvaluation.scan(path, strict=True).evaluation_report()
    allowed = RAGPipelineEvaluation.scan(path, strict=True, allow="constant_metric")
    assert allowed.notes[0].startswith("allowed by constant_metric")


def test_scores_slightly_outside_are_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_HEAD", 10)
    rows = FRAME.assign(**{"Recall@5": [0.5] * 30 + [1.0005] * 10})
    scan = RAGPipelineEvaluation.scan(save(rows, tmp_path / "run.parquet"))
    memory = RAGPipelineEvaluation("run", rows)
    assert scan.notes == memory.notes
    assert scan.get_aggregated_scores("recall@5") == pytest.approx(0.625, rel=1e-15)
    assert scan.table.ranges["recall@5"].high == 1.0


# -- bad input


def changed(**columns: Any) -> pd.DataFrame:
    """The table with other cells in its last rows."""
    frame = FRAME.astype({"query_id": object, "Recall@5": object, "latency_ms": float})
    for name, value in columns.items():
        frame.loc[39, name.replace("recall", "Recall@5")] = value
    return frame


@pytest.mark.parametrize("most_head", [10, 10_000])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"query_id": "q7"}, "appear more than once: 'q7'"),
        ({"query_id": None}, "every row needs a query id"),
        ({"query_id": "  "}, "every row needs a query id"),
        ({"latency_ms": np.inf}, "finite.*inf at 'q39'"),
        ({"recall": 7.0}, "must lie between 0 and 1; got 7 at 'q39'"),
    ],
)
def test_bad_rows_are_named(
    columns: dict[str, Any],
    message: str,
    most_head: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "MOST_HEAD", most_head)
    frame = changed(**columns).astype({"Recall@5": float})
    scan = RAGPipelineEvaluation.scan(save(frame, tmp_path / "run.parquet"))
    with pytest.raises(ReaderError, match=message):
        scan.evaluation_report()


def test_a_cell_of_text_is_named(tmp_path: Path) -> None:
    changed(recall="most of it").to_csv(tmp_path / "run.csv", index=False)
    with pytest.raises(ReaderError, match=r"run\.csv.*'most of it' at 'q39'"):
        RAGPipelineEvaluation.scan(tmp_path / "run.csv").find_thresholds()


def test_words_for_a_missing_score_are_read_and_other_words_are_named(tmp_path: Path) -> None:
    words = ["0.5", "None", "", "-", "nan", "0.25", " 1 ", "1e-1"] * 5
    FRAME.assign(**{"Recall@5": words}).to_csv(path := tmp_path / "run.csv", index=False)
    memory, scan = RAGPipelineEvaluation.load("run", path), RAGPipelineEvaluation.scan(path)
    assert scan.get_aggregated_scores("recall@5") == memory.get_aggregated_scores("recall@5")
    FRAME.assign(**{"Recall@5": ["(Failed)", *words[1:]]}).to_csv(path, index=False)
    with pytest.raises(ReaderError, match=r"run\.csv.*'\(Failed\)' at 'q0'.*read_scores"):
        RAGPipelineEvaluation.scan(path).evaluation_report()


@ignore_warnings_of_engines
def test_a_table_of_sqlite_is_counted_by_ibis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ibis")
    monkeypatch.setattr(counted, "MOST_LISTED_ROWS", 0)
    with sqlite3.connect(tmp_path / "scores.sqlite") as connection:
        FRAME.to_sql("run", connection, index=False)
    connection.close()
    check_equal(RAGPipelineEvaluation.scan(f"sqlite:///{tmp_path}/scores.sqlite?table=run"))


def test_tables_of_databases_are_counted_where_they_are(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(tmp_path / "scores.duckdb") as connection:
        connection.register("frame", FRAME)
        connection.execute("create table run as select * from frame")
    address = f"duckdb:///{tmp_path}/scores.duckdb?table="
    check_equal(RAGPipelineEvaluation.scan(f"{address}run"))
    with pytest.raises(ReaderError, match="'walk' cannot be opened"):
        RAGPipelineEvaluation.scan(f"{address}walk")
    with pytest.raises(ReaderError, match=r"needs \?table=NAME"):
        RAGPipelineEvaluation.scan(address.removesuffix("table="))
    with pytest.raises(DataError, match="read it whole by read_scores"):
        RAGPipelineEvaluation.scan("phoenix://localhost/project")


def test_sources_that_cannot_be_scanned(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"no Parquet")
    other = tmp_path / "run.xlsx"
    other.write_bytes(b"x")
    path = save(FRAME, tmp_path / "run.parquet")
    FRAME.to_csv(tmp_path / "run.csv", index=False)
    scan = RAGPipelineEvaluation.scan
    with pytest.raises(ReaderError, match="there is no such file"):
        scan(tmp_path / "missing.parquet")
    with pytest.raises(ReaderError, match="duckdb cannot open the file"):
        scan(damaged)
    with pytest.raises(DataError, match="is none of these"):
        scan(other)
    with pytest.raises(DataError, match="files of one kind"):
        scan([path, tmp_path / "run.csv"])
    with pytest.raises(ArgumentKindError, match="lazy frame"):
        scan(FRAME)
    with pytest.raises(DataError, match="cannot open the file"):
        scan(path, memory_limit="much")
    with pytest.raises(ValueError, match="engine must be"):
        scan(path, engine="stream")
    with pytest.raises(DataError, match="the table is empty"):
        scan(save(FRAME[:0], tmp_path / "empty.parquet")).evaluation_report()


def test_groups_that_are_none(tmp_path: Path) -> None:
    scan = RAGPipelineEvaluation.scan(save(FRAME, tmp_path / "run.parquet"))
    with pytest.raises(UnknownNameError, match="topics"):
        scan.slices("topics")
    every = FRAME.assign(note=[f"n{i}" for i in range(40)])
    scan = RAGPipelineEvaluation.scan(save(every, tmp_path / "every.parquet"))
    with pytest.raises(DataError, match="no groups to compare"):
        scan.slices("note")

"""Random small tables: scans of every engine say what memory says, which is the second witness."""

from __future__ import annotations

from pathlib import Path

import pytest
from scale_tables import (
    QUESTIONS,
    Engine,
    check_random_table,
    dask_frame,
    ibis_table,
    polars_frame,
)

pytest.importorskip("duckdb")

SEEDS = range(1000 * len(QUESTIONS), 1001 * len(QUESTIONS))


@pytest.mark.parametrize("question", range(len(QUESTIONS)))
def test_files_read_by_duckdb(question: int, tmp_path: Path) -> None:
    for seed in (question, question + len(QUESTIONS)):
        (folder := tmp_path / str(seed)).mkdir()
        check_random_table(seed, folder)


# Ibis calls a function that DuckDB has renamed, and reads an option that pandas drops.
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*infer_string:DeprecationWarning")
@pytest.mark.parametrize(
    ("engine", "seed"),
    [
        *((polars_frame, seed) for seed in SEEDS),
        # These take seconds for each; `benchmarks/check_scans.py` asks them everything.
        *((dask_frame, seed) for seed in SEEDS[::3]),
        *((ibis_table, seed) for seed in SEEDS[1::2]),
    ],
)
def test_lazy_frames_of_other_engines(engine: Engine, seed: int, tmp_path: Path) -> None:
    check_random_table(seed, tmp_path, engine)

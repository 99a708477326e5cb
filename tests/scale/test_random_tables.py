"""Random small tables: scans of every engine say what memory says, which is the second witness."""

from __future__ import annotations

from pathlib import Path

import pytest
from scale_tables import QUESTIONS, Engine, check_random_table

pytest.importorskip("duckdb")


@pytest.mark.parametrize("block", range(2))
def test_files_read_by_duckdb(block: int, tmp_path: Path) -> None:
    for seed in range(20 * block, 20 * block + 20):
        (folder := tmp_path / str(seed)).mkdir()
        check_random_table(seed, folder)


@pytest.mark.parametrize("seed", range(1000, 1000 + len(QUESTIONS)))
def test_lazy_frames_of_other_engines(engine: Engine, seed: int, tmp_path: Path) -> None:
    check_random_table(seed, tmp_path, engine)

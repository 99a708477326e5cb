"""What was put into a bucket comes out of it, through a file or not."""

import numpy as np
import pyarrow as pa
import pytest

from rageval_report.scale.spilled_tables import SpilledTables


def table_of(numbers):
    texts = pa.array([f"text {number}" for number in numbers], pa.string()).dictionary_encode()
    return pa.table({"number": pa.array(numbers, pa.int64()), "text": texts})


@pytest.mark.parametrize("most_bytes", [0, 700, 10**9])
def test_rows_come_out_in_the_order_in_which_they_were_added(tmp_path, most_bytes):
    rng = np.random.default_rng(2)
    added = {bucket: [] for bucket in range(3)}
    with SpilledTables(tmp_path / "rows", 4, most_bytes) as spilled:
        for _ in range(20):
            parts = [rng.integers(0, 99, rng.integers(0, 5)).tolist() for _ in added]
            for bucket, part in enumerate(parts):
                added[bucket] += part
            spilled.add([*map(table_of, parts), table_of([])])
        for bucket, numbers in added.items():
            popped = spilled.pop(bucket)
            assert popped.column("number").to_pylist() == numbers
            assert popped.column("text").to_pylist() == [f"text {number}" for number in numbers]
        assert spilled.pop(3) is None
    assert (tmp_path / "rows").exists() == (most_bytes < 10**9)

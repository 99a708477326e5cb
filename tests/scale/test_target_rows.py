"""Numbers by bucket come back in the order of the rows, from memory or from files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.scale.target_rows import SpilledNumbers, TargetRows

LITTLE, MUCH = 30, 10**6


@pytest.mark.parametrize("most_bytes", [LITTLE, MUCH])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@given(
    buckets=st.lists(st.integers(0, 4), max_size=60),
    n_parts=st.integers(1, 5),
    n_taken=st.integers(1, 20),
)
def test_numbers_are_in_the_order_of_their_rows(
    tmp_path_factory, most_bytes, kind, buckets, n_parts, n_taken
):
    folder = tmp_path_factory.mktemp("targets") / "new"
    rows = TargetRows(folder, 5, np.dtype(kind), most_bytes)
    listed = np.array(buckets, dtype=np.uint8)
    numbers = np.random.default_rng(len(listed)).integers(-1, 1000, len(listed))
    for part in np.array_split(listed, n_parts):
        rows.add_rows(part)
    for bucket in range(5):
        rows.add_bucket(numbers[listed == bucket])
    taken = []
    while len(part := rows.take(n_taken)):
        taken += part.tolist()
    assert taken == numbers.tolist()
    if most_bytes == MUCH or len(listed) > LITTLE:
        assert folder.exists() == (most_bytes == LITTLE)


def test_what_is_added_after_a_read_is_read_too(tmp_path):
    numbers = SpilledNumbers(tmp_path / "new" / "numbers", np.dtype(np.int32), LITTLE)
    numbers.append(np.arange(20))
    assert numbers.read(18, 5).tolist() == [18, 19]
    numbers.append(np.arange(20, 23))
    assert numbers.read(18, 5).tolist() == [18, 19, 20, 21, 22]
    assert (tmp_path / "new" / "numbers").stat().st_size == 23 * 4

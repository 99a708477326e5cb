"""What it costs to make the checked table of scores: CPU time, and copies of the numbers.

    python benchmarks/bench_construct.py [--sizes 1000 1000000] [--rounds 5]

Held is what the new table keeps beside the rows that were given, peak the most there was on the
way; both in units of the numbers themselves (queries x 10 metrics x 8 bytes), as tracemalloc counts
them. The time is table_rows beside that of a plain copy of the frame.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable

import pandas as pd
import polars as pl
from timing import cpu_times, markdown, run_both_ways, score_columns, seconds

from rageval_report.scores import score_table

Make = Callable[[pd.DataFrame], object]

# The same rows in the forms in which they come.
FORMS: dict[str, Make] = {
    "pandas": lambda frame: frame,
    "pandas, ids as objects": lambda frame: frame.astype({"query_id": object}),
    "pandas, nullable": lambda frame: frame.convert_dtypes(),
    "pandas, ids are numbers": lambda frame: frame.assign(query_id=range(len(frame))),
    "polars": pl.from_pandas,
    "dict of arrays": lambda frame: {name: frame[name].to_numpy() for name in frame},
}


def rows(n: int) -> pd.DataFrame:
    columns = {f"metric_{k}": column for k, column in enumerate(score_columns(n))}
    return pd.DataFrame({"query_id": [f"query-{row:07d}" for row in range(n)], **columns})


def copies(data: object, n: int) -> tuple[float, float]:
    """Memory that the table keeps, and the peak, in multiples of the size of the numbers."""
    tracemalloc.start()
    table = score_table(data)
    retained, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    numbers = 8 * n * table.scores.shape[1]
    return retained / numbers, peak / numbers


def compare(n: int, rounds: int) -> list[list[str]]:
    frame = rows(n)
    inputs = {name: make(frame) for name, make in FORMS.items()}
    contenders = {name: lambda data=data: score_table(data) for name, data in inputs.items()}
    spent = cpu_times({"copy": lambda: frame.copy(deep=True), **contenders}, rounds)
    table_rows = []
    for name, data in inputs.items():
        retained, peak = copies(data, n)
        ratio = f"{spent[name] / spent['copy']:.1f} x"
        cells = [f"{n:,}", name, seconds(spent[name]), ratio, f"{retained:.2f}", f"{peak:.2f}"]
        table_rows.append(cells)
    return table_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    table_rows = [row for n in options.sizes for row in compare(n, options.rounds)]
    print(markdown(["queries", "rows as", "CPU", "/ plain copy", "held", "peak"], table_rows))


if __name__ == "__main__":
    run_both_ways(main)

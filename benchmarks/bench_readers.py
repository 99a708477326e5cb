"""What it costs to read a file of scores: CPU time of `read` beside that of pandas.

    python benchmarks/bench_readers.py [--sizes 1000 100000 400000] [--rounds 5]
        [--digits 6]

The files are made by the script: an id and ten metrics, without texts and with a question and an
answer. `read` recognises the format, checks every line, and gives the frame that is then scored;
pandas is told the format. Each row is measured in a process of its own: after 31 MB were freed in
the same process, pandas took 0.22 to 0.25 s for a CSV file with texts, and 0.31 to 0.33 s before.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import pandas as pd
from timing import (
    cpu_times,
    in_fresh_process,
    markdown,
    run_both_ways,
    score_columns,
    seconds,
)

from rageval_report.readers import read

PEERS = {"csv": pd.read_csv, "jsonl": lambda path: pd.read_json(path, lines=True)}


def rows(n: int, *, has_texts: bool, digits: int = 6) -> pd.DataFrame:
    columns = {f"metric_{k}": column.round(digits) for k, column in enumerate(score_columns(n))}
    ids = [f"query-{row:07d}" for row in range(n)]
    texts = {
        "question": [f"What is said of the number {row}, and by whom?" for row in range(n)],
        "answer": [f'The number {row} is "even", as {row % 7} people say.' for row in range(n)],
    }
    return pd.DataFrame({"query_id": ids, **(texts if has_texts else {}), **columns})


def write_files(folder: Path, n: int, *, has_texts: bool, digits: int) -> list[Path]:
    frame = rows(n, has_texts=has_texts, digits=digits)
    paths = [folder / f"scores-{n}-{has_texts}.{suffix}" for suffix in PEERS]
    frame.to_csv(paths[0], index=False)
    frame.to_json(paths[1], orient="records", lines=True)
    return paths


def table_row(path: Path, n: int, rounds: int, kind: str) -> list[str]:
    suffix = path.suffix[1:]
    read_with_pandas = PEERS[suffix]
    contenders = {"pandas": lambda: read_with_pandas(path), "read": lambda: read(path)}
    spent = cpu_times(contenders, rounds)
    ratio = f"{spent['read'] / spent['pandas']:.2f} x"
    return [f"{n:,}", suffix, kind, seconds(spent["pandas"]), seconds(spent["read"]), ratio]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000, 400_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--digits", type=int, default=6, help="decimals of the scores, 17 for all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        arguments = [
            (path, n, options.rounds, kind)
            for n in options.sizes
            for kind in ("scores", "with texts")
            for path in write_files(
                Path(folder), n, has_texts=kind == "with texts", digits=options.digits
            )
        ]
        table_rows = [in_fresh_process(table_row, *each) for each in arguments]
    print(markdown(["rows", "file", "columns", "pandas", "read", "ratio"], table_rows))


if __name__ == "__main__":
    run_both_ways(main)

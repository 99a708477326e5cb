"""What `import rageval_report` costs beside `import pandas`, each in a fresh process.

The last rows are commands for 200 queries, set against a line of pandas that describes them.

    python benchmarks/bench_import.py [--rounds 21]

The median CPU time (user and system) of whole processes, in turns, less that of one that imports
nothing. Bytecode is kept, as after an installation by pip, whatever the environment says: a process
that compiles every module first takes three times as long.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import markdown, run_both_ways, score_columns, seconds

FILE, CANDIDATE = "scores.csv", "candidate.csv"
DESCRIBE = "describe with pandas"
REPORT = f"rageval-report report {FILE}"
THRESHOLDS = f"rageval-report report --thresholds {FILE}"
FAILURES = f"rageval-report failures {FILE} --metric score_6 --threshold p25"
COMPARE = f"rageval-report compare {FILE} {CANDIDATE}"
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"

PROGRAMS = {
    "nothing": ("-c", "pass"),
    "import pandas": ("-c", "import pandas"),
    "import rageval_report": ("-c", "import rageval_report"),
    "from rageval_report import RAGPipelineEvaluation": (
        *("-c", "from rageval_report import RAGPipelineEvaluation"),
    ),
    "every name of rageval_report": ("-c", "from rageval_report import *"),
    "rageval-report --help": ("-m", "rageval_report", "--help"),
    DESCRIBE: ("-c", f"import pandas; print(pandas.read_csv({FILE!r}).describe())"),
    **{
        command: ("-m", "rageval_report", *command.split()[1:])
        for command in (REPORT, THRESHOLDS, FAILURES, COMPARE)
    },
}


def write_scores(path: Path, seed: int = 0) -> None:
    """Two hundred queries and ten metrics."""
    columns = [column.round(3).tolist() for column in score_columns(200, seed)]
    lines = [f"query_id,{','.join(f'score_{number}' for number in range(10))}"]
    lines += [
        f"q{row},{','.join(map(str, values))}"
        for row, values in enumerate(zip(*columns, strict=True))
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


def cpu_of(program: tuple[str, ...], folder: Path) -> float:
    """CPU seconds of a process that runs a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *program],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != _NO_BYTECODE},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rounds: int, folder: Path) -> dict[str, float]:
    spent: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(rounds + 1):
        for name, program in PROGRAMS.items():
            spent[name].append(cpu_of(program, folder))
    medians = {name: statistics.median(times[1:]) for name, times in spent.items()}
    start = medians.pop("nothing")
    return {name: each - start for name, each in medians.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        write_scores(Path(folder, FILE))
        write_scores(Path(folder, CANDIDATE), seed=1)
        spent = measure(rounds, Path(folder))
    peers = dict.fromkeys((REPORT, THRESHOLDS, FAILURES, COMPARE), spent[DESCRIBE])
    table_rows = [
        [name, seconds(each), f"{each / peers.get(name, spent['import pandas']):.2f} x"]
        for name, each in spent.items()
    ]
    print(markdown(["program", "CPU", "/ pandas"], table_rows))


if __name__ == "__main__":
    run_both_ways(main)

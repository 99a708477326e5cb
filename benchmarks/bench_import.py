"""What `import rageval_report` costs beside `import pandas`, each in a fresh process.

    python benchmarks/bench_import.py [--rounds 21]

The median CPU time (user and system) of whole processes, in turns, less that of one that imports
nothing.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys

from timing import markdown, seconds

PROGRAMS = {
    "nothing": ("-c", "pass"),
    "import pandas": ("-c", "import pandas"),
    "import rageval_report": ("-c", "import rageval_report"),
    "from rageval_report import RAGPipelineEvaluation": (
        *("-c", "from rageval_report import RAGPipelineEvaluation"),
    ),
    "every name of rageval_report": ("-c", "from rageval_report import *"),
    "rageval-report --help": ("-m", "rageval_report", "--help"),
}


def cpu_of(program: tuple[str, ...]) -> float:
    """CPU seconds of a process that runs a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *program], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rounds: int) -> dict[str, float]:
    spent: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(rounds + 1):
        for name, program in PROGRAMS.items():
            spent[name].append(cpu_of(program))
    medians = {name: statistics.median(times[1:]) for name, times in spent.items()}
    start = medians.pop("nothing")
    return {name: each - start for name, each in medians.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    spent = measure(parser.parse_args().rounds)
    pandas = spent["import pandas"]
    table_rows = [[name, seconds(each), f"{each / pandas:.2f} x"] for name, each in spent.items()]
    print(markdown(["program", "CPU", "/ import pandas"], table_rows))


if __name__ == "__main__":
    main()

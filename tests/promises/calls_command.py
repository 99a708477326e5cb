"""The command line: each line of data/commands.toml, its exit code, and the files it writes."""

from __future__ import annotations

import shlex
import shutil
import tomllib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from calls_decide import runs
from made import of
from promises import DATA, command, parsed

LINES = tomllib.loads((DATA / "commands.toml").read_text("utf-8"))
BAD = {
    "empty": "",
    "ragged": "query_id,recall\nq1,0.5\nq2,0.5,0.7,0.9\n",
    "above": "query_id,recall\nq1,0.5\nq2,1.7\n",
    "twice": "query_id,recall\nq1,0.5\nq1,0.7\nq2,0.1\n",
    "texts": "query_id,question\nq1,Who?\nq2,What?\n",
}


@cache
def make_files() -> None:
    """Files of scores, of runs and of gates, in the workspace."""
    for name in ("bm25.csv", "hybrid.csv"):
        shutil.copy(DATA / "demo" / name, name)
    for evaluation in of("old new few"):
        evaluation.save(f"{evaluation.name}.csv")
    Path("runs").mkdir(exist_ok=True)
    for run in runs(5):
        run.save(f"runs/{run.name[-1]}.json")
    for name, text in BAD.items():
        Path(f"{name}.csv").write_text(text, "utf-8")
    rules = "rules = ['ci_low(recall@5) >= 0.7', 'no_regression(recall@5, margin=0.05)']\n"
    Path("gates.toml").write_text(f"{rules}confidence_level = 0.9\n", "utf-8")


def printed(line: str, *words: str) -> Any:
    make_files()
    return command(*shlex.split(line), *words)


def written(line: str, file: str, read: Callable[[Path], Any]) -> Any:
    done = printed(line, "-o", file, "--force", "--quiet")
    return [done["exit_code"], read(Path(file))]


def demo() -> Any:
    done = command("demo", "-o", "demo", "--quiet")
    made = sorted(path.name for path in Path("demo").iterdir())
    return [done["exit_code"], made, parsed("demo/bm25.csv"), parsed("demo/hybrid.csv")]


def junit() -> Any:
    line = f"{LINES['printed']['gate_failed']} --junit gates.xml"
    return [printed(line, "--quiet")["exit_code"], parsed("gates.xml")]


CALLS: dict[str, Callable[[], Any]] = {
    **{name: partial(printed, line, "--format", "json") for name, line in LINES["printed"].items()},
    **{file: partial(written, line, file, parsed) for file, line in LINES["written"].items()},
    **{
        file: partial(written, line, file, lambda path: path.stat().st_size > 1000)
        for file, line in LINES["drawn"].items()
    },
    "demo": demo,
    "gate_junit": junit,
    "from_standard_input": lambda: command(
        "report", "-", "--format", "json", input=(DATA / "demo" / "bm25.csv").read_text("utf-8")
    ),
    "exit_codes": lambda: {
        line: printed(line)["exit_code"]
        for line in LINES["exit_codes"]["lines"].strip().split("\n")
    },
}

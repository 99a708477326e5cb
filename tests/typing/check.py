"""Run type checkers on the two files beside this one, and compare what they report with the marks.

    python tests/typing/check.py mypy pyright

`right_uses.py` must be free of errors; in `mistakes.py` exactly the lines that end in "# wrong"
must have one. Exit code 0 if every checker agrees, else 1.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FILES = ("right_uses.py", "mistakes.py")
MARK = "# wrong"

Errors = dict[tuple[str, int], str]


def run_mypy() -> Errors:
    """The errors that ``mypy --strict`` reports, by file and line."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    output = run([*command, "--config-file=", "--python-version=3.11", *paths()])
    pattern = re.compile(r"^(?:.*/)?(\w+\.py):(\d+): error: (.*)$", re.MULTILINE)
    return {(match[1], int(match[2])): match[3] for match in pattern.finditer(output)}


def run_pyright() -> Errors:
    """The errors that pyright reports, by file and line."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    output = run([*command, *paths()])
    reports = json.loads(output)["generalDiagnostics"]
    return {
        (Path(report["file"]).name, report["range"]["start"]["line"] + 1): report["message"]
        for report in reports
        if report["severity"] == "error"
    }


CHECKERS: dict[str, Callable[[], Errors]] = {"mypy": run_mypy, "pyright": run_pyright}


def run(command: list[str]) -> str:
    """What a checker prints; both end with 1 if there are errors, and with more if they fail."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode > 1:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def paths() -> list[str]:
    """The files to check."""
    return [str(HERE / name) for name in FILES]


def marked_lines() -> dict[tuple[str, int], str]:
    """The lines that are wrong on purpose."""
    return {
        (name, number): line
        for name in FILES
        for number, line in enumerate((HERE / name).read_text().splitlines(), 1)
        if line.endswith(MARK)
    }


def problems(errors: Errors) -> list[str]:
    """Where a checker and the marks disagree, one sentence each."""
    marked = marked_lines()
    missed = [
        f"{name}:{number}: no error reported for {line.removesuffix(MARK).strip()!r}"
        for (name, number), line in marked.items()
        if (name, number) not in errors
    ]
    unexpected = [
        f"{name}:{number}: {message}"
        for (name, number), message in errors.items()
        if (name, number) not in marked
    ]
    return [*missed, *unexpected]


def main(names: list[str]) -> int:
    """Check with the named checkers, or with all."""
    exit_code = 0
    for name in names or list(CHECKERS):
        disagreements = problems(CHECKERS[name]())
        for problem in disagreements:
            print(f"{name}: {problem}")
        print(f"{name}: {len(marked_lines())} mistakes, {len(disagreements)} disagreements")
        exit_code |= bool(disagreements)
    return exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Jobs are killed, run out of disk or lose their server, and are run again.

    python tests/faults/fault_room.py --n 300 --seed 1

Each scenario runs one of `JOBS` in a new folder, disturbs it once to three times by one of
`TROUBLES`, at a random moment, and runs it again until it ends. Then nothing may be lost, doubled
or torn:

- Every file with its final name is whole, at any time: the one that was there before, or the one
  that a run without trouble writes. In the end all files are those, and no temporary file is left
  but by processes that were killed.
- What was answered and kept is not asked for again; a kill loses only answers in flight.
- No traceback, and no command that does not end.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attack import Found, main
from forked_commands import Ended, run_command
from servers import N_DOCS, VERDICT, MortalServer, number_of

from rageval_report import RAGPipelineEvaluation

IN_FLIGHT = 4  # questions and messages that a job asks at the same time
N_QUERIES = 24
TEMPORARY = ".rageval-tmp"
BUG = 70
# What differs between two runs in which nothing goes wrong, or the server is asked again.
VOLATILE = {"latency_ms", "asked_at", "first_byte_ms", "attempts"}
N_FAILED = "error_count"  # in the summary of a run


# -- jobs


@dataclass(frozen=True)
class Job:
    """A command, or a method, that is disturbed and run again.

    `prepare` writes its inputs, and the outputs that it replaces; `words` has URL where the address
    of the server stands, and `again` what a later run adds. `outputs` says how each of its files is
    read back, and `n_kept` counts the answers that need not be asked for again.
    """

    prepare: Callable[[Path], None]
    words: str
    outputs: dict[str, Callable[[Path], Any]]
    n_kept: Callable[[Path], int] | None = None
    again: str = ""

    def read(self, folder: Path) -> dict[str, Any]:
        """Each output that exists, or the exception that reading it raises."""
        found: dict[str, Any] = {}
        for name, read in self.outputs.items():
            if (folder / name).exists():
                try:
                    found[name] = read(folder / name)
                except Exception as exc:
                    found[name] = f"cannot be read: {exc}"
        return found


def scores_in(path: Path) -> dict[str, dict[str, float | None]]:
    """The scores of a file by metric and query; None where there is none."""
    frame = RAGPipelineEvaluation.load("x", path).scores
    return {
        str(metric): {query: None if math.isnan(x) else x for query, x in frame[metric].items()}
        for metric in frame
        if metric != "latency_ms"
    }


def rows_in(path: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{key: row[key] for key in row if key not in VOLATILE} for row in rows]


def page_in(path: Path) -> str:
    return "whole" if path.read_text(encoding="utf-8").rstrip().endswith("</html>") else "cut"


def summary_in(path: Path) -> dict[str, Any]:
    document = json.loads(path.read_text(encoding="utf-8"))
    return {key: document[key] for key in ("question_count", N_FAILED, "records")}


def n_answers(folder: Path) -> int:
    """The whole lines of a journal with an answer."""
    path = folder / "run" / "journal.jsonl"
    content = path.read_bytes() if path.exists() else b""
    entries = map(json.loads, content[: content.rfind(b"\n") + 1].splitlines())
    return sum("format" not in entry and not entry.get("error") for entry in entries)


def n_replies(folder: Path) -> int:
    """The replies in a cache; of a copy, so that the log of a killed process stays as it is."""
    path = folder / "judges.sqlite"
    with tempfile.TemporaryDirectory() as folder:
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, folder)
        with closing(sqlite3.connect(Path(folder) / path.name)) as database:
            try:
                return database.execute("SELECT COUNT(*) FROM replies").fetchone()[0]
            except sqlite3.OperationalError as exc:
                if "no such table" in str(exc):  # killed before it was created
                    return 0
                raise


def write_rows(path: Path, **columns: Callable[[int], object]) -> None:
    rows = ({name: make(i) for name, make in columns.items()} for i in range(N_QUERIES))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def question(i: int) -> str:
    return f"What is number {i} called, é漢?"


def prepare_eval(folder: Path) -> None:
    write_rows(
        folder / "queries.jsonl",
        query_id=lambda i: f"q{i}",
        question=question,
        reference=lambda i: f"It is {i % 9} é漢.",
        relevant=lambda i: [f"d{(number_of(question(i), N_DOCS) + i % 4) % N_DOCS}"],
    )
    (folder / "eval.yaml").write_text("retries: 1\nstop_after: 4\n")


def prepare_judge(folder: Path) -> None:
    answer = {"question": question, "answer": lambda i: f"It is {i}."}
    write_rows(folder / "records.jsonl", query_id=lambda i: f"q{i}", **answer)
    rubric = {"name": "tone", "question": "Is the answer polite?", "scale": [1, 5]}
    rubric["prompt"] = f"{VERDICT}, from 1 to 5?\n{{question}}\n{{answer}}"
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in rubric.items())
    (folder / "tone.toml").write_text("".join(lines))


def prepare_save(folder: Path) -> None:
    for name in ("new.json", *TABLES):
        shift = int(name == "new.json")
        rows = {
            "query_id": [f"q{i}" for i in range(80)],
            "recall": [((i + shift) % 7) / 6 if i % 11 else math.nan for i in range(80)],
            "answer": [f"{shift}: {'é漢 ' * number_of(str(i), 40)}" for i in range(80)],
        }
        RAGPipelineEvaluation("x", rows).save(folder / name, force=True)


TABLES = tuple(f"out{suffix}" for suffix in (".csv", ".tsv", ".jsonl", ".json", ".parquet"))
JOBS = {
    "eval": Job(
        prepare_eval,
        "eval --config eval.yaml --url URL/answer --records queries.jsonl -o run "
        f"--concurrency {IN_FLIGHT} --metric recall@5 --metric exact_match --metric token_f1",
        {
            "run/records.jsonl": rows_in,
            "run/run.json": summary_in,
            "run/scores.json": scores_in,
            "run/report.html": page_in,
        },
        n_answers,
        again="--retry-failed",
    ),
    "judge": Job(
        prepare_judge,
        "judge records.jsonl --provider openai --model toy --base-url URL/v1 --rubric tone.toml "
        f"--cache judges.sqlite --concurrency {IN_FLIGHT} --price 1:1 --max-cost 5 "
        "--queries scores.json -o table.html --force",
        {"scores.json": scores_in, "table.html": page_in},
        n_replies,
    ),
    "save": Job(
        prepare_save, f"save new.json {' '.join(TABLES)}", dict.fromkeys(TABLES, scores_in)
    ),
}


# -- kinds of trouble


@dataclass(frozen=True)
class Reference:
    """A run of a job without trouble."""

    before: dict[str, Any]
    after: dict[str, Any]
    calls: dict[str, int]
    seconds: float
    n_asked: int
    sizes: tuple[int, ...]  # of the files that it wrote


def any_call(reference: Reference, rng: random.Random) -> tuple[str, int]:
    # First a name, then an occurrence: renames are few, and reads are many.
    name = rng.choice(sorted(reference.calls))
    return name, rng.randint(1, reference.calls[name])


def any_size(reference: Reference, rng: random.Random) -> int:
    return rng.randint(1, rng.choice(reference.sizes))


# Each takes what a run without trouble did, and says what goes wrong in the next one. What a server
# does is an attribute of it: at which request it dies, and how many connections it then resets.
TROUBLES: dict[str, Callable[[Reference, random.Random], dict[str, Any]]] = {
    "kill in a call": lambda of, rng: {"kill_at": any_call(of, rng)},
    "kill in a file": lambda of, rng: {"most_bytes": any_size(of, rng), "dies_there": True},
    "kill by the clock": lambda of, rng: {"kill_after": rng.random() * of.seconds},
    "disk full": lambda of, rng: {"most_bytes": any_size(of, rng)},
    "server resets": lambda of, rng: {"dies_at": rng.randint(1, of.n_asked), "resets": 1},
    "server dies": lambda of, rng: {"dies_at": rng.randint(1, of.n_asked), "resets": None},
}
MAY_END_WITH_2 = {"disk full", "server dies"}


class FaultRoom:
    """Runs scenarios in folders of a scratch folder; use it in a ``with`` block."""

    def __init__(self, scratch: Path, mistake: str | None = None) -> None:
        self.scratch, self.mistake, self.found = scratch, mistake, Found()
        self.server, self._references = MortalServer(), {}

    def __enter__(self) -> FaultRoom:
        self.server.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.server.__exit__()

    def folder(self, job: Job) -> Path:
        """A new folder with what a job needs."""
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        job.prepare(folder)
        self.server.forget()
        self.server.open()
        return folder

    def command(self, job: Job, folder: Path, *, again: bool = False, **trouble: Any) -> Ended:
        words = job.words.replace("URL", self.server.url).split() + job.again.split() * again
        return run_command(words, folder, **trouble)

    def reference(self, name: str) -> Reference:
        """What a job does without trouble."""
        job = JOBS[name]
        if name not in self._references:
            for _ in range(2):  # the first run may write bytecode, which no later run does
                folder = self.folder(job)
                before, inputs = job.read(folder), set(folder.rglob("*"))
                ended = self.command(job, folder)
                assert ended.code == 0, ended.output
            written = [path for path in folder.rglob("*") if path.is_file()]
            sizes = {path.stat().st_size for path in written if path not in inputs} | {4096}
            seen = (ended.calls, ended.seconds, self.server.n_asked, tuple(sorted(sizes)))
            self._references[name] = Reference(before, job.read(folder), *seen)
        return self._references[name]

    def run(self, name: str, trouble: str, seed: int) -> None:
        """Run a scenario, and look at what it leaves."""
        reference = self.reference(name)
        folder = self.folder(JOBS[name])
        scenario = Scenario(self, JOBS[name], reference, trouble, folder)
        try:
            scenario.play(random.Random(seed))
        except Exception as exc:  # of reading what is left
            scenario.faults.append(f"{type(exc).__name__}: {exc}")
        self.found.counts[f"{name}: {trouble}"] += 1
        self.found.faults += [f"{name}, {trouble}, seed {seed}: {each}" for each in scenario.faults]
        shutil.rmtree(folder)


@dataclass
class Scenario:
    """One job in one folder, disturbed and run again."""

    room: FaultRoom
    job: Job
    reference: Reference
    trouble: str
    folder: Path
    faults: list[str] = field(default_factory=list)
    n_kills: int = 0

    def play(self, rng: random.Random) -> None:
        is_kill = self.trouble.startswith("kill")
        for number in range(rng.randint(1, 3) if is_kill else 1):
            options = TROUBLES[self.trouble](self.reference, rng)
            if "dies_at" in options:
                vars(self.room.server).update(options)
                options = {}
            ended = self.run(again=number > 0, mistake=self.room.mistake, **options)
            self.check_end(ended, (2,) if self.trouble in MAY_END_WITH_2 else ())
            self.check_files()
            if ended.code == 0:  # it was faster than its trouble
                break
        self.room.server.dies_at = None
        self.room.server.open()
        self.finish(is_kill)

    def finish(self, is_kill: bool) -> None:
        """Run once more, without trouble, and compare."""
        server, job, reference = self.room.server, self.job, self.reference
        n_kept = job.n_kept(self.folder) if job.n_kept else 0
        before = server.answered.total()
        if is_kill and job.n_kept and before - n_kept > IN_FLIGHT * self.n_kills:
            self.faults.append(f"{before - n_kept} answers are lost after {self.n_kills} kills")
        self.check_end(self.run(again=True, mistake=self.room.mistake), ())
        n_asked = server.answered.total() - before
        if job.n_kept and n_asked != reference.n_asked - n_kept:
            self.faults.append(f"{n_kept} answers were kept, and {n_asked} asked for")
        outputs = job.read(self.folder)
        self.faults += [
            f"{name} is not that of a run without trouble: {outputs.get(name)!s:.300}"
            for name, value in reference.after.items()
            if outputs.get(name) != value
        ]
        left = [path.name for path in self.folder.rglob("*") if TEMPORARY in path.name]
        if left and not is_kill:
            self.faults.append(f"temporary files are left: {left}")

    def run(self, **options: Any) -> Ended:
        return self.room.command(self.job, self.folder, **options)

    def check_end(self, ended: Ended, codes: tuple[int, ...]) -> None:
        if ended.code is None:
            self.faults.append(f"it did not end: {ended.output[-300:]}")
        elif ended.code < 0 and self.trouble.startswith("kill"):
            self.n_kills += 1
            self.room.found.counts["kills"] += 1
        elif ended.code not in (0, *codes) or "Traceback" in ended.output:
            self.faults.append(f"exit code {ended.code}: {ended.output[-800:]}")

    def check_files(self) -> None:
        """Every file is whole: the one from before, or the one of a run without trouble."""
        may_be_partial = self.trouble in MAY_END_WITH_2
        for name, value in self.job.read(self.folder).items():
            after = self.reference.after[name]
            is_allowed = value in (self.reference.before.get(name), after)
            if not is_allowed and not (may_be_partial and is_part_of(value, after)):
                self.faults.append(f"{name} is torn: {value!s:.300}")


def is_part_of(value: Any, expected: Any) -> bool:
    """Whether scores or rows are those expected, but for some that are missing or have failed."""
    if isinstance(expected, dict) and isinstance(value, dict):
        return value.keys() <= expected.keys() and all(
            cell is None
            or is_part_of(cell, expected[key])
            # The summary of a run in which more queries have failed.
            or (key == N_FAILED and cell > expected[key])
            for key, cell in value.items()
        )
    if isinstance(expected, list) and isinstance(value, list) and len(value) == len(expected):
        return all(
            row == right or (isinstance(row, dict) and row.get("error") is not None)
            for row, right in zip(value, expected, strict=True)
        )
    return bool(value == expected)


def attack(n: int, seed: int) -> Found:
    """So many scenarios: two in three kill, the others are of the other kinds in turn."""
    kinds = list(TROUBLES)
    with tempfile.TemporaryDirectory() as scratch, FaultRoom(Path(scratch)) as room:
        for number in range(n):
            trouble = kinds[number % 3] if number % 9 < 6 else kinds[3 + number % 3]
            jobs = [name for name, job in JOBS.items() if job.n_kept or "server" not in trouble]
            room.run(random.Random(seed + number).choice(jobs), trouble, seed + number)
    return room.found


if __name__ == "__main__":
    sys.exit(main(__doc__, attack, 300))

"""The jobs of the fault room: what is run, what it writes, and what it must keep."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mortal_servers import N_DOCS, number_of

from rageval_report import RAGPipelineEvaluation

IN_FLIGHT = 4  # questions and messages that a job asks at the same time
RIVERS = ("Seine", "Rhine", "Volga", "Tagus", "Oder", "Elbe", "Loire", "Danube")
# What differs between two runs in which nothing goes wrong.
_VOLATILE = {"latency_ms", "asked_at", "first_byte_ms"}
_CACHE = "judges.sqlite"
Outputs = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A command, or a method, that is disturbed and run again.

    Parameters
    ----------
    name : str
        Its name.
    prepare : callable
        Writes its inputs, and the outputs that it replaces, to a folder.
    words : callable
        The words of the command for the address of the server, and whether it is run again.
    outputs : callable
        What it has written to a folder, read back, without what differs between any two runs.
    n_kept : callable, optional
        The number of answers in a folder that need not be asked for again.
    """

    name: str
    prepare: Callable[[Path], None]
    words: Callable[[str, bool], list[str]]
    outputs: Callable[[Path], Outputs]
    n_kept: Callable[[Path], int] | None = None


# -- reading back


def scores_in(path: Path) -> dict[str, dict[str, float | None]]:
    """The scores of a file by metric and query; None where there is none."""
    evaluation = RAGPipelineEvaluation.load("x", path)
    frame = evaluation.scores
    return {
        str(metric): {
            str(query): None if math.isnan(value) else value
            for query, value in frame[metric].items()
        }
        for metric in frame
        if metric != "latency_ms"
    }


def rows_in(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON Lines, without times."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{key: row[key] for key in row if key not in _VOLATILE} for row in rows]


def page_in(path: Path) -> str:
    """Whether a page is whole."""
    return "whole" if path.read_text(encoding="utf-8").rstrip().endswith("</html>") else "cut"


N_FAILED = "error_count"  # in the summary of a run


def summary_in(path: Path) -> dict[str, Any]:
    """The counts of a run."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return {key: document[key] for key in ("question_count", N_FAILED, "records")}


def read_outputs(folder: Path, readers: dict[str, Callable[[Path], Any]]) -> Outputs:
    """Each output that exists, or the exception that reading it raises."""
    outputs: Outputs = {}
    for name, read in readers.items():
        if (folder / name).exists():
            try:
                outputs[name] = read(folder / name)
            except Exception as exc:
                outputs[name] = f"cannot be read: {exc}"
    return outputs


def n_lines(path: Path, *, skip: str) -> int:
    """The number of whole lines of a journal with an answer."""
    if not path.exists():
        return 0
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1].splitlines()
    entries = [json.loads(line) for line in whole]
    return sum(1 for entry in entries if skip not in entry and not entry.get("error"))


def _query_copy(path: Path, query: str) -> int:
    """A number in a database; of a copy, so that the log of a killed process stays as it is."""
    if not path.exists():
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, folder)
        with closing(sqlite3.connect(Path(folder) / path.name)) as database:
            try:
                return int(database.execute(query).fetchone()[0] or 0)
            except sqlite3.OperationalError as exc:
                if "no such table" in str(exc):  # killed while it was created
                    return 0
                raise


def n_replies(folder: Path, name: str = _CACHE) -> int:
    return _query_copy(folder / name, "SELECT COUNT(*) FROM replies")


# -- inputs


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _question(n: int) -> str:
    return f"What is number {n} called, é漢?"


def _queries(n: int) -> list[dict[str, Any]]:
    return [
        {
            "query_id": f"q{i}",
            "question": _question(i),
            "reference": f"It is {i % 9} é漢.",
            "relevant": [f"d{(number_of(_question(i), N_DOCS) + i % 4) % N_DOCS}"],
        }
        for i in range(n)
    ]


def _write_rubric(folder: Path) -> None:
    rubric = {
        "name": "tone",
        "question": "Is the answer polite?",
        "prompt": "HOW POLITE, from 1 to 5?\n{question}\n{answer}",
        "scale": [1, 5],
    }
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in rubric.items())
    (folder / "tone.toml").write_text("".join(lines))


def _write_scores(path: Path, n: int, shift: int) -> None:
    rows = {
        "query_id": [f"q{i}" for i in range(n)],
        "recall": [((i + shift) % 7) / 6 if i % 11 else math.nan for i in range(n)],
        "faithfulness": [((i * 3 + shift) % 5) / 4 for i in range(n)],
        "answer": [f"{shift}: {'é漢 ' * number_of(str(i), 40)}" for i in range(n)],
    }
    RAGPipelineEvaluation("x", rows).save(path, force=True)


# -- eval


def _prepare_eval(folder: Path) -> None:
    _write_rows(folder / "queries.jsonl", _queries(24))
    config = "retries: 1\nstop_after: 4\n"
    (folder / "eval.yaml").write_text(config)


def _eval_words(url: str, again: bool) -> list[str]:
    words = ["eval", "--config", "eval.yaml", "--url", f"{url}/answer", "--records"]
    words += ["queries.jsonl", "-o", "run", "--concurrency", str(IN_FLIGHT)]
    for metric in ("recall@5", "exact_match", "token_f1"):
        words += ["--metric", metric]
    return [*words, "--retry-failed"] if again else words


def _eval_outputs(folder: Path) -> Outputs:
    readers = {
        "run/records.jsonl": rows_in,
        "run/run.json": summary_in,
        "run/scores.json": scores_in,
        "run/report.html": page_in,
    }
    return read_outputs(folder, readers)


EVAL = Job(
    "eval",
    _prepare_eval,
    _eval_words,
    _eval_outputs,
    lambda folder: n_lines(folder / "run" / "journal.jsonl", skip="format"),
)


# -- judge


def _prepare_judge(folder: Path) -> None:
    rows = [
        {"query_id": f"q{i}", "question": _question(i), "answer": f"It is {i}."} for i in range(24)
    ]
    _write_rows(folder / "records.jsonl", rows)
    _write_rubric(folder)


def _model_words(url: str) -> list[str]:
    return ["--provider", "openai", "--model", "toy", "--base-url", f"{url}/v1"]


def _judging_words(url: str, concurrency: str) -> list[str]:
    cache = ["--rubric", "tone.toml", "--cache", _CACHE, concurrency, str(IN_FLIGHT)]
    return [*_model_words(url), *cache, "--price", "1:1"]


def _judge_words(url: str, again: bool) -> list[str]:
    words = ["judge", "records.jsonl", *_judging_words(url, "--concurrency"), "--max-cost", "5"]
    return [*words, "--queries", "scores.json", "-o", "table.html", "--force"]


JUDGE = Job(
    "judge",
    _prepare_judge,
    _judge_words,
    lambda folder: read_outputs(folder, {"scores.json": scores_in, "table.html": page_in}),
    n_replies,
)


# -- golden


def _prepare_generate(folder: Path) -> None:
    (folder / "docs").mkdir()
    for n, river in enumerate(RIVERS * 3):
        text = f"Of {river}{n}.\n\nThe {river}{n} is {n + 1}00 miles long, say {n} people.\n"
        (folder / "docs" / f"{n}.md").write_text(text)


def _generate_words(url: str, again: bool) -> list[str]:
    words = ["golden", "make", "docs", "--factoid", "6", "--unanswerable", "2"]
    words += ["--shortest", "10", "-o", "drafts.jsonl", "--concurrency", str(IN_FLIGHT)]
    return [*words, *_model_words(url), "--force"]


GENERATE = Job(
    "golden make",
    _prepare_generate,
    _generate_words,
    lambda folder: read_outputs(folder, {"drafts.jsonl": rows_in}),
    lambda folder: n_replies(folder, "drafts.jsonl.journal"),
)


def _prepare_evaluate(folder: Path) -> None:
    docs = [{"_id": f"d{n}", "title": "", "text": f"Of d{n}: {n}."} for n in range(N_DOCS)]
    _write_rows(folder / "set" / "corpus.jsonl", docs)
    queries = [{"_id": f"q{n}", "text": _question(n)} for n in range(16)]
    _write_rows(folder / "set" / "queries.jsonl", queries)
    lines = ["query-id\tcorpus-id\tscore"]
    for n in range(16):
        first = number_of(_question(n), N_DOCS)
        lines += [f"q{n}\td{(first + n % 7) % N_DOCS}\t2", f"q{n}\td{(first + 20) % N_DOCS}\t1"]
    (folder / "set" / "qrels").mkdir()
    (folder / "set" / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    _write_rubric(folder)


def _evaluate_words(url: str, again: bool) -> list[str]:
    words = ["golden", "evaluate", "set", "-o", "out", "--url", f"{url}/answer"]
    words += _judging_words(url, "--judge-concurrency")
    return [*words, "--retry-failed"] if again else words


def _evaluate_outputs(folder: Path) -> Outputs:
    readers = {
        "out/truth.jsonl": rows_in,
        "out/run/run.json": summary_in,
        "out/scores.json": scores_in,
        "out/report.html": page_in,
    }
    return read_outputs(folder, readers)


def _n_kept_of_evaluate(folder: Path) -> int:
    references = n_replies(folder / "out", "truth.jsonl.journal")
    answers = n_lines(folder / "out" / "run" / "journal.jsonl", skip="format")
    return references + answers + n_replies(folder)


EVALUATE = Job(
    "golden evaluate",
    _prepare_evaluate,
    _evaluate_words,
    _evaluate_outputs,
    _n_kept_of_evaluate,
)


# -- export and save, which replace files

_TABLES = {f"out{suffix}": scores_in for suffix in (".csv", ".tsv", ".jsonl", ".json", ".parquet")}


def _prepare_export(folder: Path) -> None:
    _write_scores(folder / "new.json", 80, 1)
    _write_scores(folder / "out.csv", 80, 0)


def _prepare_save(folder: Path) -> None:
    _write_scores(folder / "new.json", 80, 1)
    for name in _TABLES:
        _write_scores(folder / name, 80, 0)


EXPORT = Job(
    "export",
    _prepare_export,
    lambda url, again: ["export", "new.json", "-o", "out.csv", "--force"],
    lambda folder: read_outputs(folder, {"out.csv": scores_in}),
)
SAVE = Job(
    "save",
    _prepare_save,
    lambda url, again: ["save", "new.json", *_TABLES],
    lambda folder: read_outputs(folder, _TABLES),
)

JOBS = {job.name: job for job in (EVAL, JUDGE, GENERATE, EVALUATE, EXPORT, SAVE)}

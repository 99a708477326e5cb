"""Calls at the public doors, what they return as plain data, and how it may differ from the record.

A module ``calls_<subject>.py`` holds a dict ``CALLS`` of names and functions without arguments;
``data/<subject>.json`` holds what each returned when it was recorded.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import fnmatch
import functools
import importlib
import json
import math
import os
import re
import shutil
import tempfile
import tomllib
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from click.testing import CliRunner
from tabulate import tabulate

import rageval_report as rr

HERE = Path(__file__).parent
DATA = HERE / "data"
SHARED = Path(os.environ.get("RAGEVAL_DATA") or HERE.parents[2] / "shared" / "data")

# The classes of errors that are promised; one below them counts as the nearest above it.
TREE = (
    "AlignmentError ReaderError DataError UnknownNameError MissingDependencyError PipelineError "
    "JudgeError GateError RagevalError"
).split()
# What is not recorded: wordings, and columns that are meant to go.
LEFT_OUT = frozenset(
    "note notes sentence sentences summary headline title message hint reason text description why "
    "advice untestable settings signature version caption schema rageval_report fragile level_left "
    "rare_loss_size rare_loss_share rare_loss_difference query_set".split()
)
# The word of a verdict, and how a sentence that says it is recognised; the first that is found.
VERDICTS = {
    "too few": r"^too few|not compared on",
    "direction unknown": r"^direction unknown|is (higher|lower) better\?",
    "identical": r"^identical|are identical on",
    "better": r"^better|is better\b",
    "worse": r"^worse|is worse\b",
    "equivalent": r"^equivalent|are equivalent\b",
    "not worse": r"^not worse",
    "undecided": r"^undecided|no difference shown",
}
PVALUE = re.compile(r"(^|_)(pvalue|p)(_|$)")
LIMIT = re.compile(r"(?<![a-z])(low|high|lower|upper)(?![a-z])")
OPPOSITE = {"low": "high", "high": "low", "lower": "upper", "upper": "lower"}
# What is computed from squares, ranks, or by a search: not a mean of what was handed in.
DERIVED = re.compile(
    r"std|standard_error|_se$|variance|sd_|_sd|effect|statistic|detectable|required|power|kappa|"
    r"alpha|ac1|icc|correlation|df$|evidence|ratio|odds|share_"
)


class SharedDataMissing(Exception):
    """The public data do not lie beside the repository."""


def shared_data(name: str) -> Path:
    """A file or folder of the public data; a call that asks in vain is skipped."""
    if not (SHARED / name).exists():
        raise SharedDataMissing(f"no {name} among the public data; RAGEVAL_DATA may name them")
    return SHARED / name


@functools.cache
def workspace() -> Path:
    """The folder in which all calls of this process run; it goes with the process."""
    folder = Path(tempfile.mkdtemp(prefix="promises"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# --- calls -------------------------------------------------------------------------------------


@functools.cache
def calls(subject: str) -> dict[str, Callable[[], Any]]:
    """The calls of one module."""
    return dict(importlib.import_module(f"calls_{subject}").CALLS)


def subjects() -> list[str]:
    """The subjects for which there is a module of calls."""
    return sorted(path.stem.removeprefix("calls_") for path in HERE.glob("calls_*.py"))


def names() -> list[tuple[str, str]]:
    """Subject and name of every call."""
    return [(subject, name) for subject in subjects() for name in calls(subject)]


@functools.cache
def record(subject: str) -> dict[str, Any]:
    """What the calls of one subject returned when they were recorded."""
    path = DATA / f"{subject}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def run(subject: str, name: str) -> Any:
    """What a call returns now, as plain data; its error if it raises one of the tree."""
    with contextlib.chdir(workspace()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Through JSON and back, so that both sides of a comparison have gone the same way.
        return json.loads(json.dumps(plain(refused(calls(subject)[name]))))


def refused(call: Callable[[], Any], *, of_python: bool = False) -> Any:
    """The error of a call, as a value among others; what it returns if it does not fail."""
    kinds = (rr.RagevalError, TypeError) if of_python else (rr.RagevalError,)
    try:
        return call()
    except kinds as error:
        return error


def errors(call: Callable[..., Any], *values: Any, **options: Any) -> dict[str, Any]:
    """What a call raises for each of some values, and for each of some options alone."""
    named = {repr(one) if hasattr(one, "scores") else str(one): one for one in values}
    tries = {name: functools.partial(call, one) for name, one in named.items()}
    tries |= {f"{k}={v}": functools.partial(call, **{k: v}) for k, v in options.items()}
    return {name: refused(attempt, of_python=True) for name, attempt in tries.items()}


def pick(result: Any, attributes: str) -> dict[str, Any]:
    """Some attributes of a result."""
    return {name: getattr(result, name) for name in attributes.split()}


def command(*words: str | Path, input: str | None = None) -> dict[str, Any]:  # noqa: A002
    """A command, run in this process: its exit code and what it printed on stdout, parsed."""
    room = importlib.import_module("rageval_report.cli")
    group = next(value for value in vars(room).values() if isinstance(value, click.Group))
    done = CliRunner().invoke(group, [str(word) for word in words], input=input)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    text = done.stdout.strip()
    printed = json.loads(text) if text.startswith(("{", "[")) else bool(text)
    printed = [_table(one) for one in printed] if isinstance(printed, list) else _table(printed)
    return {"exit_code": done.exit_code, "printed": printed}


def _table(printed: Any) -> Any:
    """A printed result, its rows as a frame; anything else as it is."""
    if not isinstance(printed, dict) or "rows" not in printed:
        return printed
    rows, columns = printed.pop("rows"), printed.pop("columns", None)
    return {**printed, "frame": pd.DataFrame(rows, columns=columns, dtype=object)}


def parsed(path: str | Path) -> Any:
    """The content of a written file: JSON, JSON Lines, CSV, TSV, Parquet, Excel, JUnit XML."""
    readers: dict[str, Callable[[Path], Any]] = {
        ".json": lambda path: json.loads(path.read_text("utf-8")),
        ".jsonl": functools.partial(pd.read_json, lines=True, dtype=False),
        ".parquet": pd.read_parquet,
        ".xlsx": pd.read_excel,
        ".xml": lambda path: [
            {"tag": tag.tag, **tag.attrib} for tag in ET.parse(path).iter() if "pro" not in tag.tag
        ],
        ".tsv": functools.partial(pd.read_csv, sep="\t"),
    }
    return readers.get(Path(path).suffix, pd.read_csv)(Path(path))


# --- plain data --------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value as JSON can hold it, at full precision, without wordings."""
    match value:
        case None | bool() | int() | str():
            return value
        case float() | np.generic():
            return value.item() if isinstance(value, np.generic) else float(value)
        case BaseException():
            return _plain_error(value)
        case pd.DataFrame():
            return _plain_frame(value)
        case pd.Series():
            return {"index": _plain_index(value.index), "values": plain(value.tolist())}
        case pd.Index() | np.ndarray() | list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted(plain(item) for item in value)
        case rr.Result():
            items = {"items": plain(dict(value))} if isinstance(value, Mapping) else {}
            return {"frame": _plain_frame(value.frame), **items}
        case rr.RAGPipelineEvaluation():
            known = {m.name: pick(m, "greater_is_better kind") for m in value.metrics.values()}
            return plain({"name": value.name, "metrics": known, "scores": value.scores})
        case Path():
            return value.name
        case Mapping():
            return {str(k): plain(v) for k, v in value.items() if k not in LEFT_OUT}
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if not f.name.startswith("_")]
        return plain(pick(value, " ".join(names)))
    assert not callable(value), f"{value!r} is to be called"
    return None if pd.isna(value) else str(value)


def _plain_error(error: BaseException) -> dict[str, Any]:
    classes = [cls.__name__ for cls in type(error).__mro__]
    known = next((name for name in TREE if name in classes), "DataError")
    # "missing must be ...", "metrics[0] needs ...", but not "no metric is named ..."
    first = re.match(r"([a-z]\w*)(\[\S*)? (must|needs|cannot|has|is|holds)\b", str(error))
    parameter = first[1] if first and first[1] != "this" else ""
    return {"error": known, "parameter": parameter, "line": getattr(error, "line", None)}


def _plain_frame(frame: pd.DataFrame) -> dict[str, Any]:
    columns = {}
    for i, name in enumerate(frame.columns):
        if name not in LEFT_OUT:
            key = ", ".join(map(str, name)) if isinstance(name, tuple) else str(name)
            columns[key] = plain(frame.iloc[:, i].tolist())
    if "verdict" in columns:
        columns["verdict"] = [verdict_word(verdict) for verdict in columns["verdict"]]
    return {"index": _plain_index(frame.index), "columns": columns}


def verdict_word(verdict: Any) -> str | None:
    """The word of a verdict, which may be a word or a sentence; None if it says none."""
    found = (word for word, pattern in VERDICTS.items() if re.search(pattern, str(verdict)))
    return next(found, None)


def _plain_index(index: pd.Index) -> Any:
    rows = plain(index)
    return len(rows) if rows == list(range(len(rows))) else rows


# --- differences -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Difference:
    """One field of one call that is not as it was.

    `size` is relative to the value; of a limit, to half the width of its interval if that is more.
    """

    call: str
    field: str
    was: Any
    now: Any
    size: float = math.inf


@functools.cache
def differences(subject: str, name: str) -> tuple[Difference, ...]:
    """How the answer of a call differs from the record; columns and keys may be added."""
    call, now = f"{subject}.{name}", dict(_fields(run(subject, name)))
    if name not in record(subject):
        return (Difference(call, "", "not recorded", "see README.md"),)
    was, found = dict(_fields(record(subject)[name])), []
    for path, value in was.items():
        size = _size(path, was, now[path]) if path in now else math.inf
        if size:
            found.append(Difference(call, path, value, now.get(path, "missing"), size))
    return tuple(found)


def _fields(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every number and word of an answer by its path; of a list also its length."""
    if isinstance(value, list):
        yield ".".join((*path, "n_items")), len(value)
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _fields(item, path if key == "columns" else (*path, str(key)))
    else:
        yield ".".join(path), value


def _size(path: str, was: dict[str, Any], now: Any) -> float:
    """The size of a difference; 0 within the tolerance, infinite of what is not a score."""
    value = was[path]
    is_number = isinstance(value, float) and type(now) in (int, float)
    if value == now or all(side is None or side != side for side in (value, now)):
        return 0.0
    if not is_number or not math.isfinite(value) or not math.isfinite(now):
        return math.inf
    unit, tolerance = _unit(path, was)
    size = abs(now - value)
    return 0.0 if size <= tolerance * unit else size / unit if unit else math.inf


def _unit(path: str, was: dict[str, Any]) -> tuple[float, float]:
    """What a difference is measured by, and how much of it is allowed."""
    value = abs(was[path])
    for field in reversed(path.split(".")):
        if PVALUE.search(field):
            return value, 1e-6
        if LIMIT.search(field):
            other = was.get(LIMIT.sub(lambda limit: OPPOSITE[limit[0]], path))
            width = abs(other - was[path]) if isinstance(other, float) else 0.0
            return max(value, width / 2) if math.isfinite(width) else value, 1e-6
        if DERIVED.search(field):
            return value, 1e-9
    return max(value, 1.0), 1e-12


# --- intended changes --------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Change:
    """A difference that is intended: the calls and fields (wildcards), why, and how large."""

    call: str
    field: str
    reason: str
    within: float = math.inf

    def concerns(self, call: str) -> bool:
        """Whether this is about a call, which is written subject.name."""
        return fnmatch.fnmatchcase(call, self.call)

    def covers(self, difference: Difference) -> bool:
        """Whether this is the reason of a difference."""
        is_field = fnmatch.fnmatchcase(difference.field, self.field)
        return self.concerns(difference.call) and is_field and difference.size <= self.within


@functools.cache
def changes() -> tuple[Change, ...]:
    """The entries of changed.toml."""
    entries = tomllib.loads((HERE / "changed.toml").read_text("utf-8")).get("changed", [])
    return tuple(Change(**entry) for entry in entries)


def unexplained(found: Iterable[Difference]) -> list[Difference]:
    """The differences that changed.toml does not name."""
    return [one for one in found if not any(change.covers(one) for change in changes())]


def as_table(found: list[Difference], most: int = 30) -> str:
    """Differences as a table of call, field, was, is."""
    rows = [(one.call, one.field, repr(one.was), repr(one.now)) for one in found[:most]]
    table = tabulate(rows, ["call", "field", "was", "is"], disable_numparse=True, maxcolwidths=50)
    return table + (f"\n... and {len(found) - most} more" if len(found) > most else "")

"""The guard: doubts about the numbers of an evaluation, and the checks that need only the scores.

A doubt is a sign that a number is wrong, such as a metric that is 0 for every query while its
neighbours vary. It becomes a note that goes before all others; with ``strict=True`` it is an error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.errors import DOUBT, DataError, check_choice, is_doubt
from rageval_report.scores.metric import WORDS, Metric, extremes_of
from rageval_report.types import BoolArray, FloatArray

# Every check by name, with what it looks for. The functions are in the rooms that have what they
# need: here, in `roles`, and in `rageval_report.metrics.record_guard`.
CHECK_NAMES: dict[str, str] = {name: own["looks_for"] for name, own in WORDS["checks"].items()}

# A metric that is constant by chance is likely with fewer queries than these. At the best score
# more are needed: of good pipelines many answer ten easy questions without a fault.
_FEWEST = 10
_FEWEST_AT_BEST = 30

# Most columns differ within their first cells, so that the others need not be read.
_HEAD = 64


@dataclass(frozen=True)
class Doubt:
    """A sign that a number is wrong, with what to do.

    Examples
    --------
    >>> print(Doubt("no_answer", "8 of 9 answers are empty", "Check the pipeline").note)
    Doubt: 8 of 9 answers are empty. Check the pipeline [no_answer]
    """

    check: str  # its name in `CHECK_NAMES`
    message: str  # what was seen, how often, and examples of both sides
    advice: str  # what to type, in Python and on the command line
    query_ids: tuple[str, ...] = ()  # the first of the queries that it is about

    @classmethod
    def of(cls, check: str, query_ids: Iterable[object] = (), **facts: object) -> Doubt:
        """The doubt of a check of this room, with its sentences in `words.toml`."""
        own = WORDS["checks"][check]
        seen, advice = own["seen"].format(**facts), own["advice"].format(**facts)
        return cls(check, seen, advice, tuple(map(str, query_ids)))

    @property
    def note(self) -> str:
        """The note in reports."""
        return f"{DOUBT}{self.message}. {self.advice} [{self.check}]"


def check_allowed(allow: str | Iterable[str]) -> tuple[str, ...]:
    """The names of checks that a caller allows to fail."""
    names = (allow,) if isinstance(allow, str) else tuple(allow)
    for name in names:
        check_choice("allow", name, CHECK_NAMES)
    return names


def notes_with_doubts(
    notes: Iterable[str],
    doubts: Iterable[Doubt] = (),
    *,
    strict: bool = False,
    allow: str | Iterable[str] = (),
    where: str = "",
) -> tuple[str, ...]:
    """The notes of an evaluation with its doubts before them, or an error that lists the doubts.

    Parameters
    ----------
    notes : iterable of str
        The other notes. A file that was saved with doubts has them here.
    doubts : iterable of Doubt
        What the checks say now.
    strict : bool
        Whether doubts are an error.
    allow : str or iterable of str
        The names of checks whose doubts are ordinary notes, and never an error.
    where : str
        The beginning of the error's message, such as a file.

    Raises
    ------
    DataError
        If `strict` is true and there are doubts that are not allowed.

    Examples
    --------
    >>> doubt = Doubt("no_answer", "8 of 9 answers are empty", "Check the pipeline")
    >>> notes_with_doubts(["2 rows are left out"], [doubt])[0]
    'Doubt: 8 of 9 answers are empty. Check the pipeline [no_answer]'
    >>> notes_with_doubts([], [doubt], strict=True, allow="no_answer")
    ('allowed by no_answer: 8 of 9 answers are empty. Check the pipeline',)
    """
    allowed = check_allowed(allow)
    new = {doubt.note: doubt.check for doubt in doubts}
    # A check that was saved with its doubt has been made again. Other saved doubts go first, so
    # that a file that is read and saved again does not change.
    kept = [note for note in notes if not (is_doubt(note) and _check_of(note) in new.values())]
    merged = dict.fromkeys((*filter(is_doubt, kept), *new, *kept))
    serious = [note for note in merged if is_doubt(note) and _check_of(note) not in allowed]
    if strict:
        raise_doubts(serious, where)
    others = (_without_doubt(note) for note in merged if note not in serious)
    return (*serious, *others)


def raise_doubts(notes: Iterable[str], where: str = "") -> None:
    """Raise the error that lists the doubts among some notes; nothing if there are none."""
    doubts = list(dict.fromkeys(filter(is_doubt, notes)))
    if not doubts:
        return
    what = "doubt" if len(doubts) == 1 else "doubts"
    checks = dict.fromkeys(map(_check_of, doubts))
    raise DataError(
        f"{where}strict: {len(doubts)} {what} about this evaluation ({', '.join(checks)}). "
        f"{' '.join(doubts)} If the numbers are right, allow the check by its name: "
        f'allow="{next(iter(checks))}" (on the command line: --allow {next(iter(checks))})'
    )


def _check_of(note: str) -> str:
    """The name of the check at the end of a doubt's note."""
    return note.rpartition("[")[2].rstrip("]")


def _without_doubt(note: str) -> str:
    """The note of an allowed doubt as an ordinary note; any other note as it is."""
    if not is_doubt(note):
        return note
    return f"allowed by {_check_of(note)}: {note.removeprefix(DOUBT).rpartition(' [')[0]}"


# -- the checks of scores


def doubts_about_scores(
    scores: pd.DataFrame,
    metrics: Mapping[str, Metric],
    *,
    judged: Collection[str] = (),
    n_scored: Mapping[str, int] | None = None,
) -> list[Doubt]:
    """The doubts that scores alone can raise: metrics that are constant.

    `judged` are metrics whose scores are known to come from a judge; `n_scored` has the number of
    scored queries of each metric, if `scores` has only some of them.
    """
    n = {name: (n_scored or {}).get(name, int(scores[name].count())) for name in metrics}
    constants = {name: _constant(scores[name].to_numpy()) for name in metrics}
    varying = [name for name in metrics if constants[name] is None and n[name] > 1]
    at_bounds: dict[float, list[tuple[str, list[str]]]] = {}
    doubts = []
    for name, metric in metrics.items():
        value, bounds = constants[name], metric.bounds
        neighbours = [
            other
            for other in varying
            if metrics[other].group == metric.group and metrics[other].bounds is not None
        ]
        if value is None:
            continue
        is_best = bounds is not None and value == bounds[metric.greater_is_better]
        # The best score for all is a fault only if something else says that answers differ; and
        # that nothing bad happened, such as a wrong refusal, is usual and no sign of a fault.
        if n[name] < (_FEWEST_AT_BEST if is_best else _FEWEST) or (
            is_best and not (metric.greater_is_better and neighbours)
        ):
            continue
        # As far as names say: a description without a text was inferred from the column.
        is_known = metric.group not in ("performance", "other") and metric.description
        if name in judged or (metric.compute is None and is_known):
            ids = scores.index[scores[name].notna()][:5]
            doubts.append(Doubt.of("same_mark", ids, value=value, name=name, n=n[name]))
        elif neighbours and bounds and value in bounds and metric.group != "performance":
            # A retrieval that finds everything, or is right at once, is no sign of a fault either.
            stem, at, _ = name.partition("@")
            has_cutoff = at and any(other.partition("@")[0] == stem for other in varying)
            if not (is_best and (metric.group == "retrieval" or has_cutoff)):
                at_bounds.setdefault(value, []).append((name, neighbours))
    return [*(_constant_at(scores, n, *pair) for pair in at_bounds.items()), *doubts]


def _constant_at(
    scores: pd.DataFrame,
    n: Mapping[str, int],
    value: float,
    found: Sequence[tuple[str, list[str]]],
) -> Doubt:
    """The doubt about metrics that are constant at a bound while their neighbours vary."""
    names, others = [name for name, _ in found], found[0][1]
    return Doubt.of(
        *("constant_metric", scores.index[:5]),
        names=", ".join(names),
        first=names[0],
        are="is" if len(names) == 1 else "are",
        value=value,
        n=n[names[0]],
        others=", ".join(others[:3]),
        vary="varies" if len(others) == 1 else "vary",
    )


def _constant(values: np.ndarray) -> float | None:
    """The one score of a column; None if scores differ, or there is none."""
    head = values[:_HEAD]
    head = head[~np.isnan(head)]
    if head.size and bool((head != head[0]).any()):
        return None
    low, high = extremes_of(values)
    return low if low == high else None


# -- numbers that stand where a score is missing

# What tools write for "no score", below or above a scale.
_SENTINELS = (-1.0, -9.0, -99.0, -999.0, -9999.0, 9.99, 99.0, 99.9, 999.0, 9999.0)
_FEWEST_OTHERS = 3
_HIGHEST_MARK = 10.0
# The mean of parts that were rounded to two decimals.
_ROUNDED = 5e-3


def find_sentinel(values: FloatArray) -> float | None:
    """A number at the edge of a column that stands for a missing score; None without one.

    The other scores must be most of the column and lie apart from it on one side: without a
    negative number below 0, or within 10 above it. So -1 among wins and losses (1, 0, -1) and 99
    among percent are scores.

    Examples
    --------
    >>> find_sentinel(np.array([9.0, 7.0, -1.0, 8.0])), find_sentinel(np.array([1.0, 0.0, -1.0]))
    (-1.0, None)
    """
    for sentinel in {*extremes_of(values)}.intersection(_SENTINELS):
        is_sentinel = values == sentinel
        others = values[~np.isnan(values) & ~is_sentinel]
        if len(others) < _FEWEST_OTHERS or len(others) <= int(is_sentinel.sum()):
            continue
        least, most = float(others.min()), float(others.max())
        is_above = most <= _HIGHEST_MARK and sentinel >= 1.9 * most > 0
        is_below = sentinel < 0 and not set(others.tolist()) <= {0.0, 1.0}
        if least >= 0.0 and (is_below or is_above):
            return sentinel
    return None


def unscore_missing(
    block: FloatArray, names: Sequence[str], stated: Collection[str]
) -> list[Doubt]:
    """Make NaN of numbers that stand for missing scores, and return the doubts about these."""
    doubts = []
    for position, name in enumerate(names):
        column = block[:, position]
        while name not in stated and (sentinel := find_sentinel(column)) is not None:
            n = int((column == sentinel).sum())
            column[column == sentinel] = np.nan
            low, high = extremes_of(column)
            facts = {"sentinel": sentinel, "low": low, "high": high}
            facts |= {"least": min(low, sentinel), "most": max(high, sentinel)}
            doubts.append(Doubt.of("sentinel", (), name=name, n=n, **facts))
    for position, rows in _empty_composites(block):
        if names[position] not in stated:
            block[rows, position] = np.nan
            n = int(rows.sum())
            doubts.append(Doubt.of("empty_composite", (), name=names[position], n=n))
    return doubts


def _empty_composites(block: FloatArray) -> Iterator[tuple[int, BoolArray]]:
    """The means of other columns, with the rows in which they are 0 because all are missing."""
    # The minimum is NaN where a column has a gap.
    gaps = [n for n in range(block.shape[1]) if len(block) and np.isnan(np.min(block[:, n]))]
    for position in range(block.shape[1] if len(gaps) > 1 else 0):
        column = block[:, position]
        is_zero = column == 0.0
        parts = [n for n in gaps if n != position and np.isnan(block[is_zero, n]).any()]
        if len(parts) < 2:
            continue
        is_missing = np.isnan(block[:, parts])
        is_whole = ~is_missing.any(axis=1) & ~np.isnan(column)
        if is_whole.sum() < 2 or np.ptp(column[is_whole]) == 0:
            continue
        means = block[:, parts][is_whole].mean(axis=1)
        rows = is_zero & is_missing.all(axis=1)
        if np.abs(means - column[is_whole]).max() <= _ROUNDED and rows.any():
            yield position, rows

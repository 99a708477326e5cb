"""The findings in a golden set: a table for programs, sentences for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.stats.planning import minimum_detectable_difference, required_n

_SUMMARISE_FROM = 4  # this many findings with the same message are shown as one
_COLUMNS = ["check", "severity", "query_id", "other", "value", "told"]


@dataclass(frozen=True, eq=False, repr=False)
class Findings(Result):
    """One row per finding, as `rageval_report.golden.check_golden` gives them."""

    @property
    def has_error(self) -> bool:
        """Whether a finding makes figures wrong."""
        return "error" in set(self.frame["severity"])

    def as_sentences(self) -> FindingSentences:
        """The findings for people: one sentence each, which can be wrapped and is never cut."""
        counts = self.frame.groupby(["check", "severity"], sort=False).size()
        table = counts.rename("findings").reset_index()
        messages = tuple(map(_sentence, _summarise(self.frame).to_dict("records")))
        return FindingSentences(self.title, table, self.settings, self.notes, messages=messages)


@dataclass(frozen=True, eq=False, repr=False)
class FindingSentences(Result):
    """The number of findings by check, and the findings in words.

    Parameters
    ----------
    messages : tuple of str
        One sentence per finding, or per group of findings with the same message.
    """

    messages: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The findings."""
        return self.messages


def golden_findings(
    file: str,
    table: pd.DataFrame,
    n: int,
    *,
    near: float,
    difference: float,
    sd: float,
    power: float,
) -> Findings:
    """The findings in a golden set, and whether it is large enough.

    Parameters
    ----------
    file : str
        The file of the set.
    table : DataFrame
        As `check_golden` returns it.
    n : int
        The number of questions.
    near : float
        The similarity at which questions count as near-duplicates.
    difference, sd, power : float
        The difference that the set should be able to show, the standard deviation of the
        differences of a query, and the power of the test.

    Raises
    ------
    DataError
        If the difference or the standard deviation is not positive.

    Examples
    --------
    >>> table = pd.DataFrame(columns=["check", "severity", "query_id", "other", "value", "told"])
    >>> options = {"near": 0.8, "difference": 0.5, "sd": 0.4, "power": 0.8}
    >>> golden_findings("gold.jsonl", table, 5, **options).as_sentences().sentences[0]
    'warning: 5 questions show differences of 0.673 or more with power 0.8; 0.5 takes 8 (size)'
    """
    size, note = _check_size(n, difference, sd, power)
    tables = [frame for frame in (table, size) if len(frame)] or [table]
    frame = pd.concat(tables, ignore_index=True)
    settings = {"near": near, "difference": difference, "sd": sd, "power": power}
    title = f"Golden set {Path(file).name}: {n} questions, {len(frame)} findings"
    return Findings(title, frame, settings, (note,))


def _check_size(n: int, difference: float, sd: float, power: float) -> tuple[pd.DataFrame, str]:
    """A finding if so many questions cannot show the difference, and a note on what they can."""
    if not (difference > 0 and sd > 0):
        raise DataError(f"--difference and --sd must be above 0; got {difference:g} and {sd:g}")
    needed = required_n(difference / sd, power)
    smallest = minimum_detectable_difference(sd, n, power=power) if n > 1 else None
    detectable = "nothing" if smallest is None else f"differences of {smallest:.3g} or more"
    message = f"{n} questions show {detectable} with power {power:g}; {difference:g} takes {needed}"
    row = ("size", "warning", "", "", needed, message)
    note = f"{message}, if a query's differences have a standard deviation of {sd:g}"
    return pd.DataFrame([row] if n < needed else [], columns=_COLUMNS), note


def _summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for many questions with the same message."""
    same = ["check", "severity", "told"]
    n = frame.groupby(same)["told"].transform("size")
    rows = frame[(n < _SUMMARISE_FROM) | ~frame.duplicated(same)].copy()
    repeated = n[rows.index] >= _SUMMARISE_FROM
    rows.loc[repeated, "query_id"] = [f"{count} questions" for count in n[rows.index][repeated]]
    rows.loc[repeated, "other"] = ""
    return rows


def _sentence(finding: Mapping[Any, Any]) -> str:
    """As "error, q9 and q1: the question appears twice (duplicates)"."""
    ids = " and ".join(str(finding[name]) for name in ("query_id", "other") if finding[name])
    where = f", {ids}" if ids else ""
    return f"{finding['severity']}{where}: {finding['told']} ({finding['check']})"

"""What was found in a golden set: a table for programs, sentences for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.stats.planning import minimum_detectable_difference, required_n

_MANY = 4  # findings in the same words that are told as one
_COLUMNS = ["check", "severity", "query_id", "other", "value", "told"]


@dataclass(frozen=True, eq=False, repr=False)
class Findings(Result):
    """A row a finding, as `rageval_report.golden.check_golden` gives them."""

    @property
    def has_error(self) -> bool:
        """Whether one of them makes figures wrong."""
        return "error" in set(self.frame["severity"])

    def in_words(self) -> FindingsTold:
        """The same for people: every finding a sentence, which can be wrapped and is not cut."""
        counted = self.frame.groupby(["check", "severity"], sort=False).size()
        table = counted.rename("findings").reset_index()
        told = tuple(map(_sentence, _folded(self.frame).to_dict("records")))
        return FindingsTold(self.title, table, self.settings, self.notes, told=told)


@dataclass(frozen=True, eq=False, repr=False)
class FindingsTold(Result):
    """The number of findings by check, and the findings in words.

    Parameters
    ----------
    told : tuple of str
        A sentence a finding; one for many that say the same.
    """

    told: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The findings."""
        return self.told


def findings_of(
    file: str,
    found: pd.DataFrame,
    n: int,
    *,
    near: float,
    difference: float,
    sd: float,
    power: float,
) -> Findings:
    """The findings of a golden set, and whether it is large enough.

    Parameters
    ----------
    file : str
        Where the set lies.
    found : DataFrame
        As `check_golden` gives it.
    n : int
        How many questions there are.
    near : float
        The similarity from which on questions are near-duplicates.
    difference, sd, power : float
        The difference that the set should show, the standard deviation of a query's differences,
        the power of the test.

    Raises
    ------
    DataError
        If the difference or the standard deviation makes no sense.

    Examples
    --------
    >>> found = pd.DataFrame(columns=["check", "severity", "query_id", "other", "value", "told"])
    >>> options = {"near": 0.8, "difference": 0.5, "sd": 0.4, "power": 0.8}
    >>> findings_of("gold.jsonl", found, 5, **options).in_words().told[0]
    'warning: 5 questions show differences from 0.673 on with power 0.8; 0.5 takes 8 (size)'
    """
    size, note = _size(n, difference, sd, power)
    frame = pd.concat([one for one in (found, size) if len(one)] or [found], ignore_index=True)
    settings = {"near": near, "difference": difference, "sd": sd, "power": power}
    title = f"Golden set {Path(file).name}: {n} questions, {len(frame)} findings"
    return Findings(title, frame, settings, (note,))


def _size(n: int, difference: float, sd: float, power: float) -> tuple[pd.DataFrame, str]:
    """Whether so many questions can show the difference, and what they can show."""
    if not (difference > 0 and sd > 0):
        raise DataError(f"--difference and --sd must be above 0; got {difference:g} and {sd:g}")
    needed = required_n(difference / sd, power)
    least = minimum_detectable_difference(sd, n, power=power) if n > 1 else None
    shown = "nothing" if least is None else f"differences from {least:.3g} on"
    told = f"{n} questions show {shown} with power {power:g}; {difference:g} takes {needed}"
    row = ("size", "warning", "", "", needed, told)
    note = f"{told}, where a query's differences have a standard deviation of {sd:g}"
    return pd.DataFrame([row] if n < needed else [], columns=_COLUMNS), note


def _folded(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for what is said of many questions in the same words."""
    same = ["check", "severity", "told"]
    n = frame.groupby(same)["told"].transform("size")
    folded = frame[(n < _MANY) | ~frame.duplicated(same)].copy()
    many = n[folded.index] >= _MANY
    folded.loc[many, "query_id"] = [f"{one} questions" for one in n[folded.index][many]]
    folded.loc[many, "other"] = ""
    return folded


def _sentence(finding: Mapping[Any, Any]) -> str:
    """As "error, q9 and q1: the question stands there twice (duplicates)"."""
    ids = " and ".join(str(finding[name]) for name in ("query_id", "other") if finding[name])
    where = f", {ids}" if ids else ""
    return f"{finding['severity']}{where}: {finding['told']} ({finding['check']})"

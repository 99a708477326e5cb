"""What to do after a comparison, as command lines that can be pasted into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from rageval_report.analysis.compare import Comparison
from rageval_report.cli.terminal_forest import standardised_rows

_PROGRAM = "rageval-report"
_LIMIT = "5"
_MOST_METRICS = 4  # named in one command


def drill_down(comparison: Comparison, files: Mapping[str, str]) -> list[str]:
    """The words of the command that lists the queries which got worse on the worst metric.

    A metric on which the candidate is shown to be worse comes before all others; then the largest
    loss in standard deviations of a query's difference counts.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    files : mapping of str to str
        The FILE argument of each pipeline, by its name.

    Returns
    -------
    list of str
        Empty if no query got worse.
    """
    outcomes = standardised_rows(comparison)
    order = [
        (row.outcome != "worse", np.nan_to_num(row.point), place)
        for place, (row, losses) in enumerate(
            zip(outcomes, comparison.frame["losses"], strict=True)
        )
        if losses > 0
    ]
    if not order:
        return []
    worst = comparison.frame.iloc[min(order)[-1]]
    runs = (files[worst["baseline"]], files[worst["candidate"]])
    return ["regressions", *runs, "--metric", worst["metric"], "--limit", _LIMIT]


def plan_for_undecided(comparison: Comparison, files: Mapping[str, str]) -> list[str]:
    """The words of the command that plans the queries for the metrics that are not decided.

    Parameters
    ----------
    comparison, files
        As for `drill_down`.

    Returns
    -------
    list of str
        Empty if all tested metrics are decided. The plan is at the level that the correction leaves
        to the tests that are not shown, as the sentences of the comparison are.
    """
    frame = comparison.frame
    outcomes = np.array([row.outcome for row in standardised_rows(comparison)])
    undecided = frame[(outcomes == "undecided") & frame["pvalue"].notna().to_numpy()]
    if undecided.empty:
        return []
    rows = undecided[undecided["candidate"] == undecided["candidate"].iloc[0]][:_MOST_METRICS]
    first = rows.iloc[0]
    words = ["plan", files[first["baseline"]], "--candidate", files[first["candidate"]]]
    words += [word for metric in rows["metric"] for word in ("--metric", metric)]
    margin = comparison.settings.get("margin")
    if isinstance(margin, float):
        words += ["--difference", f"{margin:g}"]
    n_tests = _tests_left(frame, outcomes, comparison.settings.get("correction"))
    return words if n_tests == len(rows) else [*words, "--tests", str(n_tests)]


def _tests_left(frame: pd.DataFrame, outcomes: np.ndarray, correction: object) -> int:
    """The number of tests among which the correction divides the error rate that is left."""
    if correction == "none":
        return 1
    is_open = np.isin(outcomes, ["undecided", "equivalent"])
    return int((is_open & frame["pvalue"].notna().to_numpy()).sum())


def pasted(words: Sequence[str]) -> str:
    """A command line that a shell reads as these words.

    Examples
    --------
    >>> pasted(["report", "my run.csv"])
    "rageval-report report 'my run.csv'"
    """
    return shlex.join([_PROGRAM, *words])

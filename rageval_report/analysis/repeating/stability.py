"""How far repeated runs of a pipeline agree, query by query."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis.repeating.edit_distance import MOST_LETTERS, edit_distance
from rageval_report.results import Result
from rageval_report.scores import Correct, Scored, correctness, join_details
from rageval_report.scores.query_ids import first_named
from rageval_report.scores.run_file import plain_value
from rageval_report.scores.texts import ANSWER

_CITATIONS = ("citations", "citation_ids", "cited_ids")
_REFUSALS = ("refused", "refusal", "abstained")


def stability(runs: Sequence[Scored], correct: Correct | None = None) -> Result:
    """How far the runs agree on each query, the least stable first.

    Parameters
    ----------
    runs : sequence of Scored
        Repeated runs of one pipeline.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is; exact match where there is one, else agreement is not told.

    Returns
    -------
    Result
        Index ``query_id``. ``n_runs`` that have the query; ``share_correct`` of those that can be
        told, ``agreement`` (the larger of the shares correct and incorrect), ``flips`` (changes
        from one run to the next, as given); where the details have them: ``refusal_agreement``,
        ``citation_stability`` (documents cited by every run, of those cited by any; 1 where none
        is), ``answer_distance`` (the median over pairs of runs of the edit distance of their
        answers, over the length of the longer one).

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> runs = [
    ...     RAGPipelineEvaluation("hybrid", {"query_id": ["a", "b"], "exact_match": scores})
    ...     for scores in ([1, 1], [1, 0], [1, 1])
    ... ]
    >>> stability(runs).frame[["agreement", "flips"]].round(2).values.tolist()
    [[0.67, 2], [1.0, 0]]
    """
    ids = pd.Index(dict.fromkeys(one for run in runs for one in run.scores.index), name="query_id")
    frame = pd.DataFrame({"n_runs": _counts(runs, ids)}, index=ids)
    notes = []
    right = _right(runs, ids, correct)
    if right is None:
        notes.append("what a correct answer is, nobody says; say it with correct=...")
    else:
        frame = frame.join(_agreement(right).set_axis(ids))
        notes.append(_flips_note(frame))
    frame = frame.assign(**_of_details(runs, ids))
    keys = [name for name in ("agreement", "answer_distance") if name in frame]
    if keys:
        frame = frame.sort_values(keys, ascending=[k == "agreement" for k in keys], kind="stable")
    names = dict.fromkeys(run.name for run in runs)
    if "answer_distance" in frame:
        notes.append(f"answers are compared up to their first {MOST_LETTERS} letters")
    return Result(
        f"Stability of each query over {len(runs)} runs of {', '.join(names)}",
        frame,
        {"n_runs": len(runs), "correct": "exact match" if correct is None else _rule(correct)},
        tuple(notes),
    )


def _rule(correct: Correct) -> object:
    return getattr(correct, "__name__", "a function") if callable(correct) else correct


def _counts(runs: Sequence[Scored], ids: pd.Index) -> np.ndarray:
    counts: np.ndarray = np.sum([ids.isin(run.scores.index) for run in runs], axis=0)
    return counts


def _right(runs: Sequence[Scored], ids: pd.Index, correct: Correct | None) -> np.ndarray | None:
    """A row a query, a column a run: 1 correct, 0 incorrect, NaN where that cannot be told."""
    exact = all(
        any(metric.known_as == "exact_match" for metric in run.metrics.values()) for run in runs
    )
    if correct is None and not exact:
        return None
    columns = [correctness(run, correct).astype("Float64").reindex(ids) for run in runs]
    return np.column_stack([one.to_numpy(dtype=np.float64, na_value=np.nan) for one in columns])


def _agreement(right: np.ndarray) -> pd.DataFrame:
    """Over the runs of which it can be told; a run that is unscored is passed over."""
    told = pd.DataFrame(right)
    share = told.mean(axis=1)
    flips = told.ffill(axis=1).diff(axis=1).abs().sum(axis=1)
    columns = {
        "share_correct": share,
        "agreement": np.maximum(share, 1.0 - share),
        "flips": flips.astype("Int64").mask(share.isna()),
    }
    return pd.DataFrame(columns)


def _flips_note(frame: pd.DataFrame) -> str:
    told = frame["agreement"].notna()
    unstable = int((frame.loc[told, "agreement"] < 1).sum())
    more = int((~told).sum())
    also = f"; of {more} nothing can be told" if more else ""
    return (
        f"{unstable} of {int(told.sum())} queries are correct in some runs and incorrect in "
        f"others{also}"
    )


# -- what the details tell


def _of_details(runs: Sequence[Scored], ids: pd.Index) -> dict[str, list[float]]:
    """The columns that the details of all runs can give."""
    found = {}
    for name, wanted, measure in (
        ("refusal_agreement", _REFUSALS, _refusal_agreement),
        ("citation_stability", _CITATIONS, _citation_stability),
        ("answer_distance", ANSWER, _answer_distance),
    ):
        cells = _cells(runs, ids, wanted)
        if cells is not None:
            found[name] = [measure([one for one in row if one is not None]) for row in cells]
    return found


def _cells(
    runs: Sequence[Scored], ids: pd.Index, wanted: Sequence[str]
) -> list[tuple[Any, ...]] | None:
    """A row a query, a cell a run, None where there is none; None if a run lacks the column.

    A column of truth values may have been taken for a metric.
    """
    columns = []
    for run in runs:
        held = join_details(run.scores, run.details)
        name = first_named(map(str, held), wanted)
        if name is None:
            return None
        columns.append(map(plain_value, held[name].reindex(ids).tolist()))
    return list(zip(*columns, strict=True))


def _refusal_agreement(told: list[Any]) -> float:
    """The larger of the shares of runs that refuse and that answer."""
    if not told:
        return float("nan")
    share = sum(map(bool, told)) / len(told)
    return max(share, 1.0 - share)


def _citation_stability(told: list[Any]) -> float:
    """The documents that every run cites, of those that any cites; 1 where none is cited."""
    if len(told) < 2:
        return float("nan")
    cited = [_documents(one) for one in told]
    any_of = set().union(*cited)
    return len(set.intersection(*cited)) / len(any_of) if any_of else 1.0


def _documents(cell: Any) -> set[str]:
    if isinstance(cell, list | tuple):
        return {json.dumps(one, sort_keys=True) for one in cell}
    return {one for one in str(cell).replace(",", " ").split() if one}


def _answer_distance(told: list[Any]) -> float:
    """The median over pairs of answers."""
    if len(told) < 2:
        return float("nan")
    texts = [str(one) for one in told]
    return float(median(edit_distance(one, other) for one, other in combinations(texts, 2)))

"""The agreement of repeated runs of a pipeline, query by query."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis.repeating.edit_distance import MOST_LETTERS, edit_distance
from rageval_report.results import Result
from rageval_report.scores import Correct, Scored, join_details
from rageval_report.scores.correct_notion import (
    CorrectNotion,
    answers_by,
    describe_notions,
    shared_notions,
)
from rageval_report.scores.exact_values import plain_value
from rageval_report.scores.query_ids import first_named
from rageval_report.scores.texts import ANSWER
from rageval_report.types import FloatArray, IntArray

_CITATIONS = ("citations", "citation_ids", "cited_ids")
_REFUSALS = ("refused", "refusal", "abstained")
_OUTCOMES = ("refused", "answered", "skipped")  # of the scorer of traces


def stability(runs: Sequence[Scored], correct: Correct | None = None) -> Result:
    """The agreement of the runs on each query, the least stable first.

    Parameters
    ----------
    runs : sequence of Scored
        Repeated runs of one pipeline.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is; if omitted, the rule of each run, else the same column of all.
        Without any there is no agreement.

    Returns
    -------
    Result
        Index ``query_id``. ``n_runs`` that have the query; ``share_correct`` of the runs whose
        answer is known to be correct or not, ``agreement`` (the larger of the shares correct and
        incorrect), ``flips`` (changes from one run to the next, in the given order); if the details
        have them: ``refusal_agreement``, ``citation_stability`` (documents cited by every run, of
        those cited by any; 1 if none is), ``answer_distance`` (the median over pairs of runs of the
        edit distance of their answers, over the length of the longer one).

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
    ids = pd.Index(
        dict.fromkeys(query_id for run in runs for query_id in run.scores.index), name="query_id"
    )
    frame = pd.DataFrame({"n_runs": _counts(runs, ids)}, index=ids)
    notes = []
    notions = shared_notions(runs, correct)
    if notions is None:
        notes.append("it is unknown what a correct answer is; pass correct=...")
    else:
        correctness_table = _correctness_table(runs, ids, notions)
        frame = frame.join(_agreement_columns(correctness_table).set_axis(ids))
        notes += [describe_notions(runs, notions), _flips_note(frame)]
    frame = frame.assign(**_detail_columns(runs, ids))
    keys = [name for name in ("agreement", "answer_distance") if name in frame]
    if keys:
        frame = frame.sort_values(keys, ascending=[k == "agreement" for k in keys], kind="stable")
    names = dict.fromkeys(run.name for run in runs)
    if "answer_distance" in frame:
        notes.append(f"only the first {MOST_LETTERS} letters of answers are compared")
    return Result(
        f"Stability of each query over {len(runs)} runs of {', '.join(names)}",
        frame,
        {
            "n_runs": len(runs),
            "correct": "" if notions is None else notions[0].words,
        },
        tuple(notes),
    )


def _counts(runs: Sequence[Scored], ids: pd.Index) -> IntArray:
    counts: IntArray = np.sum([ids.isin(run.scores.index) for run in runs], axis=0)
    return counts


def _correctness_table(
    runs: Sequence[Scored], ids: pd.Index, notions: Sequence[CorrectNotion]
) -> FloatArray:
    """One row per query, one column per run: 1 correct, 0 incorrect, NaN unknown."""
    columns = [
        answers_by(run, notion).astype("Float64").reindex(ids)
        for run, notion in zip(runs, notions, strict=True)
    ]
    return np.column_stack(
        [column.to_numpy(dtype=np.float64, na_value=np.nan) for column in columns]
    )


def _agreement_columns(correctness_table: FloatArray) -> pd.DataFrame:
    """The columns on correctness; a run without a score is skipped."""
    frame = pd.DataFrame(correctness_table)
    share = frame.mean(axis=1)
    # Filled forward, so that a run without a score neither is a flip nor hides one.
    flips = frame.ffill(axis=1).diff(axis=1).abs().sum(axis=1)
    columns = {
        "share_correct": share,
        "agreement": np.maximum(share, 1.0 - share),
        "flips": flips.astype("Int64").mask(share.isna()),
    }
    return pd.DataFrame(columns)


def _flips_note(frame: pd.DataFrame) -> str:
    is_known = frame["agreement"].notna()
    unstable = int((frame.loc[is_known, "agreement"] < 1).sum())
    n_unknown = int((~is_known).sum())
    also = f"; {n_unknown} more are unscored in all runs" if n_unknown else ""
    return (
        f"{unstable} of {int(is_known.sum())} queries are correct in some runs and incorrect in "
        f"others{also}"
    )


# -- columns from the details


def _detail_columns(runs: Sequence[Scored], ids: pd.Index) -> dict[str, list[float]]:
    """The columns for which all runs have details."""
    columns = {}
    for name, cells_of, measure in (
        ("refusal_agreement", _refusals, _refusal_agreement),
        ("citation_stability", partial(_details, names=_CITATIONS), _citation_stability),
        ("answer_distance", partial(_details, names=ANSWER), _answer_distance),
    ):
        rows = _detail_rows(runs, ids, cells_of)
        if rows is not None:
            columns[name] = [measure([cell for cell in row if cell is not None]) for row in rows]
    return columns


def _detail_rows(
    runs: Sequence[Scored], ids: pd.Index, cells_of: Callable[[Scored], pd.Series | None]
) -> list[tuple[Any, ...]] | None:
    """One row of cells per query, one cell per run; None if a run lacks them."""
    columns = []
    for run in runs:
        cells = cells_of(run)
        if cells is None:
            return None
        columns.append(map(plain_value, cells.reindex(ids).tolist()))
    return list(zip(*columns, strict=True))


def _details(run: Scored, names: Sequence[str]) -> pd.Series | None:
    """The first column of these names.

    The scores are searched too, as a column of truth values may have been taken for a metric.
    """
    cells = join_details(run.scores, run.details)
    name = first_named(map(str, cells), names)
    return None if name is None else cells[name]


def _refusals(run: Scored) -> pd.Series | None:
    """Whether the run refused each question: a column, the outcome of a trace, or two scores."""
    known = _details(run, _REFUSALS)
    if known is not None:
        return known
    outcome = _details(run, ("outcome",))
    if outcome is not None and outcome.isin(_OUTCOMES).all():
        return outcome.map({"refused": True, "answered": False})
    names = {metric.known_as: name for name, metric in run.metrics.items()}
    if not {"false_refusal", "hallucinated_answer"} <= set(names):
        return None
    # Each question has one of the two: the first if it has an answer, the second if it has none.
    invented = run.scores[names["hallucinated_answer"]]
    return run.scores[names["false_refusal"]].fillna(1.0 - invented)


def _refusal_agreement(refusals: list[Any]) -> float:
    """The larger of the shares of runs that refuse and that answer."""
    if not refusals:
        return float("nan")
    share = sum(map(bool, refusals)) / len(refusals)
    return max(share, 1.0 - share)


def _citation_stability(citations: list[Any]) -> float:
    """The share of documents cited by every run, of those cited by any; 1 if none is."""
    if len(citations) < 2:
        return float("nan")
    cited = [_documents(cell) for cell in citations]
    any_of = set().union(*cited)
    return len(set.intersection(*cited)) / len(any_of) if any_of else 1.0


def _documents(cell: Any) -> set[str]:
    if isinstance(cell, list | tuple):
        # As texts, because a dict cannot be a member of a set.
        return {json.dumps(citation, sort_keys=True) for citation in cell}
    return set(str(cell).replace(",", " ").split())


def _answer_distance(answers: list[Any]) -> float:
    """The median edit distance over pairs of answers."""
    if len(answers) < 2:
        return float("nan")
    pairs = combinations(map(str, answers), 2)
    return float(median(edit_distance(first, second) for first, second in pairs))

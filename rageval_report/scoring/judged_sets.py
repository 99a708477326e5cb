"""A pipeline held against a judged set, as ADR-013 has it: retrieval and generation told apart.

Queries with their highly relevant documents, recall next to the recall that can be reached, answers
judged by their references, and a table of the two. All queries are scored before any gate is held.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError, named
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.golden.ground_truths import HIGHLY_RELEVANT, highly_relevant
from rageval_report.records import record_table
from rageval_report.results import Result
from rageval_report.scoring.records import score_and_judge
from rageval_report.stats import mean_interval

if TYPE_CHECKING:
    from rageval_report.judges import Judged, Rubric

Count = Literal["chunks", "documents"]
_COUNT: tuple[Count, ...] = ("chunks", "documents")

_FEW = 50  # the record asks for 50 to 100 queries
_RIGHT = 0.5  # from which score on an answer is right; a judge's TRUE is 1

# What stands beside `retrieved`, item by item, and no longer fits once it is cut.
_BESIDE = ("retrieved_scores", "retrieved_spans", "citations", "cited_sections")

# What each cell of the table says about the pipeline.
_READINGS = {
    "found": "wrong answers are the generation's: the documents were there",
    "not found": "wrong answers begin with the retrieval; right ones came without it",
    "not scored": "the pipeline failed, or gave no documents",
    "all": "",
}


@dataclass(frozen=True, eq=False)
class JudgedSetEvaluation:
    """What was found; a `Result` for each of its three tables.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        All scores, to be reported, gated, compared with another pipeline's.
    table : Result
        Retrieval by generation: a row for queries whose documents were found, one for the others.
    queries : Result
        A row a query: expected, retrieved, found, recall, whether it passed, whether the answer
        is right.
    judged : Judged, optional
        What the judge said and what it took; None where generation is computed.
    """

    evaluation: RAGPipelineEvaluation
    table: Result
    queries: Result
    judged: Judged | None = None


def evaluate_judged_set(
    records: object,
    *,
    chat: object | None = None,
    generation: str | Rubric = "answer_correct",
    k: int = 10,
    minimum: float = 0.8,
    count: Count = "chunks",
    grade: float = HIGHLY_RELEVANT,
    mapping: Mapping[str, str | Sequence[str]] | None = None,
    name: str = "pipeline",
    judging: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
) -> JudgedSetEvaluation:
    """Evaluate a pipeline's answers to a judged set, as nfcorpus.

    Parameters
    ----------
    records : frame, dict of lists, or list of dicts
        One row a query: ``question``, ``reference`` (as `ground_truth` writes them), ``relevant``
        with grades, and what the pipeline gave: ``retrieved``, ``answer``.
    chat : Chat or callable, optional
        Who judges; needed where `generation` is a judge's.
    generation : str or Rubric
        What tells a right answer: a judge, or a metric that is computed, as "exact_match". From
        0.5 on an answer is right.
    k : int
        How many results count.
    minimum : float
        The reachable recall from which on the documents were found.
    count : {"chunks", "documents"}
        Whether two chunks of one document are two of the `k` results, or one.
    grade : float
        The lowest grade that is highly relevant; all these documents are expected, no others.
    mapping : mapping of str to str or sequence of str, optional
        The pipeline's own id, or ids, of a document, where it has others than the set. A document
        without one stays expected: it can be found by nobody, which the notes say.
    name, judging, config, created
        As in `rageval_report.score`.

    Returns
    -------
    JudgedSetEvaluation
        Scores ``recall@k``, ``reachable_recall@k`` (found, by the `k` or fewer that could be
        found), ``precision@1`` and that of `generation`; and the tables.

    Raises
    ------
    DataError
        If a field is missing, no query has a highly relevant document, or an argument makes no
        sense.

    Examples
    --------
    >>> rows = {
    ...     "query_id": ["q1", "q2"],
    ...     "relevant": [{"d1": 2, "d2": 1}, {"d3": 2}],
    ...     "retrieved": [["d1"], ["d1"]],
    ...     "reference": ["Yes.", "No."],
    ...     "answer": ["Yes.", "No."],
    ... }
    >>> found = evaluate_judged_set(rows, generation="exact_match")
    >>> found.table.frame[["retrieval", "n", "correct"]].to_numpy().tolist()
    [['found', 1, 1], ['not found', 1, 1], ['all', 2, 2]]
    """
    _check_arguments(k, minimum, count)
    checked = record_table(records, unretrieved_citations="keep")
    if "retrieved" not in checked:
        raise DataError("expected answered records with a column 'retrieved'; ask the pipeline")
    chosen = highly_relevant(checked, grade=grade)
    notes, chosen = _prepared(chosen, len(checked), k, count, mapping)
    metrics = [f"recall@{k}", f"reachable_recall@{k}", "precision@1"]
    if generation in metrics:
        raise DataError(f"{generation} is of the retrieval; expected what tells a right answer")
    found = score_and_judge(
        chosen,
        [*metrics, generation],
        name=name,
        chat=chat,
        judging=judging,
        config=config,
        created=created,
    )
    scores = found.evaluation.scores
    table = _queries(chosen, scores, k, minimum)
    settings = {
        "k": k,
        "minimum": minimum,
        "count": count,
        "grade": grade,
        "generation": str(scores.columns[-1]),
    }
    return JudgedSetEvaluation(
        found.evaluation,
        Result("Retrieval by generation", _crossed(table), settings, notes),
        Result("Queries", table, settings, headline=_SHOWN),
        found.judged,
    )


def _check_arguments(k: int, minimum: float, count: str) -> None:
    if isinstance(k, bool) or k < 1:
        raise DataError(f"k must be a whole number from 1 up; got {k!r}")
    if not 0.0 < minimum <= 1.0:
        raise DataError(f"minimum must be above 0 and at most 1; got {minimum!r}")
    if count not in _COUNT:
        raise UnknownNameError("way to count results", str(count), _COUNT)


# -- what is scored


def _prepared(
    chosen: pd.DataFrame,
    n_asked: int,
    k: int,
    count: Count,
    mapping: Mapping[str, str | Sequence[str]] | None,
) -> tuple[tuple[str, ...], pd.DataFrame]:
    """The records with the results that count, and what should be known of them."""
    own = _own_names(mapping or {})
    rankings = [
        None if one is None else [own.get(doc, doc) for doc in one]
        for one in chosen["retrieved"].tolist()
    ]
    kept = [None if one is None else _first(one, k, count) for one in rankings]
    table = chosen.drop(columns=[one for one in _BESIDE if one in chosen])
    table["retrieved"] = pd.Series(kept, index=table.index, dtype=object)
    told = [
        _few_note(len(table), n_asked),
        _reach_note(table["highly_relevant_count"].to_numpy(), k),
        _chunk_note(rankings, k) if count == "chunks" else "",
        _unmapped_note(table, mapping),
    ]
    return tuple(one for one in told if one), table


def _own_names(mapping: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
    """The set's id of each id of the pipeline."""
    own: dict[str, str] = {}
    for document, told in mapping.items():
        for one in [told] if isinstance(told, str) else told:
            if own.setdefault(str(one), str(document)) != str(document):
                raise DataError(f"the mapping gives {one!r} to {own[str(one)]!r} and {document!r}")
    return own


def _first(ranking: Sequence[str], k: int, count: Count) -> list[str]:
    """The documents that the first `k` results hold, each once."""
    if count == "chunks":
        return list(dict.fromkeys(ranking[:k]))
    return list(dict.fromkeys(ranking))[:k]


def _few_note(n: int, n_asked: int) -> str:
    left = f"; {n_asked - n} without a highly relevant document are left out" * (n < n_asked)
    few = f": few, see the intervals, and take {_FEW} to 100" if n < _FEW else ""
    return f"{n} queries{few}{left}" if few or left else ""


def _reach_note(expected: np.ndarray, k: int) -> str:
    beyond = int((expected > k).sum())
    if not beyond:
        return ""
    best = float(np.minimum(1.0, k / expected).mean())
    return (
        f"{beyond} of {len(expected)} queries expect more than {k} documents, so the mean of "
        f"recall@{k} cannot pass {best:.3f}; reachable_recall@{k} can be 1"
    )


def _chunk_note(rankings: Sequence[Sequence[str] | None], k: int) -> str:
    repeated = sum(len(set(one[:k])) < len(one[:k]) for one in rankings if one is not None)
    if not repeated:
        return ""
    told = f"the first {k} results of {repeated} queries hold chunks of one document"
    return f'{told}, so fewer than {k} documents count; count="documents" takes the first {k}'


def _unmapped_note(table: pd.DataFrame, mapping: Mapping[str, str | Sequence[str]] | None) -> str:
    if mapping is None:
        return ""
    known = set(map(str, mapping))
    lost = [one for grades in table["relevant"] for one in grades if one not in known]
    if not lost:
        return ""
    told = named(list(dict.fromkeys(lost)))
    return f"{len(lost)} expected documents are not in the mapping, and count as not found: {told}"


# -- the tables

_SHOWN = ("query_id", "expected", "found", "recall", "reachable_recall", "retrieval", "answer")


def _queries(chosen: pd.DataFrame, scores: pd.DataFrame, k: int, minimum: float) -> pd.DataFrame:
    """A row a query; nothing is left out because another query failed."""
    rankings = chosen["retrieved"].tolist()
    expected = [set(grades) for grades in chosen["relevant"].tolist()]
    pairs = list(zip(rankings, expected, strict=True))
    reached = scores[f"reachable_recall@{k}"].to_numpy()
    right = scores.iloc[:, -1].to_numpy()
    return pd.DataFrame(
        {
            "query_id": chosen.index.tolist(),
            "question": chosen["question"].tolist() if "question" in chosen else None,
            "expected": [len(gold) for gold in expected],
            "retrieved": [math.nan if one is None else len(one) for one in rankings],
            "found": [math.nan if one is None else len(gold & set(one)) for one, gold in pairs],
            "recall": scores[f"recall@{k}"].to_numpy(),
            "reachable_recall": reached,
            "first_is_expected": scores["precision@1"].to_numpy(),
            "retrieval": _told(reached, minimum, "found", "not found"),
            "generation": right,
            "answer": _told(right, _RIGHT, "correct", "incorrect"),
        }
    )


def _told(values: np.ndarray, least: float, yes: str, no: str) -> list[str]:
    return [
        "not scored" if math.isnan(value) else yes if value >= least - 1e-12 else no
        for value in values.tolist()
    ]


def _crossed(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each outcome of the retrieval, with the answers to its queries."""
    rows = []
    for retrieval, reading in _READINGS.items():
        held = table if retrieval == "all" else table[table["retrieval"] == retrieval]
        if len(held) or retrieval in ("found", "not found"):
            rows.append({"retrieval": retrieval, **_answers(held["answer"]), "reading": reading})
    return pd.DataFrame(rows)


def _answers(told: pd.Series) -> dict[str, Any]:
    counts = {one: int((told == one).sum()) for one in ("correct", "incorrect", "not scored")}
    n = counts["correct"] + counts["incorrect"]
    accuracy = low = high = math.nan
    if n:
        values = np.repeat([1.0, 0.0], [counts["correct"], counts["incorrect"]])
        interval = mean_interval(values, method="wilson")
        accuracy, low, high = interval.estimate, interval.low, interval.high
    return {
        "n": len(told),
        "correct": counts["correct"],
        "incorrect": counts["incorrect"],
        "unscored": counts["not scored"],
        "accuracy": accuracy,
        "ci_low": low,
        "ci_high": high,
    }

"""Evaluates a pipeline on a judged set, with retrieval and generation kept apart (ADR-013).

It takes queries with their highly relevant documents, scores recall beside the recall that can be
reached, judges answers by their references, and crosses the two in a table. All queries are scored
before any gate is evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, check_choice, is_doubt, named
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.metrics.checks import check_cutoff
from rageval_report.metrics.record_scores import is_unanswerable
from rageval_report.metrics.scoring import score_and_judge
from rageval_report.records import record_table
from rageval_report.records.golden import high_grade, highly_relevant
from rageval_report.records.id_changes import MatchIds, match_record_ids
from rageval_report.records.levels import (
    SECTION_FIELDS,
    LevelOption,
    choose_level,
    records_at_level,
)
from rageval_report.results import Result
from rageval_report.stats.means import interval_of_count

if TYPE_CHECKING:
    from rageval_report.judges import Judged, JudgeOptions, Rubric

Repeats = Literal["keep", "best"]
_REPEATS: tuple[Repeats, ...] = get_args(Repeats)

_FEW = 50  # ADR-013 asks for 50 to 100 queries
_CORRECT_FROM = 0.5  # the lowest score of a correct answer; the TRUE of a judge is 1

# The fields that belong to all that was retrieved, and no longer fit once it is cut to the ids of
# one level.
_REPLACED_FIELDS = (
    *("retrieved_scores", "retrieved_spans", "retrieved_sections", "citations", "cited_sections"),
    *("relevant_sections", "relevant_spans", "relevant_texts"),
)

# What each row of the table says about the pipeline.
_READINGS = {
    "found": "the documents were retrieved, so wrong answers are errors of generation",
    "not found": "wrong answers start with the retrieval; correct ones did not need it",
    "not scored": "the pipeline failed, or returned no documents",
    "all": "",
}


@dataclass(frozen=True, eq=False)
class JudgedSetEvaluation:
    """The evaluation of a pipeline on a judged set, with its tables."""

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
    level: LevelOption = "auto",
    duplicates: Repeats = "keep",
    grade: float | None = None,
    mapping: Mapping[str, str | Sequence[str]] | None = None,
    name: str = "pipeline",
    judging: JudgeOptions | None = None,
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
    match_ids: MatchIds = (),
    notes: Iterable[str] = (),
    strict: bool = False,
    allow: str | Iterable[str] = (),
) -> JudgedSetEvaluation:
    """Evaluate the answers of a pipeline to the queries of a judged set, such as nfcorpus.

    Parameters
    ----------
    records : frame, dict of lists, or list of dicts
        One row per query: ``question``, ``reference`` (which `ground_truth` can write),
        ``relevant`` with grades, and the output of the pipeline: ``retrieved``, ``answer``.
    chat : Chat or callable, optional
        The chat model that judges, such as ``openai_chat(...)``; needed if `generation` is judged.
        Several in a list judge every answer each, as in `rageval_report.score`.
    generation : str or Rubric
        The measure of a correct answer: a judge, or a computed metric such as "exact_match". An
        answer is correct if its score is at least 0.5.
    k : int
        The number of results that count.
    minimum : float
        The lowest reachable recall at which the documents count as found.
    level : {"auto", "chunk", "document"}
        The level at which results are compared with the judged documents, as in
        `rageval_report.score`.
    duplicates : {"keep", "best"}
        Whether two chunks of one document are two of the `k` results ("keep", as in ADR-013), or
        one ("best"); the document counts once in either case.
    grade : float, optional
        The lowest grade that counts as highly relevant; exactly these documents are expected. If
        omitted, 2, or the highest grade of the judgments if that is lower; a note says so.
    mapping : mapping of str to str or sequence of str, optional
        The id, or ids, that the pipeline has for each document of the set, if they differ. A
        document without one stays expected although it cannot be found, and a note says so.
    name, judging, config, created, match_ids, strict, allow
        As in `rageval_report.score`.
    notes : iterable of str
        What is known about the answers, such as the notes of the run that collected them; doubts
        among them are checked as those about the records are.

    Returns
    -------
    JudgedSetEvaluation
        The scores ``recall@k``, ``reachable_recall@k`` (the number found, divided by the `k` or
        fewer that can be found), ``precision@1`` and `generation`; and the tables.

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
    >>> result = evaluate_judged_set(rows, generation="exact_match")
    >>> result.table.frame[["retrieval", "n", "correct"]].to_numpy().tolist()
    [['found', 1, 1], ['not found', 1, 1], ['all', 2, 2]]
    """
    check_cutoff(k, least=1)
    if not 0.0 < minimum <= 1.0:
        raise DataError(f"minimum must be above 0 and at most 1; got {minimum!r}")
    check_choice("duplicates", duplicates, _REPEATS)
    checked = record_table(records, unretrieved_citations="keep")
    if match_ids:
        checked, match_note = match_record_ids(checked, match_ids)
    if "retrieved" not in checked:
        raise DataError(
            "records must have a column 'retrieved' with the results of the pipeline; "
            "ask the pipeline first"
        )
    answerable = checked[~is_unanswerable(checked)]
    grade, grade_note = high_grade(answerable, grade)
    relevant = highly_relevant(answerable, grade=grade)
    mapped = _with_set_ids(relevant, mapping)
    choice = choose_level(mapped, level)
    at_level = records_at_level(mapped, choice.level)
    cut_notes, counted = _cut_rankings(at_level, len(checked), k, duplicates, mapping)
    metrics = [f"recall@{k}", f"reachable_recall@{k}", "precision@1"]
    if generation in metrics:
        raise DataError(
            f"generation must be a judge or a metric of the answer; {generation} is a metric of "
            "retrieval"
        )
    scored = score_and_judge(
        counted,
        [*metrics, generation],
        name=name,
        chat=chat,
        judging=judging,
        config=config,
        created=created,
        notes=(*([match_note] if match_ids else []), *notes),
        strict=strict,
        allow=allow,
    )
    scores = scored.evaluation.scores
    # The same rule in its reports as in the tables here.
    evaluation = scored.evaluation.with_correct((str(scores.columns[-1]), _CORRECT_FROM))
    table = _query_table(counted, scores, k, minimum)
    settings = {
        "k": k,
        "minimum": minimum,
        "level": choice.level or "ids as they are",
        "duplicates": duplicates,
        "grade": grade,
        "generation": str(scores.columns[-1]),
    }
    doubts = filter(is_doubt, evaluation.notes)
    table_notes = (*filter(None, [grade_note, choice.note]), *cut_notes)
    return JudgedSetEvaluation(
        evaluation,
        Result("Retrieval by generation", _cross_table(table), settings, (*doubts, *table_notes)),
        Result("Queries", table, settings, headline=_HEADLINE),
        scored.judged,
    )


# -- the records to score


def _with_set_ids(
    records: pd.DataFrame, mapping: Mapping[str, str | Sequence[str]] | None
) -> pd.DataFrame:
    """The records with the ids of the set in what the pipeline retrieved."""
    set_id = _invert_mapping(mapping or {})
    columns = {}
    for field in ("retrieved", SECTION_FIELDS["retrieved"]):
        if field in records and set_id:
            cells = [ids and [_in_set(name, set_id) for name in ids] for ids in records[field]]
            columns[field] = pd.Series(cells, records.index, dtype=object)
    return records.assign(**columns)


def _in_set(name: Any, set_id: Mapping[str, str]) -> Any:
    """An id, or document and chunk, with the ids of the set."""
    is_pair = isinstance(name, tuple)
    return tuple(set_id.get(part, part) for part in name) if is_pair else set_id.get(name, name)


def _cut_rankings(
    records: pd.DataFrame,
    n_before: int,
    k: int,
    duplicates: Repeats,
    mapping: Mapping[str, str | Sequence[str]] | None,
) -> tuple[tuple[str, ...], pd.DataFrame]:
    """Notes on the records, and the records with only the results that count."""
    cut = []
    n_repeated = 0
    for ranking in records["retrieved"].tolist():
        # ADR-013 counts chunks: several of one document use up its k places.
        top = ranking and (
            ranking[:k] if duplicates == "keep" else list(dict.fromkeys(ranking))[:k]
        )
        cut.append(top and list(dict.fromkeys(top)))
        n_repeated += len(set(top or ())) < len(top or ())
    table = records.drop(columns=[field for field in _REPLACED_FIELDS if field in records])
    table["retrieved"] = pd.Series(cut, index=table.index, dtype=object)
    # Of several chunks of a document, one is expected at the level of documents.
    table["highly_relevant_count"] = table["relevant"].map(len)
    notes = [*_set_notes(table, n_before, k, mapping)]
    if n_repeated:
        notes.append(
            f"the first {k} results of {n_repeated} queries hold several chunks of one document, "
            f'so fewer than {k} documents count; duplicates="best" takes the first {k} documents'
        )
    return tuple(notes), table


def _invert_mapping(mapping: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
    """The id of the set for each id of the pipeline."""
    set_id: dict[str, str] = {}
    for document, ids in mapping.items():
        for own_id in [ids] if isinstance(ids, str) else ids:
            other = set_id.setdefault(str(own_id), str(document))
            if other != str(document):
                raise DataError(
                    f"mapping: the id {own_id!r} belongs to two documents, {other!r} and "
                    f"{document!r}"
                )
    return set_id


def _set_notes(
    table: pd.DataFrame,
    n_before: int,
    k: int,
    mapping: Mapping[str, str | Sequence[str]] | None,
) -> Iterator[str]:
    """Notes on the queries and on the documents that they expect."""
    n, n_without = len(table), n_before - len(table)
    left_out = f"; {n_without} without a highly relevant document are left out" * (n_without > 0)
    few = f" are few: the intervals are wide, use {_FEW} to 100" if n < _FEW else ""
    if few or left_out:
        yield f"{n} queries{few}{left_out}"
    expected = table["highly_relevant_count"].to_numpy()
    beyond = int((expected > k).sum())
    if beyond:
        best = float(np.minimum(1.0, k / expected).mean())
        yield (
            f"{beyond} of {n} queries expect more than {k} documents, so the mean of "
            f"recall@{k} cannot exceed {best:.3f}; reachable_recall@{k} can be 1"
        )
    known = set(map(str, mapping or ()))
    unmapped = [doc for grades in table["relevant"] for doc in grades if doc not in known]
    if mapping is not None and unmapped:
        yield (
            f"{len(unmapped)} expected documents are not in the mapping, and count as not found: "
            f"{named(list(dict.fromkeys(unmapped)))}"
        )


# -- the tables

_HEADLINE = ("query_id", "expected", "found", "recall", "reachable_recall", "retrieval", "answer")


def _query_table(
    records: pd.DataFrame, scores: pd.DataFrame, k: int, minimum: float
) -> pd.DataFrame:
    """One row per query; no query is left out because another one failed."""
    rankings = records["retrieved"].tolist()
    expected = [set(grades) for grades in records["relevant"].tolist()]
    n_found = [math.nan if ranking is None else len(gold & set(ranking))
             for ranking, gold in zip(rankings, expected, strict=True)]  # fmt: skip
    reachable_recall, generation = scores[f"reachable_recall@{k}"], scores.iloc[:, -1]
    return pd.DataFrame(
        {
            "query_id": records.index.tolist(),
            "question": records["question"].tolist() if "question" in records else None,
            "expected": list(map(len, expected)),
            "retrieved": [math.nan if ranking is None else len(ranking) for ranking in rankings],
            "found": n_found,
            "recall": scores[f"recall@{k}"].to_numpy(),
            "reachable_recall": reachable_recall.to_numpy(),
            "first_is_expected": scores["precision@1"].to_numpy(),
            "retrieval": _label_scores(reachable_recall, minimum, "found", "not found"),
            "generation": generation.to_numpy(),
            "answer": _label_scores(generation, _CORRECT_FROM, "correct", "incorrect"),
        }
    )


def _label_scores(values: pd.Series, threshold: float, yes: str, no: str) -> list[str]:
    """A label per score; the tolerance keeps a recall of 0.8 that was rounded down."""
    return [
        "not scored" if math.isnan(value) else yes if value >= threshold - 1e-12 else no
        for value in values.tolist()
    ]


def _cross_table(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each outcome of the retrieval, with the answers to its queries."""
    rows = []
    for retrieval, reading in _READINGS.items():
        labels = table["answer"][(table["retrieval"] == retrieval) | (retrieval == "all")]
        if len(labels) or retrieval in ("found", "not found"):
            rows.append({"retrieval": retrieval, **_count_answers(labels), "reading": reading})
    return pd.DataFrame(rows)


def _count_answers(labels: pd.Series) -> dict[str, Any]:
    correct, incorrect = (int((labels == label).sum()) for label in ("correct", "incorrect"))
    accuracy = low = high = math.nan
    if n := correct + incorrect:
        interval = interval_of_count(correct, n)
        accuracy, low, high = interval.estimate, interval.low, interval.high
    return {
        "n": len(labels),
        "correct": correct,
        "incorrect": incorrect,
        "unscored": len(labels) - n,
        "accuracy": accuracy,
        "ci_low": low,
        "ci_high": high,
    }

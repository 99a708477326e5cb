"""Records become scores by judges: each rubric is put to a chat model for every query."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, explain_keywords
from rageval_report.judges.applying import (
    check_fields,
    gap_notes,
    has_failed,
    is_blank,
    verdict_without_judging,
)
from rageval_report.judges.judge_jobs import INTERRUPTED, Progress, run_jobs
from rageval_report.judges.judge_notes import (
    family_note,
    judge_settings,
    raise_if_hopeless,
    schema_note,
    spending_notes,
    stopped_note,
    total_failure,
    usage_notes,
)
from rageval_report.judges.judge_options import CallOptions, JudgeOptions, check_options
from rageval_report.judges.judged import REPEATS, Judged
from rageval_report.judges.noise import noise_frame
from rageval_report.judges.panels import chats_of, combine_judges, judge_names
from rageval_report.judges.procedures import PROCEDURES, Verdict
from rageval_report.judges.rubric import JudgedRecord, Rubric
from rageval_report.judges.rubrics import rubrics_of
from rageval_report.judges.sessions import Brakes, JudgeSession, open_sessions
from rageval_report.judges.spending import Usage, usage_rows
from rageval_report.judges.steps import NotAskedError, NoVerdictError
from rageval_report.records import record_table
from rageval_report.records.cells import is_missing
from rageval_report.records.table import concatenate_rows
from rageval_report.scores.states import ERROR, FAILED, MISSING, SCORED, state_columns

# By rubric, for each query the verdicts in the order of the repeats.
Verdicts = dict[str, list[list[Verdict]]]


class JudgeJob(NamedTuple):
    """One record to be judged by one rubric, once.

    Parameters
    ----------
    row : int
        The position of the record.
    judge : str
        The name of the rubric.
    repeat : int
        The number of the repeat, from 0.
    """

    row: int
    judge: str
    repeat: int


@explain_keywords
def judge(
    records: object,
    judges: str | Rubric | Iterable[str | Rubric],
    chat: object,
    *,
    n_repeats: int = 1,
    generator: str | None = None,
    **options: Unpack[CallOptions],
) -> Judged:
    """Let a chat model judge every record by every rubric.

    Parameters
    ----------
    records : frame, dict of lists, or list of dicts
        One row per query, as `rageval_report.records.record_table` takes it.
    judges : str, Rubric, or iterable of them
        Names of `JUDGES` or their names in other frameworks, such as "groundedness", and rubrics
        of your own.
    chat : Chat or callable
        The chat model that judges, e.g. ``openai_chat("llama3.1", base_url=...)``, or any callable
        that takes a text and returns one. Several in a list judge every record each: the score
        is the majority of their verdicts for yes or no, which is missing if they are evenly split,
        and the mean of those that scored for grades and shares.
    n_repeats : int, default 1
        How often each record is judged, to measure how far the judge agrees with itself.
    generator : str, optional
        The model that wrote the answers, if the records do not say so. A note warns if the judge
        belongs to the same model family.
    **options
        How the model is called: ``cache``, ``concurrency``, ``per_minute``, ``prices``,
        ``max_cost``, ``max_cost_over``, ``give_up_after``, ``retry_unusable``, ``progress`` and
        ``tell``, as described in `rageval_report.judges.judge_options.CallOptions`.

    Returns
    -------
    Judged
        What cannot be judged stays unscored, with a reason; it never scores 0 for that. After
        Ctrl-C, or if the budget is spent, what was judged so far.

    Raises
    ------
    UnknownNameError
        If no judge has one of the names.
    DataError
        If the records lack a field that a rubric needs, or an argument has no valid value.
    JudgeError
        If the model cannot be asked at all.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat
    >>> rows = [{"query_id": "q", "question": "Where is Oslo?", "answer": "In Norway."}]
    >>> chat = ScriptedChat(['{"reasoning": "To the point.", "score": 5}'])
    >>> judged = judge(rows, "answer_relevancy", chat)
    >>> float(judged.scores.loc["q", "answer_relevancy"]), judged.states.iloc[0, 0]
    (1.0, 'To the point.')
    """
    check_options("judge", options, JudgeOptions.__annotations__)
    rubrics = rubrics_of(judges)
    _check_repeats(n_repeats)
    table = record_table(records, unretrieved_citations="keep")
    for rubric in rubrics:
        check_fields(rubric, table)
    with growing_judging(chat, n_repeats=n_repeats, generator=generator, **options) as growing:
        return growing.judge(table, rubrics)


@contextmanager
def growing_judging(
    chat: object,
    *,
    n_repeats: int = 1,
    generator: str | None = None,
    **options: Unpack[CallOptions],
) -> Iterator[GrowingJudging]:
    """Judge records that come little by little: one budget, one cache and one pace for all.

    Parameters
    ----------
    chat, n_repeats, generator, **options
        As for `judge`.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat
    >>> rows = [{"query_id": n, "question": "Where is Oslo?", "answer": "There."} for n in "ab"]
    >>> chat = ScriptedChat(['{"reasoning": "Vague.", "score": 1}'] * 2)
    >>> with growing_judging(chat) as growing:
    ...     first = growing.judge(rows[:1], "answer_relevancy")
    ...     both = growing.judge(rows, "answer_relevancy")
    >>> len(first.scores), len(both.scores), int(both.usage["n_calls"].iloc[0])
    (1, 2, 2)
    """
    _check_repeats(n_repeats)
    with open_sessions(chats_of(chat), **options) as sessions:
        yield GrowingJudging(sessions, n_repeats, generator)


class GrowingJudging:
    """The verdicts so far on records that come little by little; see `growing_judging`.

    Parameters
    ----------
    sessions : sequence of JudgeSession
        One per chat model.
    n_repeats : int
        How often each record is judged.
    generator : str, optional
        The model that wrote the answers.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat, growing_judging
    >>> polite = Rubric("polite", "Polite?", "Polite? {answer}", kind="yes_no")
    >>> rows = [{"query_id": "a", "answer": "Please wait."}]
    >>> with growing_judging(ScriptedChat(["YES", "NO"]), concurrency=1) as judging:
    ...     first = judging.judge(rows, polite)
    ...     both = judging.judge([*rows, {"query_id": "b", "answer": "Go away."}], polite)
    ...     judging.is_stopped
    False
    >>> both.scores["polite"].tolist()
    [1.0, 0.0]
    """

    def __init__(self, sessions: Sequence[JudgeSession], n_repeats: int, generator: str | None):
        self._sessions = sessions
        self._n_repeats = n_repeats
        self._generator = generator
        self._n_rows = 0
        self._verdicts: list[Verdicts] = [{} for _ in sessions]

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more will be judged: an interruption, a spent budget, a failure."""
        return all(session.brake.reason is not None for session in self._sessions)

    def judge(self, records: object, judges: str | Rubric | Iterable[str | Rubric]) -> Judged:
        """Judge the records that are new, and return the result for all of them.

        Parameters
        ----------
        records : frame, dict of lists, or list of dicts
            All records so far; the new ones follow those of earlier calls.
        judges : str, Rubric, or iterable of them
            As for `judge`; the same in every call.

        Raises
        ------
        DataError
            If the records lack a field that a rubric needs.
        JudgeError
            If the model cannot be asked at all.
        """
        rubrics = rubrics_of(judges)
        table = record_table(records, unretrieved_citations="keep")
        for rubric in rubrics:
            check_fields(rubric, table)
        rows = as_rows(table)
        gaps = gap_notes(rubrics, rows)
        if not self._n_rows:
            # Before the first call: a gap is cheaper to see before the judge is paid.
            self._sessions[0].announce(gaps)
        new_rows, self._n_rows = rows[self._n_rows :], len(rows)
        added = _judge_rows(new_rows, rubrics, self._n_repeats, self._sessions)
        for known, new in zip(self._verdicts, added, strict=True):
            for name, queries in new.items():
                known.setdefault(name, []).extend(queries)
        return _build_results(
            *(table, rubrics, self._verdicts, self._sessions),
            *(self._n_repeats, self._generator, gaps),
        )


def judge_blocks(
    blocks: Callable[[], Iterable[pd.DataFrame]],
    judges: str | Rubric | Iterable[str | Rubric],
    chat: object,
    *,
    kept: Callable[[pd.DataFrame], pd.DataFrame],
    n_repeats: int = 1,
    generator: str | None = None,
    **options: Unpack[CallOptions],
) -> Judged:
    """Like `judge`, for records that come as several tables: one table is in memory at a time.

    Parameters
    ----------
    blocks : callable
        Returns the tables, as `rageval_report.records.record_table` makes them, from the first
        one; it is called twice.
    judges, chat, n_repeats, generator, **options
        As for `judge`. One budget, one cache and one pace hold for all tables.
    kept : callable
        Takes a table and returns what of it stays in the result's records.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat
    >>> from rageval_report.records import record_table
    >>> rows = [{"query_id": n, "question": "Where is Oslo?", "answer": "There."} for n in "ab"]
    >>> chat = ScriptedChat(['{"reasoning": "Vague.", "score": 1}'] * 2)
    >>> tables = [record_table([row]) for row in rows]
    >>> judged = judge_blocks(
    ...     lambda: tables, "answer_relevancy", chat, kept=lambda table: table[["question"]]
    ... )
    >>> judged.scores["answer_relevancy"].tolist(), list(judged.records)
    ([0.0, 0.0], ['question'])
    """
    check_options("judge_blocks", options, JudgeOptions.__annotations__)
    rubrics = rubrics_of(judges)
    _check_repeats(n_repeats)
    gaps = _check_blocks(blocks(), rubrics)
    tables = []
    with open_sessions(chats_of(chat), **options) as sessions:
        sessions[0].announce(gaps)
        verdicts: list[Verdicts] = [{rubric.name: [] for rubric in rubrics} for _ in sessions]
        for table in blocks():
            added = _judge_rows(as_rows(table), rubrics, n_repeats, sessions)
            for known, new in zip(verdicts, added, strict=True):
                for name, queries in new.items():
                    known[name] += queries
            tables.append(kept(table))
    whole = concatenate_rows(tables)
    return _build_results(whole, rubrics, verdicts, sessions, n_repeats, generator, gaps)


def _check_blocks(blocks: Iterable[pd.DataFrame], rubrics: Sequence[Rubric]) -> tuple[str, ...]:
    """Check the fields of all tables together; returns the notes on their gaps.

    Of each record only one mark per field is kept in memory, and equal records share their marks.
    """
    needs = list(dict.fromkeys(name for rubric in rubrics for name in rubric.needs))
    # Only the pattern of gaps counts, and there are few patterns: so a million rows share a few
    # dicts.
    distinct: dict[tuple[object, ...], JudgedRecord] = {}
    rows: list[JudgedRecord] = []
    for table in blocks:
        for row in as_rows(table):
            marks = {name: _mark(name, row.get(name)) for name in needs}
            marks[ERROR] = "x" if has_failed(row.get(ERROR)) else None
            rows.append(distinct.setdefault(tuple(marks.values()), marks))
    whole = pd.DataFrame(rows, columns=[*needs, ERROR], dtype=object)
    for rubric in rubrics:
        check_fields(rubric, whole)
    return gap_notes(rubrics, rows)


def _mark(field: str, value: object) -> object:
    """A small value that is missing, blank or filled as the given one is."""
    if is_missing(value):
        return None
    return () if is_blank(field, value) else "x"


def _check_repeats(n_repeats: int) -> None:
    if isinstance(n_repeats, bool) or not isinstance(n_repeats, int) or n_repeats < 1:
        raise DataError(f"n_repeats must be an integer >= 1; got {n_repeats!r}")


def jobs_of(n_rows: int, rubrics: Iterable[Rubric], n_repeats: int) -> Iterator[JudgeJob]:
    """All jobs of a judging, query by query."""
    names = [rubric.name for rubric in rubrics]
    # Query by query, so that an interrupted session has whole queries to show.
    for row in range(n_rows):
        for name in names:
            for repeat in range(n_repeats):
                yield JudgeJob(row, name, repeat)


def _judge_rows(
    rows: Sequence[JudgedRecord],
    rubrics: Sequence[Rubric],
    n_repeats: int,
    sessions: Sequence[JudgeSession],
) -> list[Verdicts]:
    """The verdicts of each session."""
    by_name = {rubric.name: rubric for rubric in rubrics}
    verdicts: list[dict[JudgeJob, Verdict]] = [{} for _ in sessions]

    def work(place: tuple[int, JudgeJob]) -> tuple[int, JudgeJob, Verdict]:
        seat, job = place
        rubric = by_name[job.judge]
        return seat, job, _judge_record(rows[job.row], rubric, sessions[seat], job.repeat)

    def keep(result: tuple[int, JudgeJob, Verdict]) -> None:
        seat, job, verdict = result
        verdicts[seat][job] = verdict
        bar.advance()

    n_jobs = len(rows) * len(rubrics) * n_repeats * len(sessions)
    meters = [session.meter for session in sessions]
    bar = Progress(n_jobs, *meters, is_shown=sessions[0].progress)
    # Each job for one judge after the other, so that an interrupted run has whole queries.
    jobs = (
        (seat, job)
        for job in jobs_of(len(rows), rubrics, n_repeats)
        for seat in range(len(sessions))
    )
    brakes = Brakes(tuple(session.brake for session in sessions))
    try:
        run_jobs(work, jobs, concurrency=sessions[0].concurrency, brake=brakes, keep=keep)
    finally:
        bar.close()
    return [_in_order(by_job, len(rows), rubrics, n_repeats) for by_job in verdicts]


def _in_order(
    verdicts: Mapping[JudgeJob, Verdict], n_rows: int, rubrics: Sequence[Rubric], n_repeats: int
) -> Verdicts:
    ordered: Verdicts = {rubric.name: [[] for _ in range(n_rows)] for rubric in rubrics}
    for job in jobs_of(n_rows, rubrics, n_repeats):
        if job in verdicts:
            ordered[job.judge][job.row].append(verdicts[job])
    return ordered


def as_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dicts."""
    names = [str(name) for name in table]
    return [dict(zip(names, row, strict=True)) for row in table.itertuples(index=False, name=None)]


def _judge_record(
    record: JudgedRecord, rubric: Rubric, session: JudgeSession, repeat: int
) -> Verdict:
    unjudged = verdict_without_judging(rubric, record)
    if unjudged is not None:
        return unjudged
    try:
        return PROCEDURES[rubric.kind](rubric, record, session.asker(rubric, repeat))
    except NoVerdictError as exc:
        return Verdict(math.nan, str(exc), FAILED)
    except NotAskedError as exc:
        return Verdict(math.nan, str(exc), MISSING)


# -- the result


def _build_results(
    table: pd.DataFrame,
    rubrics: Sequence[Rubric],
    verdicts: Sequence[Verdicts],
    sessions: Sequence[JudgeSession],
    n_repeats: int,
    generator: str | None,
    gaps: tuple[str, ...],
) -> Judged:
    """The result of the only judge, or that of several together."""
    raise_if_hopeless(sessions)
    results = [
        _build_judged(table, rubrics, by_rubric, session, n_repeats, generator, gaps)
        for by_rubric, session in zip(verdicts, sessions, strict=True)
    ]
    if len(results) == 1:
        return results[0]
    names = judge_names([session.chat for session in sessions])
    return combine_judges(dict(zip(names, results, strict=True)))


def _build_judged(
    table: pd.DataFrame,
    rubrics: Sequence[Rubric],
    verdicts: Verdicts,
    session: JudgeSession,
    n_repeats: int,
    generator: str | None,
    gaps: tuple[str, ...],
) -> Judged:
    stopped = stopped_note(session)
    columns = {
        name: [_mean_score(repeats) for repeats in queries] for name, queries in verdicts.items()
    }
    usage = usage_by_judge(session, rubrics)
    chat, was_refused = session.chat, session.schemas.were_refused
    scores = pd.DataFrame(columns, index=table.index, dtype=np.float64)
    return Judged(
        scores,
        table,
        pd.DataFrame(_state_columns(verdicts, session.brake.reason, n_repeats), index=table.index),
        {rubric.name: rubric.metric for rubric in rubrics},
        pd.DataFrame(usage_rows(usage)),
        noise_frame(_scores_of(verdicts) if n_repeats > 1 else {}),
        (
            *stopped,
            *gaps,
            *schema_note(chat, was_refused=was_refused),
            *family_note(chat.model, table, generator),
            *usage_notes(usage, has_price=session.meter.price is not None, model=chat.model),
            *spending_notes(session),
        ),
        {
            **judge_settings(chat, was_refused=was_refused),
            "rubrics": {rubric.name: rubric.version for rubric in rubrics},
            "n_repeats": n_repeats,
        },
        is_interrupted=session.brake.reason == INTERRUPTED,
        failure=total_failure(session, int(scores.notna().to_numpy().sum())),
    )


def usage_by_judge(session: JudgeSession, rubrics: Iterable[Rubric]) -> dict[str, Usage]:
    """What each rubric took; also of those that were never asked."""
    return {rubric.name: session.meter.by_judge.get(rubric.name, Usage()) for rubric in rubrics}


def _state_columns(
    verdicts: Verdicts, stop_reason: str | None, n_repeats: int
) -> Mapping[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for name, queries in verdicts.items():
        shown = [_representative(repeats, stop_reason) for repeats in queries]
        columns |= state_columns(
            name, [verdict.state for verdict in shown], [verdict.reason for verdict in shown]
        )
        if n_repeats > 1:
            columns[name + REPEATS] = [
                [verdict.score for verdict in repeats] for repeats in queries
            ]
    return columns


def _known_scores(verdicts: list[Verdict]) -> list[float]:
    return [verdict.score for verdict in verdicts if not math.isnan(verdict.score)]


def _scores_of(verdicts: Verdicts) -> dict[str, list[list[float]]]:
    return {
        name: [_known_scores(repeats) for repeats in queries] for name, queries in verdicts.items()
    }


def _mean_score(verdicts: list[Verdict]) -> float:
    scores = _known_scores(verdicts)
    return math.fsum(scores) / len(scores) if scores else math.nan


def not_asked(stop_reason: str | None) -> Verdict:
    """The verdict on a record whose turn never came."""
    return Verdict(math.nan, f"not asked: {stop_reason or 'stopped'}", MISSING)


def _representative(verdicts: list[Verdict], stop_reason: str | None) -> Verdict:
    """The first verdict with a score, else the first one, which says why there is none."""
    scored = [verdict for verdict in verdicts if verdict.state == SCORED]
    return (scored or verdicts or [not_asked(stop_reason)])[0]

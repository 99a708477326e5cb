"""Records become scores by judges: each rubric is put to a chat model for every query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.judges.applying import check_fields, gap_notes, unjudged
from rageval_report.judges.asking import Asking, NotAskedError, NoVerdictError
from rageval_report.judges.how import How, failure_of, stopped_note
from rageval_report.judges.noise import noise_frame
from rageval_report.judges.notes import (
    family_note,
    settings_as_asked,
    tally_notes,
    words_note,
)
from rageval_report.judges.procedures import CARRIED_OUT, Verdict
from rageval_report.judges.rubric import Rubric
from rageval_report.judges.rubrics import JUDGES, judge_names, judge_of
from rageval_report.judges.running import INTERRUPTED, Progress, run_jobs
from rageval_report.judges.spending import Usage, usage_rows
from rageval_report.records import record_table
from rageval_report.scores import Metric
from rageval_report.scores.states import FAILED, MISSING, REASON, SCORED, STATE, state_columns

REPEATS = "_repeats"
_PAIRS = "preference"


@dataclass(frozen=True, eq=False)
class Judged:
    """What judges said.

    Parameters
    ----------
    scores : DataFrame
        Index ``query_id``, one float64 column a rubric, from 0 to 1; NaN where unscored. With
        repeats, the mean of those that were scored.
    records : DataFrame
        The checked records, on the same index.
    states : DataFrame
        The same index: ``<name>_state`` where a rubric did not score all, ``<name>_reason``, what
        the judge said or why there is no score, and with repeats ``<name>_repeats``, their scores.
    metrics : dict of str to Metric
        What is known of each.
    usage : DataFrame
        A row a rubric: ``judge``, ``n_calls``, ``n_cached``, ``n_failed``, ``prompt_tokens``,
        ``completion_tokens``, ``cost_usd``; NaN where not known.
    noise : DataFrame
        With repeats a row a rubric: ``judge``, ``n`` queries scored twice or more often,
        ``n_repeats``, ``within_query_sd``, ``between_query_sd``, ``unstable``, the share of
        queries whose repeats differ.
    notes : tuple of str
        What a reader must know.
    settings : dict
        Who judged, and how.
    is_interrupted : bool
        Whether the user ended it before it was done.
    failure : str, optional
        Why nothing at all was judged, where calls failed or none could begin.
    """

    scores: pd.DataFrame
    records: pd.DataFrame
    states: pd.DataFrame
    metrics: dict[str, Metric]
    usage: pd.DataFrame
    noise: pd.DataFrame
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    is_interrupted: bool = False
    failure: str | None = None

    @property
    def rows(self) -> pd.DataFrame:
        """Records, states and scores as one table; what an earlier judging left there gives way."""
        endings = ("", STATE, REASON, REPEATS)
        old = {f"{name}{ending}" for name in self.scores for ending in endings}
        kept = self.records.drop(columns=[name for name in self.records if name in old])
        return kept.join(self.states).join(self.scores)


class _Job(NamedTuple):
    row: int
    judge: str
    repeat: int


class _Done(NamedTuple):
    job: _Job
    verdict: Verdict


def judge(
    records: object,
    judges: str | Rubric | Iterable[str | Rubric],
    chat: object,
    *,
    n_repeats: int = 1,
    generator: str | None = None,
    **how: Any,
) -> Judged:
    """Let a chat model judge every record by every rubric.

    Parameters
    ----------
    records : frame, dict of lists, or list of dicts
        One row a query, as `rageval_report.records.record_table` takes it.
    judges : str, Rubric, or iterable of them
        Names of `JUDGES`, also as other frameworks call them, as "groundedness", or rubrics of your
        own.
    chat : Chat or callable
        As ``openai_chat("llama3.1", base_url=...)``; any callable that takes a text and gives one.
    n_repeats : int, default 1
        How often the same is asked, to see how far the judge agrees with itself.
    generator : str, optional
        The model that gave the answers, where the records do not say; a judge of its family is
        noted.
    **how
        As `rageval_report.judges.how.How` has it: ``cache``, ``concurrency``, ``per_minute``,
        ``prices``, ``max_cost``, ``give_up_after``, ``progress``, ``tell``.

    Returns
    -------
    Judged
        What could not be judged is unscored and has its reason; nothing is ever scored 0 for it.
        After Ctrl-C, or where the budget is spent, what was judged so far.

    Raises
    ------
    UnknownNameError
        If there is no such rubric.
    DataError
        If the records lack a field that a rubric needs, or an argument makes no sense.
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
    rubrics = rubrics_of(judges)
    _check_repeats(n_repeats)
    table = record_table(records, unretrieved_citations="keep")
    for rubric in rubrics:
        check_fields(rubric, table)
    manner = How(**how)
    rows = as_rows(table)
    gaps = manner.say(gap_notes(rubrics, rows))
    with manner.opened(chat) as asking:
        found = _found(rows, rubrics, n_repeats, manner, asking)
    return _judged(table, rubrics, found, asking, n_repeats, generator, gaps)


def rubrics_of(judges: str | Rubric | Iterable[str | Rubric]) -> list[Rubric]:
    """The rubrics of those names.

    Raises
    ------
    UnknownNameError
        If there is no such rubric; it names the nearest.
    DataError
        If there is none, one twice, or one that compares pairs.
    """
    told = [judges] if isinstance(judges, str | Rubric) else list(judges)
    rubrics = [one if isinstance(one, Rubric) else _rubric_named(str(one)) for one in told]
    names = [rubric.name for rubric in rubrics]
    if not names or len(set(names)) < len(names):
        raise DataError(f"expected judges, each once; got {', '.join(names) or 'none'}")
    pairs = [rubric.name for rubric in rubrics if rubric.kind == _PAIRS]
    if pairs:
        raise DataError(
            f"{pairs[0]!r} lays two pipelines beside each other: prefer(baseline, candidate, chat)"
        )
    return rubrics


def _rubric_named(name: str) -> Rubric:
    found = judge_of(name)
    if found is None:
        raise UnknownNameError("judge", name, judge_names())
    return JUDGES[found]


def _check_repeats(n_repeats: int) -> None:
    if isinstance(n_repeats, bool) or not isinstance(n_repeats, int) or n_repeats < 1:
        raise DataError(f"n_repeats must be a whole number from 1 on; got {n_repeats!r}")


def jobs_of(n_rows: int, rubrics: list[Rubric], n_repeats: int) -> Iterator[_Job]:
    """All that is to be judged, query by query."""
    for row in range(n_rows):
        for rubric in rubrics:
            for repeat in range(n_repeats):
                yield _Job(row, rubric.name, repeat)


def _found(
    rows: list[dict[str, Any]],
    rubrics: list[Rubric],
    n_repeats: int,
    manner: How,
    asking: Asking,
) -> dict[str, list[list[Verdict]]]:
    """By rubric, for each query the verdicts in the order of the repeats."""
    bar = Progress(len(rows) * len(rubrics) * n_repeats, asking.meter, is_shown=manner.progress)
    found: dict[_Job, Verdict] = {}

    def work(job: _Job) -> _Done:
        rubric = by_name[job.judge]
        return _Done(job, verdict_on(rows[job.row], rubric, asking, job.repeat))

    def keep(done: _Done) -> None:
        found[done.job] = done.verdict
        bar.advance()

    by_name = {rubric.name: rubric for rubric in rubrics}
    jobs = jobs_of(len(rows), rubrics, n_repeats)
    try:
        run_jobs(work, jobs, concurrency=manner.concurrency, brake=asking.brake, keep=keep)
    finally:
        bar.close()
    told: dict[str, list[list[Verdict]]] = {name: [[] for _ in rows] for name in by_name}
    for job in jobs_of(len(rows), rubrics, n_repeats):
        if job in found:
            told[job.judge][job.row].append(found[job])
    return told


def as_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The records as mappings."""
    names = [str(name) for name in table]
    return [dict(zip(names, row, strict=True)) for row in table.itertuples(index=False, name=None)]


def verdict_on(
    record: Mapping[str, Any], rubric: Rubric, asking: Asking, repeat: int = 0
) -> Verdict:
    """What becomes of one record: a score, or why there is none."""
    told = unjudged(rubric, record)
    if told is not None:
        return told
    try:
        return CARRIED_OUT[rubric.kind](rubric, record, asking.about(rubric, repeat))
    except NoVerdictError as exc:
        return Verdict(math.nan, str(exc), FAILED)
    except NotAskedError as exc:
        return Verdict(math.nan, str(exc), MISSING)


# -- what comes out


def _judged(
    table: pd.DataFrame,
    rubrics: list[Rubric],
    found: dict[str, list[list[Verdict]]],
    asking: Asking,
    n_repeats: int,
    generator: str | None,
    gaps: tuple[str, ...],
) -> Judged:
    stopped = stopped_note(asking)
    columns = {name: [_mean(one) for one in rows] for name, rows in found.items()}
    states: dict[str, list[Any]] = {}
    for name, rows in found.items():
        said = [_said(one, asking.brake.reason) for one in rows]
        states |= state_columns(name, [one.state for one in said], [one.reason for one in said])
        if n_repeats > 1:
            states[name + REPEATS] = [[one.score for one in row] for row in rows]
    usage = {one.name: asking.meter.by_judge.get(one.name, Usage()) for one in rubrics}
    chat, was_refused = asking.chat, asking.schemas.were_refused
    scores = pd.DataFrame(columns, index=table.index, dtype=np.float64)
    return Judged(
        scores,
        table,
        pd.DataFrame(states, index=table.index),
        {rubric.name: rubric.metric for rubric in rubrics},
        pd.DataFrame(usage_rows(usage)),
        noise_frame({name: _scores(rows) for name, rows in found.items()} if n_repeats > 1 else {}),
        (
            *stopped,
            *gaps,
            *words_note(chat, was_refused=was_refused),
            *family_note(chat.model, table, generator),
            *tally_notes(usage, has_price=asking.meter.price is not None, model=chat.model),
        ),
        {
            **settings_as_asked(chat, was_refused=was_refused),
            "rubrics": {rubric.name: rubric.version for rubric in rubrics},
            "n_repeats": n_repeats,
        },
        is_interrupted=asking.brake.reason == INTERRUPTED,
        failure=failure_of(asking, int(scores.notna().to_numpy().sum())),
    )


def _scores(rows: list[list[Verdict]]) -> list[list[float]]:
    return [[one.score for one in row if not math.isnan(one.score)] for row in rows]


def _mean(verdicts: list[Verdict]) -> float:
    scores = [one.score for one in verdicts if not math.isnan(one.score)]
    return math.fsum(scores) / len(scores) if scores else math.nan


def _said(verdicts: list[Verdict], stopped: str | None) -> Verdict:
    """The first verdict that is a score, else the first that says why there is none."""
    scored = [one for one in verdicts if one.state == SCORED]
    unasked = Verdict(math.nan, f"not asked: {stopped or 'stopped'}", MISSING)
    return (scored or verdicts or [unasked])[0]

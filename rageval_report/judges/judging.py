"""Records become scores by judges: each rubric is put to a chat model for every query."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, TypeVar, Unpack

import numpy as np
import pandas as pd

from rageval_report.errors import JudgeError, check_options
from rageval_report.judges.cache import Cache
from rageval_report.judges.chats import chats_of, check_count, judge_names
from rageval_report.judges.procedures import (
    Verdict,
    as_rows,
    check_fields,
    gap_notes,
    judge_record,
    verdict_on,
    verdict_without_judging,
)
from rageval_report.judges.results import (
    CombiningRule,
    JudgeResult,
    combine_votes,
    family_note,
    fields_of_all,
    fields_of_session,
    name_judges,
)
from rageval_report.judges.rubric import JudgedRecord, Rubric, rubrics_of
from rageval_report.judges.sessions import (
    CallOptions,
    JudgeOptions,
    JudgeSession,
    NoVerdictError,
    Rehearsal,
    open_sessions,
    run_jobs,
)
from rageval_report.metrics.performance import Prices
from rageval_report.records import record_table
from rageval_report.scores import Metric
from rageval_report.scores.states import (
    MISSING,
    REASON,
    SCORED,
    STATE,
    VOTES,
    state_columns,
    states_of,
)
from rageval_report.types import FloatArray

Judges = str | Rubric | Iterable[str | Rubric]
ResultT = TypeVar("ResultT", bound=JudgeResult)

REPEATS = "_repeats"  # the ending of the column with the scores of each repeat


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged(JudgeResult):
    """The verdicts of judges on records.

    Parameters
    ----------
    scores : DataFrame
        Index ``query_id``, one float64 column per rubric, from 0 to 1; NaN if unscored. With
        repeats, the mean of those that were scored.
    records : DataFrame
        The checked records, on the same index.
    states : DataFrame
        The same index: ``<name>_state`` if a rubric did not score all records, ``<name>_reason``,
        the judge's reasoning or why there is no score, and with repeats ``<name>_repeats``, their
        scores.
    metrics : dict of str to Metric
        The metric of each rubric.
    usage : DataFrame
        One row per rubric: ``judge``, ``n_calls``, ``n_cached``, ``n_failed``, ``prompt_tokens``,
        ``completion_tokens``, ``cost_usd``; NaN if unknown.
    noise : DataFrame
        With repeats, one row per rubric: ``judge``; ``n``, the queries that were scored at least
        twice; ``n_repeats``, the largest number of scores of a query; ``within_query_sd``, the root
        of the pooled variance of one query's scores; ``between_query_sd``, the standard deviation
        of the queries' means; ``unstable``, the share of queries whose scores differ.
    notes : tuple of str
        What a reader of the scores must know.
    settings : dict
        The model that judged, and its settings.
    is_interrupted : bool
        Whether the user stopped the judging before its end.
    failure : str, optional
        Why there is no verdict at all, if calls failed or none could start.
    by_judge : dict of str to Judged
        With several judges, the verdicts of each, by its name; `scores` combines them. Then the
        states have ``<name>_judges`` too, each judge's score of the query.

    Examples
    --------
    >>> from rageval_report.judges import Rubric, ScriptedChat, judge
    >>> polite = Rubric("polite", "Polite?", "Polite? {answer}", kind="yes_no")
    >>> rows = {"query_id": ["a", "b"], "answer": ["Please wait.", "Go away."]}
    >>> result = judge(rows, polite, ScriptedChat(["YES", "NO"]), concurrency=1)
    >>> result.scores["polite"].tolist(), int(result.usage["n_calls"].iloc[0])
    ([1.0, 0.0], 2)
    >>> result.votes("polite").columns.tolist()
    ['scripted']
    """

    scores: pd.DataFrame
    records: pd.DataFrame
    states: pd.DataFrame
    metrics: dict[str, Metric]
    noise: pd.DataFrame
    by_judge: dict[str, Judged] = field(default_factory=dict)

    def votes(self, metric: str) -> pd.DataFrame:
        """Each judge's scores of a metric: one column per judge, on the index of `scores`."""
        results = self.by_judge or {str(self.settings.get("judge_model")): self}
        return pd.DataFrame({name: result.scores[metric] for name, result in results.items()})


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
        How the model is called: ``cache``, ``concurrency``, ``prices``, ``max_cost``,
        ``give_up_after``, ``progress`` and ``tell``, as described in
        `rageval_report.judges.CallOptions`.

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
    with growing_judging(chat, n_repeats=n_repeats, generator=generator, **options) as growing:
        return growing.judge(records, judges)


def check_records(records: object, judges: Judges) -> tuple[list[Rubric], pd.DataFrame]:
    """The rubrics and the table of records, whose fields are those that the rubrics need."""
    rubrics = rubrics_of(judges)
    table = record_table(records, unretrieved_citations="keep")
    for rubric in rubrics:
        check_fields(rubric, table)
    return rubrics, table


@contextmanager
def growing_judging(
    chat: object,
    *,
    n_repeats: int = 1,
    generator: str | None = None,
    **options: Unpack[CallOptions],
) -> Iterator[GrowingJudging]:
    """Judge records that come little by little: one budget, one cache and one pace for all."""
    check_count("n_repeats", n_repeats)
    with open_sessions(chat, **options) as sessions:
        yield GrowingJudging(sessions, n_repeats, generator)


class GrowingJudging:
    """The verdicts so far on records that come little by little; see `growing_judging`."""

    def __init__(self, sessions: list[JudgeSession], n_repeats: int, generator: str | None):
        self.sessions, self._generator = sessions, generator
        self._repeats = range(n_repeats)
        self._n_rows = 0
        # By judge, rubric, row and repeat.
        self._verdicts: dict[tuple[int, str, int, int], Verdict] = {}

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more will be judged: an interruption, a spent budget, a failure."""
        return all(session.brake.reason is not None for session in self.sessions)

    def judge(self, records: object, judges: Judges) -> Judged:
        """Judge the records that are new, and return the result for all of them."""
        rubrics, table = check_records(records, judges)
        rows = as_rows(table)
        gaps = gap_notes(rubrics, rows)
        # A gap is cheaper to see before the judge is paid.
        self.add(rows[self._n_rows :], rubrics, () if self._n_rows else gaps)
        return self.combined(lambda seat: self._judged(seat, table, rubrics, gaps), _combine_judges)

    def add(
        self, rows: Sequence[JudgedRecord], rubrics: Sequence[Rubric], notes: Iterable[str] = ()
    ) -> None:
        """Tell the user the notes, and judge further records."""
        sessions, start = self.sessions, self._n_rows
        if sessions[0].tell is not None:
            for note in notes:
                sessions[0].tell(note)

        def work(place: tuple[int, Rubric, int, int]) -> None:
            row, rubric, repeat, seat = place
            verdict = verdict_on(rubric, rows[row], sessions[seat].asker(rubric, repeat))
            self._verdicts[seat, rubric.name, start + row, repeat] = verdict

        # Query by query, and each job for one judge after the other, so that an interrupted session
        # has whole queries to show.
        places = (range(len(rows)), rubrics, self._repeats, range(len(sessions)))
        run_jobs(work, product(*places), math.prod(map(len, places)), sessions)
        self._n_rows += len(rows)

    def verdicts(self, seat: int, rubric: Rubric) -> list[list[Verdict]]:
        """The verdicts of a judge on each row, in the order of the repeats."""
        places = [
            [(seat, rubric.name, row, n) for n in self._repeats] for row in range(self._n_rows)
        ]
        return [[self._verdicts[key] for key in keys if key in self._verdicts] for keys in places]

    def shown(self, seat: int, rubric: Rubric) -> list[Verdict]:
        """For each row the first verdict with a score, else the first one, which says why not."""
        reason = f"not asked: {self.sessions[seat].brake.reason or 'stopped'}"
        unasked = Verdict(math.nan, reason, MISSING)
        return [
            min([*repeats, unasked], key=lambda verdict: verdict.state != SCORED)
            for repeats in self.verdicts(seat, rubric)
        ]

    def combined(
        self,
        result_of: Callable[[int], ResultT],
        combine: Callable[[dict[str, ResultT]], ResultT],
    ) -> ResultT:
        """The result of the only judge, or that of several together."""
        sessions = self.sessions
        names = judge_names([session.chat for session in sessions])
        if all(session.is_hopeless for session in sessions):
            reasons = [str(session.brake.reason) for session in sessions]
            if len(sessions) > 1:
                reasons = list(map("{}: {}".format, names, reasons))
            raise JudgeError("; ".join(reasons))
        results = {name: result_of(seat) for seat, name in enumerate(names)}
        return results[names[0]] if len(names) == 1 else combine(results)

    def _judged(
        self, seat: int, table: pd.DataFrame, rubrics: Sequence[Rubric], gaps: tuple[str, ...]
    ) -> Judged:
        """The result of one judge for all records so far."""
        n_repeats = len(self._repeats)
        known: dict[str, list[list[float]]] = {}
        columns: dict[str, list[Any]] = {}
        for rubric in rubrics:
            name, queries = rubric.name, self.verdicts(seat, rubric)
            known[name] = [[v.score for v in each if v.state == SCORED] for each in queries]
            shown = self.shown(seat, rubric)
            columns |= state_columns(name, [v.state for v in shown], [v.reason for v in shown])
            if n_repeats > 1:
                columns[name + REPEATS] = [[v.score for v in each] for each in queries]
        means = {
            name: [math.fsum(query) / len(query) if query else math.nan for query in queries]
            for name, queries in known.items()
        }
        scores = pd.DataFrame(means, index=table.index, dtype=np.float64)
        n_scored = int(scores.notna().to_numpy().sum())
        versions = {rubric.name: rubric.version for rubric in rubrics}
        session = self.sessions[seat]
        relatives = family_note(session.chat.model, table, self._generator)
        return Judged(
            scores=scores,
            records=table,
            states=pd.DataFrame(columns, index=table.index),
            metrics={rubric.name: rubric.metric for rubric in rubrics},
            noise=_noise_frame(known if n_repeats > 1 else {}),
            **fields_of_session(
                *(session, list(versions), n_scored, gaps, relatives),
                {"rubrics": versions, "n_repeats": n_repeats},
            ),
        )


def _noise_frame(repeats: dict[str, list[list[float]]]) -> pd.DataFrame:
    """The spread of repeated verdicts, one row per judge."""
    rows = []
    for judge_name, queries in repeats.items():
        repeated = [np.asarray(query) for query in queries if len(query) > 1]
        within = between = unstable = math.nan
        if repeated:
            squares = math.fsum(float(((query - query.mean()) ** 2).sum()) for query in repeated)
            # The pooled variance of a one-way analysis of variance; queries may have different
            # numbers of repeats.
            within = math.sqrt(squares / sum(len(query) - 1 for query in repeated))
            means = [float(query.mean()) for query in repeated]
            between = float(np.std(means, ddof=1)) if len(means) > 1 else math.nan
            unstable = sum(float(np.ptp(query)) > 0.0 for query in repeated) / len(repeated)
        n_repeats = max(map(len, repeated), default=0)
        rows.append((judge_name, len(repeated), n_repeats, within, between, unstable))
    spreads = ("within_query_sd", "between_query_sd", "unstable")
    return pd.DataFrame(rows, columns=["judge", "n", "n_repeats", *spreads])


def _combine_judges(results: dict[str, Judged]) -> Judged:
    """The result of several judges: one score per query, and the results of each beside it."""
    first = next(iter(results.values()))
    rules: dict[str, CombiningRule] = {}
    scores: dict[str, FloatArray] = {}
    states: dict[str, list[Any]] = {}
    notes: list[str] = []
    for name, metric in first.metrics.items():
        # The majority of yes and no, the mean of everything else.
        rules[name] = "majority" if metric.kind == "binary" else "mean"
        votes = pd.DataFrame({judge: result.scores[name] for judge, result in results.items()})
        no_reasons = [None] * len(votes)
        combined, its_notes = combine_votes(
            *(name, rules[name], votes),
            [_states_of(result, name) for result in results.values()],
            [result.states.get(name + REASON, no_reasons) for result in results.values()],
        )
        scores[name] = combined["score"].to_numpy()
        states |= state_columns(name, combined["state"].tolist(), combined["reason"].tolist())
        states[name + VOTES] = combined["marks"].tolist()
        notes += its_notes
    return Judged(
        scores=pd.DataFrame(scores, index=first.scores.index),
        records=first.records,
        states=pd.DataFrame(states, index=first.scores.index),
        metrics=first.metrics,
        noise=name_judges({judge: result.noise for judge, result in results.items()}),
        **fields_of_all(results, notes, ("rubrics", "n_repeats"), rules),
    )


def _states_of(result: Judged, name: str) -> list[str]:
    column = result.states.get(name + STATE)
    return list(map(str, states_of(result.scores[name]) if column is None else column))


def estimate(
    records: object,
    judges: str | Rubric | Iterable[str | Rubric],
    chat: object,
    *,
    n_repeats: int = 1,
    cache: Cache | str | Path | None = None,
    prices: Prices | None = None,
) -> pd.DataFrame:
    """The calls that `judge` would make, and their approximate cost; nothing is asked.

    Parameters
    ----------
    records, judges, chat, n_repeats, cache, prices
        As for `rageval_report.judges.judge`.

    Returns
    -------
    DataFrame
        One row per rubric: ``judge``, ``n_queries``, ``n_not_judged``, to which it does not apply,
        ``n_calls``, ``n_cached``, the replies that are in the cache, ``prompt_tokens`` and
        ``completion_tokens``, guessed from lengths, ``cost_usd``, and ``max_cost_usd`` if every
        answer has the maximum length; NaN if the model has no price. The number of claims in a text
        is guessed from its sentences. With several chat models, one row per rubric and model, which
        the column ``judge_model`` names.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat
    >>> rows = [{"query_id": "q", "question": "Where?", "answer": "Here. Now.", "contexts": ["x"]}]
    >>> table = estimate(rows, ["faithfulness", "coherence"], ScriptedChat([]))
    >>> table[["judge", "n_calls"]].to_dict("list")
    {'judge': ['faithfulness', 'coherence'], 'n_calls': [2, 1]}
    """
    rubrics, checked = check_records(records, judges)
    rows, models, counted = as_rows(checked), chats_of(chat), []
    with ExitStack() as stack:
        # Opening a cache creates its file, and an estimate leaves no trace.
        if isinstance(cache, str | Path):
            cache = stack.enter_context(Cache(cache)) if Path(cache).exists() else None
        pairs = zip(judge_names(models), models, strict=True)
        for (name, model), rubric in product(pairs, rubrics):
            rehearsal = Rehearsal(model, cache, rubric)
            judged = [row for row in rows if verdict_without_judging(rubric, row) is None]
            for row, repeat in product(judged, range(n_repeats)):
                # An unusable answer in the cache ends the judging of this record.
                with suppress(NoVerdictError):
                    judge_record(rubric, row, rehearsal.asker(repeat))
            counts = {"n_queries": len(rows), "n_not_judged": len(rows) - len(judged)}
            about = {"judge_model": name, "judge": rubric.name}
            counted.append({**about, **counts, **rehearsal.counts(prices)})
    table = pd.DataFrame(counted)
    return table if len(models) > 1 else table.drop(columns="judge_model")

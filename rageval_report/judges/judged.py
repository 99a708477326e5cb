"""The result of a judging: scores, their reasons, and what they took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from rageval_report.scores import Metric
from rageval_report.scores.states import REASON, STATE, VOTES

# The ending of the column with the scores of each repeat.
REPEATS = "_repeats"


@dataclass(frozen=True, eq=False)
class Judged:
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
        ``completion_tokens``, ``cost_usd``; NaN if unknown. ``n_unknown`` attempts were not
        answered and may have been billed: ``max_unknown_usd`` at most.
    noise : DataFrame
        With repeats, one row per rubric: see `rageval_report.judges.noise.noise_frame`.
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
    >>> result.scores["polite"].tolist(), result.votes("polite").columns.tolist()
    ([1.0, 0.0], ['scripted'])
    >>> result.rows["answer"].tolist(), int(result.usage["n_calls"].iloc[0])
    (['Please wait.', 'Go away.'], 2)
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
    by_judge: dict[str, Judged] = field(default_factory=dict)

    def votes(self, metric: str) -> pd.DataFrame:
        """Each judge's scores of a metric: one column per judge, on the index of `scores`."""
        results = self.by_judge or {str(self.settings.get("judge_model")): self}
        return pd.DataFrame({name: result.scores[metric] for name, result in results.items()})

    @property
    def rows(self) -> pd.DataFrame:
        """Records, states and scores in one table; columns of an earlier judging are replaced."""
        endings = ("", STATE, REASON, REPEATS, VOTES)
        old = {f"{name}{ending}" for name in self.scores for ending in endings}
        records = self.records.drop(columns=[name for name in self.records if name in old])
        return records.join(self.states).join(self.scores)

"""What is shown of a preference: who wins, and how far several judges agree."""

from __future__ import annotations

import pandas as pd

from rageval_report.evaluating.judge_setup import judges_results
from rageval_report.judges import Preferences
from rageval_report.judges.rubric import JUDGES
from rageval_report.metrics.scoring import build_evaluation
from rageval_report.results import Result

_NAME = "preference"


def preference_results(
    preferences: Preferences, *, baseline: str, candidate: str, question: pd.Series | None = None
) -> dict[str, Result]:
    """The table of a preference, and of several judges their agreement and disagreements.

    Parameters
    ----------
    preferences : Preferences
        The result of `rageval_report.judges.prefer`.
    baseline, candidate : str
        The names of the two pipelines.
    question : Series, optional
        The question of each query, by its id, for the table of disagreements.

    Returns
    -------
    dict of str to Result
        ``preference`` has one row; with several judges the row of the majority, then one row per
        judge, and there are ``agreement`` and ``disagreements``.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat, prefer
    >>> old = [{"query_id": "q", "question": "Where is Oslo?", "answer": "Somewhere."}]
    >>> new = [{"query_id": "q", "question": "Where is Oslo?", "answer": "In Norway."}]
    >>> found = prefer(old, new, ScriptedChat(lambda message: '{"better": "tie"}'))
    >>> table = preference_results(found, baseline="old", candidate="new")["preference"]
    >>> table.frame[["wins", "ties", "losses"]].to_dict("records")
    [{'wins': 0, 'ties': 1, 'losses': 0}]
    """
    pipelines = {"baseline": baseline, "candidate": candidate}
    judges = preferences.by_judge
    rows = [
        {**pipelines, **({"judge": name} if judges else {}), **_counts(result)}
        for name, result in {f"majority of {len(judges)}": preferences, **judges}.items()
    ]
    table = Result("Preference", pd.DataFrame(rows), preferences.settings, preferences.notes)
    if not judges:
        return {_NAME: table}
    details = preferences.frame.drop(columns=_NAME).rename(
        columns={"state": f"{_NAME}_state", "reason": f"{_NAME}_reason"}
    )
    if question is not None:
        details["question"] = question.reindex(details.index)
    # Only for the tables of judges, which take an evaluation.
    evaluation = build_evaluation(
        candidate,
        preferences.frame[[_NAME]].astype(float),
        details,
        known={_NAME: JUDGES[_NAME].metric},
        judged=[_NAME],
    )
    return {_NAME: table, **judges_results(evaluation, preferences)}


def _counts(preferences: Preferences) -> dict[str, object]:
    return {
        "n": preferences.n,
        "n_unscored": preferences.n_unscored,
        "wins": preferences.wins,
        "ties": preferences.ties,
        "losses": preferences.losses,
        "first_place": preferences.position["first"],
    }

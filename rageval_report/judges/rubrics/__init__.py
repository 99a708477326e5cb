"""The table of the shipped rubrics; a rubric is loaded when it is first used.

To add a rubric, write a `Rubric` in a module of this folder and an entry in `JUDGES`. The table
needs no extra, so names can be looked up where no model can be asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import Registry
from rageval_report.scores import METRICS, Catalogue, normalise_name

if TYPE_CHECKING:
    from rageval_report.judges.rubric import Rubric

JUDGES: Registry[Rubric] = Registry(
    "judge",
    {
        "faithfulness": f"{__name__}.answers:FAITHFULNESS",
        "answer_correctness": f"{__name__}.answers:ANSWER_CORRECTNESS",
        "answer_correct": f"{__name__}.answers:ANSWER_CORRECT",
        "is_matching": f"{__name__}.answers:IS_MATCHING",
        "answer_relevancy": f"{__name__}.answers:ANSWER_RELEVANCY",
        "completeness": f"{__name__}.answers:COMPLETENESS",
        "coherence": f"{__name__}.answers:COHERENCE",
        "harmlessness": f"{__name__}.answers:HARMLESSNESS",
        "context_relevance": f"{__name__}.contexts:CONTEXT_RELEVANCE",
        "context_precision": f"{__name__}.contexts:CONTEXT_PRECISION",
        "context_recall": f"{__name__}.contexts:CONTEXT_RECALL",
        "context_utilization": f"{__name__}.contexts:CONTEXT_UTILIZATION",
        "preference": f"{__name__}.pairs:PREFERENCE",
    },
    group="rageval_report.judges",
)


def judge_of(name: str) -> str | None:
    """The name in `JUDGES` of the rubric that a metric's name means, or None.

    The names that other frameworks use are those of the catalogue of metrics.

    Examples
    --------
    >>> judge_of("Answer Relevance"), judge_of("groundedness"), judge_of("recall@5")
    ('answer_relevancy', 'faithfulness', None)
    """
    if name in JUDGES:
        return name
    metric = Catalogue().find(name)
    spelled = normalise_name(name) if metric is None else metric.known_as
    return spelled if spelled in JUDGES else None


def judge_names() -> list[str]:
    """All names that `judge_of` knows: the rubrics and the aliases of other frameworks."""
    metrics = METRICS.known()
    aliases = [alias for name in JUDGES if name in metrics for alias in metrics[name].aliases]
    return [*JUDGES, *aliases]

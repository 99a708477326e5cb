"""The table of judges, and the names by which a judge is found. Importing it loads no HTTP package.

A judge is a metric that asks a chat model; a rubric says what it asks.
"""

from __future__ import annotations

from collections.abc import Iterable

from rageval_report._registry import Registry
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.judges.rubric import Rubric
from rageval_report.scores import METRICS, Catalogue, normalise_name

_SHIPPED = "rageval_report.judges.shipped_rubrics"

JUDGES: Registry[Rubric] = Registry(
    "judge",
    {
        "faithfulness": f"{_SHIPPED}:FAITHFULNESS",
        "answer_correctness": f"{_SHIPPED}:ANSWER_CORRECTNESS",
        "answer_correct": f"{_SHIPPED}:ANSWER_CORRECT",
        "is_matching": f"{_SHIPPED}:IS_MATCHING",
        "answer_relevancy": f"{_SHIPPED}:ANSWER_RELEVANCY",
        "completeness": f"{_SHIPPED}:COMPLETENESS",
        "coherence": f"{_SHIPPED}:COHERENCE",
        "harmlessness": f"{_SHIPPED}:HARMLESSNESS",
        "context_relevance": f"{_SHIPPED}:CONTEXT_RELEVANCE",
        "context_precision": f"{_SHIPPED}:CONTEXT_PRECISION",
        "context_recall": f"{_SHIPPED}:CONTEXT_RECALL",
        "context_utilization": f"{_SHIPPED}:CONTEXT_UTILIZATION",
        "preference": f"{_SHIPPED}:PREFERENCE",
    },
    group="rageval_report.judges",
)


def judge_of(name: str) -> str | None:
    """The key in `JUDGES` of the judge that a metric's name refers to, or None.

    The names that other frameworks use are found through the catalogue of metrics.

    Examples
    --------
    >>> judge_of("Answer Relevance"), judge_of("groundedness"), judge_of("recall@5")
    ('answer_relevancy', 'faithfulness', None)
    """
    if name in JUDGES:
        return name
    metric = Catalogue().find(name)
    key = normalise_name(name) if metric is None else metric.known_as
    return key if key in JUDGES else None


def judge_names() -> list[str]:
    """Every name that `judge_of` knows: the keys of `JUDGES`, and their names elsewhere."""
    metrics = METRICS.known()
    aliases = [alias for name in JUDGES if name in metrics for alias in metrics[name].aliases]
    return [*JUDGES, *aliases]


def rubrics_of(judges: str | Rubric | Iterable[str | Rubric]) -> list[Rubric]:
    """The rubrics of one or several judges.

    Parameters
    ----------
    judges : str, Rubric, or iterable of them
        Names that `judge_of` knows, and rubrics, which stay as they are.

    Raises
    ------
    UnknownNameError
        If no judge has one of the names.
    DataError
        If there is no judge, one appears twice, or one compares two pipelines.
    """
    listed = [judges] if isinstance(judges, str | Rubric) else list(judges)
    rubrics = [
        judge if isinstance(judge, Rubric) else _rubric_named(str(judge)) for judge in listed
    ]
    names = [rubric.name for rubric in rubrics]
    # Two names of one rubric would be paid for twice and fill one column.
    if not names or len(set(names)) < len(names):
        listing = ", ".join(names) or "none"
        raise DataError(f"judges must name at least one judge, without repeats; got {listing}")
    comparing = [rubric.name for rubric in rubrics if rubric.kind == "preference"]
    if comparing:
        raise DataError(
            f"judges: {comparing[0]!r} compares two pipelines; use prefer(baseline, candidate, "
            "chat)"
        )
    return rubrics


def _rubric_named(name: str) -> Rubric:
    key = judge_of(name)
    if key is None:
        raise UnknownNameError("judge", name, judge_names())
    return JUDGES[key]

"""Objectives by which pipelines are chosen: made of metrics, on a scale from 0 (worst) to 1 (best).

The defaults and their weights are those of the weighted score of ragbench's later versions, with
three changes: an unknown cost is missing, never free; an objective without data is left out, with a
note; and accuracy counts the correct queries, by the rule of all reports, instead of averaging what
compares answers with references (with the dialect of ragbench it averages). An objective that names
metrics uses those that are present; if none of them is, it uses the metrics of its group that no
other objective names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rageval_report.errors import DataError, UnknownValueError
from rageval_report.scores.correct_notion import EXACT_MATCHES

_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")
_STATISTICS = ("mean", "median", "p95")  # p95 stands for all percentiles


def quantile_of(statistic: str) -> float | None:
    """The quantile that a statistic is, between 0 and 1; None for the mean.

    Raises
    ------
    UnknownValueError
        If it is neither "mean", nor "median", nor a percentile such as "p95".
    DataError
        If a percentile is not between 0 and 100.

    Examples
    --------
    >>> [quantile_of(name) for name in ("mean", "median", "p95", "p99.5")]
    [None, 0.5, 0.95, 0.995]
    """
    if statistic == "mean":
        return None
    match = _PERCENTILE.fullmatch("p50" if statistic == "median" else str(statistic))
    if match is None:
        raise UnknownValueError("statistic", statistic, _STATISTICS)
    percentile = float(match[1])
    if not 0.0 < percentile < 100.0:
        raise DataError(
            f"statistic: a percentile must be between 0 and 100, such as p95; got {statistic!r}"
        )
    return percentile / 100.0


@dataclass(frozen=True, slots=True)
class Objective:
    """The definition of an objective: the mean of its metrics, each between 0 and 1.

    Parameters
    ----------
    metrics : tuple of str, or str
        Its metrics, by any of their names; those that are present have equal weights.
    group : str
        The group of metrics that is used if none of them is present; empty for none.
    statistic : str
        The statistic over the queries: "mean", "median", or a percentile such as "p95".
    worst, best : float, optional
        The values that count as 0 and as 1, as do all beyond them; the metric's bounds if omitted,
        or for cost_usd and latency_ms the values of the default objectives. Another metric without
        bounds needs them.
    counts_correct : bool
        Whether the share of correct queries, if it is known which are, takes the place of the
        metrics that compare the answer with the reference.

    Examples
    --------
    >>> Objective("cost_usd", best=0.0, worst=0.05).metrics
    ('cost_usd',)
    """

    metrics: tuple[str, ...] | str
    group: str = ""
    statistic: str = "mean"
    worst: float | None = None
    best: float | None = None
    counts_correct: bool = False

    def __post_init__(self) -> None:
        names = (self.metrics,) if isinstance(self.metrics, str) else tuple(self.metrics)
        object.__setattr__(self, "metrics", names)
        if not names:
            raise DataError("an objective needs at least one metric")
        quantile_of(self.statistic)  # raises for another word
        if self.worst is not None and self.worst == self.best:
            raise DataError(f"best and worst must differ; both are {self.best:g}")


ObjectivesArgument = Mapping[str, Objective | str | Sequence[str]] | Sequence[str] | None

# What says how far an answer agrees with the reference.
AGAINST_THE_REFERENCE = ("answer_correctness", *EXACT_MATCHES, "token_f1")
_RATES = ("abstention_false_positive_rate", "abstention_false_negative_rate")

OBJECTIVES: dict[str, Objective] = {
    "accuracy": Objective(
        (
            *(*AGAINST_THE_REFERENCE, "answer_relevancy"),
            *("unanswerable_accuracy", "false_refusal", "hallucinated_answer", *_RATES),
        ),
        "generation",
        counts_correct=True,
    ),
    "faithfulness": Objective("faithfulness"),
    "citation": Objective(
        ("citation_precision", "citation_recall", "section_accuracy"), "citation"
    ),
    "retrieval": Objective(
        (
            *("recall@1", "recall@3", "recall@5", "recall@10", "precision@1", "precision@3"),
            *("precision@5", "reciprocal_rank", "ndcg@10"),
        ),
        "retrieval",
    ),
    # The worst values are ragbench's thresholds: 10 US cents, and 30 seconds from end to end.
    "cost": Objective("cost_usd", best=0.0, worst=0.10),
    "latency": Objective("latency_ms", statistic="median", best=0.0, worst=30_000.0),
}
WEIGHTS: dict[str, float] = {
    "accuracy": 0.30,
    "faithfulness": 0.20,
    "citation": 0.20,
    "retrieval": 0.15,
    "cost": 0.10,
    "latency": 0.05,
}
QUALITY = ("accuracy", "faithfulness", "citation", "retrieval")


# -- how objectives are written

# Other words before brackets are part of the name of a metric, such as "f1(macro)".
_STATISTIC_OF = re.compile(r"(mean|median|p\d+(?:\.\d+)?)\s*\(([^()]*)\)")
# A comma that is not within brackets.
_COMMA = re.compile(r",(?![^()]*\))")


def is_statistic_of_metrics(text: str) -> bool:
    """Whether a text has the form of a statistic of metrics, and not of a name.

    Examples
    --------
    >>> is_statistic_of_metrics("p95(latency_ms)"), is_statistic_of_metrics("latency")
    (True, False)
    """
    return _STATISTIC_OF.match(text.strip()) is not None


def parse_objective(text: str) -> Objective:
    """The objective in a text: metrics, or a statistic of metrics; and the worst and best values.

    This is the form of objectives on the command line, in files and in `rageval_report.rank`.

    Parameters
    ----------
    text : str
        Such as "recall@5, ndcg@10", "p95(latency_ms)" or "p95(latency_ms), worst=5000, best=0".

    Raises
    ------
    DataError
        If the text has another form.

    Examples
    --------
    >>> objective = parse_objective("p95(latency_ms), worst=5000, best=0")
    >>> objective.statistic, objective.metrics, objective.worst
    ('p95', ('latency_ms',), 5000.0)
    """
    ends: dict[str, float] = {}
    parts = []
    for piece in _COMMA.split(text):
        name, equals, value = (part.strip() for part in piece.partition("="))
        if equals and name in ("worst", "best"):
            ends[name] = _end(text, value)
        else:
            parts.append(piece.strip())
    call = _STATISTIC_OF.fullmatch(parts[0]) if len(parts) == 1 else None
    metrics = parts if call is None else [metric.strip() for metric in call[2].split(",")]
    if not metrics or not all(metrics) or any(map(is_statistic_of_metrics, metrics)):
        raise DataError(
            "an objective must be metrics, or one statistic of metrics, such as recall@5,ndcg@10 "
            f"or p95(latency_ms),worst=5000,best=0; got {text!r}"
        )
    return Objective(
        tuple(metrics),
        statistic="mean" if call is None else call[1],
        worst=ends.get("worst"),
        best=ends.get("best"),
    )


def _end(text: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"objective {text!r}: worst and best must be numbers; got {value!r}")
    return number


def objective_of(value: Objective | str | Sequence[str]) -> Objective:
    """An objective as it is, or from its text, or from the names of its metrics.

    Examples
    --------
    >>> objective_of(["recall@5", "ndcg@10"]).metrics, objective_of("median(f1)").statistic
    (('recall@5', 'ndcg@10'), 'median')
    """
    if isinstance(value, Objective):
        return value
    if not isinstance(value, str) and not any(map(is_statistic_of_metrics, value)):
        return Objective(tuple(value))
    return parse_objective(value if isinstance(value, str) else ", ".join(value))


def parse_named_objectives(texts: Iterable[str]) -> dict[str, Objective] | list[str] | None:
    """The objectives of several texts NAME=OBJECTIVE; a list of names if all of them are names.

    Parameters
    ----------
    texts : iterable of str
        Such as "quality=faithfulness,recall@5", "latency=p95(latency_ms)" or "latency".

    Returns
    -------
    dict or list or None
        As `rageval_report.rank` takes objectives; None if there are none.

    Raises
    ------
    DataError
        If a text has another form.

    Examples
    --------
    >>> parse_named_objectives(["faithfulness", "latency"])
    ['faithfulness', 'latency']
    >>> list(parse_named_objectives(["speed=p95(latency_ms)", "faithfulness"]))
    ['speed', 'faithfulness']
    """
    pairs = [_split_name(text) for text in texts]
    if all(name is None and "," not in text for name, text in pairs):
        return [text for _, text in pairs] or None
    return {
        # A name alone is that of a default objective, as in a list of names.
        text if name is None else name: OBJECTIVES[text]
        if name is None and text in OBJECTIVES
        else parse_objective(text)
        for name, text in pairs
    }


def _split_name(text: str) -> tuple[str | None, str]:
    """The name before the first "=", unless that belongs to worst=... or best=..."""
    name, equals, rest = text.partition("=")
    if not equals or re.search("[(,]", name):
        return None, text.strip()
    if not name.strip() or not rest.strip():
        raise DataError(f"objective {text!r}: write NAME=METRIC,METRIC, NAME=p95(METRIC) or NAME")
    return name.strip(), rest.strip()

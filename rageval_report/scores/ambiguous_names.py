"""Names that mean two metrics: the other metrics of the table decide, and titles stay distinct."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from rageval_report.scores.metric import Catalogue, Metric

_F1, _TOKEN_F1 = "f1", "token_f1"
# Beside these metrics of the answer "f1" is the F1 of the answer's words; beside precision and
# recall it is the F1 of retrieval.
_ANSWER_METRICS = frozenset(("answer_correctness", "exact_match", "exact_match_squad"))
_RETRIEVAL_PARTS = frozenset(("precision", "recall"))


def decide_f1(
    known: Mapping[str, Metric], described: Collection[str] = ()
) -> tuple[dict[str, Metric], list[str]]:
    """The metrics, with "f1" as the F1 of the answer if all others are metrics of the answer.

    Retrieval and question answering both have an F1, and the name does not say which one it is.

    Parameters
    ----------
    known : mapping of str to Metric
        All metrics of a table, by name.
    described : collection of str
        The names of the metrics that the file or the caller describes.

    Returns
    -------
    dict of str to Metric
        In the same order.
    list of str
        The decision and its reason, as notes.

    Examples
    --------
    >>> names = ("em", "f1")
    >>> metrics, notes = decide_f1({name: Catalogue().find(name) for name in names})
    >>> metrics["f1"].title, notes[0][:50]
    ('Token F1', "'f1' appears beside 'em', so it is read as the F1 ")
    """
    metrics = dict(known)
    columns = {metric.known_as: name for name, metric in known.items()}
    neighbours = [columns[name] for name in sorted(_ANSWER_METRICS) if name in columns]
    name = columns.get(_F1)
    is_clear = (
        name is None
        # Whoever described the column has decided already.
        or name in described
        or not neighbours
        or _TOKEN_F1 in columns
        or _RETRIEVAL_PARTS & {*columns}
    )
    if is_clear or name is None:
        return metrics, []
    if any(other.group == "retrieval" and other.known_as != _F1 for other in known.values()):
        return metrics, [
            f"{name!r} may be a metric of retrieval or of the answer, because metrics of both are "
            f"in the table; it is read as retrieval. If it is the F1 of the answer, rename it to "
            f"{_TOKEN_F1!r}"
        ]
    token_f1 = Catalogue().find(_TOKEN_F1)
    if token_f1 is not None:
        metrics[name] = replace(token_f1, name=name)
    return metrics, [
        f"{name!r} appears beside {neighbours[0]!r}, so it is read as the F1 of the answer's words "
        f"({_TOKEN_F1}), not of retrieval"
    ]


def with_distinct_titles(known: Mapping[str, Metric]) -> dict[str, Metric]:
    """The metrics, with the name added to every title that two of them share.

    Examples
    --------
    >>> metrics = {name: Catalogue().find(name) for name in ("mrr", "recip_rank")}
    >>> [metric.title for metric in with_distinct_titles(metrics).values()]
    ['Reciprocal Rank (mrr)', 'Reciprocal Rank (recip_rank)']
    """
    counts = Counter(metric.title for metric in known.values())
    return {
        name: replace(metric, title=f"{metric.title} ({name})")
        if counts[metric.title] > 1
        else metric
        for name, metric in known.items()
    }

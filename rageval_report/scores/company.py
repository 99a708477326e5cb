"""What a metric's name means beside the others of its table, and titles that tell them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from rageval_report.scores.metric import Catalogue, Metric

_F1, _TOKEN_F1 = "f1", "token_f1"
# Metrics of the answer that stand beside its F1, and what F1 is made of where it is of retrieval.
_OF_THE_ANSWER = frozenset(("answer_correctness", "exact_match", "exact_match_squad"))
_ITS_PARTS = frozenset(("precision", "recall"))


def in_company(
    known: Mapping[str, Metric], told: Collection[str] = ()
) -> tuple[dict[str, Metric], list[str]]:
    """The metrics, F1 as that of the answer where it stands beside metrics of the answer alone.

    Retrieval and question answering both have an F1, and neither says in its name which it is.

    Parameters
    ----------
    known : mapping of str to Metric
        All metrics of a table, by name.
    told : collection of str
        The names of those of which the file or the caller said what they are.

    Returns
    -------
    dict of str to Metric
        In the same order.
    list of str
        What was decided, and on what grounds.

    Examples
    --------
    >>> names = ("em", "f1")
    >>> metrics, notes = in_company({name: Catalogue().find(name) for name in names})
    >>> metrics["f1"].title, notes[0][:50]
    ('Token F1', "'f1' stands beside 'em', and is read as the F1 of ")
    """
    metrics = dict(known)
    means = {metric.known_as: name for name, metric in known.items()}
    beside = [means[one] for one in sorted(_OF_THE_ANSWER) if one in means]
    name = means.get(_F1)
    clear = (
        name is None or name in told or not beside or _TOKEN_F1 in means or _ITS_PARTS & {*means}
    )
    if clear or name is None:
        return metrics, []
    if any(one.group == "retrieval" and one.known_as != _F1 for one in known.values()):
        return metrics, [
            f"{name!r} may be of retrieval or of the answer, as metrics of both stand beside it; "
            f"it is read as of retrieval. If it is the answer's, rename it {_TOKEN_F1!r}"
        ]
    meant = Catalogue().find(_TOKEN_F1)
    if meant is not None:
        metrics[name] = replace(meant, name=name)
    return metrics, [
        f"{name!r} stands beside {beside[0]!r}, and is read as the F1 of the answer's words "
        f"({_TOKEN_F1}), not as that of retrieval"
    ]


def with_own_titles(known: Mapping[str, Metric]) -> dict[str, Metric]:
    """The metrics, those of one title with their names beside it.

    Examples
    --------
    >>> both = {name: Catalogue().find(name) for name in ("mrr", "recip_rank")}
    >>> [metric.title for metric in with_own_titles(both).values()]
    ['Reciprocal Rank (mrr)', 'Reciprocal Rank (recip_rank)']
    """
    times = Counter(metric.title for metric in known.values())
    return {
        name: replace(metric, title=f"{metric.title} ({name})")
        if times[metric.title] > 1
        else metric
        for name, metric in known.items()
    }

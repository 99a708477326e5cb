"""What the entries of the catalogue have in common."""

from __future__ import annotations

from functools import partial

from rageval_report.scores.metric import Kind, Metric

HAYSTACK = "Haystack evaluators"
RAGAS = "Ragas"
TREC = "trec_eval"


def share(
    kind: Kind,
    name: str,
    group: str,
    description: str,
    source: str,
    *aliases: str,
    title: str = "",
    greater_is_better: bool = True,
) -> Metric:
    """A metric between 0 and 1."""
    return Metric(
        name,
        title=title,
        group=group,
        kind=kind,
        greater_is_better=greater_is_better,
        bounds=(0.0, 1.0),
        description=description,
        source=source,
        aliases=aliases,
    )


proportion = partial(share, "proportion")
binary = partial(share, "binary")
defect = partial(share, "proportion", greater_is_better=False)


def spent(name: str, title: str, description: str, *aliases: str) -> Metric:
    """Something that is spent: no upper limit, lower is better."""
    return Metric(
        name,
        title=title,
        group="performance",
        greater_is_better=False,
        description=description,
        source="measured at the client",
        aliases=aliases,
    )

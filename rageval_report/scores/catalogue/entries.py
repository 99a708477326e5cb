"""Short forms of the entries of the catalogue: what the metrics of one kind have in common."""

from __future__ import annotations

from functools import partial

from rageval_report.scores.metric import Kind, Metric

HAYSTACK = "Haystack evaluators"
RAGAS = "Ragas"
TREC = "trec_eval"


def bounded(
    kind: Kind,
    name: str,
    group: str,
    description: str,
    source: str,
    *aliases: str,
    title: str = "",
    greater_is_better: bool = True,
    compute: str | None = None,
    needs: str = "",
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
        compute=compute,
        needs=needs,
    )


proportion = partial(bounded, "proportion")
binary = partial(bounded, "binary")
defect = partial(bounded, "proportion", greater_is_better=False)


def spent(
    name: str,
    title: str,
    description: str,
    *aliases: str,
    compute: str | None = None,
    needs: str = "",
    in_family: bool = True,
) -> Metric:
    """Something that is spent: it has no upper limit, and lower is better."""
    return Metric(
        name,
        title=title,
        group="performance",
        greater_is_better=False,
        description=description,
        source="measured at the client",
        aliases=aliases,
        compute=compute,
        needs=needs,
        in_family=in_family,
    )

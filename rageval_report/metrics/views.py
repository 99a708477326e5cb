"""What metrics are computed from: arrays and lists taken out of the checked records once.

A view more is a function here, of the records and of what the user hands in, and a line in
`rageval_report.scoring.compute.VIEWS`.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from rageval_report.errors import DataError
from rageval_report.metrics.answers import Answers
from rageval_report.metrics.citation import Citations
from rageval_report.metrics.citation import citations_of as citations_in
from rageval_report.metrics.cosines import (
    Embed,
    Similarities,
    answer_similarities,
    similarities_of_texts,
)
from rageval_report.metrics.performance import Performance, Prices, performance_of
from rageval_report.metrics.refusal import RefusalRule, Refusals, refusals_of
from rageval_report.rankings.hits import Hits
from rageval_report.rankings.inputs import Duplicates
from rageval_report.rankings.score_tables import hits_of


@dataclass(frozen=True)
class Tools:
    """What the user hands in: nothing here is needed by all metrics.

    Parameters
    ----------
    embed : callable, optional
        Texts to vectors, for metrics of similarity.
    prices : mapping of str to Price, optional
        What a model's tokens cost; an unknown price is missing, never free.
    refusals : RefusalRule, optional
        What tells a refusal; the shipped phrases where not given.
    duplicates : {"error", "best"}
        Whether a document that was retrieved twice for a query, as by two of its chunks, is
        refused, or counts once, where it ranks best.
    """

    embed: Embed | None = None
    prices: Prices | None = None
    refusals: RefusalRule | None = None
    duplicates: Duplicates = "error"


def rankings_view(records: pd.DataFrame, tools: Tools) -> Hits:
    """The hit table of retrieved ids and gold; a query without gold has nothing relevant."""
    retrieved = [[] if ids is None else ids for ids in records["retrieved"]]
    if tools.duplicates == "best":
        retrieved = [list(dict.fromkeys(ids)) for ids in retrieved]
    relevant = [{} if gold is None else gold for gold in records["relevant"]]
    return hits_of(retrieved, relevant, query_ids=list(map(str, records.index)))


def answers_view(records: pd.DataFrame, tools: Tools) -> Answers:  # noqa: ARG001  (as all views)
    """The answers beside their references."""
    answers = [None if answer is None else str(answer) for answer in records["answer"]]
    return Answers(answers, _lists(records["reference"]))


def citations_view(records: pd.DataFrame, tools: Tools) -> Citations:  # noqa: ARG001
    """What was cited beside the gold."""
    return citations_in(records)


def refusals_view(records: pd.DataFrame, tools: Tools) -> Refusals:
    """Which answers refuse, and which questions can be answered."""
    return refusals_of(records, tools.refusals)


def performance_view(records: pd.DataFrame, tools: Tools) -> Performance:
    """Latency, tokens and cost."""
    return performance_of(records, tools.prices)


def similarities_view(records: pd.DataFrame, tools: Tools) -> Similarities:
    """How near each retrieved context is to each gold text."""
    contexts, truths = records["contexts"].tolist(), records["relevant_texts"].tolist()
    return similarities_of_texts(contexts, truths, _embed(tools))


def answer_similarities_view(records: pd.DataFrame, tools: Tools) -> Similarities:
    """How near each answer is to each of its references."""
    return answer_similarities(answers_view(records, tools), _embed(tools))


def _embed(tools: Tools) -> Embed:
    if tools.embed is None:
        raise DataError(
            "metrics of similarity need a function that turns texts into vectors: embed=..., as "
            "rageval_report.embeddings.openai_embeddings(...) or SentenceTransformer(...).encode"
        )
    return tools.embed


def _lists(column: pd.Series) -> list[list[str]]:
    return [[] if texts is None else list(texts) for texts in column]

"""Views: what metrics are computed from, arrays and lists taken out of the checked records once.

To add a view, write a function of the records and of the user's tools, and an entry in `VIEWS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rageval_report._registry import Registry
from rageval_report.errors import DataError
from rageval_report.metrics.citation import citations_of
from rageval_report.metrics.dialect_metrics import (
    ListedHits,
    LiteralRefusals,
    gold_and_traces,
)
from rageval_report.metrics.performance import Prices, performance_of
from rageval_report.metrics.ranking_inputs import DuplicateDocs, hits_of
from rageval_report.metrics.ranking_scores import NoRelevant
from rageval_report.metrics.refusal import (
    RefusalRule,
    abstention_recall,
    refusals_of,
)
from rageval_report.metrics.retrieval import Hits
from rageval_report.metrics.similarity import (
    Embed,
    Similarities,
    answer_similarities,
    similarities_of_texts,
)
from rageval_report.metrics.text import Answers, NegativeReferences
from rageval_report.records.levels import LevelOption
from rageval_report.scores.catalogue.dialects import Dialect, DialectName, dialect_of_name


@dataclass(frozen=True)
class Tools:
    """What the user hands in for some metrics.

    Parameters
    ----------
    embed : callable, optional
        A function that turns texts into vectors, for metrics of similarity.
    prices : mapping of str to Price, optional
        What the tokens of a model cost; an unknown price is missing, not 0.
    refusals : RefusalRule, optional
        How to recognise a refusal; by the phrases of the package if omitted.
    duplicates : {"error", "best", "keep"}, optional
        What to do with a passage that was retrieved twice for a query: raise an error; count it
        once, at its best rank, and close up the ranks below its repeats; or count it once and keep
        the ranks of its repeats. If omitted, "best" for several chunks of one document that are
        counted at the level of documents, and "error" for everything else.
    level : {"auto", "chunk", "document"}
        The level at which gold and passages are compared if they carry the ids of both; see
        `rageval_report.records.levels.choose_level`.
    no_relevant : {"skip", "zero"}
        The retrieval score of a question without relevant documents: NaN, not applicable, or 0.
    dialect : Dialect, optional
        The system whose names and rules hold; `tools_in_dialect` makes the others agree with it.
    model : str, optional
        The model of the records that do not name one, for their prices.
    """

    embed: Embed | None = None
    prices: Prices | None = None
    refusals: RefusalRule | None = None
    duplicates: DuplicateDocs | None = None
    level: LevelOption = "auto"
    no_relevant: NoRelevant = "skip"
    dialect: Dialect | None = None
    model: str | None = None

    @property
    def relevance_level(self) -> float:
        """The lowest grade that is relevant."""
        return 1.0 if self.dialect is None else self.dialect.relevance_level

    @property
    def judges_unanswerable(self) -> bool:
        """Whether the gold of a question that has no answer counts all the same."""
        return self.dialect is not None and self.dialect.judges_unanswerable


def tools_in_dialect(
    dialect: DialectName | None,
    *,
    embed: Embed | None = None,
    prices: Prices | None = None,
    refusals: RefusalRule | None = None,
    duplicates: DuplicateDocs | None = None,
    level: LevelOption | None = None,
    no_relevant: NoRelevant | None = None,
) -> Tools:
    """The tools with the rules of a dialect, or with the usual ones for what is None."""
    rules = dialect_of_name(dialect)
    if rules is None:
        return Tools(embed, prices, refusals, duplicates, level or "auto", no_relevant or "skip")
    if rules.name == "wfgy" and refusals is not None:
        raise DataError(
            'refusals contradicts dialect="wfgy", in which only "not in context" is a refusal; '
            "leave out one of the two"
        )
    settled: dict[str, Any] = rules.settle(
        duplicates=duplicates, level=level, no_relevant=no_relevant
    )
    if rules.name == "ragbench" and refusals is None:
        refusals = LiteralRefusals()
    return Tools(
        embed,
        prices,
        refusals,
        settled["duplicates"],
        settled["level"] or "auto",
        settled["no_relevant"] or "skip",
        rules,
    )


@dataclass(frozen=True)
class View:
    """How records become what some metrics are computed from."""

    build: Callable[[pd.DataFrame, Tools], object]
    fields: tuple[str, ...] = ()


def rankings_view(records: pd.DataFrame, tools: Tools) -> Hits:
    """The hit table of the retrieved ids and the gold; without gold nothing is relevant."""
    retrieved = [[] if ids is None else ids for ids in records["retrieved"]]
    relevant = [{} if gold is None else gold for gold in records["relevant"]]
    hits = hits_of(
        retrieved,
        relevant,
        relevance_level=tools.relevance_level,
        query_ids=list(map(str, records.index)),
        duplicates=tools.duplicates or "error",
    )
    # The rules of some systems count repeats, which the hit table has left out.
    return hits if tools.dialect is None else ListedHits.of(hits, retrieved, relevant)


def answers_view(records: pd.DataFrame, tools: Tools) -> Answers:
    """The answers beside their references, and which of them are right refusals."""
    answers = [None if answer is None else str(answer) for answer in records["answer"]]
    refusals = None
    if "answerable" in records and (tools.dialect is None or tools.dialect.rewards_refusals):
        refusals = abstention_recall(refusals_of(records, tools.refusals)).tolist()
    return Answers(answers, _lists(records["reference"]), refusals)


def negatives_view(records: pd.DataFrame, tools: Tools) -> NegativeReferences:  # noqa: ARG001
    """The answers beside the texts that they must not contain."""
    count = len(records)
    rows = zip(records["answer"], records.get("error", [None] * count), strict=True)
    # An empty answer of a pipeline that failed says nothing, so it is not free of wrong answers.
    answers = [None if answer is None or (error and not answer) else str(answer)
               for answer, error in rows]  # fmt: skip
    references = _lists(records["reference"]) if "reference" in records else [[]] * count
    return NegativeReferences(answers, _lists(records["negative_reference"]), references)


def similarities_view(records: pd.DataFrame, tools: Tools) -> Similarities:
    """How near each retrieved context is to each gold text."""
    contexts, truths = records["contexts"].tolist(), records["relevant_texts"].tolist()
    return similarities_of_texts(contexts, truths, _required_embed(tools))


def _required_embed(tools: Tools) -> Embed:
    if tools.embed is None:
        raise DataError(
            "metrics of similarity need embed=, a function that turns texts into vectors, such as "
            "rageval_report.metrics.embeddings.openai_embeddings(...) or "
            "SentenceTransformer(...).encode"
        )
    return tools.embed


def _lists(column: pd.Series) -> list[list[str]]:
    return [[] if texts is None else list(texts) for texts in column]


VIEWS: Registry[View] = Registry(
    "view of the records",
    {
        "answer_similarities": View(
            lambda records, tools: answer_similarities(
                answers_view(records, tools), _required_embed(tools)
            ),
            ("answer", "reference"),
        ),
        "answers": View(answers_view, ("answer", "reference")),
        "citations": View(lambda records, _: citations_of(records), ("citations",)),
        "gold_and_traces": View(
            lambda records, _: gold_and_traces(records), ("answer", "answerable")
        ),
        "negatives": View(negatives_view, ("answer", "negative_reference")),
        "performance": View(
            lambda records, tools: performance_of(records, tools.prices, model=tools.model)
        ),
        "rankings": View(rankings_view, ("retrieved", "relevant")),
        "refusals": View(
            lambda records, tools: refusals_of(records, tools.refusals), ("answer", "answerable")
        ),
        "similarities": View(similarities_view, ("contexts", "relevant_texts")),
    },
)

"""How a ranking file is scored against judgments, as keywords of whatever reads such a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import pandas as pd

from rageval_report.files.inputs import FileInput

if TYPE_CHECKING:
    from rageval_report.metrics.joining import Ties
    from rageval_report.metrics.ranking_scores import NoRelevant
    from rageval_report.records.id_changes import MatchIds
    from rageval_report.scores.catalogue.dialects import DialectName

# Dicts by query id, a tidy frame, or a file: its path, its contents, or an open file.
Judgments = Mapping[Any, object] | pd.DataFrame | FileInput

# What a ranking is scored on if nobody says it: the head, the whole list, the first hit.
DEFAULT_METRICS = ("ndcg@10", "recall@100", "map", "mrr")


class RankingOptions(TypedDict, total=False):
    """The keywords that decide how a ranking is scored; those left out have their usual values.

    Parameters
    ----------
    ties : {"docid", "input", "error"}
        The order of documents with equal scores.
    relevance_level : float
        The lowest grade that counts as relevant.
    no_relevant : {"zero", "skip"}
        The score of a query without relevant documents: 0, or NaN (if omitted).
    drop_self : bool
        Whether a retrieved document that has the id of its query is left out.
    values : {"scores", "ranks"}
        What the numbers of a ranking without column names are.
    match_ids : str or iterable of str
        Changes of form after which judged ids and retrieved ids are compared, as in
        `rageval_report.score_rankings`.
    qrels : mapping, DataFrame, or path
        The judgments; without them, a ranking cannot be read as scores.
    dialect : {"datapizza", "haystack", "ragbench"}, optional
        The names and rules of another system: for a ranking those of datapizza or Haystack, for a
        file of Haystack or ragbench those of the system that wrote it; see
        `rageval_report.scores.catalogue.dialects`.
    """

    ties: Ties
    relevance_level: float
    no_relevant: NoRelevant
    drop_self: bool
    values: Literal["scores", "ranks"] | None
    match_ids: MatchIds
    qrels: Judgments | None
    dialect: DialectName | None

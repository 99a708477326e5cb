"""Rankings are scored against their judgments; without these the error says how to pass them.

BEIR's means over all queries are recognised too, only so that the error can say what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import load
from rageval_report.errors import ReaderError
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.ranking_kinds import (
    differ_in_documents,
    likely_kind,
    rows_of_numbers,
    sure_kind,
)

if TYPE_CHECKING:
    from rageval_report.rankings.inputs import DuplicateDocs
    from rageval_report.rankings.joined import Ties
    from rageval_report.rankings.ranking_options import Judgments
    from rageval_report.rankings.score_tables import NoRelevant
    from rageval_report.readers.ranking_files import Values
    from rageval_report.records.id_changes import MatchIds
    from rageval_report.scores.catalogue.dialects import DialectName

_SURE = 0.95
# Above a plain JSON table (0.7), so that document ids are not taken for metrics.
_JSON = 0.75

_HOW = (
    'Pass its judgments: read_scores(path, qrels="qrels.txt", metrics=["ndcg@10"]), or on the '
    "command line --qrels QRELS --metric ndcg@10"
)
_BESIDE = (
    'them beside a ranking: read_scores(run, qrels=path, metrics=["ndcg@10"]), or on the '
    "command line RUN --qrels QRELS --metric ndcg@10"
)
_HOW_JUDGMENTS = f"Pass {_BESIDE}"
_HOW_EITHER = f"{_HOW}. If the file holds the judgments, pass {_BESIDE}"


def _recognise(source: Source) -> float:
    if sure_kind(source) is not None:
        return _SURE
    return _JSON if differ_in_documents(rows_of_numbers(source.document_or_none())) else 0.0


def read_rankings(
    source: Source,
    *,
    qrels: Judgments | None = None,
    metrics: object = None,
    duplicates: DuplicateDocs = "error",
    values: Values | None = None,
    ties: Ties | None = None,
    relevance_level: float | str | None = None,
    no_relevant: NoRelevant | None = None,
    drop_self: bool | str | None = None,
    match_ids: MatchIds = (),
    dialect: DialectName | None = None,
) -> list[ScoreFile]:
    r"""Score the ranking in a file against judgments."""
    if qrels is None:
        raise _without_judgments(source)
    # By name: every file is shown to this reader, and most are no rankings.
    score = load("rageval_report.readers.scored_rankings:score_file_of_ranking")
    return [
        score(
            source,
            qrels=qrels,
            metrics=metrics,
            duplicates=duplicates,
            values=values,
            ties=ties,
            relevance_level=relevance_level,
            no_relevant=no_relevant,
            drop_self=drop_self,
            match_ids=match_ids,
            dialect=dialect,
        )
    ]


def _without_judgments(source: Source) -> ReaderError:
    kind = sure_kind(source) or likely_kind(source)
    what = "rankings or judgments as JSON" if kind is None else kind.what
    how = _HOW_JUDGMENTS if kind is not None and kind.side == "judgments" else _HOW
    if kind is None or kind.side == "either":
        how = _HOW_EITHER
    if kind is not None and kind.side == "neither":
        how = "They cannot be compared query by query: read the run that they were computed from"
    return source.error(f"this looks like {what}, without scores of queries. {how}")


RANKINGS = Reader(
    "rankings",
    "TREC and BEIR runs, tables and JSON of rankings, scored against qrels=",
    _recognise,
    read_rankings,
    (
        *("qrels", "metrics", "duplicates", "ties", "relevance_level", "no_relevant"),
        *("drop_self", "match_ids", "values", "dialect", "encoding"),
    ),
    example="bm25.run",
)

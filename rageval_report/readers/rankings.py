"""Rankings are scored against their judgments; without these the error says how to pass them.

BEIR's means over all queries are recognised too, only so that the error can say what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from rageval_report._registry import load
from rageval_report.errors import ReaderError
from rageval_report.files.source import Source
from rageval_report.metrics.ranking_options import RankingOptions
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.ranking_kinds import (
    differ_in_documents,
    likely_kind,
    rows_of_numbers,
    sure_kind,
)

if TYPE_CHECKING:
    from rageval_report.metrics.ranking_scores import DuplicateDocs

_SURE = 0.95
# Above a plain JSON table (0.7), so that document ids are not taken for metrics.
_JSON = 0.75

_GIVE_JUDGMENTS = (
    'Pass its judgments: read_scores(path, qrels="qrels.txt", metrics=["ndcg@10"]), or on the '
    "command line --qrels QRELS --metric ndcg@10"
)
_BESIDE = (
    'them beside a ranking: read_scores(run, qrels=path, metrics=["ndcg@10"]), or on the '
    "command line RUN --qrels QRELS --metric ndcg@10"
)
# What to do with rankings, judgments, what may be either, and means.
_ADVICE = {
    "run": _GIVE_JUDGMENTS,
    "judgments": f"Pass {_BESIDE}",
    "either": f"{_GIVE_JUDGMENTS}. If the file holds the judgments, pass {_BESIDE}",
    "neither": "They cannot be compared query by query: read the run that they were computed from",
}


def _recognise(source: Source) -> float:
    if sure_kind(source) is not None:
        return _SURE
    return _JSON if differ_in_documents(rows_of_numbers(source.document_or_none())) else 0.0


def read_rankings(
    source: Source,
    *,
    metrics: object = None,
    duplicates: DuplicateDocs = "error",
    **options: Unpack[RankingOptions],
) -> list[ScoreFile]:
    """Score the ranking in a file against judgments."""
    if options.get("qrels") is None:
        raise _without_judgments(source)
    # By name: every file is shown to this reader, and most are no rankings.
    score = load("rageval_report.readers.ranking_files:score_file_of_ranking")
    return [score(source, metrics, duplicates, options)]


def _without_judgments(source: Source) -> ReaderError:
    kind = sure_kind(source) or likely_kind(source)
    what = "rankings or judgments as JSON" if kind is None else kind.what
    side = "either" if kind is None else kind.side
    return source.error(f"this looks like {what}, without scores of queries. {_ADVICE[side]}")


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

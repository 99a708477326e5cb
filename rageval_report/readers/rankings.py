"""Rankings are scored against their judgments; without these the error says how to pass them.

BEIR's means over all queries are recognised too, only so that the error can say what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report.errors import ReaderError
from rageval_report.files.source import Source
from rageval_report.readers import delegates
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.ranking_kinds import (
    differ_in_documents,
    likely_kind,
    rows_of_numbers,
    sure_kind,
)

if TYPE_CHECKING:
    from rageval_report.metrics.joining import Ties
    from rageval_report.metrics.ranking_inputs import DuplicateDocs
    from rageval_report.metrics.ranking_options import Judgments
    from rageval_report.metrics.ranking_scores import NoRelevant
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
    r"""Score the ranking in a file against judgments.

    Parameters
    ----------
    source : Source
        The ranking: a TREC run, BEIR's three columns, a table, or JSON.
    qrels : mapping, DataFrame, or path
        The judgments; without them, a ranking is refused.
    metrics : str, iterable of str, or mapping, optional
        Names such as "ndcg@10"; of a mapping, its keys. If omitted,
        `rageval_report.metrics.ranking_options.DEFAULT_METRICS`.
    duplicates : {"error", "best", "keep"}
        What to do with a document that was retrieved twice for a query; "error" leaves it to the
        dialect if there is one.
    values : {"scores", "ranks"}, optional
        What the numbers of a ranking without column names are; if omitted, numbers that count
        1, 2, 3 in every query are ranks.
    ties, relevance_level, no_relevant, drop_self
        As for `rageval_report.score_rankings`, or a text that spells
        the value; its own values if omitted.
    match_ids : str or iterable of str
        Changes of form after which ids are compared, as in `rageval_report.score_rankings`.
    dialect : {"datapizza", "haystack"}, optional
        The system whose names and rules hold, as in `rageval_report.score_rankings`.

    Raises
    ------
    DataError
        If an option contradicts the dialect, or it has no metrics of rankings.
    ReaderError
        If there are no judgments, or a file cannot be read: the file, the line, what to do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bm25.run"
    ...     _ = path.write_text("q1 Q0 d7 1 0.9 anserini\nq1 Q0 d8 2 0.5 anserini\n")
    ...     [run] = read_rankings(Source(path), qrels={"q1": {"d8": 1}}, metrics="mrr")
    >>> run.pipeline, run.frame["mrr"].tolist(), dict(run.config)
    ('bm25', [0.5], {'tag': 'anserini'})
    """
    if qrels is None:
        raise _without_judgments(source)
    return [
        delegates.score_file_of_ranking(
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

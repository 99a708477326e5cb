"""What a file of rankings or judgments holds, recognised by its first lines, header or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, Unpack

from rageval_report._registry import load
from rageval_report.files.encoding import head_text
from rageval_report.files.source import Source
from rageval_report.metrics.ranking_options import RankingOptions
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.table_files import header_of
from rageval_report.scores.metric import Catalogue, normalise_name

if TYPE_CHECKING:
    from rageval_report.metrics.ranking_scores import DuplicateDocs

RankingSide = Literal["run", "judgments", "either"]
RankingForm = Literal["trec", "three columns", "table", "json"]

_SAMPLE = 50

# The names of columns, normalised, the surest first; as in `rankings.from_rows`, and some more.
QUERIES = ("query_id", "qid", "q_id", "query", "topic", "topic_id")
DOCUMENTS = ("doc_id", "docno", "docid", "corpus_id", "document_id", "doc", "pid", "passage_id")
GRADES = ("relevance", "rel", "label", "grade", "judgment")
SCORES = ("score", "sim", "similarity")
RANKS = ("rank", "position")
_BESIDE = ("iteration", "iter", "q0", "tag", "run", "run_id", "run_name", "system")


@dataclass(frozen=True)
class RankingKind:
    """What a file of rankings or judgments holds."""

    what: str
    side: RankingSide
    form: RankingForm


TREC_RUN = RankingKind("a TREC run", "run", "trec")
TREC_QRELS = RankingKind("TREC judgments", "judgments", "trec")
THREE_COLUMNS = RankingKind("rankings or judgments in three columns", "either", "three columns")
BEIR_TABLE = RankingKind("a table of judgments", "either", "three columns")
TABLE_OF_GRADES = RankingKind("a table of judgments", "judgments", "table")
TABLE_OF_RANKINGS = RankingKind("a table of rankings", "run", "table")
JSON_NUMBERS = RankingKind("rankings or judgments as JSON", "either", "json")


def sure_kind(source: Source) -> RankingKind | None:
    """The kind of a file that can be nothing but rankings, judgments or means; else None."""
    if source.starts_like_json:
        return None if rows_of_numbers(source.document_or_none()) else _kind_of_table(source)
    lines = [line.split() for line in first_lines(source)]
    n_runs = sum(len(w) >= 6 and w[1].upper() == "Q0" and _is_number(w[4]) for w in lines)
    n_judged = sum(
        len(w) == 4 and _is_number(w[3]) and (w[1] == "Q0" or _is_number(w[1])) for w in lines
    )
    # One line that cannot be read does not make it another file: its reader names that line.
    if 2 * max(n_runs, n_judged) > len(lines):
        return TREC_RUN if n_runs > n_judged else TREC_QRELS
    return _kind_of_table(source)


def likely_kind(source: Source) -> RankingKind | None:
    """The kind of a file of which the user says that it holds rankings or judgments."""
    kind = sure_kind(source)
    if kind is not None:
        return kind
    if source.starts_like_json:
        document = source.document_or_none()
        return JSON_NUMBERS if _are_lists_of_documents(document) else None
    lines = first_lines(source)
    rows = [line.split("\t") for line in lines[1:] or lines]
    if sum(len(row) == 3 and _is_number(row[-1]) for row in rows) * 2 > len(rows):
        return THREE_COLUMNS
    words = [line.split() for line in lines]
    # Lines with too few words, whose reader says which; or another second column, which may hold
    # anything, because trec_eval ignores it.
    has_q0 = any(line[1:2] == ["Q0"] for line in words)
    has_ranks = bool(words) and all(
        len(line) == 6 and line[3].isdigit() and _is_number(line[4]) for line in words
    )
    return TREC_RUN if has_q0 or has_ranks else None


def first_lines(source: Source) -> list[str]:
    """The first lines that are not comments, without the last, which may be cut."""
    if not source.is_text:
        return []
    every = head_text(source.head).splitlines()
    lines = [line for line in every if line.strip() and not line.startswith("#")]
    return (lines[:-1] or lines)[:_SAMPLE]


def rows_of_numbers(document: object) -> Mapping[str, Mapping[str, float]]:
    """The document, if it is an object of objects of numbers; else an empty one."""
    if not isinstance(document, dict):
        return {}
    rows = document.values()
    are_rows = all(
        isinstance(row, dict) and row and all(map(is_json_number, row.values())) for row in rows
    )
    return document if are_rows else {}


def differ_in_documents(rows: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether no key is in all rows: queries have different documents, but the same measures."""
    keys = {frozenset(row) for row in islice(rows.values(), _SAMPLE)}
    return len(keys) > 1 and len(frozenset.intersection(*keys)) == 0


def _are_lists_of_documents(document: object) -> bool:
    """Whether it is ``{query: {document: number}}`` or ``{query: [document, ...]}``, or nearly."""
    if not isinstance(document, dict) or not document:
        return False
    # A query for which nothing was retrieved has an empty list.
    rows = [row for row in document.values() if row != {} and row != []]
    # One row that cannot be read does not make it another file: its reader names that row.
    if sum(map(_is_list_of_documents, rows)) * 2 <= len(rows):
        return False
    names = next(row for row in rows if _is_list_of_documents(row))
    catalogue = Catalogue()
    # A file of scores has measures where a ranking has documents.
    return not all(catalogue.search(str(name)) is not None for name in names)


def _is_list_of_documents(row: object) -> bool:
    if isinstance(row, dict):
        return sum(map(is_json_number, row.values())) * 2 > len(row)
    return isinstance(row, list) and all(is_document_id(doc) for doc in row)


def is_document_id(value: object) -> bool:
    """Whether a value of a JSON list can be the id of a document."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def is_json_number(value: object) -> bool:
    """Whether a value of a JSON document is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _kind_of_table(source: Source) -> RankingKind | None:
    header = [normalise_name(name) for name in header_of(source)]
    names = {*header}
    known = {*QUERIES, *DOCUMENTS, *GRADES, *SCORES, *RANKS, *_BESIDE}
    has_ids = names & {*QUERIES} and names & {*DOCUMENTS}
    if not (names <= known and has_ids and len(names) > 2):
        return None
    if names & {*GRADES}:
        return TABLE_OF_GRADES
    # BEIR writes judgments so, and MTEB and others their rankings too.
    return BEIR_TABLE if header[1:] == ["corpus_id", "score"] else TABLE_OF_RANKINGS


# -- the reader

_SURE = 0.95
# Above a plain JSON table (0.7), so that document ids are not taken for metrics.
_JSON = 0.75
_GIVE_JUDGMENTS = (
    'Pass its judgments: read_scores(path, qrels="qrels.txt", metrics=["ndcg@10"]), or on the '
    "command line --qrels QRELS --metric ndcg@10"
)
_GIVE_RANKING = (
    "If the file holds the judgments, pass them beside a ranking: read_scores(run, qrels=path, "
    'metrics=["ndcg@10"]), or on the command line RUN --qrels QRELS --metric ndcg@10'
)
_ADVICE: dict[RankingSide, str] = {
    "run": _GIVE_JUDGMENTS,
    "judgments": _GIVE_RANKING,
    "either": f"{_GIVE_JUDGMENTS}. {_GIVE_RANKING}",
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
    """Score the ranking in a file against judgments, without which the error says what to pass."""
    if options.get("qrels") is None:
        kind = sure_kind(source) or likely_kind(source) or JSON_NUMBERS
        advice = _ADVICE[kind.side]
        raise source.error(f"this looks like {kind.what}, without scores of queries. {advice}")
    # By name: every file is shown to this reader, and most are no rankings.
    score = load("rageval_report.readers.ranking_files:score_file_of_ranking")
    return [score(source, metrics, duplicates, options)]


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

"""Files of rankings and judgments become scores: TREC, BEIR, tables, JSON.

A TREC or BEIR file in UTF-8 stays a path, because such a file is joined in parts and never held as
a whole; any other becomes rows or a mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report.errors import (
    AlignmentError,
    DataError,
    ReaderError,
    check_choice,
    named,
)
from rageval_report.files.inputs import STANDARD_INPUT, is_file_input
from rageval_report.files.source import LARGE, Source
from rageval_report.metrics.joining import IdRows, from_frame
from rageval_report.metrics.ranking_options import DEFAULT_METRICS, RankingOptions
from rageval_report.metrics.ranking_scores import (
    DuplicateDocs,
    RankedScores,
    default_ranking_metrics,
    doubts_about_rankings,
    match_ranking_ids,
    ranked_metrics,
    ranking_dialect,
    score_table_of_rankings,
    tables_in_dialect,
)
from rageval_report.metrics.trec_files import (
    Text,
    read_beir_run,
    read_trec_qrels,
    read_trec_run,
    text_of,
)
from rageval_report.readers.base import ScoreFile
from rageval_report.readers.cell_values import number_or_none
from rageval_report.readers.delimited import best_delimiters, read_as_text
from rageval_report.readers.ranking_kinds import (
    DOCUMENTS,
    GRADES,
    QUERIES,
    RANKS,
    SCORES,
    RankingKind,
    first_lines,
    is_document_id,
    is_json_number,
    likely_kind,
)
from rageval_report.readers.table_files import read_table
from rageval_report.scores.catalogue.dialects import DIALECT
from rageval_report.scores.query_ids import first_named

Values = Literal["scores", "ranks"]
VALUES: tuple[Values, ...] = ("scores", "ranks")

# Suffixes that say what a file is. Any other is part of the name: "input.bm25", "bm25.k1=0.9".
_SUFFIXES = frozenset(
    (
        *(".run", ".txt", ".trec", ".res", ".results", ".result", ".out", ".dat", ".log", ".tsv"),
        *(".csv", ".json", ".jsonl", ".ndjson", ".parquet", ".qrels", ".gz"),
    )
)
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
_TAG = 5  # the place of the tag in a line of a TREC run

_COUNT_AS_RANKS = (
    "the numbers count 1, 2, 3, ... in every query and are read as ranks; if they are scores, the "
    'highest the best, pass values="scores"'
)


@dataclass(frozen=True, eq=False)
class RankingFile:
    """A file of rankings or judgments, ready to be scored."""

    content: object
    notes: tuple[str, ...] = ()
    tag: str | None = None


def ranking_name(path: str | Path) -> str:
    """The name of a pipeline, from the name of its ranking file."""
    if str(path) == "-":
        return "stdin"
    name = Path(path)
    while name.suffix.lower() in _SUFFIXES:
        name = name.with_suffix("")
    return name.name


def run_file(source: Source, values: Values | None = None) -> RankingFile:
    """The ranking in a file."""
    kind = likely_kind(source)
    if kind is not None and kind.side == "judgments":
        raise source.error(
            f"expected a ranking; this looks like {kind.what}. If run and judgments are swapped, "
            "exchange them; if it is a ranking, write a score for each document",
        )
    _check_known(source, kind, "a ranking")
    if kind is None or kind.form == "trec":
        return _trec_run(source)
    if kind.form == "json":
        return _json_run(source, values)
    if kind.form == "three columns":
        return _run_of_three_columns(source, values)
    return _run_of_table(source)


def judgments_file(source: Source) -> RankingFile:
    """The judgments in a file."""
    kind = likely_kind(source)
    if kind is not None and kind.side == "run":
        raise source.error(
            f"expected judgments; this looks like {kind.what}: are the run and qrels swapped? "
            "Judgments have the columns query_id, iteration, doc_id, relevance",
        )
    _check_known(source, kind, "judgments")
    if kind is not None and kind.form == "json":
        return RankingFile(_json_table(source, "relevance"), source.notes)
    if kind is not None and kind.form == "table":
        frame, lines = _frame_of(source)
        names = (*GRADES, *SCORES)
        rows = _rows_of(source, frame, lines, "the judgments", names, "relevance")
        return RankingFile(rows, source.notes)
    return RankingFile(_content_of(source, read_trec_qrels), source.notes)


def _check_known(source: Source, kind: RankingKind | None, expected: str) -> None:
    if kind is None and source.is_text and source.starts_like_json:
        _ = source.document  # damaged JSON: the error names the line
        raise source.error(
            f"expected {expected}; this JSON is neither {{query: {{document: number}}}} nor "
            "{query: [document, ...]}"
        )
    if kind is None and not source.is_text:
        raise source.error(f"expected {expected}; this looks like {source.looks_like}")


# -- TREC


def _content_of(source: Source, read: Callable[[Text], IdRows]) -> object:
    """The rows of a text that must be decoded first; else the path, which is read in parts."""
    plain = source.plain_path or Path(source.name)
    must_be_decoded = (
        source.folder is None
        or source.encoding is not None
        or source.head.startswith(_WIDE_MARKS)
        # A larger file is not read a second time for this; an error then names the line.
        or (source.size < LARGE and source.utf8 is not source.data and bool(source.notes))
    )
    return read(text_of(source.name, source.utf8)) if must_be_decoded else plain


def _trec_run(source: Source) -> RankingFile:
    words = (first_lines(source) or [""])[0].split()
    tag = words[_TAG] if len(words) > _TAG else None
    return RankingFile(_content_of(source, read_trec_run), tag=tag)


# -- numbers that may be ranks


def _run_of_three_columns(source: Source, values: Values | None) -> RankingFile:
    """A run whose third column has scores, or ranks, which are turned: the first is the highest."""
    rows = read_beir_run(text_of(source.name, source.utf8))
    last = (first_lines(source) or [""])[0].split("\t")[-1:]
    names_ranks, names_scores = (first_named(last, names) is not None for names in (RANKS, SCORES))
    counts = values is None and not names_ranks and not names_scores and _count_up(rows)
    are_ranks = values == "ranks" or counts or (values is None and names_ranks)
    notes = (_COUNT_AS_RANKS,) if counts else ()
    return RankingFile(replace(rows, value=-rows.value) if are_ranks else rows, notes)


def _count_up(rows: IdRows) -> bool:
    """Whether the numbers of every query are 1, 2, 3, ... in the order of the rows."""
    query = np.asarray(rows.query)
    starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
    lengths = np.diff(starts, append=len(query))
    place = np.arange(len(query)) - np.repeat(starts, lengths)
    return bool(lengths.max(initial=0) > 1 and (rows.value == place + 1).all())


def _json_table(source: Source, number: str) -> Mapping[str, Any]:
    """The documents of each query; an error names the query and the document."""
    table: Mapping[str, Any] = source.document
    for query, docs in table.items():
        if not isinstance(docs, dict | list):
            raise source.error(
                f"query {query!r} must have its documents, as {{document: {number}}} or a list of "
                f"ids; got {docs!r}"
            )
        if isinstance(docs, list):
            wrong = [doc for doc in docs if not is_document_id(doc)]
        else:
            wrong = [value for value in docs.values() if not is_json_number(value)]
        if wrong:
            what = "ids" if isinstance(docs, list) else f"a {number} that is a number"
            raise source.error(f"query {query!r}: expected {what}; got {wrong[0]!r}")
    return table


def _json_run(source: Source, values: Values | None) -> RankingFile:
    table = _json_table(source, "score")
    numbers = [list(docs.values()) for docs in table.values() if isinstance(docs, dict)]
    counts = bool(numbers) and all(row == list(range(1, len(row) + 1)) for row in numbers)
    are_ranks = counts and any(len(row) > 1 for row in numbers)
    if values == "scores" or (values is None and not are_ranks) or not numbers:
        return RankingFile(table)
    turned = {query: {doc: -rank for doc, rank in docs.items()} for query, docs in table.items()}
    notes = () if values == "ranks" else (_COUNT_AS_RANKS,)
    return RankingFile(turned, notes)


# -- tables


def _run_of_table(source: Source) -> RankingFile:
    frame, lines = _frame_of(source)
    score, rank = first_named(map(str, frame), SCORES), first_named(map(str, frame), RANKS)
    if score is None and rank is None:
        raise source.error(f"expected a column of scores or ranks; columns: {named(frame, 12)}")
    names = SCORES if score is not None else RANKS
    rows = _rows_of(source, frame, lines, "the run", names, "score")
    if score is not None:
        return RankingFile(rows)
    note = f"the column {rank!r} decides the order, 1 first: there are no scores"
    return RankingFile(replace(rows, value=-rows.value), (note,))


def _frame_of(source: Source) -> tuple[pd.DataFrame, list[int] | None]:
    """A table with its ids as texts, and the line of each row if it is delimited text."""
    if source.starts_like_json or not source.is_text or not best_delimiters(source):
        return read_table(source).frame, None
    # Not by the reader of tables, which reads the number 7 in an id 007.
    return read_as_text(source)


def _rows_of(
    source: Source,
    frame: pd.DataFrame,
    lines: list[int] | None,
    what: str,
    names: tuple[str, ...],
    number: Literal["score", "relevance"],
) -> IdRows:
    """The rows of a table; an error names the file and the line."""
    columns = {
        "query_id": first_named(map(str, frame), QUERIES),
        "doc_id": first_named(map(str, frame), DOCUMENTS),
        number: first_named(map(str, frame), names),
    }
    missing = [name for name, column in columns.items() if column is None]
    if missing:
        raise source.error(f"{what} needs the columns {named(missing)}; got {named(frame, 12)}")
    if not len(frame):
        raise source.error("the file has column names, but no rows")
    table = frame[list(columns.values())].set_axis(list(columns), axis=1)
    # Integers of JSON have any size.
    cells = table[number].map(lambda cell: number_or_none(cell) if type(cell) is int else cell)
    numbers = pd.to_numeric(cells, errors="coerce")
    wrong = np.flatnonzero(numbers.isna().to_numpy())
    if wrong.size:
        row = int(wrong[0])
        raise source.error(
            f"the {number} must be a number; got {table[number].iloc[row]!r} in row {row + 1}. "
            "Correct the row, or leave it out",
            line=None if lines is None else lines[row],
        )
    try:
        rows = from_frame(table.assign(**{number: numbers}), what, number)
    except ReaderError:
        raise
    except DataError as exc:
        raise source.error(str(exc)) from exc
    if lines is None:
        return rows
    return replace(rows, path=source.name, line=np.array(lines))


# -- scoring

_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def score_file_of_ranking(
    source: Source, metrics: object, duplicates: DuplicateDocs, options: RankingOptions
) -> ScoreFile:
    """The scores of a ranking, with the options of `read_rankings`."""
    level, drop_self = options.get("relevance_level"), options.get("drop_self")
    # The command line passes options as texts.
    if isinstance(level, str):
        try:
            level = float(level)
        except ValueError as exc:
            raise DataError(f"relevance_level must be a number > 0; got {level!r}") from exc
    if isinstance(drop_self, str):
        check_choice("drop_self", drop_self.lower(), tuple(_FLAGS))
        drop_self = _FLAGS[drop_self.lower()]
    values = options.get("values")
    if values is not None:
        check_choice("values", values, VALUES)
    settled: dict[str, Any] = {
        "ties": options.get("ties"),
        "relevance_level": level,
        "no_relevant": options.get("no_relevant"),
    }
    system = ranking_dialect(options.get("dialect"))
    named_metrics = [metrics] if isinstance(metrics, str) else metrics
    listed = list(map(str, named_metrics)) if isinstance(named_metrics, Iterable) else []
    names, known = listed or list(DEFAULT_METRICS), {}
    if system is not None:
        # Files of every kind are read with duplicates="error" unless somebody says otherwise.
        own = None if duplicates == "error" else duplicates
        settled = dict(system.settle(duplicates=own, **settled))
        duplicates = settled.pop("duplicates") or "error"
        known = ranked_metrics(listed or default_ranking_metrics(system), system)
        names = list(dict.fromkeys(metric.known_as for metric in known.values()))
    every = {**settled, "drop_self": drop_self}
    chosen = {name: value for name, value in every.items() if value is not None}
    run, judgments = run_file(source, values), _judgments(options["qrels"], source)
    notes = [] if system is None else [system.note]
    match_ids = options.get("match_ids", ())
    if match_ids:
        run_table, judged_table, note = match_ranking_ids(run.content, judgments.content, match_ids)
        run, judgments = replace(run, content=run_table), replace(judgments, content=judged_table)
        notes.append(note)
    try:
        ranked = score_table_of_rankings(
            run.content, judgments.content, names, duplicates=duplicates, **chosen
        )
    except (ReaderError, AlignmentError):
        raise
    except DataError as exc:
        raise source.error(str(exc)) from exc
    if system is not None:
        scores, details = tables_in_dialect(ranked.scores, ranked.details, known)
        ranked = replace(ranked, scores=scores, details=details)
        chosen = {} if drop_self is None else {"drop_self": drop_self}  # its note has the others
    columns = tuple(map(str, ranked.scores))
    notes += [*run.notes, *(f"qrels: {note}" for note in judgments.notes)]
    if not listed:
        computed = ", ".join(columns)
        notes.append(f"no metrics were named; computed: {computed}. Name others with metrics=[...]")
    if chosen:
        # The settings that can move a number, if they are not the usual ones.
        settings = ", ".join(f"{name} {value}" for name, value in chosen.items())
        notes.append(f"scored with {settings}")
    notes += [*_doubts(run, judgments, ranked), *ranked.notes]
    config = {} if run.tag is None else {"tag": run.tag}
    if system is not None:
        config[DIALECT] = system.name
    frame = pd.concat([ranked.details, ranked.scores], axis=1).reset_index()
    pipeline = source.stem if source.folder is None else ranking_name(source.name)
    return ScoreFile(
        *(frame, pipeline),
        metrics=known,
        metric_columns=columns,
        notes=tuple(notes),
        config=config,
    )


def _judgments(qrels: object, run: Source) -> RankingFile:
    """The judgments, in whatever form they are."""
    if not is_file_input(qrels):
        return RankingFile(qrels)
    if str(qrels) == STANDARD_INPUT and run.is_standard_input:
        raise run.error("standard input can be read once only; name a file for the judgments")
    source = Source(qrels)
    if None not in (source.folder, run.folder) and Path(source.name).samefile(run.name):
        raise run.error("the run and the judgments are the same file; name two files")
    return judgments_file(source)


# -- doubts


def _doubts(run: RankingFile, judgments: RankingFile, ranked: RankedScores) -> Iterator[str]:
    """What looks wrong, although every line can be read."""
    doubts = doubts_about_rankings(
        run.content, judgments.content, ranked.hits, list(ranked.scores.index)
    )
    yield from (doubt.note for doubt in doubts)
    judged = [column for column in ranked.details if str(column).startswith("n_judged")]
    if not doubts and judged and not ranked.details[judged].to_numpy().any():
        yield (
            "no retrieved document within the cutoffs is judged; are document ids written "
            "differently?"
        )

"""The outputs of trec_eval and pytrec_eval, with scores of each query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.frameworks.format import SURE
from rageval_report.readers.json_shapes import check_object
from rageval_report.readers.ranking_kinds import first_lines, rows_of_numbers
from rageval_report.readers.record_columns import columns_of, frame_of

_SUMMARY = "all"  # the row of means, and of counts over all queries

# trec_eval's measures, without the parameters that follow them, as in ndcg_cut_10 and utility_1,-1.
_STEMS = (
    *("runid", "relstring", "num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"),
    *("map", "gm_map", "map_cut", "map_avgjg", "set_map", "bpref", "gm_bpref", "recip_rank"),
    *("P", "P_avgjg", "set_P", "relative_P", "set_relative_P", "success", "recall", "set_recall"),
    *("Rprec", "Rprec_mult", "Rprec_mult_avgjg", "set_F", "11pt_avg", "iprec_at_recall"),
    *("ndcg", "ndcg_cut", "ndcg_rel", "Rndcg", "G", "binG", "infAP", "utility", "yaap"),
    *("rbp", "rbp_resid", "unj"),
)
_MEASURE = re.compile(rf"({'|'.join(_STEMS)})(_[-\d.,=]+)?|prefs_\w+")
# These always have a cutoff; without one the name is that of another tool's metric.
_CUT = frozenset("P recall success relative_P map_cut ndcg_cut iprec_at_recall rbp_resid".split())
# Numbers and texts about the ranking that are not measures of its quality.
_TEXTS = re.compile(r"relstring(_\d+)?|runid")
_COUNTS = re.compile(r"num_\w+|relstring(_\d+)?|rbp_resid(_.+)?|unj_\d+|runid")


def is_measure(name: str) -> bool:
    """Whether trec_eval has a measure of that name."""
    return name not in _CUT and _MEASURE.fullmatch(name) is not None


def _score_file(name: str, rows: Iterable[Mapping[str, Any]], notes: Iterable[str]) -> ScoreFile:
    columns = columns_of(rows)
    # Counts such as num_ret describe the run; as metrics they would join the family of a
    # correction.
    metrics = tuple(key for key in columns if key != "query_id" and not _COUNTS.fullmatch(key))
    return ScoreFile(frame_of(columns), name, metric_columns=metrics, notes=tuple(notes))


# -- trec_eval's text


def _recognise_output(source: Source) -> float:
    fields = [line.split(maxsplit=2) for line in first_lines(source)]
    is_output = all(len(words) == 3 and is_measure(words[0]) for words in fields)
    return SURE if fields and is_output else 0.0


def read_trec_eval(source: Source) -> list[ScoreFile]:
    r"""Read the output of ``trec_eval -q``: a measure, a query and a value per line.

    Examples
    --------
    >>> [run] = read_trec_eval(Source(b"map\t301\t0.0324\nmap\t302\t0.5\nmap\tall\t0.2662\n"))
    >>> run.frame["map"].tolist()
    [0.0324, 0.5]
    """
    queries: dict[str, dict[str, Any]] = {}
    summary: dict[str, Any] = {}
    for line, measure, query, value in _triples(source):
        cells = summary if query == _SUMMARY else queries.setdefault(query, {"query_id": query})
        if measure in cells:
            raise source.error(
                f"{measure!r} of query {query!r} appears twice; are there two outputs in one file? "
                "Split them",
                line=line,
            )
        cells[measure] = value
    if not queries:
        raise source.error(
            f"the file contains only means over all queries ({named(summary)}); run trec_eval with "
            "-q for the values of each query"
        )
    notes = ["trec_eval prints four decimals; for all of them, score the run itself"]
    if "runid" in summary:
        notes.append(f"the run calls itself {summary['runid']!r}")
    return [_score_file(source.stem, queries.values(), notes)]


def _triples(source: Source) -> Iterator[tuple[int, str, str, Any]]:
    """The number, the measure, the query and the value of each line."""
    for number, line in enumerate(source.text.splitlines(), 1):
        fields = line.split(maxsplit=2)
        if not fields:
            continue
        if len(fields) < 3:
            message = f"expected a measure, a query and a value; got {line.strip()[:60]!r}"
            raise source.error(message, line=number)
        measure, query, value = fields[0], fields[1], fields[2].strip()
        if _TEXTS.fullmatch(measure):
            yield number, measure, query, value
            continue
        try:
            yield number, measure, query, float(value)
        except ValueError as exc:
            message = f"the value of {measure!r} must be a number; got {value[:40]!r}"
            raise source.error(message, line=number) from exc


TREC_EVAL = Reader(
    "trec_eval",
    "the output of trec_eval -q: a measure, a query and a value per line",
    _recognise_output,
    read_trec_eval,
    ("encoding",),
    example="bm25.eval.txt",
)


# -- pytrec_eval's dumps


def _recognise_dump(source: Source) -> float:
    rows = rows_of_numbers(source.document_or_none())
    return SURE if rows and all(map(is_measure, next(iter(rows.values())))) else 0.0


def _read_pytrec_eval(source: Source) -> list[ScoreFile]:
    """Read the result of pytrec_eval's evaluator as JSON: ``{query: {measure: value}}``."""
    rows = rows_of_numbers(check_object(source.document, "the document"))
    if not rows:
        raise source.error("expected {query: {measure: value}} with numbers as values")
    queries = {query: row for query, row in rows.items() if query != _SUMMARY}
    if not queries:
        raise source.error("the file contains only means over all queries")
    names = dict.fromkeys(name for row in queries.values() for name in row)
    absent = [name for name in names if any(name not in row for row in queries.values())]
    notes = [f"some queries have no {named(absent)}"] if absent else []
    if len(queries) < len(rows):
        notes.append(f"the row {_SUMMARY!r} is left out")
    every = ({"query_id": query, **row} for query, row in queries.items())
    return [_score_file(source.stem, every, notes)]


PYTREC_EVAL = Reader(
    "pytrec_eval",
    "pytrec_eval's results as JSON: {query: {measure: value}}",
    _recognise_dump,
    _read_pytrec_eval,
    ("encoding",),
    example="bm25.eval.json",
)

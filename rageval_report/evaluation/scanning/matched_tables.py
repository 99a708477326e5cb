"""Scanned tables whose ids differ, matched by a column of texts, as evaluations in memory are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rageval_report._registry import import_arrow_module, import_pyarrow
from rageval_report.evaluation.scanning.description import DescribedScan
from rageval_report.evaluation.scanning.group_labels import GroupColumn
from rageval_report.evaluation.scanning.part_states import id_order
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.engines.matching import MatchedSide, MatchingEngine
from rageval_report.scale.match_keys import MatchKeys
from rageval_report.scale.repeated_keys import number_repeats
from rageval_report.scores.text_matching import lone_id, text_column


def matching_engine(on: str | None, tables: Sequence[DescribedScan], engine: Engine) -> Engine:
    """What puts tables side by side: the same engine if their ids match the queries.

    The texts of each table are read once, and again if some occur several times.

    Parameters
    ----------
    on : str, optional
        The column of texts, as in `rageval_report.compare`.
    tables : sequence of DescribedScan
        The tables, in the order in which they are put side by side. That no id occurs twice in one
        of them has been checked.
    engine : Engine
        What reads them.

    Raises
    ------
    UnknownNameError
        If a table has no such column.
    """
    if on is None:
        return engine
    columns = [_group_column(described, on) for described in tables]
    sides = [
        _matched_side(described, column, place)
        for place, (described, column) in enumerate(zip(tables, columns, strict=True))
    ]
    return MatchingEngine(engine, on, sides)


def matched_pairs(
    on: str | None, baseline: DescribedScan, candidates: Sequence[DescribedScan], engine: Engine
) -> list[Engine]:
    """For each candidate what puts the baseline and it side by side, as `matching_engine`.

    Parameters
    ----------
    on : str, optional
        The column of texts.
    baseline : DescribedScan
        The first table of each pair.
    candidates : sequence of DescribedScan
        The second ones.
    engine : Engine
        What reads them. Ids that occur twice are an error.

    Raises
    ------
    UnknownNameError
        If a table has no such column.
    """
    if on is None:
        return [engine] * len(candidates)
    column, *columns = [_group_column(described, on) for described in (baseline, *candidates)]
    for described in (baseline, *candidates):
        # Nothing else looks at the ids, if texts take their place.
        described.table.check_ids(engine.fold(described.table, id_order, []))
    first = _matched_side(baseline, column, 0)
    return [
        MatchingEngine(engine, on, (first, _matched_side(candidate, own, 1)))
        for candidate, own in zip(candidates, columns, strict=True)
    ]


def matched_by(engine: Engine) -> str | None:
    """The column of texts by which an engine matches queries; None if it does so by their ids."""
    return engine.on if isinstance(engine, MatchingEngine) else None


def _group_column(described: DescribedScan, on: str) -> GroupColumn:
    return GroupColumn.of(described, text_column(described.head, on))


def _matched_side(described: DescribedScan, column: GroupColumn, place: int) -> MatchedSide:
    side = MatchedSide(MatchKeys(column.column, column.kind, place), described.table.pieces)
    return MatchedSide(side.keys, number_repeats(side.of(described.table)))


# -- the names of queries that the first table lacks


def ids_of_lone_queries(
    baseline: DescribedScan, name: str, ids: Collection[str]
) -> tuple[str, ...]:
    """The names of queries whose text the first table lacks, as in memory.

    Parameters
    ----------
    baseline : DescribedScan
        The first table, whose ids are read once.
    name : str
        The pipeline that has the queries.
    ids : collection of str
        Their ids there.

    Returns
    -------
    tuple of str
        In their order: an id that the first table has too with the name of the pipeline before it.
    """
    taken = ids_of_table_among(baseline, ids)
    return tuple(lone_id(name, own, taken=own in taken) for own in ids)


def ids_of_table_among(described: DescribedScan, ids: Iterable[str]) -> frozenset[str]:
    """The ids of a table that are among some ids; they are read on this machine.

    Parameters
    ----------
    described : DescribedScan
        The table.
    ids : iterable of str
        The ids to look for.
    """
    arrow, compute = import_pyarrow(), import_arrow_module("compute")
    chosen = arrow.array([*ids], type=arrow.large_string())
    if not len(chosen):
        return frozenset()
    parts = (rows.ids for rows in described.table.rows(()))
    known = (part.filter(compute.is_in(part, value_set=chosen)) for part in parts)
    return frozenset(query_id for some in known for query_id in some.to_pylist())

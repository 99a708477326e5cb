"""The queries on which a scanned candidate is worse, or better: the largest changes, or all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rageval_report.analysis.arguments import check_count
from rageval_report.analysis.comparing.answer_outcomes import (
    check_two_names,
    notes_on_notions,
    notions_of,
    outcome_columns,
    outcome_frame,
)
from rageval_report.analysis.comparing.comparison import merge_details
from rageval_report.errors import AlignmentError, DataError
from rageval_report.results import QueryFrame
from rageval_report.scale.answers import count_combinations
from rageval_report.scale.paired import (
    ScannedPairing,
    difference,
    lone_ids,
    range_of,
    side_by_side,
)
from rageval_report.scale.tables import ScannedTable, to_pandas
from rageval_report.scores import Correct, Metric, join_details
from rageval_report.scores.correct_notion import CorrectNotion, answers_by

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.scale.counted import LazyTable

MOST_CHANGED = 1000
_DIFFERENCE = "difference"


def changed_queries(
    pairing: ScannedPairing,
    pair: tuple[Metric, Metric],
    *,
    better: bool,
    k: int = MOST_CHANGED,
    path: str | Path | None = None,
) -> pd.DataFrame:
    """The queries that changed in one direction, the largest change first, then by id.

    Parameters
    ----------
    pairing : ScannedPairing
        The pipelines.
    pair : (Metric, Metric)
        The metric as the baseline and as the candidate knows it.
    better : bool
        Whether the candidate is better on them, or worse.
    k : int
        How many are returned, with their details.
    path : str or Path, optional
        A Parquet file for all of them, without details.

    Returns
    -------
    DataFrame, index query_id
        As `Comparison.regressions`. ``attrs["n"]`` is the number of all.
    """
    check_count("k", k)
    names = pairing.before.name, pairing.after.name
    scores = [f"{name}_{pair[0].name}" for name in names]
    rows = _changed_rows(pairing, pair, scores, better=better)
    if path is not None:
        write_rows(rows, path)
    found = to_pandas(rows.head(k)).set_index("query_id")
    sides = (pairing.before, pairing.after)
    before, after = (_details_of(table, found.index) for table in sides)
    details = merge_details(names, before, after, found.index)
    frame = QueryFrame(join_details(found.astype("float64"), details))
    frame.attrs["n"] = len(found) if len(found) < k else _count(rows)
    return frame


def _changed_rows(
    pairing: ScannedPairing, pair: tuple[Metric, Metric], names: list[str], *, better: bool
) -> LazyTable:
    import narwhals as nw

    tables = [pairing.before, pairing.after]
    ranges = [range_of(table, metric, "drop") for table, metric in zip(tables, pair, strict=True)]
    joined = side_by_side(tables, [pair])
    before, after = nw.col("0_0"), nw.col("0_1")
    joined = joined.with_columns(difference(before, after, ranges).alias(_DIFFERENCE))
    change = nw.col(_DIFFERENCE)
    rises = pair[0].greater_is_better == better
    return (
        joined.filter(change > 0 if rises else change < 0)
        .select("query_id", before.alias(names[0]), after.alias(names[1]), change)
        .sort(_DIFFERENCE, "query_id", descending=[rises, False])
    )


def _count(rows: LazyTable) -> int:
    import narwhals as nw

    return int(to_pandas(rows.select(nw.len().alias("n")))["n"].iloc[0])


def _details_of(table: ScannedTable, ids: pd.Index) -> pd.DataFrame:
    """The details of some queries, in this order."""
    import narwhals as nw

    condition = nw.col("query_id").is_in(ids.tolist())
    rows = table.first_rows(condition, None, max(1, len(ids)))
    return rows[[name for name in rows.columns if name not in table.metrics]].reindex(ids)


# -- which queries are answered correctly


def outcomes_of_scans(
    before: ScannedTable,
    after: ScannedTable,
    correct: Correct | None = None,
    *,
    k: int = MOST_CHANGED,
    path: str | Path | None = None,
) -> pd.DataFrame:
    """The ids of the queries that both, neither, or only one of two pipelines answers correctly.

    Parameters
    ----------
    before, after : ScannedTable
        The pipelines, of one engine.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is, but a function.
    k : int
        The most ids of each column, in their order.
    path : str or Path, optional
        A Parquet file with the outcome of every common query: ``query_id`` and ``outcome``.

    Returns
    -------
    DataFrame
        As `outcome_table`; ``attrs["n"]`` is the number of all queries of each column.
    """
    import narwhals as nw

    check_count("k", k)
    tables = (before, after)
    names = check_two_names(before.head, after.head)
    notions = notions_of((before.head, after.head), correct)
    sides = [_answers(table, notion) for table, notion in zip(tables, notions, strict=True)]
    rows = sides[0].join(sides[1].rename({"is_right": "other"}), on="query_id", how="inner")
    right, other, columns = nw.col("is_right"), nw.col("other"), outcome_columns(*names)
    # Unknown is 2, and decides before the rest.
    outcome = nw.when((right > 1) | (other > 1)).then(nw.lit(columns[4]))
    for place, (ours, theirs) in enumerate(((1, 1), (0, 0), (1, 0), (0, 1))):
        outcome = outcome.when((right == ours) & (other == theirs)).then(nw.lit(columns[place]))
    rows = rows.select("query_id", outcome.alias("outcome"))
    if path is not None:
        write_rows(rows.sort("query_id"), path)
    counted = to_pandas(rows.group_by("outcome").agg(nw.len().alias("n")))
    counts = dict.fromkeys(columns, 0) | dict(counted.itertuples(index=False, name=None))
    n_common = sum(counts.values())
    if not n_common:
        raise AlignmentError(f"{names[0]!r} and {names[1]!r} share no query id")
    ids = {name: _first_ids(rows.filter(nw.col("outcome") == name), k) for name in columns[:5]}
    for column, own, twin in zip(columns[5:], tables, tables[::-1], strict=True):
        counts[column] = own.n_rows - n_common
        ids[column] = lone_ids(own, twin, k) if counts[column] else []
    notes = notes_on_notions((before.head, after.head), notions)
    table = outcome_frame(ids, counts, notes=notes)
    table.attrs["engine"] = before.engine
    return table


def _answers(table: ScannedTable, notion: CorrectNotion) -> LazyTable:
    """Whether each query is answered correctly, as 1 or 0; 2 if that is not known."""
    import narwhals as nw

    combined = count_combinations(table, notion)
    answers = answers_by(combined.rows, notion)
    is_right = combined.condition(answers.fillna(value=False).to_numpy(bool))
    is_unknown = combined.condition(answers.isna().to_numpy())
    answer = nw.when(is_unknown).then(2).when(is_right).then(1).otherwise(0)
    return table.frame.select("query_id", answer.alias("is_right"))


def _first_ids(rows: LazyTable, k: int) -> list[str]:
    return [str(own) for own in to_pandas(rows.sort("query_id").head(k))["query_id"]]


# -- files


def write_rows(rows: LazyTable, path: str | Path) -> None:
    """Write rows to a Parquet file by the engine's own writer; half a file is never left behind.

    Raises
    ------
    DataError
        If the file has another suffix, or the engine writes folders only.
    """
    target = Path(path)
    if target.suffix != ".parquet":
        raise DataError(f"path must be a .parquet file; got {target.name!r}")
    with _new_file(target) as file:
        rows.sink_parquet(file)


@contextmanager
def _new_file(target: Path) -> Iterator[Path]:
    """A name beside the target, which becomes it if nothing fails."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as folder:
        file = Path(folder, target.name)
        yield file
        if not file.is_file():
            raise DataError(f"{target}: this engine writes folders only; leave out path=")
        file.replace(target)

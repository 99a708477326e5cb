"""Pictures and the page of a scanned pipeline: all queries counted, the worst ones listed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from rageval_report.analysis.breakdown import failure_causes
from rageval_report.analysis.scanned import scans_among
from rageval_report.plots import plot_named
from rageval_report.reports.build import EvaluationParts, page_of_parts
from rageval_report.reports.common_sections import check_longest, slice_columns_of
from rageval_report.reports.parts import Section, cutoff_of, setup_table
from rageval_report.results import Result
from rageval_report.scale.answers import OF_RETRIEVAL
from rageval_report.scale.gated import MOST_WORST
from rageval_report.scale.tables import Head, ScannedTable, needs_memory
from rageval_report.scores import Correct, Scored
from rageval_report.scores.correct_notion import CorrectNotion, find_notion
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.plots.kinds import Plot
    from rageval_report.reports.report import Report
    from rageval_report.scale.scan import EvaluationScan

# Plots of the counts of one metric at a time, and of tables.
_DRAWN_FROM_COUNTS = ("distribution", "ecdf", "box", "forest", "slices")
# Texts of the page of a large table are cut, so that it stays below five megabytes.
_LONGEST_TEXT = 300


@dataclass(frozen=True, eq=False)
class DrawnScan:
    """What plots of one metric at a time use of a scan, which has the other attributes."""

    scan: EvaluationScan

    def __getattr__(self, name: str) -> Any:
        return getattr(self.scan, name)

    @property
    def scores(self) -> DrawnScan:
        """The scores, metric by metric: this object itself."""
        return self

    def __len__(self) -> int:
        return self.scan.n_queries

    def __getitem__(self, metric: str) -> pd.Series:
        return pd.Series(self.scan.table.columns()[metric].listed("this plot"))

    def counted(self, metric: str) -> tuple[FloatArray, FloatArray]:
        """The distinct scores of a metric in ascending order, and how often each occurs."""
        column = self.scan.table.columns()[metric]
        return column.values, column.counts


def plot_of_scan(
    scan: EvaluationScan, kind: str | Plot, *args: Any, ax: Axes | None = None, **options: Any
) -> Axes:
    """Draw a scan; see `EvaluationScan.plot`."""
    entry = plot_named(kind)
    others = options.get("other")
    if entry.name == "forest" and others is not None:
        compared = scan.comparative_summary(options.pop("other"), metrics=next(iter(args), None))
        result: Axes = compared.plot(entry, ax=ax, **options)
        return result
    if entry.name not in _DRAWN_FROM_COUNTS:
        raise needs_memory(f"the plot {entry.name!r}", scan.table)
    if others is not None:
        listed = others if isinstance(others, list | tuple) else [others]
        scans = scans_among((scan, *listed), f"plot({entry.name!r})")[1:]
        options["other"] = [DrawnScan(other) for other in scans]
    drawn: Axes = entry(DrawnScan(scan), *args, ax=ax, **options)
    return drawn


def page_of_scan(
    scan: EvaluationScan,
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    k: int | None = None,
    pictures: bool = True,
    longest_text: int | None = None,
    metrics: str | Iterable[str] | None = None,
    **settings: Any,
) -> Report:
    """The page of a scan; see `EvaluationScan.report`."""
    check_longest(longest_text)
    table = scan.table
    notion = find_notion(table.head, correct)
    summary = scan.evaluation_report(metrics=metrics, correct=notion, **settings)
    shown = worst_rows(table, summary.frame["metric"])
    is_part = len(shown.scores) < table.n_rows
    slice_settings = {name: value for name, value in settings.items() if name != "percentiles"}
    parts = EvaluationParts(
        summary,
        notion,
        _causes_of(scan, shown, notion, k, summary.settings["confidence_level"]),
        {
            column: scan.slices(column, metrics, **slice_settings)
            for column in slice_columns_of([table.head], by)
        },
        _origin(table),
        table.n_rows,
    )
    page = page_of_parts(
        shown,
        parts,
        cast("Scored", DrawnScan(scan)) if pictures else None,
        title=title,
        longest_text=longest_text or (_LONGEST_TEXT if is_part else None),
    )
    if not is_part:
        return page
    note = (
        f"the page shows {len(shown.scores):,} of {table.n_rows:,} queries: the {MOST_WORST} worst "
        "on each metric; tables and pictures are of all"
    )
    return replace(page, notes=(note, *page.notes), some_queries=f"{note[0].upper()}{note[1:]}.")


def worst_rows(table: ScannedTable, metrics: Iterable[str]) -> Head:
    """The worst queries of each metric as an evaluation; all of a small table."""
    if table.n_rows <= MOST_WORST:
        rows = table.first_rows(None, None, None)
    else:
        rows = pd.concat(
            [
                table.first_rows(
                    None, name, MOST_WORST, descending=not table.metrics[name].greater_is_better
                )
                for name in metrics
            ]
        )
        rows = rows[~rows.index.duplicated()]
    return table.with_rows(rows)


def _causes_of(
    scan: EvaluationScan, shown: Head, notion: CorrectNotion | None, k: int | None, level: Any
) -> tuple[pd.Series, Result] | None:
    """The causes of the queries that are shown, and the table of all; None without the metrics."""
    cutoff = cutoff_of(shown, k)
    known = {metric.known_as for metric in shown.metrics.values()}
    has_retrieval = {f"{stem}@{cutoff}" for stem in OF_RETRIEVAL} & known
    if notion is None or callable(notion.rule) or not (has_retrieval or k is not None):
        return None
    causes = failure_causes(shown, k=cutoff, correct=notion)
    return causes, scan.breakdown(k=cutoff, confidence_level=level, correct=notion)


def _origin(table: ScannedTable) -> Section:
    """Where the pipeline was read, and how it was set up."""
    place = {"pipeline": [table.name], "queries": [table.n_rows], "from": [table.opened.place]}
    read = Result("What was read", pd.DataFrame(place), {"engine": table.engine})
    setup = setup_table([table.head])
    return Section("made", "How it was made", (read, *([setup] if setup else [])))

"""The metrics that are known by name: the rows of `metrics.csv`, in the order of reports.

To add one, add a row: its description, and if it needs no judge, the function that computes it and
the view of the records that this function takes. From outside the package use
``METRICS.add(name, Metric(...))``, or an entry point of the group ``rageval_report.metrics``.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import cast

from rageval_report.scores.metric import METRICS, Kind, Metric

_PACKAGE = __name__.partition(".")[0]


def _metric_of_row(row: dict[str, str]) -> Metric:
    bounds = tuple(map(float, row["bounds"].split()))
    return Metric(
        row["name"],
        title=row["title"],
        group=row["group"],
        kind=cast("Kind", row["kind"]),
        greater_is_better=row["better"] == "higher",
        bounds=(bounds[0], bounds[1]) if bounds else None,
        description=row["description"],
        source=row["source"],
        aliases=tuple(row["aliases"].split()),
        compute=f"{_PACKAGE}.{row['compute']}" if row["compute"] else None,
        needs=row["needs"],
        in_family=row["in_family"] != "no",
    )


with Path(__file__).with_name("metrics.csv").open(encoding="utf-8", newline="") as _file:
    for _row in csv.DictReader(_file):
        METRICS.add(_row["name"], _metric_of_row(_row))

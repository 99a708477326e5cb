"""What a page calls its metrics and pipelines: one name each, everywhere on the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import pandas as pd

from rageval_report.reports.tables import TextColumn, TextTable
from rageval_report.scores import METRICS, Metric, Scored
from rageval_report.scores.names import ShortNames, shorten_names


@dataclass(frozen=True)
class Wording:
    """The names on a page."""

    labels: Mapping[str, str] = field(default_factory=dict)
    names: ShortNames = field(default_factory=lambda: shorten_names(()))

    @classmethod
    def of(cls, runs: Iterable[Scored], metrics: Iterable[Metric]) -> Wording:
        """The names of these pipelines and metrics."""
        titles = {metric.name: metric.title for metric in metrics}
        counts = Counter(titles.values())
        labels = {name: title if counts[title] == 1 else name for name, title in titles.items()}
        return cls(labels, shorten_names(run.name for run in runs))

    def sentence(self, text: str) -> str:
        """A sentence with the names of the page."""
        return self.with_titles(self.names.in_text(text))

    def with_titles(self, text: str) -> str:
        """A sentence with the titles of metrics in place of their names; pipelines as they are."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self.labels[match[0]], text)

    def table(self, table: TextTable) -> TextTable:
        """A table with the titles of metrics in place of their names."""
        columns = tuple(self._column(column) for column in table.columns)
        groups = tuple(
            replace(group, heading=self.labels.get(group.heading, group.heading))
            for group in table.groups
        )
        return replace(table, columns=columns, groups=groups)

    def frame(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame of a result with the titles of metrics in place of their names."""
        if "metric" not in frame.columns:
            return frame
        return frame.assign(metric=[self.labels.get(name, name) for name in frame["metric"]])

    def _column(self, column: TextColumn) -> TextColumn:
        if column.heading != "metric":
            return column
        return replace(column, cells=tuple(self.labels.get(cell, cell) for cell in column.cells))

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        named = [
            name
            for name, title in self.labels.items()
            if title.lower() != name.lower() or not name.isalpha() or name in METRICS
        ]
        if not named:
            return None
        choices = "|".join(map(re.escape, sorted(named, key=len, reverse=True)))
        return re.compile(rf"(?<![\w@.'\"])(?:{choices})(?![\w@])")


NO_WORDING = Wording()
"""Names as they are."""

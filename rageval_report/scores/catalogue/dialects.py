"""Dialects: the names and rules of other evaluation systems, with which their numbers come out.

To add one, add its rules to `dialects.toml`, and its metrics to `dialects.csv`. A metric whose
definition differs from the one of the catalogue names the function that computes it.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, cast, get_args

from rageval_report._registry import Registry
from rageval_report.errors import DataError, check_choice
from rageval_report.scores.metric import METRICS, Catalogue, Metric, normalise_name, title_of

DialectName = Literal["datapizza", "haystack", "ragbench", "wfgy"]
DialectPercentiles = Literal["linear", "exclusive", "upper"]
DIALECT_NAMES: tuple[DialectName, ...] = get_args(DialectName)
DIALECT = "dialect"
"""The key of an evaluation's configuration, and of the settings of its reports."""

# The lowest grade above 0: gold of any grade is relevant.
ANY_GRADE = 5e-324

_K = "{k}"


@dataclass(frozen=True)
class DialectMetric:
    """A metric as a system calls it and computes it: a row of `dialects.csv`."""

    name: str  # {k} stands for the cutoff
    metric: str  # the metric of the catalogue that it is, or that is nearest
    cutoffs: tuple[int, ...]  # of the system's own configuration
    is_default: bool  # computed if no metric is named and the fields of the records allow it
    compute: str | None  # the function, if the definition differs from that of the catalogue
    needs: str
    bounds: tuple[float, float] | None

    @classmethod
    def of_row(cls, row: Mapping[str, str]) -> DialectMetric:
        """The metric that a row describes."""
        return cls(
            row["name"],
            row["metric"],
            tuple(map(int, row["cutoffs"].split())),
            row["is_default"] != "no",
            f"rageval_report.{row['compute']}" if row["compute"] else None,
            row["needs"],
            None if row["bounds"] == "none" else (0.0, 1.0),
        )

    @property
    def has_cutoff(self) -> bool:
        """Whether the name contains a cutoff."""
        return _K in self.name

    def cutoff_in(self, name: str) -> int | None:
        """The cutoff in a name of this metric, 0 if it has none; None for any other name."""
        pattern = re.escape(self.name).replace(re.escape(_K), r"(\d{1,9})")
        match = re.fullmatch(pattern, name)
        return None if match is None else int(match[1]) if self.has_cutoff else 0

    def entry(self, k: int, label: str) -> Metric:
        """The description of the metric with a cutoff, 0 for none, by the name of the system."""
        known = METRICS[self.metric].at(k) if k else METRICS[self.metric]
        column = normalise_name(self.name.replace(_K, str(k)))
        entry = replace(known, name=column, title=f"{title_of(column)} ({label})", aliases=())
        if self.compute is None:
            return entry
        kind = entry.kind if self.bounds else "real"
        needs = self.needs or entry.needs
        return replace(entry, compute=self.compute, needs=needs, kind=kind, bounds=self.bounds)


_PLACE = Path(__file__)
with _PLACE.with_suffix(".csv").open(encoding="utf-8", newline="") as _file:
    _ROWS = list(csv.DictReader(_file))


@dataclass(frozen=True)
class Dialect:
    """The rules of a system; a rule that is None is left to the caller."""

    name: DialectName
    system: str  # the system, and the version whose rules these are
    duplicates: Literal["error", "best", "keep"] | None = "keep"
    no_relevant: Literal["skip", "zero"] | None = None
    level: Literal["auto", "chunk", "document"] | None = None
    ties: Literal["docid", "input", "error"] | None = None
    relevance_level: float = ANY_GRADE
    percentile_method: DialectPercentiles = "linear"
    judges_unanswerable: bool = True  # the gold of a question without an answer counts all the same
    rewards_refusals: bool = False  # a right refusal is a right answer for exact match and the like
    denominators: str = ""  # what the metrics divide by, for the note
    failed: str = "a failed query is unscored"

    @cached_property
    def metrics(self) -> list[DialectMetric]:
        """Its metrics."""
        return [DialectMetric.of_row(row) for row in _ROWS if row["dialect"] == self.name]

    @property
    def note(self) -> str:
        """What the dialect fixes, in a sentence."""
        names = ("duplicates", "no_relevant", "level", "ties", "percentile_method")
        rules = {name.removesuffix("_method"): getattr(self, name) for name in names}
        rules["percentiles"] = rules.pop("percentile")
        fixed = ", ".join(f"{name}={rule}" for name, rule in rules.items() if rule is not None)
        return (
            f"dialect: names and rules of {self.system}: {fixed}; {self.denominators}; gold of any "
            f"grade above 0 is relevant; {self.failed}"
        )

    def find(self, name: str) -> Metric | None:
        """The description of a metric by the system's name of it, or by one of the catalogue."""
        spelled = normalise_name(name)
        for metric in self.metrics:
            for candidate in (name.strip().lower(), spelled):
                k = metric.cutoff_in(candidate)
                if k is not None:
                    return self._entry(metric, k)
            # The column of such a metric: recall_at_5 is recall@5 in normal form.
            _, at, cutoff = spelled.partition("@")
            column = normalise_name(metric.name.replace(_K, cutoff))
            if at and metric.has_cutoff and column == spelled:
                return self._entry(metric, int(cutoff))
        known = Catalogue().find(name)
        stem, _, cutoff = ("" if known is None else known.known_as).partition("@")
        own = (m for m in self.metrics if m.metric == stem and m.has_cutoff == bool(cutoff))
        return next((self._entry(metric, int(cutoff or 0)) for metric in own), None)

    def _entry(self, metric: DialectMetric, k: int) -> Metric | None:
        return metric.entry(k, self.name) if k or not metric.has_cutoff else None

    def names(self) -> list[str]:
        """The names of its metrics, with ``{k}`` for a cutoff."""
        return [metric.name for metric in self.metrics]

    def default_names(self) -> list[str]:
        """The metrics of the system's own configuration, with its cutoffs."""
        return [
            metric.name.replace(_K, str(k))
            for metric in self.metrics
            if metric.is_default
            for k in (metric.cutoffs or (0,))
        ]

    def settle(self, **options: object) -> dict[str, object]:
        """The options of a call, completed by the rules; an option must not contradict a rule."""
        settled = dict(options)
        for option, value in options.items():
            rule = getattr(self, option)
            if rule is None:
                continue
            if value is not None and value != rule:
                raise DataError(
                    f"{option}={_show(value)} contradicts dialect={_show(self.name)}, which has "
                    f"{option}={_show(rule)}; leave out one of the two"
                )
            settled[option] = rule
        return settled


def _show(value: object) -> str:
    if value == ANY_GRADE:
        return "any grade above 0"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


DIALECTS: Registry[Dialect] = Registry(
    DIALECT,
    {
        name: Dialect(cast("DialectName", name), **rules)
        for name, rules in tomllib.loads(
            _PLACE.with_suffix(".toml").read_text(encoding="utf-8")
        ).items()
    },
)
DATAPIZZA, HAYSTACK, RAGBENCH, WFGY = (DIALECTS[name] for name in DIALECT_NAMES)


def dialect_of_name(name: DialectName | None) -> Dialect | None:
    """The dialect of that name; None for None."""
    if name is None:
        return None
    check_choice(DIALECT, name, tuple(DIALECTS))
    return DIALECTS[name]


def recorded_dialect(evaluation: object) -> Dialect | None:
    """The dialect in which an evaluation was scored or read, from its configuration."""
    config = getattr(evaluation, "config", None)
    # "dialect" in a configuration of somebody's own may be that of an SQL database.
    name = config.get(DIALECT) if isinstance(config, Mapping) else None
    return DIALECTS[name] if isinstance(name, str) and name in DIALECTS else None


def dialect_settings(evaluations: Iterable[object]) -> dict[str, str]:
    """The setting of a result that the dialects of evaluations are; empty if none has one."""
    rules = [recorded_dialect(evaluation) for evaluation in evaluations]
    names = ["none" if dialect is None else dialect.name for dialect in rules]
    if set(names) <= {"none"}:
        return {}
    return {DIALECT: names[0] if len(set(names)) == 1 else ",".join(names)}


def percentile_method(evaluation: object) -> DialectPercentiles:
    """The rule of percentiles of an evaluation: that of its dialect, or "linear"."""
    dialect = recorded_dialect(evaluation)
    return "linear" if dialect is None else dialect.percentile_method


def note_on_percentiles(evaluation: object, method: DialectPercentiles) -> tuple[str, ...]:
    """A note on the rule of percentiles, unless it is the usual one of an evaluation of ours."""
    dialect = recorded_dialect(evaluation)
    if dialect is None:
        return () if method == "linear" else (f"percentiles: {method}",)
    rule = dialect.percentile_method
    is_own = "the rule" if rule == method else f"as this call says; {rule} is the rule"
    return (f'percentiles: {method}, {is_own} of dialect="{dialect.name}"',)


def note_on_dialects(evaluations: Iterable[object]) -> tuple[str, ...]:
    """A note if evaluations that are compared were scored by different rules."""
    by_dialect: dict[str, list[str]] = {}
    for evaluation in evaluations:
        dialect = recorded_dialect(evaluation)
        name = "no dialect" if dialect is None else f'dialect="{dialect.name}"'
        by_dialect.setdefault(name, []).append(str(getattr(evaluation, "name", evaluation)))
    if len(by_dialect) < 2:
        return ()
    parts = [f"{', '.join(map(repr, names))} with {name}" for name, names in by_dialect.items()]
    return (
        f"the pipelines were not scored by the same rules: {'; '.join(parts)}. A difference may "
        "come from the rules alone; score all of them with one dialect",
    )

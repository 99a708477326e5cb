"""The subjects of plots, checked, and the metrics that a caller means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots.canvas import interval_text, level_text
from rageval_report.plots.options import MetricNames
from rageval_report.results import Result
from rageval_report.scores import Catalogue, Metric, resolver
from rageval_report.scores.names import ShortNames, shorten_names
from rageval_report.types import FloatArray

if TYPE_CHECKING:  # the results that plots draw, which stand above this room
    from rageval_report.analysis.calibrate import Calibration as Calibration
    from rageval_report.analysis.compare import Comparison as Comparison
    from rageval_report.analysis.history import History as History
    from rageval_report.analysis.monitor import Monitoring as Monitoring
    from rageval_report.analysis.noise import Variance as Variance
    from rageval_report.analysis.objectives import Figure as Figure
    from rageval_report.analysis.pairing import Pairing as Pairing
    from rageval_report.analysis.rank import Ranking as Ranking
    from rageval_report.analysis.weighted import ParetoFront as ParetoFront

# More rows would not be readable.
MOST_ROWS = 60


# A pipeline's scores, in memory or of a scan, which knows how often each score occurs instead.
Evaluation: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class ScoreCounts:
    """The scores of a metric that a plot shows."""

    levels: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, scores: FloatArray) -> ScoreCounts:
        """The counts of scores, none of which is NaN."""
        levels, counts = np.unique(scores, return_counts=True)
        return cls(levels, counts.astype(np.float64))

    @property
    def n(self) -> int:
        """The number of scored queries."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean score."""
        return float((self.levels * self.counts).sum()) / self.n

    def share_at_most(self, score: float) -> float:
        """The share of queries with this score or less."""
        return float(self.counts[self.levels <= score].sum()) / self.n


def result_with(subject: object, attribute: str, what: str) -> Any:
    """The subject, if it is a result with this attribute; `DataError` says what a plot draws."""
    if isinstance(subject, Result) and hasattr(subject, attribute):
        return subject
    raise DataError(f"this plot draws {what}; got {type(subject).__name__}")


def evaluation_of(subject: object) -> Evaluation:
    """The subject, if it is an evaluation; else `DataError`."""
    if isinstance(subject, Result) or not hasattr(subject, "metrics"):
        raise DataError(
            "this plot draws a pipeline's scores (RAGPipelineEvaluation); got "
            f"{type(subject).__name__}"
        )
    return subject


def comparison_of(subject: Any, other: object, metrics: MetricNames = None) -> Comparison:
    """The subject, if it is a comparison; an evaluation against another; else `DataError`."""
    if isinstance(subject, Result) or not hasattr(subject, "comparative_summary"):
        what = "a comparison: compare(baseline, candidate)"
        comparison: Comparison = result_with(subject, "pairings", what)
        return comparison
    if other is None:
        raise DataError(
            "this plot draws two pipelines: pass the second one as other=, or draw "
            "compare(baseline, candidate)"
        )
    summary = subject.comparative_summary(other, metrics=metrics)
    return cast("Comparison", summary)


def slices_of(subject: Any, by: str | None, metrics: MetricNames) -> Result:
    """The subject, if it is a result of slices; else its slices by a column."""
    if isinstance(subject, Result) and "by" in subject.settings:
        return subject
    if not hasattr(subject, "slices"):
        raise DataError(
            "this plot draws the result of slices, such as evaluation.slices('topic'); got "
            f"{type(subject).__name__}"
        )
    if by is None:
        raise DataError("slices need a column of the details, such as by='topic'")
    slices: Result = subject.slices(by, metrics)
    return slices


def select_metrics(known: Mapping[str, Metric], metrics: MetricNames) -> list[Metric]:
    """The metrics by any of their names; all of them if none is named."""
    if metrics is None:
        return list(known.values())
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    resolve = resolver(known)
    return [known[resolve(name)] for name in names]


def single_metric(known: Mapping[str, Metric], metric: str | None) -> Metric:
    """The metric by any of its names; the only one if none is named."""
    if metric is None and len(known) > 1:
        raise DataError(f"metric must name one of several: {', '.join(known)}")
    return select_metrics(known, metric)[0]


def compared_metrics(comparison: Comparison) -> dict[str, Metric]:
    """The metrics of a comparison, in the order of its frame."""
    known = {ours.name: ours for pair in comparison.pairings for ours, _ in pair.metrics}
    return {name: known[name] for name in dict.fromkeys(comparison.frame["metric"])}


def metrics_of_frame(frame: pd.DataFrame) -> dict[str, Metric]:
    """The metrics of a tidy frame: as the catalogue knows their names, with the frame's columns."""
    catalogue = Catalogue()
    rows = frame.drop_duplicates("metric").set_index("metric")
    return {str(name): _metric_of(str(name), row, catalogue) for name, row in rows.iterrows()}


def _metric_of(name: str, row: pd.Series, catalogue: Catalogue) -> Metric:
    known = catalogue.find(name) or Metric(name)
    fields = {field: row[field] for field in ("title", "kind") if field in row}
    if "greater_is_better" in row:
        fields["greater_is_better"] = bool(row["greater_is_better"])
    shares = fields.get("kind") in ("binary", "proportion")
    bounds = known.bounds or ((0.0, 1.0) if shares else None)
    return replace(known, **{"name": name, "bounds": bounds, **fields})


def comparison_title(comparison: Comparison) -> str:
    """The title of a comparison: its candidate, or "Candidates", against the baseline."""
    if len({pair.baseline.name for pair in comparison.pairings}) > 1:
        return comparison.title  # of the effects of several settings
    baseline, *names = names_of_comparison(comparison).short
    return f"{names[0] if len(names) == 1 else 'Candidates'} against {baseline}"


def names_of_comparison(comparison: Comparison) -> ShortNames:
    """Short names of the baseline and of the candidates."""
    runs = [comparison.pairings[0].baseline, *(pair.candidate for pair in comparison.pairings)]
    return shorten_names(run.name for run in runs)


def names_of_pair(pair: Pairing) -> ShortNames:
    """Short names of a baseline and a candidate."""
    return shorten_names([pair.baseline.name, pair.candidate.name])


def fitting_metrics(
    comparison: Comparison, metrics: list[Metric], *, named: bool
) -> tuple[list[Metric], list[Metric]]:
    """The metrics whose rows, one per candidate, have room in a picture, and the others."""
    most = len(metrics) if named else max(1, MOST_ROWS // len(comparison.pairings))
    return metrics[:most], metrics[most:]


def margin_of(comparison: Comparison, metric: Metric) -> float | None:
    """The margin of equivalence for a metric, if the comparison has one."""
    margin = comparison.settings.get("margin")
    value = margin.get(metric.name) if isinstance(margin, Mapping) else margin
    return None if value is None else float(str(value))


def select_candidate(comparison: Comparison, candidate: str | None) -> Pairing:
    """The pair of the named candidate; the only one if none is named."""
    by_name = {pair.candidate.name: pair for pair in comparison.pairings}
    if candidate is None and len(by_name) > 1:
        raise DataError(f"candidate must name one of several candidates: {', '.join(by_name)}")
    if candidate is not None and candidate not in by_name:
        raise UnknownNameError("candidate", candidate, by_name)
    return by_name[candidate] if candidate is not None else comparison.pairings[0]


def scored_values(evaluation: Evaluation, metric: Metric) -> FloatArray:
    """The scores of the scored queries."""
    counted_scores(evaluation, metric)  # raises if there are none
    values = evaluation.scores[metric.name].to_numpy(dtype=np.float64)
    present: FloatArray = values[~np.isnan(values)]
    return present


def is_scored(evaluation: Evaluation, metric: Metric) -> bool:
    """Whether at least one query is scored."""
    if hasattr(evaluation, "counted"):
        return bool(evaluation.counted(metric.name)[0].size)
    return bool(evaluation.scores[metric.name].notna().any())


def counted_scores(evaluation: Evaluation, metric: Metric) -> ScoreCounts:
    """The scores of the scored queries, counted."""
    if hasattr(evaluation, "counted"):
        counted = ScoreCounts(*evaluation.counted(metric.name))
    else:
        values = evaluation.scores[metric.name].to_numpy(dtype=np.float64)
        counted = ScoreCounts.of(values[~np.isnan(values)])
    if not counted.levels.size:
        raise DataError(
            f"nothing to draw: none of the {evaluation.n_queries} queries of "
            f"{evaluation.name!r} is scored on {metric.name!r}"
        )
    return counted


@dataclass(frozen=True)
class MetricSummary:
    """The mean of a metric, its interval and quartiles, from the report of the evaluation."""

    n: int
    mean: float
    low: float
    high: float
    quartiles: tuple[float, float, float]
    level: str

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval."""
        return bool(np.isfinite([self.low, self.high]).all())

    @property
    def text(self) -> str:
        """The mean and its interval."""
        return interval_text(self.mean, self.low, self.high)


def summarise_metrics(
    evaluation: Evaluation, metrics: Sequence[Metric]
) -> dict[str, MetricSummary]:
    """The summary of each metric, in the order of the evaluation's own report."""
    report = evaluation.evaluation_report(
        metrics=[metric.name for metric in metrics], percentiles=(25, 50, 75)
    )
    level = level_text(report.settings)
    columns = ["n", "mean", "ci_low", "ci_high", "p25", "p50", "p75"]
    numbers = report.frame[columns].to_numpy(dtype=np.float64).tolist()
    return {
        str(name): MetricSummary(int(n), mean, low, high, (p25, p50, p75), level)
        for name, (n, mean, low, high, p25, p50, p75) in zip(
            report.frame["metric"], numbers, strict=True
        )
    }


def scale_of(metric: Metric) -> str:
    """The name of the scale that a metric shares with others; nothing is ever rescaled to fit."""
    if metric.bounds is None:
        return metric.name
    low, high = metric.bounds
    # A similarity between -1 and 1 is a share of agreement too, and is seldom below 0.
    return "0 to 1" if low >= -1.0 and high <= 1.0 else f"{low:g} to {high:g}"


def of_one_scale(
    metrics: Sequence[Metric], *, named: bool, instead: str = ""
) -> tuple[list[Metric], list[Metric]]:
    """The metrics that share an axis, and those left out."""
    by_scale: dict[str, list[Metric]] = {}
    for metric in metrics:
        by_scale.setdefault(scale_of(metric), []).append(metric)
    if named and len(by_scale) > 1:
        groups = "; ".join(
            f"{scale}: {', '.join(metric.name for metric in group)}"
            for scale, group in by_scale.items()
        )
        raise DataError(
            f"these metrics share no axis ({groups}); choose metrics of one scale{instead}"
        )
    most = max(by_scale, key=lambda scale: (len(by_scale[scale]), scale == "0 to 1"))
    return by_scale[most], [metric for metric in metrics if scale_of(metric) != most]


def left_out_note(left_out: Sequence[Metric], why: str = "on other scales") -> str:
    """A note on the metrics that are not in the picture."""
    if not left_out:
        return ""
    names = ", ".join(metric.title for metric in left_out[:8])
    more = f" and {len(left_out) - 8} more" if len(left_out) > 8 else ""
    return f"Not drawn, {why}: {names}{more}."


def directed_title(metric: Metric) -> str:
    """A metric's title, with an arrow if lower is better."""
    return metric.title if metric.greater_is_better else f"{metric.title} ↓"


def direction_note(metrics: Iterable[Metric]) -> str:
    """The meaning of the arrow, if a metric has one."""
    return "" if all(metric.greater_is_better for metric in metrics) else "↓\u00a0lower is better."


def axis_text(metric: Metric) -> str:
    """The label of a metric's axis."""
    way = "higher" if metric.greater_is_better else "lower"
    return f"{metric.title} ({way} is better)"


def data_limits(values: FloatArray, metrics: Sequence[Metric]) -> tuple[float, float]:
    """The limits of the axis: the bounds of the metrics; below 0 only as far as the data reach."""
    low, high = float(values.min()), float(values.max())
    bounds = [metric.bounds for metric in metrics if metric.bounds is not None]
    if len(bounds) < len(metrics):
        return low, high
    if scale_of(metrics[0]) == "0 to 1":
        return min(low, 0.0), 1.0
    return min(b[0] for b in bounds), max(b[1] for b in bounds)

"""A baseline against its candidates: paired by query, metric by metric, with tests that hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rageval_report._registry import load
from rageval_report.analysis.comparing.comparison_rows import (
    compare_metrics,
    comparison_frame,
    comparison_notes,
    correct_pvalues,
    count_tests,
)
from rageval_report.analysis.comparing.metric_comparison import DEFAULT_PLAN, ComparisonPlan, Margin
from rageval_report.analysis.comparing.pairing import (
    MISSING,
    Clusters,
    Missing,
    Pairing,
    check_evaluations,
    pair_runs,
)
from rageval_report.analysis.gates.gate import gate_comparison
from rageval_report.analysis.gates.grammar import Rule
from rageval_report.analysis.gates.result import GateResult
from rageval_report.analysis.slices import slice_comparison
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored, join_details, resolver
from rageval_report.scores.text_matching import match_queries
from rageval_report.stats import PAIRED_INTERVALS, TESTS
from rageval_report.stats.base import check_level, check_resamples, check_seed
from rageval_report.types import FloatArray

_HEADLINE = (
    *("metric", "candidate", "n", "baseline_mean", "candidate_mean", "difference"),
    *("ci_low", "ci_high", "pvalue_adjusted", "wins", "ties", "losses"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Candidates against a baseline: one row a metric and a candidate.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    pairings : tuple of Pairing
        The baseline beside each candidate.
    plan : ComparisonPlan
        The settings, as further analyses of the same comparison need them.

    Notes
    -----
    ``wins`` are queries on which the candidate is better, by the metric's direction; ``difference``
    is always candidate minus baseline, and ``improvement`` is turned so that positive is better.
    """

    pairings: tuple[Pairing, ...] = ()
    plan: ComparisonPlan = DEFAULT_PLAN

    def differences(self, metric: str, candidate: str | None = None) -> pd.Series:
        """The paired differences of one metric, candidate minus baseline, by query id."""
        pairing, ours, theirs = self._pair(metric, candidate)
        before, after = pairing.both(ours, theirs)
        index = pairing.alignment.ids.rename("query_id")
        return pd.Series(after - before, index=index, name="difference").dropna()

    def regressions(self, metric: str, candidate: str | None = None) -> pd.DataFrame:
        """The queries on which the candidate is worse, the largest change first.

        Parameters
        ----------
        metric : str
            By any of its names.
        candidate : str, optional
            Which candidate; needed where there are several.

        Returns
        -------
        DataFrame, index query_id
            ``{baseline}_{metric}``, ``{candidate}_{metric}``, ``difference``, then the details:
            once where both runs agree, as ``{name}_{detail}`` where they differ.
        """
        return self._changed(metric, candidate, better=False)

    def improvements(self, metric: str, candidate: str | None = None) -> pd.DataFrame:
        """The queries on which the candidate is better, the largest change first.

        Parameters and columns as in `regressions`.
        """
        return self._changed(metric, candidate, better=True)

    def slices(
        self, by: str, metrics: str | Iterable[str] | None = None, correction: str = "holm"
    ) -> Result:
        """Compare in each group of queries, and ask whether the groups agree.

        Parameters
        ----------
        by : str
            A column of the baseline's details.
        metrics : str or iterable of str, optional
            Which metrics; all that were compared where nothing is asked.
        correction : str
            Over all rows of the table.

        Returns
        -------
        Result
            As of `rageval_report.analysis.slices.slice_comparison`.
        """
        return slice_comparison(self, by, metrics, correction)

    def gate(self, *rules: str | Rule, **settings: Any) -> GateResult:
        """Hold the candidates to rules; ``.passed`` says whether all hold, ``.check()`` raises.

        Parameters
        ----------
        *rules : str
            As "no_regression(faithfulness, margin=0.02)", "losses(exact_match) <= 5", and all that
            can be asked of an evaluation.
        **settings
            ``correct``: as in `rageval_report.analysis.gates.gate.gate_comparison`, which has the
            list of figures; all else is as in this comparison.

        Returns
        -------
        GateResult
            One row a rule and a candidate.
        """
        return gate_comparison(self, *rules, **settings)

    def report(self, **options: Any) -> Any:
        """The report file: verdicts, tables, pictures, slices, and every query in one page.

        Parameters
        ----------
        **options
            ``title``, ``by``, ``correct``, ``k``, ``pictures``, ``longest_text``, as in
            `rageval_report.reports.report_comparison`.

        Returns
        -------
        rageval_report.reports.Report
            Its ``save("report.html")`` writes the page; .md, .tex and .txt hold the tables.
        """
        return load("rageval_report.reports:report_comparison")(self, **options)

    def plot(self, kind: str = "forest", *args: Any, **options: Any) -> Any:
        """Draw the comparison; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str
            A name of the table ``rageval_report.plots.PLOTS``.
        *args, **options
            The plot's own; every plot takes ``ax=``.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return load("rageval_report.plots:plot")(self, kind, *args, **options)

    def _changed(self, metric: str, candidate: str | None, *, better: bool) -> pd.DataFrame:
        pairing, ours, theirs = self._pair(metric, candidate)
        before, after = pairing.both(ours, theirs)
        difference = after - before
        gain = difference if ours.greater_is_better else -difference
        changed = gain if better else -gain
        rows = np.flatnonzero(changed > _rounding(before, after))
        order = rows[np.argsort(-np.abs(difference[rows]), kind="stable")]
        frame = pd.DataFrame(
            {
                f"{pairing.baseline.name}_{ours.name}": before[order],
                f"{pairing.candidate.name}_{ours.name}": after[order],
                "difference": difference[order],
            },
            index=pairing.alignment.ids[order].rename("query_id"),
        )
        return join_details(frame, _both_details(pairing, frame.index))

    def _pair(self, metric: str, candidate: str | None) -> tuple[Pairing, Metric, Metric]:
        pairing = self._pairing(candidate)
        by_name = {ours.name: (ours, theirs) for ours, theirs in pairing.metrics}
        ours, theirs = by_name[resolver(by_name)(metric)]
        return pairing, ours, theirs

    def _pairing(self, candidate: str | None) -> Pairing:
        by_name = {pairing.candidate.name: pairing for pairing in self.pairings}
        if candidate is None and len(by_name) > 1:
            raise DataError(f"several candidates; say which: {', '.join(by_name)}")
        if candidate is not None and candidate not in by_name:
            raise UnknownNameError("candidate", candidate, by_name)
        return by_name[candidate] if candidate is not None else self.pairings[0]


def _rounding(before: FloatArray, after: FloatArray) -> float:
    scale = np.nanmax(np.abs(np.concatenate([before, after, [1.0]])))
    return float(1e-12 * scale)


def _both_details(pairing: Pairing, ids: pd.Index) -> pd.DataFrame:
    """The details of both runs: a column once where they agree, twice where they do not."""
    before = pairing.baseline.details.reindex(ids)
    after = pairing.candidate.details.reindex(ids)
    parts: dict[str, pd.Series] = {}
    for column in dict.fromkeys((*before.columns, *after.columns)):
        if column in before and column in after and not _alike(before[column], after[column]):
            parts[f"{pairing.baseline.name}_{column}"] = before[column]
            parts[f"{pairing.candidate.name}_{column}"] = after[column]
        else:
            parts[str(column)] = before[column] if column in before else after[column]
    return pd.DataFrame(parts, index=ids)


def _alike(one: pd.Series, other: pd.Series) -> bool:
    return list(map(str, one)) == list(map(str, other))


def compare(
    baseline: Scored,
    *candidates: Scored,
    metrics: str | Iterable[str] | None = None,
    test: str = "auto",
    correction: str = "holm",
    confidence_level: float = 0.95,
    missing: Missing = "drop",
    clusters: Clusters | None = None,
    seed: int = 0,
    interval: str = "auto",
    margin: Margin | None = None,
    n_resamples: int = 9999,
    on: str | None = None,
) -> Comparison:
    """Compare candidates with a baseline, query by query.

    Parameters
    ----------
    baseline : RAGPipelineEvaluation
        What stands now.
    *candidates : RAGPipelineEvaluation
        What might replace it; each is compared with the baseline.
    metrics : str or iterable of str, optional
        Which metrics; all that both have where nothing is asked.
    test : str
        "auto" is the exact sign-flip test of the mean difference (for 0/1 scores McNemar's mid-p);
        else a name of the table ``rageval_report.stats.TESTS``.
    correction : str
        "holm" over every row of the table; "westfall-young", "bh", "by", "hochberg", "bonferroni",
        "none".
    confidence_level : float
        Of the intervals; one minus it is the error rate of the verdicts.
    missing : {"drop", "worst", "bounds"}
        A query that one run did not score is left out; or takes the worst possible score; or is
        left out, and ``difference_lowest`` and ``difference_highest`` say how far such
        queries could move the result.
    clusters : str, Series or mapping, optional
        A detail column, or labels by query id: queries of one label are not independent. Signs are
        then flipped by cluster, and the interval is that of CR2.
    seed : int
        For tests and intervals that draw at random; the defaults draw nothing.
    interval : str
        "auto" is the inversion of the test (for 0/1 scores Bonett–Price); else a name of the table
        ``rageval_report.stats.PAIRED_INTERVALS``.
    margin : float or mapping of str to float, optional
        A difference too small to matter, for all metrics or by metric: "equivalent" is said only
        against it.
    n_resamples : int
        For tests and intervals that resample.
    on : str, optional
        A column of texts by which queries are matched where the runs' ids differ, as "question".

    Returns
    -------
    Comparison
        Columns: metric, baseline, candidate, n, n_dropped, baseline_mean, candidate_mean,
        difference, ci_low, ci_high, test, statistic, pvalue, pvalue_adjusted, effect_size,
        effect_name, wins, ties, losses, min_detectable_difference, verdict; then improvement,
        ci_method, hedges_g_z, odds_ratio, fragile, and what the settings add.

    Raises
    ------
    AlignmentError
        If two runs share no query or no metric.
    DataError
        If two runs have one name, or a setting makes no sense.

    Notes
    -----
    Means and differences are over the queries that both runs scored. See the documentation of
    `rageval_report.stats` for the tests.
    """
    if not candidates:
        raise DataError("expected at least one candidate to compare with the baseline")
    check_evaluations((baseline, *candidates), "compare(baseline, *candidates)")
    plan = ComparisonPlan(
        test=_checked("paired test", test, TESTS),
        interval=_checked("interval of a paired difference", interval, PAIRED_INTERVALS),
        confidence_level=check_level(confidence_level),
        missing=_checked_missing(missing),
        margin=_checked_margin(margin, baseline),
        n_resamples=check_resamples(n_resamples),
        seed=check_seed(seed),
    )
    runs = candidates if on is None else [match_queries(one, baseline, on) for one in candidates]
    pairings = tuple(pair_runs(baseline, candidate, metrics) for candidate in runs)
    rows = [row for pairing in pairings for row in compare_metrics(pairing, plan, clusters)]
    adjusted = correct_pvalues(rows, correction, plan, len(baseline.scores))
    frame = comparison_frame(rows, adjusted, plan, n_candidates=len(candidates))
    settings = {**plan.settings(), "correction": correction, "family_size": count_tests(rows)}
    if clusters is not None:
        settings["clusters"] = clusters if isinstance(clusters, str) else "given"
    if on is not None:
        settings["on"] = on
    names = ", ".join(candidate.name for candidate in candidates)
    return Comparison(
        f"{names} against {baseline.name}",
        frame,
        settings,
        tuple(dict.fromkeys(comparison_notes(pairings, rows, correction, plan))),
        headline=_HEADLINE
        if len(candidates) > 1
        else tuple(c for c in _HEADLINE if c != "candidate"),
        pairings=pairings,
        plan=plan,
    )


def _checked(what: str, name: str, table: Iterable[str]) -> str:
    known = list(table)
    if name != "auto" and name not in known:
        raise UnknownNameError(what, name, ["auto", *known])
    return name


def _checked_missing(missing: Missing) -> Missing:
    if missing not in MISSING:
        raise UnknownNameError("way to treat missing scores", missing, MISSING)
    return missing


def _checked_margin(margin: Margin | None, baseline: Scored) -> Margin | None:
    if isinstance(margin, Mapping):
        resolve = resolver(baseline.metrics)
        return {resolve(name): _margin_above_zero(one) for name, one in margin.items()}
    return None if margin is None else _margin_above_zero(margin)


def _margin_above_zero(margin: float) -> float:
    if not (np.isfinite(margin) and margin > 0):
        raise DataError(f"a margin must be a number above 0; got {margin}")
    return float(margin)

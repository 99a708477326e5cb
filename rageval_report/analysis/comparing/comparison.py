"""A baseline compared with its candidates: paired by query and tested metric by metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from rageval_report._registry import Registry, load
from rageval_report.analysis.arguments import (
    Clusters,
    ReportKeywords,
    ScoredOrScanned,
    check_count,
    clusters_setting,
    engine_setting,
    is_scan,
    resolve_units,
    scans_among,
    unnamed_clusters,
)
from rageval_report.analysis.comparing.metric_comparison import (
    DEFAULT_PLAN,
    ComparisonPlan,
    Margin,
    MetricComparison,
    PairedMetric,
    notes_of,
)
from rageval_report.analysis.comparing.pairing import (
    MISSING_TREATMENTS,
    MissingTreatment,
    Pairing,
    check_evaluations,
    check_unique_names,
    compared_rows,
    pair_runs,
)
from rageval_report.analysis.comparing.verdicts import (
    RARE_LOSS_COLUMNS,
    AdjustedPvalues,
    LossSize,
    NeededUnits,
    verdict,
)
from rageval_report.analysis.family import CorrectionFamily, family_of_pairings, levels_left
from rageval_report.analysis.gate import GateResult, gate_comparison
from rageval_report.analysis.headlines.comparison_headline import comparison_answer
from rageval_report.analysis.report_files import REPORTS
from rageval_report.analysis.rules import Rule
from rageval_report.analysis.sentence_parts import correction_note, group_notes
from rageval_report.analysis.slices import slice_comparison
from rageval_report.errors import (
    DataError,
    UnknownNameError,
    check_choice,
    check_options,
    doubts_of,
    explain_keywords,
    explain_keywords_of,
)
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import ComparisonPlot, MetricNames, PlotOptions
from rageval_report.results import QueryFrame, Result
from rageval_report.scores import Correct, Metric, Scored, join_details, resolver
from rageval_report.scores.catalogue.dialects import dialect_settings, note_on_dialects
from rageval_report.scores.same_texts import same_texts
from rageval_report.scores.text_matching import match_queries
from rageval_report.stats.base import check_level, check_resamples, check_seed
from rageval_report.stats.corrections import (
    CORRECTIONS,
    WESTFALL_YOUNG,
    adjust_pvalues,
    uses_midp,
    westfall_young,
)
from rageval_report.stats.equivalence import EQUIVALENCE_METHODS, MarginMethod
from rageval_report.stats.pairs import PAIRED_INTERVALS, TESTS, Pairs
from rageval_report.stats.units import QUERIES
from rageval_report.types import FloatArray, IndexArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.reports.report import Report


_COLUMNS = (
    *("metric", "baseline", "candidate", "n", "n_dropped", "baseline_mean", "candidate_mean"),
    *("difference", "ci_low", "ci_high", "test", "statistic", "pvalue", "pvalue_adjusted"),
    *("effect_size", "effect_name", "wins", "ties", "losses", "min_detectable_difference"),
    "verdict",
)

_HEADLINE = (
    *("metric", "candidate", "n", "baseline_mean", "candidate_mean", "difference"),
    *("ci_low", "ci_high", "pvalue_adjusted", *RARE_LOSS_COLUMNS[1:], "wins", "ties", "losses"),
)


@explain_keywords_of
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Candidates against a baseline: one row per metric and candidate.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    pairings : tuple of Pairing
        The baseline beside each candidate.
    plan : ComparisonPlan
        The settings, for further analyses of the same comparison.

    Notes
    -----
    ``wins`` is the number of queries on which the candidate is better, by the metric's direction;
    ``difference`` is always candidate minus baseline, and ``improvement`` is its value with the
    sign that makes positive better.

    Examples
    --------
    >>> from rageval_report.demo import demo_evaluations
    >>> comparison = compare(*demo_evaluations(), metrics=["recall@5", "latency_ms"])
    >>> comparison.summary
    'hybrid is better than bm25 on 1 of 2 metrics and worse on latency_ms.'
    """

    pairings: tuple[Pairing, ...] = ()
    plan: ComparisonPlan = DEFAULT_PLAN

    @property
    def summary(self) -> str:
        """Whether the candidate is better, in one plain sentence."""
        return comparison_answer(self) if len(self.frame) else ""

    def differences(self, metric: str, candidate: str | None = None) -> pd.Series:
        """The paired differences of one metric, candidate minus baseline, by query id.

        Examples
        --------
        >>> from rageval_report import RAGPipelineEvaluation
        >>> old = RAGPipelineEvaluation("old", {"query_id": ["a", "b"], "recall@5": [1.0, 0.5]})
        >>> new = RAGPipelineEvaluation("new", {"query_id": ["b", "a"], "recall@5": [1.0, 1.0]})
        >>> compare(old, new).differences("recall@5").to_dict()
        {'a': 0.0, 'b': 0.5}
        """
        pairing, ours, theirs = self._pair(metric, candidate)
        before, after = pairing.both(ours, theirs)
        index = pairing.alignment.ids.rename("query_id")
        return pd.Series(after - before, index=index, name="difference").dropna()

    def regressions(
        self,
        metric: str,
        candidate: str | None = None,
        *,
        k: int | None = None,
        path: str | Path | None = None,
    ) -> pd.DataFrame:
        """The queries on which the candidate is worse, the largest change first.

        Parameters
        ----------
        metric : str
            The metric, by any of its names.
        candidate : str, optional
            The candidate; required if there are several.
        k : int, optional
            The most queries of the table; if omitted, all of them, of scans 1,000.
        path : str or Path, optional
            A Parquet file for all of them, without details.

        Returns
        -------
        DataFrame, index query_id
            ``{baseline}_{metric}``, ``{candidate}_{metric}``, ``difference``, then the details:
            once if both runs agree, as ``{name}_{detail}`` if they differ. Notebooks show it with
            texts cut to a line; see `rageval_report.results.QueryFrame`. ``attrs["n"]`` is the
            number of all such queries.

        Examples
        --------
        >>> from rageval_report import RAGPipelineEvaluation
        >>> old = RAGPipelineEvaluation("old", {"query_id": ["a", "b"], "recall@5": [1.0, 0.5]})
        >>> new = RAGPipelineEvaluation("new", {"query_id": ["a", "b"], "recall@5": [0.5, 1.0]})
        >>> compare(old, new).regressions("recall@5").loc["a"].to_dict()
        {'old_recall@5': 1.0, 'new_recall@5': 0.5, 'difference': -0.5}
        """
        return self._changed_queries(metric, candidate, k, path, better=False)

    def improvements(
        self,
        metric: str,
        candidate: str | None = None,
        *,
        k: int | None = None,
        path: str | Path | None = None,
    ) -> pd.DataFrame:
        """The queries on which the candidate is better, the largest change first.

        Parameters and columns as in `regressions`.

        Examples
        --------
        >>> from rageval_report import RAGPipelineEvaluation
        >>> old = RAGPipelineEvaluation("old", {"query_id": ["a", "b"], "recall@5": [1.0, 0.5]})
        >>> new = RAGPipelineEvaluation("new", {"query_id": ["a", "b"], "recall@5": [0.5, 1.0]})
        >>> compare(old, new).improvements("recall@5").index.tolist()
        ['b']
        """
        return self._changed_queries(metric, candidate, k, path, better=True)

    def slices(
        self, by: str, metrics: str | Iterable[str] | None = None, correction: str = "holm"
    ) -> Result:
        """Compare in each group of queries, and test whether the groups agree.

        Parameters
        ----------
        by : str
            A column of the baseline's details.
        metrics : str or iterable of str, optional
            The metrics; all that were compared if omitted.
        correction : str
            The correction of the p-values of all rows of the table.

        Returns
        -------
        Result
            See `rageval_report.analysis.slices.slice_comparison`.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> comparison = compare(*demo_evaluations(), metrics="recall@5")
        >>> table = comparison.slices("question_type").frame
        >>> table[["question_type", "n", "difference", "pvalue_adjusted"]].round(3)
          question_type   n  difference  pvalue_adjusted
        0       factoid  78       0.167              0.0
        1    procedural  41       0.402              0.0
        2     multi_hop  40       0.388              0.0
        3       numeric  39      -0.513              0.0
        """
        return slice_comparison(self, by, metrics, correction)

    def gate(self, *rules: str | Rule, correct: Correct | None = None) -> GateResult:
        """Check the candidates against rules; ``.passed`` is True if all hold, ``.check()`` raises.

        Parameters
        ----------
        *rules : str
            Such as "no_regression(faithfulness, margin=0.02)", "losses(exact_match) <= 5", and all
            rules on an evaluation; `rageval_report.analysis.gate.gate_comparison` lists the
            figures.
        correct : see `rageval_report.scores.correctness`, optional
            What a correct answer is; each candidate's own rule if omitted.

        Returns
        -------
        GateResult
            One row per rule and candidate.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> comparison = compare(*demo_evaluations(), metrics="faithfulness")
        >>> comparison.gate("no_regression(faithfulness, margin=0.1)").passed
        True
        """
        return gate_comparison(self, *rules, correct=correct)

    def report(self, **options: Unpack[ReportKeywords]) -> Report:
        """The report file: verdicts, tables, pictures, slices, and every query in one page.

        Parameters
        ----------
        **options
            ``title``, ``by``, ``correct``, ``k``, ``pictures``, ``longest_text`` and the settings
            of the means, as in `rageval_report.reports.report_comparison`.

        Returns
        -------
        rageval_report.reports.Report
            Its ``save("report.html")`` writes the page; .md, .tex and .txt files contain the
            tables.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> compare(*demo_evaluations(), metrics="recall@5").report(pictures=False)
        Report('hybrid against bm25', 3 verdicts, 6 sections, 202 queries)
        """
        check_options("Comparison.report()", options, ReportKeywords.__annotations__)
        return REPORTS["comparison"](self, **options)

    def save(self, path: str | Path, *, force: bool = True) -> Path | Any:
        """Write the comparison to a file, as every result, or log it to MLflow.

        Parameters
        ----------
        path : str or Path
            The file, as in `Result.save`; or "mlflow:/EXPERIMENT", where a new run gets the
            differences with their intervals, the page, and the scores of all pipelines.
        force : bool
            Whether an existing file is replaced, as pandas does; False keeps it.

        Returns
        -------
        Path
            The file; for an address a str: the address of the run, which reads the pipelines.

        Raises
        ------
        UnknownNameError
            If no format has the suffix.
        DataError
            If the file exists and may not be replaced, or cannot be written, or MLflow refuses.

        Examples
        --------
        >>> import tempfile
        >>> from rageval_report.demo import demo_evaluations
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = compare(*demo_evaluations()).save(f"{folder}/comparison.md")
        ...     path.name
        'comparison.md'
        """
        if not isinstance(path, str) or not path.startswith("mlflow:"):
            return super().save(path, force=force)
        # By name: what is logged contains the page, which stands above this room.
        save_comparison: Callable[..., str] = load(
            "rageval_report.loggers.mlflow_runs:save_comparison"
        )
        return save_comparison(self, path)

    def plot(
        self,
        kind: ComparisonPlot | Plot = "forest",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the comparison; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str or Plot
            A name of the table ``rageval_report.plots.PLOTS``, or an entry of it.
        *args : str or iterable of str
            The metrics, by any of their names.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if omitted.
        **options
            The options of the plot.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from rageval_report.demo import demo_evaluations
        >>> comparison = compare(*demo_evaluations(), metrics="recall@5")
        >>> comparison.plot("differences", ax=Figure().subplots()).get_title()
        'Recall@5: hybrid against bm25'
        """
        return plot(self, kind, *args, ax=ax, **options)

    def _changed_queries(
        self,
        metric: str,
        candidate: str | None,
        k: int | None,
        path: str | Path | None,
        *,
        better: bool,
    ) -> pd.DataFrame:
        pairing, ours, theirs = self._pair(metric, candidate)
        if k is not None:
            check_count("k", k)
        if not isinstance(pairing, Pairing):  # of scans
            scanned: pd.DataFrame = pairing.changed((ours, theirs), k, path, better=better)
            return scanned
        before, after = pairing.both(ours, theirs)
        difference = after - before
        gain = difference if ours.greater_is_better else -difference
        change = gain if better else -gain
        rows = np.flatnonzero(change > _rounding_error(before, after))
        every = rows[np.argsort(-np.abs(difference[rows]), kind="stable")]
        order = every if path is not None else every[:k]
        frame = pd.DataFrame(
            {
                f"{pairing.baseline.name}_{ours.name}": before[order],
                f"{pairing.candidate.name}_{ours.name}": after[order],
                "difference": difference[order],
            },
            index=pairing.alignment.ids[order].rename("query_id"),
        )
        if path is not None:
            frame.reset_index().to_parquet(path, index=False)
            order, frame = order[:k], frame[:k]
        changed = QueryFrame(join_details(frame, _both_details(pairing, order, frame.index)))
        changed.attrs["n"] = len(every)
        return changed

    # Any: a pairing of scans has the names of a `Pairing`.
    def _pair(self, metric: str, candidate: str | None) -> tuple[Any, Metric, Metric]:
        pairing = self._pairing_of(candidate)
        by_name = {ours.name: (ours, theirs) for ours, theirs in pairing.metrics}
        ours, theirs = by_name[resolver(by_name)(metric)]
        return pairing, ours, theirs

    def _pairing_of(self, candidate: str | None) -> Pairing:
        by_name = {pairing.candidate.name: pairing for pairing in self.pairings}
        if candidate is None and len(by_name) > 1:
            raise DataError(
                f"candidate is required, because there are several candidates: {', '.join(by_name)}"
            )
        if candidate is not None and candidate not in by_name:
            raise UnknownNameError("candidate", candidate, by_name)
        return by_name[candidate] if candidate is not None else self.pairings[0]


def _rounding_error(before: FloatArray, after: FloatArray) -> float:
    # The tolerance of `paired_differences`, so that these queries are those counted as wins and
    # losses.
    scale = np.nanmax(np.abs(np.concatenate([before, after, [1.0]])))
    return float(1e-12 * scale)


def _both_details(pairing: Pairing, places: IndexArray, ids: pd.Index) -> pd.DataFrame:
    """The details of both runs at some places: a column once if they agree, twice if they differ.

    Parameters
    ----------
    pairing : Pairing
        The runs.
    places : ndarray of int
        The places of the queries among the common ones.
    ids : Index
        The ids of these queries.
    """
    alignment = pairing.alignment
    before = _details_at(pairing.baseline, alignment.baseline_rows, places, ids)
    after = _details_at(pairing.candidate, alignment.candidate_rows, places, ids)
    return merge_details((pairing.baseline.name, pairing.candidate.name), before, after, ids)


def merge_details(
    names: tuple[str, str], before: pd.DataFrame, after: pd.DataFrame, ids: pd.Index
) -> pd.DataFrame:
    """The details of two runs: a column once if they agree, twice if they differ.

    Parameters
    ----------
    names : (str, str)
        The runs.
    before, after : DataFrame
        Their details of the same queries.
    ids : Index
        The ids of these queries.
    """
    parts: dict[str, pd.Series] = {}
    for column in dict.fromkeys((*before.columns, *after.columns)):
        if column in before and column in after and not same_texts(before[column], after[column]):
            parts[f"{names[0]}_{column}"] = before[column]
            parts[f"{names[1]}_{column}"] = after[column]
        else:
            parts[str(column)] = before[column] if column in before else after[column]
    return pd.DataFrame(parts, index=ids)


def _details_at(
    run: Scored, rows: np.ndarray | None, places: IndexArray, ids: pd.Index
) -> pd.DataFrame:
    """The details of a run at these places among the common queries, with these ids."""
    if not run.details.index.equals(run.scores.index):
        return run.details.reindex(ids)
    # The alignment has found the rows already: no id is looked up again.
    return run.details.iloc[places if rows is None else rows[places]].set_axis(ids)


@explain_keywords
def compare(
    baseline: ScoredOrScanned,
    *candidates: ScoredOrScanned,
    metrics: str | Iterable[str] | None = None,
    test: str = "auto",
    correction: str = "holm",
    confidence_level: float = 0.95,
    missing: MissingTreatment = "drop",
    clusters: Clusters | None = None,
    seed: int = 0,
    interval: str = "auto",
    margin: Margin | None = None,
    margin_method: MarginMethod = "auto",
    rare_loss: LossSize | None = None,
    n_resamples: int = 9999,
    on: str | None = None,
    tried: int = 1,
) -> Comparison:
    """Compare candidates with a baseline, query by query.

    Parameters
    ----------
    baseline : RAGPipelineEvaluation, or EvaluationScan
        The pipeline in use.
    *candidates : RAGPipelineEvaluation, or EvaluationScan
        The pipelines that might replace it; each is compared with the baseline. Scans are compared
        with scans: see `rageval_report.scale.scan.EvaluationScan.comparative_summary`.
    metrics : str or iterable of str, optional
        The metrics; all that both have if omitted.
    test : str
        "auto" is the exact sign-flip test of the mean difference, ties counted half (for 0/1 scores
        McNemar's mid-p); else a name of the table ``rageval_report.stats.TESTS``.
    correction : str
        "holm" over every row of the table; "westfall-young", "bh", "by", "hochberg",
        "bonferroni", "none".
    confidence_level : float
        The level of the intervals; one minus it is the error rate of the verdicts.
    missing : {"drop", "worst", "bounds"}
        "drop" leaves out a query that one run did not score; "worst" gives it the worst possible
        score; "bounds" leaves it out, and ``difference_lowest`` and ``difference_highest`` say how
        far such queries could move the result.
    clusters : str, Series or mapping, optional
        A detail column, or labels by query id: queries with the same label are not independent.
        They are then one unit of the test, of its interval, and of every analysis of the
        comparison; see `rageval_report.stats.units`.
    seed : int
        For tests and intervals that draw at random; the defaults draw nothing.
    interval : str
        "auto" is the inversion of the test; else a name of the table
        ``rageval_report.stats.PAIRED_INTERVALS``. With clusters "t" is the interval of CR2.
    margin : float or mapping of str to float, optional
        A difference too small to matter, for all metrics or by metric. Without it no verdict says
        "equivalent".
    margin_method : {"auto", "t", "strict"}
        The method of the test against the margin, and of `no_regression` in gates. "auto" is the
        sign-flip test at the margin (for 0/1 scores McNemar's). It sees only losses that were
        sampled; "strict" also counts those that were not, and needs the bounds of the metric. See
        `rageval_report.stats.equivalence_test`.
    rare_loss : float or mapping of str to float, optional
        The size of the loss of the rare-loss bound, for all metrics or by metric; if omitted, the
        whole range of the scores, which is the largest loss that a query can have.
    n_resamples : int
        For tests and intervals that resample.
    on : str, optional
        A column of texts, such as "question", that matches the queries if the runs' ids differ. The
        second of two equal texts matches the second, and a query without a text matches none.
    tried : int
        The number of variants that were tried on these queries and of which the candidates are the
        best, such as 20 settings of a search; see Notes.

    Returns
    -------
    Comparison
        Columns: metric, baseline, candidate, n, n_dropped, baseline_mean, candidate_mean,
        difference, ci_low, ci_high, test, statistic, pvalue, pvalue_adjusted, effect_size,
        effect_name, wins, ties, losses, min_detectable_difference, verdict; then improvement,
        ci_method, hedges_g_z, odds_ratio, the columns of planning (see Notes), and those
        that the settings add. Fewer than six queries, or clusters, are not tested: they have
        estimates, but neither a p-value nor an interval of the difference. ``rare_loss_share`` is
        the largest share of queries with a loss of ``rare_loss_size`` that the sampled queries
        cannot exclude, and ``rare_loss_difference`` the difference if there were so many; NaN for
        metrics whose bounds are missing, or a formality. With a margin, ``margin_method`` is the
        method that was used.

    Raises
    ------
    AlignmentError
        If two runs share no query or no metric.
    DataError
        If two runs have the same name, or a setting makes no sense.

    Notes
    -----
    Means and differences are over the queries that both runs scored. See the documentation of
    `rageval_report.stats` for the tests.

    ``level_left`` is the level that the correction leaves to a test that is not shown, with Holm's
    the error rate over the number of these tests. At this level ``min_detectable_difference`` is
    shown with 80 % power (infinite if no difference can be shown), and ``planned_difference`` needs
    ``n_needed`` queries, or clusters: the margin, or 5 % of the metric's range, and then
    ``smaller_planned_difference``, 2 %, needs ``n_needed_smaller``. They never contradict each
    other, and none depends on the observed difference, from which such a number is mostly noise.

    The best of k equal variants looks better than the baseline by chance. If more variants were
    ``tried`` than there are candidates, the p-values of each candidate are corrected for its own
    metrics and multiplied by k, and each interval has the error rate over k. This is Bonferroni's
    correction: it holds however alike the variants are, and for whatever reason one was chosen.
    ``gain_of_noise`` is the gain that the best of k equal, independent variants is expected to
    show (`rageval_report.stats.best_of_many`); alike variants gain less.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> ids = list("abcdefgh")
    >>> old = RAGPipelineEvaluation("old", {"query_id": ids, "recall@5": [0] * 6 + [1] * 2})
    >>> new = RAGPipelineEvaluation("new", {"query_id": ids, "recall@5": [1] * 8})
    >>> comparison = compare(old, new)
    >>> comparison.frame[["metric", "n", "difference", "pvalue", "wins", "losses"]].round(4)
         metric  n  difference  pvalue  wins  losses
    0  recall@5  8        0.75  0.0156     6       0
    """
    if not candidates:
        raise DataError(
            "candidates must hold at least one evaluation to compare with the baseline; got none"
        )
    runs = (baseline, *candidates)
    evaluations: tuple[Any, ...] = scans_among(runs, "compare()") or check_evaluations(
        runs, "compare(baseline, *candidates)"
    )
    check_unique_names(evaluations)
    plan = plan_comparison(
        evaluations[0],
        len(candidates),
        test=test,
        interval=interval,
        confidence_level=confidence_level,
        missing=missing,
        margin=margin,
        margin_method=margin_method,
        rare_loss=rare_loss,
        n_resamples=n_resamples,
        seed=seed,
        tried=tried,
    )
    return _compare_runs(
        evaluations, plan, correction=correction, metrics=metrics, clusters=clusters, on=on
    )


def _compare_runs(
    evaluations: Sequence[Any],
    plan: ComparisonPlan,
    *,
    correction: str,
    metrics: str | Iterable[str] | None,
    clusters: Clusters | None,
    on: str | None,
) -> Comparison:
    """Pair the queries of each candidate with those of the baseline, and compare the pairs."""
    baseline, *others = evaluations
    if is_scan(baseline):
        pairings, units = baseline.pair_with(others, metrics, plan.missing, clusters, on)
    else:
        runs = others if on is None else [match_queries(run, baseline, on) for run in others]
        pairings = tuple(pair_runs(baseline, candidate, metrics) for candidate in runs)
        units = QUERIES
        if clusters is not None:
            units = resolve_units(baseline, clusters, compared_rows(pairings))
    settings: dict[str, object] = {
        **dialect_settings(evaluations),
        **clusters_setting(clusters),
        **engine_setting(baseline),
    }
    if on is not None:
        settings["on"] = on
    names = ", ".join(candidate.name for candidate in others)
    return compare_pairings(
        f"{names} against {baseline.name}",
        pairings,
        replace(plan, units=units),
        correction=correction,
        settings=settings,
        notes=(
            *doubts_of(evaluations),
            *unnamed_clusters(baseline, clusters),
            *note_on_dialects(evaluations),
        ),
    )


def plan_comparison(
    baseline: Scored,
    n_candidates: int,
    *,
    test: str = "auto",
    interval: str = "auto",
    confidence_level: float = 0.95,
    missing: MissingTreatment = "drop",
    margin: Margin | None = None,
    margin_method: MarginMethod = "auto",
    rare_loss: LossSize | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
    tried: int = 1,
) -> ComparisonPlan:
    """The settings of a comparison, checked.

    Parameters
    ----------
    baseline : Scored
        The baseline, for the names of its metrics.
    n_candidates : int
        The number of candidates.
    test, interval, confidence_level, missing, margin, margin_method, rare_loss
        As in `compare`.
    n_resamples, seed, tried
        As in `compare`.
    """
    check_choice("missing", missing, MISSING_TREATMENTS)
    check_choice("margin_method", margin_method, EQUIVALENCE_METHODS)
    return ComparisonPlan(
        test=_known_method("paired test", test, TESTS),
        interval=_known_method("interval of a paired difference", interval, PAIRED_INTERVALS),
        confidence_level=check_level(confidence_level),
        missing=missing,
        margin=_check_sizes("margin", margin, baseline),
        margin_method=margin_method,
        rare_loss=_check_sizes("rare_loss", rare_loss, baseline),
        n_resamples=check_resamples(n_resamples),
        seed=check_seed(seed),
        # If all that were tried are compared, the correction counts them already.
        tried=n_tried if (n_tried := check_count("tried", tried)) > n_candidates else 1,
    )


def compare_pairings(
    title: str,
    pairings: tuple[Pairing, ...],
    plan: ComparisonPlan,
    *,
    correction: str,
    settings: Mapping[str, object] | None = None,
    notes: Iterable[str] = (),
) -> Comparison:
    """Test every metric of pairs of runs, with one correction over all of them.

    Parameters
    ----------
    title : str
        The title of the result.
    pairings : tuple of Pairing
        At least one; all baselines have the same queries in the same order.
    plan : ComparisonPlan
        The test, the interval, their settings, and the independent units.
    correction : str
        As in `compare`.
    settings : mapping, optional
        What else belongs into the signature.
    notes : iterable of str
        What goes before the notes of the comparison.
    """
    paired = [
        PairedMetric.of(pairing, ours, theirs, plan)
        for pairing in pairings
        for ours, theirs in pairing.metrics
    ]
    rows = [each.tested(plan) for each in paired]
    family = family_of_pairings(pairings)
    adjusted = _adjust_rows(rows, family, correction, plan, pairings[0].baseline)
    frame = _comparison_frame(rows, adjusted, plan, n_candidates=len(pairings))
    return Comparison(
        title,
        frame,
        {
            **plan.settings(),
            "correction": correction,
            "family_size": _count_tests(rows, family),
            **(settings or {}),
        },
        # Several candidates may have the same note.
        (
            *notes,
            *dict.fromkeys(_comparison_notes(pairings, rows, family, correction, plan)),
        ),
        headline=_headline(frame, n_candidates=len(pairings)),
        pairings=pairings,
        plan=plan,
    )


def _known_method(what: str, name: str, table: Registry[Any]) -> str:
    """The name, if it is "auto" or in a table of methods."""
    if name != "auto" and name not in table:
        raise UnknownNameError(what, name, ["auto", *table])
    return name


def _check_sizes(
    parameter: str, sizes: float | Mapping[str, float] | None, baseline: Scored
) -> float | Mapping[str, float] | None:
    """One size of a difference for all metrics, or one by metric, under the metrics' own names."""
    if isinstance(sizes, Mapping):
        resolve = resolver(baseline.metrics)
        return {resolve(name): _above_zero(parameter, size) for name, size in sizes.items()}
    return None if sizes is None else _above_zero(parameter, sizes)


def _above_zero(parameter: str, size: float) -> float:
    if not (math.isfinite(size) and size > 0):
        raise DataError(f"{parameter} must be a number above 0; got {size}")
    return float(size)


# -- the table


def _count_tests(rows: Sequence[MetricComparison], family: CorrectionFamily) -> int:
    """The number of tests that the correction of the family counts: those that were possible."""
    members = set(family.members)
    return sum(np.isfinite(row.test.pvalue) for row in rows if row.metric.name in members)


def _adjust_rows(
    rows: list[MetricComparison],
    family: CorrectionFamily,
    correction: str,
    plan: ComparisonPlan,
    baseline: Scored,
) -> list[AdjustedPvalues]:
    """The corrected p-values of all rows: of the difference, and of equivalence."""
    if correction != WESTFALL_YOUNG and correction not in CORRECTIONS:
        raise UnknownNameError("correction", correction, [*CORRECTIONS, WESTFALL_YOUNG])
    if plan.tried == 1:
        return _adjust_together(rows, family, correction, plan, baseline)
    # Each variant keeps its share of the error rate, also those that are not among the candidates.
    by_candidate: dict[str, list[MetricComparison]] = {}
    for row in rows:
        by_candidate.setdefault(row.names[1], []).append(row)
    return [
        adjusted.for_the_best_of(plan.tried)
        for own in by_candidate.values()
        for adjusted in _adjust_together(own, family, correction, plan, baseline)
    ]


def _adjust_together(
    rows: list[MetricComparison],
    family: CorrectionFamily,
    correction: str,
    plan: ComparisonPlan,
    baseline: Scored,
) -> list[AdjustedPvalues]:
    """The p-values of rows that are corrected together, before a correction for a choice."""
    # Westfall-Young resamples the differences; equivalence has no such form, so Holm is used there.
    method = "holm" if correction == WESTFALL_YOUNG else correction
    names = [row.metric.name for row in rows]
    raw = np.array([row.test.pvalue for row in rows], dtype=np.float64)
    equivalence = np.array(
        [np.nan if row.equivalence is None else row.equivalence.pvalue for row in rows]
    )

    def correct_differences(positions: IndexArray) -> FloatArray:
        if correction == WESTFALL_YOUNG:
            # The flips are drawn, and the test may be another one, but no adjusted p-value is the
            # smaller.
            drawn = _westfall_young_pvalues([rows[i] for i in positions], plan, baseline)
            return np.fmax(drawn, raw[positions])
        return adjust_pvalues(raw[positions], method=method)

    pvalues = family.correct(names, raw, correct_differences)
    equivalence_pvalues = family.correct(
        names, equivalence, lambda positions: adjust_pvalues(equivalence[positions], method=method)
    )
    sizes = family.sizes(names, raw)
    levels = levels_left(family, names, raw, correction, plan.alpha_of_one)
    return [
        AdjustedPvalues(float(pvalue), float(equivalence_pvalue), correction, int(size), level)
        for pvalue, equivalence_pvalue, size, level in zip(
            pvalues, equivalence_pvalues, sizes, levels.tolist(), strict=True
        )
    ]


def _westfall_young_pvalues(
    rows: Sequence[MetricComparison], plan: ComparisonPlan, baseline: Scored
) -> FloatArray:
    """Signs are flipped unit by unit, the same for all metrics and candidates."""
    # A missing pair is 0, which no flip of its sign changes.
    differences = np.zeros((len(baseline.scores), len(rows)), order="F")
    for column, row in enumerate(rows):
        differences[row.known.rows, column] = row.known.differences
    by_unit = plan.units.sums(differences)
    # What was not tested for want of units is not a test.
    by_unit[:, [math.isnan(row.test.pvalue) for row in rows]] = math.nan
    half = [uses_midp(row.test.test) for row in rows]
    return westfall_young(by_unit, n_resamples=plan.n_resamples, seed=plan.seed, half_ties=half)


def _comparison_frame(
    rows: list[MetricComparison],
    adjusted: list[AdjustedPvalues],
    plan: ComparisonPlan,
    *,
    n_candidates: int,
) -> pd.DataFrame:
    """The columns of every comparison first, then those that the settings add."""
    records = [
        _frame_row(row, pvalues, plan, n_candidates)
        for row, pvalues in zip(rows, adjusted, strict=True)
    ]
    # Every column, in the order in which the rows have them.
    added = dict.fromkeys(column for record in records for column in record)
    return pd.DataFrame(records, columns=[*dict.fromkeys((*_COLUMNS, *added))])


def _headline(frame: pd.DataFrame, *, n_candidates: int) -> tuple[str, ...]:
    """The columns that are shown: no name of a single candidate, no column without a number."""
    left_out = {"candidate"} if n_candidates == 1 else set()
    left_out |= {name for name in RARE_LOSS_COLUMNS if frame[name].isna().all()}
    return tuple(name for name in _HEADLINE if name not in left_out)


def _frame_row(
    row: MetricComparison, adjusted: AdjustedPvalues, plan: ComparisonPlan, n_candidates: int
) -> dict[str, object]:
    finding = row.finding(adjusted, plan)
    sentence = verdict(finding)
    # Sentences such as "no difference shown" name no candidate.
    if n_candidates > 1 and finding.candidate not in sentence:
        sentence = f"{finding.candidate}: {sentence}"
    nothing = NeededUnits(math.nan, math.nan)
    first, second = (*finding.needed, nothing, nothing)[:2]
    columns: dict[str, object] = {
        **row.numbers,
        "pvalue_adjusted": adjusted.pvalue,
        "min_detectable_difference": finding.min_detectable_difference,
        "verdict": sentence,
        "level_left": adjusted.level_left(plan.alpha_of_one),
        "planned_difference": first.difference,
        "n_needed": first.n,
        "smaller_planned_difference": second.difference,
        "n_needed_smaller": second.n,
    }
    if plan.tried > 1:
        columns["gain_of_noise"] = finding.gain_of_noise
    if plan.margin is not None:
        columns["equivalence_pvalue_adjusted"] = adjusted.equivalence_pvalue
        columns["margin_method"] = row.equivalence.method if row.equivalence else "none"
    return columns


def _comparison_notes(
    pairings: Sequence[Pairing],
    rows: list[MetricComparison],
    family: CorrectionFamily,
    correction: str,
    plan: ComparisonPlan,
) -> Iterator[str]:
    """What a reader must know of pairing, tests, margins and correction."""
    for pairing in pairings:
        yield from _unchanged_notes(pairing, rows)
        yield from pairing.notes()
    metric_notes = [(row.metric.name, note) for row in rows for note in notes_of(row, plan)]
    yield from group_notes(metric_notes, len({row.metric.name for row in rows}))
    yield from _margin_notes(pairings, plan)
    if plan.tried > 1:
        yield (
            f"{plan.tried} variants were tried: the p-values of each candidate are multiplied by "
            f"{plan.tried} after the correction for its metrics, and each interval is that of the "
            f"level {100 * plan.level_of_one:g} %; this holds however alike the variants are"
        )
    if (n_tests := _count_tests(rows, family)) > 1 and plan.tried == 1:
        yield correction_note(correction, n_tests, plan.alpha)
    yield from family.notes()


def _are_same(pairs: Pairs) -> bool:
    """Whether no query differs, and both sides have the same scores to the last bit."""
    before, after = pairs.baseline, pairs.candidate
    return (
        not pairs.by_query.n_changed
        and np.array_equal(before.values, after.values)
        and np.array_equal(before.counts, after.counts)
    )


def _unchanged_notes(pairing: Pairing, rows: Iterable[MetricComparison]) -> Iterator[str]:
    """That a candidate has the very scores of the baseline, which a change hardly leaves."""
    names = (pairing.baseline.name, pairing.candidate.name)
    pairs = [row.pairs for row in rows if row.names == names and row.pairs.n]
    if pairs and all(map(_are_same, pairs)):
        yield (
            f"{names[1]} and {names[0]} are identical to the last bit on every metric: did the "
            "change reach the pipeline?"
        )


def _margin_notes(pairings: Sequence[Pairing], plan: ComparisonPlan) -> Iterator[str]:
    """That a single margin cannot suit metrics of different ranges."""
    metrics = {ours.name: ours for pairing in pairings for ours, _ in pairing.metrics}
    if plan.margin is None or isinstance(plan.margin, Mapping) or len(metrics) == 1:
        return
    unbounded = [name for name, metric in metrics.items() if metric.bounds is None]
    ranges = {metric.bounds and metric.bounds[1] - metric.bounds[0] for metric in metrics.values()}
    if not unbounded and len(ranges) == 1:
        return
    verb = "has" if len(unbounded) == 1 else "have"
    names = f" ({', '.join(unbounded[:5])} {verb} no bounds)" if unbounded else ""
    yield (
        f"the margin of {plan.margin:g} is applied to metrics of different scales{names}; give a "
        "margin per metric if it does not suit all of them"
    )

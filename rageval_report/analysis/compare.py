"""A baseline compared with its candidates: paired by query and tested metric by metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from rageval_report._registry import load
from rageval_report.analysis import arguments, paired_metric
from rageval_report.analysis.gate import GateResult, gate_comparison
from rageval_report.analysis.pairing import (
    MissingTreatment,
    Pairing,
    check_evaluations,
    check_unique_names,
    compared_rows,
    pair_runs,
)
from rageval_report.analysis.rules import Rule
from rageval_report.analysis.slices import slice_comparison
from rageval_report.analysis.verdicts import (
    CorrectionFamily,
    answer_of,
    answer_table,
    comparison_verdicts,
    of_shown,
)
from rageval_report.errors import DataError, UnknownNameError, check_options, doubts_of, is_doubt
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import ComparisonPlot, MetricNames, PlotOptions
from rageval_report.reports import sentences
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored, align, resolver, shown
from rageval_report.scores.catalogue.dialects import dialect_settings, note_on_dialects
from rageval_report.stats import corrections
from rageval_report.stats.base import check_integer
from rageval_report.stats.equivalence import MarginMethod
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
    *("ci_low", "ci_high", "pvalue_adjusted", "wins", "ties", "losses", "verdict"),
)
_PRINTED = (
    *("metric", "candidate", "baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high"),
    *("pvalue_adjusted", "difference_lowest", "difference_highest", "verdict"),
)
_WORDS = (
    *(shown.BETTER, shown.WORSE, shown.DIRECTION_UNKNOWN, shown.EQUIVALENT, shown.NOT_WORSE),
    *(shown.UNDECIDED, shown.IDENTICAL, shown.TOO_FEW),
)
_MOST_NOTES = 3


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
    key_notes : tuple of str
        The notes that could change a decision: they are printed, after doubts.

    Notes
    -----
    ``wins`` is the number of queries on which the candidate is better, by the metric's direction;
    ``difference`` is always candidate minus baseline, and ``improvement`` is its value with the
    sign that makes positive better. The answer is printed; ``sentences``, ``notes`` and ``frame``
    have the rest.

    Examples
    --------
    >>> from rageval_report.demo import demo_evaluations
    >>> comparison = compare(*demo_evaluations(), metrics=["recall@5", "latency_ms"])
    >>> print(comparison)
    hybrid is better than bm25 on 1 of 2 metrics and worse on latency_ms (198 queries).
    <BLANKLINE>
    metric       bm25  hybrid  difference         95 % CI        p  verdict
    ----------  -----  ------  ----------  --------------  -------  -------
    recall@5    0.730   0.856      +0.126  0.050 to 0.203    0.001  better
    latency_ms  678.7   998.9      +320.2  253.5 to 387.1  < 0.001  worse
    <BLANKLINE>
    Note: sign-flip test
    """

    pairings: tuple[Pairing, ...] = ()
    plan: paired_metric.ComparisonPlan = paired_metric.DEFAULT_PLAN
    key_notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """Whether the candidate is better, in one plain sentence.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> comparison = compare(*demo_evaluations(), metrics="recall@5")
        >>> comparison.summary
        'hybrid is better than bm25 on 1 of 1 metric; no metric is clearly worse.'
        """
        if not len(self.frame):
            return ""
        return answer_of(comparison_verdicts(self), self.plan.fewest_units)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict of each row in a sentence.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> comparison = compare(*demo_evaluations(), metrics="recall@5")
        >>> comparison.sentences[0].partition(" by ")[0]
        'hybrid is better on recall@5'
        """
        are_several, texts = len(set(self.frame["candidate"])) > 1, []
        for cells in self.frame.to_dict("records"):
            row = {str(name): value for name, value in cells.items()}
            words = self.plan.words(str(self.settings["correction"]), int(row["n_tests"]))
            sentence = sentences.verdict_sentence(row, words)
            # Sentences such as "no difference shown" name no candidate.
            is_unnamed = are_several and row["candidate"] not in sentence
            texts.append(f"{row['candidate']}: {sentence}" if is_unnamed else sentence)
        return tuple(texts)

    def printed(self) -> Result:
        """The answer, one table whose last column is the verdict, and at most three notes.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> comparison = compare(*demo_evaluations(), metrics="recall@5")
        >>> list(comparison.printed().frame)[-1], len(comparison.printed().notes)
        ('verdict', 1)
        """
        frame, answer = self.frame, self.summary
        if not answer:  # no rows, or effects, of which each has a baseline of its own
            return self
        family = _family_of(self.pairings)
        order = {  # what is shown comes first, quality before latency and cost
            "is_apart": frame["metric"].isin(family.outside),
            "word": frame["verdict"].map(_WORDS.index),
            "adjusted": frame["pvalue_adjusted"],
            "raw": frame["pvalue"],
        }
        first = [note for note in self.notes if is_doubt(note) and note not in self.key_notes]
        first += self.key_notes
        if len(set(frame["candidate"])) == 1:
            verdicts = of_shown(comparison_verdicts(self), shown.UNDECIDED)
            first += filter(None, [sentences.undecided_text(verdicts)])
        correction = str(self.settings["correction"])
        basis = sentences.basis_text(frame, self.plan, correction, family)
        n = max((pairing.n_common for pairing in self.pairings), default=int(frame["n"].max()))
        answer = f"{answer[:-1]} ({sentences.counted(n, 'query', 'queries')}){answer[-1]}"
        notes = [*first[: _MOST_NOTES - 1], basis]
        return answer_table(self, answer, _PRINTED, order, notes)

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
        self, metric: str, candidate: str | None = None, *, k: int | None = None
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
        return self._changed_queries(metric, candidate, k, better=False)

    def improvements(
        self, metric: str, candidate: str | None = None, *, k: int | None = None
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
        return self._changed_queries(metric, candidate, k, better=True)

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

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> comparison = compare(*demo_evaluations(), metrics="faithfulness")
        >>> comparison.gate("no_regression(faithfulness, margin=0.1)").passed
        True
        """
        return gate_comparison(self, *rules, correct=correct)

    def report(self, **options: Unpack[arguments.ReportKeywords]) -> Report:
        """The report file: verdicts, tables, pictures, slices, and every query in one page.

        Parameters
        ----------
        **options
            ``title``, ``by``, ``correct``, ``k``, ``pictures``, ``longest_text`` and the settings
            of the means, as in `rageval_report.reports.report_comparison`.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> compare(*demo_evaluations(), metrics="recall@5").report(pictures=False)
        Report('hybrid against bm25', 3 verdicts, 6 sections, 202 queries)
        """
        check_options("Comparison.report()", options, arguments.ReportKeywords.__annotations__)
        report: Report = load("rageval_report.reports:report_comparison")(self, **options)
        return report

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
        self, metric: str, candidate: str | None, k: int | None, *, better: bool
    ) -> pd.DataFrame:
        if k is not None:
            check_integer("k", k, 1)
        pairing, *pair = self._pair(metric, candidate)
        changed: pd.DataFrame = pairing.changed(tuple(pair), k, better=better)
        return changed

    # Any: a pairing of scans has the names of a `Pairing`.
    def _pair(self, metric: str, candidate: str | None) -> tuple[Any, Metric, Metric]:
        by_name = {pairing.candidate.name: pairing for pairing in self.pairings}
        if candidate is None and len(by_name) > 1:
            raise DataError(
                f"candidate is required, because there are several candidates: {', '.join(by_name)}"
            )
        if candidate is not None and candidate not in by_name:
            raise UnknownNameError("candidate", candidate, by_name)
        pairing = by_name[candidate] if candidate is not None else self.pairings[0]
        known = {ours.name: (ours, theirs) for ours, theirs in pairing.metrics}
        return (pairing, *known[resolver(known)(metric)])


class CompareKeywords(TypedDict, total=False):
    """The keywords of `compare`."""

    metrics: str | Iterable[str] | None
    test: str
    correction: str
    confidence_level: float
    missing: MissingTreatment
    clusters: arguments.Clusters | None
    seed: int
    margin: paired_metric.Margin | None
    margin_method: MarginMethod
    n_resamples: int
    on: str | None
    tried: int


def compare(
    baseline: arguments.ScoredOrScanned,
    *candidates: arguments.ScoredOrScanned,
    metrics: str | Iterable[str] | None = None,
    test: str = "auto",
    correction: str = "holm",
    confidence_level: float = 0.95,
    missing: MissingTreatment = "drop",
    clusters: arguments.Clusters | None = None,
    seed: int = 0,
    margin: paired_metric.Margin | None = None,
    margin_method: MarginMethod = "auto",
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
        McNemar's mid-p); else "t", "bootstrap", "wilcoxon", or another name of the table
        ``rageval_report.stats.TESTS``. The interval inverts the test, or belongs to it.
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
    margin : float or mapping of str to float, optional
        A difference too small to matter, for all metrics or by metric. Without it no verdict says
        "equivalent".
    margin_method : {"auto", "t", "strict"}
        The method of the test against the margin, and of `no_regression` in gates. "auto" is the
        sign-flip test at the margin (for 0/1 scores McNemar's). It sees only losses that were
        sampled; "strict" also counts those that were not, and needs the bounds of the metric. See
        `rageval_report.stats.equivalence_test`.
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
        estimates, but neither a p-value nor an interval of the difference. With a margin,
        ``margin_method`` is the method that was used.

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
        check_evaluations([baseline], "compare(*runs)", "baseline")
        raise DataError(
            "candidates must hold at least one evaluation to compare with the baseline; got none"
        )
    runs: tuple[Any, ...] = (baseline, *candidates)
    runs = arguments.scans_among(runs, "compare()") or check_evaluations(
        runs, "compare(baseline, *candidates)", "baseline", "candidates"
    )
    check_unique_names(runs)
    first: Any = runs[0]
    others = runs[1:]
    if isinstance(margin, Mapping):
        resolve = resolver(first.metrics)
        margin = {resolve(name): size for name, size in margin.items()}
    plan = paired_metric.ComparisonPlan(
        test=test,
        confidence_level=confidence_level,
        missing=missing,
        margin=margin,
        margin_method=margin_method,
        n_resamples=n_resamples,
        seed=seed,
        tried=check_integer("tried", tried, 1),
    )
    if tried <= len(others):  # all that were tried are compared: the correction counts them
        plan = replace(plan, tried=1)
    pairings: tuple[Any, ...]
    if arguments.is_scan(first):
        pairings, units = first.pair_with(others, (metrics, plan.missing, clusters, on))
    else:
        matched = others if on is None else [align.match_queries(run, first, on) for run in others]
        pairings = tuple(pair_runs(first, run, metrics) for run in matched)
        is_compared = None if clusters is None else compared_rows(pairings)
        units = arguments.resolve_units(first, clusters, is_compared)
    return compare_pairings(
        f"{', '.join(run.name for run in others)} against {first.name}",
        pairings,
        replace(plan, units=units),
        correction=correction,
        settings={
            **dialect_settings(runs),
            **arguments.clusters_setting(clusters),
            **arguments.engine_setting(first),
            **({} if on is None else {"on": on}),
        },
        notes=(
            *doubts_of(runs),
            *arguments.unnamed_clusters(first, clusters),
            *note_on_dialects(runs),
        ),
    )


def compare_pairings(
    title: str,
    pairings: tuple[Pairing, ...],
    plan: paired_metric.ComparisonPlan,
    *,
    correction: str,
    settings: Mapping[str, object] | None = None,
    notes: Iterable[str] = (),
) -> Comparison:
    """Test every metric of pairs of runs, with one correction over all of them."""
    correction = corrections.check_correction(correction)
    rows = [
        paired_metric.MetricComparison.of(pairing, ours, theirs, plan)
        for pairing in pairings
        for ours, theirs in pairing.metrics
    ]
    # Of several variants each keeps its share of the error rate, also those that are not compared.
    within = [row.names for row in rows] if plan.tried > 1 else []
    raw = np.array([row.bounded_pvalue for row in rows], dtype=np.float64)
    family = _family_of(pairings).tested([row.metric.name for row in rows], raw, within)
    frame = _table(rows, family, correction, plan, pairings[0].baseline)
    opening = [*notes, *_unchanged_notes(rows)]
    opening += sentences.direction_notes(row.metric for row in rows)
    own = {"correction": correction, "family_size": family.size}
    return Comparison(
        title,
        frame,
        {**plan.settings(), **own, **(settings or {})},
        # Several candidates may have the same note.
        (*opening, *dict.fromkeys(_notes(pairings, rows, plan, correction, family))),
        headline=tuple(name for name in _HEADLINE if len(pairings) > 1 or name != "candidate"),
        pairings=pairings,
        plan=plan,
        key_notes=tuple(opening),
    )


def _family_of(pairings: Iterable[Pairing]) -> CorrectionFamily:
    return CorrectionFamily.of(ours for pairing in pairings for ours, _ in pairing.metrics)


def _table(
    rows: Sequence[paired_metric.MetricComparison],
    family: CorrectionFamily,
    correction: str,
    plan: paired_metric.ComparisonPlan,
    baseline: Scored,
) -> pd.DataFrame:
    """The rows with what needs all of them: p-values of differences, and against a margin."""
    # Westfall-Young resamples the differences; margins have no such form, so Holm is used there.
    method = "holm" if correction == corrections.WESTFALL_YOUNG else correction

    def shared_flips(own: IndexArray) -> FloatArray:
        # The flips are drawn, and the test may be another one, but no adjusted p-value is smaller.
        drawn = _westfall_young([rows[place] for place in own], plan, len(baseline.scores))
        return np.asarray(np.fmax(drawn, family.pvalues[own]))

    adjusted = family.adjusted(method) if method == correction else family.correct(shared_flips)
    levels = family.levels_left(correction, plan.alpha_of_one).tolist()
    frame = pd.DataFrame([row.numbers() for row in rows])
    # NumPy's minimum keeps NaN, which means: not tested.
    frame["pvalue_adjusted"] = np.minimum(1.0, plan.tried * adjusted)
    frame["n_tests"] = family.sizes
    planned = [row.planning(level) for row, level in zip(rows, levels, strict=True)]
    parts = [frame, pd.DataFrame(planned)]
    if plan.margin is not None:
        against = pd.DataFrame([row.against_margin() for row in rows])
        for claim in ("equivalence", "non_inferiority"):
            tests = [row.claims.get(claim) for row in rows]
            pvalues = np.array([math.nan if test is None else test.pvalue for test in tests])
            corrected = np.minimum(1.0, plan.tried * family.adjusted(method, pvalues))
            against[f"{claim}_pvalue_adjusted"] = corrected
        parts.append(against)
    frame = pd.concat(parts, axis=1)
    records: list[Any] = frame.to_dict("records")
    frame["verdict"] = [shown.verdict_word(row, plan.alpha) for row in records]
    return frame[[*dict.fromkeys((*_COLUMNS, *frame))]]


def _westfall_young(
    rows: Sequence[paired_metric.MetricComparison],
    plan: paired_metric.ComparisonPlan,
    n_baseline: int,
) -> FloatArray:
    """Signs are flipped unit by unit, the same for all metrics and candidates."""
    # A missing pair is 0, which no flip of its sign changes.
    differences = np.zeros((n_baseline, len(rows)), order="F")
    for column, row in enumerate(rows):
        differences[row.known.rows, column] = row.known.differences
    by_unit = plan.units.sums(differences)
    # What was not tested for want of units is not a test.
    by_unit[:, [math.isnan(row.test.pvalue) for row in rows]] = math.nan
    half = [corrections.uses_midp(row.test.test) for row in rows]
    return corrections.westfall_young(by_unit, half_ties=half, **plan.draws)


# -- notes


def _unchanged_notes(rows: Sequence[paired_metric.MetricComparison]) -> Iterator[str]:
    """That a candidate has the scores of the baseline on every metric, which is rarely meant."""
    for names in dict.fromkeys(row.names for row in rows if row.pairs.n):
        if not any(row.pairs.by_query.n_changed for row in rows if row.names == names):
            same = f"{names[1]} and {names[0]} have the same scores on every metric"
            yield f"{same}: did the change reach the pipeline?"


def _notes(
    pairings: Sequence[Pairing],
    rows: Sequence[paired_metric.MetricComparison],
    plan: paired_metric.ComparisonPlan,
    correction: str,
    family: CorrectionFamily,
) -> Iterator[str]:
    """What a reader may know of pairing, tests and correction."""
    for pairing in pairings:
        yield from pairing.notes()
    metric_notes = [(row.metric.name, note) for row in rows for note in row.notes()]
    yield from sentences.group_notes(metric_notes, len({row.metric.name for row in rows}))
    if plan.tried > 1:
        yield (
            f"{plan.tried} variants were tried: p-values are multiplied by {plan.tried} after the "
            f"correction for metrics, and intervals are of {100 * plan.level_of_one:g} %"
        )
    elif family.size > 1:
        unit = "quality tests" if family.outside else "tests"
        yield sentences.correction_note(correction, family.size, plan.alpha, unit)
    yield from family.notes()

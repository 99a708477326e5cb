"""Check an evaluation, or a comparison, against rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import (
    Clusters,
    ScoredOrScanned,
    clusters_setting,
    engine_setting,
    is_percentile,
    is_scan,
    resolve_units,
    scans_among,
    unnamed_clusters,
)
from rageval_report.analysis.gates.columns import (
    GATE_MISSING,
    GatedRun,
    GateMissing,
    GateSettings,
    RunGateKeywords,
)
from rageval_report.analysis.gates.grammar import Rule, parse_rule
from rageval_report.analysis.gates.pair_figures import (
    MARGIN_METHOD,
    PlannedPairing,
    non_inferiority,
)
from rageval_report.analysis.gates.result import COLUMNS, HEADLINE, GateResult, gate_row
from rageval_report.analysis.gates.rule_outcomes import Outcome
from rageval_report.analysis.gates.rule_resolution import RuleRequest, Subject, resolve_rule
from rageval_report.analysis.paired_metric import ComparisonLike, ComparisonPlan
from rageval_report.analysis.pairing import check_evaluations
from rageval_report.errors import DataError, check_choice, doubts_of
from rageval_report.reports.sentences import filled_notes
from rageval_report.scores import Correct
from rageval_report.scores.catalogue.dialects import (
    dialect_settings,
    note_on_percentiles,
    percentile_method,
)
from rageval_report.stats.base import check_level, check_resamples, check_seed
from rageval_report.stats.corrections import adjust_pvalues
from rageval_report.stats.equivalence import EquivalenceResult


def gate(
    evaluation: ScoredOrScanned,
    *rules: str | Rule,
    missing: GateMissing = "drop",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    correct: Correct | None = None,
    clusters: Clusters | None = None,
) -> GateResult:
    """Check a pipeline against rules.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation, or EvaluationScan
        A pipeline's scores.
    *rules : str
        Such as "ci_low(recall@5) >= 0.7". Figures: mean, median, p95 and every other percentile,
        min, max, std, n, unscored, share_below(metric, t), share_above(metric, t), correct; ci_low
        and ci_high of a metric's mean, or of another figure, as in ci_high(p95(latency_ms)); and
        what was added to ``rageval_report.analysis.gates.figures.FIGURES``. Operators:
        >= > <= < ==; numbers such as 0.8 or 80%.
    missing : {"drop", "worst"}
        An unscored query is left out, or takes the worst possible score. Queries to which a metric
        does not apply are left out in either case.
    confidence_level : float
        The level of the intervals.
    n_resamples, seed : int
        For intervals that resample.
    correct : see `correctness`, optional
        What a correct answer is; the evaluation's own rule if omitted.
    clusters : str, Series or mapping, optional
        A detail column, or labels by query id: queries with the same label are not independent.
        The intervals of means and shares are then those of CR2, and a percentile has none.

    Returns
    -------
    GateResult
        One row per rule; a rule on a metric without a score is "not evaluated" and does not hold.

    Raises
    ------
    RuleError
        If a rule makes no sense; the message points at the character.
    DataError
        If there is no rule, or a setting makes no sense.

    Notes
    -----
    ``unscored`` is a share of the queries to which the metric applies. A value that differs from
    the threshold only by rounding, 1e-12, equals it.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> scores = {"query_id": list("abcd"), "faithfulness": [0.9, 0.6, None, 0.9]}
    >>> result = gate(
    ...     RAGPipelineEvaluation("v1", scores),
    ...     "mean(faithfulness) >= 0.75",
    ...     "unscored(faithfulness) <= 20%",
    ... )
    >>> result.passed, result.frame["value"].round(2).tolist()
    (False, [0.8, 0.25])
    """
    run: Any
    [run] = scans_among((evaluation,), "gate()") or check_evaluations(
        (evaluation,), "gate(evaluation, *rules)"
    )
    settings = gate_settings(
        missing=missing,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
        correct=correct,
        clusters=clusters,
    )
    gated = (
        run.gated(settings)
        if is_scan(run)
        else GatedRun(run, settings, resolve_units(run, clusters))
    )
    outcomes = _evaluate_rules([Subject(gated)], rules)
    result = _gate_result(
        f"Gates of {run.name}",
        outcomes,
        settings,
        (*doubts_of((run,)), *unnamed_clusters(run, clusters)),
    )
    return replace(result, settings={**result.settings, **engine_setting(run)})


def gate_settings(**options: Unpack[RunGateKeywords]) -> GateSettings:
    """The settings of a gate, checked.

    Parameters
    ----------
    **options
        As in `gate`.
    """
    settings = GateSettings(**options)
    check_choice("missing", settings.missing, GATE_MISSING)
    check_level(settings.confidence_level)
    check_resamples(settings.n_resamples)
    check_seed(settings.seed)
    return settings


def gate_comparison(
    comparison: ComparisonLike, *rules: str | Rule, correct: Correct | None = None
) -> GateResult:
    """Check the candidates of a comparison against rules.

    Parameters
    ----------
    comparison : Comparison
        Its settings apply here too: confidence level, treatment of missing scores, clusters, seed.
    *rules : str
        Such as "no_regression(faithfulness, margin=0.02)". Besides the figures of `gate`, which
        describe each candidate: no_regression(metric, margin=), difference, pvalue,
        pvalue_adjusted, wins, losses, ties; ci_low and ci_high of a difference, as in
        ci_low(difference(recall@5)).
    correct : see `correctness`, optional
        What a correct answer is; each candidate's own rule if omitted.

    Returns
    -------
    GateResult
        One row per rule and candidate, with ``pvalue``, ``pvalue_adjusted`` and
        ``margin_method`` of the no_regression rules.

    Raises
    ------
    RuleError
        If a rule makes no sense; the message points at the character.

    Notes
    -----
    no_regression holds if a test of non-inferiority shows that the candidate is not worse by the
    margin or more; the p-values of all such rules of one call are Holm-adjusted. The margin is an
    amount of the metric, whose direction decides which way is worse. The method of the test is that
    of the rule, no_regression(faithfulness, margin=0.02, margin_method=strict), or else that of the
    comparison. On fewer than six queries, or clusters, a rule on a difference is not evaluated.

    Examples
    --------
    >>> from rageval_report.demo import demo_evaluations
    >>> from rageval_report import compare
    >>> result = gate_comparison(
    ...     compare(*demo_evaluations()), "no_regression(recall@5, margin=2%)", "losses(mrr) <= 90"
    ... )
    >>> result.frame["passed"].tolist()
    [True, True]
    """
    plan = comparison.plan
    settings = GateSettings(
        # "bounds" leaves unscored queries out too; its bounds are not part of a figure.
        missing="worst" if plan.missing == "worst" else "drop",
        confidence_level=plan.confidence_level,
        n_resamples=plan.n_resamples,
        seed=plan.seed,
        correct=correct,
    )
    subjects = [
        Subject(
            _gated_candidate(pairing, settings, plan), comparison, PlannedPairing(pairing, plan)
        )
        for pairing in comparison.pairings
    ]
    runs = [run for pairing in comparison.pairings for run in (pairing.baseline, pairing.candidate)]
    hints = unnamed_clusters(runs[0], comparison.settings.get("clusters"))
    outcomes = _evaluate_rules(subjects, rules)
    choice = () if plan.tried == 1 else (f"corrected for the best of {plan.tried} variants",)
    notes = (*dict.fromkeys(doubts_of(runs)), *hints, *choice)
    result = _gate_result(f"Gates of {comparison.title}", outcomes, settings, notes)
    claims: dict[str, list[Any]] = {
        "pvalue": _claim_pvalues(outcomes),
        "pvalue_adjusted": [outcome.pvalue_adjusted for outcome in outcomes],
        MARGIN_METHOD: [outcome.test and outcome.test.method for outcome in outcomes],
    }
    kept = ("clusters", "engine")
    all_settings = {
        **plan.settings(),
        **result.settings,
        **{name: value for name, value in comparison.settings.items() if name in kept},
        "no_regression_family": _count_claims(outcomes),
    }
    return replace(result, frame=result.frame.assign(**claims), settings=all_settings)


def _gated_candidate(pairing: Any, settings: GateSettings, plan: ComparisonPlan) -> GatedRun:
    if is_scan(pairing.candidate):
        run: GatedRun = pairing.candidate.gated(settings, with_clusters=plan.units.are_clusters)
        return run
    return GatedRun(pairing.candidate, settings, pairing.units_of_candidate(plan.units))


def _evaluate_rules(subjects: Sequence[Subject], rules: Sequence[str | Rule]) -> list[Outcome]:
    if not rules:
        raise DataError(
            'rules must hold at least one rule, such as "mean(faithfulness) >= 0.8"; got none'
        )
    parsed = [parse_rule(rule) for rule in rules]
    # All rules are resolved before the first is measured: a misspelt one fails at once.
    requests = [(subject, resolve_rule(rule, subject)) for subject in subjects for rule in parsed]
    return _adjust_claims([_evaluate(subject, request) for subject, request in requests])


def _evaluate(subject: Subject, request: RuleRequest) -> Outcome:
    return Outcome(request, subject, subject.measure(request), _test_claim(subject, request))


def _test_claim(subject: Subject, request: RuleRequest) -> EquivalenceResult | None:
    if not request.is_claim or request.metric is None:
        return None
    pair = subject.pair(request.metric)
    if pair is None:
        return None
    return non_inferiority(pair, request.numbers["margin"], request.words.get(MARGIN_METHOD))


def _adjust_claims(outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes, with the p-values of all claims adjusted together, and for a choice."""
    adjusted = adjust_pvalues(_claim_pvalues(outcomes), method="holm")
    n_claims = _count_claims(outcomes)
    return [
        replace(
            outcome,
            # NumPy's minimum keeps NaN, which means: not tested.
            pvalue_adjusted=float(np.minimum(1.0, _tried(outcome.subject) * pvalue)),
            family_size=n_claims,
        )
        for outcome, pvalue in zip(outcomes, adjusted, strict=True)
    ]


def _tried(subject: Subject) -> int:
    """The number of variants of which the pipeline is the best."""
    return 1 if subject.comparison is None else subject.comparison.plan.tried


def _claim_pvalues(outcomes: Sequence[Outcome]) -> list[float]:
    """The p-value of each claim; NaN for the other rules."""
    tests = [outcome.test for outcome in outcomes]
    return [math.nan if test is None else test.pvalue for test in tests]


def _count_claims(outcomes: Sequence[Outcome]) -> int:
    return sum(map(math.isfinite, _claim_pvalues(outcomes)))


def _gate_result(
    title: str, outcomes: list[Outcome], settings: GateSettings, notes: tuple[str, ...]
) -> GateResult:
    frame = pd.DataFrame([gate_row(outcome) for outcome in outcomes], columns=list(COLUMNS))
    several = len({outcome.subject.name for outcome in outcomes}) > 1
    runs = {id(run): run for run in (outcome.subject.run.evaluation for outcome in outcomes)}
    return GateResult(
        title,
        frame,
        {
            "missing": settings.missing,
            "confidence_level": settings.confidence_level,
            "n_resamples": settings.n_resamples,
            "seed": settings.seed,
            **clusters_setting(settings.clusters),
            **dialect_settings(runs.values()),
        },
        (*notes, *dict.fromkeys(_notes(outcomes))),
        headline=HEADLINE,
        grouped_by="pipeline" if several else "",
        outcomes=tuple(outcomes),
    )


def _notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    n_claims = _count_claims(outcomes)
    if n_claims > 1:
        yield f"p-values of no_regression are adjusted (holm) over the {n_claims} such rules"
    for outcome in outcomes:
        yield from _correct_notes(outcome)
        yield from _missing_notes(outcome)
        yield from _limit_notes(outcome)
        yield from _percentile_notes(outcome)
        yield from outcome.notes()


def _missing_notes(outcome: Outcome) -> Iterator[str]:
    request, n = outcome.request, outcome.measurement.n_unscored
    fills_missing = outcome.subject.run.settings.missing == "worst"
    if fills_missing and n and not request.figure.counts_missing and request.figure.of != "pair":
        what = request.name if request.metric is None else request.metric.name
        yield from (f"{what}: {note}" for note in filled_notes(n))


def _correct_notes(outcome: Outcome) -> Iterator[str]:
    """What is correct, if a rule counts correct answers."""
    if outcome.request.name == "correct":
        sentence = outcome.subject.run.declare_correct()
        if sentence is not None:
            yield sentence


def _percentile_notes(outcome: Outcome) -> Iterator[str]:
    if is_percentile(outcome.request.name):
        evaluation = outcome.subject.run.evaluation
        yield from note_on_percentiles(evaluation, percentile_method(evaluation))


def _limit_notes(outcome: Outcome) -> Iterator[str]:
    """A limit means the same with and without a baseline; a note says so, as it may surprise."""
    request = outcome.request
    is_mean_limit = request.limit and request.name == "mean"
    if is_mean_limit and outcome.subject.comparison and request.metric:
        yield (
            f"{request.text} is a limit of {outcome.subject.name}'s mean; the limit of the "
            f"difference is {request.limit}(difference({request.metric.name}))"
        )

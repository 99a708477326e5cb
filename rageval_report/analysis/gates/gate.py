"""Hold an evaluation, or a comparison, to rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from rageval_report.analysis.comparing.metric_comparison import ComparisonLike
from rageval_report.analysis.gates.figures import MISSING, GatedRun, GateSettings, Missing
from rageval_report.analysis.gates.grammar import Rule, parse_rule
from rageval_report.analysis.gates.pair_figures import non_inferiority
from rageval_report.analysis.gates.result import COLUMNS, HEADLINE, GateResult, record
from rageval_report.analysis.gates.rule_outcomes import Outcome
from rageval_report.analysis.gates.rule_resolution import ResolvedRule, Subject, resolve_rule
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import Correct, Scored
from rageval_report.stats import adjust_pvalues
from rageval_report.stats.base import check_level, check_resamples, check_seed
from rageval_report.stats.pairs.equivalence import EquivalenceResult

_COUNTED = frozenset(("n", "unscored"))


def gate(
    evaluation: Scored,
    *rules: str | Rule,
    missing: Missing = "drop",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    correct: Correct | None = None,
) -> GateResult:
    """Hold a pipeline to rules.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores.
    *rules : str
        As "ci_low(recall@5) >= 0.7". Figures: mean, median, p95 and every other percentile, min,
        max, std, n, unscored, share_below(metric, t), share_above(metric, t), correct; ci_low and
        ci_high of a metric's mean, or of another figure, as ci_high(p95(latency_ms)). Operators:
        >= > <= < ==; numbers as 0.8 or 80%.
    missing : {"drop", "worst"}
        What an unscored query becomes: it is left out, or takes the worst possible score. Queries
        that a metric is not about are left out in either case.
    confidence_level : float
        Of the intervals.
    n_resamples, seed : int
        For intervals that resample.
    correct : see `correctness`, optional
        What a correct answer is; the evaluation's own rule where not given.

    Returns
    -------
    GateResult
        One row a rule; a rule on a metric that has no score is "not evaluated" and does not hold.

    Raises
    ------
    RuleError
        If a rule makes no sense; the message points at the character.
    DataError
        If there is no rule, or a setting makes no sense.

    Notes
    -----
    ``unscored`` is the share of the queries that the metric is about. What differs from the
    threshold by rounding alone, 1e-12, equals it.

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
    if missing not in MISSING:
        raise UnknownNameError("way to treat missing scores", str(missing), MISSING)
    settings = GateSettings(
        missing=missing,
        confidence_level=check_level(confidence_level),
        n_resamples=check_resamples(n_resamples),
        seed=check_seed(seed),
        correct=correct,
    )
    outcomes = _outcomes([Subject(GatedRun(evaluation, settings))], rules)
    return _result(f"Gates of {evaluation.name}", outcomes, settings)


def gate_comparison(
    comparison: ComparisonLike, *rules: str | Rule, correct: Correct | None = None
) -> GateResult:
    """Hold the candidates of a comparison to rules.

    Parameters
    ----------
    comparison : Comparison
        Its settings hold here too: confidence level, what becomes of missing scores, seed.
    *rules : str
        As "no_regression(faithfulness, margin=0.02)". Beside the figures of `gate`, which are
        asked of each candidate: no_regression(metric, margin=), difference, pvalue,
        pvalue_adjusted, wins, losses, ties; ci_low and ci_high of a difference, as
        ci_low(difference(recall@5)).
    correct : see `correctness`, optional
        What a correct answer is; each candidate's own rule where not given.

    Returns
    -------
    GateResult
        One row a rule and a candidate, with ``pvalue`` and ``pvalue_adjusted`` of the
        no_regression rules.

    Raises
    ------
    RuleError
        If a rule makes no sense; the message points at the character.

    Notes
    -----
    no_regression holds where a test of non-inferiority shows that the candidate is not worse by
    the margin or more; the p-values of all such rules of one call are Holm-adjusted. The margin
    is an amount of the metric, and which way is worse the metric's direction says.

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
        missing="worst" if plan.missing == "worst" else "drop",
        confidence_level=plan.confidence_level,
        n_resamples=plan.n_resamples,
        seed=plan.seed,
        correct=correct,
    )
    subjects = [
        Subject(GatedRun(pairing.candidate, settings), comparison, pairing)
        for pairing in comparison.pairings
    ]
    outcomes = _outcomes(subjects, rules)
    result = _result(f"Gates of {comparison.title}", outcomes, settings)
    pvalues = {
        "pvalue": [math.nan if one.test is None else one.test.pvalue for one in outcomes],
        "pvalue_adjusted": [one.pvalue_adjusted for one in outcomes],
    }
    told = {**plan.settings(), **result.settings, "no_regression_family": _family(outcomes)}
    return replace(result, frame=result.frame.assign(**pvalues), settings=told)


def _outcomes(subjects: Sequence[Subject], rules: Sequence[str | Rule]) -> list[Outcome]:
    if not rules:
        raise DataError('expected at least one rule, as "mean(faithfulness) >= 0.8"; got none')
    parsed = [parse_rule(rule) for rule in rules]
    asked = [(subject, resolve_rule(rule, subject)) for subject in subjects for rule in parsed]
    return _with_corrected([_outcome(subject, one) for subject, one in asked])


def _outcome(subject: Subject, asked: ResolvedRule) -> Outcome:
    return Outcome(asked, subject, subject.measure(asked), _test(subject, asked))


def _test(subject: Subject, asked: ResolvedRule) -> EquivalenceResult | None:
    pair = subject.pair(asked.metric) if asked.is_claim and asked.metric is not None else None
    return None if pair is None else non_inferiority(pair, asked.numbers["margin"])


def _with_corrected(outcomes: list[Outcome]) -> list[Outcome]:
    """The claims with p-values that are adjusted for all claims together."""
    pvalues = [math.nan if one.test is None else one.test.pvalue for one in outcomes]
    adjusted = adjust_pvalues(pvalues, method="holm")
    family = _family(outcomes)
    return [
        replace(one, pvalue_adjusted=float(pvalue), family_size=family)
        for one, pvalue in zip(outcomes, adjusted, strict=True)
    ]


def _family(outcomes: Sequence[Outcome]) -> int:
    return sum(one.test is not None for one in outcomes)


def _result(title: str, outcomes: list[Outcome], settings: GateSettings) -> GateResult:
    frame = pd.DataFrame([record(one) for one in outcomes], columns=list(COLUMNS))
    several = len({one.subject.name for one in outcomes}) > 1
    told = {
        "missing": settings.missing,
        "confidence_level": settings.confidence_level,
        "n_resamples": settings.n_resamples,
        "seed": settings.seed,
    }
    return GateResult(
        title,
        frame,
        told,
        tuple(dict.fromkeys(_notes(outcomes))),
        headline=HEADLINE,
        grouped_by="pipeline" if several else "",
        outcomes=tuple(outcomes),
    )


def _notes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    family = _family(outcomes)
    if family > 1:
        yield f"p-values of no_regression are adjusted (holm) over the {family} such rules"
    for outcome in outcomes:
        yield from _missing_notes(outcome)
        yield from _limit_notes(outcome)
        yield from outcome.notes()


def _missing_notes(outcome: Outcome) -> Iterator[str]:
    asked, n = outcome.asked, outcome.measured.n_unscored
    filled = outcome.subject.run.settings.missing == "worst" and asked.name not in _COUNTED
    if filled and n and asked.figure.of != "pair":
        what = asked.name if asked.metric is None else asked.metric.name
        yield f"{what}: {n} unscored {'query counts' if n == 1 else 'queries count'} as the worst"


def _limit_notes(outcome: Outcome) -> Iterator[str]:
    """A limit means the same with and without a baseline; where that may surprise it is said."""
    asked = outcome.asked
    if asked.limit and asked.name == "mean" and outcome.subject.comparison and asked.metric:
        yield (
            f"{asked.told} is of {outcome.subject.name}'s mean; of the difference it is "
            f"{asked.limit}(difference({asked.metric.name}))"
        )

"""Check an evaluation, or a comparison, against rules: whether each holds, and why."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, Self, TypeAlias, Unpack, get_args

import numpy as np
import pandas as pd

from rageval_report.analysis import arguments, gate_figures, paired_metric, report
from rageval_report.analysis.arguments import ScoredOrScanned, is_scan
from rageval_report.analysis.pairing import check_evaluations
from rageval_report.analysis.rules import Rule, RuleRequest, parse_rule, resolve_rule
from rageval_report.errors import DataError, GateError, check_choice, doubts_of
from rageval_report.reports.sentences import (
    counted,
    filled_notes,
    number,
    pvalue_text,
    rounded_count,
)
from rageval_report.results import Result, answer_of
from rageval_report.scores import Catalogue, Correct, normalise_name
from rageval_report.scores.catalogue import dialects
from rageval_report.scores.correct import declare_counts
from rageval_report.scores.query_ids import ANSWER, QUESTION, REFERENCE
from rageval_report.stats import base, corrections, units

PASSED, FAILED, NOT_EVALUATED = "passed", "failed", "not evaluated"
# Neither shown to hold nor shown not to hold: more queries would decide.
UNDECIDED = "undecided"
# The worst first, as a reader looks at them.
STATES = (FAILED, NOT_EVALUATED, UNDECIDED, PASSED)
UndecidedPolicy: TypeAlias = Literal["fail", "warn", "pass"]
UNDECIDED_POLICIES: tuple[UndecidedPolicy, ...] = get_args(UndecidedPolicy)
EXIT_UNDECIDED = 3  # not 2, which is wrong use
# More queries than this are not a plan.
_MOST_QUERIES_NAMED = 1_000_000
_HEADLINE = ("rule", "value", "ci_low", "ci_high", "n", "n_unscored", "state")

_PHRASES = {">=": "at least", ">": "above", "<=": "at most", "<": "below", "==": "equal to"}


def holds(value: float, operator: str, threshold: float) -> bool:
    """Whether a value is on the right side of a threshold, but for rounding."""
    if abs(value - threshold) <= base.TIE_TOLERANCE * max(1.0, abs(value), abs(threshold)):
        return "=" in operator
    return value > threshold if operator[0] == ">" else operator[0] == "<" and value < threshold


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of one rule on one pipeline."""

    request: RuleRequest
    run: gate_figures.GatedRun
    measurement: gate_figures.Measurement
    pvalue: float
    n_claims: int
    state: str
    level: float
    straddles: bool

    @property
    def passed(self) -> bool:
        """Whether the rule holds; one that could not be evaluated does not."""
        return self.state == PASSED

    @property
    def is_evaluated(self) -> bool:
        """Whether there is a value to judge by."""
        return not math.isnan(self.measurement.value)

    @property
    def few_queries(self) -> str:
        """How few queries a value that passes is of, if they say little about others."""
        measured, figure = self.measurement, self.request.figure
        is_known = figure.of == "pair" or (figure.queries is None and figure.of == "column")
        n_units = measured.n_clusters or measured.n
        if not self.passed or is_known or self.request.limit or n_units >= units.FEWEST_UNITS:
            return ""
        n, n_clusters = counted(measured.n, "query", "queries"), measured.n_clusters
        return f"only {counted(n_clusters, 'cluster') if n_clusters else n}"

    @cached_property
    def why(self) -> str:
        """One sentence: the value, the threshold, and the scores behind it."""
        request, measured, is_pair = self.request, self.measurement, self.request.is_pair
        n, n_unscored = measured.n, measured.n_unscored
        unscored = f", {n_unscored} {'left out' if is_pair else 'unscored'}" if n_unscored else ""
        if not self.is_evaluated:
            where = f" on {request.metric.name}" if request.metric else ""
            nothing = "no query is scored in both runs" if is_pair else "nothing is scored"
            reason = f"{n} scores give no such value{where}" if n else f"{nothing}{where}{unscored}"
            reason = measured.notes[0] if measured.is_impossible else measured.too_few or reason
            return f"{request.text} is {self.state}: {reason}"
        clusters = f" in {measured.n_clusters} clusters" if measured.n_clusters else ""
        basis = f"{n} {'paired' if is_pair else 'scored'}{clusters}{unscored}"
        if not (math.isnan(measured.low) or math.isnan(measured.high) or request.limit):
            test, level = measured.test, self.level
            name = (
                f"{100 * level:g} % CI"
                if test is None
                else paired_metric.interval_name(test, level)
            )
            basis += f"; {name} {number(measured.low)} to {number(measured.high)}"
        more = _more_to_decide(self) if self.state == UNDECIDED else ""
        if request.is_claim:
            return f"{_claim_sentence(self)} ({basis}){more}"
        if self.state == UNDECIDED and measured.without_spread:
            return (
                f"{request.text} is undecided: all {measured.without_spread} are equal, which does "
                f"not show how much others may differ: {number(measured.value)} ({basis})"
            )
        value, limit = distinct(measured.value, request.threshold)
        negation = "" if self.passed else "not "
        sentence = (
            f"{request.text} is {value}, {negation}{_PHRASES[request.operator]} {limit} ({basis})"
        )
        if self.state == UNDECIDED:
            return f"too few queries to decide: {sentence}{more}"
        straddles = "the interval contains the threshold" if self.straddles else ""
        return "; ".join(filter(None, (sentence, straddles, self.few_queries)))

    def row(self) -> dict[str, object]:
        """The row of the table."""
        request, measured = self.request, self.measurement
        return {
            "rule": request.rule.text,
            "figure": request.figure_label,
            "metric": None if request.metric is None else request.metric.name,
            "value": measured.value,
            "ci_low": measured.low,
            "ci_high": measured.high,
            "operator": request.operator,
            "threshold": request.threshold,
            "n": measured.n,
            "n_unscored": measured.n_unscored,
            "passed": self.passed,
            "why": self.why,
            "state": self.state,
            "pipeline": self.run.name,
            "confidence_level": self.level,
        }

    def notes(self) -> Iterator[str]:
        """What a reader of the table must know of this rule."""
        request, measured, run = self.request, self.measurement, self.run
        text, figure = request.text, request.figure
        name = request.metric.name if request.metric else request.name
        if request.name == "correct":
            notion = run.notion()
            yield declare_counts(run.sample, notion, run.count_correct(notion))
        if run.settings.missing == "worst" and not (request.is_pair or figure.counts_missing):
            yield from (f"{name}: {note}" for note in filled_notes(measured.n_unscored))
        if self.few_queries:
            yield f"{text}: {self.few_queries}; at least {units.FEWEST_UNITS} are needed"
        yield from (f"{text}: {note}" for note in measured.notes)


def _judge(
    request: RuleRequest,
    run: gate_figures.GatedRun,
    measured: gate_figures.Measurement,
    pvalue: float,
    n_claims: int,
) -> Outcome:
    """What becomes of a rule, once the p-values of all claims are adjusted."""
    alpha = run.settings.alpha
    operator, threshold = request.operator, request.threshold
    passed, is_open, straddles = holds(measured.value, operator, threshold), False, False
    if request.is_claim:
        passed, is_open = pvalue <= alpha, not (measured.test and measured.test.is_below)
    elif request.limit and measured.without_spread:
        # No interval of zero width opens a gate: equal values do not show how others differ.
        passed, is_open = False, passed
    elif request.limit:
        other = measured.high if request.limit == "ci_low" else measured.low
        is_open = holds(other, operator, threshold)
    else:
        # A rule on a value, such as a mean, asks for that of these queries, which is known.
        straddles = measured.low < threshold < measured.high
    state = PASSED if passed else UNDECIDED if is_open else FAILED
    if measured.too_few or math.isnan(measured.value):
        # A rule on too few queries is undecided, and its value is not shown.
        few = measured.n > 0 and not measured.is_impossible
        state, straddles = UNDECIDED if few else NOT_EVALUATED, False
        measured = replace(measured, value=math.nan)
    # A claim is tested on one side, so its interval has twice the error rate.
    level = round(1 - (2 if request.is_claim else 1) * alpha, 12)
    if math.isnan(measured.low) and math.isnan(measured.high):
        level = math.nan
    return Outcome(request, run, measured, pvalue, n_claims, state, level, straddles)


# -- in words


def distinct(value: float, threshold: float) -> tuple[str, str]:
    """Both numbers in as few digits as distinguish them."""
    digits = (d for d in range(4, 17) if f"{value:.{d}g}" != f"{threshold:.{d}g}")
    return f"{value:.{next(digits, 4)}g}", f"{threshold:g}"


def _claim_sentence(outcome: Outcome) -> str:
    """The answer of a claim with its numbers, such as "v2 loses less than 0.1 on f1"."""
    request, test = outcome.request, outcome.measurement.test
    margin, name = number(request.arguments["margin"]), outcome.run.name
    where = f" on {request.metric.name}" if request.metric else ""
    change = "loses less than" if request.rises else "rises by less than"
    loss = f"too few queries: the true loss of {name}{where} may be above or below {margin}"
    answers = {
        PASSED: f"{name} {change} {margin}{where}",
        FAILED: f"{name} is worse{where} by more than {margin}",
    }
    kind = f"Holm-adjusted over {outcome.n_claims} rules p" if outcome.n_claims > 1 else "p"
    shown = f"{kind} {pvalue_text(outcome.pvalue)}"
    if test is not None and test.untestable:
        loss, shown = f"whether {name} is worse{where} by {margin} is open", test.untestable
    difference = number(outcome.measurement.value)
    return f"{answers.get(outcome.state, loss)}: difference {difference}, {shown}"


def _more_to_decide(outcome: Outcome) -> str:
    """How many more queries would decide if the value stays as it is; empty if none would."""
    measured, threshold = outcome.measurement, outcome.request.threshold
    value = measured.estimate if outcome.request.limit else measured.value
    gap = abs(value - threshold)
    reach = value - measured.low if value > threshold else measured.high - value
    more = measured.n * ((reach / gap) ** 2 - 1.0) if gap > 0.0 and math.isfinite(reach) else 0.0
    if not 0.0 < more <= _MOST_QUERIES_NAMED:
        return ""
    return f"; about {rounded_count(max(1, math.ceil(more)))} more queries would decide"


def failing_queries(outcome: Outcome) -> Result | None:
    """The queries to look at if a rule failed, worst first: failures, or regressions."""
    request, metric = outcome.request, outcome.request.metric
    run: Any = outcome.run
    if outcome.passed or metric is None or request.figure.queries is None:
        return None
    if request.is_pair:
        frame, notes = run.comparison.regressions(metric.name, run.name), tuple[str, ...]()
        first, where = [*map(str, frame.columns[:3])], "worse"
    else:
        # A share of scores has its cut in the brackets; the threshold of its rule is a share.
        cut = float(request.arguments.get("threshold", request.threshold))
        of_memory = partial(report.failures, run.evaluation)
        failures = run.evaluation.failures if is_scan(run.evaluation) else of_memory
        listed: Result = failures(metric.name, cut)
        frame, notes = listed.frame, listed.notes[:1]
        first, where = [metric.name], f"{'below' if request.rises else 'above'} {cut:g}"
    if frame.empty:
        return None
    known = tuple(f"_{text}" for text in (*QUESTION, *ANSWER, *REFERENCE))
    texts = [name for name in frame if f"_{normalise_name(str(name))}".endswith(known)]
    return Result(
        f"{counted(len(frame), 'query', 'queries')} {where} on {metric.name}",
        frame[[*first, *(name for name in texts if name not in first)]],
        {"rule": request.rule.text, "of": run.name},
        notes,
    )


# -- the result


@dataclass(frozen=True, eq=False, repr=False)
class GateResult(Result):
    """Whether a pipeline passes its gates: one row per rule."""

    outcomes: tuple[Outcome, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every rule holds; one that could not be evaluated does not."""
        return bool(self.frame["passed"].all())

    def __bool__(self) -> bool:
        return self.passed

    @property
    def state(self) -> str:
        """In a word: "passed", "undecided" if some rules are and no other fails, or "failed"."""
        worst = min(self.frame["state"], key=STATES.index)
        return FAILED if worst == NOT_EVALUATED else str(worst)

    def exit_code(self, undecided: UndecidedPolicy = "fail") -> int:
        """The exit code of a command: 0 if the gates let pass, 1 if they fail, 3 if undecided."""
        check_choice("undecided", undecided, UNDECIDED_POLICIES)
        if self.state == UNDECIDED:
            return EXIT_UNDECIDED if undecided == "fail" else 0
        return int(self.state == FAILED)

    @property
    def summary(self) -> str:
        """How many gates fail, and which."""
        frame, n, parts = self.frame, len(self.frame), list[str]()
        who = "The candidates" if self.grouped_by else frame["pipeline"].iloc[0]
        if self.passed:
            return f"{who} {'pass' if self.grouped_by else 'passes'} {_gates(n, n)}."
        broken = frame[~frame["passed"]]
        for state in STATES[:-1]:
            own = broken[broken["state"] == state]
            rules = own["rule"].unique().tolist()
            why = f" ({', '.join(rules[:3])}{', ...' if len(rules) > 3 else ''})"
            why = f": {broken['why'].item()}" if len(broken) == 1 else why
            fails = f"{who} {'fail' if self.grouped_by else 'fails'} {_gates(len(own), n)}"
            others = f"{_gates(len(own), n)} {'is' if len(own) == 1 else 'are'} {state}"
            parts += [(fails if state == FAILED else others) + why] if len(own) else []
        return f"{'; '.join(parts)}."

    def printed(self) -> Result:
        """The answer, one table whose last column is the state, and at most three notes."""
        order = self.frame["state"].map(STATES.index).sort_values(kind="stable").index
        return answer_of(self, self.summary, self.frame.loc[order].reset_index(drop=True))

    def with_notes(self, *notes: str) -> Self:
        """The same result with more notes, but for those on metrics that no rule is about."""
        return super().with_notes(*_notes_on(notes, self.outcomes))

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence per rule, those that do not hold first and in capitals."""
        rows = sorted(self.frame[["state", "why"]].values, key=lambda row: STATES.index(row[0]))
        return tuple(f"{s if s == PASSED else s.upper()}: {why}" for s, why in rows)

    def check(self) -> Self:
        """Return this result, or raise a `GateError` that says why a rule does not hold."""
        if self.passed:
            return self
        broken = self.frame[~self.frame["passed"]]
        reasons = "; ".join(broken["why"])
        raise GateError(f"{len(broken)} of {len(self.frame)} gates do not hold: {reasons}")

    def failing_queries(self) -> tuple[Result, ...]:
        """The queries to look at for each rule that does not hold, worst first."""
        results = map(failing_queries, self.outcomes)
        return tuple(result for result in results if result is not None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, with ``passed`` for all rules together."""
        return {**super().to_dict(), "passed": self.passed}


# -- the gates


def _gates(n: int, n_all: int) -> str:
    """How many of the gates, such as "2 of 5 gates"."""
    if n_all == 1:
        return "the gate"
    return f"all {n} gates" if n == n_all else f"{n} of {n_all} gates"


def gate(
    evaluation: ScoredOrScanned,
    *rules: str | Rule,
    **keywords: Unpack[gate_figures.RunGateKeywords],
) -> GateResult:
    """Check a pipeline against rules."""
    run: Any
    [run] = arguments.scans_among((evaluation,), "gate()") or check_evaluations(
        (evaluation,), "gate(evaluation, *rules)", "evaluation"
    )
    settings = gate_figures.GateSettings(**keywords)
    units = arguments.resolve_units(run, settings.clusters)
    gated = gate_figures.GatedRun(run, settings, units)
    notes = (*doubts_of((run,)), *arguments.unnamed_clusters(run, settings.clusters))
    result = _check_rules(f"Gates of {run.name}", [gated], rules, notes)
    return replace(result, settings={**result.settings, **arguments.engine_setting(run)})


def gate_comparison(
    comparison: paired_metric.ComparisonLike, *rules: str | Rule, correct: Correct | None = None
) -> GateResult:
    """Check the candidates of a comparison against rules; see `Comparison.gate`."""
    plan, pairings, gated = comparison.plan, comparison.pairings, []
    # "bounds" leaves unscored queries out too; its bounds are not part of a figure.
    missing: gate_figures.GateMissing = "worst" if plan.missing == "worst" else "drop"
    draws = plan.confidence_level, plan.n_resamples, plan.seed
    settings = gate_figures.GateSettings(*draws, missing, correct)
    for pairing in pairings:
        run: Any = pairing.candidate
        units = pairing.units_of_candidate(plan.units)
        gated.append(gate_figures.GatedRun(run, settings, units, comparison, pairing))
    runs = [run for pairing in pairings for run in (pairing.baseline, pairing.candidate)]
    hints = arguments.unnamed_clusters(runs[0], comparison.settings.get("clusters"))
    choice = () if plan.tried == 1 else (f"corrected for the best of {plan.tried} variants",)
    notes = (*dict.fromkeys(doubts_of(runs)), *hints, *choice)
    result = _check_rules(f"Gates of {comparison.title}", gated, rules, notes, plan.tried)
    tests = [outcome.measurement.test for outcome in result.outcomes]
    claims: dict[str, list[Any]] = {
        "pvalue": [test.pvalue if test else math.nan for test in tests],
        "pvalue_adjusted": [outcome.pvalue for outcome in result.outcomes],
        gate_figures.MARGIN_METHOD: [test and test.method for test in tests],
    }
    kept = {k: v for k, v in comparison.settings.items() if k in ("clusters", "engine")}
    family = {"no_regression_family": result.outcomes[0].n_claims}
    settings_of_all = {**plan.settings(), **result.settings, **kept, **family}
    return replace(result, frame=result.frame.assign(**claims), settings=settings_of_all)


def _check_rules(
    title: str,
    runs: list[gate_figures.GatedRun],
    rules: Iterable[str | Rule],
    notes: tuple[str, ...],
    tried: int = 1,
) -> GateResult:
    parsed, settings = [parse_rule(rule) for rule in rules], runs[0].settings
    if not parsed:
        raise DataError(
            'rules must hold at least one rule, such as "mean(faithfulness) >= 0.8"; got none'
        )
    # All rules are resolved before the first is measured: a misspelt one fails at once.
    requests = [(resolve_rule(rule, run), run) for run in runs for rule in parsed]
    measured = [(request, run, request.measure(run)) for request, run in requests]
    raw = np.array([value.test.pvalue if value.test else math.nan for *_, value in measured])
    n_claims = int(np.isfinite(raw).sum())
    # NumPy's minimum keeps NaN, which means: not tested.
    pvalues = np.minimum(1.0, tried * corrections.adjust_pvalues(raw, method="holm"))
    outcomes = tuple(
        _judge(*parts, float(pvalue), n_claims)
        for parts, pvalue in zip(measured, pvalues, strict=True)
    )
    family = f"p-values of no_regression are adjusted (holm) over the {n_claims} such rules"
    own = dict.fromkeys(note for outcome in outcomes for note in outcome.notes())
    return GateResult(
        title,
        pd.DataFrame([outcome.row() for outcome in outcomes]),
        {
            "missing": settings.missing,
            **settings.keywords,
            **arguments.clusters_setting(settings.clusters),
            **dialects.dialect_settings([run.evaluation for run in runs]),
        },
        (*_notes_on(notes, outcomes), *own, *([family] if n_claims > 1 else [])),
        headline=_HEADLINE,
        grouped_by="pipeline" if len(runs) > 1 else "",
        outcomes=outcomes,
    )


def _notes_on(notes: Iterable[str], outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The notes, but for those whose first subject is a metric that no rule is about."""
    about, names = set[str](), set[str]()
    for outcome in outcomes:
        own = set(outcome.run.evaluation.metrics)
        metric = outcome.request.metric
        about |= own if metric is None else {metric.name}
        names |= own | about
    # A name that is a plain word may stand in any sentence, so it counts in quotes alone.
    find = Catalogue().find
    words = [re.escape(n) if find(n) or not n.isalpha() else f"'{n}'" for n in names]
    longest_first = "|".join(sorted(words, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w@.-])({longest_first})(?![\w@])")
    firsts = ((note, pattern.search(note)) for note in notes)
    yield from (n for n, first in firsts if not first or first[1].strip("'") in about)

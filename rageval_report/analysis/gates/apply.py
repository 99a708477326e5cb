"""A file of gates applied to an evaluation, alone or against a baseline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack, cast

from rageval_report.analysis.arguments import ScoredOrScanned
from rageval_report.analysis.compare import compare
from rageval_report.analysis.gates.columns import GateKeywords
from rageval_report.analysis.gates.gate import gate
from rageval_report.analysis.gates.gates_file import Gates
from rageval_report.analysis.gates.result import GateResult
from rageval_report.errors import check_options


def apply_gates(
    gates: Gates, evaluation: ScoredOrScanned, baseline: ScoredOrScanned | None = None
) -> GateResult:
    """Check an evaluation against rules with their settings.

    Parameters
    ----------
    gates : Gates
        The rules, and the settings that belong to them.
    evaluation : Scored, or EvaluationScan
        The scores to check.
    baseline : Scored, or EvaluationScan, optional
        The scores that they are compared with; no_regression, difference, pvalue, wins, losses and
        ties need it.

    Returns
    -------
    GateResult
        One row per rule.

    Raises
    ------
    RuleError
        If a rule makes no sense; the message points at the character.
    DataError
        If there are no rules, or a setting has a value that is not valid.

    Examples
    --------
    >>> from rageval_report.analysis.gates.grammar import parse_rule
    >>> from rageval_report.demo import demo_evaluations
    >>> gates = Gates((parse_rule("wins(mrr) >= 1"),), {"seed": 1})
    >>> bm25, hybrid = demo_evaluations()
    >>> apply_gates(gates, hybrid, bm25).passed
    True
    """
    settings = cast("dict[str, Any]", dict(gates.settings))
    if baseline is None:
        settings.pop("margin_method", None)  # it needs a baseline
        return gate(evaluation, *gates.rules, **settings)
    correct = settings.pop("correct", None)  # a comparison has no rule of its own
    return compare(baseline, evaluation, **settings).gate(*gates.rules, correct=correct)


def with_settings(gates: Gates, **settings: Unpack[GateKeywords]) -> Gates:
    """The gates with some settings replaced.

    Raises
    ------
    UnknownOptionError
        If a name is not that of a setting.

    Examples
    --------
    >>> with_settings(Gates((), {"seed": 1, "missing": "worst"}), seed=2).settings
    {'seed': 2, 'missing': 'worst'}
    """
    check_options("a gate", settings, GateKeywords.__annotations__)
    return replace(gates, settings={**gates.settings, **settings})

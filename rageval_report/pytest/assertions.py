"""`assert_gates`: gates as one assertion of a test."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Unpack

from rageval_report.analysis.gate import GateResult
from rageval_report.analysis.gate_figures import GateKeywords
from rageval_report.analysis.gates_file import Gates, read_gates
from rageval_report.analysis.rules import Rule, parse_rule
from rageval_report.errors import GateError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.pytest.failure_text import failure_text


def assert_gates(
    evaluation: RAGPipelineEvaluation,
    gates: str | PathLike[str] | Gates | Iterable[str | Rule],
    baseline: RAGPipelineEvaluation | None = None,
    **options: Unpack[GateKeywords],
) -> GateResult:
    """Fail the test if a rule does not hold on an evaluation.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        The scores to check.
    gates : str, Path, Gates, or iterable of str
        A file of gates, .toml or .yaml; its content, as `rageval_report.read_gates` gives it; or
        rules such as ``["ci_low(recall@5) >= 0.7"]``.
    baseline : RAGPipelineEvaluation, optional
        The scores that they are compared with, e.g. for no_regression.
    **options
        ``missing``, ``confidence_level``, ``n_resamples``, ``seed``, ``correct`` and ``clusters``,
        which override those of the file.

    Returns
    -------
    GateResult
        One row per rule; all of them hold.

    Raises
    ------
    GateError
        If a rule does not hold or cannot be evaluated; it is an AssertionError, and says for each
        such rule the value, the interval and the first queries to look at.
    RuleError
        If a rule makes no sense.
    ReaderError
        If the file cannot be read.

    Examples
    --------
    >>> from rageval_report.pytest import assert_gates
    >>> v1 = RAGPipelineEvaluation("v1", {"query_id": ["q1", "q2"], "mrr": [0.5, 1.0]})
    >>> assert_gates(v1, ["mean(mrr) >= 0.7"]).passed
    True
    >>> assert_gates(v1, ["min(mrr) >= 0.7", "n(mrr) == 2"])
    Traceback (most recent call last):
        ...
    rageval_report.errors.GateError: 1 of 2 gates does not hold
    min(mrr) >= 0.7
      min(mrr) is 0.5, not at least 0.7 (2 scored)
      1 query below 0.7 on mrr: 'q1'
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    result = _gates(gates).with_settings(**options).check(evaluation, baseline)
    if not result.passed:
        raise GateError(_message(result))
    return result


def _gates(gates: str | PathLike[str] | Gates | Iterable[str | Rule]) -> Gates:
    if isinstance(gates, Gates):
        return gates
    if isinstance(gates, str | PathLike):
        return read_gates(Path(gates))
    return Gates(tuple(parse_rule(rule) for rule in gates))


def _message(result: GateResult) -> str:
    broken = [outcome for outcome in result.outcomes if not outcome.passed]
    verb = "does" if len(broken) == 1 else "do"
    lines = [f"{len(broken)} of {len(result.outcomes)} gates {verb} not hold"]
    for outcome in broken:
        text = "\n".join((outcome.request.rule.text, failure_text(outcome)))
        lines.append(text.replace("\n", "\n  "))
    return "\n".join(lines)

"""What a run of an experiment tracker gets: numbers, texts and files, all under names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from rageval_report.analysis.compare import Comparison
from rageval_report.analysis.gate import PASSED, UNDECIDED, GateResult
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.render.pull_request import pull_request_comment
from rageval_report.results import Result

# The columns of reports and comparisons that are logged.
_FIGURES = (
    *("mean", "baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high"),
    "pvalue_adjusted",
    *("n", "n_unscored", "n_dropped", "wins", "ties", "losses"),
)
# MLflow allows letters, digits and "_-. :/" in names; the slash is kept for the parts of our own.
_NOT_ALLOWED = re.compile(r"[^\w.\- ]")
# The shortest limit of all versions of MLflow for the text of a tag.
LONGEST_TEXT = 5000
# MLflow allows 250 characters in the name of a metric: two of these, a figure and a prefix.
_LONGEST_NAME = 100


@dataclass(frozen=True)
class RunContent:
    """The content of a run."""

    name: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def with_prefix(self, prefix: str) -> RunContent:
        """The same content with a prefix before every name of numbers, texts and files."""
        groups: Iterable[Mapping[str, Any]] = (self.numbers, self.texts, self.files)
        prefixed = ({prefix + key: value for key, value in group.items()} for group in groups)
        return RunContent(self.name, *prefixed)


def content_of(
    subject: RAGPipelineEvaluation | Comparison, gates: GateResult | None = None
) -> RunContent:
    """The content of a run about an evaluation or a comparison."""
    if isinstance(subject, Comparison):
        name, table = subject.title, cast("Result", subject)
    else:
        name, table = subject.name, cast("Result", subject.evaluation_report())
    report = subject.report()
    # No name is the folder of another one: MLflow may keep each in a file of its name.
    texts = {
        "report/verdicts": "\n".join(verdict.text for verdict in report.verdicts),
        "report/signature": table.signature,
        "report/names": _changed_names(table),
        **_verdicts(table),
    }
    return RunContent(
        name,
        {**_numbers(table), **_gate_numbers(gates)},
        {key: _cut(text) for key, text in {**texts, **_gate_texts(gates)}.items() if text},
        {"report.html": report.to_html(), "results.json": table.to_json(), **_gate_files(gates)},
    )


def log_names(names: Iterable[str]) -> dict[str, str]:
    """The names under which metrics or pipelines are logged; no two are the same."""
    logged: dict[str, str] = {}
    for name in dict.fromkeys(names):
        plain = _NOT_ALLOWED.sub("_", name.replace("@", "_at_"))
        plain = plain[:_LONGEST_NAME]
        plain = re.sub(r"^\.+", "_", plain).strip() or "_"  # "." and ".." are folders to MLflow
        used, number, unique = set(logged.values()), 1, plain
        while unique in used:
            number += 1
            unique = f"{plain}_{number}"
        logged[name] = unique
    return logged


def _changed_names(table: Result) -> str:
    """The names that a tracker does not allow, with those in their place."""
    names = [*log_names(map(str, table.frame["metric"])).items()]
    names += log_names(map(str, table.frame.get("candidate", ()))).items()
    return "\n".join(f"{logged}: {name}" for name, logged in names if logged != name)


def _rows(table: Result) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with the first part of its names: the metric, and the candidate if several."""
    frame = table.frame.reset_index(drop=True)
    metrics = log_names(map(str, frame["metric"]))
    candidates = log_names(map(str, frame.get("candidate", ())))
    for row in frame.to_dict("records"):
        start = f"{candidates[str(row['candidate'])]}/" if len(candidates) > 1 else ""
        yield start + metrics[str(row["metric"])], {str(key): row[key] for key in row}


def _numbers(table: Result) -> dict[str, float]:
    figures = {
        f"{start}/{figure}": float(row[figure])
        for start, row in _rows(table)
        for figure in _FIGURES
        if figure in row
    }
    counts = getattr(table, "counts", {})  # of correct answers, in the report of an evaluation
    numbers = {**figures, **{f"answers/{name}": float(n) for name, n in counts.items()}}
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def _verdicts(table: Result) -> dict[str, str]:
    return {
        f"{start}/verdict": str(row["verdict"]) for start, row in _rows(table) if "verdict" in row
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


# -- gates


def _gate_numbers(gates: GateResult | None) -> dict[str, float]:
    if gates is None:
        return {}
    states = gates.frame["state"]
    n_passed, n_undecided = int((states == PASSED).sum()), int((states == UNDECIDED).sum())
    return {
        "gates/n_passed": n_passed,
        "gates/n_undecided": n_undecided,
        "gates/n_failed": len(states) - n_passed - n_undecided,
    }


def _gate_texts(gates: GateResult | None) -> dict[str, str]:
    if gates is None:
        return {}
    reasons = "\n".join(gates.frame.loc[~gates.frame["passed"], "why"])
    return {"gates/state": gates.state, "gates/reasons": reasons}


def _gate_files(gates: GateResult | None) -> dict[str, str]:
    return (
        {} if gates is None else {"gates.md": pull_request_comment(gates, gates.failing_queries())}
    )

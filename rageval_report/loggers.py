"""Runs of MLflow and Weights & Biases: means or differences, verdicts, gates, the page."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from rageval_report._registry import load
from rageval_report.analysis.compare import Comparison
from rageval_report.analysis.gate import PASSED, UNDECIDED, GateResult
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.reports.markdown import pull_request_comment
from rageval_report.results import Result

__all__ = ["log_to_mlflow", "log_to_wandb"]

_LONGEST_ARTIFACT_NAME = 128  # of W&B


def log_to_mlflow(
    subject: RAGPipelineEvaluation | Comparison,
    *,
    gates: GateResult | None = None,
    prefix: str = "",
) -> str:
    """Log an evaluation or a comparison to MLflow.

    Parameters
    ----------
    subject : RAGPipelineEvaluation or Comparison
        An evaluation is logged with the mean of each metric, a comparison with the differences;
        both with their intervals and counts.
    gates : GateResult, optional
        The outcome of gates: the numbers of rules that hold and do not hold, the reasons, and the
        queries to look at.
    prefix : str
        Stands before every name, such as "hybrid/", so that one run can hold several evaluations.

    Returns
    -------
    str
        The id of the run: the active one, or else a new one, which is named after the subject and
        ended. The tracking server and the experiment are those of MLflow's own settings.

    Notes
    -----
    Numbers become metrics, "recall_at_5/mean", because MLflow allows no "@" in a name; verdicts
    become tags, "recall_at_5/verdict"; the page, the table and the comment on the gates become
    artifacts.

    Examples
    --------
    With MLflow installed::

        mlflow.set_experiment("rag")
        log_to_mlflow(evaluation, gates=evaluation.gate("mean(mrr) >= 0.5"))
    """
    mlflow: Any = load("mlflow")
    content = content_of(subject, gates).with_prefix(prefix)
    active = mlflow.active_run()
    run_block = mlflow.start_run(run_name=content.name) if active is None else None
    with run_block or contextlib.nullcontext(active) as run:
        mlflow.log_metrics(dict(content.numbers))
        mlflow.set_tags(dict(content.texts))
        for name, text in content.files.items():
            mlflow.log_text(text, name)
        return str(run.info.run_id)


def log_to_wandb(
    subject: RAGPipelineEvaluation | Comparison,
    *,
    gates: GateResult | None = None,
    prefix: str = "",
) -> str:
    """Log an evaluation or a comparison to Weights & Biases.

    Parameters
    ----------
    subject, gates, prefix
        As in `log_to_mlflow`.

    Returns
    -------
    str
        The id of the run: the active one, or else a new one, which is named after the subject and
        finished. The project and the mode, such as offline, are those of ``wandb.init`` or of the
        environment variables of W&B.

    Notes
    -----
    Numbers and verdicts become values of the summary of the run, under the names that
    `log_to_mlflow` uses; the files become one artifact of the type "evaluation", named after the
    subject.

    Examples
    --------
    With wandb installed::

        with wandb.init(project="rag", mode="offline"):
            log_to_wandb(evaluation)
    """
    wandb: Any = load("wandb")
    content = content_of(subject, gates).with_prefix(prefix)
    active = wandb.run
    run_block = wandb.init(name=content.name) if active is None else None
    with run_block or contextlib.nullcontext(active) as run:
        run.summary.update({**content.numbers, **content.texts})
        run.log_artifact(_artifact(wandb, content, prefix))
        return str(run.id)


def _artifact(wandb: Any, content: RunContent, prefix: str) -> Any:
    """The files of a run as one artifact, in folders as the prefix has them."""
    plain = re.sub(r"[^\w.\-]+", "-", f"{prefix}{content.name}")
    artifact = wandb.Artifact(plain[:_LONGEST_ARTIFACT_NAME], type="evaluation")
    for name, text in content.files.items():
        with artifact.new_file(name, mode="w", encoding="utf-8") as file:
            file.write(text)
    return artifact


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
    about_gates = RunContent("gates") if gates is None else _gate_content(gates)
    # No name is the folder of another one: MLflow may keep each in a file of its name.
    texts = {
        "report/verdicts": "\n".join(verdict.text for verdict in report.verdicts),
        "report/signature": table.signature,
        "report/names": _changed_names(table),
        **{f"{x}/verdict": str(row["verdict"]) for x, row in _rows(table) if "verdict" in row},
        **about_gates.texts,
    }
    files = {"report.html": report.to_html(), "results.json": table.to_json(), **about_gates.files}
    return RunContent(
        name,
        {**_numbers(table), **about_gates.numbers},
        {key: _cut(text) for key, text in texts.items() if text},
        files,
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


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _gate_content(gates: GateResult) -> RunContent:
    """The numbers of rules that hold and do not hold, the reasons, and the queries to look at."""
    states = gates.frame["state"]
    n_passed, n_undecided = int((states == PASSED).sum()), int((states == UNDECIDED).sum())
    n_failed = len(states) - n_passed - n_undecided
    reasons = "\n".join(gates.frame.loc[~gates.frame["passed"], "why"])
    counts = {"n_passed": n_passed, "n_undecided": n_undecided, "n_failed": n_failed}
    return RunContent(
        "gates",
        {f"gates/{name}": n for name, n in counts.items()},
        {"gates/state": gates.state, "gates/reasons": reasons},
        {"gates.md": pull_request_comment(gates, gates.failing_queries())},
    )

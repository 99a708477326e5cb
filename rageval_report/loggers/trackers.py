"""The functions that write to MLflow and to Weights & Biases."""

from __future__ import annotations

import contextlib
import re
from typing import Any, Literal

from rageval_report._registry import load
from rageval_report.analysis.compare import Comparison
from rageval_report.analysis.gate import GateResult
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.loggers.content import RunContent, content_of

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

    Raises
    ------
    MissingDependencyError
        If MLflow is not installed; the extra ``mlflow`` installs mlflow-skinny.

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
    mlflow = _tracker("mlflow")
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

    Raises
    ------
    MissingDependencyError
        If wandb is not installed; the extra ``wandb`` installs it.

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
    wandb = _tracker("wandb")
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


def _tracker(package: Literal["mlflow", "wandb"]) -> Any:
    """The package, which has no types that this library could rely on."""
    return load(package)

"""Evaluations, comparisons and gates in runs of MLflow and of Weights & Biases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.loggers.trackers import log_to_mlflow as log_to_mlflow
    from rageval_report.loggers.trackers import log_to_wandb as log_to_wandb
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)

"""Ask a pipeline (a server over HTTP, a Python function, or a command) and collect records.

The same room has the calls for all steps at once: `rageval_report.evaluate` and
`rageval_report.experiment`.
"""

from __future__ import annotations

from rageval_report.runner.collecting import FinishedRun, collect_answers, target_from
from rageval_report.runner.replies import TargetError
from rageval_report.runner.run_config import RunConfig
from rageval_report.runner.targets import TARGETS

__all__ = [
    "TARGETS",
    "FinishedRun",
    "RunConfig",
    "TargetError",
    "collect_answers",
    "target_from",
]

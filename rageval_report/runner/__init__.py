"""Ask a pipeline (a server over HTTP, a Python function, or a command) and collect records.

Every answer is written to disk before the next question is asked, so that an interrupted run can be
resumed. HTTP needs the extra ``http``; a configuration file needs the extra ``yaml``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face

if TYPE_CHECKING:
    from rageval_report.runner.collecting import FinishedRun as FinishedRun
    from rageval_report.runner.collecting import collect_answers as collect_answers
    from rageval_report.runner.collecting import target_from as target_from
    from rageval_report.runner.run_blocks import record_blocks as record_blocks
    from rageval_report.runner.run_config import Retries as Retries
    from rageval_report.runner.run_config import RunConfig as RunConfig
    from rageval_report.runner.run_config import config_from as config_from
    from rageval_report.runner.run_config import read_config as read_config
    from rageval_report.runner.target_errors import TargetError as TargetError
    from rageval_report.runner.targets import TARGETS as TARGETS
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__)

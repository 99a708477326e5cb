"""Reading the results of RAG evaluations: honest reports, failing queries, comparisons that hold.

A *pipeline* was asked some *queries*, and each answer got a *score* on some *metrics*: one row a
query, one column a metric, NaN where there is no score. `RAGPipelineEvaluation` holds such a table
under the pipeline's name, `read_scores` reads it from a file; `score` makes it of records, which
`read_records` reads. Ask it for a report, for thresholds,
for failures; lay two beside each other with `compare`. Whatever comes back is a `Result`: a table
at full precision with its settings and notes, that prints, renders and saves itself. What is known
of a metric (`Metric`) stands in the table `METRICS`; whatever goes wrong is a `RagevalError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face
from rageval_report._version import __version__ as __version__

if TYPE_CHECKING:
    from rageval_report.analysis.agreement.calibration import Calibration as Calibration
    from rageval_report.analysis.agreement.calibration import calibrate as calibrate
    from rageval_report.analysis.comparing.comparison import Comparison as Comparison
    from rageval_report.analysis.comparing.comparison import compare as compare
    from rageval_report.analysis.gates.gates_file import read_gates as read_gates
    from rageval_report.analysis.gates.result import GateResult as GateResult
    from rageval_report.analysis.history.trends import History as History
    from rageval_report.analysis.ranking.leaderboard import Ranking as Ranking
    from rageval_report.analysis.ranking.leaderboard import rank as rank
    from rageval_report.analysis.ranking.objectives import Objective as Objective
    from rageval_report.analysis.repeating.repeats import Repeats as Repeats
    from rageval_report.analysis.repeating.repeats import repeats as repeats
    from rageval_report.analysis.summary import EvaluationReport as EvaluationReport
    from rageval_report.datasets import load_dataset as load_dataset
    from rageval_report.errors import AlignmentError as AlignmentError
    from rageval_report.errors import DataError as DataError
    from rageval_report.errors import GateError as GateError
    from rageval_report.errors import JudgeError as JudgeError
    from rageval_report.errors import MissingDependencyError as MissingDependencyError
    from rageval_report.errors import PipelineError as PipelineError
    from rageval_report.errors import RagevalError as RagevalError
    from rageval_report.errors import RagevalWarning as RagevalWarning
    from rageval_report.errors import ReaderError as ReaderError
    from rageval_report.errors import UnknownNameError as UnknownNameError
    from rageval_report.evaluation import RAGPipelineEvaluation as RAGPipelineEvaluation
    from rageval_report.evaluation import read_scores as read_scores
    from rageval_report.readers.records import read_records as read_records
    from rageval_report.reports.report import Report as Report
    from rageval_report.results import Result as Result
    from rageval_report.run_history.runs import history as history
    from rageval_report.run_history.runs import read_runs as read_runs
    from rageval_report.scores import METRICS as METRICS
    from rageval_report.scores import Metric as Metric
    from rageval_report.scoring.judged_sets import evaluate_judged_set as evaluate_judged_set
    from rageval_report.scoring.records import score as score
    from rageval_report.scoring.records import score_rankings as score_rankings

_HOME = {
    "analysis.agreement.calibration": ("Calibration", "calibrate"),
    "analysis.comparing.comparison": ("Comparison", "compare"),
    "analysis.gates.gates_file": ("read_gates",),
    "analysis.gates.result": ("GateResult",),
    "analysis.ranking.leaderboard": ("Ranking", "rank"),
    "analysis.ranking.objectives": ("Objective",),
    "analysis.repeating.repeats": ("Repeats", "repeats"),
    "analysis.summary": ("EvaluationReport",),
    "analysis.history.trends": ("History",),
    "datasets": ("load_dataset",),
    "errors": (
        *("AlignmentError", "DataError", "GateError", "JudgeError", "MissingDependencyError"),
        *("PipelineError", "RagevalError", "RagevalWarning", "ReaderError", "UnknownNameError"),
    ),
    "evaluation": ("RAGPipelineEvaluation", "read_scores"),
    "scoring.judged_sets": ("evaluate_judged_set",),
    "readers.records": ("read_records",),
    "reports.report": ("Report",),
    "results": ("Result",),
    "run_history.runs": ("history", "read_runs"),
    "scores": ("METRICS", "Metric"),
    "scoring.records": ("score", "score_rankings"),
}

__getattr__, _names = lazy_face(
    __name__,
    {name: f"{__name__}.{module}:{name}" for module, names in _HOME.items() for name in names},
)
__all__ = sorted([*_names, "__version__"])


def __dir__() -> list[str]:
    return list(__all__)

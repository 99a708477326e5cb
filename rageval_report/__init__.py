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
    from rageval_report.analysis.comparison import Comparison as Comparison
    from rageval_report.analysis.comparison import compare as compare
    from rageval_report.analysis.summary import EvaluationReport as EvaluationReport
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
    from rageval_report.results import Result as Result
    from rageval_report.scores import METRICS as METRICS
    from rageval_report.scores import Metric as Metric
    from rageval_report.scoring import score as score
    from rageval_report.scoring import score_rankings as score_rankings

_HOME = {
    "analysis.comparison": ("Comparison", "compare"),
    "analysis.summary": ("EvaluationReport",),
    "errors": (
        *("AlignmentError", "DataError", "GateError", "JudgeError", "MissingDependencyError"),
        *("PipelineError", "RagevalError", "RagevalWarning", "ReaderError", "UnknownNameError"),
    ),
    "evaluation": ("RAGPipelineEvaluation", "read_scores"),
    "readers.records": ("read_records",),
    "results": ("Result",),
    "scores": ("METRICS", "Metric"),
    "scoring": ("score", "score_rankings"),
}

__getattr__, _names = lazy_face(
    __name__,
    {name: f"{__name__}.{module}:{name}" for module, names in _HOME.items() for name in names},
)
__all__ = sorted([*_names, "__version__"])


def __dir__() -> list[str]:
    return list(__all__)

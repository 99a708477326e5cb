"""Read the results of RAG evaluations: reports, failing queries, paired comparisons, gates, plots.

A *pipeline* answers *queries*, and each answer has a *score* on each *metric*. The table of scores
has one row per query and one column per metric, with NaN where a query is unscored.
`RAGPipelineEvaluation` holds such a table under the name of the pipeline. `read_scores` reads
evaluations from a file of scores; `evaluate` asks a pipeline, and gives its evaluation with costs,
gates and a weighted score; `experiment` does so for every combination of some settings;
`read_records` reads records (questions, contexts, answers), and `score` computes scores from them.
An evaluation gives reports, thresholds and failing queries;
`compare` compares two of them query by query, and `rank` orders several. Every answer is a
`Result`: a table at full precision with its settings and notes, which prints, renders and saves
itself. `METRICS` is the table of known metrics, and each error is a `RagevalError`
(see `rageval_report.errors`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face
from rageval_report._version import __version__ as __version__

if TYPE_CHECKING:
    from rageval_report.analysis.calibrate import calibrate as calibrate
    from rageval_report.analysis.compare import Comparison as Comparison
    from rageval_report.analysis.compare import compare as compare
    from rageval_report.analysis.gates_file import read_gates as read_gates
    from rageval_report.analysis.noise import repeats as repeats
    from rageval_report.analysis.noise import variance as variance
    from rageval_report.analysis.objectives import Objective as Objective
    from rageval_report.analysis.rank import Ranking as Ranking
    from rageval_report.analysis.rank import rank as rank
    from rageval_report.analysis.report import EvaluationReport as EvaluationReport
    from rageval_report.datasets import load_dataset as load_dataset
    from rageval_report.errors import RagevalError as RagevalError
    from rageval_report.evaluation import RAGPipelineEvaluation as RAGPipelineEvaluation
    from rageval_report.evaluation import read_scores as read_scores
    from rageval_report.metrics.judged_sets import evaluate_judged_set as evaluate_judged_set
    from rageval_report.metrics.scoring import score as score
    from rageval_report.metrics.scoring import score_rankings as score_rankings
    from rageval_report.readers.record_files import read_records as read_records
    from rageval_report.reports.report import Report as Report
    from rageval_report.results import Result as Result
    from rageval_report.run_history import history as history
    from rageval_report.run_history import monitor as monitor
    from rageval_report.run_history import read_runs as read_runs
    from rageval_report.runner.evaluate import evaluate as evaluate
    from rageval_report.runner.experiment import experiment as experiment
    from rageval_report.scores import METRICS as METRICS
    from rageval_report.scores import Metric as Metric
    from rageval_report.scores.inspection import inspect as inspect
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__, "__version__")

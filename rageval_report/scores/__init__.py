"""Table 2, the scores: one row per query, one float64 column per metric, NaN where unscored.

Both halves of the library use this room: the descriptions of metrics (`Metric`, `METRICS`), the
check of a table from outside (`score_table`), and the rule for correct answers (`correctness`).
"""

from __future__ import annotations

from rageval_report.scores.correct import Correct as Correct
from rageval_report.scores.correct import correctness as correctness
from rageval_report.scores.metric import METRICS as METRICS
from rageval_report.scores.metric import Catalogue as Catalogue
from rageval_report.scores.metric import Metric as Metric
from rageval_report.scores.metric import is_binary as is_binary
from rageval_report.scores.metric import normalise_name as normalise_name
from rageval_report.scores.roles import resolver as resolver
from rageval_report.scores.table import Scored as Scored
from rageval_report.scores.table import ScoreTable as ScoreTable
from rageval_report.scores.table import join_details as join_details
from rageval_report.scores.table import question_text as question_text
from rageval_report.scores.table import score_table as score_table

"""The metrics that are known by name, in the order in which reports show them.

To add one, add an entry to its group: its description, and if it needs no judge, the function that
computes it and the view of the records that this function takes. From outside the package use
``METRICS.add(name, Metric(...))``, or an entry point of the group ``rageval_report.metrics``.
"""

from __future__ import annotations

from rageval_report.scores.catalogue.conduct import CONDUCT
from rageval_report.scores.catalogue.generation import GENERATION
from rageval_report.scores.catalogue.retrieval import RETRIEVAL
from rageval_report.scores.metric import METRICS

for _metric in (*RETRIEVAL, *GENERATION, *CONDUCT):
    METRICS.add(_metric.name, _metric)

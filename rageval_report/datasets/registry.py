"""The table of data sets; a new one is one file, or an entry point, and one line here."""

from __future__ import annotations

from rageval_report._registry import Registry
from rageval_report.datasets.base import Dataset

_HERE = "rageval_report.datasets"

DATASETS: Registry[Dataset] = Registry(
    "data set",
    {
        "squad_v2": f"{_HERE}.squad:SQUAD_V2",
        "hotpotqa": f"{_HERE}.hotpotqa:HOTPOTQA",
        "msmarco": f"{_HERE}.msmarco:MSMARCO",
        "qasper": f"{_HERE}.qasper:QASPER",
        "ragbench": f"{_HERE}.ragbench:RAGBENCH",
        "clapnq": f"{_HERE}.clapnq:CLAPNQ",
        "beir": f"{_HERE}.beir:BEIR",
        "golden": "rageval_report.datasets.golden_sets:GOLDEN",
    },
    group="rageval_report.datasets",
)

"""Public question sets become records: `DATASETS` is the table of known sets."""

from __future__ import annotations

from rageval_report.records.datasets import (
    DATASETS,
    Dataset,
    DatasetPart,
    DatasetRequest,
    dataset_counts,
    dataset_list,
    load_corpus,
    load_dataset,
)

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetPart",
    "DatasetRequest",
    "dataset_counts",
    "dataset_list",
    "load_corpus",
    "load_dataset",
]

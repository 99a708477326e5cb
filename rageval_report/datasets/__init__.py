"""Public question sets become records: from a local path, or through the ``datasets`` library.

`DATASETS` is the table of known sets; `load_dataset` returns records, `load_corpus` the documents
that the questions are about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import lazy_face
from rageval_report.datasets.registry import DATASETS as DATASETS

if TYPE_CHECKING:
    from rageval_report.datasets.base import Dataset as Dataset
    from rageval_report.datasets.counts import dataset_counts as dataset_counts
    from rageval_report.datasets.counts import dataset_list as dataset_list
    from rageval_report.datasets.loading import load_corpus as load_corpus
    from rageval_report.datasets.loading import load_dataset as load_dataset
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__, "DATASETS")

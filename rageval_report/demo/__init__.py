"""Example data of two invented pipelines, and a small RAG server to try things on.

A keyword search (``bm25``) and its successor (``hybrid``), 200 queries each about the services of
an invented island's council, eight metrics, some scores missing, two queries only in one of them.
Written by ``benchmarks/make_demo_data.py``; no pipeline was run, and no person or company is meant.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from rageval_report.errors import DataError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.files.writing import write_atomically

__all__ = ["demo_evaluations", "write_demo_files"]

_NAMES = ("bm25", "hybrid")
_DATA = resources.files(__name__) / "data"


def demo_evaluations() -> tuple[RAGPipelineEvaluation, RAGPipelineEvaluation]:
    """The two example pipelines, the baseline first.

    Returns
    -------
    tuple of two RAGPipelineEvaluation
        ``bm25`` and ``hybrid``.

    Examples
    --------
    >>> baseline, candidate = demo_evaluations()
    >>> baseline
    RAGPipelineEvaluation('bm25', 200 queries, 8 metrics)
    """
    baseline, candidate = (_load_evaluation(name) for name in _NAMES)
    return baseline, candidate


def _load_evaluation(name: str) -> RAGPipelineEvaluation:
    with resources.as_file(_DATA / f"{name}.csv") as path:
        return RAGPipelineEvaluation.load(name, path)


def write_demo_files(folder: str | Path) -> list[Path]:
    """Write the two files of example data to a folder, which is created if it is missing.

    Parameters
    ----------
    folder : str or Path
        Existing files with the same names are replaced.

    Returns
    -------
    list of Path
        ``bm25.csv`` and ``hybrid.csv``.

    Raises
    ------
    DataError
        If the folder cannot be created or written to.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_demo_files(folder)]
    ['bm25.csv', 'hybrid.csv']
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise DataError(f"{folder} cannot be created: {exc.strerror or exc}") from exc
    return [
        write_atomically(target / f"{name}.csv", (_DATA / f"{name}.csv").read_bytes())
        for name in _NAMES
    ]

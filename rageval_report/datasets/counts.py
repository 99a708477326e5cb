"""Lists: the data sets that can be loaded, and the counts of questions in one."""

from __future__ import annotations

import pandas as pd

from rageval_report.datasets.registry import DATASETS

_COLUMNS = ("query_type", "domain", "difficulty", "answerable")
_UNKNOWN = "(not said)"


def dataset_list() -> pd.DataFrame:
    """The data sets that can be loaded.

    Returns
    -------
    DataFrame
        ``dataset``, ``questions`` (by split), ``licence``, ``subsets``, ``holds``, ``homepage``.

    Examples
    --------
    >>> dataset_list()["dataset"].tolist()[:2]
    ['squad_v2', 'hotpotqa']
    """
    datasets = DATASETS.loaded().values()
    return pd.DataFrame(
        {
            "dataset": [dataset.name for dataset in datasets],
            "questions": [dataset.size for dataset in datasets],
            "licence": [dataset.licence for dataset in datasets],
            "subsets": [", ".join(dataset.subsets) for dataset in datasets],
            "holds": [dataset.sentence for dataset in datasets],
            "homepage": [dataset.homepage for dataset in datasets],
        }
    )


def dataset_counts(records: pd.DataFrame) -> pd.DataFrame:
    """Counts of questions by type, domain, difficulty, and whether they have an answer.

    Parameters
    ----------
    records : DataFrame
        Records, as `load_dataset` returns them.

    Returns
    -------
    DataFrame
        ``by``, ``value``, ``n`` and ``share``. The first row counts all questions, the second
        those with gold, the third those with a reference. Missing values are counted too.

    Examples
    --------
    >>> frame = pd.DataFrame({"query_type": ["factoid", "summary", "factoid"]})
    >>> dataset_counts(frame)[["value", "n"]].to_numpy().tolist()[3:]
    [['factoid', 2], ['summary', 1]]
    """
    n = len(records)
    rows = [("all", "questions", n)]
    for column, label in (("relevant", "with gold"), ("reference", "with a reference")):
        rows.append(("all", label, int(records[column].notna().sum()) if column in records else 0))
    for column in _COLUMNS:
        if column in records:
            values = records[column].astype(object).where(records[column].notna(), _UNKNOWN)
            counts = values.map(str).value_counts(sort=True)
            rows += [(column, str(value), int(count)) for value, count in counts.items()]
    frame = pd.DataFrame(rows, columns=["by", "value", "n"])
    return frame.assign(share=frame["n"] / n if n else float("nan"))

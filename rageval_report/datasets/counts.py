"""What there is: the list of data sets, and the counts of one."""

from __future__ import annotations

import pandas as pd

from rageval_report.datasets.registry import DATASETS

_BY = ("query_type", "domain", "difficulty", "answerable")
_UNSAID = "(not said)"


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
    known = DATASETS.loaded().values()
    return pd.DataFrame(
        {
            "dataset": [one.name for one in known],
            "questions": [one.size for one in known],
            "licence": [one.licence for one in known],
            "subsets": [", ".join(one.subsets) for one in known],
            "holds": [one.sentence for one in known],
            "homepage": [one.homepage for one in known],
        }
    )


def dataset_counts(records: pd.DataFrame) -> pd.DataFrame:
    """How many questions there are of each type, domain and difficulty, and with an answer.

    Parameters
    ----------
    records : DataFrame
        Records, as `load_dataset` gives them.

    Returns
    -------
    DataFrame
        ``by``, ``value``, ``n`` and ``share``; the first row counts them all, the second and third
        those with gold and with a reference. What a record does not say is counted as well.

    Examples
    --------
    >>> frame = pd.DataFrame({"query_type": ["factoid", "summary", "factoid"]})
    >>> dataset_counts(frame)[["value", "n"]].to_numpy().tolist()[3:]
    [['factoid', 2], ['summary', 1]]
    """
    n = len(records)
    rows = [("all", "questions", n)]
    for column, told in (("relevant", "with gold"), ("reference", "with a reference")):
        rows.append(("all", told, int(records[column].notna().sum()) if column in records else 0))
    for column in _BY:
        if column in records:
            said = records[column].astype(object).where(records[column].notna(), _UNSAID)
            counted = said.map(str).value_counts(sort=True)
            rows += [(column, str(value), int(count)) for value, count in counted.items()]
    frame = pd.DataFrame(rows, columns=["by", "value", "n"])
    return frame.assign(share=frame["n"] / n if n else float("nan"))

"""How far a judge agrees with itself when it is asked the same again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

COLUMNS = ("judge", "n", "n_repeats", "within_query_sd", "between_query_sd", "unstable")


def noise_frame(repeats: Mapping[str, Sequence[Sequence[float]]]) -> pd.DataFrame:
    """The spread of repeated verdicts, a row a judge.

    Parameters
    ----------
    repeats : mapping of str to lists
        By judge, for each query the scores that it got.

    Returns
    -------
    DataFrame
        ``judge``; ``n``, the queries that were scored twice or more often; ``n_repeats``, how
        often at most; ``within_query_sd``, the root of the pooled variance of one query's scores;
        ``between_query_sd``, the spread of the queries' means; ``unstable``, the share of queries
        whose scores differ.

    Examples
    --------
    >>> noise_frame({"tone": [[1.0, 1.0], [0.0, 0.5]]}).iloc[0].to_dict()["within_query_sd"]
    0.25
    """
    rows = [_row(judge, scores) for judge, scores in repeats.items()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(judge: str, scores: Sequence[Sequence[float]]) -> tuple[object, ...]:
    again = [np.asarray(one, dtype=np.float64) for one in scores if len(one) > 1]
    most = max((len(one) for one in again), default=0)
    if not again:
        return judge, 0, most, math.nan, math.nan, math.nan
    squares = math.fsum(float(((one - one.mean()) ** 2).sum()) for one in again)
    within = math.sqrt(squares / sum(len(one) - 1 for one in again))
    means = [float(one.mean()) for one in again]
    between = float(np.std(means, ddof=1)) if len(means) > 1 else math.nan
    unstable = sum(float(np.ptp(one)) > 0.0 for one in again) / len(again)
    return judge, len(again), most, within, between, unstable

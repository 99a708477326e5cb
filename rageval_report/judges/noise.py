"""How far a judge agrees with itself if it is asked the same again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

COLUMNS = ("judge", "n", "n_repeats", "within_query_sd", "between_query_sd", "unstable")


def noise_frame(repeats: Mapping[str, Sequence[Sequence[float]]]) -> pd.DataFrame:
    """The spread of repeated verdicts, one row per judge.

    Parameters
    ----------
    repeats : mapping of str to lists
        By judge, the scores of each query.

    Returns
    -------
    DataFrame
        ``judge``; ``n``, the queries that were scored at least twice; ``n_repeats``, the largest
        number of scores of a query; ``within_query_sd``, the root of the pooled variance of one
        query's scores; ``between_query_sd``, the standard deviation of the queries' means;
        ``unstable``, the share of queries whose scores differ.

    Examples
    --------
    >>> noise_frame({"tone": [[1.0, 1.0], [0.0, 0.5]]}).iloc[0].to_dict()["within_query_sd"]
    0.25
    """
    rows = [_noise_row(judge, scores) for judge, scores in repeats.items()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _noise_row(judge: str, scores: Sequence[Sequence[float]]) -> tuple[object, ...]:
    queries = [np.asarray(values, dtype=np.float64) for values in scores if len(values) > 1]
    n_repeats = max((len(values) for values in queries), default=0)
    if not queries:
        return judge, 0, n_repeats, math.nan, math.nan, math.nan
    squares = math.fsum(float(((values - values.mean()) ** 2).sum()) for values in queries)
    # The pooled variance of a one-way analysis of variance; queries may have different numbers of
    # repeats.
    within = math.sqrt(squares / sum(len(values) - 1 for values in queries))
    means = [float(values.mean()) for values in queries]
    between = float(np.std(means, ddof=1)) if len(means) > 1 else math.nan
    unstable = sum(float(np.ptp(values)) > 0.0 for values in queries) / len(queries)
    return judge, len(queries), n_repeats, within, between, unstable

"""The names that say what a column is: pipelines, repeats, and numbers that are not scores."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from rageval_report.scores.cluster_hint import cluster_noun
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.texts import TEXTS

TEXT_MEANING = "texts"

_SAMPLE = 1000
# Columns of fewer rows say too little: three grades may be 1, 2 and 3 by chance.
_FEWEST_ROWS = 10
# Seconds since 1970 reach this number in 2001; no usual score, length or cost does.
_EPOCH_SECONDS = 1e9

# The surest names first.
PIPELINE_NAMES = (
    *("pipeline", "pipeline_name", "pipeline_id", "system", "system_name", "run", "run_name"),
    *("run_id", "variant", "experiment", "experiment_name", "app_version", "app_name", "app_id"),
    *("config", "config_name", "configuration", "setup", "model", "model_name", "provider"),
    *("retriever", "approach", "strategy", "method", "technique", "framework", "system_id"),
)
# These say "pipeline" and nothing else; the others may also be a detail of one pipeline.
SURE_PIPELINE_NAMES = frozenset(("pipeline", "pipeline_name", "system", "system_name"))

# The last word of a column that numbers the repeated rows of a query.
_COUNTER = re.compile(
    r"(^|_)(epoch|iteration|repeat|repetition|run|trial|attempt|sample_no|replicate)"
    r"(_(no|nr|number|idx|index|id))?$"
)

# What pandas, pyarrow and this library call a column whose name is blank.
_UNNAMED = re.compile(r"(?i)unnamed:? ?\d+(_level_\d+)?|__index_level_\d+__")

_WEIGHTS = frozenset(("weight", "weights", "sample_weight", "query_weight", "case_weight"))

# Words of names, and what a column with such a name holds; none of them scores an answer.
_MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"^(k|top_?k|top_?n|top_?p|temperature|max_tokens|alpha|beta|dimension|dimensions|rrf_k)$"
        r"|^(chunk|overlap|window|context)_(size|overlap|length|window)$|^chunk_overlap$",
        "a setting",
    ),
    (r"(^|_)(rank|ranks|ranking|position|offset)$|^rank_of_", "a rank or a position"),
    (
        r"^(n|nr|num|number_of|count|count_of|cnt)_|_(count|counts|cnt)$|^(count|counts|n)$",
        "a count",
    ),
    (
        r"^unnamed|(^|_)(idx|index|row|row_number|row_no|line|line_number)$|^level_\d+$",
        "row numbers",
    ),
    (r"(^|_)(label|labels|class|classes|category_code|class_id)$", "labels"),
    (r"(^|_)(version|revision|release|build)$", "versions"),
    (
        r"(^|_)(cluster|clusters|group|fold|split|stratum|bucket|segment|batch|shard|partition)$",
        "groups of queries",
    ),
    (
        r"(^|_)(length|len|chars|characters|words|sentences|bytes|size|lines)$|^(len|length)_",
        "lengths",
    ),
    (r"_tokens?$|^tokens_|^token_count", "a count of tokens"),
    (r"(^|_)(seed|random_state)$", "seeds"),
    (
        r"(^|_)(timestamp|timestamps|datetime|date|created|updated|started|ended|finished|ts)$"
        r"|_at$|^(start|end|created|updated)_(time|date|ts|ms)$",
        "times",
    ),
    (r"^(year|month|day|hour|week|weekday|quarter)$", "times"),
    (
        r"(^|_)(page|page_number|pages|turn|step|hop|hops|round|level|depth|epoch|attempt)$",
        "a number of a part",
    ),
    (r"(^|_)(threshold|cutoff)$", "thresholds"),
    (
        r"^(is_)?(un)?answerable$|^(is_)?impossible$|^has_|(^|_)difficulty$",
        "a property of the question",
    ),
    (r"(_id|_ids|_hash|_uuid|_guid)$|^(doc|chunk|node|passage|document)_?id$", "ids"),
    (r"^(order|prompt_idx|test_idx|repetition)$", "row numbers"),
)


def meaning_of(column: str) -> str | None:
    """What a column of numbers or texts with this name holds, if it is not a score.

    Parameters
    ----------
    column : str
        The name of a column that is not a known metric.

    Examples
    --------
    >>> [meaning_of(name) for name in ("gold_rank", "n_retrieved", "created_at", "my_quality")]
    ['a rank or a position', 'a count', 'times', None]
    """
    name = normalise_name(column)
    if name in TEXTS:
        return TEXT_MEANING
    if cluster_noun(column) is not None:
        return "groups of queries"
    # The module re keeps what it compiled; compiled on import, these would slow every script.
    return next((meaning for pattern, meaning in _MEANINGS if re.search(pattern, name)), None)


def is_counter_name(column: str) -> bool:
    """Whether a name is usual for a column that numbers the repeated rows of a query.

    Examples
    --------
    >>> [is_counter_name(name) for name in ("epoch", "trial_no", "recall")]
    [True, True, False]
    """
    return bool(_COUNTER.search(normalise_name(column)))


def is_blank_name(column: str) -> bool:
    """Whether a name is blank, consists of dashes only, or stands for a blank one.

    pandas calls such columns "Unnamed: 0"; mostly they are the index of a table that was saved.

    Examples
    --------
    >>> [is_blank_name(name) for name in ("", " ", "Unnamed: 0", "unnamed_quality", "recall")]
    [True, True, True, False, False]
    """
    return not normalise_name(column) or bool(_UNNAMED.fullmatch(column.strip()))


def is_pipeline_name(column: str) -> bool:
    """Whether a name is usual for a column of pipelines.

    Examples
    --------
    >>> [is_pipeline_name(name) for name in ("System Name", "model", "recall")]
    [True, True, False]
    """
    return normalise_name(column) in PIPELINE_NAMES


def is_weight_name(column: str) -> bool:
    """Whether a name is usual for a column of the weights of queries.

    Examples
    --------
    >>> is_weight_name("Sample Weight"), is_weight_name("weighted_recall")
    (True, False)
    """
    return normalise_name(column) in _WEIGHTS


def meaning_of_numbers(cells: pd.Series) -> str | None:
    """What the cells of a column of numbers are, if they can hardly be scores; whatever its name.

    Parameters
    ----------
    cells : Series
        Of a numeric type.

    Examples
    --------
    >>> meaning_of_numbers(pd.Series(range(1, 21))), meaning_of_numbers(pd.Series([0.5] * 20))
    ('row numbers', None)
    """
    # A few cells rule out nearly every column of scores, without a copy of the whole column.
    first = cells.iloc[:_SAMPLE].dropna().to_numpy(dtype=np.float64)
    is_bool = pd.api.types.is_bool_dtype(cells.dtype)
    if is_bool or len(first) < _FEWEST_ROWS or not (first == np.round(first)).all():
        return None
    # Small numbers are no times, and equal ones no row numbers.
    if first.min() < _EPOCH_SECONDS and len(np.unique(first)) < len(first):
        return None
    low, high = float(cells.min()), float(cells.max())
    if low >= _EPOCH_SECONDS:
        return "times or other numbers above a billion"
    if low in (0.0, 1.0) and high - low == len(cells) - 1 and cells.is_unique:
        return "row numbers"
    return None

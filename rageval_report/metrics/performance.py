"""Metrics of performance: the time, tokens and money that each answer takes.

An unknown price makes the cost missing, not 0; give a free model the price 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.rankings.checks import refuse_cutoff
from rageval_report.types import FloatArray

_TOKENS_PER_PRICE = 1_000_000
_MILLISECONDS = 1000.0
_PRICE_KEYS = {"prompt", "completion"}


class Price(NamedTuple):
    """US dollars per million tokens, of the prompt and of the completion."""

    prompt: float
    completion: float


Prices = Mapping[str, Price | Sequence[float] | Mapping[str, float]]
"""Model name to `Price`, a pair, or a mapping with ``prompt`` and ``completion``."""


@dataclass(frozen=True, eq=False)
class Performance:
    """Latency, tokens and cost of each answer, NaN if not known; see `performance_of`.

    Parameters
    ----------
    latency_ms, prompt_tokens, completion_tokens, cost_usd : ndarray of float
        One number per query.
    """

    latency_ms: FloatArray
    prompt_tokens: FloatArray
    completion_tokens: FloatArray
    cost_usd: FloatArray


def performance_of(
    records: pd.DataFrame, prices: Prices | None = None, *, model: str | None = None
) -> Performance:
    """Latency, tokens and cost of the answers of checked records.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` returns it; it may have ``latency_ms``,
        ``prompt_tokens``, ``completion_tokens``, ``cost_usd`` and ``model``.
    prices : mapping of str to Price, pair or mapping, optional
        By model, US dollars per million tokens sent and received. They give the cost of a record
        that has none; without a price of its model the cost stays unknown.
    model : str, optional
        The model of all records that do not name one.

    Raises
    ------
    DataError
        If a price is not two numbers >= 0.

    Examples
    --------
    >>> records = pd.DataFrame(
    ...     {
    ...         "prompt_tokens": [2000.0, 500.0],
    ...         "completion_tokens": [100.0, 100.0],
    ...         "model": ["small", "unheard-of"],
    ...     }
    ... )
    >>> performance_of(records, {"small": (0.5, 1.5)}).cost_usd
    array([0.00115,     nan])
    """

    def column(name: str) -> FloatArray:
        if name not in records:
            return np.full(len(records), np.nan)
        return records[name].to_numpy(dtype=np.float64, na_value=np.nan)

    sent, received, cost = (
        column(name) for name in ("prompt_tokens", "completion_tokens", "cost_usd")
    )
    if prices is not None:
        rates = _rates(records, check_prices(prices), model)
        price = (sent * rates[:, 0] + received * rates[:, 1]) / _TOKENS_PER_PRICE
        # A cost that the pipeline measured is better than one from a table of prices.
        cost = np.where(np.isnan(cost), price, cost)
    return Performance(column("latency_ms"), sent, received, cost)


def _models(records: pd.DataFrame, model: str | None) -> list[str | None]:
    """The model of each record: the one that it names, else `model`."""
    named = records["model"].tolist() if "model" in records else [None] * len(records)
    return [name if isinstance(name, str) else model for name in named]


def _rates(records: pd.DataFrame, prices: dict[str, Price], model: str | None) -> FloatArray:
    """The two prices of the model of each record, NaN if it has none."""
    models = _models(records, model)
    unknown = Price(math.nan, math.nan)
    rates = [unknown if name is None else prices.get(name, unknown) for name in models]
    return np.array(rates, dtype=np.float64).reshape(-1, 2)


def check_prices(prices: Prices) -> dict[str, Price]:
    """A table of prices in any of the accepted forms, each price as a `Price`.

    Raises
    ------
    DataError
        If it is not a mapping, or a price is not two numbers >= 0.

    Examples
    --------
    >>> check_prices({"small": (0.5, 1.5)})
    {'small': Price(prompt=0.5, completion=1.5)}
    """
    if not isinstance(prices, Mapping):
        raise DataError(f"prices must be a mapping of models to prices; got {prices!r}")
    return {str(model): _check_price(model, price) for model, price in prices.items()}


def _check_price(model: object, spec: Sequence[float] | Mapping[str, float]) -> Price:
    is_named = isinstance(spec, Mapping) and set(spec) == _PRICE_KEYS
    pair = (spec["prompt"], spec["completion"]) if is_named else spec  # type: ignore[call-overload]
    try:
        price = Price(*map(float, pair))
    except (TypeError, ValueError):
        price = Price(math.nan, math.nan)
    if all(math.isfinite(part) and part >= 0.0 for part in price):
        return price
    raise DataError(
        f"the price of {model!r} must be two numbers >= 0, US dollars per million tokens sent and "
        f'received, such as (0.5, 1.5) or {{"prompt": 0.5, "completion": 1.5}}; got {spec!r}'
    )


def unpriced_models(records: pd.DataFrame, prices: Prices) -> list[str]:
    """The models of the records that have no price, for a note.

    Examples
    --------
    >>> unpriced_models(pd.DataFrame({"model": ["a", "b", None]}), {"a": (0, 0)})
    ['b']
    """
    models = records["model"].tolist() if "model" in records else []
    return sorted({name for name in models if isinstance(name, str) and name not in prices})


def notes_on_costs(
    records: pd.DataFrame, prices: Prices | None, *, model: str | None = None
) -> tuple[str, ...]:
    """Where the costs of the answers come from, and why the cost of some is unknown.

    Parameters
    ----------
    records, prices, model
        As for `performance_of`. A record with an ``error`` has no answer, and is not counted.

    Examples
    --------
    >>> columns = {"prompt_tokens": [9.0, 9.0], "completion_tokens": [1.0, 1.0]}
    >>> records = pd.DataFrame({**columns, "model": ["small", "small"]})
    >>> notes_on_costs(records, {"small": (0.5, 1.5)})
    ('cost_usd: 2 of 2 are computed from tokens and prices',)
    """
    answered = records[records["error"].isna()] if "error" in records else records
    table = check_prices(prices or {})
    amounts = performance_of(answered, table, model=model)
    stated = ~np.isnan(performance_of(answered).cost_usd)
    unknown = np.isnan(amounts.cost_usd)
    n_computed = len(answered) - int(stated.sum()) - int(unknown.sum())
    parts = [
        f"{n} of {len(answered)} are {origin}"
        for n, origin in (
            (int(stated.sum()), "stated by the pipeline, which counts first"),
            (n_computed, "computed from tokens and prices"),
        )
        if n
    ]
    reasons = Counter(
        _reason_of_unknown(name, tokens)
        for name, tokens, is_unknown in zip(
            _models(answered, model), total_tokens(amounts).tolist(), unknown, strict=True
        )
        if is_unknown
    )
    parts += [f"{n} unknown: {reason}" for reason, n in reasons.most_common()]
    return (f"cost_usd: {'; '.join(parts)}",) if parts else ()


def _reason_of_unknown(model: str | None, tokens: float) -> str:
    if math.isnan(tokens):
        return "no count of tokens sent and received"
    if model is None:
        return "nothing names the model"
    return f"no price for the model {model!r}, such as prices={{{model!r}: (sent, received)}}"


# -- one number per query


def latency_ms(view: Performance, k: int | None = None) -> FloatArray:
    """Milliseconds to the whole answer; 0 is a measurement, not a missing value.

    Examples
    --------
    >>> latency_ms(performance_of(pd.DataFrame({"latency_ms": [250.0, 0.0]})))
    array([250.,   0.])
    """
    refuse_cutoff("latency_ms", k)
    return view.latency_ms


def latency(view: Performance, k: int | None = None) -> FloatArray:
    """Seconds to the whole answer.

    Examples
    --------
    >>> latency(performance_of(pd.DataFrame({"latency_ms": [250.0]})))
    array([0.25])
    """
    refuse_cutoff("latency", k)
    return view.latency_ms / _MILLISECONDS


def prompt_tokens(view: Performance, k: int | None = None) -> FloatArray:
    """Tokens sent.

    Examples
    --------
    >>> prompt_tokens(performance_of(pd.DataFrame({"prompt_tokens": [12.0]})))
    array([12.])
    """
    refuse_cutoff("prompt_tokens", k)
    return view.prompt_tokens


def completion_tokens(view: Performance, k: int | None = None) -> FloatArray:
    """Tokens received.

    Examples
    --------
    >>> completion_tokens(performance_of(pd.DataFrame({"completion_tokens": [12.0]})))
    array([12.])
    """
    refuse_cutoff("completion_tokens", k)
    return view.completion_tokens


def total_tokens(view: Performance, k: int | None = None) -> FloatArray:
    """Tokens sent and received; unknown if one of the two is.

    Examples
    --------
    >>> frame = pd.DataFrame({"prompt_tokens": [12.0, 5.0], "completion_tokens": [3.0, np.nan]})
    >>> total_tokens(performance_of(frame))
    array([15., nan])
    """
    refuse_cutoff("total_tokens", k)
    # NaN plus a number is NaN: half a count must not pass for the whole.
    return view.prompt_tokens + view.completion_tokens


def cost_usd(view: Performance, k: int | None = None) -> FloatArray:
    """US dollars spent on the query; NaN if tokens or price are not known.

    Examples
    --------
    >>> frame = pd.DataFrame({"prompt_tokens": [1000.0], "completion_tokens": [0.0]})
    >>> cost_usd(performance_of(frame, {"m": (3, 15)}, model="m"))
    array([0.003])
    """
    refuse_cutoff("cost_usd", k)
    return view.cost_usd


# -- of all queries


def performance_figures(
    view: Performance, *, wall_seconds: float | None = None, concurrency: float = 1
) -> pd.DataFrame:
    """Latency at the median and the 95th percentile, means, cost and throughput of a run.

    Parameters
    ----------
    view : Performance
        Latency, tokens and cost of each answer.
    wall_seconds : float, optional
        How long the whole run took, which gives the throughput. If omitted, the throughput is
        derived: queries in flight over the mean latency (Little's law).
    concurrency : float
        How many queries were in flight at once, if the throughput is derived.

    Returns
    -------
    DataFrame
        Index ``figure``: ``latency_p50_ms``, ``latency_p95_ms`` (linear between measurements),
        ``latency_mean_ms``, ``prompt_tokens``, ``completion_tokens``, ``total_tokens`` (means),
        ``cost_per_query_usd``, ``cost_total_usd`` (NaN unless the cost of every query is known),
        ``throughput_per_second``. Columns ``value``, ``n`` and ``n_unscored``.

    Raises
    ------
    DataError
        If `wall_seconds` or `concurrency` is not a number > 0.

    Examples
    --------
    >>> view = performance_of(pd.DataFrame({"latency_ms": [100.0, 200.0, 300.0]}))
    >>> performance_figures(view, wall_seconds=1.5)["value"].dropna().round(6).to_dict()
    {'latency_p50_ms': 200.0, 'latency_p95_ms': 290.0, 'latency_mean_ms': 200.0, \
'throughput_per_second': 2.0}
    """
    for name, value in (("wall_seconds", wall_seconds), ("concurrency", concurrency)):
        if value is not None and not (0.0 < value < math.inf):
            raise DataError(f"{name} must be a number > 0; got {value!r}")
    times, costs = view.latency_ms, view.cost_usd
    rows = {
        "latency_p50_ms": (_quantile(times, 0.5), times),
        "latency_p95_ms": (_quantile(times, 0.95), times),
        "latency_mean_ms": (_mean(times), times),
        "prompt_tokens": (_mean(view.prompt_tokens), view.prompt_tokens),
        "completion_tokens": (_mean(view.completion_tokens), view.completion_tokens),
        "total_tokens": (_mean(total_tokens(view)), total_tokens(view)),
        "cost_per_query_usd": (_mean(costs), costs),
        "cost_total_usd": (float(costs.sum()) if len(costs) else math.nan, costs),
        "throughput_per_second": _throughput(times, wall_seconds, concurrency),
    }
    return _figures(rows)


def _throughput(
    times: FloatArray, wall_seconds: float | None, concurrency: float
) -> tuple[float, FloatArray]:
    if wall_seconds is not None:
        return len(times) / wall_seconds, np.ones(len(times))
    mean = _mean(times)
    return (_MILLISECONDS * concurrency / mean if mean > 0 else math.nan), times


def _figures(rows: Mapping[str, tuple[float, FloatArray]]) -> pd.DataFrame:
    unscored = [int(np.isnan(numbers).sum()) for _, numbers in rows.values()]
    sizes = [len(numbers) for _, numbers in rows.values()]
    return pd.DataFrame(
        {
            "value": [value for value, _ in rows.values()],
            "n": [size - missing for size, missing in zip(sizes, unscored, strict=True)],
            "n_unscored": unscored,
        },
        index=pd.Index(rows, name="figure"),
    )


def _without_nan(numbers: FloatArray) -> FloatArray:
    return numbers[~np.isnan(numbers)]


def _mean(numbers: FloatArray) -> float:
    known = _without_nan(numbers)
    return float(known.mean()) if len(known) else math.nan


def _quantile(numbers: FloatArray, quantile: float) -> float:
    known = _without_nan(numbers)
    return float(np.quantile(known, quantile)) if len(known) else math.nan

"""Metrics of performance: the time, tokens and money that each answer takes.

An unknown price makes the cost missing, not 0; give a free model the price 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
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
    """Latency, tokens and cost of each answer, NaN if not known; see `performance_of`."""

    latency_ms: FloatArray
    prompt_tokens: FloatArray
    completion_tokens: FloatArray
    cost_usd: FloatArray


def performance_of(
    records: pd.DataFrame, prices: Prices | None = None, *, model: str | None = None
) -> Performance:
    """Latency, tokens and cost of the answers of checked records."""

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
    """A table of prices in any of the accepted forms, each price as a `Price`."""
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


def notes_on_costs(
    records: pd.DataFrame, prices: Prices | None, *, model: str | None = None
) -> tuple[str, ...]:
    """Where the costs of the answers come from, and of which models the price is unknown."""
    answered = records[records["error"].isna()] if "error" in records else records
    stated = ~np.isnan(performance_of(answered).cost_usd)
    known = ~np.isnan(performance_of(answered, prices or {}, model=model).cost_usd)
    counts = {
        "are stated by the pipeline, which counts first": int(stated.sum()),
        "are computed from tokens and prices": int((known & ~stated).sum()),
        "are unknown": int((~known).sum()),
    }
    parts = [f"{n} of {len(answered)} {what}" for what, n in counts.items() if n]
    priced = check_prices(prices or {})
    others = [name for name, is_known in zip(_models(answered, model), known, strict=True)
              if not is_known and name not in priced]  # fmt: skip
    if others:
        names = named(dict.fromkeys(str(name or "(not named)") for name in others))
        parts.append(f"prices has no price for the model {names}")
    return (f"cost_usd: {'; '.join(parts)}",) if parts else ()


# -- one number per query


def latency_ms(view: Performance) -> FloatArray:
    """Milliseconds to the whole answer; 0 is a measurement, not a missing value."""
    return view.latency_ms


def latency(view: Performance) -> FloatArray:
    """Seconds to the whole answer."""
    return view.latency_ms / _MILLISECONDS


def prompt_tokens(view: Performance) -> FloatArray:
    """Tokens sent."""
    return view.prompt_tokens


def completion_tokens(view: Performance) -> FloatArray:
    """Tokens received."""
    return view.completion_tokens


def total_tokens(view: Performance) -> FloatArray:
    """Tokens sent and received; unknown if one of the two is."""
    # NaN plus a number is NaN: half a count must not pass for the whole.
    return view.prompt_tokens + view.completion_tokens


def cost_usd(view: Performance) -> FloatArray:
    """US dollars spent on the query; NaN if tokens or price are not known."""
    return view.cost_usd


# -- of all queries


def performance_figures(view: Performance, *, wall_seconds: float | None = None) -> pd.DataFrame:
    """Latency at the median and the 95th percentile, its mean, and the throughput of a run."""
    times = pd.Series(view.latency_ms)
    known = times.dropna()
    values = {
        "latency_p50_ms": known.quantile(0.5),
        "latency_p95_ms": known.quantile(0.95),
        "latency_mean_ms": known.mean(),
    }
    if wall_seconds is not None:
        values["throughput_per_second"] = len(times) / wall_seconds
    frame = pd.DataFrame({"value": values, "n": len(known), "n_unscored": len(times) - len(known)})
    if wall_seconds is not None:
        frame.loc["throughput_per_second", ["n", "n_unscored"]] = len(times), 0
    return frame.rename_axis("figure")

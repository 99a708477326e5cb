"""Time, tokens, money: hand arithmetic."""

import math

import numpy as np
import pandas as pd
import pytest

from rageval_report.errors import DataError
from rageval_report.metrics.performance import (
    Performance,
    Price,
    completion_tokens,
    cost_usd,
    latency,
    latency_ms,
    performance_figures,
    performance_of,
    prompt_tokens,
)
from rageval_report.records import record_table

NAN = math.nan
PRICES = {"small": (0.5, 1.5), "local": {"prompt": 0, "completion": 0}, "big": Price(3, 15)}


def records(**columns):
    return record_table(
        {"query_id": [f"q{n}" for n in range(len(next(iter(columns.values()))))], **columns}
    )


def priced(models, sent=2000, received=100, **more):
    n = len(models)
    frame = records(model=models, prompt_tokens=[sent] * n, completion_tokens=[received] * n)
    return cost_usd(performance_of(frame, PRICES, **more))


def test_tokens_are_priced_by_the_million():
    # 2000 * 0.5 / 1e6 + 100 * 1.5 / 1e6, and 2000 * 3 / 1e6 + 100 * 15 / 1e6
    np.testing.assert_allclose(priced(["small", "big"]), [0.00115, 0.0075], rtol=1e-15)


def test_an_unknown_price_is_missing_and_what_is_free_is_said_to_be():
    np.testing.assert_array_equal(
        priced(["unheard-of", "local", "ollama/x", None]), [NAN, 0, NAN, NAN]
    )


@pytest.mark.parametrize(
    "price", [1.0, (1,), (1, 2, 3), (-1, 1), (1, NAN), ("a", "b"), {"prompt": 1}, None]
)
def test_a_price_is_two_numbers(price):
    with pytest.raises(DataError, match="the price of 'm' must be two numbers >= 0"):
        performance_of(records(model=["m"]), {"m": price})


def test_each_query_keeps_its_numbers_and_zero_is_a_measurement():
    view = performance_of(
        records(latency_ms=[1500, 0, None], prompt_tokens=[7, 8, None], completion_tokens=[1, 0, 2])
    )
    np.testing.assert_array_equal(latency_ms(view), [1500, 0, NAN])
    np.testing.assert_array_equal(latency(view), [1.5, 0, NAN])
    np.testing.assert_array_equal(prompt_tokens(view), [7, 8, NAN])
    np.testing.assert_array_equal(completion_tokens(view), [1, 0, 2])


# -- of all queries


def figures(times, **options):
    empty = np.full(len(times), NAN)
    view = Performance(np.asarray(times, dtype=float), empty, empty, empty)
    return performance_figures(view, **options)


def test_latencies_are_those_of_the_statistics_of_pandas():
    times = pd.Series([120.0, 80, 200, NAN, 4000, 95])
    found = figures(times)
    assert found.loc["latency_p50_ms", "value"] == times.quantile(0.5)
    assert found.loc["latency_p95_ms", "value"] == times.quantile(0.95)
    assert found.loc["latency_mean_ms", "value"] == times.mean()


def test_figures_say_of_how_many_queries_they_are_and_throughput_is_by_the_clock():
    found = figures([100, NAN, 300], wall_seconds=0.5)
    assert found.loc["latency_p50_ms", ["n", "n_unscored"]].tolist() == [2, 1]
    assert found.loc["throughput_per_second"].tolist() == [6, 3, 0]  # three in half a second
    assert "throughput_per_second" not in figures([100, 300]).index

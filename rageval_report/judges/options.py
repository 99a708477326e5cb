"""The options of `judge` and `prefer`: the types of their keywords, and one checked object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

from rageval_report.errors import DataError, check_choice, did_you_mean, where_option_belongs

if TYPE_CHECKING:
    from rageval_report.judges.cache import Cache
    from rageval_report.metrics.performance import Prices

MaxCostOver = Literal["cache", "run"]


class CallOptions(TypedDict, total=False):
    """How a chat model is called, by `judge` as by `prefer`; every key may be omitted.

    Examples
    --------
    >>> CallOptions(concurrency=4, progress=False)
    {'concurrency': 4, 'progress': False}

    Parameters
    ----------
    cache : Cache or path, optional
        Where replies are kept, so that no call is paid for twice. If omitted, they are not kept.
    concurrency : int, default 8
        The number of calls that may run at the same time, of all judges together.
    per_minute : float, optional
        The number of calls that may start per minute, for each judge; unlimited if omitted.
    prices : mapping of str to Price, optional
        By model, US dollars per million tokens sent and received, as ``{"gpt-5": (1.25, 10)}``.
        The cost of a model without a price is unknown; a free one costs ``(0, 0)``.
    max_cost : float, optional
        The budget in US dollars, of all judges together: no request is sent that could exceed it.
        It needs the price of each model. A request reserves one token per byte of it and
        `max_tokens` tokens of the answer; a retry is another request. What it did not use is free
        again as soon as it is answered; if it is not, e.g. after a time-out, the reservation counts
        as spent.
    max_cost_over : {"cache", "run"}, default "cache"
        What `max_cost` limits: the sum over all runs with the same cache, or this run. What they
        spend is kept in a file next to the cache, ``<cache>.spending``, if the price is known.
    give_up_after : int, default 10
        The number of consecutive calls that may fail before the remaining ones are cancelled; each
        judge counts its own.
    retry_unusable : bool, default False
        Whether to ask again where the cache has an answer without a verdict: one that was refused,
        cut off, or cannot be read.
    progress : bool, default True
        Whether to show a progress bar if standard error is a terminal.
    tell : callable, optional
        Called before the first request with each note that should be known by then, e.g. that some
        records lack a field. The notes of the result contain them too.
    """

    cache: Cache | str | Path | None
    concurrency: int
    per_minute: float | None
    prices: Prices | None
    max_cost: float | None
    max_cost_over: MaxCostOver
    give_up_after: int
    retry_unusable: bool
    progress: bool
    tell: Callable[[str], object] | None


class JudgeOptions(CallOptions, total=False):
    """All options of `judge`: `CallOptions`, `n_repeats` and `generator`.

    Examples
    --------
    >>> options: JudgeOptions = {"n_repeats": 3, "concurrency": 1, "max_cost": 2.5, "prices": {}}
    >>> options["n_repeats"]
    3
    """

    n_repeats: int
    generator: str | None


@dataclass(frozen=True)
class CallPlan:
    """The values of `CallOptions`, checked and with defaults filled in."""

    cache: Cache | str | Path | None = None
    concurrency: int = 8
    per_minute: float | None = None
    prices: Prices | None = None
    max_cost: float | None = None
    max_cost_over: MaxCostOver = "cache"
    give_up_after: int = 10
    retry_unusable: bool = False
    progress: bool = True
    tell: Callable[[str], object] | None = None

    def __post_init__(self) -> None:
        check_count("concurrency", self.concurrency)
        if self.per_minute is not None and not self.per_minute > 0.0:
            raise DataError(f"per_minute must be > 0; got {self.per_minute!r}")
        check_choice("max_cost_over", self.max_cost_over, get_args(MaxCostOver))

    @property
    def cache_path(self) -> Path | None:
        """The file of the cache, if there is one."""
        if self.cache is None:
            return None
        return Path(self.cache) if isinstance(self.cache, str | Path) else self.cache.path


def check_count(name: str, value: object) -> None:
    """Check that an option is an integer from 1 on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise DataError(f"{name} must be an integer >= 1; got {value!r}")


def check_options(function: str, options: Mapping[str, object], known: Iterable[str]) -> None:
    """Check the names of keyword arguments that a function collects."""
    names = sorted(known)
    for name in options:
        if name not in names:
            raise TypeError(
                f"{function}() has no parameter {name!r}.{did_you_mean(name, names)}"
                f"{where_option_belongs(name)}"
            )

"""The options of `judge` and `prefer`, as the types of their keyword arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from rageval_report.errors import did_you_mean, where_option_belongs

if TYPE_CHECKING:
    from rageval_report.judges.ledger import MaxCostOver
    from rageval_report.judges.reply_cache import Cache
    from rageval_report.metrics.performance import Prices


class CallOptions(TypedDict, total=False):
    """How a chat model is called, by `judge` as by `prefer`; every key may be omitted.

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
    """All options of `judge`; every key may be omitted.

    Parameters
    ----------
    n_repeats : int, default 1
        How often each record is judged, to measure how far the judge agrees with itself.
    generator : str, optional
        The model that wrote the answers, if the records do not say so. A note warns if the judge
        belongs to the same model family.

    Examples
    --------
    >>> options: JudgeOptions = {"n_repeats": 3, "concurrency": 1, "max_cost": 2.5, "prices": {}}
    >>> options["n_repeats"]
    3
    """

    n_repeats: int
    generator: str | None


def check_options(function: str, options: Mapping[str, object], known: Iterable[str]) -> None:
    """Check the names of keyword arguments that a function collects.

    Raises
    ------
    TypeError
        If one of them is not known; the message names the function and the nearest keyword.

    Examples
    --------
    >>> check_options("judge", {"max_costs": 2.0}, JudgeOptions.__annotations__)
    Traceback (most recent call last):
        ...
    TypeError: judge() has no parameter 'max_costs'. Did you mean 'max_cost'?
    """
    names = sorted(known)
    for name in options:
        if name not in names:
            raise TypeError(
                f"{function}() has no parameter {name!r}.{did_you_mean(name, names)}"
                f"{where_option_belongs(name)}"
            )

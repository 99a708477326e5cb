"""When to retry a request: when the server says, or else after times that double, with jitter."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NoReturn, cast

import tenacity

from rageval_report.http.request_errors import RequestError
from rageval_report.types import Sleep

_FIRST_WAIT = 1.0  # seconds; each further wait is twice as long
_JITTER = 1.0  # at most so many seconds are added, so that failed requests do not return together

ShouldRetry = Callable[[RequestError], bool]


def is_temporary(failure: RequestError) -> bool:
    """Whether the same request may succeed later."""
    return failure.is_temporary


def make_retrier(
    *, max_attempts: int, max_wait: float, sleep: Sleep, should_retry: ShouldRetry = is_temporary
) -> tenacity.Retrying:
    """An object that calls a function again while its failures are temporary.

    Parameters
    ----------
    max_attempts : int
        The largest number of calls.
    max_wait : float
        The longest wait in seconds; if a server asks for more, there is no further call.
    sleep : callable
        Waits the given number of seconds.
    should_retry : callable, optional
        Whether to call again after a failure; after every temporary one if omitted.
    """

    def give_up(state: tenacity.RetryCallState) -> NoReturn:
        failure = _failure_of(state)
        raise failure.after_last_attempt(state.attempt_number, max_wait) from failure

    attempts = tenacity.stop_after_attempt(max_attempts)

    def stop(state: tenacity.RetryCallState) -> bool:
        # Asking earlier than the server allows would only be refused again.
        return attempts(state) or (_failure_of(state).retry_after or 0.0) > max_wait

    backoff = tenacity.wait_exponential_jitter(initial=_FIRST_WAIT, max=max_wait, jitter=_JITTER)
    jitter = tenacity.wait_random(0.0, _JITTER)

    def wait(state: tenacity.RetryCallState) -> float:
        requested = _failure_of(state).retry_after
        # All clients of a busy server are told the same time; the random part keeps them from
        # returning together.
        return backoff(state) if requested is None else requested + jitter(state)

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(
            lambda exc: isinstance(exc, RequestError) and should_retry(exc)
        ),
        stop=stop,
        wait=wait,
        sleep=cast("Callable[[float], None]", sleep),
        retry_error_callback=give_up,
    )


def _failure_of(state: tenacity.RetryCallState) -> RequestError:
    """The failure of the last call; only a `RequestError` is ever retried."""
    failure = state.outcome.exception() if state.outcome else None
    if not isinstance(failure, RequestError):
        raise TypeError(f"expected a RequestError; got {failure!r}")
    return failure


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The seconds that the server asks to wait; None if it does not say.

    Parameters
    ----------
    headers : mapping of str to str
        The headers of the answer, names in lower case. A date in ``retry-after`` counts from the
        server's own ``date``, so that clocks need not agree.

    References
    ----------
    .. [1] RFC 9110, HTTP Semantics, section 10.2.3.

    Examples
    --------
    >>> retry_after_seconds({"retry-after": "7"})
    7.0
    >>> now, then = "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:00 GMT"
    >>> retry_after_seconds({"retry-after": then, "date": now})
    23.0
    """
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        then = _parse_date(text)
        if then is None:
            return None
        # Retry-After may be a date of the server's clock (RFC 9110, 10.2.3), which may differ from
        # ours.
        now = _parse_date(headers.get("date", "")) or datetime.now(UTC)
        seconds = (then - now).total_seconds()
    # float() also reads "inf" and "nan", after which no wait would end.
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _parse_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    # "-0000" gives a time without a zone, but HTTP dates are always in UTC.
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

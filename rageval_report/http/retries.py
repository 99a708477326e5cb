"""When to ask again: after what the server says, else after a time that doubles, never in step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NoReturn

import tenacity

from rageval_report.http.request_errors import RequestError

Sleep = Callable[[float], None]

_FIRST_WAIT = 1.0  # seconds; the second is twice as long, and so on
_JITTER = 1.0  # seconds at most by which requests that failed together are drawn apart


Again = Callable[[RequestError], bool]


def is_passing(failure: RequestError) -> bool:
    """Whether the same request may succeed later."""
    return failure.is_passing


def retrying(
    *, max_attempts: int, max_wait: float, sleep: Sleep, again: Again = is_passing
) -> tenacity.Retrying:
    """What calls a function again while its failures are passing ones.

    Parameters
    ----------
    max_attempts : int
        How often it is called at most.
    max_wait : float
        The longest wait in seconds; a server that asks for more is not asked again.
    sleep : callable
        Waits that many seconds.
    again : callable, optional
        Whether a failure is one to try again after; every passing one where not given.
    """

    def give_up(state: tenacity.RetryCallState) -> NoReturn:
        failure = _failure_of(state)
        raise failure.given_up(state.attempt_number, max_wait) from failure

    attempts = tenacity.stop_after_attempt(max_attempts)

    def stop(state: tenacity.RetryCallState) -> bool:
        return attempts(state) or (_failure_of(state).retry_after or 0.0) > max_wait

    backoff = tenacity.wait_exponential_jitter(initial=_FIRST_WAIT, max=max_wait, jitter=_JITTER)
    jitter = tenacity.wait_random(0.0, _JITTER)

    def wait(state: tenacity.RetryCallState) -> float:
        asked = _failure_of(state).retry_after
        return backoff(state) if asked is None else asked + jitter(state)

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda exc: isinstance(exc, RequestError) and again(exc)),
        stop=stop,
        wait=wait,
        sleep=sleep,
        retry_error_callback=give_up,
    )


def _failure_of(state: tenacity.RetryCallState) -> RequestError:
    """What the last call failed with; nothing else is ever called again."""
    failure = state.outcome.exception() if state.outcome else None
    if not isinstance(failure, RequestError):
        raise TypeError(f"only a failed request is tried again; got {failure!r}")
    return failure


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """How many seconds the server asks to wait; None where it does not say.

    Parameters
    ----------
    headers : mapping of str to str
        The answer's, names in lower case. A date in ``retry-after`` counts from the server's own
        ``date``, so that clocks need not agree.

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
    asked = headers.get("retry-after", "").strip()
    try:
        seconds = float(asked)
    except ValueError:
        then = _moment(asked)
        if then is None:
            return None
        now = _moment(headers.get("date", "")) or datetime.now(UTC)
        seconds = (then - now).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _moment(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)

"""What can go wrong between a request and a usable answer."""

from __future__ import annotations

from typing import Literal

from rageval_report.errors import RagevalError

Failure = Literal["connection", "certificate", "timeout", "status", "size", "content"]

_TOO_MANY_REQUESTS = 429
_SERVER_FAULTS = range(500, 600)


class RequestError(RagevalError, RuntimeError):
    """A server could not be reached, refused, or did not answer as it should.

    Parameters
    ----------
    message : str
        What was expected, what was found, what to do; never a key.
    url : str
        The address, without user, password and query.
    failure : {"connection", "certificate", "timeout", "status", "size", "content"}
        The kind of failure.
    status : int, optional
        The HTTP status, where there was one.
    retry_after : float, optional
        How many seconds the server asks to wait.
    attempts : int, default 1
        How often it was tried.
    is_unreachable : bool, default False
        Whether nobody took the connection at all: no server listens there, or the name is unknown.

    Examples
    --------
    >>> error = RequestError("it is busy", url="http://host/v1", failure="status", status=503)
    >>> str(error), error.is_passing
    ('http://host/v1: it is busy', True)
    """

    def __init__(
        self,
        message: str,
        *,
        url: str,
        failure: Failure,
        status: int | None = None,
        retry_after: float | None = None,
        attempts: int = 1,
        is_unreachable: bool = False,
    ):
        self.message = message
        self.url = url
        self.failure: Failure = failure
        self.status = status
        self.retry_after = retry_after
        self.attempts = attempts
        self.is_unreachable = is_unreachable
        super().__init__(f"{url}: {message}")

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed later."""
        if self.failure == "status":
            return self.status == _TOO_MANY_REQUESTS or self.status in _SERVER_FAULTS
        return self.failure in ("connection", "timeout")

    def given_up(self, attempts: int, max_wait: float) -> RequestError:
        """The same failure, with how often it was tried or why it was not tried again."""
        if self.retry_after is not None and self.retry_after > max_wait:
            end = f"it asks to wait {self.retry_after:.0f} s, more than max_wait={max_wait:g}"
        else:
            end = f"given up after {attempts} attempt{'s' if attempts > 1 else ''}"
        message = f"{self.message}; {end}"
        told = (self.url, self.failure, self.status, self.retry_after)
        return _error(message, *told, attempts, self.is_unreachable)

    def __reduce__(self) -> tuple[object, ...]:
        told = (self.url, self.failure, self.status, self.retry_after)
        return _error, (self.message, *told, self.attempts, self.is_unreachable)


def _error(
    message: str,
    url: str,
    failure: Failure,
    status: int | None,
    retry_after: float | None,
    attempts: int,
    is_unreachable: bool,
) -> RequestError:
    """All fields by place, as an error that travels between processes is made again."""
    return RequestError(
        message,
        url=url,
        failure=failure,
        status=status,
        retry_after=retry_after,
        attempts=attempts,
        is_unreachable=is_unreachable,
    )

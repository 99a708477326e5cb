"""The error of a request that got no usable answer."""

from __future__ import annotations

from typing import Literal, TypedDict

from rageval_report.errors import RagevalError

Failure = Literal["connection", "certificate", "timeout", "status", "size", "content"]

_TOO_MANY_REQUESTS = 429
_SERVER_FAULTS = range(500, 600)


class _ErrorFields(TypedDict):
    url: str
    failure: Failure
    status: int | None
    retry_after: float | None
    attempts: int
    is_unreachable: bool


class RequestError(RagevalError, RuntimeError):
    """A server could not be reached, refused a request, or answered it wrongly.

    Parameters
    ----------
    message : str
        What was expected, what happened, what to do; never contains a key.
    url : str
        The address, without user, password and query.
    failure : {"connection", "certificate", "timeout", "status", "size", "content"}
        The kind of failure.
    status : int, optional
        The HTTP status, if there was one.
    retry_after : float, optional
        The seconds that the server asks to wait.
    attempts : int, default 1
        The number of attempts.
    is_unreachable : bool, default False
        Whether no connection was made: no server listens there, or the name is unknown.

    Examples
    --------
    >>> error = RequestError("it is busy", url="http://host/v1", failure="status", status=503)
    >>> str(error), error.is_temporary
    ('http://host/v1: it is busy', True)
    >>> error.after_last_attempt(4, max_wait=60).message
    'it is busy; given up after 4 attempts'
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
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        if self.failure == "status":
            return self.status == _TOO_MANY_REQUESTS or self.status in _SERVER_FAULTS
        # Size, content and certificate stay as they are however often they are asked for.
        return self.failure in ("connection", "timeout")

    def after_last_attempt(self, attempts: int, max_wait: float) -> RequestError:
        """The same error, with the number of attempts or the reason why there is no further one."""
        if self.retry_after is not None and self.retry_after > max_wait:
            end = f"it asks to wait {self.retry_after:.0f} s, more than max_wait={max_wait:g}"
        else:
            end = f"given up after {attempts} attempt{'s' if attempts > 1 else ''}"
        message = f"{self.message}; {end}"
        return RequestError(message, **self._fields(attempts))

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickle, (self.message, self._fields(self.attempts))

    def _fields(self, attempts: int) -> _ErrorFields:
        return {
            "url": self.url,
            "failure": self.failure,
            "status": self.status,
            "retry_after": self.retry_after,
            "attempts": attempts,
            "is_unreachable": self.is_unreachable,
        }


def _unpickle(message: str, fields: _ErrorFields) -> RequestError:
    """An error that travels between processes; pickle passes arguments by position only."""
    return RequestError(message, **fields)

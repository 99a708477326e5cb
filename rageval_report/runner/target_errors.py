"""Why a query has no answer: the kinds of failure."""

from __future__ import annotations

from typing import Literal, get_args

from rageval_report.errors import PipelineError
from rageval_report.http.request_errors import RequestError

FailureKind = Literal[
    "connection",  # cannot be made, or is lost
    "certificate",  # not trusted
    "timeout",  # no complete answer in time
    "busy",  # status 429
    "server",  # status 5xx
    "refused",  # any other status that is not a success
    "size",  # larger than allowed
    "content",  # not JSON, no answer in it, or a field of the wrong kind
    "exception",  # a Python function raised
    "exited",  # a command ended
]
KINDS: tuple[FailureKind, ...] = get_args(FailureKind)

_BUSY = 429
_SERVER_FAULTS = range(500, 600)


class TargetError(PipelineError):
    """One attempt at a query failed.

    Parameters
    ----------
    message : str
        What happened; never contains a key.
    kind : str
        One of `KINDS`.
    retry_after : float, optional
        The seconds that the pipeline asks to wait.

    Examples
    --------
    >>> error = TargetError("no complete answer within 60 s", "timeout")
    >>> error.kind, str(error)
    ('timeout', 'no complete answer within 60 s')
    """

    def __init__(self, message: str, kind: FailureKind, retry_after: float | None = None):
        self.message = message
        self.kind: FailureKind = kind
        self.retry_after = retry_after
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.kind, self.retry_after)


def target_error(error: RequestError) -> TargetError:
    """The error of a target for a failed request.

    Examples
    --------
    >>> error = RequestError("it is busy", url="http://host", failure="status", status=503)
    >>> target_error(error).kind
    'server'
    """
    return TargetError(str(error), _kind(error), error.retry_after)


def _kind(error: RequestError) -> FailureKind:
    if error.failure != "status":
        return error.failure
    if error.status == _BUSY:
        return "busy"
    return "server" if error.status in _SERVER_FAULTS else "refused"

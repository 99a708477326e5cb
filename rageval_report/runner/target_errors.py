"""Why a query has no answer: the kinds of failure, and whether asking again may help."""

from __future__ import annotations

from typing import Literal, get_args

from rageval_report.errors import PipelineError
from rageval_report.http.request_errors import RequestError

Kind = Literal[
    "connection",  # cannot be reached, or broke off
    "certificate",  # not trusted
    "timeout",  # no whole answer in time
    "busy",  # status 429
    "server",  # status 5xx
    "refused",  # any other status that is no success
    "size",  # larger than allowed
    "content",  # not JSON, no answer in it, or a field of the wrong kind
    "exception",  # a Python function raised
    "exited",  # a command ended
]
KINDS: tuple[Kind, ...] = get_args(Kind)

_BUSY = 429
_SERVER_FAULTS = range(500, 600)


class TargetError(PipelineError):
    """A query was asked once and not answered.

    Parameters
    ----------
    message : str
        What happened; never a key.
    kind : str
        One of `KINDS`.
    retry_after : float, optional
        How many seconds the pipeline asks to wait.

    Examples
    --------
    >>> error = TargetError("no whole answer within 60 s", "timeout")
    >>> error.kind, str(error)
    ('timeout', 'no whole answer within 60 s')
    """

    def __init__(self, message: str, kind: Kind, retry_after: float | None = None):
        self.message = message
        self.kind: Kind = kind
        self.retry_after = retry_after
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.kind, self.retry_after)


def target_error(error: RequestError) -> TargetError:
    """The failure of a request, by its kind.

    Examples
    --------
    >>> error = RequestError("it is busy", url="http://host", failure="status", status=503)
    >>> target_error(error).kind
    'server'
    """
    return TargetError(str(error), _kind(error), error.retry_after)


def _kind(error: RequestError) -> Kind:
    if error.failure != "status":
        return error.failure
    if error.status == _BUSY:
        return "busy"
    return "server" if error.status in _SERVER_FAULTS else "refused"

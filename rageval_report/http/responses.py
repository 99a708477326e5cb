"""What is sent and what comes back, and its limits; without the packages of the extra ``http``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rageval_report.errors import DataError
from rageval_report.files.strict_json import load_json
from rageval_report.http.keys import Key, redact_document, redact_keys
from rageval_report.http.request_errors import RequestError
from rageval_report.http.server_messages import quote_beginning

Headers = Mapping[str, str | Key]


class Signer(Protocol):
    """Signs requests: called for each attempt with method, address, headers and the final body."""

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys that sign, which no error, log or answer may repeat."""

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes
    ) -> Headers:
        """The headers that are added to the request."""


@dataclass(frozen=True)
class HttpResponse:
    """The complete answer of a server.

    Parameters
    ----------
    url : str
        The address of the request, without its query.
    status : int
        The HTTP status.
    headers : dict of str to str
        Names in lower case.
    body : bytes
        The content, decompressed.
    seconds : float
        From sending the request to the last byte, of the attempt that succeeded.
    attempts : int
        The number of attempts.
    keys : tuple of Key
        The keys that were sent, also to a proxy, so that no error repeats them.

    Examples
    --------
    >>> response = HttpResponse("http://host/ask", 200, {}, b'{"answer": "six"}', seconds=0.2)
    >>> response.json(), str(response.error("expected contexts"))
    ({'answer': 'six'}, 'http://host/ask: expected contexts')
    """

    url: str
    status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)
    seconds: float
    attempts: int = 1
    keys: tuple[Key, ...] = field(default=(), repr=False)

    def json(self) -> Any:
        """The JSON document in the body; keys that the server repeats are replaced by stars.

        Raises
        ------
        RequestError
            If the body is not JSON.
        """
        try:
            document = load_json(self.body)
        except (ValueError, RecursionError) as exc:
            kind = self.headers.get("content-type", "no content type")
            raise self.error(
                f"expected JSON; got {kind} that starts with "
                f"{quote_beginning(self.body, self.keys)!r}; is this the address of the service?"
            ) from exc
        if not self.keys:
            return document
        # An escape can hide any character; without one, a key is in the bytes as it is.
        text = self.body.decode("utf-8", "replace")
        is_clean = "\\" not in text and redact_keys(self.keys, text) == text
        return document if is_clean else redact_document(self.keys, document)

    def error(self, message: str) -> RequestError:
        """An error about the content of this answer."""
        return RequestError(
            redact_keys(self.keys, message),
            url=self.url,
            failure="content",
            status=self.status,
            attempts=self.attempts,
        )


def check_limits(*, max_wait: float, **limits: float) -> None:
    """Refuse limits of a client that no request could keep.

    Parameters
    ----------
    max_wait : float
        The longest wait in seconds; 0 for none.
    **limits : float
        Those that must be larger than 0.

    Raises
    ------
    DataError
        If one of them is not such a number.

    Examples
    --------
    >>> check_limits(max_wait=0, timeout=60.0)
    >>> check_limits(max_wait=0, timeout=0)
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: timeout must be a finite number > 0; got 0
    """
    for name, value in limits.items():
        if not 0 < value < math.inf:
            raise DataError(f"{name} must be a finite number > 0; got {value!r}")
    if not max_wait >= 0:
        raise DataError(f"max_wait must be a number >= 0; got {max_wait!r}")

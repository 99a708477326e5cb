"""The options that every provider of chat models takes, as the types of its keyword arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from rageval_report.types import Sleep


class ChatOptions(TypedDict, total=False):
    """The options that every provider has; every key may be omitted.

    Parameters
    ----------
    max_tokens : int, default 1024
        The maximum length of an answer, including the model's thoughts if it thinks.
    temperature : float, optional
        The sampling temperature; the provider's default if omitted. Several newer models refuse
        any value.
    structured : bool, default True
        Whether the server is asked to enforce the JSON schema of the answer; use False for a
        server that cannot.
    extra_body : mapping, optional
        Further fields of the request; a value of None removes a field. A key is named as
        ``${NAME}``, by its environment variable; a literal key is refused.
    timeout : float, default 120
        Seconds per call.
    max_attempts : int, default 5
        How often a call is made if it fails for a reason that may pass.
    max_wait : float, default 60
        The longest wait between two attempts, in seconds.
    sleep : callable
        Waits for a number of seconds.
    check_key : bool, default True
        Whether a missing key is an error now; use False for an estimate, which asks nobody. A call
        without its key is an error in any case.
    """

    max_tokens: int
    temperature: float | None
    structured: bool
    extra_body: Mapping[str, object] | None
    timeout: float
    max_attempts: int
    max_wait: float
    sleep: Sleep
    check_key: bool

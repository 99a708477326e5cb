"""API keys: from the environment, into one header, and nowhere else."""

from __future__ import annotations

import os
import re
from typing import NoReturn

from rageval_report.errors import DataError

_HIDDEN = "***"
# What a header can contain. It is checked here because the HTTP library prints a header that it
# refuses, including the key.
_SENDABLE = re.compile(r"[!-~]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Key:
    """A key for a server; only the header that carries it can read it.

    Parameters
    ----------
    value : str
        The key; blanks and line ends around it are removed.
    scheme : str, default "Bearer"
        The word before the key in the header; "" if the header contains the key alone.
    name : str, default "the key"
        What an error calls it.

    Raises
    ------
    DataError
        If it is empty, or contains characters that cannot be sent in a header.

    Examples
    --------
    >>> Key("sk-1234")
    <a key>
    >>> Key("sk-1234").redact("Incorrect API key: sk-1234")
    'Incorrect API key: ***'
    """

    # Without a __dict__, so that vars() and debuggers' dumps do not show the key.
    __slots__ = ("_scheme", "_value")

    def __init__(self, value: str, *, scheme: str = "Bearer", name: str = "the key"):
        # A key read from a file ends in a line feed, which a header cannot contain.
        stripped = value.strip()
        if not _SENDABLE.fullmatch(stripped):
            raise DataError(
                f"{name} is empty, or contains blanks, line ends or characters beyond ASCII, which "
                "cannot be sent in a header: copy it again"
            )
        self._value = stripped
        self._scheme = scheme

    def header(self) -> str:
        """The value of the header: the only way to read the key."""
        return f"{self._scheme} {self._value}" if self._scheme else self._value

    def redact(self, text: str) -> str:
        """The text with the key replaced by stars."""
        return text.replace(self._value, _HIDDEN)

    def __repr__(self) -> str:
        return "<a key>"

    def __reduce__(self) -> NoReturn:
        # A pickle would write the key to a file or to another process.
        raise TypeError(
            "a key cannot be pickled: pass the name of its environment variable instead"
        )


def key_from_environment(variable: str, *, scheme: str = "Bearer") -> Key:
    """The key in an environment variable.

    Parameters
    ----------
    variable : str
        The name of the variable, e.g. "OPENAI_API_KEY".
    scheme : str, default "Bearer"
        As in `Key`.

    Raises
    ------
    DataError
        If the variable is not set, or does not contain a usable key.

    Examples
    --------
    >>> key_from_environment("NO_SUCH_KEY")
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: no key: the environment variable NO_SUCH_KEY is not set
    """
    value = os.environ.get(variable)
    if value is None:
        raise DataError(f"no key: the environment variable {variable} is not set")
    return Key(value, scheme=scheme, name=f"the environment variable {variable}")


def check_key_variable(name: str) -> str:
    """Check that a text is the name of a variable, not the key itself, and return it.

    Parameters
    ----------
    name : str
        The value of the parameter that should name the environment variable.

    Raises
    ------
    DataError
        If no variable of that name is set, and it is not in capitals, as such names are. The
        message does not repeat the value, because it may be the key.

    Examples
    --------
    >>> check_key_variable("MY_KEY")
    'MY_KEY'
    """
    is_a_name = isinstance(name, str) and _VARIABLE.fullmatch(name) is not None
    # A key without punctuation has the form of a name; but an unset variable in capitals is far
    # more likely a name than a key.
    if is_a_name and (name in os.environ or name == name.upper()):
        return name
    raise DataError(
        "api_key_env must be the name of the environment variable with the key, e.g. MY_KEY; no "
        "variable of the given name is set. The value is not shown because it may be the key"
    )

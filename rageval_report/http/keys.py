"""Keys: out of the environment, into one header, and nowhere else."""

from __future__ import annotations

import os
import re
from typing import NoReturn

from rageval_report.errors import DataError

_HIDDEN = "***"
# What may stand in a header. The HTTP library prints a header that it refuses, key and all.
_SENDABLE = re.compile(r"[!-~]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Key:
    """A key for a server; it shows itself to nobody but the header that carries it.

    Parameters
    ----------
    value : str
        The key; blanks and line ends around it are dropped.
    scheme : str, default "Bearer"
        What stands before it in the header; nothing where a header holds the key alone.
    name : str, default "the key"
        What it is called in an error.

    Raises
    ------
    DataError
        If it is empty, or holds what no header can carry.

    Examples
    --------
    >>> Key("sk-1234")
    <a key>
    >>> Key("sk-1234").redact("Incorrect API key: sk-1234")
    'Incorrect API key: ***'
    """

    __slots__ = ("_scheme", "_value")

    def __init__(self, value: str, *, scheme: str = "Bearer", name: str = "the key"):
        stripped = value.strip()
        if not _SENDABLE.fullmatch(stripped):
            raise DataError(
                f"{name} is empty, or holds blanks, line ends or letters beyond ASCII, which no "
                "header can carry: copy it again"
            )
        self._value = stripped
        self._scheme = scheme

    def header(self) -> str:
        """What the header holds: the only way to the key."""
        return f"{self._scheme} {self._value}" if self._scheme else self._value

    def redact(self, text: str) -> str:
        """The text with stars where the key stood."""
        return text.replace(self._value, _HIDDEN)

    def __repr__(self) -> str:
        return "<a key>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written anywhere: keep the name of its variable")


def key_from_environment(variable: str, *, scheme: str = "Bearer") -> Key:
    """The key that an environment variable holds.

    Parameters
    ----------
    variable : str
        Its name, as "OPENAI_API_KEY".
    scheme : str, default "Bearer"
        As in `Key`.

    Raises
    ------
    DataError
        If the variable is not set, or holds no usable key.

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


def check_key_variable(told: str) -> str:
    """The name of a variable, unless it looks as if the key itself stood there: nobody sees that.

    Parameters
    ----------
    told : str
        What was given as the name of the environment variable that holds the key.

    Raises
    ------
    DataError
        If no variable of that name is set, and it is not written in capitals as such names are.

    Examples
    --------
    >>> check_key_variable("MY_KEY")
    'MY_KEY'
    """
    is_a_name = isinstance(told, str) and _VARIABLE.fullmatch(told) is not None
    if is_a_name and (told in os.environ or told == told.upper()):
        return told
    raise DataError(
        "api_key_env names the environment variable that holds the key, as MY_KEY; what was given "
        "is the name of none that is set, and is not shown, for it may be the key"
    )

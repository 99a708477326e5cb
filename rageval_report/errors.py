"""Every error the library raises, and the one warning.

::

    RagevalError
    ├── DataError (ValueError)               the data does not have the promised shape
    │   ├── AlignmentError                   two tables share no query, or no metric
    │   └── ReaderError                      a file cannot be read: path and line
    ├── UnknownNameError (KeyError)          the nearest name, and the known ones
    ├── MissingDependencyError (ImportError) the extra, and the line that installs it
    ├── PipelineError (RuntimeError)         the pipeline that was asked did not answer
    ├── JudgeError (RuntimeError)            the judge's endpoint failed
    └── GateError (AssertionError)           a gate did not hold
    RagevalWarning (UserWarning)             something was mended or guessed, and is said

Each is also the built-in that a caller expects, so ``except ValueError`` catches a `DataError`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

MOST_NAMED = 5


class RagevalError(Exception):
    """The root of the tree: catch this to catch them all."""


class DataError(RagevalError, ValueError):
    """The data does not have the promised shape, or an argument makes no sense."""


class AlignmentError(DataError):
    """Two tables of scores share no query, or no metric."""


class ReaderError(DataError):
    """A file cannot be read.

    Parameters
    ----------
    message : str
        What was expected, what was found, what to do.
    path : str or Path, optional
        The file; it opens the message.
    line : int, optional
        The line, counted from 1.
    """

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None):
        self.path = path
        self.line = line
        place = "" if path is None else f"{path}: " if line is None else f"{path}, line {line}: "
        self.message = message
        super().__init__(place + message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.path, self.line)


class UnknownNameError(RagevalError, KeyError):
    """A name that nothing answers to.

    Parameters
    ----------
    what : str
        The kind of thing that was asked for, as in "metric".
    name : str
        The name that was given.
    known : iterable of str
        The names that would have been understood.
    """

    def __init__(self, what: str, name: str, known: Iterable[str]):
        self.what = what
        self.name = name
        self.known = sorted(known)
        near = difflib.get_close_matches(str(name).lower(), self.known, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        listed = ", ".join(self.known) or "none"
        super().__init__(f"no {what} is named {name!r}.{hint} Known: {listed}.")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.name, self.known)

    __str__ = Exception.__str__  # a KeyError would print its message in quotes


class MissingDependencyError(RagevalError, ImportError):
    """A package that this feature needs is not installed.

    Parameters
    ----------
    package : str
        The package that could not be imported.
    extra : str, optional
        The extra of this library that brings it.
    """

    def __init__(self, package: str, extra: str | None = None):
        self.package = package
        self.extra = extra
        line = f'pip install "rageval-report[{extra}]"' if extra else f"pip install {package}"
        super().__init__(f"this needs the package {package!r}, which is not installed: {line}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.package, self.extra)


class PipelineError(RagevalError, RuntimeError):
    """The pipeline that was asked did not answer as it should."""


class JudgeError(RagevalError, RuntimeError):
    """The judge's endpoint failed; a verdict that cannot be read is unscored, not an error."""


class GateError(RagevalError, AssertionError):
    """A gate did not hold."""


class RagevalWarning(UserWarning):
    """Something in the data was mended or guessed; the message says what."""


def named(things: Iterable[object], most: int = MOST_NAMED) -> str:
    """The first few things, quoted, and how many more there are.

    Examples
    --------
    >>> named(["q1", "q2"])
    "'q1', 'q2'"
    >>> named(range(8))
    '0, 1, 2, 3, 4 and 3 more'
    """
    every = list(things)
    shown = ", ".join(repr(thing) for thing in every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most} more"

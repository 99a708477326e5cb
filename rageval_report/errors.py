"""Every error the library raises, and the one warning.

::

    RagevalError
    ├── DataError (ValueError)               the data does not have the expected shape
    │   ├── AlignmentError                   two tables have no query, or no metric, in common
    │   ├── ArgumentKindError (TypeError)    an argument is of a kind that cannot be used
    │   └── ReaderError                      a file cannot be read: path and line
    ├── UnknownNameError (KeyError)          the nearest name, and the known ones
    │   ├── UnknownOptionError (TypeError)   a keyword that a function does not take
    │   └── UnknownValueError (ValueError)   a parameter with few values has another one
    ├── MissingDependencyError (ImportError) the extra, and the line that installs it
    ├── PipelineError (RuntimeError)         the pipeline did not answer
    ├── JudgeError (RuntimeError)            the endpoint of the judge failed
    └── GateError (AssertionError)           a gate failed
    RagevalWarning (UserWarning)             something was corrected or guessed

Each is also the built-in that a caller expects, so ``except ValueError`` catches a `DataError`.
"""

from __future__ import annotations

import difflib
import functools
import shlex
import sys
from collections.abc import Hashable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

MOST_NAMED = 5

# How a note begins that says that a number may be wrong; such notes go before all others.
DOUBT = "Doubt: "
_MOST_QUOTED = 60
# difflib's ratio: "recal" is near "recall" (0.91) and "cvs" near "csv" (0.67), but "zero" is not
# near "drop" (0.5).
_NEAR = 0.65


class RagevalError(Exception):
    """The root of the tree: catch this to catch them all.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> try:
    ...     RAGPipelineEvaluation("hybrid", {"query_id": ["q1"], "recall": [2.0]})
    ... except RagevalError as error:
    ...     type(error).__name__
    'DataError'
    """


class DataError(RagevalError, ValueError):
    """The data does not have the expected shape, or an argument makes no sense."""


class AlignmentError(DataError):
    """Two tables of scores have no query, or no metric, in common."""


class ArgumentKindError(DataError, TypeError):
    """An argument is of a kind that cannot be used, such as a list where a path is expected."""


class ReaderError(DataError):
    """A file cannot be read.

    Parameters
    ----------
    message : str
        What was expected, what the file contains, and what to do.
    path : str or Path, optional
        The file; the message starts with it.
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
    """A name that is not in a table of names, such as a metric or a reader.

    Parameters
    ----------
    what : str
        The kind of thing that the table holds, such as "metric".
    name : str
        The name that is not known.
    known : iterable of str
        The names in the table.
    """

    def __init__(self, what: str, name: str, known: Iterable[str]):
        self.what = what
        self.name = name
        self.known = sorted(known)
        super().__init__(self._message())

    def _message(self) -> str:
        listed = ", ".join(self.known) or "none"
        hint = did_you_mean(self.name, self.known)
        return f"no {self.what} is named {self.name!r}.{hint} Known: {listed}."

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.name, self.known)

    __str__ = Exception.__str__  # a KeyError would print its message in quotes


class UnknownOptionError(UnknownNameError, TypeError):
    """A keyword that the function behind a method, a plot or a format does not take.

    Parameters
    ----------
    what : str
        What was called, such as "plot 'box'".
    name : str
        The keyword.
    known : iterable of str
        The keywords that it takes.
    """

    def _message(self) -> str:
        listed = ", ".join(self.known) or "none"
        hint = did_you_mean(self.name, self.known)
        where = where_option_belongs(self.name)
        return f"{self.what} has no option {self.name!r}.{hint} Its options: {listed}.{where}"


class UnknownValueError(UnknownNameError, ValueError):
    """A value that a parameter with few values does not have.

    Parameters
    ----------
    what : str
        The parameter, such as "missing".
    name : str
        The value that is not one of them.
    known : iterable of str
        The values that the parameter can have, in the order in which the message lists them.
    """

    def __init__(self, what: str, name: str, known: Iterable[str]):
        self._values = tuple(known)
        super().__init__(what, name, self._values)

    def _message(self) -> str:
        hint = did_you_mean(self.name, self.known)
        got = f'"{self.name}"' if isinstance(self.name, str) else repr(self.name)
        expected = quoted_choices(self._values)
        return f"{self.what} must be {expected}; got {got}{'.' if hint else ''}{hint}"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.name, self._values)


def quoted_choices(values: Iterable[str]) -> str:
    """Values as a message lists them, such as ``"auto", "t" or "strict"``."""
    quoted = [f'"{value}"' for value in values]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]]) if quoted[1:] else quoted[0]


def install_command(requirement: str) -> str:
    """The command that installs a package where the running Python finds it.

    Parameters
    ----------
    requirement : str
        A package, with its extras if any.

    Returns
    -------
    str
        A command for a shell. An environment without pip is served by the pip of the system.

    Examples
    --------
    >>> install_command("rageval-report[excel]").endswith(' install "rageval-report[excel]"')
    True
    """
    python = shlex.quote(sys.executable or "python3")
    has_pip = find_spec("pip") is not None
    program = f"{python} -m pip" if has_pip else f"python3 -m pip --python {python}"
    quoted = f'"{requirement}"' if "[" in requirement else requirement
    return f"{program} install {quoted}"


class MissingDependencyError(RagevalError, ImportError):
    """A package that this feature needs is not installed.

    Parameters
    ----------
    package : str
        The package that could not be imported.
    extra : str, optional
        The extra of this library that brings it.
    line : str, optional
        The line that installs it, if no extra does and its name alone is not enough.
    """

    def __init__(self, package: str, extra: str | None = None, *, line: str | None = None):
        self.package = package
        self.extra = extra
        self.line = line
        if line is None:
            line = install_command(f"rageval-report[{extra}]" if extra else package)
        super().__init__(f"this needs the package {package!r}, which is not installed: {line}")

    def __reduce__(self) -> tuple[object, ...]:
        return functools.partial(type(self), line=self.line), (self.package, self.extra)


class PipelineError(RagevalError, RuntimeError):
    """The pipeline did not answer as it should."""


class JudgeError(RagevalError, RuntimeError):
    """The endpoint of the judge failed; an unusable verdict is unscored, not an error."""


class GateError(RagevalError, AssertionError):
    """A gate failed."""


class RagevalWarning(UserWarning):
    """Something in the data was corrected or guessed; the message says what."""


def is_doubt(note: str) -> bool:
    """Whether a note says that a number may be wrong.

    Examples
    --------
    >>> is_doubt("Doubt: no answer has a text"), is_doubt("2 queries are left out")
    (True, False)
    """
    return note.startswith(DOUBT)


def doubts_first(notes: Iterable[str]) -> tuple[str, ...]:
    """The notes, those first that say that a number may be wrong, each of these once.

    Examples
    --------
    >>> doubts_first(["2 queries are left out", "Doubt: no answer has a text"])
    ('Doubt: no answer has a text', '2 queries are left out')
    """
    notes = tuple(notes)
    doubts = dict.fromkeys(note for note in notes if is_doubt(note))
    return (*doubts, *(note for note in notes if note not in doubts)) if doubts else notes


def doubts_of(runs: Iterable[Any]) -> tuple[str, ...]:
    """The doubts in the notes of several pipelines, each with the name of its pipeline.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> notes = ("2 queries are left out", "Doubt: no answer has a text")
    >>> doubts_of([SimpleNamespace(name="hybrid", notes=notes), SimpleNamespace(name="bm25")])
    ('Doubt: hybrid: no answer has a text',)
    """
    return tuple(
        f"{DOUBT}{run.name}: {note[len(DOUBT) :]}"
        for run in runs
        for note in getattr(run, "notes", ())
        if is_doubt(note)
    )


def check_choice(parameter: str, value: object, choices: Iterable[str]) -> None:
    """Check a parameter that has few values.

    Parameters
    ----------
    parameter : str
        Its name, as the caller writes it.
    value : object
        What the caller passed.
    choices : iterable of str
        The values that it can have.

    Raises
    ------
    UnknownValueError
        If the value is not one of them.

    Examples
    --------
    >>> check_choice("missing", "drop", ("drop", "worst", "bounds"))
    >>> check_choice("missing", "zero", ("drop", "worst", "bounds"))
    Traceback (most recent call last):
        ...
    rageval_report.errors.UnknownValueError: missing must be "drop", "worst" or "bounds"; got "zero"
    """
    values = tuple(choices)
    # A frame or an array would be compared with each value item by item.
    if not isinstance(value, Hashable) or value not in values:
        raise UnknownValueError(parameter, value, values)  # type: ignore[arg-type]


def check_options(what: str, options: Iterable[str], known: Iterable[str]) -> None:
    """Check keywords before they are passed on, so that the error names what the user called.

    Parameters
    ----------
    what : str
        What was called, such as "plot 'box'".
    options : iterable of str
        The keywords of the caller.
    known : iterable of str
        The keywords that it takes.

    Raises
    ------
    UnknownOptionError
        If a keyword is not one of them.

    Examples
    --------
    >>> check_options("plot 'box'", ["axe"], ["ax", "metrics"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    rageval_report.errors.UnknownOptionError: plot 'box' has no option 'axe'. Did you mean 'ax'? ...
    """
    names = tuple(known)
    for option in options:
        if option not in names:
            raise UnknownOptionError(what, option, names)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The nearest known name as a question, or nothing if no name is near.

    Examples
    --------
    >>> did_you_mean("recal", ["precision", "recall"])
    " Did you mean 'recall'?"
    >>> did_you_mean("zero", ["drop", "worst"])
    ''
    """
    names, typed = list(known), str(name).lower()
    for wanted in (typed, typed.partition("@")[0]):  # "ndgc@10" means "ndcg", cut at 10
        swapped = [other for other in names if sorted(other) == sorted(wanted)]  # "ulr" for "url"
        near = swapped or difflib.get_close_matches(wanted, names, n=1, cutoff=_NEAR)
        if near:
            return f" Did you mean {near[0]!r}?"
    return ""


# Options that people try in more places than those that know them.
_WHERE = {
    "dialect": "dialect is an option of score, score_rankings and score_traces, of read_scores for "
    "rankings and for files of Haystack and ragbench, and of the commands score and eval"
}


def where_option_belongs(name: object) -> str:
    """Where an option belongs that was given elsewhere, as a sentence; nothing if it is unknown.

    Examples
    --------
    >>> where_option_belongs("dialect")[:44]
    ' Note: dialect is an option of score, score_'
    >>> where_option_belongs("speed")
    ''
    """
    where = _WHERE.get(str(name))
    return "" if where is None else f" Note: {where}."


def named(things: Iterable[object], most: int = MOST_NAMED) -> str:
    """The first few items, quoted, and the number of the others.

    Examples
    --------
    >>> named(["q1", "q2"])
    "'q1', 'q2'"
    >>> named(range(8))
    '0, 1, 2, 3, 4 and 3 more'
    """
    items = list(things)
    quoted = ", ".join(repr(item) for item in items[:most])
    return quoted if len(items) <= most else f"{quoted} and {len(items) - most} more"


# -- what a value is


def quote_briefly(text: str) -> str:
    """A text in quotes, cut if it is long."""
    return repr(text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}...")


def describe_kind(value: object) -> str:
    """What a value is, for an error message.

    Examples
    --------
    >>> describe_kind(None), describe_kind(5), describe_kind(["a", "b"]), describe_kind(dict)
    ('None', 'the number 5', 'a list of 2 items', 'the class dict')
    >>> describe_kind("run.csv"), describe_kind(object())
    ("the text 'run.csv'", 'an object')
    """
    kind = type(value).__name__
    article = "an" if kind[:1].lower() in "aeiou" else "a"
    if isinstance(value, bytes):
        return f"{len(value)} byte{'s' * (len(value) != 1)}"
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int) and value.bit_length() > 128:
        # Python refuses to write an integer of more than 4,300 digits.
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, int | float | complex):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {quote_briefly(value)}"
    if isinstance(value, type | ModuleType):
        return f"the {'class' if isinstance(value, type) else 'module'} {value.__name__}"
    if isinstance(value, list | tuple | set | frozenset | Mapping):
        thing = "key" if isinstance(value, Mapping) else "item"
        return f"{article} {kind} of {len(value)} {thing}{'s' * (len(value) != 1)}"
    return f"{article} {kind}"

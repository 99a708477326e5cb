"""A Python function as a target."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rageval_report._registry import load
from rageval_report.errors import DataError, MissingDependencyError, UnknownNameError
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import ResponsePaths, TargetReply, record_fields
from rageval_report.runner.target_errors import TargetError
from rageval_report.runner.targets.base import Target, digest_of

Argument = Literal["question", "query"]
_ARGUMENTS: tuple[Argument, ...] = ("question", "query")


@dataclass(frozen=True)
class FunctionSettings:
    """How a function is called.

    Parameters
    ----------
    function : str
        As "module:function".
    argument : {"question", "query"}
        Whether it takes the question, or a dict of ``query_id``, ``question`` and `fields`.
    fields : tuple of str
        Names of metadata that stand in that dict.
    response : ResponsePaths
        Where the fields stand in what it returns.
    """

    function: str
    argument: str = "question"
    fields: tuple[str, ...] = ()
    response: ResponsePaths = field(default_factory=ResponsePaths)


class FunctionTarget(Target):
    """A function of a question that returns the answer, or a mapping that holds it.

    Parameters
    ----------
    settings : FunctionSettings
        How it is called.
    function : callable, optional
        The function itself, where it is at hand.

    Raises
    ------
    DataError
        If there is no such function, or it cannot be called as it is.

    Examples
    --------
    >>> target = FunctionTarget.of(lambda question: f"{question} I don't know.")
    >>> target.ask(Query(0, "a", "Why?", {})).fields
    {'answer': "Why? I don't know."}
    """

    settings_type = FunctionSettings

    def __init__(self, settings: FunctionSettings, function: Callable[[Any], Any] | None = None):
        if settings.argument not in _ARGUMENTS:
            raise UnknownNameError("argument of a function", settings.argument, _ARGUMENTS)
        if settings.fields and settings.argument != "query":
            raise DataError("a function that is told fields takes them with argument: query")
        self._settings = settings
        self._function = function or _loaded(settings.function)
        if inspect.iscoroutinefunction(self._function):
            raise DataError(
                f"{settings.function} is asynchronous; give a plain function that calls it, as "
                "with asyncio.run"
            )

    @classmethod
    def of(cls, function: Callable[[Any], Any]) -> FunctionTarget:
        """The target that calls this function with a question."""
        name = getattr(function, "__qualname__", type(function).__name__)
        module = getattr(function, "__module__", None) or "__main__"
        return cls(FunctionSettings(f"{module}:{name}"), function)

    def ask(self, query: Query) -> TargetReply:
        """Call the function."""
        told = self._settings
        given = query.request_fields(told.fields) if told.argument == "query" else query.question
        started = time.perf_counter()
        try:
            found = self._function(given)
        except TargetError:
            raise
        except Exception as exc:  # whatever a user's function raises is a query without an answer
            raise TargetError(f"{type(exc).__name__}: {exc}", "exception") from exc
        latency_ms = 1000 * (time.perf_counter() - started)
        return TargetReply(record_fields(found, told.response), latency_ms)

    def identity(self) -> dict[str, Any]:
        """The function's name, and a digest of how it is called."""
        told = self._settings
        digest = digest_of(told.argument, asdict(told.response), told.fields)
        return {"target": "callable", "function": told.function, "settings": digest}


def _loaded(place: str) -> Callable[[Any], Any]:
    module, _, name = place.partition(":")
    if not module or not name:
        raise DataError(f"expected a function as 'module:function'; got {place!r}")
    try:
        found = load(place)
    except MissingDependencyError as exc:
        if exc.package != module.partition(".")[0]:
            raise
        raise DataError(
            f"{place}: no module is named {module!r}; is its folder the right one?"
        ) from exc
    except AttributeError as exc:
        raise DataError(f"{place}: the module has no {name!r}") from exc
    if not callable(found):
        raise DataError(f"{place} cannot be called: it is {type(found).__name__}")
    function: Callable[[Any], Any] = found
    return function

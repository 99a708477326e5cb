"""States that are added, and functions that make them of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar


class Mergeable(Protocol):
    """What a function returns for some rows: the sum of two is that of both rows."""

    def __add__(self, other: Self) -> Self:
        """The state of both parts."""


R = TypeVar("R")
S = TypeVar("S", bound=Mergeable)

# A function of rows, at the top of a module, or an object of such a class: it is sent to workers.
Partial = Callable[[R], S]


@dataclass(frozen=True)
class States:
    """Several states of the same rows.

    Parameters
    ----------
    parts : tuple
        The states.
    """

    parts: tuple[Any, ...]

    def __add__(self, other: States) -> States:
        """The states of both parts."""
        return States(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True)
class StateOfEach:
    """Makes several states of the same rows.

    Parameters
    ----------
    partials : tuple of callable
        Each takes the rows and returns a state.
    """

    partials: tuple[Callable[[Any], Any], ...]

    def __call__(self, rows: Any) -> States:
        """The states of some rows."""
        return States(tuple(partial(rows) for partial in self.partials))


@dataclass(frozen=True)
class StateByName:
    """States by name; a name that one part lacks has the state of the other.

    Parameters
    ----------
    states : dict of str to state
        Such as one per metric, or per group.
    """

    states: dict[Any, Any]

    def __add__(self, other: StateByName) -> StateByName:
        """The states of both parts."""
        merged = dict(self.states)
        for name, state in other.states.items():
            merged[name] = merged[name] + state if name in merged else state
        return StateByName(merged)


def add_states(states: Iterable[S]) -> S | None:
    """The sum of states in their order; None if there is none.

    Examples
    --------
    >>> add_states(iter([1, 2, 3])), add_states([])
    (6, None)
    """
    total: S | None = None
    for state in states:
        total = state if total is None else total + state
    return total

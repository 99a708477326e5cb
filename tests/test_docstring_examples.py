"""Every public function, class and method is shown by an example that runs.

Public is what a package that users import lists in its ``__all__``, and the members of such a class
whose names have no underscore in front. A member is shown by an example of its own, or by that of
its class, which then uses it. Pytest runs all examples as doctests.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property

import pytest

# The packages that users import; the names of all others are for the house itself.
PACKAGES = ("", ".stats", ".metrics", ".judges", ".golden", ".errors", ".plots")


def packages() -> Iterator[object]:
    """The packages and modules that users import."""
    for name in PACKAGES:
        yield importlib.import_module(f"rageval_report{name}")


def is_ours(thing: object) -> bool:
    is_code = inspect.isclass(thing) or inspect.isroutine(thing)
    return is_code and str(getattr(thing, "__module__", "")).startswith("rageval_report")


def members(owner: type) -> Iterator[tuple[str, object]]:
    """The public methods and properties that a class itself defines."""
    for name, member in vars(owner).items():
        function = getattr(member, "__func__", member)
        kinds = isinstance(function, property | cached_property) or inspect.isfunction(function)
        if kinds and not name.startswith("_"):
            yield name, function


def shows(thing: object, member: str = "") -> bool:
    """Whether the docstring has an example; if a member is named, one that uses it."""
    lines = re.findall(r"^\s*(?:>>>|\.\.\.) .*$", thing.__doc__ or "", flags=re.MULTILINE)
    used = re.compile(rf"\.{member}\b" if member else "")
    return any(used.search(line) for line in lines)


def public_things() -> dict[str, bool]:
    """Every public name, and whether an example shows it."""
    shown = {}
    for package in packages():
        for public_name in getattr(package, "__all__", ()):
            thing = getattr(package, public_name)
            if not is_ours(thing):
                continue
            place = f"{thing.__module__}.{thing.__qualname__}"
            shown[place] = shows(thing)
            for name, member in members(thing) if inspect.isclass(thing) else ():
                shown[f"{place}.{name}"] = shows(member) or shows(thing, name)
    return shown


@pytest.fixture(scope="module")
def shown():
    return public_things()


def test_every_public_name_has_an_example(shown):
    assert len(shown) > 200
    assert [name for name, is_shown in shown.items() if not is_shown] == []


# -- the check itself

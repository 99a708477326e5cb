"""The public names of the package, from its own lists: the ``__all__`` of its rooms."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

import rageval_report
from rageval_report import errors

PACKAGE = rageval_report.__name__
_ROOT = Path(rageval_report.__file__).parent
# The commands have pages of their own, which are made from click.
_WITHOUT_PAGES = {f"{PACKAGE}.cli"}
# Files that list what `records` gives to users.
_FILES = (f"{PACKAGE}.datasets", f"{PACKAGE}.golden")
# One file without a list: every error is public.
_ERRORS = errors.__name__


@dataclass(frozen=True)
class PublicName:
    """A public name, the place from which users import it, and the thing itself."""

    module: str
    name: str
    thing: object = field(compare=False)

    @property
    def path(self) -> str:
        """The name with its module, such as "rageval_report.compare"."""
        return f"{self.module}.{self.name}"

    @property
    def kind(self) -> str:
        """The directive of autodoc that documents it."""
        if inspect.isclass(self.thing):
            return "exception" if issubclass(self.thing, BaseException) else "class"
        return "function" if inspect.isroutine(self.thing) else "data"

    @property
    def sentence(self) -> str:
        """The first sentence of the docstring; empty for a table or an alias."""
        text = inspect.getdoc(self.thing) if self.kind != "data" else ""
        return " ".join((text or "").partition("\n\n")[0].split())


def list_of(module: ModuleType) -> list[str]:
    """The names that a module lists as public."""
    if module.__name__ == _ERRORS:
        return sorted(
            name
            for name, thing in vars(module).items()
            if inspect.isclass(thing)
            and issubclass(thing, Exception)
            and thing.__module__ == _ERRORS
            and not name.startswith("_")
        )
    return list(getattr(module, "__all__", ()))


@cache
def public_modules() -> dict[str, ModuleType]:
    """The rooms that list public names: the package itself first, then by name."""
    names = [
        ".".join((PACKAGE, *path.parent.relative_to(_ROOT).parts))
        for path in _ROOT.rglob("__init__.py")
    ]
    modules = {name: importlib.import_module(name) for name in sorted([*names, *_FILES, _ERRORS])}
    return {
        name: module
        for name, module in modules.items()
        if name not in _WITHOUT_PAGES and list_of(module)
    }


def names_of(module: str) -> Iterator[PublicName]:
    """The public names of a room, without the version."""
    room = public_modules()[module]
    for name in list_of(room):
        if not name.startswith("__"):
            yield PublicName(module, name, getattr(room, name))


@cache
def pages() -> dict[str, PublicName]:
    """The public name whose page describes each public path.

    A thing that several rooms list has one page, at the place that comes first.
    """
    first: dict[int, PublicName] = {}
    found = {}
    for module in public_modules():
        for entry in names_of(module):
            found[entry.path] = first.setdefault(id(entry.thing), entry)
    return found


@cache
def origins() -> dict[str, str]:
    """The public path of each thing by the module that defines it, where signatures find it."""
    return {
        f"{entry.thing.__module__}.{entry.thing.__qualname__}": entry.path
        for entry in dict.fromkeys(pages().values())
        if entry.kind != "data"
    }


@cache
def short_names() -> dict[str, str]:
    """The public path of each name that has one meaning."""
    short: dict[str, set[str]] = {}
    for entry in pages().values():
        short.setdefault(entry.name, set()).add(entry.path)
    unique = {name: min(paths) for name, paths in short.items() if len(paths) == 1}
    # What users import from the package itself wins.
    return unique | {entry.name: entry.path for entry in names_of(PACKAGE)}

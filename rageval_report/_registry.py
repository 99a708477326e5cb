"""Tables of named members whose modules are imported on first use, and faces of lazy packages.

Each room with several members of one kind keeps one table, with one line per member::

    TESTS: Registry[Test] = Registry("test", {"t": "package.module:paired_t"})

This is the only module that imports others by name, so all lazy loading is here.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from rageval_report.errors import (
    MissingDependencyError,
    RagevalError,
    RagevalWarning,
    UnknownNameError,
    did_you_mean,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

_PACKAGE = __name__.partition(".")[0]

# The extra of pyproject.toml that installs each import; any other import is its own package.
EXTRAS: dict[str, str] = {
    "backports": "inspect",
    "bm25s": "server",
    "boto3": "bedrock",
    "botocore": "bedrock",
    "dask": "dask",
    "datasets": "datasets",
    "duckdb": "duckdb",
    "fsspec": "remote",
    "httpcore2": "http",
    "httpx2": "http",
    "ibis": "ibis",
    "mlflow": "mlflow",
    "narwhals": "frames",
    "nltk": "text",
    "openpyxl": "excel",
    "psycopg": "postgresql",
    "pyarrow": "parquet",
    "pyspark": "spark",
    "rapidfuzz": "text",
    "rouge_score": "text",
    "sacrebleu": "text",
    "sentence_transformers": "semantic",
    "tenacity": "http",
    "wandb": "wandb",
    "yaml": "yaml",
}


class Registry(Mapping[str, T], Generic[T]):
    """A table of members by name; a member may be the text "module:attribute", loaded on first use.

    Parameters
    ----------
    what : str
        The kind of the members, in the singular, for error messages.
    entries : mapping of str to member or "module:attribute"
        The built-in members.
    group : str, optional
        The entry-point group in which other distributions offer members. It is searched when a name
        is not built in, and when all names are listed.
    also : mapping of str to str, optional
        Other names that people know a member by, with its name here.

    Examples
    --------
    >>> colours = Registry("colour", {"red": "#f00"})
    >>> colours["red"]
    '#f00'
    >>> "blue" in colours
    False
    """

    def __init__(
        self,
        what: str,
        entries: Mapping[str, T | str] | None = None,
        *,
        group: str | None = None,
        also: Mapping[str, str] | None = None,
    ):
        self._what = what
        self._entries: dict[str, T | str] = dict(entries or {})
        self._group = group
        self._also = dict(also or {})
        self._distributions: dict[str, str] = {}  # of the members found by entry point
        self._broken: dict[str, Exception] = {}  # why plug-ins could not be loaded

    def add(self, name: str, member: T) -> None:
        """Add a member under a name; it replaces a member of the same name."""
        self._entries[name] = member

    def known(self) -> dict[str, T]:
        """The members, without those of other distributions that are not loaded yet."""
        return {
            name: self[name]
            for name, entry in list(self._entries.items())
            if not (name in self._distributions and isinstance(entry, str))
        }

    def loaded(self) -> dict[str, T]:
        """All members; a plug-in that cannot be loaded is left out, with a warning."""
        members = {}
        for name in self:
            try:
                members[name] = self[name]
            except Exception as exc:
                if self.distribution_of(name) is None:
                    raise
                del self._entries[name]
                self._broken[name] = exc
                warnings.warn(str(exc), RagevalWarning, stacklevel=2)
        return members

    def raise_if_broken(self, name: str) -> None:
        """Raise the error of a plug-in that `loaded` left out because it cannot be loaded."""
        if name in self._broken:
            raise self._broken[name]

    def distribution_of(self, name: str) -> str | None:
        """The distribution whose entry point offers the member; None for any other member."""
        return self._distributions.get(name)

    def name_of(self, name: str) -> str:
        """The name of a member here, if people know it by another one; else the name itself."""
        return name if name in self._entries else self._also.get(name, name)

    def __getitem__(self, name: str) -> T:
        name = self.name_of(name)
        if name not in self._entries:
            self._add_plugins()
        if name not in self._entries:
            raise UnknownNameError(self._what, name, self._entries)
        entry = self._entries[name]
        if isinstance(entry, str) and ":" in entry:
            entry = self._load_entry(name, entry)
            self._entries[name] = entry
        return cast("T", entry)

    def _load_entry(self, name: str, path: str) -> T:
        """The member at "module:attribute"; an error within a plug-in names the plug-in."""
        try:
            return cast("T", load(path))
        except Exception as exc:
            if self.distribution_of(name) is None:
                raise
            raise RagevalError(
                f"the plug-in {self._what} {name!r} of {self.distribution_of(name)} cannot be "
                f"loaded: {type(exc).__name__}: {exc}"
            ) from exc

    def __contains__(self, name: object) -> bool:
        if name not in self._entries:
            self._add_plugins()
        return name in self._entries or name in self._also

    def __iter__(self) -> Iterator[str]:
        self._add_plugins()
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        self._add_plugins()
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<table of {self._what}s: {', '.join(self._entries)}>"

    def _add_plugins(self) -> None:
        group, self._group = self._group, None  # the installed packages are searched once
        if group is None:
            return
        for point in import_metadata().entry_points(group=group):
            if point.name not in self._entries:
                self._entries[point.name] = point.value
                self._distributions[point.name] = _distribution_name(point)


def import_metadata() -> ModuleType:
    """The module importlib.metadata: loaded late, because it brings the package email."""
    return importlib.import_module("importlib.metadata")


def _distribution_name(point: EntryPoint) -> str:
    """The distribution of an entry point, such as "starfiles 1.0"."""
    if point.dist is None:  # metadata that a test or an importer made up
        return f"the module {point.module}"
    return f"{point.dist.name} {point.dist.version}"


def load(path: str) -> Any:
    """The object at "module:attribute", or the module if no attribute is named.

    Raises
    ------
    MissingDependencyError
        If the module, or one that it imports, is a package that is not installed.
    """
    module_name, _, attribute = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as exc:
        missing, _, inner = (exc.name or module_name).partition(".")
        is_installed = bool(inner) and missing in sys.modules and missing not in EXTRAS
        if missing == _PACKAGE or is_installed:
            raise  # a misspelt module of an installed package is a bug, not a missing package
        raise MissingDependencyError(missing, EXTRAS.get(missing)) from exc
    return getattr(module, attribute) if attribute else module


def resolve(entry: T | str) -> T:
    """The member of a table: itself, or loaded if it is the text "module:attribute".

    Examples
    --------
    >>> resolve("math:floor")(2.5)
    2
    """
    return cast("T", load(entry)) if isinstance(entry, str) else entry


def import_pyarrow() -> ModuleType:
    """The package pyarrow, which has no types; see `load`."""
    arrow: ModuleType = load("pyarrow")
    return arrow


def import_parquet() -> ModuleType:
    """The module pyarrow.parquet, which has no types; see `load`."""
    return import_arrow_module("parquet")


def import_arrow_module(name: str) -> ModuleType:
    """A module of pyarrow, such as "compute"; see `load`."""
    module: ModuleType = load(f"pyarrow.{name}")
    return module


def import_yaml() -> ModuleType:
    """The package PyYAML of the extra "yaml"; see `load`."""
    yaml: ModuleType = load("yaml")
    return yaml


# One name that a package exports, as ruff writes it: "from a.b import name as name", with the last
# three words in parentheses on a line of their own where the line would be too long.
_EXPORT = re.compile(r"^ {4}from ([\w.]+) import (?:\(\s*)?(\w+) as \2\b", re.MULTILINE)


def lazy_face(
    package: str, *eager_names: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package that loads its names on first use.

    The names are listed once, where type checkers look for them: they are the imports of the form
    ``from module import name as name`` in the package's ``if TYPE_CHECKING:`` block. The call
    belongs to the ``else:`` of that block, so that a checker does not see a `__getattr__` that
    would accept every misspelt name.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    *eager_names : str
        Public names that the package defines itself.

    Raises
    ------
    ImportError
        If the source of the package is not available.
    """
    source = _source_of(package)
    if source is None:
        raise ImportError(f"{package} needs its source file, because that file lists its names")
    modules = {match[2]: match[1] for match in _EXPORT.finditer(source)}
    public_names = sorted({*modules, *eager_names})

    def get_attribute(name: str) -> object:
        if name not in modules:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}.{did_you_mean(name, public_names)}"
            )
        member = load(f"{modules[name]}:{name}")
        # From now on it is an ordinary name of the package, for which nothing is called.
        setattr(sys.modules[package], name, member)
        return member

    return get_attribute, lambda: list(public_names), public_names


def _source_of(package: str) -> str | None:
    """The source of a package that is being imported; None if only its bytecode is installed."""
    spec = cast("ModuleSpec", sys.modules[package].__spec__)
    loader: Any = spec.loader
    # Under pytest the package has pytest's loader, because its distribution offers a plug-in; that
    # loader compiles the file and cannot return its source.
    if not hasattr(loader, "get_source"):
        loader = SourceFileLoader(package, str(spec.origin))
    source: str | None = loader.get_source(package)
    return source

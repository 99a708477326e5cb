"""Prompts are data: a file of templates, each with a version."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from rageval_report.errors import DataError, ReaderError
from rageval_report.files.source import Source
from rageval_report.judges.chats import Message

_FILE = "prompts.toml"
_FIELDS = frozenset(("version", "system", "user"))

# What each template may ask for; the first are those that it must.
PLACES: dict[str, tuple[str, ...]] = {
    "question": ("context", "examples", "avoid"),
    "multi_hop": ("context", "examples", "avoid"),
    "unanswerable": ("context", "examples", "avoid"),
    "answer": ("context", "question"),
    "negatives": ("question", "answer", "context", "n"),
    "ground_truth": ("context", "question"),
}


@dataclass(frozen=True)
class Prompt:
    """One template.

    Parameters
    ----------
    name : str
        What it is for, a name of `PLACES`.
    version : str
        Changed with every change of its words.
    user, system : str
        The templates; ``$name`` is filled in, ``$$`` is a dollar sign.
    """

    name: str
    version: str
    user: str
    system: str = ""

    @property
    def told(self) -> str:
        """Name and version, for a provenance."""
        return f"{self.name}@{self.version}"

    def message(self, **values: object) -> Message:
        """The message with its values; what stands in a value is never taken for a template."""
        texts = {name: str(value) for name, value in values.items()}
        return Message(Template(self.user).substitute(texts).strip(), self.system.strip())


def load_prompts(path: str | Path | None = None) -> dict[str, Prompt]:
    """The prompts that come with the library, and those of a file in their place.

    Parameters
    ----------
    path : str or Path, optional
        A TOML file with a table a prompt: ``version``, ``user`` and, if need be, ``system``.

    Returns
    -------
    dict of str to Prompt
        By name.

    Raises
    ------
    ReaderError
        If the file is no TOML, or a prompt lacks a field or has one that nothing fills.

    Examples
    --------
    >>> load_prompts()["answer"].told
    'answer@1'
    """
    own = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    prompts = _parsed(own, _FILE)
    if path is not None:
        prompts |= _parsed(Source(path).text, str(path))
    return prompts


def _parsed(text: str, name: str) -> dict[str, Prompt]:
    try:
        tables = tomllib.loads(text)
        return {key: _prompt(key, table) for key, table in tables.items()}
    except (tomllib.TOMLDecodeError, DataError) as exc:
        raise ReaderError(str(exc), name) from exc


def _prompt(name: str, table: Any) -> Prompt:
    if name not in PLACES:
        raise DataError(f"no prompt is named {name!r}; known: {', '.join(PLACES)}")
    if not isinstance(table, Mapping) or not {"version", "user"} <= set(table) <= _FIELDS:
        raise DataError(f"the prompt {name!r} needs version and user, and may have system")
    fields = {key: str(value) for key, value in table.items()}
    template = Template(fields["user"])
    asked = set(template.get_identifiers()) if template.is_valid() else None
    if asked is None or not asked <= set(PLACES[name]) or PLACES[name][0] not in asked:
        places = ", ".join(f"${one}" for one in PLACES[name])
        told = f"must ask for ${PLACES[name][0]}, and may ask for {places}; $$ is a dollar sign"
        raise DataError(f"the prompt {name!r} {told}")
    return Prompt(name, **fields)

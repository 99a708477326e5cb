"""The prompts for golden sets: a file of templates, each with a version."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from rageval_report.errors import DataError, ReaderError, UnknownNameError, explain_keywords
from rageval_report.files.source import Source
from rageval_report.judges.chats import Message

_FILE = "prompts.toml"
_FIELDS = frozenset(("version", "system", "user"))

# The places that each template may contain; it must contain the first.
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
        Its purpose, a name of `PLACES`.
    version : str
        Changed with every change of its words.
    user, system : str
        The templates; ``$name`` is a place to fill in, ``$$`` is a dollar sign.
    """

    name: str
    version: str
    user: str
    system: str = ""

    @property
    def label(self) -> str:
        """Name and version, for a provenance."""
        return f"{self.name}@{self.version}"

    def message(self, **values: object) -> Message:
        """The message with these values; a value is never taken for a template."""
        texts = {name: str(value) for name, value in values.items()}
        # string.Template, because documents and JSON examples are full of braces.
        return Message(Template(self.user).substitute(texts).strip(), self.system.strip())


@explain_keywords
def load_prompts(path: str | Path | None = None) -> dict[str, Prompt]:
    """The prompts that come with the library, replaced by those of a file if there is one.

    Parameters
    ----------
    path : str or Path, optional
        A TOML file with one table per prompt: ``version``, ``user`` and optionally ``system``.

    Returns
    -------
    dict of str to Prompt
        By name.

    Raises
    ------
    ReaderError
        If the file is not TOML, or a prompt lacks a field or has an unknown one.

    Examples
    --------
    >>> load_prompts()["answer"].label
    'answer@1'
    """
    own = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    prompts = _parse_prompts(own, _FILE)
    if path is not None:
        prompts |= _parse_prompts(Source(path).text, str(path))
    return prompts


def _parse_prompts(text: str, name: str) -> dict[str, Prompt]:
    try:
        tables = tomllib.loads(text)
        return {key: _make_prompt(key, table) for key, table in tables.items()}
    except (ValueError, RecursionError, UnknownNameError) as exc:  # not TOML, or not a prompt
        raise ReaderError(str(exc), name) from exc


def _make_prompt(name: str, table: object) -> Prompt:
    if name not in PLACES:
        raise UnknownNameError("prompt", name, PLACES)
    if not isinstance(table, Mapping) or not {"version", "user"} <= set(table) <= _FIELDS:
        raise DataError(f"the prompt {name!r} needs version and user, and may have system")
    fields = {key: str(value) for key, value in table.items()}
    template, places = Template(fields["user"]), PLACES[name]
    used = set(template.get_identifiers()) if template.is_valid() else None
    if used is None or not used <= set(places) or places[0] not in used:
        listed = ", ".join(f"${place}" for place in places)
        raise DataError(
            f"the prompt {name!r} must contain ${places[0]}, and may contain {listed}; $$ is a "
            "dollar sign"
        )
    return Prompt(name, **fields)

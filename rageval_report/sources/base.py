"""The type of a source, its addresses, and what opening an address gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from urllib.parse import unquote

from rageval_report.errors import ReaderError, did_you_mean
from rageval_report.files.inputs import hide_password, shorten_path
from rageval_report.files.source import Source

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_QUERY = re.compile(r"(?:^|&)query=")

# How several files belong together: "auto" lets their query ids decide.
FilesArgument = Literal["auto", "parts", "evaluations"]


@dataclass(frozen=True, repr=False)
class SourceAddress:
    """An address such as "sqlite:///scores.db?table=scores".

    Parameters
    ----------
    text : str
        The address as the user wrote it. It may hold a password, so it is in no message and no
        representation; `name` is.
    scheme : str
        The part before the first colon, a name of the table ``rageval_report.sources.SOURCES``.
    place : str
        The part between the scheme and the first "?", without the slashes of the scheme.
    parameters : mapping of str to str
        The parameters after the first "?", decoded.
    """

    text: str
    scheme: str
    place: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The address for messages, without passwords."""
        return shorten_path(hide_password(self.text))

    def __repr__(self) -> str:
        return f"SourceAddress({self.name!r})"

    def error(self, message: str) -> ReaderError:
        """An error with the address in front of the message."""
        return ReaderError(message, path=self.name)

    def check_parameters(self, known: tuple[str, ...]) -> None:
        """Check that every parameter after the "?" is one that the source takes."""
        for name in self.parameters:
            if name not in known:
                hint = did_you_mean(name, known)
                raise self.error(
                    f"no parameter is named {name!r}.{hint} It takes {', '.join(known)}"
                )


@dataclass(frozen=True)
class RunFacts:
    """What a tracker says about a run, used where its table of scores does not say it."""

    created: datetime | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class OpenedSources:
    """What an address, a folder, a list or a single file gave.

    Parameters
    ----------
    sources : tuple of Source
        Files, contents or tables, which readers read.
    name : str
        What the user named, without passwords, for messages.
    stem : str
        The name of the pipeline if the sources are parts of one table.
    files : {"auto", "parts", "evaluations"}
        How the sources belong together, if the origin says so.
    notes : tuple of str
        What was skipped, and where the rows come from.
    why : str
        The reason for `files`, if it is not "auto".
    facts : tuple of RunFacts
        What the origin says about the run behind each source; empty if it says nothing.
    """

    sources: tuple[Source, ...]
    name: str
    stem: str
    files: FilesArgument = "auto"
    notes: tuple[str, ...] = ()
    why: str = ""
    facts: tuple[RunFacts, ...] = ()


@dataclass(frozen=True)
class ScoreSource:
    """A database or another place outside files from which scores are read.

    Parameters
    ----------
    name : str
        The scheme of its addresses, the name in the table `SOURCES`.
    sentence : str
        What it reads.
    form : str
        The form of an address, for errors: "sqlite:///FILE?table=NAME".
    open : callable
        Takes a `SourceAddress` and returns an `OpenedSources`.
    """

    name: str
    sentence: str
    form: str
    open: Callable[[SourceAddress], OpenedSources]


def split_address(text: str) -> SourceAddress | None:
    """The parts of an address; None if a text has no scheme."""
    scheme = _SCHEME.match(text)
    if scheme is None:
        return None
    body, _, tail = text[scheme.end() - 1 :].partition("?")
    # Three slashes are a path from here, four one from the root, as in SQLAlchemy; "runs:/ID" and
    # "s3://bucket" have no host that would stand before a path.
    place = body.removeprefix("///") if body.startswith("///") else body.lstrip("/")
    return SourceAddress(text, scheme[1].lower(), unquote(place), _parse_parameters(tail))


def _parse_parameters(tail: str) -> dict[str, str]:
    marker = _QUERY.search(tail)
    before = tail if marker is None else tail[: marker.start()]
    pairs = (part.partition("=") for part in before.split("&") if part)
    parameters = {unquote(name): unquote(value) for name, _, value in pairs}
    if marker is not None:
        query = tail[marker.end() :]
        parameters["query"] = query if re.search(r"\s", query) else unquote(query)
    return parameters

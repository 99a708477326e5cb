"""Servers that answer in JSON: the address of one, its key, and its answers page by page."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from rageval_report.errors import DataError, ReaderError, named
from rageval_report.http import Client, Key, RequestError
from rageval_report.readers.table_files import DocumentSource
from rageval_report.sources.base import OpenedSources, RunFacts, SourceAddress
from rageval_report.types import Sleep

_NOT_FOUND = 404

# A value of a parameter in an address; a list is repeated.
Query = Mapping[str, "str | int | Sequence[str] | None"]
# The runs of a tracker by name: what was fetched and what is known of it; None without scores.
FetchedRuns = Mapping[str, tuple[DocumentSource, RunFacts] | None]


@dataclass(frozen=True, repr=False)
class JsonApi:
    """A server that answers in JSON."""

    address: SourceAddress
    home: str
    client: Client
    key: Key | None = None
    hidden: tuple[Key, ...] = ()

    def get(self, path: str, query: Query | None = None) -> Any:
        """The document at a path of the server."""
        document = self.get_or_none(path, query)
        if document is None:
            raise self.address.error(
                f"{self.home}{path} does not exist; is this the address of the service?"
            )
        return document

    def get_or_none(self, path: str, query: Query | None = None) -> Any:
        """As `get`; None if there is nothing at the path."""
        present = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self.home}{path}" + (f"?{urlencode(present, doseq=True)}" if present else "")
        headers = {} if self.key is None else {"authorization": self.key}
        try:
            return self.client.request("GET", url, headers=headers, keys=self.hidden).json()
        except RequestError as exc:
            if exc.status == _NOT_FOUND:
                return None
            raise

    def rows(self, path: str, document: Any, what: str = "data") -> list[dict[str, Any]]:
        """The list of objects in an answer."""
        rows = document.get(what) if isinstance(document, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self.address.error(
                f"{self.home}{path} answered without a list {what!r} of objects; is this the "
                "address of the service?"
            )
        return rows

    def pages(
        self, path: str, query: Query, next_page: Callable[[Mapping[str, Any]], Query | None]
    ) -> Iterator[dict[str, Any]]:
        """The objects of all pages."""
        pages_so_far: list[Query] = []
        page: Query | None = {}
        while page is not None:
            if page in pages_so_far:
                raise self.address.error(f"{self.home}{path} repeats a page: {dict(page)}")
            pages_so_far.append(page)
            document = self.get(path, {**query, **page})
            yield from self.rows(path, document)
            page = next_page(document)

    def nothing_named(self, what: str, rows: Iterator[dict[str, Any]]) -> ReaderError:
        """The error about a name that no row has."""
        names = named(str(row.get("name")) for row in rows)
        return self.address.error(f"there is no {what}; there is {names or 'none'}")


def path_of(*parts: str) -> str:
    """A path of escaped parts."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


@contextmanager
def json_api(
    address: SourceAddress,
    home: str,
    key: Key | None = None,
    *,
    hidden: tuple[Key, ...] = (),
    sleep: Sleep = time.sleep,
) -> Iterator[JsonApi]:
    """A server that answers in JSON, for the time of a block."""
    with Client(sleep=sleep) as client:
        try:
            yield JsonApi(address, home.rstrip("/"), client, key, hidden)
        except ReaderError:
            raise
        except (RequestError, DataError) as exc:
            raise address.error(str(exc)) from exc.__cause__


def home_of(address: SourceAddress) -> str:
    """The web address of the server that an address names: "phoenix+http://h" is "http://h"."""
    return f"{address.scheme.partition('+')[2] or 'http'}://{address.place}"


def fetched(document: object, name: str, stem: str, *notes: str) -> DocumentSource:
    """A JSON document that a server returned, or was made of its answers."""
    return DocumentSource(json.dumps(document, ensure_ascii=True), name, stem, notes)


def opened_runs(
    address: SourceAddress, runs: FetchedRuns, *, what: str, service: str
) -> OpenedSources:
    """The runs of a tracker, one evaluation each; those that are None are left out with a note."""
    present = [run for run in runs.values() if run is not None]
    without = named(name for name, run in runs.items() if run is None)
    if not present:
        raise address.error(f"{what}: {without}")
    return OpenedSources(
        tuple(source for source, _ in present),
        address.name,
        present[0][0].stem,
        files="evaluations",
        notes=(f"{what} and are left out: {without}",) if without else (),
        why=f"each {service} is an evaluation",
        sentence=f"each {service}",
        facts=tuple(facts for _, facts in present),
    )


def time_of(text: object) -> datetime | None:
    """The time in a text of ISO 8601; None if it is none."""
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None

"""How a run is made: what is asked, how fast, and what is tried again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from rageval_report.errors import (
    DataError,
    MissingDependencyError,
    RagevalError,
    ReaderError,
    UnknownNameError,
)
from rageval_report.runner.settings import parse_settings, read_yaml
from rageval_report.runner.targets import TARGETS

TABLES = ("parquet", "jsonl")

# Threads beyond this many wait for each other more than for a server.
_MOST_AT_ONCE = 256


@dataclass(frozen=True)
class Retries:
    """How often a query is asked again, by the kind of its failure.

    Parameters
    ----------
    connection, timeout, busy, server, content, exception, exited : int
        The kinds of `rageval_report.runner.target_errors.KINDS` that may pass. All others, such
        as a key that is refused, are final at once.
    max_wait : float, default 60
        The longest wait in seconds; a pipeline that asks for more in ``Retry-After`` is not asked
        again. The first wait is 1 second, then 2, 4 ..., with a random part.

    Raises
    ------
    DataError
        If a number is below 0.
    """

    connection: int = 3
    timeout: int = 1
    busy: int = 5
    server: int = 3
    content: int = 0
    exception: int = 0
    exited: int = 1
    max_wait: float = 60.0

    def __post_init__(self) -> None:
        for one in fields(self):
            if not 0 <= getattr(self, one.name) < math.inf:
                raise DataError(f"retries.{one.name} must not be below 0")

    def after(self, kind: str) -> int:
        """How often a query is asked again after a failure of this kind.

        Examples
        --------
        >>> Retries(server=2).after("server"), Retries().after("certificate")
        (2, 0)
        """
        return int(getattr(self, kind, 0))

    @classmethod
    def none(cls) -> Retries:
        """No query is asked twice.

        Examples
        --------
        >>> Retries.none().after("busy")
        0
        """
        return cls(0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class RunConfig:
    """How a run is made.

    Parameters
    ----------
    name : str, optional
        The pipeline's name.
    records : str, optional
        The file of queries.
    target : str, optional
        A name of `TARGETS`; not needed where one of the sections below says it.
    settings : dict
        By name of the target its settings: a section a target in YAML.
    concurrency : int, default 4
        How many queries are asked at once.
    rate : float, optional
        At most so many requests a second, those of retries included.
    warm_up : int, default 0
        How many queries are asked before, unrecorded, so that the first latencies are like the
        others.
    retries : Retries
        What is tried again.
    samples : int, optional
        How many queries are drawn at random; all of them where not given.
    seed : int, default 0
        For the draw.
    stop_after : int or None, default 25
        After so many failures in a row the run stops, to be resumed: the pipeline is down.
    table : {"parquet", "jsonl"}, optional
        How the records are written; Parquet where pyarrow is installed.
    metrics : tuple of str
        What the command line computes afterwards.
    about : dict
        What else should be known of the run, as where its queries come from; it is written into
        ``run.json`` and means nothing to the runner.

    Raises
    ------
    DataError
        If a number makes no sense.

    Examples
    --------
    >>> RunConfig(concurrency=0)
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: concurrency must be a whole number from 1 to 256; got 0
    """

    name: str | None = None
    records: str | None = None
    target: str | None = None
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    concurrency: int = 4
    rate: float | None = None
    warm_up: int = 0
    retries: Retries = Retries()
    samples: int | None = None
    seed: int = 0
    stop_after: int | None = 25
    table: str | None = None
    metrics: tuple[str, ...] = ()
    about: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.concurrency <= _MOST_AT_ONCE:
            raise DataError(
                f"concurrency must be a whole number from 1 to {_MOST_AT_ONCE}; "
                f"got {self.concurrency!r}"
            )
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise DataError(f"rate must be above 0; got {self.rate!r}")
        for name, least in (("warm_up", 0), ("samples", 1), ("stop_after", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise DataError(f"{name} must be at least {least}; got {value!r}")
        if self.table is not None and self.table not in TABLES:
            raise UnknownNameError("kind of table", self.table, TABLES)

    @property
    def target_name(self) -> str:
        """The name of the target, said outright or by the one section that there is.

        Raises
        ------
        DataError
            If nothing, or more than one thing, is to be asked.

        Examples
        --------
        >>> RunConfig(settings={"http": {"url": "http://localhost:8001/answer"}}).target_name
        'http'
        """
        if self.target is not None:
            return self.target
        if len(self.settings) != 1:
            found = " and ".join(self.settings) or "none"
            raise DataError(
                f"expected one target to ask; got {found}. Give target: {' or '.join(TARGETS)}"
            )
        return next(iter(self.settings))


def config_from(given: Mapping[str, Any]) -> RunConfig:
    """The configuration in a mapping: the fields of `RunConfig`, and a section a target.

    Parameters
    ----------
    given : mapping
        As a YAML file holds it.

    Raises
    ------
    UnknownNameError
        If a key is not known; it names the nearest.
    DataError
        If a value is of the wrong kind.

    Examples
    --------
    >>> config = config_from({"callable": {"function": "my_rag:answer"}, "samples": 10})
    >>> config.target_name, config.samples
    ('callable', 10)
    """
    sections = {key: value for key, value in given.items() if key in TARGETS}
    rest = {key: value for key, value in given.items() if key not in sections}
    known = {one.name for one in fields(RunConfig)} - {"settings"}
    for key in rest:
        if key not in known:
            raise UnknownNameError("key of the configuration", str(key), {*known, *TARGETS})
    for name, section in sections.items():
        if not isinstance(section, Mapping):
            raise DataError(f"{name}: expected a mapping; got {section!r}")
        parse_settings(TARGETS[name].settings_type, section, name)  # checked before anything runs
    return parse_settings(RunConfig, {**rest, "settings": sections})


def read_config(path: str | Path) -> RunConfig:
    r"""The configuration in a YAML file.

    Parameters
    ----------
    path : str or Path
        The file. Needs the extra ``yaml``.

    Raises
    ------
    ReaderError
        If the file cannot be read, a key in it is not known, or a value of the wrong kind.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.yaml"
    ...     _ = path.write_text("command: {line: ./my_rag}\nconcurrency: 2\n")
    ...     read_config(path).concurrency
    2
    """
    try:
        return config_from(read_yaml(path))
    except RagevalError as exc:
        if isinstance(exc, ReaderError | MissingDependencyError):
            raise
        raise ReaderError(str(exc), path) from exc

"""The configuration of a run: the target, the speed, the retries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from rageval_report.errors import (
    DataError,
    MissingDependencyError,
    RagevalError,
    ReaderError,
    UnknownNameError,
    check_choice,
)
from rageval_report.runner.settings import parse_settings, read_yaml
from rageval_report.runner.targets import TARGETS

Table = Literal["parquet", "jsonl"]
TABLES: tuple[Table, ...] = get_args(Table)

# More threads than this wait for each other more than for a server.
_MOST_AT_ONCE = 256


# The settings of each target by its name.
TargetSections = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Retries:
    """How often a query is retried, by the kind of failure.

    Parameters
    ----------
    connection, timeout, busy, server, content, exception, exited : int
        The kinds in `rageval_report.runner.replies.KINDS` that may be temporary. All others,
        such as a refused key, are never retried.
    max_wait : float, default 60
        The longest wait in seconds; if a pipeline asks for more in ``Retry-After``, there is no
        retry. The first wait is 1 second, then 2, 4 ..., plus a random part.

    Raises
    ------
    DataError
        If a number is negative.

    Examples
    --------
    >>> Retries(connection=5).after("connection"), Retries.none().after("connection")
    (5, 0)
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
        for option in fields(self):
            value = getattr(self, option.name)
            if not 0 <= value < math.inf:
                raise DataError(f"retries.{option.name} must be a number >= 0; got {value!r}")

    def after(self, kind: str) -> int:
        """How often a query is retried after a failure of this kind."""
        return int(getattr(self, kind, 0))

    @classmethod
    def none(cls) -> Retries:
        """No retries."""
        return cls(0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class RunConfig:
    """The configuration of a run.

    Parameters
    ----------
    name : str, optional
        The name of the pipeline.
    records : str, optional
        The file of queries.
    target : str, optional
        A name in `TARGETS`; may be omitted if `settings` has a single section.
    settings : dict
        The settings of each target by its name; in YAML one section per target.
    concurrency : int, default 4
        The number of queries that are asked at the same time.
    rate : float, optional
        The largest number of requests per second, including retries.
    warm_up : int, default 0
        The number of queries that are asked first without being recorded, so that the first
        recorded latencies are like the others.
    retries : Retries
        How often each kind of failure is retried.
    samples : int, optional
        The size of a random sample of the queries; all queries if omitted.
    seed : int, default 0
        The seed of the sampling.
    stop_after : int or None, default 25
        The run stops after so many failures in a row, because the pipeline is probably down; it
        can be resumed.
    table : {"parquet", "jsonl"}, optional
        The file format of the records; if omitted, Parquet if pyarrow is installed.
    metrics : tuple of str
        The metrics that the command line computes afterwards.
    about : dict
        Further facts about the run, e.g. the source of its queries; they are copied to
        ``run.json``.

    Raises
    ------
    DataError
        If a number is out of range.

    Examples
    --------
    >>> RunConfig(concurrency=0)
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: concurrency must be an integer from 1 to 256; got 0
    >>> config = RunConfig(settings={"http": {"url": "http://host/ask"}})
    >>> config.target_name, config.sections
    ('http', {'http': {'url': 'http://host/ask'}})
    """

    name: str | None = None
    records: str | None = None
    target: str | None = None
    settings: TargetSections = field(default_factory=dict)
    concurrency: int = 4
    rate: float | None = None
    warm_up: int = 0
    retries: Retries = Retries()
    samples: int | None = None
    seed: int = 0
    stop_after: int | None = 25
    table: Table | None = None
    metrics: tuple[str, ...] = ()
    about: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.concurrency <= _MOST_AT_ONCE:
            raise DataError(
                f"concurrency must be an integer from 1 to {_MOST_AT_ONCE}; "
                f"got {self.concurrency!r}"
            )
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise DataError(f"rate must be a number > 0; got {self.rate!r}")
        for name, least in (("warm_up", 0), ("samples", 1), ("stop_after", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise DataError(f"{name} must be an integer >= {least}; got {value!r}")
        if self.table is not None:
            check_choice("table", self.table, TABLES)

    @property
    def sections(self) -> TargetSections:
        """A copy of `settings`, to be changed or passed to a target."""
        return {name: dict(section) for name, section in self.settings.items()}

    @property
    def target_name(self) -> str:
        """The name of the target: `target`, or else the name of the only section."""
        if self.target is not None:
            return self.target
        if len(self.settings) != 1:
            names = " and ".join(self.settings) or "none"
            raise DataError(
                f"expected one target to ask; got {names}. Set target: {' or '.join(TARGETS)}"
            )
        return next(iter(self.settings))


def config_from(document: Mapping[str, Any]) -> RunConfig:
    """The configuration in a mapping: the fields of `RunConfig`, and one section per target.

    Parameters
    ----------
    document : mapping
        The settings as a YAML file has them.

    Raises
    ------
    UnknownNameError
        If a key is unknown; the nearest one is named.
    DataError
        If a value is of the wrong kind.

    Examples
    --------
    >>> config_from({"http": {"url": "http://localhost:8001/answer"}, "rate": 2}).rate
    2.0
    """
    sections = {key: value for key, value in document.items() if key in TARGETS}
    rest = {key: value for key, value in document.items() if key not in sections}
    known = {option.name for option in fields(RunConfig)} - {"settings"}
    for key in rest:
        if key not in known:
            raise UnknownNameError("key of the configuration", str(key), {*known, *TARGETS})
    for name, section in sections.items():
        if not isinstance(section, Mapping):
            raise DataError(f"{name}: expected a mapping; got {section!r}")
        # Only to check them before anything runs.
        parse_settings(TARGETS[name].settings_type, section, name)
    return parse_settings(RunConfig, {**rest, "settings": sections})


def read_config(path: str | Path) -> RunConfig:
    """The configuration in a YAML file; see `config_from`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "run.yaml")
    ...     _ = path.write_text("rate: 2", encoding="utf-8")
    ...     read_config(path).rate
    2.0
    """
    try:
        return config_from(read_yaml(path))
    except RagevalError as exc:
        if isinstance(exc, ReaderError | MissingDependencyError):
            raise
        raise ReaderError(str(exc), path) from exc

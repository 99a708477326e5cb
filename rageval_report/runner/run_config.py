"""The configuration of a run: the target, the speed, the retries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Required, TypedDict, cast, get_args

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


class StreamSection(TypedDict, total=False):
    """The settings of `rageval_report.runner.targets.http.StreamSettings`."""

    text: str
    done: str | None


class HttpSection(TypedDict, total=False):
    """The settings of `rageval_report.runner.targets.http.HttpSettings`."""

    url: Required[str]
    method: str
    headers: Mapping[str, str]
    body: object
    response: Mapping[str, str]
    stream: StreamSection | None
    timeout: float
    max_bytes: int
    health_url: str | None
    config_url: str | None
    config: Mapping[str, str]


class CallableSection(TypedDict, total=False):
    """The settings of `rageval_report.runner.targets.functions.FunctionSettings`."""

    function: Required[str]
    argument: Literal["question", "query"]
    fields: Sequence[str]
    response: Mapping[str, str]


class CommandSection(TypedDict, total=False):
    """The settings of `rageval_report.runner.targets.commands.CommandSettings`."""

    line: Required[str | Sequence[str]]
    response: Mapping[str, str]
    fields: Sequence[str]
    timeout: float
    max_bytes: int
    grace_period: float


class TargetSections(TypedDict, total=False):
    """The settings of targets, by name; targets of other distributions have sections of theirs."""

    http: HttpSection
    callable: CallableSection
    command: CommandSection


@dataclass(frozen=True)
class Retries:
    """How often a query is retried, by the kind of failure.

    Parameters
    ----------
    connection, timeout, busy, server, content, exception, exited : int
        The kinds in `rageval_report.runner.target_errors.KINDS` that may be temporary. All others,
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
    >>> Retries(connection=5).max_wait
    60.0
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
        """How often a query is retried after a failure of this kind.

        Examples
        --------
        >>> Retries(server=2).after("server"), Retries().after("certificate")
        (2, 0)
        """
        return int(getattr(self, kind, 0))

    @classmethod
    def none(cls) -> Retries:
        """No retries.

        Examples
        --------
        >>> Retries.none().after("busy")
        0
        """
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
    >>> RunConfig(settings={"http": {"url": "http://host/ask"}}).sections
    {'http': {'url': 'http://host/ask'}}
    """

    name: str | None = None
    records: str | None = None
    target: str | None = None
    settings: TargetSections = field(default_factory=TargetSections)
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
    def sections(self) -> dict[str, dict[str, object]]:
        """A copy of `settings` as plain dicts, to be changed or passed to a target."""
        sections = cast("Mapping[str, Mapping[str, object]]", self.settings)
        return {name: dict(section) for name, section in sections.items()}

    @property
    def target_name(self) -> str:
        """The name of the target: `target`, or else the name of the only section.

        Raises
        ------
        DataError
            If no target, or more than one, is configured.

        Examples
        --------
        >>> RunConfig(settings={"http": {"url": "http://localhost:8001/answer"}}).target_name
        'http'
        """
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
        The content of a YAML file.

    Raises
    ------
    UnknownNameError
        If a key is not known; the message names the nearest.
    DataError
        If a value has the wrong type.

    Examples
    --------
    >>> config = config_from({"callable": {"function": "my_rag:answer"}, "samples": 10})
    >>> config.target_name, config.samples
    ('callable', 10)
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
        parse_settings(
            TARGETS[name].settings_type, section, name
        )  # only to check them before anything runs
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
        If the file cannot be read, a key is not known, or a value has the wrong type.

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

"""The configuration of a run: the target, the speed, the retries."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from rageval_report.errors import DataError
from rageval_report.runner.targets import TARGETS

# More threads than this wait for each other more than for a server.
_MOST_AT_ONCE = 256


# The settings of each target by its name.
TargetSections = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class RunConfig:
    """The configuration of a run.

    Parameters
    ----------
    name : str, optional
        The name of the pipeline.
    target : str, optional
        A name in `TARGETS`; may be omitted if `settings` has a single section.
    settings : dict
        The settings of each target by its name; in YAML one section per target.
    concurrency : int, default 4
        The number of queries that are asked at the same time.
    retries : int, default 3
        How often a query is asked again after a failure that may pass: a broken connection, a
        time-out, a status 429 or 5xx, a command that ended.
    max_wait : float, default 60
        The longest wait between two attempts in seconds; if a pipeline asks for more in
        ``Retry-After``, the query is not asked again. The first wait is 1 second, then 2, 4, and
        so on, each with a random part.
    samples : int, optional
        The size of a random sample of the queries; all queries if omitted.
    seed : int, default 0
        The seed of the sampling.
    stop_after : int or None, default 25
        The run stops after so many failures in a row, because the pipeline is probably down; it
        can be resumed.
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
    target: str | None = None
    settings: TargetSections = field(default_factory=dict)
    concurrency: int = 4
    retries: int = 3
    max_wait: float = 60.0
    samples: int | None = None
    seed: int = 0
    stop_after: int | None = 25
    about: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.concurrency <= _MOST_AT_ONCE:
            raise DataError(
                f"concurrency must be an integer from 1 to {_MOST_AT_ONCE}; "
                f"got {self.concurrency!r}"
            )
        least = {"retries": 0, "max_wait": 0, "samples": 1, "stop_after": 1, "seed": 0}
        for name, limit in least.items():
            value = getattr(self, name)
            if value is not None and not limit <= value < math.inf:
                kind = "a number" if name == "max_wait" else "an integer"
                raise DataError(f"{name} must be {kind} >= {limit}; got {value!r}")

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

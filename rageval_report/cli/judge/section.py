"""What a file of settings says of the judge: the section ``judge``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rageval_report._registry import load
from rageval_report.errors import DataError

if TYPE_CHECKING:
    from rageval_report.judges.rubric import Rubric

_JUDGES = "rageval_report.judges"
_RUBRIC_FILES = (".yaml", ".yml", ".json", ".toml")


@dataclass(frozen=True)
class JudgeSection:
    """Who judges, by what, and how; what stands on the command line goes before it.

    Parameters
    ----------
    enabled : bool
        Whether anything is judged at all.
    rubrics : tuple of str
        Names, and files of rubrics of your own.
    provider, model, base_url, api_key_env : str, optional
        Whom to ask.
    temperature, max_tokens, timeout, structured, extra_body
        As `rageval_report.judges.chats.over_http.Options` has them.
    max_retries : int, optional
        How often a call is tried again after a failure that may pass.
    concurrency, per_minute, n_repeats, max_cost, give_up_after
        As for `rageval_report.judges.judge`.
    prices : dict
        By model, US dollars a million tokens sent and received.
    cache : str or bool, optional
        A file; the user's where not given; none where false.
    generator : str, optional
        The model that gives the answers, where neither they nor the server say it.

    Examples
    --------
    >>> JudgeSection(max_retries=3).max_attempts
    4
    """

    enabled: bool = True
    rubrics: tuple[str, ...] = ()
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    structured: bool = True
    extra_body: dict[str, Any] = field(default_factory=dict)
    max_retries: int | None = None
    concurrency: int | None = None
    per_minute: float | None = None
    n_repeats: int | None = None
    max_cost: float | None = None
    give_up_after: int | None = None
    prices: dict[str, Any] = field(default_factory=dict)
    cache: str | bool | None = None
    generator: str | None = None

    def __post_init__(self) -> None:
        if self.max_retries is not None and self.max_retries < 0:
            raise DataError(f"judge.max_retries must be at least 0; got {self.max_retries}")
        if self.prices:
            try:
                load("rageval_report.metrics.performance:checked_prices")(self.prices)
            except DataError as exc:
                raise DataError(f"judge.prices: {exc}") from exc

    @property
    def max_attempts(self) -> int | None:
        """How often a call is made at most."""
        return None if self.max_retries is None else self.max_retries + 1

    def chosen(self) -> list[str | Rubric]:
        """The rubrics, those of files read."""
        return [
            load(f"{_JUDGES}:read_rubric")(one)
            if Path(one).suffix.lower() in _RUBRIC_FILES
            else one
            for one in self.rubrics
        ]

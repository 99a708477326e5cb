"""The section ``judge`` of a file of settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rageval_report.errors import DataError
from rageval_report.judges import Rubric, read_rubric
from rageval_report.metrics.performance import check_prices

_RUBRIC_FILES = (".yaml", ".yml", ".json", ".toml")


@dataclass(frozen=True)
class JudgeSection:
    """The rubrics, the model that judges, and how it is asked; the command line overrides it.

    Parameters
    ----------
    enabled : bool
        Whether anything is judged at all.
    rubrics : tuple of str
        Names of rubrics, and files of your own rubrics.
    provider, model, base_url, api_key_env : str, optional
        The chat model that judges.
    models : tuple of str
        Several chat models that judge every query each, instead of `model`. A name alone goes with
        `provider`, `base_url` and `api_key_env`; PROVIDER=NAME is a model of that provider.
    temperature, max_tokens, timeout, structured, extra_body
        As `rageval_report.judges.ChatOptions` has them.
    max_retries : int, optional
        How often a call is repeated after a temporary failure.
    concurrency, per_minute, n_repeats, max_cost, max_cost_over, give_up_after, retry_unusable
        As for `rageval_report.judges.judge`.
    prices : dict
        By model, US dollars per million tokens sent and received.
    cache : str or bool, optional
        A file; the user's own cache if omitted; no cache if false.
    generator : str, optional
        The model that gives the answers, if neither they nor the server name it.

    Examples
    --------
    >>> JudgeSection(max_retries=3).max_attempts
    4
    """

    enabled: bool = True
    rubrics: tuple[str, ...] = ()
    provider: str | None = None
    model: str | None = None
    models: tuple[str, ...] = ()
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
    max_cost_over: str | None = None
    give_up_after: int | None = None
    retry_unusable: bool = False
    prices: dict[str, Any] = field(default_factory=dict)
    cache: str | bool | None = None
    generator: str | None = None

    def __post_init__(self) -> None:
        if self.models and self.model is not None:
            raise DataError("judge.models names all models that judge; leave out judge.model")
        if self.max_retries is not None and self.max_retries < 0:
            raise DataError(f"judge.max_retries must be an integer >= 0; got {self.max_retries}")
        if self.prices:
            try:
                check_prices(self.prices)
            except DataError as exc:
                raise DataError(f"judge.prices: {exc}") from exc

    @property
    def max_attempts(self) -> int | None:
        """The largest number of attempts of one call."""
        # ragbench's files count retries, not the first attempt.
        return None if self.max_retries is None else self.max_retries + 1

    def read_rubrics(self) -> list[str | Rubric]:
        """The rubrics; those in files are read."""
        return [
            read_rubric(rubric) if Path(rubric).suffix.lower() in _RUBRIC_FILES else rubric
            for rubric in self.rubrics
        ]

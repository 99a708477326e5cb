"""What every target is to the runner."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from hashlib import blake2b
from types import TracebackType
from typing import Any, ClassVar, Self

from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import TargetReply
from rageval_report.runner.settings import parse_settings

# What is asked of a server about itself; what it does not say is null, never invented.
SNAPSHOT = (
    *("llm_model", "llm_provider", "embedding_model", "reranker_model", "retrieval_top_k"),
    *("hybrid_search_enabled", "contextual_retrieval_enabled"),
)

# An answer that is larger is none: a person reads a few thousand characters, and ten contexts of a
# chunk each are some tens of thousands.
MOST_BYTES = 10_000_000


def digest_of(*settings: Any) -> str:
    """What tells two settings apart without showing them: some may be as secret as a key.

    Examples
    --------
    >>> digest_of({"k": 3}) == digest_of({"k": 3}), digest_of({"k": 3}) == digest_of({"k": 5})
    (True, False)
    """
    told = json.dumps(settings, sort_keys=True, default=str)
    return blake2b(told.encode(), digest_size=8).hexdigest()


class Target(ABC):
    """A black box that answers questions; it is asked by several threads at once.

    Parameters
    ----------
    settings : dataclass
        Of the class's `settings_type`.
    """

    settings_type: ClassVar[type]

    @abstractmethod
    def __init__(self, settings: Any): ...

    @classmethod
    def of_settings(cls, given: Mapping[str, Any], name: str) -> Self:
        """The target of a section of a configuration, each key checked."""
        return cls(parse_settings(cls.settings_type, given, name))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @abstractmethod
    def ask(self, query: Query) -> TargetReply:
        """Ask once.

        Raises
        ------
        TargetError
            If it is not answered; the runner decides whether to ask again.
        """

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What must be the same when a run is resumed; without keys."""

    def prepare(self, concurrency: int) -> None:  # noqa: B027  (most need nothing)
        """Make ready to be asked by so many threads at once."""

    def check(self) -> None:  # noqa: B027  (most have nothing to check)
        """Look whether it can be asked at all.

        Raises
        ------
        PipelineError
            If it cannot.
        """

    def snapshot(self) -> dict[str, Any]:
        """How the pipeline is set up, as far as it says so itself."""
        return dict.fromkeys(SNAPSHOT)

    def close(self) -> None:  # noqa: B027  (most hold nothing)
        """Let go of connections and processes."""

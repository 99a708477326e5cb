"""The interface of a target: what the runner asks of it."""

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

# The settings that a server may report about itself; those that it does not report are null.
SNAPSHOT = (
    *("llm_model", "llm_provider", "embedding_model", "reranker_model", "retrieval_top_k"),
    *("hybrid_search_enabled", "contextual_retrieval_enabled"),
)

# A larger answer is a failure: an answer has a few thousand characters, and ten contexts of a chunk
# each have some tens of thousands.
MOST_BYTES = 10_000_000


def digest_of(*settings: object) -> str:
    """A digest that differs if settings differ, without revealing them: some may be secret.

    Examples
    --------
    >>> digest_of({"k": 3}) == digest_of({"k": 3}), digest_of({"k": 3}) == digest_of({"k": 5})
    (True, False)
    """
    # Sorted, so that the order of keys in a file does not make another run of it.
    text = json.dumps(settings, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=8).hexdigest()


class Target(ABC):
    """A pipeline that answers questions; several threads ask it at the same time.

    Parameters
    ----------
    settings : dataclass
        An instance of the `settings_type` of the class.

    Examples
    --------
    >>> from rageval_report.runner.targets.functions import FunctionTarget
    >>> from rageval_report.runner.query_source import Query
    >>> section = {"function": "textwrap:dedent", "argument": "question"}
    >>> with FunctionTarget.of_settings(section, "callable") as target:
    ...     target.check()
    ...     target.prepare(concurrency=4)
    ...     target.ask(Query(0, "a", "Why?", {})).fields["answer"]
    'Why?'
    >>> target.identity()["function"], "llm_model" in target.snapshot()
    ('textwrap:dedent', True)
    >>> target.close()
    """

    settings_type: ClassVar[type]

    @abstractmethod
    def __init__(self, settings: Any): ...  # each target narrows it to its settings_type

    @classmethod
    def of_settings(cls, section: Mapping[str, object], name: str) -> Self:
        """Create the target from a section of a configuration; every key is checked."""
        return cls(parse_settings(cls.settings_type, section, name))

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
        """Ask a query once.

        Raises
        ------
        TargetError
            If there is no answer; the runner decides whether to retry.
        """

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What must be unchanged when a run is resumed; contains no keys."""

    def prepare(self, concurrency: int) -> None:  # noqa: B027  (most need nothing)
        """Prepare for so many threads that ask at the same time."""

    def check(self) -> None:  # noqa: B027  (most have nothing to check)
        """Check whether it can be asked at all.

        Raises
        ------
        PipelineError
            If it cannot.
        """

    def snapshot(self) -> dict[str, Any]:
        """The configuration of the pipeline, as far as it reports one."""
        return dict.fromkeys(SNAPSHOT)

    def close(self) -> None:  # noqa: B027  (most hold nothing)
        """Close connections and processes."""

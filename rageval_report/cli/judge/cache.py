"""The options of cache status and cache clear."""

from __future__ import annotations

from pathlib import Path

from rageval_report.cli.command import Command, Family, Options, option
from rageval_report.cli.options import OutputOptions


class CacheOption(Options):
    """The file of the cache."""

    cache_path: Path | None = option(
        "--cache",
        metavar="FILE",
        help="The cache; if omitted, RAGEVAL_CACHE, else a file in your cache folder.",
    )


class StatusArguments(CacheOption, OutputOptions):
    """Show the number of cached answers, one row per judge and model."""


class ClearArguments(CacheOption):
    """Delete the cached answers."""

    judge: str | None = option(
        "--judge", metavar="NAME", help="Delete only the answers of this judge."
    )


cache = Family(
    "cache",
    "Manage the cache of judges' answers on disk.",
    [
        Command(
            StatusArguments,
            "rageval_report.cli.judge.cache_body:status",
            examples=["rageval-report cache status"],
        ),
        Command(
            ClearArguments,
            "rageval_report.cli.judge.cache_body:clear",
            examples=["rageval-report cache clear --judge coherence"],
        ),
    ],
)

"""The options that commands share, each handed over as one object."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from rageval_report.cli.output import FORMATS, Output
from rageval_report.cli.rules import bounds_of, overrides_of, pair_of, parsed
from rageval_report.cli.sources import Loading

Command = TypeVar("Command", bound=Callable[..., Any])

quiet_option = click.option("--quiet", "-q", is_flag=True, help="No notes on standard error.")

metric_option = click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="A metric to take; may be repeated. All of them where not given.",
)
confidence_option = click.option(
    "--confidence-level",
    type=float,
    default=0.95,
    show_default=True,
    metavar="LEVEL",
    help="Of the intervals.",
)
correct_option = click.option(
    "--correct",
    metavar="RULE",
    help="What a correct answer is: exact_match where not given; a column of booleans; thresholds "
    "as 'faithfulness>=0.8,recall@5>=1'.",
)
limit_option = click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many queries to show; 20 where not given, all in csv and json.",
)


def drawn_options(command: Command) -> Command:
    """``--n-resamples`` and ``--seed``, for what is drawn at random."""
    seed = click.option(
        "--seed", type=int, default=0, show_default=True, help="For what is drawn at random."
    )
    n_resamples = click.option(
        "--n-resamples",
        type=int,
        default=9999,
        show_default=True,
        metavar="N",
        help="For tests and intervals that resample.",
    )
    return n_resamples(seed(command))


def loading_options(command: Command) -> Callable[..., Any]:
    """How files are read, as the argument ``loading``."""

    @click.option("--reader", metavar="NAME", help="The file's format, where it is not recognised.")
    @click.option(
        "--option",
        "reader_options",
        callback=parsed(pair_of),
        multiple=True,
        metavar="NAME=VALUE",
        help="For the reader, as delimiter=; or encoding=utf-16-le or sheet=Scores.",
    )
    @click.option(
        "--query-id", metavar="COLUMN", help="The column of query ids, where it is not query_id."
    )
    @click.option(
        "--lower", multiple=True, metavar="NAME", help="A metric of which lower is better."
    )
    @click.option(
        "--higher", multiple=True, metavar="NAME", help="A metric of which higher is better."
    )
    @click.option(
        "--bounds",
        callback=parsed(bounds_of),
        multiple=True,
        metavar="NAME=LOW:HIGH",
        help="The smallest and largest possible score of a metric.",
    )
    @click.option(
        "--duplicates",
        type=click.Choice(["error", "mean"]),
        default="error",
        show_default=True,
        help="What to do with several rows of one query.",
    )
    @functools.wraps(command)
    def with_loading(
        *,
        reader: str | None,
        reader_options: tuple[tuple[str, str], ...],
        query_id: str | None,
        lower: tuple[str, ...],
        higher: tuple[str, ...],
        bounds: tuple[tuple[str, float, float], ...],
        duplicates: str,
        correct: str | None = None,
        **rest: Any,
    ) -> Any:
        options: dict[str, Any] = {**dict(reader_options), "duplicates": duplicates}
        if query_id is not None:
            options["query_id"] = query_id
        loading = Loading(reader, correct, overrides_of(lower, higher, bounds), options)
        return command(loading=loading, **rest)

    return with_loading


def output_options(command: Command) -> Callable[..., Any]:
    """Where the result goes and as what, as the argument ``output``."""

    @click.option(
        "--format",
        "format_name",
        type=click.Choice(list(FORMATS)),
        help="How the result is written; by the suffix of -o where not given, else a table.",
    )
    @click.option(
        "-o",
        "--output",
        "path",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write to a file (.txt .md .html .tex .json .csv .tsv .xml), not to standard output.",
    )
    @click.option("--force", is_flag=True, help="Replace FILE where there is one.")
    @quiet_option
    @functools.wraps(command)
    def with_output(
        *, format_name: str | None, path: Path | None, force: bool, quiet: bool, **rest: Any
    ) -> Any:
        del quiet  # `note` asks the context
        return command(output=Output.to(path, format_name, force=force), **rest)

    return with_output

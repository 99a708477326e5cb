"""compare, regressions, outcomes, slices: a baseline and candidates, query by query."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

import rageval_report as rr
from rageval_report.cli.command import command, group_of, words_of
from rageval_report.cli.forest import (
    SIZES,
    drill_down,
    fill_place,
    glyphs_for,
    pasted,
    plan_for_undecided,
    with_place,
)
from rageval_report.cli.options import Options, stated_flags
from rageval_report.cli.output import Output, warn_of_doubts
from rageval_report.cli.reading import most_listed, write_lead
from rageval_report.cli.sources import (
    STANDARD_INPUT,
    Runs,
    check_whole,
    notes_of,
    open_pair,
    open_runs,
    parse_source,
)

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.analysis.compare import Comparison
    from rageval_report.analysis.pairing import Pairing
    from rageval_report.scores import Metric

_RANKED = (
    *("metrics", "test", "correction", "confidence_level", "missing", "on", "clusters"),
    *("n_resamples", "seed"),
)
_COMPARED = (*_RANKED, "tried", "margin", "margin_method")


@command("compare")
def compare(options: Options) -> None:
    """Compare candidates with a baseline, query by query.

    One row per metric: the difference, how certain it is, and a verdict. In a terminal the
    intervals are drawn beside the numbers, and the last lines are the commands to run next. With
    -o FILE.html, one page. Of one file with several pipelines, the first is the baseline.
    """
    if options.margin_method != "auto" and options.margin is None:
        raise click.UsageError(
            f"--margin-method {options.margin_method} needs --margin: say how large a difference "
            "does not matter."
        )
    output = Output.of(options)
    is_page = output.is_page(options)
    if options.draws and not output.is_page_of_text:
        raise click.UsageError("--plot draws in the table on standard output only.")
    runs = open_pair(options, options.metrics)
    comparison = rr.compare(*runs, **options.only(*_COMPARED))
    if is_page:
        page = comparison.report(
            pictures=not options.no_pictures,
            **options.only("longest_text", "n_resamples", "seed"),
        )
        output.write_page(page, comparison.notes)
        return
    write_lead(runs, output, options.only(*_RANKED))
    draws = output.is_on_screen if options.draws is None else options.draws
    comparison = comparison.with_notes(*notes_of(runs, options))
    if draws:
        _draw(comparison, output)
        _write_next_steps(comparison, runs, options)
    else:
        output.write(comparison)


def _draw(comparison: Comparison, output: Output) -> None:
    """Write the table with the intervals drawn in it, if it has any."""
    glyphs = glyphs_for(sys.stdout.encoding)
    for size in () if output.verbose else SIZES:
        drawn = with_place(comparison, glyphs, size)
        text = None if drawn is None else output.text_of({comparison.title: drawn}, "pipeline")
        filled = None if text is None else fill_place(text, comparison, glyphs, size)
        if filled is not None:
            warn_of_doubts(comparison.notes)
            output.write_text(filled)
            return
    output.write(comparison)


def _write_next_steps(comparison: Comparison, runs: Runs, options: Options) -> None:
    is_scanned = not isinstance(runs[0], rr.RAGPipelineEvaluation)
    if options.quiet or (is_scanned and not options.candidates):
        return  # no command names one of several tables that are read part by part
    files = _files_of(runs, options)
    if STANDARD_INPUT in {parse_source(text).path for text in files.values()}:
        return  # it has been read
    reading = group_of("LOADING")
    steps = (
        (drill_down(comparison, files), words_of(*reading, "on", *group_of("ENGINE"))),
        (
            plan_for_undecided(comparison, files),
            words_of(*reading, "clusters", "confidence_level"),
        ),
    )
    lines = [f"  {pasted([*words, *more])}" for words, more in steps if words]
    if lines:
        click.echo("\nNext:\n" + "\n".join(lines))


def _files_of(runs: Runs, options: Options) -> Mapping[str, str]:
    """The FILE argument of each pipeline, by its name."""
    names = [run.name for run in runs]
    if options.candidates:
        return dict(zip(names, (options.baseline, *options.candidates), strict=True))
    source = parse_source(options.baseline)
    return {name: f"{source.path}::{name.removeprefix(f'{source.name}/')}" for name in names}


# -- the queries behind a comparison


@command("regressions")
def regressions(options: Options) -> None:
    """List the queries that got worse on a metric.

    The largest change comes first, with both answers and the reasons for the scores. If one file
    with several pipelines is given, the first is the baseline.
    """
    runs = open_pair(options, (options.metric,))
    output = Output.of(options)
    comparison = rr.compare(*runs, metrics=(options.metric,), on=options.on)
    rows_of: Any = comparison.improvements if options.improvements else comparison.regressions
    k = most_listed(options, output, runs[0])
    notes = notes_of(runs, options)
    tables = {}
    for pairing in comparison.pairings:
        name = pairing.candidate.name
        rows = rows_of(options.metric, name, k=k)
        table = _changed(pairing, rows, better=options.improvements).with_notes(*notes)
        tables[name] = output.limit_rows(table, options.limit)
    output.write(*tables.values(), names=tables, what="candidate")


def _changed(pairing: Pairing, rows: pd.DataFrame, *, better: bool) -> rr.Result:
    [(metric, _)] = pairing.metrics
    n_changed = int(rows.attrs.get("n", len(rows)))
    baseline, candidate = pairing.baseline.name, pairing.candidate.name
    direction = "better" if better else "worse"
    order = "the largest change first"
    if len(rows) < n_changed:
        order = f"the {len(rows)} with the largest change are listed"
    texts = _text_columns(list(rows.columns), (baseline, candidate), metric)
    return rr.Result(
        f"Queries on which {candidate} is {direction} than {baseline} on {metric.title}",
        rows,
        {"metric": metric.name, "baseline": baseline, "candidate": candidate},
        (
            f"{candidate} is {direction} on {n_changed} of {pairing.n_common} common queries; "
            f"{order}",
            *pairing.notes(),
        ),
        headline=(*rows.columns[:3], *texts),
    )


def _text_columns(columns: list[str], pipelines: tuple[str, str], metric: Metric) -> list[str]:
    """The columns of the question, both answers, and both reasons for this metric's score."""
    from rageval_report.scores import normalise_name
    from rageval_report.scores.query_ids import ANSWER, QUESTION, REASON

    def bare(column: str) -> str:
        for name in pipelines:
            column = column.removeprefix(f"{name}_")
        return normalise_name(column)

    reasons = [f"{stem}_{word}" for stem in (metric.name, metric.known_as) for word in REASON]
    wanted = dict.fromkeys((*QUESTION, *ANSWER, *reasons, *REASON))
    return [column for name in wanted for column in columns if bare(column) == name]


@command("outcomes")
def outcomes(options: Options) -> None:
    """List which queries both, one or none answer correctly.

    --correct says what a correct answer is; if omitted, a label, a judge or a metric decides, and
    a note says which.
    """
    check_whole(options, (options.baseline, *options.candidates), "outcomes")
    runs = open_pair(options)
    output = Output.of(options)
    baseline, *candidates = runs
    notes = notes_of(runs, options)
    tables = {}
    for candidate in candidates:
        first: Any = baseline
        queries = first.comparative_detailed_summary(candidate, on=options.on)
        table = _outcomes(baseline.name, candidate.name, options.on, queries).with_notes(*notes)
        tables[candidate.name] = output.limit_rows(table, options.limit)
    output.write(*tables.values(), names=tables, what="candidate")


def _outcomes(baseline: str, candidate: str, on: str | None, table: pd.DataFrame) -> rr.Result:
    """The table as a result, with the number of queries of each column."""
    numbers: Mapping[str, int] = table.attrs["n"]
    notes = [*table.attrs["notes"], ", ".join(f"{n} {name}" for name, n in numbers.items())]
    settings = {"baseline": baseline, "candidate": candidate}
    if on is not None:
        settings["on"] = on
    title = f"Which queries {baseline} and {candidate} answer correctly"
    return rr.Result(title, table, settings, tuple(notes))


# -- slices

_OF_SEVERAL = ("test", "correction", "missing", "on", "tried", "margin", "margin_method")
_OF_ONE = ("percentiles", "interval", "correct")


@command("slices")
def slices(options: Options) -> None:
    """Report groups of queries, or compare pipelines in each.

    Of one pipeline, one row per metric and group. Of several, the first is the baseline, and each
    candidate is compared with it within each group, with a sentence where a group is shown to
    reverse what holds for all queries.
    """
    output = Output.of(options)
    runs = open_runs(options, options.files, options.metrics)
    wrong, what = (
        (_OF_SEVERAL, "several pipelines") if len(runs) == 1 else (_OF_ONE, "one pipeline")
    )
    for flag in stated_flags(wrong):
        raise click.UsageError(f"{flag} is for {what}.")
    if len(runs) == 1:
        run: Any = runs[0]
        described = ("metrics", "percentiles", "interval", "confidence_level", "clusters")
        result = run.slices(options.by, **options.only(*described, "n_resamples", "seed"))
    else:
        comparison = rr.compare(*runs, **options.only(*_COMPARED))
        result = comparison.slices(options.by, correction=options.correction)
    output.write(result.with_notes(*notes_of(runs)), names=[options.by])

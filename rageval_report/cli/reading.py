"""inspect, report, failures, export: one pipeline, or several one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rageval_report as rr
from rageval_report.cli.command import command
from rageval_report.cli.options import Options
from rageval_report.cli.output import Output, check_files, note, write_file
from rageval_report.cli.sources import (
    Loading,
    Runs,
    open_runs,
    parse_source,
    read_query_ids,
)
from rageval_report.errors import AlignmentError, DataError, RagevalError

if TYPE_CHECKING:
    from rageval_report.scale.scan import EvaluationScan

# Of scans, for programs, which get all rows of tables in memory.
MOST_ROWS = 1000
_DESCRIBED = ("confidence_level", "n_resamples", "seed", "percentiles", "interval", "clusters")


@command("inspect")
def inspect(options: Options) -> None:
    """Show how a file is read, column by column.

    The table has the role of each column, and why; the notes have the format and what was changed.
    Doubts come first, with the option that settles each. Nothing is computed.
    """
    output = Output.of(options)
    if options.formats:
        output.write(_formats())
        return
    if not options.files:
        raise click.UsageError("Name a file: rageval-report inspect FILE.")
    loading = Loading(options)
    keywords = loading.keywords(options.metrics)
    look: Any = rr.inspect  # the keywords are those of any reader
    for name in ("correct", "strict", "allow", "files"):
        del keywords[name]
    output.write(
        *(
            look(parse_source(text).path, reader=loading.reader, **keywords)
            for text in options.files
        )
    )


def _formats() -> rr.Result:
    """The kinds of files of scores that can be read."""
    import pandas as pd

    from rageval_report.readers import READERS

    rows = [
        {
            "reader": reader.name,
            "reads": reader.sentence,
            "example": reader.example,
            "options": ", ".join(reader.options),
            "verdict": f"{reader.name}: {reader.sentence}",
        }
        for reader in READERS.loaded().values()
    ]
    shown = ("reader", "example", "options")
    return rr.Result("Files of scores that are read", pd.DataFrame(rows), {}, headline=shown)


@command("report")
def report(options: Options) -> None:
    """Describe each metric: mean, interval, quantiles.

    Several files give one report after the other, and then a comparison with the first. Unscored
    queries are counted, never averaged. With -o FILE.html: one page with verdicts, tables,
    pictures, slices, and every query.
    """
    output = Output.of(options)
    if options.name is not None and len(options.files) > 1:
        raise click.UsageError("--name is for one file; write NAME=FILE for several.")
    is_page = output.is_page(options)
    if options.by is not None and not is_page:
        raise click.UsageError(
            "--by is for a page: -o FILE.html; the command slices has tables of groups."
        )
    runs = open_runs(options, options.files, options.metrics, name=options.name)
    if options.thresholds:
        tables = [_thresholds(run, options) for run in runs]
        output.write(*tables, names=[run.name for run in runs])
    elif is_page:
        _write_page(runs, options, output)
    else:
        _write_reports(runs, options, output)


def _thresholds(run: rr.RAGPipelineEvaluation | EvaluationScan, options: Options) -> rr.Result:
    table: rr.Result = run.find_thresholds(
        options.metrics or None, options.percentiles, options.method
    )
    return table.with_notes(*run.notes)


def _write_reports(runs: Runs, options: Options, output: Output) -> None:
    write_lead(runs, output, _of_comparison(options))
    keywords = options.only("metrics", *_DESCRIBED)
    results: dict[str, rr.Result] = {run.name: run.evaluation_report(**keywords) for run in runs}
    if len(runs) > 1 and not output.renderer.for_programs:
        try:
            comparison = rr.compare(*runs, **_of_comparison(options))
            results[comparison.title] = comparison
        except AlignmentError as exc:
            note(f"the pipelines are not compared: {exc}")
    output.write(*results.values(), names=results)


def _write_page(runs: Runs, options: Options, output: Output) -> None:
    """Write the page of one pipeline, or of the first pipeline and its candidates."""
    page = {
        **options.only("by", "longest_text", "percentiles", "interval", "n_resamples", "seed"),
        "pictures": not options.no_pictures,
    }
    if len(runs) == 1:
        run: Any = runs[0]
        more = options.only("metrics", "confidence_level", "clusters")
        output.write_page(run.report(**page, **more), run.notes)
        return
    comparison: Any = rr.compare(*runs, **_of_comparison(options))
    output.write_page(comparison.report(**page), comparison.notes)


def _of_comparison(options: Options) -> dict[str, Any]:
    return options.only("metrics", "confidence_level", "n_resamples", "seed", "clusters")


def write_lead(runs: Runs, output: Output, settings: Mapping[str, Any]) -> None:
    """Write the answer of the ranking of three or more pipelines above their other tables.

    Parameters
    ----------
    runs : list of RAGPipelineEvaluation or EvaluationScan
        The pipelines; the first is the baseline of the tables.
    output : Output
        Only a page of text on standard output is read from its top.
    settings : mapping
        The keywords of `rageval_report.rank`.
    """
    if len(runs) < 3 or not output.is_page_of_text:
        return
    try:
        answer = rr.rank(*runs, **settings).summary
    except RagevalError:  # such as pipelines that share queries only two by two
        return
    click.echo(
        f"{answer}\nThe command rank compares every pair; below, {runs[0].name} is the baseline.\n"
    )


def most_listed(options: Options, output: Output, run: object) -> int | None:
    """The most queries of a list of a scan; None for scores in memory, of which all are listed."""
    if isinstance(run, rr.RAGPipelineEvaluation):
        return None
    return output.most_rows(options.limit) or MOST_ROWS


@command("failures")
def failures(options: Options) -> None:
    """List the queries beyond a threshold, worst first.

    The list has texts and reasons; the direction of the metric decides which side is wrong.
    Unscored queries are counted, not listed.
    """
    runs = open_runs(
        options, [options.file], every=False, name=options.name, needed=[options.metric]
    )
    [run] = runs
    output = Output.of(options)
    k = most_listed(options, output, run)
    keywords: dict[str, Any] = {"k": k} if k else {"query_ids": read_query_ids(options) or None}
    queries: rr.Result = run.failures(
        options.metric, options.threshold, method=options.method, **keywords
    )
    limited = output.limit_rows(queries.with_notes(*run.notes), options.limit)
    output.write(limited, names=[run.name])


# -- export

_EXPORTS = ("csv", "tsv", "jsonl", "json", "markdown", "review", "parquet")


@command("export")
def export(options: Options) -> None:
    """Write the scores of one pipeline as another kind of file.

    One of the kinds is a sheet for reviewers.
    """
    from rageval_report.scores.write import check_spreadsheet_format

    path: Path | None = options.path
    check_files(path, force=options.force)
    kind = options.to or _kind_of(path)
    neutralises = options.neutralise_formulas and kind != "review"  # which always does
    if neutralises:
        check_spreadsheet_format(f".{kind}")
    [evaluation] = Loading(options).load_all([options.file], options.metrics)
    for message in evaluation.notes:
        note(message)
    is_saved = path is not None and path.suffix.lower() == f".{kind}"
    if kind == "parquet" and not is_saved:
        raise DataError("Parquet is not text; name a file for it: -o scores.parquet")
    if path is not None and is_saved and not neutralises and kind in ("csv", "tsv", "parquet"):
        evaluation.save(path, force=options.force)
        note(f"wrote {path}")
        return
    text = _exported(evaluation, kind, neutralise_formulas=neutralises)
    if path is None:
        click.echo(text, nl=False)
    else:
        write_file(path, text)
    if neutralises:
        note(
            "texts that a spreadsheet would compute begin with an apostrophe, with which they are "
            "read again"
        )
    if kind in ("csv", "tsv"):
        note(
            f"a table of {kind} does not say which columns are metrics; -o scores.{kind} writes "
            "that to a second file, and --to jsonl into the table"
        )


def _exported(evaluation: rr.RAGPipelineEvaluation, kind: str, *, neutralise_formulas: bool) -> str:
    from rageval_report.scores.write import (
        csv_text,
        review_sheet,
        score_rows,
        scores_text,
    )

    if kind == "review":
        return csv_text(review_sheet(evaluation))
    if kind == "markdown":
        rows = score_rows(evaluation)
        return rr.Result(f"Scores of {evaluation.name}", rows, {}, evaluation.notes).to_markdown()
    return scores_text(
        evaluation,
        f".{kind}",
        config=evaluation.config,
        notes=evaluation.notes,
        created=evaluation.created,
        correct=evaluation.correct_rule,
        neutralise_formulas=neutralise_formulas,
    )


def _kind_of(path: Path | None) -> str:
    if path is None:
        return "csv"
    suffix = path.suffix.lower().removeprefix(".")
    kind = "markdown" if suffix == "md" else suffix
    if kind not in _EXPORTS:
        listed = ", ".join(_EXPORTS)
        raise DataError(
            f"{path}: the file name does not tell the format; choose with --to: {listed}"
        )
    return kind

"""The options that commands share, as classes that their own options inherit from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_report.cli.command import Options, TableChoice, option
from rageval_report.cli.parsing import parse_bounds, parse_pair, parse_role
from rageval_report.render import RENDERERS

if TYPE_CHECKING:
    from rageval_report.analysis.pairing import MissingTreatment
    from rageval_report.metrics.ranking_inputs import DuplicateDocs
    from rageval_report.metrics.ranking_scores import NoRelevant
    from rageval_report.records.levels import LevelOption
    from rageval_report.scores.catalogue.dialects import DialectName
    from rageval_report.scores.query_rows import Totals
    from rageval_report.scores.table import Duplicates
    from rageval_report.sources.base import FilesArgument

# Those of `rageval_report.metrics.ranking_inputs.DUPLICATE_DOCS` that tables of scores do not have.
_DUPLICATE_DOCS = ("best", "keep")

PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
FORMAT = TableChoice(
    "format", lambda: [renderer.cli_name for renderer in RENDERERS.loaded().values()]
)


def _output_help() -> str:
    suffixes = [renderer.suffixes[0] for renderer in RENDERERS.loaded().values()]
    return f"The file to write ({' '.join(suffixes)}); if omitted, standard output."


class QuietOption(Options):
    """``--quiet``, which `rageval_report.cli.notes.note` looks up in click's context."""

    heading = "Output"

    quiet: bool = option(
        "--quiet", "-q", help="Write no notes to standard error, except doubts about the numbers."
    )


class ForceOption(QuietOption):
    """Whether files are replaced."""

    heading = "Output"

    force: bool = option("--force", help="Replace FILE if it exists.")


class ReplaceOption(QuietOption):
    """Whether files are replaced, by a command whose results say who wrote them."""

    heading = "Output"

    force: bool = option(
        "--force",
        help="Replace FILE if it exists. An earlier result of this program that nobody changed is "
        "replaced without it, except csv and tsv, which cannot say who wrote them.",
    )


class FileOptions(ForceOption):
    """The file that a command writes; standard output if omitted."""

    heading = "Output"

    path: Path | None = option(
        "-o", "--output", metavar="FILE", help="The file to write; if omitted, standard output."
    )


class FormatOption(QuietOption):
    """How results are written."""

    heading = "Output"

    no_color: bool = option(
        "--no-color", help="Write tables without colour; so does the environment variable NO_COLOR."
    )

    format_name: str | None = option(
        "--format",
        type=FORMAT,
        help="The format of the result; if omitted, the suffix of -o decides, else a table.",
    )


class SpreadsheetOption(Options):
    """Whether a table is safe to open in a spreadsheet."""

    heading = "Output"

    neutralise_formulas: bool = option(
        "--neutralise-formulas",
        help="Put an apostrophe before texts of a csv or tsv that a spreadsheet would compute.",
    )


class OutputOptions(FormatOption, ReplaceOption, SpreadsheetOption):
    """Where results are written and in which format; see `rageval_report.cli.output.Output`."""

    heading = "Output"

    path: Path | None = option("-o", "--output", metavar="FILE", help=_output_help)
    verbose: bool = option("--verbose", help="Print every sentence, note and setting.")


class PageOptions(Options):
    """What a page holds; see `rageval_report.cli.pages`."""

    heading = "The page: -o FILE.html"

    no_pictures: bool = option("--no-pictures", help="Write the page without pictures.")
    longest_text: int | None = option(
        "--longest-text",
        type=click.IntRange(min=1),
        metavar="N",
        help="Cut the texts of a page after N characters; if omitted, they are kept whole.",
    )


class GuardOptions(Options):
    """What is done with doubts about the numbers; see `rageval_report.scores.guard`."""

    heading = "Reading the files"

    strict: bool = option(
        "--strict", help="Stop with an error if there is a doubt about the scores."
    )
    allow: tuple[str, ...] = option(
        "--allow",
        multiple=True,
        metavar="CHECK",
        help="Take the doubts of this check as notes, such as constant_metric; may be repeated.",
    )


class MatchingOptions(GuardOptions):
    """How gold ids and retrieved ids are compared."""

    heading = "Reading the files"

    match_ids: tuple[str, ...] = option(
        "--match-ids",
        multiple=True,
        metavar="CHANGE",
        help="Compare gold and retrieved ids after this change of their form, such as case, "
        "extension, prefix:docs/ or retrieved:cut:#; may be repeated.",
    )


class LoadingOptions(MatchingOptions):
    """How files of scores are read; see `rageval_report.cli.sources.Loading`."""

    heading = "Reading the files"

    reader: str | None = option(
        "--reader", metavar="NAME", help="The format of the file, if it is not recognised."
    )
    reader_options: tuple[tuple[str, str], ...] = option(
        "--option",
        multiple=True,
        parse=parse_pair,
        metavar="NAME=VALUE",
        help="An option of the reader, such as delimiter=; or encoding=utf-16-le or sheet=Scores; "
        "or, with --qrels, ties=input, relevance_level=2, no_relevant=zero or drop_self=yes.",
    )
    qrels: str | None = option(
        "--qrels",
        metavar="FILE",
        help="The judgments, if the files are rankings: TREC's or BEIR's, a table or JSON. The "
        "rankings are scored on each --metric, such as ndcg@10.",
    )
    query_id: str | None = option(
        "--query-id",
        metavar="COLUMN",
        help="The column of query ids; query_id if omitted.",
    )
    roles: tuple[tuple[str, str], ...] = option(
        "--role",
        multiple=True,
        parse=parse_role,
        metavar="COLUMN=ROLE",
        help="What a column is: id, pipeline, metric, detail, state, reason or weight.",
    )
    lower: tuple[str, ...] = option(
        "--lower",
        multiple=True,
        metavar="NAME",
        help="A metric for which lower is better.",
    )
    higher: tuple[str, ...] = option(
        "--higher",
        multiple=True,
        metavar="NAME",
        help="A metric for which higher is better.",
    )
    bounds: tuple[tuple[str, float, float], ...] = option(
        "--bounds",
        multiple=True,
        parse=parse_bounds,
        metavar="NAME=LOW:HIGH",
        help="The smallest and largest possible score of a metric.",
    )
    duplicates: Duplicates | DuplicateDocs = option(
        "--duplicates",
        type=click.Choice(["error", "mean", *_DUPLICATE_DOCS]),
        default="error",
        help="What to do if a query has several rows; for a ranking, a document twice.",
    )
    totals: Totals = option(
        "--totals",
        type=click.Choice(["auto", "drop", "keep"]),
        default="auto",
        help='What to do with rows named "mean", "all", ...: auto lets their numbers decide.',
    )
    files_as: FilesArgument = option(
        "--files",
        type=click.Choice(["auto", "parts", "evaluations"]),
        default="auto",
        help="What the files of a folder, a glob or an address are: parts of one table, or one "
        "evaluation each; auto lets their query ids decide.",
    )


def _engine_names() -> list[str]:
    return ["auto", "memory", "duckdb", "dask", "spark"]


class EngineOptions(Options):
    """How tables beyond memory are read; see `rageval_report.cli.scans`."""

    heading = "Reading large files"

    engine: str = option(
        "--engine",
        type=TableChoice("engine", _engine_names),
        default="auto",
        help="memory reads files whole; the others count Parquet, CSV and JSON-lines files of any "
        "size: duckdb on this machine, dask and spark on a cluster as well. auto takes duckdb for "
        "what is larger than a third of the memory, or than the environment variable "
        "RAGEVAL_SCAN_ABOVE, such as 500MB.",
    )
    memory_limit: str | None = option(
        "--memory-limit",
        metavar="SIZE",
        help="The memory that DuckDB may use before it writes to disk, such as 2GB; 1GB if "
        "omitted.",
    )


class RetrievalOptions(Options):
    """How retrieved passages are compared with the gold."""

    heading = "Comparing passages with gold"

    dialect: DialectName | None = option(
        "--dialect",
        type=click.Choice(["datapizza", "haystack", "ragbench", "wfgy"]),
        help="Names, denominators and rules of another system, so that its numbers come out.",
    )

    level: LevelOption | None = option(
        "--level",
        type=click.Choice(["auto", "chunk", "document"]),
        help="Level of the ids that are compared, if passages carry two; auto, the level at which "
        "there is gold, if omitted.",
    )
    duplicates: DuplicateDocs | None = option(
        "--duplicates",
        type=click.Choice(["error", "best", "keep"]),
        help="A passage retrieved twice: refuse it, count it once and close up the ranks, or count "
        "it once and keep the rank of the repeat.",
    )
    no_relevant: NoRelevant | None = option(
        "--no-relevant",
        type=click.Choice(["skip", "zero"]),
        help="Score of a query without relevant documents: none (skip, if omitted), or 0 as in "
        "trec_eval.",
    )


class MetricsOption(Options):
    """Which metrics."""

    metrics: tuple[str, ...] = option(
        "--metric",
        multiple=True,
        metavar="NAME",
        help="A metric to use; may be repeated. All metrics if omitted.",
    )


class CorrectOption(Options):
    """What a correct answer is."""

    correct: str | None = option(
        "--correct",
        metavar="RULE",
        help="What a correct answer is: a metric, a column of yes and no, or thresholds such as "
        "'faithfulness>=0.8,recall@5>=1'; if omitted, a label, a judge or a metric decides, and "
        "the report says which.",
    )


class QueryIdsOption(Options):
    """Which queries, by their ids."""

    query_ids: tuple[str, ...] = option(
        "--query", multiple=True, metavar="ID", help="Only this query, by its id; may be repeated."
    )
    query_file: str | None = option(
        "--query-file",
        metavar="FILE",
        help="Only the queries whose ids are in FILE, one per line.",
    )


class LimitOption(Options):
    """How many rows are shown."""

    limit: int | None = option(
        "--limit",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of queries to show; if omitted, 20, and all of them in csv and json.",
    )


class ConfidenceOption(Options):
    """The confidence level."""

    heading = "Tests and intervals"

    confidence_level: float = option(
        "--confidence-level",
        default=0.95,
        metavar="LEVEL",
        help="Confidence level of the intervals.",
    )


class SeedOption(Options):
    """The seed."""

    heading = "Tests and intervals"

    seed: int = option("--seed", default=0, help="Seed of the random numbers.")


class ResamplingOptions(SeedOption):
    """How tests and intervals draw at random."""

    heading = "Tests and intervals"

    n_resamples: int = option(
        "--n-resamples",
        default=9999,
        metavar="N",
        help="Number of resamples, for tests and intervals that resample.",
    )


class TestOptions(ConfidenceOption, ResamplingOptions):
    """How differences between pipelines are tested."""

    heading = "Tests and intervals"

    test: str = option(
        "--test",
        default="auto",
        metavar="NAME",
        help='"auto" is the exact sign-flip test of the mean difference, ties counted half; t, '
        "wilcoxon, sign, ...",
    )
    correction: str = option(
        "--correction",
        default="holm",
        metavar="NAME",
        help="Correction for several tests: holm, bh, by, hochberg, bonferroni, "
        "westfall-young, none.",
    )
    missing: MissingTreatment = option(
        "--missing",
        type=click.Choice(["drop", "worst", "bounds"]),
        default="drop",
        help="How to treat unscored queries.",
    )
    on: str | None = option(
        "--on",
        metavar="COLUMN",
        help="Match queries by the text in this column, such as question, if their ids differ.",
    )


class TriedOption(Options):
    """How many variants were tried."""

    heading = "Tests and intervals"

    tried: int = option(
        "--tried",
        default=1,
        type=click.IntRange(min=1),
        metavar="K",
        help="Number of variants that were tried on these queries, if only the best are given; "
        "p-values and intervals are corrected for the choice.",
    )


class StopOptions(Options):
    """When no more queries are asked."""

    heading = "Stopping early"

    stop_when: tuple[str, ...] = option(
        "--stop-when",
        "--or",
        multiple=True,
        metavar="RULE",
        help="Ask in a random order, and stop when this rule holds, such as 'better(recall@5)', "
        "'no_regression(faithfulness, margin=0.02)', 'ci_low(mrr) >= 0.5' or "
        "'ci_width(faithfulness) <= 0.05'; more rules follow with --or.",
    )
    baseline: str | None = option(
        "--baseline",
        metavar="RUN",
        help="The earlier run, a run file or its folder, that stopping rules compare with.",
    )
    looks: int | None = option(
        "--looks",
        metavar="N",
        help="Look at the stopping rules N times only, with alpha spending; at any time if "
        "omitted.",
    )

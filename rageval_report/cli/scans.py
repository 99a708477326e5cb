"""Files that are read part by part: when commands do it, and which options do not apply."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import click

from rageval_report.cli.file_sizes import too_large
from rageval_report.cli.machine_memory import parse_size
from rageval_report.cli.notes import note
from rageval_report.cli.options import EngineOptions, LoadingOptions, OutputOptions
from rageval_report.cli.output import check_files
from rageval_report.cli.sources import STANDARD_INPUT, Loading, PipelineSource, check_unique_names
from rageval_report.errors import DataError, ReaderError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.files.near_names import hint_for_missing
from rageval_report.sources.file_lists import is_glob, list_files
from rageval_report.sources.opening import address_of, name_of
from rageval_report.sources.table import REMOTE_SCHEMES

if TYPE_CHECKING:
    from rageval_report.scale.scan import EvaluationScan

_Writing = TypeVar("_Writing", bound=OutputOptions)

AUTO, MEMORY = "auto", "memory"

# What decides how rows are read, and what a scan does not do with them.
_NOT_FOR_SCANS = ("reader", "qrels", "match_ids", "duplicates", "totals")
_SCANNED = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson")


class ScanLoading:
    """How the files of a command are read, if they are read part by part.

    Parameters
    ----------
    options : LoadingOptions
        The options of a command, which are also `EngineOptions`.
    loading : Loading
        The same for files that are read whole.
    """

    def __init__(self, options: LoadingOptions, loading: Loading):
        self._options = cast("EngineOptions", options)
        self._loading = loading

    def open(
        self,
        texts: Sequence[str],
        metrics: Sequence[str] = (),
        *,
        name: str | None = None,
        refused: Iterable[str] = (),
    ) -> list[EvaluationScan]:
        """One scan per source, in order.

        Parameters
        ----------
        texts : sequence of str
            The FILE arguments.
        metrics : sequence of str
            The metrics that are needed; all of them if empty.
        name : str, optional
            The name of the pipeline.
        refused : iterable of str
            Names of options of the command that need every score in memory.

        Returns
        -------
        list of EvaluationScan
            Empty if the files are read whole.

        Raises
        ------
        click.UsageError
            If an option on the command line does not apply to files that are read part by part.
        DataError
            If the files cannot be read so.
        """
        sources = self._loading.sources(texts, name)
        is_scanned = self._decide(sources)
        self._check_engine_options(is_scanned=is_scanned)
        if not is_scanned:
            return []
        check_options((*_NOT_FOR_SCANS, *refused))
        scans = [
            self._scan(source, path, metrics) for source in sources for path in self._paths(source)
        ]
        check_unique_names([scan.name for scan in scans])
        return scans

    def check_whole(self, texts: Sequence[str], what: str) -> None:
        """Refuse to read files part by part, and files that are too large to be read whole.

        Parameters
        ----------
        texts : sequence of str
            The FILE arguments.
        what : str
            What needs every score in memory, such as "pareto".

        Raises
        ------
        DataError
            Unless the user chose --engine memory, or the files are small.
        """
        is_scanned = self._options.engine not in (AUTO, MEMORY)
        self._check_engine_options(is_scanned=is_scanned)
        if is_scanned:
            raise DataError(
                f"{what} needs every score in memory, and --engine {self._options.engine} reads "
                "files part by part; use --engine memory"
            )
        sources = self._loading.sources(texts)
        size = too_large(source.path for source in sources)
        if size is not None and self._options.engine == AUTO:
            raise DataError(
                f"{size}, and {what} needs every score in memory; if this machine has that much "
                "memory free, use --engine memory, else a part of the queries or a larger machine"
            )

    def _decide(self, sources: Sequence[PipelineSource]) -> bool:
        """Whether the files are read part by part; if the size decides it, a note says so."""
        engine = self._options.engine
        if engine != AUTO:
            return engine != MEMORY
        size = too_large(source.path for source in sources)
        if size is None:
            return False
        obstacle = _obstacle(sources)
        if obstacle:
            note(f"{size}; they are read whole all the same, because {obstacle}")
            return False
        note(f"{size}, so they are read part by part; --engine memory reads them whole")
        return True

    def _check_engine_options(self, *, is_scanned: bool) -> None:
        """Refuse the options of an engine that does not read the files."""
        limit, engine = self._options.memory_limit, self._options.engine
        if limit is not None:
            parse_size(limit, "--memory-limit")
            if not is_scanned or engine not in (AUTO, "duckdb"):
                raise click.UsageError("--memory-limit is for --engine duckdb.")

    def _paths(self, source: PipelineSource) -> list[str]:
        """The parts of one table together, or each file that is an evaluation of its own."""
        for is_wrong, what in (
            (source.pipeline is not None, f"{source.path}::{source.pipeline}: a pipeline"),
            (source.path == STANDARD_INPUT, "standard input"),
            (_is_database(source.path), f"{source.path}: a database or a service"),
        ):
            if is_wrong:
                raise DataError(
                    f"{what} cannot be read part by part; name Parquet or CSV files of one "
                    "pipeline, or use --engine memory"
                )
        path = Path(source.path)
        if address_of(source.path) is None and not is_glob(source.path) and not path.exists():
            raise ReaderError(f"there is no such file{hint_for_missing(path)}", path)
        if self._loading.files != "evaluations":
            return [source.path]
        return [str(path) for path in list_files(source.path).files]

    def _scan(self, source: PipelineSource, path: str, metrics: Sequence[str]) -> EvaluationScan:
        keywords = self._loading.keywords(metrics)
        options = dict(self._loading.reader_options)
        delimiter = options.pop("delimiter", None)
        if options:
            raise click.UsageError(
                f"--option {next(iter(options))} does not apply to files that are read part by "
                "part, only --option delimiter; use --engine memory."
            )
        scan = RAGPipelineEvaluation.scan(
            path,
            name=(source.name if path == source.path else None) or name_of(path),
            engine=self._options.engine,
            query_id=keywords["query_id"],
            metrics=keywords["metrics"],
            correct=keywords["correct"],
            roles=keywords["roles"],
            strict=keywords["strict"],
            allow=keywords["allow"],
            memory_limit=self._options.memory_limit,
            delimiter=None if delimiter is None else str(delimiter),
        )
        if self._loading.correct is not None:
            self._loading.check_rule(scan.metrics)
        return scan


def _is_database(path: str) -> bool:
    """Whether a path is an address of something else than files."""
    address = address_of(path)
    return address is not None and address.scheme not in REMOTE_SCHEMES


def _obstacle(sources: Sequence[PipelineSource]) -> str | None:
    """Why files cannot be read part by part."""
    for source in sources:
        if source.pipeline is not None:
            return f"{source.pipeline!r} is one of several pipelines in {source.path}"
        if source.path == STANDARD_INPUT or address_of(source.path) is not None:
            return f"{source.path} is not a file"
        for path in list_files(source.path).files:
            if path.suffix.lower() not in _SCANNED:
                return f"only Parquet, CSV and JSON-lines files are, and {path.name} is not"
    if any(importlib.util.find_spec(name) is None for name in ("narwhals", "duckdb", "pyarrow")):
        return 'reading them part by part needs: pip install "rageval-report[scale]"'
    return None


def check_options(names: Iterable[str]) -> None:
    """Refuse options on the command line that need every score in memory.

    Parameters
    ----------
    names : iterable of str
        The names of their fields.

    Raises
    ------
    click.UsageError
        Naming the first one.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return
    flags = {parameter.name: max(parameter.opts, key=len) for parameter in context.command.params}
    for name in names:
        source = context.get_parameter_source(name)
        if source is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{flags[name]} does not apply to files that are read part by part; leave it out, "
                "or use --engine memory."
            )


def split_list_file(options: _Writing) -> tuple[_Writing, Path | None]:
    """The Parquet file for a whole list, which is written part by part, and the other options.

    Parameters
    ----------
    options : OutputOptions
        Their file; if it ends in .parquet, the table goes to standard output.
    """
    if options.path is None or options.path.suffix.lower() != ".parquet":
        return options, None
    check_files(options.path, force=options.force)
    return options.converted_to(type(options), path=None), options.path


def check_list_file(path: Path | None, *, is_scanned: bool) -> None:
    """Refuse a Parquet file for a list that is in memory."""
    if path is not None and not is_scanned:
        raise click.UsageError(
            f"-o {path}: a Parquet file is for a list that is read part by part (--engine duckdb); "
            "write .csv or .json."
        )

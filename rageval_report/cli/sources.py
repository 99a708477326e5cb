"""The evaluations that a user names on the command line as NAME=FILE::PIPELINE."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

import rageval_report as rr
from rageval_report.cli.options import CorrectRule, Options, stated_flags
from rageval_report.cli.output import note
from rageval_report.errors import DataError, ReaderError, doubts_of, is_doubt

if TYPE_CHECKING:
    from rageval_report.scale.scan import EvaluationScan


Runs: TypeAlias = "list[rr.RAGPipelineEvaluation] | list[EvaluationScan]"

STANDARD_INPUT = "-"


# -- what is named


@dataclass(frozen=True)
class PipelineSource:
    """The file of one pipeline's scores, and the name of the pipeline.

    Parameters
    ----------
    path : str
        The file, folder, glob or address; "-" is standard input.
    name : str, optional
        The name of the pipeline; if omitted, the name in the file.
    pipeline : str, optional
        Which of several pipelines in the file.
    """

    path: str
    name: str | None = None
    pipeline: str | None = None

    @property
    def stem(self) -> str:
        """The name of the file without folder and suffixes."""
        from rageval_report.sources.files import name_of

        return self.pipeline or name_of(self.path)

    @property
    def long_stem(self) -> str:
        """The stem after the name of its folder, for files that have the same name."""
        return f"{Path(self.path).absolute().parent.name}/{self.stem}"


def parse_source(text: str) -> PipelineSource:
    """The source in FILE, NAME=FILE, FILE::PIPELINE or both; a file that exists is taken as it is.

    Examples
    --------
    >>> parse_source("new=runs/b.json::dense")
    PipelineSource(path='runs/b.json', name='new', pipeline='dense')
    >>> parse_source("new=sqlite:///runs.db?table=dense")
    PipelineSource(path='sqlite:///runs.db?table=dense', name='new', pipeline=None)
    """
    from rageval_report.sources.files import address_of

    # A file whose name contains "=" or "::" goes before the notation.
    if text == STANDARD_INPUT or Path(text).exists():
        return PipelineSource(text)
    is_address = address_of(text) is not None
    name, equals, path = text.partition("=")
    if equals and name.strip() and not is_address:
        return replace(parse_source(path), name=name.strip())
    path, colons, pipeline = text.rpartition("::")
    # SQL has "::" for types, in the query of an address.
    if colons and path and pipeline and not (is_address and "query=" in text):
        return PipelineSource(path, pipeline=pipeline)
    return PipelineSource(text)


def parse_sources(texts: Sequence[str]) -> list[PipelineSource]:
    """The sources, with longer names for files that have the same name in different folders."""
    sources = [parse_source(text) for text in texts]
    if sum(source.path == STANDARD_INPUT for source in sources) > 1:
        raise DataError("standard input can be read once only; name files for the other pipelines")
    unnamed = [source for source in sources if source.name is None]
    stems = Counter(source.stem for source in unnamed)
    long_stems = Counter(source.long_stem for source in unnamed)
    # The names of runs often differ only in what looks like a suffix: input.bm25, input.dense.
    return [
        source
        if source.name is not None or stems[source.stem] == 1
        else replace(source, name=source.long_stem)
        if long_stems[source.long_stem] == 1
        else replace(source, name=Path(source.path).name)
        for source in sources
    ]


def check_unique_names(names: Iterable[str | None]) -> None:
    """Refuse two pipelines of one name."""
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        raise DataError(f"two runs are named {repeated[0]!r}; give each its own name")


def read_query_ids(options: Options) -> tuple[str, ...]:
    """The ids of ``--query`` and of the lines of ``--query-file``, each once."""
    from rageval_report.files.source import Source

    if options.query_file is None:
        return tuple(dict.fromkeys(options.query_ids))
    source = Source(options.query_file)
    lines = [line.strip() for line in source.text.splitlines() if line.strip()]
    if not lines:
        raise source.error("expected one query id per line; there is none")
    return tuple(dict.fromkeys((*options.query_ids, *lines)))


# -- how it is read


class Loading:
    """How files of scores are read, as the options of a command say.

    Parameters
    ----------
    options : Options
        The options of a command; the defaults if omitted.
    metrics : iterable of str
        The metrics that the command needs of a ranking; tables of scores have all of theirs.
    """

    def __init__(self, options: Options | None = None, metrics: Iterable[str] = ()):
        get = (options or Options()).get
        self.reader: str | None = get("reader")
        self.rule: CorrectRule | None = get("correct")
        self.overrides = _metric_overrides(get("lower", ()), get("higher", ()), get("bounds", ()))
        self.reader_options: dict[str, Any] = dict(get("reader_options", ()))
        for name in ("qrels", "match_ids"):
            if get(name):
                self.reader_options[name] = get(name)
        self._metrics = tuple(metrics)
        self._reads_parts = get("engine") is not None
        self._shared: dict[str, Any] = {
            "query_id": get("query_id"),
            "duplicates": get("duplicates", "error"),
            "roles": dict(get("roles", ())) or None,
            "totals": get("totals", "auto"),
            "strict": get("strict", False),
            "allow": get("allow", ()),
            "files": get("files_as", "auto"),
        }

    def keywords(self, metrics: Sequence[str] = ()) -> dict[str, Any]:
        """What the library needs to know of a file."""
        rule = [] if self.rule is None else self.rule.metrics
        # Columns that were not requested may hold anything, so only the named ones are checked.
        described: Any = self.overrides or ([*metrics, *rule] if metrics else None)
        if "qrels" in self.reader_options:  # of a ranking, what is not named is not computed
            names = (*metrics, *self._metrics, *rule)
            described = {**{name: {} for name in names}, **self.overrides} or None
        correct = None if self.rule is None else self.rule.value
        return {**self.reader_options, **self._shared, "metrics": described, "correct": correct}

    def load(self, source: PipelineSource, metrics: Sequence[str] = ()) -> rr.RAGPipelineEvaluation:
        """The evaluation of one source, with only some of its metrics if they are named."""
        read: Any = rr.RAGPipelineEvaluation.load  # the keywords are those of any reader
        evaluation: rr.RAGPipelineEvaluation = read(
            source.name,
            source.path,
            reader=self.reader,
            pipeline=source.pipeline,
            **self.keywords(metrics),
        )
        return self._checked(evaluation)

    def load_all(
        self, texts: Sequence[str], metrics: Sequence[str] = (), *, name: str | None = None
    ) -> list[rr.RAGPipelineEvaluation]:
        """One evaluation per source, each with its own name."""
        sources = self.sources(texts, name)
        return _with_unique_names([(source, [self.load(source, metrics)]) for source in sources])

    def load_every(
        self, texts: Sequence[str], metrics: Sequence[str] = (), *, name: str | None = None
    ) -> list[rr.RAGPipelineEvaluation]:
        """The evaluations of all sources: every pipeline of a file that holds several.

        Those of a file that the user named NAME are called NAME/PIPELINE; pipelines of two files
        that share a name are called FILE/PIPELINE, or FILE if it holds no other.
        """
        sources = self.sources(texts, name)
        return _with_unique_names(
            [(source, self._load_pipelines(source, metrics)) for source in sources]
        )

    def load_runs(
        self, texts: Sequence[str], metrics: Sequence[str] = ()
    ) -> list[rr.RAGPipelineEvaluation]:
        """Runs of one pipeline, each named after its file unless the user named it."""
        sources = [
            replace(source, name=source.name or source.stem) for source in self.sources(texts)
        ]
        return _with_unique_names([(source, [self.load(source, metrics)]) for source in sources])

    def sources(self, texts: Sequence[str], name: str | None = None) -> list[PipelineSource]:
        """The sources that the arguments of a command name."""
        sources = parse_sources(texts)
        if not self._reads_parts and (size := _too_large(sources)):
            note(
                f"{size}, and this command reads files whole; if the memory is not enough, give it "
                "a part of the queries"
            )
        if self.reader_options.get("qrels") == STANDARD_INPUT and len(sources) > 1:
            raise DataError(
                "--qrels: standard input can be read once only; name a file of judgments for "
                "several rankings"
            )
        return sources if name is None else [replace(source, name=name) for source in sources]

    def check_rule(self, metrics: Mapping[str, rr.Metric]) -> None:
        """Refuse a rule for a correct answer that asks for bad scores."""
        if self.rule is not None:
            self.rule.check(metrics)

    def _load_pipelines(
        self, source: PipelineSource, metrics: Sequence[str]
    ) -> list[rr.RAGPipelineEvaluation]:
        """Every pipeline of a file, or the one that the source names."""
        if source.pipeline is not None:
            return [self.load(source, metrics)]
        read: Any = rr.read_scores
        by_name: dict[str, rr.RAGPipelineEvaluation] = read(
            source.path, reader=self.reader, **self.keywords(metrics)
        )
        evaluations = [self._checked(evaluation) for evaluation in by_name.values()]
        if source.name is None:
            return evaluations
        if len(evaluations) == 1:
            return [evaluations[0].with_name(source.name)]
        return [
            evaluation.with_name(f"{source.name}/{evaluation.name}") for evaluation in evaluations
        ]

    def _checked(self, evaluation: rr.RAGPipelineEvaluation) -> rr.RAGPipelineEvaluation:
        self.check_rule(evaluation.metrics)
        return evaluation


def _metric_overrides(
    lower: Sequence[str], higher: Sequence[str], bounds: Any
) -> dict[str, dict[str, Any]]:
    """What ``--lower``, ``--higher`` and ``--bounds`` say about each metric."""
    both = sorted(set(lower) & set(higher))
    if both:
        raise DataError(f"{both[0]!r} is given to --lower and to --higher; give it to one of them")
    overrides: dict[str, dict[str, Any]] = {}
    for name in (*lower, *higher):
        overrides.setdefault(name, {})["greater_is_better"] = name in higher
    for name, ends in dict(bounds).items():
        overrides.setdefault(name, {})["bounds"] = ends
    return overrides


def _with_unique_names(
    groups: Sequence[tuple[PipelineSource, list[rr.RAGPipelineEvaluation]]],
) -> list[rr.RAGPipelineEvaluation]:
    """The evaluations of several files; those that share a name get that of their file."""
    counts = Counter(evaluation.name for _, group in groups for evaluation in group)
    evaluations = []
    for source, group in groups:
        for evaluation in group:
            if counts[evaluation.name] > 1 and len(group) > 1:
                evaluation = evaluation.with_name(f"{source.stem}/{evaluation.name}")
            elif counts[evaluation.name] > 1 and source.name is None:
                evaluation = evaluation.with_name(source.stem)
            evaluations.append(evaluation)
    check_unique_names(evaluation.name for evaluation in evaluations)
    return evaluations


# -- tables that are read part by part

_SCANNED = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson")
# What decides how rows are read, and what a scan does not do with them.
_NOT_FOR_SCANS = ("reader", "qrels", "match_ids", "duplicates", "totals", "query_ids", "query_file")
LIMIT_VARIABLE = "RAGEVAL_SCAN_ABOVE"
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
# What a container may use; version 2 of control groups first.
_CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def open_runs(
    options: Options,
    texts: Sequence[str],
    metrics: Sequence[str] = (),
    *,
    every: bool = True,
    name: str | None = None,
    needed: Iterable[str] = (),
) -> Runs:
    """The evaluations of all files; scans of them where they are read part by part.

    Parameters
    ----------
    options : Options
        With those of loading and of the engine.
    texts : sequence of str
        The FILE arguments.
    metrics : sequence of str
        The metrics that are needed; all of them if empty.
    every : bool
        Whether a file may hold several pipelines.
    name : str, optional
        The name of the pipeline.
    needed : iterable of str
        The metrics that the command needs of a ranking.
    """
    loading = Loading(options, needed)
    scans = scans_of(options, loading, texts, metrics, name=name)
    if scans:
        return scans
    return (loading.load_every if every else loading.load_all)(texts, metrics, name=name)


def open_pair(options: Options, metrics: Sequence[str] = ()) -> Runs:
    """The baseline and its candidates; without candidates, the pipelines of the one file."""
    files = (options.baseline, *options.candidates)
    runs = open_runs(options, files, metrics, every=not options.candidates)
    if len(runs) == 1:
        raise click.UsageError(
            f"Missing argument 'CANDIDATE...': {options.baseline} holds one pipeline, "
            f"{runs[0].name}; name the files to compare it with."
        )
    return runs


def notes_of(runs: Runs, options: Options | None = None) -> list[str]:
    """The notes of all evaluations, each with the name of its pipeline; doubts are marked first.

    With the options of a pair, also which of the pipelines in one file is the baseline.
    """
    notes = [
        *doubts_of(runs),
        *(f"{run.name}: {text}" for run in runs for text in run.notes if not is_doubt(text)),
    ]
    if options is not None and not options.candidates:
        notes.append(
            f"of the {len(runs)} pipelines in {options.baseline}, {runs[0].name} is the baseline"
        )
    return list(dict.fromkeys(notes))


def scans_of(
    options: Options,
    loading: Loading,
    texts: Sequence[str],
    metrics: Sequence[str] = (),
    *,
    name: str | None = None,
) -> list[EvaluationScan]:
    """One scan per source, in order; none if the files are read whole."""
    sources = loading.sources(texts, name)
    is_scanned = _is_scanned(options, sources)
    if options.memory_limit and not (is_scanned and options.engine in ("auto", "duckdb")):
        raise click.UsageError("--memory-limit is for --engine duckdb.")
    if not is_scanned:
        return []
    for flag in stated_flags(_NOT_FOR_SCANS):
        raise click.UsageError(
            f"{flag} does not apply to files that are read part by part; leave it out, or use "
            "--engine memory."
        )
    scans = [
        _scan(options, loading, source, path, metrics)
        for source in sources
        for path in _paths(source, options)
    ]
    check_unique_names(scan.name for scan in scans)
    return scans


def check_whole(options: Options, texts: Sequence[str], what: str) -> None:
    """Refuse to read files part by part, and files too large to be read whole."""
    sources = parse_sources(texts)
    if options.engine not in ("auto", "memory"):
        raise DataError(
            f"{what} needs every score in memory, and --engine {options.engine} reads files part "
            "by part; use --engine memory"
        )
    size = _too_large(sources)
    if size is not None and options.engine == "auto":
        raise DataError(
            f"{size}, and {what} needs every score in memory; if this machine has that much memory "
            "free, use --engine memory, else a part of the queries or a larger machine"
        )


def _is_scanned(options: Options, sources: Sequence[PipelineSource]) -> bool:
    """Whether files are read part by part; if their size decides it, a note says so."""
    if options.engine != "auto":
        return bool(options.engine != "memory")
    size = _too_large(sources)
    if size is None:
        return False
    obstacle = _obstacle(sources)
    if obstacle:
        note(f"{size}; they are read whole all the same, because {obstacle}")
        return False
    note(f"{size}, so they are read part by part; --engine memory reads them whole")
    return True


def _obstacle(sources: Sequence[PipelineSource]) -> str | None:
    """Why files cannot be read part by part."""
    from rageval_report.sources.files import address_of, list_files

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


def _paths(source: PipelineSource, options: Options) -> list[str]:
    """The parts of one table together, or each file that is an evaluation of its own."""
    from rageval_report.files.source import hint_for_missing
    from rageval_report.sources import REMOTE_SCHEMES
    from rageval_report.sources.files import address_of, is_glob, list_files

    address = address_of(source.path)
    what = (
        f"{source.path}::{source.pipeline}: a pipeline"
        if source.pipeline is not None
        else "standard input"
        if source.path == STANDARD_INPUT
        else f"{source.path}: a database or a service"
        if address is not None and address.scheme not in REMOTE_SCHEMES
        else None
    )
    if what is not None:
        raise DataError(
            f"{what} cannot be read part by part; name Parquet or CSV files of one pipeline, or "
            "use --engine memory"
        )
    path = Path(source.path)
    if address is None and not is_glob(source.path) and not path.exists():
        raise ReaderError(f"there is no such file{hint_for_missing(path)}", path)
    if options.files_as != "evaluations":
        return [source.path]
    return [str(path) for path in list_files(source.path).files]


def _scan(
    options: Options,
    loading: Loading,
    source: PipelineSource,
    path: str,
    metrics: Sequence[str],
) -> EvaluationScan:
    from rageval_report.sources.files import name_of

    if loading.reader_options:
        raise click.UsageError(
            f"--option {next(iter(loading.reader_options))} does not apply to files that are read "
            "part by part; use --engine memory."
        )
    keywords = loading.keywords(metrics)
    scan = rr.RAGPipelineEvaluation.scan(
        path,
        name=(source.name if path == source.path else None) or name_of(path),
        engine=options.engine,
        memory_limit=options.memory_limit,
        **{name: keywords[name] for name in _SCAN_KEYWORDS},
    )
    loading.check_rule(scan.metrics)
    return scan


_SCAN_KEYWORDS = ("query_id", "metrics", "correct", "roles", "strict", "allow")


def _too_large(sources: Iterable[PipelineSource]) -> str | None:
    """Why files are read part by part, as a clause; None if they are small enough."""
    stated = os.environ.get(LIMIT_VARIABLE)
    if stated:
        limit, reason = _parse_size(stated, LIMIT_VARIABLE), f"{LIMIT_VARIABLE}={stated}"
    else:
        memory = _memory_of_machine()
        # A table in memory has texts, its scores, and a copy of them while it is described.
        limit, reason = memory // 3, f"a third of the memory ({_format_size(memory)})"
    n_bytes = sum(_size_of(source.path) for source in sources)
    if n_bytes <= limit:
        return None
    return f"the files have {_format_size(n_bytes)}, more than {reason}"


def _size_of(path: str) -> int:
    from rageval_report.sources.files import address_of, list_files

    if path == STANDARD_INPUT or address_of(path) is not None:
        return 0
    try:
        return sum(file.stat().st_size for file in list_files(path).files)
    except (OSError, DataError):
        return 0  # reading it says what is wrong


def _memory_of_machine() -> int:
    """The bytes of memory of this machine, or those that its container may use."""
    try:
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, OSError, ValueError):  # Windows
        limits = [2**63]
    for path in _CONTAINER_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
            limits.append(int(path.read_text(encoding="ascii")))
    return min(limits)


def _parse_size(text: str, parameter: str) -> int:
    """The number of bytes in a text such as "500MB" or "2 GB"."""
    size = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kmgt]?)b?", text.strip(), re.IGNORECASE)
    if size is None:
        raise DataError(f"{parameter} must be a size such as 500MB or 2GB; got {text!r}")
    return int(float(size[1]) * _UNITS[size[2].lower()])


def _format_size(n_bytes: int) -> str:
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if n_bytes >= 0.9995 * 10**power:
            return f"{n_bytes / 10**power:.1f} {unit}"
    return f"{n_bytes} bytes"

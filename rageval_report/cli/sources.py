"""The evaluations that a user names on the command line as NAME=FILE::PIPELINE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rageval_report.cli.file_sizes import note_on_memory
from rageval_report.cli.options import CorrectOption, EngineOptions, LoadingOptions
from rageval_report.cli.parsing import (
    metric_overrides,
    metrics_in_rule,
    parse_correct_rule,
    parse_thresholds,
)
from rageval_report.errors import DataError
from rageval_report.evaluation import RAGPipelineEvaluation, read_scores
from rageval_report.files.source import Source
from rageval_report.readers.base import ReaderOptions
from rageval_report.scores import Correct, Metric, resolver
from rageval_report.scores.query_rows import Totals
from rageval_report.scores.roles import Role, Roles
from rageval_report.scores.table import Duplicates, MetricsArgument
from rageval_report.sources.base import FilesArgument
from rageval_report.sources.opening import address_of, name_of

if TYPE_CHECKING:
    from rageval_report.metrics.ranking_inputs import DuplicateDocs

STANDARD_INPUT = "-"


class LoadKeywords(ReaderOptions):
    """The keywords of `RAGPipelineEvaluation.load` and `read_scores` that options decide."""

    query_id: str | None
    metrics: MetricsArgument
    correct: Correct | None
    duplicates: Duplicates | DuplicateDocs
    roles: Roles | None
    totals: Totals
    strict: bool
    allow: tuple[str, ...]
    files: FilesArgument


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
    # A file whose name contains "=" or "::" goes before the notation.
    if text == STANDARD_INPUT or Path(text).exists():
        return PipelineSource(text)
    if address_of(text) is not None:
        return _parse_address(text)
    name, equals, path = text.partition("=")
    if equals and name.strip():
        return replace(parse_source(path), name=name.strip())
    path, colons, pipeline = text.rpartition("::")
    if colons and path and pipeline:
        return PipelineSource(path, pipeline=pipeline)
    return PipelineSource(text)


def _parse_address(text: str) -> PipelineSource:
    """An address, with "::PIPELINE" at its end; SQL has "::" for types, in a query."""
    path, colons, pipeline = text.rpartition("::")
    if colons and path and pipeline and "query=" not in text:
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


def check_unique_names(names: Sequence[str]) -> None:
    """Refuse two pipelines of one name.

    Raises
    ------
    DataError
        If a name appears twice.
    """
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        raise DataError(f"two runs are named {repeated[0]!r}; give each its own name")


@dataclass(frozen=True)
class Loading:
    """How files of scores are read.

    Parameters
    ----------
    reader : str, optional
        The name of a reader; if omitted, the format is recognised.
    correct : str, optional
        What a correct answer is, as the user wrote it.
    overrides : dict of str to dict
        What the user knows better about a metric.
    query_id : str, optional
        The column of ids.
    duplicates : {"error", "mean", "best", "keep"}
        What to do if a query has several rows, or a document several ranks.
    roles : dict of str to str
        What columns are, as the user says.
    totals : {"auto", "drop", "keep"}
        What to do with rows whose ids name a total.
    reader_options : ReaderOptions
        The options of the reader, of a plug-in too; the reader checks them. With judgments as
        ``qrels``, the files are rankings.
    metrics : tuple of str
        The metrics that the command needs of a ranking; tables of scores have all of theirs.
    strict : bool
        Whether a doubt about the scores is an error.
    allow : tuple of str
        The checks whose doubts are ordinary notes.
    files : {"auto", "parts", "evaluations"}
        How the files of a folder or a glob belong together.
    reads_parts : bool
        Whether the command can read files part by part; else a note says so where they are large.
    """

    reader: str | None = None
    correct: str | None = None
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)
    query_id: str | None = None
    duplicates: Duplicates | DuplicateDocs = "error"
    roles: dict[str, Role] = field(default_factory=dict)
    totals: Totals = "auto"
    reader_options: ReaderOptions = field(default_factory=ReaderOptions)
    metrics: tuple[str, ...] = ()
    strict: bool = False
    allow: tuple[str, ...] = ()
    files: FilesArgument = "auto"
    reads_parts: bool = False

    @classmethod
    def of(cls, options: LoadingOptions, metrics: Iterable[str] = ()) -> Loading:
        """The loading that the options of a command ask for.

        Parameters
        ----------
        options : LoadingOptions
            The options.
        metrics : iterable of str
            The metrics that the command needs, besides those named when a file is loaded.
        """
        ranked: dict[str, Any] = {} if options.qrels is None else {"qrels": options.qrels}
        if options.match_ids:
            ranked["match_ids"] = options.match_ids
        return cls(
            options.reader,
            options.correct if isinstance(options, CorrectOption) else None,
            metric_overrides(options.lower, options.higher, options.bounds),
            options.query_id,
            options.duplicates,
            cast("dict[str, Role]", dict(options.roles)),
            options.totals,
            cast("ReaderOptions", {**dict(options.reader_options), **ranked}),
            tuple(metrics),
            options.strict,
            options.allow,
            options.files_as,
            isinstance(options, EngineOptions),
        )

    def load(self, source: PipelineSource, metrics: Sequence[str] = ()) -> RAGPipelineEvaluation:
        """The evaluation of one source, with only some of its metrics if they are named."""
        evaluation = RAGPipelineEvaluation.load(
            source.name,
            source.path,
            reader=self.reader,
            pipeline=source.pipeline,
            **self.keywords(metrics),
        )
        return self._check_rule(evaluation)

    def load_all(
        self, texts: Sequence[str], metrics: Sequence[str] = (), *, name: str | None = None
    ) -> list[RAGPipelineEvaluation]:
        """One evaluation per source, each with its own name.

        Raises
        ------
        DataError
            If two have the same name.
        """
        sources = self.sources(texts, name)
        evaluations = [self.load(source, metrics) for source in sources]
        counts = Counter(evaluation.name for evaluation in evaluations)
        return _check_names(
            [
                _with_file_name(evaluation, source, counts)
                for source, evaluation in zip(sources, evaluations, strict=True)
            ]
        )

    def load_every(
        self, texts: Sequence[str], metrics: Sequence[str] = (), *, name: str | None = None
    ) -> list[RAGPipelineEvaluation]:
        """The evaluations of all sources: every pipeline of a file that holds several.

        Those of a file that the user named NAME are called NAME/PIPELINE; pipelines of two files
        that share a name are called FILE/PIPELINE, or FILE if it holds no other.

        Raises
        ------
        DataError
            If two have the same name.
        """
        groups = [
            (source, self._load_pipelines(source, metrics)) for source in self.sources(texts, name)
        ]
        counts = Counter(evaluation.name for _, group in groups for evaluation in group)
        return _check_names(
            [
                evaluation.with_name(f"{source.stem}/{evaluation.name}")
                if len(group) > 1 and counts[evaluation.name] > 1
                else _with_file_name(evaluation, source, counts)
                for source, group in groups
                for evaluation in group
            ]
        )

    def load_runs(
        self, texts: Sequence[str], metrics: Sequence[str] = ()
    ) -> list[RAGPipelineEvaluation]:
        """Runs of one pipeline, each named after its file unless the user named it."""
        sources = [
            replace(source, name=source.name or source.stem) for source in self.sources(texts)
        ]
        return _check_names([self.load(source, metrics) for source in sources])

    def sources(self, texts: Sequence[str], name: str | None = None) -> list[PipelineSource]:
        """The sources that the arguments of a command name.

        Parameters
        ----------
        texts : sequence of str
            The FILE arguments.
        name : str, optional
            The name of the pipeline.
        """
        sources = parse_sources(texts)
        if not self.reads_parts:
            note_on_memory(source.path for source in sources)
        if self.reader_options.get("qrels") == STANDARD_INPUT and len(sources) > 1:
            raise DataError(
                "--qrels: standard input can be read once only; name a file of judgments for "
                "several rankings"
            )
        return sources if name is None else [replace(source, name=name) for source in sources]

    def _load_pipelines(
        self, source: PipelineSource, metrics: Sequence[str]
    ) -> list[RAGPipelineEvaluation]:
        """Every pipeline of a file, or the one that the source names."""
        if source.pipeline is not None:
            return [self.load(source, metrics)]
        by_name = read_scores(source.path, reader=self.reader, **self.keywords(metrics))
        evaluations = [self._check_rule(evaluation) for evaluation in by_name.values()]
        if source.name is None:
            return evaluations
        if len(evaluations) == 1:
            return [evaluations[0].with_name(source.name)]
        return [
            evaluation.with_name(f"{source.name}/{evaluation.name}") for evaluation in evaluations
        ]

    def keywords(self, metrics: Sequence[str] = ()) -> LoadKeywords:
        """What the library needs to know of a file."""
        # Columns that were not requested may hold anything, so only the named ones are checked.
        needed = [*metrics, *metrics_in_rule(self.correct)] if metrics else []
        correct = None if self.correct is None else parse_correct_rule(self.correct)
        described: MetricsArgument = self.overrides or needed or None
        if self.reader_options.get("qrels") is not None:
            # Of a ranking, what is not named is not computed.
            rule = metrics_in_rule(self.correct)
            described = {
                **{name: {} for name in (*metrics, *self.metrics, *rule)},
                **self.overrides,
            } or None
        return {
            **self.reader_options,
            "query_id": self.query_id,
            "metrics": described,
            "correct": correct,
            "duplicates": self.duplicates,
            "roles": self.roles or None,
            "totals": self.totals,
            "strict": self.strict,
            "allow": self.allow,
            "files": self.files,
        }

    def _check_rule(self, evaluation: RAGPipelineEvaluation) -> RAGPipelineEvaluation:
        self.check_rule(evaluation.metrics)
        return evaluation

    def check_rule(self, metrics: Mapping[str, Metric]) -> None:
        """Refuse a rule for a correct answer that asks for bad scores; see `check_directions`."""
        if self.correct is not None:
            check_directions(self.correct, metrics)


def check_directions(rule: str, metrics: Mapping[str, Metric]) -> None:
    """Refuse a threshold that asks for bad scores; the metric knows which direction is good.

    Raises
    ------
    DataError
        If a sign contradicts the direction of the metric.
    """
    if isinstance(parse_correct_rule(rule), str):
        return
    resolve = resolver(metrics)
    for threshold in parse_thresholds(rule):
        metric = metrics[resolve(threshold.metric)]
        sign, direction = (">=", "higher") if metric.greater_is_better else ("<=", "lower")
        if threshold.sign != sign:
            raise DataError(
                f"{metric.name}: {direction} is better, so a correct answer has "
                f"{metric.name}{sign}{threshold.value:g}; if the opposite is true, say so with "
                f"--{'lower' if metric.greater_is_better else 'higher'} {metric.name}"
            )


def _with_file_name(
    evaluation: RAGPipelineEvaluation, source: PipelineSource, counts: Mapping[str, int]
) -> RAGPipelineEvaluation:
    """The evaluation under the name of its file, if others were saved under its own name too."""
    is_shared = counts[evaluation.name] > 1 and source.name is None
    return evaluation.with_name(source.stem) if is_shared else evaluation


def _check_names(evaluations: list[RAGPipelineEvaluation]) -> list[RAGPipelineEvaluation]:
    check_unique_names([evaluation.name for evaluation in evaluations])
    return evaluations


def read_query_ids(ids: Iterable[str], path: str | None) -> tuple[str, ...]:
    """The ids of the options ``--query`` and ``--query-file``, each once.

    Parameters
    ----------
    ids : iterable of str
        Those on the command line.
    path : str, optional
        A file with one id per line; blank lines are ignored.

    Raises
    ------
    ReaderError
        If the file cannot be read, or has no id.

    Examples
    --------
    >>> read_query_ids(("q1", "q2", "q1"), None)
    ('q1', 'q2')
    """
    if path is None:
        return tuple(dict.fromkeys(ids))
    source = Source(path)
    lines = [line.strip() for line in source.text.splitlines() if line.strip()]
    if not lines:
        raise source.error("expected one query id per line; there is none")
    return tuple(dict.fromkeys((*ids, *lines)))

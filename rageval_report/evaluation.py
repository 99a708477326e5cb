"""`RAGPipelineEvaluation`: the name of a pipeline and its per-query scores, with their analyses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack, cast, overload

import pandas as pd

from rageval_report.errors import (
    DataError,
    RagevalError,
    ReaderError,
    did_you_mean,
    named,
)
from rageval_report.files.inputs import input_name
from rageval_report.scores import Correct, Metric, ScoreTable, correctness, resolver, score_table
from rageval_report.scores.catalogue.dialects import recorded_dialect
from rageval_report.scores.guard import doubts_about_scores, notes_with_doubts
from rageval_report.scores.query_ids import QUERY_ID, check_known_ids
from rageval_report.scores.query_rows import Totals
from rageval_report.scores.roles import Roles, count_roles, roles_frame
from rageval_report.scores.run_file import time_of
from rageval_report.scores.states import states_frame
from rageval_report.scores.table import Duplicates, MetricsArgument
from rageval_report.types import JsonObject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.analysis.agreement import LabelColumns, People
    from rageval_report.analysis.arguments import Clusters, MeanKeywords, ReportKeywords
    from rageval_report.analysis.calibrate import CalibrateKeywords, Calibration
    from rageval_report.analysis.compare import CompareKeywords, Comparison
    from rageval_report.analysis.gate import GateResult
    from rageval_report.analysis.gate_figures import RunGateKeywords
    from rageval_report.analysis.objectives import ObjectiveMapping
    from rageval_report.analysis.report import EvaluationReport, HaystackReport, OutputFormat
    from rageval_report.analysis.rules import Rule
    from rageval_report.metrics.ranking_scores import DuplicateDocs
    from rageval_report.plots.kinds import Plot
    from rageval_report.plots.options import EvaluationPlot, MetricNames, PlotOptions
    from rageval_report.readers import ScoreFile
    from rageval_report.readers.base import Reader, ReaderOptions
    from rageval_report.readers.table_files import ScoreInput
    from rageval_report.reports.report import Report as ReportPage
    from rageval_report.results import Result
    from rageval_report.scale.scan import EvaluationScan
    from rageval_report.scale.tables import ScanSource
    from rageval_report.sources.base import FilesArgument
    from rageval_report.stats.means import PercentileMethod

    class LoadKeywords(ReaderOptions, total=False):
        """How files become evaluations; see `RAGPipelineEvaluation.load`."""

        query_id: str | None
        metrics: MetricsArgument
        correct: Correct | None
        duplicates: Duplicates | DuplicateDocs
        totals: Totals
        strict: bool
        roles: Roles | None
        allow: str | Iterable[str]


Created = datetime | date | str

# Keywords that reading takes too, and those that only make an evaluation.
OF_READING = ("query_id", "metrics", "duplicates", "roles", "totals")
OF_TABLES = ("correct", "strict", "allow")


_NAMELESS = "pipeline"
# What people type for a question, and the call that answers it.
_CALLS = {
    "aggregated": "aggregated_report() or evaluation_report()",
    "compare": "compare(baseline, candidate), from rageval_report",
    "describe": "evaluation_report()",
    "hist": "plot()",
    "mean": "get_aggregated_scores() or evaluation_report()",
    "means": "get_aggregated_scores() or evaluation_report()",
    "plot": 'plot("distribution"), plot("box") or plot("slices")',
    "rank": "rank(*runs), from rageval_report",
    "regressions": "compare(baseline, candidate).regressions(metric)",
    "summary": "evaluation_report()",
    "thresholds": "find_thresholds()",
}


class RAGPipelineEvaluation:
    """The per-query scores of one RAG pipeline.

    Parameters
    ----------
    name : str
        The name of the pipeline in reports; with the data alone it is "pipeline".
    data : DataFrame, dict of lists, or iterable of dicts
        One row per query: ids, metrics, and any other columns. Frames of polars, pyarrow and other
        libraries, dataclasses and pydantic models are accepted too; `load` reads files.
    query_id : str
        The column of ids. If it is missing, other usual names are tried, then the index of the
        frame, then the text of the question.
    metrics : iterable of str, or mapping, optional
        An iterable names the columns that are metrics. A mapping describes some metrics: its values
        are a `Metric`, a dict of its fields, "higher" or "lower".
    correct : str, (str, float), mapping of str to float, or callable, optional
        The rule for a correct answer: a metric, a metric and a threshold, thresholds that must all
        hold, a column of yes and no, or a function of the frame of rows. If omitted, the first of
        these that the rows have: a person's label, a metric of correctness, an exact match with
        short references. Reports say which it is.
    duplicates : {"error", "mean"}
        What to do if a query has several rows: raise an error, or average its scores.
    totals : {"auto", "drop", "keep"}
        What to do with rows whose ids name a total, such as "mean" or "all": leave them out if no
        query is likely to have such an id, leave them all out, or take them for queries.
    config : mapping, optional
        The configuration of the pipeline, such as ``{"top_k": 5, "model": "..."}``; run files keep
        it.
    created : datetime or str, optional
        When the pipeline was run, such as ``"2026-08-01T09:30:00+02:00"``; run files keep it.
    roles : mapping of str to str, optional
        What columns are, if their names and cells mislead: "id", "pipeline", "metric", "detail" or
        "weight" by column, such as ``{"gold_rank": "metric"}``. The attribute `roles` shows what
        was decided, and why.
    strict : bool
        Whether a doubt about the scores, such as a metric that is 0 for every query, is an error,
        and a score slightly outside the bounds of its metric; otherwise they are notes.
    allow : str or iterable of str
        The checks whose doubts are no error and only ordinary notes, such as "constant_metric".

    Examples
    --------
    >>> data = {
    ...     "query_id": ["q1", "q2", "q3", "q4"],
    ...     "reciprocal_rank": [0.378064, 0.534964, 0.216058, 0.778642],
    ...     "exact_match": [1, 0, 0, 0],
    ... }
    >>> evaluation = RAGPipelineEvaluation("hybrid", data)
    >>> evaluation
    RAGPipelineEvaluation('hybrid', 4 queries, 2 metrics)
    >>> evaluation.evaluation_report()["nr_correct_queries"]
    1
    >>> evaluation.name, evaluation.n_queries, len(evaluation.data), evaluation.details.shape
    ('hybrid', 4, 4, (4, 0))
    >>> evaluation.scores["exact_match"].tolist(), evaluation.metrics["exact_match"].kind
    ([1.0, 0.0, 0.0, 0.0], 'binary')
    >>> evaluation.roles.loc[0, ["column", "role"]].tolist(), evaluation.notes
    (['query_id', 'id'], ())
    >>> evaluation.config, evaluation.created, evaluation.saved_results, evaluation.correct_rule
    ({}, None, {}, None)
    >>> evaluation.correct.tolist(), evaluation.states.loc["q1", "exact_match"]
    ([True, False, False, False], 'scored')
    """

    def __init__(
        self,
        name: str | object,
        data: object = None,
        *,
        query_id: str = QUERY_ID,
        metrics: MetricsArgument = None,
        correct: Correct | None = None,
        duplicates: Duplicates = "error",
        totals: Totals = "auto",
        config: Mapping[str, Any] | None = None,
        created: Created | None = None,
        roles: Roles | None = None,
        strict: bool = False,
        allow: str | Iterable[str] = (),
    ):
        if data is None and not isinstance(name, str):
            name, data = _NAMELESS, name
        table = score_table(
            data,
            query_id=query_id,
            metrics=metrics,
            duplicates=duplicates,
            totals=totals,
            roles=roles,
            strict=strict,
        )
        table = _with_doubts(table, strict=strict, allow=allow)
        self._set_content(cast("str", name), table, correct, config, created)

    # -- reading

    @classmethod
    def load(
        cls,
        name: str | ScoreInput | None,
        path: ScoreInput | None = None,
        *,
        reader: str | Reader | None = None,
        pipeline: str | None = None,
        files: FilesArgument = "auto",
        **options: Unpack[LoadKeywords],
    ) -> Self:
        """Read the scores of one pipeline from a file, or score a ranking against judgments.

        Parameters
        ----------
        name : str or None
            The name of the pipeline; if None, the name in the file. With a path alone, the name is
            that in the file too, else the file's own.
        path : str, PathLike, bytes, open file, frame, mapping, or iterable
            Any readable file, gzipped or not; "-" is standard input. Or its contents, or a table
            in memory. Or a folder, a glob, a list of files, or an address, as for
            `rageval_report.read_scores`.
        reader : str, optional
            A name of the table ``rageval_report.readers.READERS``; if omitted, the format is
            recognised.
        pipeline : str, optional
            The pipeline to read, if the file holds several.
        query_id, correct, totals, roles
            As in the constructor.
        metrics, duplicates
            As in the constructor, or, for a ranking, as in `rageval_report.score_rankings`.
        strict : bool
            Whether a doubt about the scores is an error, and a score slightly outside the bounds of
            its metric; otherwise there is a note, and the score is moved to the bound.
        allow : str or iterable of str
            As in the constructor.
        files : {"auto", "parts", "evaluations"}
            How several files belong together, as for `rageval_report.read_scores`.
        **options
            The options of the reader, such as ``delimiter=``, or the judgments ``qrels=`` of a
            ranking; `ReaderOptions` has them all.

        Examples
        --------
        >>> rows = {"query_id": ["q1", "q2"], "recall@5": [1.0, 0.5]}
        >>> RAGPipelineEvaluation.load("hybrid", rows)
        RAGPipelineEvaluation('hybrid', 2 queries, 1 metrics)
        """
        from rageval_report.readers import pick_pipeline

        if path is None:
            name, path = None, cast("ScoreInput", name)
        score_files, own = _read_files(path, reader, files, options)
        file = pick_pipeline(score_files, pipeline, path)
        return cls.from_score_file(None if name is None else str(name), file, path, **own)

    @classmethod
    def from_score_file(
        cls,
        name: str | None,
        file: ScoreFile,
        path: ScoreInput,
        *,
        query_id: str | None = None,
        metrics: MetricsArgument = None,
        correct: Correct | None = None,
        duplicates: Duplicates = "error",
        totals: Totals = "auto",
        strict: bool = False,
        roles: Roles | None = None,
        allow: str | Iterable[str] = (),
    ) -> Self:
        """The evaluation of one pipeline of a file that a reader has read.

        Parameters
        ----------
        name : str or None
            The name of the pipeline; if None, the name in the file.
        file : ScoreFile
            The rows of the pipeline.
        path : str or Path
            The file, for error messages.
        query_id, metrics, correct, duplicates, strict, allow, totals, roles
            As in `load`.

        Examples
        --------
        >>> from rageval_report.readers import ScoreFile
        >>> frame = pd.DataFrame({"query_id": ["q1", "q2"], "recall@5": [1.0, 0.5]})
        >>> file = ScoreFile(frame, "hybrid")
        >>> RAGPipelineEvaluation.from_score_file(None, file, "scores.csv")
        RAGPipelineEvaluation('hybrid', 2 queries, 1 metrics)
        """
        from rageval_report.readers import reason_to_refuse

        try:
            table = score_table(
                file.frame,
                query_id=query_id or QUERY_ID,
                metrics=_names_in_dialect(metrics, file),
                duplicates=duplicates,
                known=file.metrics,
                only=file.metric_columns,
                # The file may lack a column that another pipeline of it has.
                roles={
                    column: role for column, role in (roles or {}).items() if column in file.frame
                },
                pipeline_columns=file.pipeline_columns,
                pipeline_confidence=file.pipeline_confidence,
                is_one_pipeline=True,
                unreadable="failed",
                strict=strict,
                totals=file.totals if totals == "auto" else totals,
                place=file.place,
            )
        except DataError as exc:
            where = file.origin or input_name(path)
            reason = reason_to_refuse(exc, file.source)
            raise ReaderError(reason, where) from exc
        table = table.with_detail_names(file.detail_names).with_notes(*file.notes)
        where = file.origin or input_name(path)
        table = _with_doubts(table, strict=strict, allow=allow, where=f"{where}: ")
        evaluation = cls.from_table(
            name or file.pipeline, table, correct=correct, config=file.config, created=file.created
        )
        if correct is None:
            evaluation = evaluation._with_rule(file.correct)
        # Another rule for a correct answer gives other numbers.
        if evaluation._correct == file.correct:
            evaluation._saved_results = dict(file.results)
        return evaluation

    @classmethod
    def scan(
        cls,
        source: ScanSource,
        *,
        name: str | None = None,
        engine: str = "auto",
        query_id: str | None = None,
        metrics: MetricsArgument = None,
        correct: Correct | None = None,
        roles: Roles | None = None,
        strict: bool = False,
        allow: str | Iterable[str] = (),
        memory_limit: str | None = None,
    ) -> EvaluationScan:
        r"""The scores of one pipeline beyond memory: the same methods, counted by an engine.

        Parameters
        ----------
        source : str, PathLike, list of these, or a lazy frame
            Parquet, CSV or JSON-lines files, a folder, a glob, or a list of these; a folder of
            partitions ``key=value``. Or a lazy frame: a relation of DuckDB, a LazyFrame of Polars,
            a frame of Dask or Spark, a table of Ibis, such as one of a database or a warehouse.
        name : str, optional
            The name of the pipeline; if omitted, that of the file or of its folder.
        engine : {"auto", "duckdb", "dask", "spark"}
            What opens files; "auto" is DuckDB, the others open Parquet files. A lazy frame has its
            own engine.
        query_id, metrics, correct, roles, strict, allow
            As in the constructor.
        memory_limit : str, optional
            The memory that DuckDB may use before it writes to disk, such as "2GB"; 1 GB if omitted.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for part in (1, 2):
        ...         rows = f"query_id,recall\nq{part},0.5\nq{part + 2},1.0\n"
        ...         _ = Path(folder, f"part-{part}.csv").write_text(rows)
        ...     scan = RAGPipelineEvaluation.scan(f"{folder}/*.csv", name="hybrid")
        ...     report = scan.evaluation_report()
        >>> report["Recall"], report.settings["engine"]
        (0.75, 'duckdb')
        """
        from rageval_report.scale.scan import EvaluationScan
        from rageval_report.scale.tables import RowReader, open_frame

        opened = open_frame(source, engine, memory_limit)
        options = {
            "query_id": query_id,
            "metrics": metrics,
            "correct": correct,
            "roles": roles,
            "strict": strict,
            "allow": allow,
        }
        named = replace(opened, name=name or opened.name)
        return EvaluationScan(RowReader(named, cls.load, options))

    def _with_rule(self, correct: Correct | None) -> Self:
        """The same evaluation with the rule of a file, if its metrics were read."""
        try:
            return self.with_correct(correct)
        except RagevalError:
            return self.with_notes(
                f"the rule for a correct answer in the file, {correct!r}, needs columns that were "
                "not read; pass correct=..."
            )

    @classmethod
    def from_table(
        cls,
        name: str,
        table: ScoreTable,
        *,
        correct: Correct | None = None,
        config: Mapping[str, Any] | None = None,
        created: Created | None = None,
    ) -> Self:
        """The evaluation of a table of scores that has been checked.

        Parameters
        ----------
        name : str
            The name of the pipeline.
        table : ScoreTable
            A table that ``rageval_report.scores.score_table`` returned.
        correct, config, created
            As in the constructor.

        Examples
        --------
        >>> table = score_table({"query_id": ["q1", "q2"], "recall@5": [1.0, 0.5]})
        >>> RAGPipelineEvaluation.from_table("hybrid", table)
        RAGPipelineEvaluation('hybrid', 2 queries, 1 metrics)
        """
        # Not by the constructor, which would read and check the rows again.
        evaluation = cls.__new__(cls)
        evaluation._set_content(name, table, correct, config, created)
        return evaluation

    def _set_content(
        self,
        name: str,
        table: ScoreTable,
        correct: Correct | None,
        config: Mapping[str, Any] | None,
        created: Created | None,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise DataError(f"name must be a text such as 'baseline'; got {name!r}")
        if config is not None and not isinstance(config, Mapping):
            raise DataError(f"config must be a mapping of settings; got {config!r:.60}")
        self._name = name
        self._correct = correct
        self._table = table
        self._config = dict(config or {})
        self._created = None if created is None else time_of(created)
        self._saved_results: dict[str, JsonObject] = {}
        if correct is not None:
            correctness(self, correct)  # a rule that makes no sense raises now, not in a report

    # -- content

    @property
    def name(self) -> str:
        """The name of the pipeline."""
        return self._name

    @property
    def data(self) -> pd.DataFrame:
        """The rows as they were passed or read."""
        return self._table.data

    @property
    def scores(self) -> pd.DataFrame:
        """One row per query (index ``query_id``), one float64 column per metric; NaN: unscored."""
        return self._table.scores

    @property
    def details(self) -> pd.DataFrame:
        """All other columns, on the same index."""
        return self._table.details

    @property
    def metrics(self) -> dict[str, Metric]:
        """The description of each metric, in the order of the columns."""
        # A copy, because an evaluation does not change.
        return dict(self._table.metrics)

    @property
    def notes(self) -> tuple[str, ...]:
        """Guesses and corrections that were made when the rows were read."""
        return self._table.notes

    @property
    def roles(self) -> pd.DataFrame:
        """What each column was taken for: ``column``, ``role``, ``confidence`` and ``why``."""
        return roles_frame(self._table.roles)

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the pipeline, if known."""
        return dict(self._config)

    @property
    def saved_results(self) -> dict[str, JsonObject]:
        """The tables of the run that its file holds beside the scores, such as costs, as JSON.

        `save` writes them again. They are those of the run as it was: `with_correct` drops them,
        because another rule gives other numbers.
        """
        return dict(self._saved_results)

    @property
    def created(self) -> datetime | None:
        """When the pipeline was run, if known."""
        return self._created

    @property
    def states(self) -> pd.DataFrame:
        """The state of each score: "scored", "failed", "not applicable" or "missing"."""
        return states_frame(self.scores, self.details)

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self._table.scores)

    @property
    def correct(self) -> pd.Series:
        """Whether each query was answered correctly; NA if that is not known."""
        return correctness(self)

    @property
    def correct_rule(self) -> Correct | None:
        """The rule for a correct answer that was passed; None if reports choose it."""
        return self._correct

    def __len__(self) -> int:
        return self.n_queries

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {self.n_queries} queries, "
            f"{len(self.metrics)} metrics)"
        )

    def __str__(self) -> str:
        return str(self.evaluation_report())

    def _repr_html_(self) -> str:
        return self.evaluation_report().to_html()

    if not TYPE_CHECKING:  # a checker shall find wrong names by itself

        def __getattr__(self, name: str) -> Any:
            """The error for a wrong name, with the call that was probably meant."""
            if name.startswith("_"):
                raise AttributeError(name)
            call = _CALLS.get(name, _CALLS.get(name.partition("_")[0], ""))
            hint = f". Write {call}" if call else did_you_mean(name, dir(self))
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}")

    def with_notes(self, *notes: str) -> Self:
        """The same evaluation with more notes for its reports.

        Examples
        --------
        >>> evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ["q1"], "recall@5": [1.0]})
        >>> evaluation.with_notes("run on the old index").notes
        ('run on the old index',)
        """
        return self._replace(self.name, self._table.with_notes(*notes))

    def with_name(self, name: str) -> Self:
        """The same evaluation under another name.

        Examples
        --------
        >>> evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ["q1"], "recall@5": [1.0]})
        >>> evaluation.with_name("hybrid v2").name
        'hybrid v2'
        """
        return self._replace(name, self._table)

    def with_correct(self, correct: Correct | None) -> Self:
        """The same evaluation with another rule for a correct answer.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2"], "faithfulness": [0.9, 0.6]}
        >>> evaluation = RAGPipelineEvaluation("hybrid", data)
        >>> evaluation.with_correct(("faithfulness", 0.8)).correct.tolist()
        [True, False]
        """
        return self.from_table(
            self.name, self._table, correct=correct, config=self._config, created=self._created
        )

    def _replace(self, name: str, table: ScoreTable) -> Self:
        evaluation = self.from_table(
            name, table, correct=self._correct, config=self._config, created=self._created
        )
        evaluation._saved_results = self._saved_results
        return evaluation

    # -- one pipeline

    def evaluation_report(
        self,
        *,
        metrics: str | Iterable[str] | None = None,
        clusters: Clusters | None = None,
        **settings: Unpack[MeanKeywords],
    ) -> EvaluationReport:
        """The report: a full table when printed, a mapping of titles to means in code.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The metrics, by any of their names; if omitted, all.
        percentiles : sequence of float
            Between 0 and 100.
        interval : str
            A name of the table ``rageval_report.stats.INTERVALS``; "auto" chooses by the kind of
            the metric.
        confidence_level : float
            Between 0 and 1.
        n_resamples : int
            The number of resamples, for intervals that need them.
        seed : int
            The seed of the random numbers, for intervals that need them.
        clusters : str, Series or mapping, optional
            Queries that belong together and are not independent: the name of a details column or a
            cluster label by query id. The intervals of the means then count clusters.

        Examples
        --------
        >>> data = {"query_id": [1, 2, 3], "recall@5": [1.0, 0.5, 0.0], "exact_match": [1, 0, 0]}
        >>> report = RAGPipelineEvaluation("hybrid", data).evaluation_report()
        >>> report["Recall@5"], report["nr_correct_queries"]
        (0.5, 1)
        >>> report.frame[["metric", "n", "mean", "ci_low", "ci_high"]].round(3)
                metric  n   mean  ci_low  ci_high
        0     recall@5  3  0.500   0.067    0.933
        1  exact_match  3  0.333   0.008    0.906
        """
        from rageval_report.analysis.report import evaluation_report

        report = evaluation_report(
            self, self._correct, metrics=metrics, clusters=clusters, **settings
        )
        counted = count_roles(self._table.roles)
        return report.with_notes(*self.notes, *([counted] if counted else []))

    classification_report = evaluation_report

    @overload
    def get_aggregated_scores(self, metric: None = None) -> pd.Series: ...

    @overload
    def get_aggregated_scores(self, metric: str) -> float: ...

    def get_aggregated_scores(self, metric: str | None = None) -> float | pd.Series:
        """The mean of one metric, or of all.

        Parameters
        ----------
        metric : str, optional
            A metric, by any of its names; if omitted, all.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2", "q3"], "recall@5": [1.0, 0.5, None]}
        >>> RAGPipelineEvaluation("hybrid", data).get_aggregated_scores("recall@5")
        0.75
        """
        from rageval_report.analysis.report import aggregated_scores

        means = aggregated_scores(self)
        return means if metric is None else float(means[resolver(self.metrics)(metric)])

    def get_detailed_scores(
        self, metric: str | Iterable[str] | None = None, query_ids: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """The scores query by query.

        Parameters
        ----------
        metric : str or iterable of str, optional
            The metrics, by any of their names; if omitted, all.
        query_ids : sequence of str, optional
            The queries, in this order; if omitted, all.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2", "q3"], "recall@5": [1.0, 0.5, 0.0]}
        >>> scores = RAGPipelineEvaluation("hybrid", data).get_detailed_scores("recall@5", ["q3"])
        >>> scores.loc["q3"].to_dict()
        {'recall@5': 0.0}
        """
        resolve = resolver(self.metrics)
        names = [metric] if isinstance(metric, str) else metric
        columns = list(self.metrics) if names is None else [resolve(name) for name in names]
        if query_ids is None:
            return self.scores[columns].copy()
        ids = [query_ids] if isinstance(query_ids, str) else [str(query) for query in query_ids]
        unknown = [query for query in ids if query not in self.scores.index]
        if unknown:
            raise DataError(f"query_ids: {self.name!r} has no query {named(unknown)}")
        return self.scores.loc[ids, columns]

    def find_thresholds(
        self,
        metrics: str | Iterable[str] | None = None,
        percentiles: Sequence[float] = (25, 50, 75),
        method: PercentileMethod | None = None,
    ) -> Result:
        """The percentiles and the mean of each metric: columns ``p25``, ``p50``, ``p75``, ``mean``.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            The metrics, by any of their names; if omitted, all.
        percentiles : sequence of float
            Between 0 and 100.
        method : {"linear", "exclusive", "upper"}, optional
            The method of NumPy, the default of the ``statistics`` module, or that of ragbench; if
            omitted, that of the evaluation's dialect, or "linear".

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2", "q3"], "recall@5": [1.0, 0.5, 0.0]}
        >>> table = RAGPipelineEvaluation("hybrid", data).find_thresholds().frame
        >>> table[["metric", "p25", "p50", "mean"]]
             metric   p25  p50  mean
        0  recall@5  0.25  0.5   0.5
        """
        from rageval_report.analysis.report import find_thresholds

        return find_thresholds(self, metrics, percentiles, method)

    def get_scores_below_threshold(
        self, metric: str, threshold: float | str, *, method: PercentileMethod | None = None
    ) -> pd.DataFrame:
        """The queries strictly below a threshold, worst first; unscored queries are never below.

        Parameters
        ----------
        metric : str
            A metric, by any of its names.
        threshold : float, or a text such as "p25", "median" or "mean"
            A number, or a statistic of the scores.
        method : {"linear", "exclusive", "upper"}, optional
            The rule of percentiles, as in `find_thresholds`.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2", "q3"], "recall@5": [1.0, 0.5, 0.0]}
        >>> low = RAGPipelineEvaluation("hybrid", data).get_scores_below_threshold("recall@5", 0.6)
        >>> low["recall@5"].to_dict()
        {'q3': 0.0, 'q2': 0.5}
        """
        from rageval_report.analysis.report import below_threshold

        return below_threshold(self, metric, threshold, method)

    def failures(
        self,
        metric: str,
        threshold: float | str,
        *,
        cause: str | None = None,
        k: int = 5,
        method: PercentileMethod | None = None,
        query_ids: Iterable[str] | None = None,
    ) -> Result:
        """The queries on the wrong side of a threshold, by the metric's direction, worst first.

        Parameters
        ----------
        metric : str
            A metric, by any of its names.
        threshold : float, or a text such as "p25", "median" or "mean"
            A number, or a statistic of the scores.
        cause : str, optional
            Only the queries that fail for this cause; see `breakdown`.
        k : int
            The number of results that the answer was made from, if `cause` is set.
        method : {"linear", "exclusive", "upper"}, optional
            The rule of percentiles, as in `find_thresholds`.
        query_ids : iterable of str, optional
            Only these queries; the threshold is computed from all.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2", "q3"], "latency_ms": [120.0, 950.0, 80.0]}
        >>> RAGPipelineEvaluation("hybrid", data).failures("latency_ms", 500).frame.index.tolist()
        ['q2']
        """
        from rageval_report.analysis.breakdown import check_cause, failure_causes
        from rageval_report.analysis.report import failures

        notes = []
        only = pd.Series(True, index=self.scores.index)
        if cause is not None:
            only &= failure_causes(self, k=k, correct=self._correct) == check_cause(cause)
            notes.append(f"only failures of {cause}")
        if query_ids is not None:
            ids = check_known_ids(query_ids, set(self.scores.index))
            only &= only.index.isin(ids)
            notes.append(f"only {len(ids)} named {'query' if len(ids) == 1 else 'queries'}")
        return failures(self, metric, threshold, only, method).with_notes(*notes)

    def breakdown(self, *, k: int = 5, confidence_level: float = 0.95) -> Result:
        """The number of queries that fail because of retrieval, ranking, generation, and so on.

        Parameters
        ----------
        k : int
            The number of results that the answer was made from; needs ``hit@k`` or ``recall@k``.
        confidence_level : float
            Between 0 and 1.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2", "q3"], "hit@5": [1, 1, 0], "exact_match": [1, 0, 0]}
        >>> table = RAGPipelineEvaluation("hybrid", data).breakdown().frame
        >>> table.loc[table["n"] > 0, ["cause", "n"]].values.tolist()
        [['fine', 1], ['retrieval', 1], ['generation', 1]]
        """
        from rageval_report.analysis.breakdown import breakdown

        return breakdown(self, k=k, correct=self._correct, confidence_level=confidence_level)

    def retrieval_by_generation(self, *, k: int = 5) -> Result:
        """A cross table: retrieval passed or failed, and the answer right or wrong.

        Parameters
        ----------
        k : int
            The number of results that the answer was made from; needs ``hit@k`` or ``recall@k``.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2", "q3"], "hit@5": [1, 1, 0], "exact_match": [1, 0, 0]}
        >>> table = RAGPipelineEvaluation("hybrid", data).retrieval_by_generation().frame
        >>> table["correct"].tolist(), table["incorrect"].tolist()
        ([1, 0], [1, 1])
        """
        from rageval_report.analysis.breakdown import retrieval_by_generation

        return retrieval_by_generation(self, k=k, correct=self._correct)

    def slices(
        self,
        by: str,
        metrics: str | Iterable[str] | None = None,
        *,
        clusters: Clusters | None = None,
        **settings: Unpack[MeanKeywords],
    ) -> Result:
        """The report for each group of queries.

        Parameters
        ----------
        by : str
            The column of the details that holds the groups.
        metrics : str or iterable of str, optional
            The metrics, by any of their names; if omitted, all.
        percentiles, interval, confidence_level, n_resamples, seed, clusters
            As in `evaluation_report`.

        Examples
        --------
        >>> data = {"query_id": [1, 2, 3], "recall@5": [1.0, 0.5, 0.0], "topic": ["a", "a", "b"]}
        >>> RAGPipelineEvaluation("hybrid", data).slices("topic").frame[["topic", "n", "mean"]]
          topic  n  mean
        0     a  2  0.75
        1     b  1  0.00
        """
        from rageval_report.analysis.slices import slice_summary

        return slice_summary(self, by, metrics, clusters=clusters, **settings)

    def gate(self, *rules: str | Rule, **settings: Unpack[RunGateKeywords]) -> GateResult:
        """Test the pipeline against rules; ``.passed`` says whether all hold, ``.check()`` raises.

        Parameters
        ----------
        *rules : str
            Such as "ci_low(recall@5) >= 0.7" or "share_below(faithfulness, 0.5) <= 5%";
            `rageval_report.analysis.gate.gate` has the list of figures.
        missing : {"drop", "worst"}
            What to do with unscored queries: leave them out, or give them the worst score.
        confidence_level, n_resamples, seed
            As in `evaluation_report`.
        correct : as in the constructor, optional
            If omitted, the rule of this evaluation.
        clusters : str, Series or mapping, optional
            A detail column, or labels by query id: queries with the same label are not independent.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2", "q3"], "recall@5": [1.0, 0.5, 0.9]}
        >>> result = RAGPipelineEvaluation("hybrid", data).gate("mean(recall@5) >= 0.7")
        >>> result.passed
        True
        """
        from rageval_report.analysis.gate import gate

        if settings.get("correct") is None:
            settings["correct"] = self._correct
        return gate(self, *rules, **settings)

    def weighted(
        self, weights: Mapping[str, float] | None = None, objectives: ObjectiveMapping | None = None
    ) -> Result:
        """The weighted score of this pipeline, and the part of each objective in it.

        Parameters
        ----------
        weights : mapping of str to float, optional
            By objective, or by metric; the default ones if omitted.
        objectives : mapping, optional
            What each objective is made of, as for `rageval_report.rank`.

        Returns
        -------
        Result
            A row for the whole, with its interval, and one per objective: ``objective``,
            ``weight``, ``effective_weight``, ``value``, ``contribution``, ``made_of``, ``ci_low``,
            ``ci_high``.

        Examples
        --------
        >>> rows = {"query_id": ["a", "b"], "faithfulness": [1.0, 0.5], "recall@5": [0.5, 0.0]}
        >>> result = RAGPipelineEvaluation("rag", rows).weighted({"faithfulness": 3, "recall@5": 1})
        >>> float(result.frame["value"].iloc[0])
        0.625
        """
        from rageval_report.analysis.weighted import weighted_score

        return weighted_score(self, weights, objectives)

    def calibrate(
        self,
        metric: str,
        people: People,
        label: LabelColumns = None,
        **options: Unpack[CalibrateKeywords],
    ) -> Calibration:
        """Compare a judge with people who labelled some of the queries.

        Parameters
        ----------
        metric : str
            The judged metric, by any of its names.
        people : RAGPipelineEvaluation, Series, DataFrame, or mapping
            The labels by query id.
        label, scale, threshold, label_bounds, errors
            As in `rageval_report.calibrate`.
        correct : as in the constructor, optional
            If omitted, the rule of this evaluation.
        confidence_level, n_resamples, seed
            As in `evaluation_report`.

        Examples
        --------
        >>> data = {"query_id": list("abcdef"), "ok": [1, 0, 1, 1, 0, 1]}
        >>> judged = RAGPipelineEvaluation("rag", data)
        >>> people = {"a": 1, "b": 0, "c": 0, "d": 1}
        >>> judged.calibrate("ok", people).frame.loc[:1, ["figure", "estimate"]].round(3)
                      figure  estimate
        0  percent agreement      0.75
        1      Cohen's kappa      0.50
        """
        from rageval_report.analysis.calibrate import calibrate

        if options.get("correct") is None:
            options["correct"] = self._correct
        return calibrate(self, metric, people, label, **options)

    # -- two pipelines

    def comparative_summary(
        self, other: RAGPipelineEvaluation, **options: Unpack[CompareKeywords]
    ) -> Comparison:
        """Compare this evaluation, the baseline, with another one, the candidate.

        Parameters
        ----------
        other : RAGPipelineEvaluation
            The candidate.
        metrics, test, correction, confidence_level, missing, clusters, seed
            As in `rageval_report.compare`.
        margin, margin_method, n_resamples, on, tried
            As in `rageval_report.compare`.

        Examples
        --------
        >>> ids = list("abcdefgh")
        >>> old = RAGPipelineEvaluation("old", {"query_id": ids, "recall@5": [0] * 6 + [1] * 2})
        >>> new = RAGPipelineEvaluation("new", {"query_id": ids, "recall@5": [1] * 8})
        >>> old.comparative_summary(new).summary
        'new is better than old on 1 of 1 metric; no metric is clearly worse.'
        """
        from rageval_report.analysis.compare import compare

        return compare(self, other, **options)

    def comparative_detailed_summary(
        self, other: RAGPipelineEvaluation, correct: Correct | None = None, *, on: str | None = None
    ) -> pd.DataFrame:
        """The query ids that both, neither, or only one of two pipelines answers correctly.

        Parameters
        ----------
        other : RAGPipelineEvaluation
            The other pipeline, paired by query id.
        correct : as in the constructor, optional
            If omitted, the rule of each evaluation, else the same column of both.
        on : str, optional
            A column of texts, such as "question", that matches the queries if the ids differ.

        Returns
        -------
        DataFrame
            ``both_correct``, ``both_incorrect``, ``only_{name}_correct``,
            ``only_{other}_correct``, padded with None; if there are such queries also
            ``unscored``, ``only_in_{name}``, ``only_in_{other}``.

        Examples
        --------
        >>> old = RAGPipelineEvaluation("old", {"query_id": ["a", "b"], "exact_match": [1, 0]})
        >>> new = RAGPipelineEvaluation("new", {"query_id": ["a", "b"], "exact_match": [1, 1]})
        >>> table = old.comparative_detailed_summary(new)
        >>> table[["both_correct", "only_new_correct"]].iloc[0].tolist()
        ['a', 'b']
        """
        from rageval_report.analysis.breakdown import outcome_table

        return outcome_table(self, other, correct, on=on)

    # -- the later names of Haystack

    def aggregated_report(
        self, output_format: OutputFormat = "json", csv_file: str | Path | None = None
    ) -> HaystackReport:
        """The means, as ``{"metrics": [...], "score": [...]}``, CSV text or frame.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2"], "recall@5": [1.0, 0.5]}
        >>> RAGPipelineEvaluation("hybrid", data).aggregated_report()
        {'metrics': ['recall@5'], 'score': [0.75]}
        """
        from rageval_report.analysis.report import aggregated_report

        return aggregated_report(self, output_format, csv_file)

    def detailed_report(
        self, output_format: OutputFormat = "json", csv_file: str | Path | None = None
    ) -> HaystackReport:
        """One row per query, as dict of lists, CSV text or frame.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2"], "recall@5": [1.0, 0.5]}
        >>> RAGPipelineEvaluation("hybrid", data).detailed_report()
        {'query_id': ['q1', 'q2'], 'recall@5': [1.0, 0.5]}
        """
        from rageval_report.analysis.report import detailed_report

        return detailed_report(self, output_format, csv_file)

    def comparative_detailed_report(
        self,
        other: RAGPipelineEvaluation,
        keep_columns: Iterable[str] | None = None,
        output_format: OutputFormat = "json",
        csv_file: str | Path | None = None,
    ) -> HaystackReport:
        """Two evaluations paired by query id, with their metrics as ``{name}_{metric}``.

        Examples
        --------
        >>> old = RAGPipelineEvaluation("old", {"query_id": ["a", "b"], "recall@5": [1.0, 0.5]})
        >>> new = RAGPipelineEvaluation("new", {"query_id": ["a", "b"], "recall@5": [1.0, 1.0]})
        >>> old.comparative_detailed_report(new)
        {'query_id': ['a', 'b'], 'old_recall@5': [1.0, 0.5], 'new_recall@5': [1.0, 1.0]}
        """
        from rageval_report.analysis.report import comparative_detailed_report

        return comparative_detailed_report(self, other, keep_columns, output_format, csv_file)

    # -- pictures and files

    def report(
        self,
        *,
        metrics: str | Iterable[str] | None = None,
        clusters: Clusters | None = None,
        **options: Unpack[ReportKeywords],
    ) -> ReportPage:
        """The report page: verdicts, tables, pictures, slices, and every query in one file.

        Parameters
        ----------
        title : str, optional
            The title of the page.
        by : str or iterable of str, optional
            The columns of the details to slice by; if omitted, they are chosen.
        correct : as in the constructor, optional
            If omitted, the rule of this evaluation.
        k : int, optional
            The number of results that the answer was made from; if omitted, it is taken from the
            metrics.
        pictures : bool
            Whether the page has pictures.
        longest_text : int, optional
            The number of characters after which texts are cut; if omitted, they are not.
        metrics, percentiles, interval, confidence_level, n_resamples, seed, clusters
            As in `evaluation_report`.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2", "q3"], "recall@5": [1.0, 0.5, 0.0]}
        >>> RAGPipelineEvaluation("hybrid", data).report(pictures=False)
        Report('Evaluation of hybrid', 1 verdicts, 2 sections, 3 queries)
        """
        from rageval_report.reports import report_evaluation

        if options.get("correct") is None:
            options["correct"] = self._correct
        return report_evaluation(self, metrics=metrics, clusters=clusters, **options)

    @overload
    def plot(
        self,
        kind: EvaluationPlot = "distribution",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes: ...

    @overload
    def plot(
        self, kind: Plot, *args: MetricNames, ax: Axes | None = None, **options: object
    ) -> Axes: ...

    def plot(
        self,
        kind: str | Plot = "distribution",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: object,
    ) -> Axes:
        """Draw the evaluation; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str or Plot
            A name of the table ``rageval_report.plots.PLOTS``, or an entry of it.
        *args : str or iterable of str
            The metrics, in the order in which the plot takes them.
        ax : Axes, optional
            The Axes to draw on; if omitted, those of a new figure.
        **options
            The options of the plot, such as ``threshold=``; `PlotOptions` has them all.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> data = {"query_id": ["q1", "q2", "q3"], "recall@5": [1.0, 0.5, 0.0]}
        >>> ax = RAGPipelineEvaluation("hybrid", data).plot("distribution", ax=Figure().subplots())
        >>> ax.get_title()
        'Recall@5 — hybrid'
        """
        from rageval_report.plots import plot_named

        return plot_named(kind)(self, *args, ax=ax, **options)

    def to_frame(self) -> pd.DataFrame:
        """One row per query: ids, details and metrics.

        Examples
        --------
        >>> data = {"query_id": ["q1", "q2"], "recall@5": [1.0, 0.5]}
        >>> RAGPipelineEvaluation("hybrid", data).to_frame()
          query_id  recall@5
        0       q1       1.0
        1       q2       0.5
        """
        from rageval_report.scores.write import score_rows

        return score_rows(self)

    def save(
        self,
        path: str | Path,
        *,
        created: Created | None = None,
        force: bool = True,
    ) -> Path:
        """Write one row per query to a file, whose suffix chooses the format.

        .csv, .tsv, .jsonl and .parquet are tables, and .json is a run file. All of them read back
        as the same evaluation, because a description of the columns is written as well: for a .csv
        or .tsv into a second file, which ends in ".meta.json" and belongs beside the first.

        Parameters
        ----------
        path : str or Path
            The file, whose folder is created if needed.
        created : datetime or str, optional
            When the pipeline was run; if omitted, as this evaluation has it. A history of runs is
            ordered by it.
        force : bool
            Whether an existing file is replaced, as pandas does; False keeps it.

        Examples
        --------
        >>> import tempfile
        >>> evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ["q1"], "recall@5": [1.0]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = evaluation.save(Path(folder, "hybrid.json"))
        ...     RAGPipelineEvaluation.load(None, path)
        RAGPipelineEvaluation('hybrid', 1 queries, 1 metrics)
        """
        from rageval_report.scores.write import save_scores
        from rageval_report.sources.files import address_of

        address = address_of(path)
        if address is not None:
            raise address.error("scores are read from an address, but saved to a file")
        return save_scores(
            *(self, path),
            config=self._config,
            notes=tuple(self.notes),
            created=self._created if created is None else time_of(created),
            correct=self._correct,
            results=self._saved_results,
            force=force,
        )


def _names_in_dialect(metrics: MetricsArgument, file: ScoreFile) -> MetricsArgument:
    """The metrics that the caller named, by the names that the dialect of the file gives them."""
    dialect = recorded_dialect(file)
    if dialect is None or metrics is None:
        return metrics

    def rename(name: str) -> str:
        metric = dialect.find(name)
        return name if metric is None or metric.name not in file.frame else metric.name

    if isinstance(metrics, str):
        return rename(metrics)
    if isinstance(metrics, Mapping):
        return {rename(str(name)): override for name, override in metrics.items()}
    return [rename(name) for name in metrics]


def _read_files(
    path: ScoreInput, reader: str | Reader | None, files: FilesArgument, options: LoadKeywords
) -> tuple[list[ScoreFile], dict[str, Any]]:
    """The files of scores, and the keywords that make evaluations of them."""
    from rageval_report.sources.reading import read

    passed: dict[str, Any] = dict(options)
    own = {name: passed.pop(name) for name in (*OF_READING, *OF_TABLES) if name in passed}
    known = {name: own[name] for name in OF_READING if name in own}
    own["duplicates"] = rule_of_rows(own.get("duplicates", "error"))
    return read(path, files=files, reader=reader, **known, **passed), own


def rule_of_rows(duplicates: Duplicates | DuplicateDocs) -> Duplicates:
    """What to do with two rows of a query; a ranking, once scored, has one row per query."""
    return "mean" if duplicates == "mean" else "error"


def _with_doubts(
    table: ScoreTable, *, strict: bool, allow: str | Iterable[str], where: str = ""
) -> ScoreTable:
    """The table with the doubts about its scores before its other notes."""
    doubts = doubts_about_scores(table.scores, table.metrics)
    notes = notes_with_doubts(table.notes, doubts, strict=strict, allow=allow, where=where)
    return replace(table, notes=notes)


def read_scores(
    path: ScoreInput,
    *,
    reader: str | Reader | None = None,
    pipeline: str | None = None,
    files: FilesArgument = "auto",
    **options: Unpack[LoadKeywords],
) -> dict[str, RAGPipelineEvaluation]:
    r"""Read every pipeline of a file, a folder or an address, or score a ranking.

    Parameters
    ----------
    path : str, PathLike, bytes, open file, frame, mapping, or iterable
        Any readable file, gzipped or not; "-" is standard input. Or a folder, a glob such as
        ``"runs/*.csv"``, or a list of files. Or an address of the table
        ``rageval_report.sources.SOURCES``, such as ``"sqlite:///scores.db?table=scores"``. Or the
        contents of a file, or a table in memory: dicts and lists of dicts are read as JSON
        documents of the same content would be. A pipeline whose name the input does not state is
        named "pipeline".
    reader : str, optional
        A name of the table ``rageval_report.readers.READERS``; if omitted, the format is
        recognised.
    pipeline : str, optional
        Only this pipeline.
    query_id, correct, totals, roles
        As for `RAGPipelineEvaluation`.
    metrics, duplicates
        As for `RAGPipelineEvaluation`, or, for a ranking, as for `rageval_report.score_rankings`;
        a ranking has usual metrics if they are omitted, and a note names them.
    strict : bool
        Whether a doubt about the scores is an error, and a score slightly outside the bounds of its
        metric.
    allow : str or iterable of str
        As for `RAGPipelineEvaluation`.
    files : {"auto", "parts", "evaluations"}
        How several files belong together: "parts" of one table are put together, "evaluations" are
        one per file. "auto" looks at the query ids: if none is in two files, they are parts; if at
        least half of them are, they are evaluations. A note says which it is.
    **options
        The options of the reader, such as ``delimiter=``, or the judgments ``qrels=`` of a ranking;
        `ReaderOptions` has them all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bm25.run"
    ...     _ = path.write_text("q1 Q0 d7 1 0.9 t\nq1 Q0 d8 2 0.5 t\n")
    ...     runs = read_scores(path, qrels={"q1": {"d8": 1}}, metrics=["mrr", "recall@5"])
    >>> runs["bm25"].scores.loc["q1"].to_dict()
    {'mrr': 0.5, 'recall@5': 1.0}
    """
    from rageval_report.readers import pick_pipeline

    score_files, own = _read_files(path, reader, files, options)
    if pipeline is not None:
        score_files = [pick_pipeline(score_files, pipeline, path)]
    evaluation_of = RAGPipelineEvaluation.from_score_file
    return {file.pipeline: evaluation_of(None, file, path, **own) for file in score_files}

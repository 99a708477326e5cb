"""`RAGPipelineEvaluation`: a pipeline's name, its per-query scores, what can be asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Self

import pandas as pd

from rageval_report._registry import load
from rageval_report.analysis.agreement.calibration import Calibration, calibrate
from rageval_report.analysis.breakdown import (
    breakdown,
    check_cause,
    failure_causes,
    retrieval_by_generation,
)
from rageval_report.analysis.comparing.answer_outcomes import outcome_table
from rageval_report.analysis.comparing.comparison import Comparison, compare
from rageval_report.analysis.gates.gate import gate
from rageval_report.analysis.gates.grammar import Rule
from rageval_report.analysis.gates.result import GateResult
from rageval_report.analysis.haystack_reports import (
    OutputFormat,
    Report,
    aggregated_report,
    comparative_detailed_report,
    detailed_report,
)
from rageval_report.analysis.slices import slice_summary
from rageval_report.analysis.summary import EvaluationReport, aggregated_scores, evaluation_report
from rageval_report.analysis.thresholds import below_threshold, failures, find_thresholds
from rageval_report.errors import DataError, ReaderError, named
from rageval_report.readers import ScoreFile, pick_pipeline, read
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, ScoreTable, correctness, resolver, score_table
from rageval_report.scores.frame_export import FrameLibrary, frame_for
from rageval_report.scores.run_file import time_of
from rageval_report.scores.states import states_frame
from rageval_report.scores.table import Duplicates, MetricsArgument
from rageval_report.scores.write import save_scores


class RAGPipelineEvaluation:
    """The per-query scores of one RAG pipeline.

    Parameters
    ----------
    name : str
        The pipeline's name, as reports show it.
    data : DataFrame, dict of lists, or list of dicts
        One row a query: ids, metrics, and anything else that is known of the query. Frames of
        polars, pyarrow and others are taken too.
    query_id : str
        The column of ids. Without it other usual names are looked for, then an index of ids, then
        the question's text.
    metrics : iterable of str, or mapping, optional
        An iterable names the columns that are metrics. A mapping says what is known of some:
        a `Metric`, a dict of its fields, "higher" or "lower".
    correct : str, (str, float), mapping of str to float, or callable, optional
        What a correct answer is: a metric, a metric and a threshold, thresholds that must all hold,
        a column of booleans, or a function of the frame of rows. Exact match where there is one.
    duplicates : {"error", "mean"}
        What to do where a query has several rows: raise, or average its scores.
    config : mapping, optional
        How the pipeline was set up, as ``{"top_k": 5, "model": "..."}``; run files keep it.
    created : datetime or str, optional
        When the pipeline was run, as ``"2026-08-01T09:30:00+02:00"``; run files keep it.

    Raises
    ------
    DataError
        If ids are missing or not unique, no column is a metric, a metric holds text, or a score is
        infinite or outside its metric's bounds.

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
    """

    def __init__(
        self,
        name: str,
        data: object,
        *,
        query_id: str = "query_id",
        metrics: MetricsArgument = None,
        correct: Correct | None = None,
        duplicates: Duplicates = "error",
        config: Mapping[str, Any] | None = None,
        created: datetime | date | str | None = None,
    ):
        table = score_table(data, query_id=query_id, metrics=metrics, duplicates=duplicates)
        self._hold(name, table, correct, config, created)

    @classmethod
    def of_table(
        cls,
        name: str,
        table: ScoreTable,
        *,
        correct: Correct | None = None,
        config: Mapping[str, Any] | None = None,
        created: datetime | date | str | None = None,
    ) -> Self:
        """The evaluation of a table of scores that is checked already.

        Parameters
        ----------
        name : str
            The pipeline's name.
        table : ScoreTable
            As ``rageval_report.scores.score_table`` makes it.
        correct, config, created
            As in the constructor.

        Raises
        ------
        DataError
            If the name is empty, or `correct` makes no sense for these metrics.
        """
        made = cls.__new__(cls)
        made._hold(name, table, correct, config, created)
        return made

    def _hold(
        self,
        name: str,
        table: ScoreTable,
        correct: Correct | None,
        config: Mapping[str, Any] | None,
        created: datetime | date | str | None,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise DataError(f"an evaluation needs a name, as 'baseline'; got {name!r}")
        self._name = name
        self._correct = correct
        self._table = table
        self._config = dict(config or {})
        self._created = None if created is None else time_of(created)
        if correct is not None:
            correctness(self, correct)  # a rule that makes no sense is told now, not later

    @classmethod
    def load(
        cls, name: str | None, path: str | Path, *, reader: str | None = None, **options: Any
    ) -> Self:
        """Read one pipeline's scores from a file.

        Parameters
        ----------
        name : str or None
            The pipeline's name; the file's own where None.
        path : str or Path
            Any readable file, gzipped or not; "-" is standard input.
        reader : str, optional
            A name of the table ``rageval_report.readers.READERS``; recognised where not given.
        **options
            ``pipeline=`` picks one of several in the file; ``query_id=``, ``metrics=``,
            ``correct=``, ``duplicates=`` as in the constructor; ``strict=True`` refuses scores
            that lie a little outside their bounds; the rest is the reader's.

        Raises
        ------
        ReaderError
            If the file cannot be read.
        DataError
            If it holds several pipelines and none is picked.
        """
        pipeline = options.pop("pipeline", None)
        ours, theirs = parted(options)
        found = read(path, reader=reader, **theirs)
        return cls.of_file(name, pick_pipeline(found, pipeline, path), path, **ours)

    @classmethod
    def of_file(
        cls,
        name: str | None,
        found: ScoreFile,
        path: str | Path,
        correct: Correct | None = None,
        **options: Any,
    ) -> Self:
        """The evaluation of one pipeline that a reader found in a file.

        Parameters
        ----------
        name : str or None
            The pipeline's name; the file's own where None.
        found : ScoreFile
            What the reader found.
        path : str or Path
            The file, for what goes wrong.
        correct, **options
            As in the constructor; ``strict=True`` as in `load`.

        Raises
        ------
        ReaderError
            If the scores make no sense.
        """
        try:
            table = score_table(
                found.frame,
                known=found.metrics,
                only=found.metric_columns,
                unreadable="failed",
                **options,
            )
        except DataError as exc:
            raise ReaderError(str(exc), path) from exc
        return cls.of_table(
            name or found.pipeline,
            table.with_notes(*found.notes),
            correct=correct,
            config=found.config,
            created=found.created,
        )

    # -- what it holds

    @property
    def name(self) -> str:
        """The pipeline's name."""
        return self._name

    @property
    def data(self) -> pd.DataFrame:
        """The rows as they were given."""
        return self._table.data

    @property
    def scores(self) -> pd.DataFrame:
        """A row a query (index ``query_id``), a float64 column a metric, NaN where unscored."""
        return self._table.scores

    @property
    def details(self) -> pd.DataFrame:
        """All other columns, on the same index."""
        return self._table.details

    @property
    def metrics(self) -> dict[str, Metric]:
        """What is known of each metric, in the order of the columns."""
        return dict(self._table.metrics)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed or mended when the rows were read."""
        return self._table.notes

    @property
    def config(self) -> dict[str, Any]:
        """How the pipeline was set up, as far as anybody said."""
        return dict(self._config)

    @property
    def created(self) -> datetime | None:
        """When the pipeline was run, where anybody said."""
        return self._created

    def with_notes(self, *notes: str) -> Self:
        """The same evaluation with more notes for its reports."""
        return self._like(self.name, self._table.with_notes(*notes))

    def renamed(self, name: str) -> Self:
        """The same evaluation under another name."""
        return self._like(name, self._table)

    def _like(self, name: str, table: ScoreTable) -> Self:
        return self.of_table(
            name, table, correct=self._correct, config=self._config, created=self._created
        )

    @property
    def states(self) -> pd.DataFrame:
        """Of every score "scored", "failed", "not applicable" or "missing"."""
        return states_frame(self.scores, self.details)

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self._table.scores)

    @property
    def correct(self) -> pd.Series:
        """Whether each query was answered correctly; NA where that cannot be told."""
        return correctness(self, self._correct)

    @property
    def correct_rule(self) -> Correct | None:
        """What was said to be a correct answer; None where nothing was: then exact match is one."""
        return self._correct

    def __len__(self) -> int:
        return self.n_queries

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {self.n_queries} queries, "
            f"{len(self.metrics)} metrics)"
        )

    # -- in other hands

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """One row a query, ids and details and metrics, as a frame of pandas, polars or pyarrow."""
        return frame_for(self, library)

    def save(
        self,
        path: str | Path,
        *,
        created: datetime | date | str | None = None,
        force: bool = True,
    ) -> Path:
        """Write one row a query; the suffix chooses the format.

        .csv, .tsv, .jsonl and .parquet hold scores and details; .json is a run file, which holds
        all else as well and reads back equal.

        Parameters
        ----------
        path : str or Path
            The file; its folder is made where it is not there.
        created : datetime or str, optional
            When the pipeline was run, for the run file; as the evaluation knows it where not given.
            A history of runs is ordered by it.
        force : bool
            Whether a file that is there is replaced, as pandas does; False keeps it.

        Raises
        ------
        UnknownNameError
            If the suffix stands for no format.
        DataError
            If the file is there and may not be replaced, or cannot be written.
        """
        moment = self._created if created is None else time_of(created)
        return save_scores(
            self, path, config=self._config, notes=self.notes, created=moment, force=force
        )

    def _repr_html_(self) -> str:
        return self.evaluation_report().to_html()

    # -- one pipeline

    def evaluation_report(self, **settings: Any) -> EvaluationReport:
        """The report: printed the full table, read a mapping of titles to means.

        Parameters
        ----------
        **settings
            ``metrics``, ``percentiles``, ``interval``, ``confidence_level``, ``n_resamples``,
            ``seed``: as in `rageval_report.analysis.summary.summarise`.
        """
        return evaluation_report(self, self._correct, **settings).with_notes(*self.notes)

    classification_report = evaluation_report

    def get_aggregated_scores(self, metric: str | None = None) -> float | pd.Series:
        """The mean of one metric, or of all.

        Parameters
        ----------
        metric : str, optional
            By any of its names; all metrics where not given.

        Returns
        -------
        float or Series
            The mean over the queries that were scored; NaN where none was.

        Raises
        ------
        UnknownNameError
            If the metric is not known.
        """
        means = aggregated_scores(self)
        return means if metric is None else float(means[resolver(self.metrics)(metric)])

    def get_detailed_scores(
        self, metric: str | Iterable[str] | None = None, query_ids: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """The scores query by query.

        Parameters
        ----------
        metric : str or iterable of str, optional
            Which metrics, by any of their names; all where not given.
        query_ids : sequence of str, optional
            Which queries, in this order; all where not given.

        Returns
        -------
        DataFrame, index query_id

        Raises
        ------
        UnknownNameError
            If a metric is not known.
        DataError
            If a query id is not known; it names up to five.
        """
        resolve = resolver(self.metrics)
        asked = [metric] if isinstance(metric, str) else metric
        columns = list(self.metrics) if asked is None else [resolve(name) for name in asked]
        if query_ids is None:
            return self.scores[columns].copy()
        wanted = [query_ids] if isinstance(query_ids, str) else [str(one) for one in query_ids]
        unknown = [one for one in wanted if one not in self.scores.index]
        if unknown:
            raise DataError(f"no such query in {self.name!r}: {named(unknown)}")
        return self.scores.loc[wanted, columns]

    def find_thresholds(
        self,
        metrics: str | Iterable[str] | None = None,
        percentiles: Sequence[float] = (25, 50, 75),
        method: str = "linear",
    ) -> Result:
        """The percentiles and the mean of each metric: columns ``p25``, ``p50``, ``p75``, ``mean``.

        Parameters
        ----------
        metrics : str or iterable of str, optional
            Which metrics; all where not given.
        percentiles : sequence of float
            0 to 100.
        method : {"linear", "exclusive"}
            As in NumPy, or as in the ``statistics`` module's default.
        """
        return find_thresholds(self, metrics, percentiles, method)

    def get_scores_below_threshold(self, metric: str, threshold: float | str) -> pd.DataFrame:
        """The queries strictly below a threshold, worst first; unscored ones are never below.

        Parameters
        ----------
        metric : str
            By any of its names.
        threshold : float, "p25" and the like, "median", or "mean"
            A number, or one found in the scores.
        """
        return below_threshold(self, metric, threshold)

    def failures(
        self, metric: str, threshold: float | str, *, cause: str | None = None, k: int = 5
    ) -> Result:
        """The queries on the wrong side of a threshold, by the metric's direction, worst first.

        Parameters
        ----------
        metric : str
            By any of its names.
        threshold : float, "p25" and the like, "median", or "mean"
            A number, or one found in the scores.
        cause : str, optional
            Only the queries that fail for this cause; see `breakdown`.
        k : int
            How many results the answer was made of, where a cause is asked for.

        Returns
        -------
        Result
            With question, answer and reasons where the details have them; texts are cut on printing
            only.
        """
        if cause is None:
            return failures(self, metric, threshold)
        only = failure_causes(self, k=k, correct=self._correct) == check_cause(cause)
        return failures(self, metric, threshold, only).with_notes(f"only failures of {cause}")

    def breakdown(self, *, k: int = 5, **settings: Any) -> Result:
        """How many queries fail of retrieval, ranking, generation, citation or refusal.

        Parameters
        ----------
        k : int
            How many results the answer was made of; needs ``hit@k`` or ``recall@k``.

        Returns
        -------
        Result
            One row a cause: ``cause``, ``what``, ``n``, ``share``, ``ci_low``, ``ci_high``.
        """
        return breakdown(self, k=k, correct=self._correct, **settings)

    def retrieval_by_generation(self, *, k: int = 5) -> Result:
        """Retrieval passed or failed, against the answer right or wrong.

        Parameters
        ----------
        k : int
            How many results the answer was made of; needs ``hit@k`` or ``recall@k``.
        """
        return retrieval_by_generation(self, k=k, correct=self._correct)

    def slices(
        self, by: str, metrics: str | Iterable[str] | None = None, **settings: Any
    ) -> Result:
        """The report by group: by any column of the details.

        Parameters
        ----------
        by : str
            A column of the details.
        metrics : str or iterable of str, optional
            Which metrics; all where not given.
        """
        return slice_summary(self, by, metrics, **settings)

    def gate(self, *rules: str | Rule, **settings: Any) -> GateResult:
        """Hold the pipeline to rules; ``.passed`` says whether all hold, ``.check()`` raises.

        Parameters
        ----------
        *rules : str
            As "ci_low(recall@5) >= 0.7", "share_below(faithfulness, 0.5) <= 5%".
        **settings
            ``missing``, ``confidence_level``, ``n_resamples``, ``seed``, ``correct``: as in
            `rageval_report.analysis.gates.gate.gate`, which has the list of figures.

        Returns
        -------
        GateResult
            One row a rule.
        """
        return gate(self, *rules, **{"correct": self._correct, **settings})

    def calibrate(self, metric: str, people: Any, *args: Any, **settings: Any) -> Calibration:
        """Hold a judge against people, who labelled some of the queries.

        Parameters
        ----------
        metric : str
            The judged metric, by any of its names.
        people : RAGPipelineEvaluation, Series, DataFrame, or mapping
            Labels by query id.
        *args, **settings
            ``label``, ``threshold`` and more, as in `rageval_report.calibrate`.

        Returns
        -------
        Calibration
            One row a figure: agreement, bias, means.
        """
        return calibrate(self, metric, people, *args, **{"correct": self._correct, **settings})

    # -- two pipelines

    def comparative_summary(self, other: RAGPipelineEvaluation, **options: Any) -> Comparison:
        """Compare: this evaluation is the baseline, the other the candidate; see `compare`."""
        return compare(self, other, **options)

    def comparative_detailed_summary(
        self, other: RAGPipelineEvaluation, correct: Correct | None = None
    ) -> pd.DataFrame:
        """The query ids that both, neither, or only one of two pipelines answers correctly.

        Parameters
        ----------
        other : RAGPipelineEvaluation
            Paired with this one by query id.
        correct : as in the constructor, optional
            What a correct answer is; each evaluation's own rule where not given.

        Returns
        -------
        DataFrame
            ``both_correct``, ``both_incorrect``, ``only_{name}_correct``,
            ``only_{other}_correct``, padded with None; where there are any also ``unscored``,
            ``only_in_{name}``, ``only_in_{other}``.
        """
        ours, theirs = correct or self._correct, correct or other._correct
        return outcome_table(self, other, ours, other_correct=theirs or ours)

    # -- Haystack's later names

    def aggregated_report(
        self, output_format: OutputFormat = "json", csv_file: str | Path | None = None
    ) -> Report:
        """The means, as ``{"metrics": [...], "score": [...]}``, CSV text or frame."""
        return aggregated_report(self, output_format, csv_file)

    def detailed_report(
        self, output_format: OutputFormat = "json", csv_file: str | Path | None = None
    ) -> Report:
        """One row a query, as dict of lists, CSV text or frame."""
        return detailed_report(self, output_format, csv_file)

    def comparative_detailed_report(
        self,
        other: RAGPipelineEvaluation,
        keep_columns: Iterable[str] | None = None,
        output_format: OutputFormat = "json",
        csv_file: str | Path | None = None,
    ) -> Report:
        """Two runs beside each other, paired by query id, metrics as ``{name}_{metric}``."""
        return comparative_detailed_report(self, other, keep_columns, output_format, csv_file)

    # -- pictures and files

    def report(self, **options: Any) -> Any:
        """The report file: verdicts, tables, pictures, slices, and every query in one page.

        Parameters
        ----------
        **options
            ``title``, ``by``, ``correct``, ``k``, ``pictures``, ``longest_text`` and the settings
            of the means, as in `rageval_report.reports.report_evaluation`.

        Returns
        -------
        rageval_report.reports.Report
            Its ``save("report.html")`` writes the page; .md, .tex and .txt hold the tables.
        """
        options = {"correct": self._correct, **options}
        return load("rageval_report.reports:report_evaluation")(self, **options)

    def plot(self, kind: str = "distribution", *args: Any, **options: Any) -> Any:
        """Draw the evaluation; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str
            A name of the table ``rageval_report.plots.PLOTS``.
        *args, **options
            The plot's own; every plot takes ``ax=``.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return load("rageval_report.plots:plot")(self, kind, *args, **options)


_OURS = ("query_id", "metrics", "correct", "duplicates", "strict")


def parted(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of the evaluation, and those of the reader; both need to know the ids."""
    ours = {name: value for name, value in options.items() if name in _OURS}
    theirs = {name: value for name, value in options.items() if name not in _OURS}
    if "query_id" in ours:
        theirs["query_id"] = ours["query_id"]
    return ours, theirs


def read_scores(
    path: str | Path, *, reader: str | None = None, pipeline: str | None = None, **options: Any
) -> dict[str, RAGPipelineEvaluation]:
    """Read every pipeline of a file.

    Parameters
    ----------
    path : str or Path
        Any readable file, gzipped or not; "-" is standard input.
    reader : str, optional
        A name of the table ``rageval_report.readers.READERS``; recognised where not given.
    pipeline : str, optional
        Only this one.
    **options
        ``query_id=``, ``metrics=``, ``correct=``, ``duplicates=`` as for
        `RAGPipelineEvaluation`; the rest is the reader's.

    Returns
    -------
    dict of str to RAGPipelineEvaluation
        By the pipeline's name.
    """
    ours, theirs = parted(options)
    found = read(path, reader=reader, **theirs)
    if pipeline is not None:
        found = [pick_pipeline(found, pipeline, path)]
    return {one.pipeline: RAGPipelineEvaluation.of_file(None, one, path, **ours) for one in found}

"""What an evaluation holds: a name and a checked table of scores, read, looked at and written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, Self

import pandas as pd

from rageval_report.errors import DataError, ReaderError
from rageval_report.readers import ScoreFile, picked, read
from rageval_report.scores import Correct, Metric, ScoreTable, correctness, score_table
from rageval_report.scores.frames_out import frame_for
from rageval_report.scores.run_file import time_of
from rageval_report.scores.states import states_frame
from rageval_report.scores.table import Duplicates, MetricsArgument
from rageval_report.scores.write import save_scores


class HeldScores:
    """A pipeline's name and its per-query scores; `RAGPipelineEvaluation` asks things of them."""

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
        return cls.of_file(name, picked(found, pipeline, path), path, **ours)

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
            table.noting(*found.notes),
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

    def noting(self, *notes: str) -> Self:
        """The same evaluation with more notes for its reports."""
        return self._like(self.name, self._table.noting(*notes))

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

    def to_frame(self, library: str = "pandas") -> Any:
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


_OURS = ("query_id", "metrics", "correct", "duplicates", "strict")


def parted(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of the evaluation, and those of the reader; both need to know the ids."""
    ours = {name: value for name, value in options.items() if name in _OURS}
    theirs = {name: value for name, value in options.items() if name not in _OURS}
    if "query_id" in ours:
        theirs["query_id"] = ours["query_id"]
    return ours, theirs

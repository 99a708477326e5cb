"""What a user names on the command line, NAME=FILE::PIPELINE, becomes evaluations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rageval_report
from rageval_report.cli.rules import check_directions, correct_rule, metrics_in
from rageval_report.errors import DataError

if TYPE_CHECKING:
    from rageval_report import RAGPipelineEvaluation

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Source:
    """One pipeline's scores: a file, and what they are called.

    Parameters
    ----------
    path : str
        The file; "-" is standard input.
    name : str, optional
        What to call the pipeline; as its file does where not given.
    pipeline : str, optional
        Which of several in the file.
    """

    path: str
    name: str | None = None
    pipeline: str | None = None

    @property
    def stem(self) -> str:
        """The file's name without folder and suffixes."""
        plain = Path(self.path.removesuffix(".gz"))
        return self.pipeline or plain.stem

    @property
    def long_stem(self) -> str:
        """The same with the folder before it, for files of one name."""
        return f"{Path(self.path).absolute().parent.name}/{self.stem}"


def source_of(told: str) -> Source:
    """FILE, NAME=FILE, FILE::PIPELINE or both; a file that is there is taken as it is.

    Examples
    --------
    >>> source_of("new=runs/b.json::dense")
    Source(path='runs/b.json', name='new', pipeline='dense')
    """
    if told == STANDARD_INPUT or Path(told).exists():
        return Source(told)
    name, equals, path = told.partition("=")
    if equals and name.strip():
        return replace(source_of(path), name=name.strip())
    path, colons, pipeline = told.rpartition("::")
    return Source(path, pipeline=pipeline) if colons and path and pipeline else Source(told)


def sources_of(told: Sequence[str]) -> list[Source]:
    """The sources, with longer names for files of one name in different folders."""
    found = [source_of(one) for one in told]
    if sum(source.path == STANDARD_INPUT for source in found) > 1:
        raise DataError("standard input can be read once only; name files for the other pipelines")
    unnamed = Counter(source.stem for source in found if source.name is None)
    return [
        replace(source, name=source.long_stem)
        if source.name is None and unnamed[source.stem] > 1
        else source
        for source in found
    ]


@dataclass(frozen=True)
class Loading:
    """How files are to be read.

    Parameters
    ----------
    reader : str, optional
        The name of a reader; recognised where not given.
    correct : str, optional
        What a correct answer is, as the user wrote it.
    overrides : dict of str to dict
        What the user knows better of a metric.
    options : dict of str to object
        What else `RAGPipelineEvaluation.load` takes.
    """

    reader: str | None = None
    correct: str | None = None
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def load(self, source: Source, metrics: Sequence[str] = ()) -> RAGPipelineEvaluation:
        """The evaluation of one source; only some of its metrics where they are named."""
        evaluation = rageval_report.RAGPipelineEvaluation.load(
            source.name, source.path, pipeline=source.pipeline, **self._told(metrics)
        )
        return self._checked(evaluation)

    def _told(self, metrics: Sequence[str]) -> dict[str, Any]:
        """What the library is told of a file."""
        return {
            "reader": self.reader,
            "metrics": self.overrides or self._needed(metrics) or None,
            "correct": None if self.correct is None else correct_rule(self.correct),
            **self.options,
        }

    def _checked(self, evaluation: RAGPipelineEvaluation) -> RAGPipelineEvaluation:
        if self.correct is not None:
            check_directions(self.correct, evaluation.metrics)
        return evaluation

    def _needed(self, metrics: Sequence[str]) -> list[str]:
        """The metrics asked for, and those that tell what is correct; others may hold anything."""
        return [*metrics, *metrics_in(self.correct)] if metrics else []

    def load_all(
        self, told: Sequence[str], metrics: Sequence[str] = (), *, name: str | None = None
    ) -> list[RAGPipelineEvaluation]:
        """The evaluations of all that was named, each with a name of its own.

        Raises
        ------
        DataError
            If two have one name.
        """
        sources = sources_of(told)
        if name is not None:
            sources = [replace(source, name=name) for source in sources]
        return _of_own_names([self.load(source, metrics) for source in sources])

    def load_every(
        self, told: Sequence[str], metrics: Sequence[str] = (), *, name: str | None = None
    ) -> list[RAGPipelineEvaluation]:
        """The evaluations of all that was named: every pipeline of a file that holds several.

        Those of a file that the user named NAME are called NAME/PIPELINE; those of two files that
        share a name FILE/PIPELINE.

        Raises
        ------
        DataError
            If two have one name.
        """
        sources = sources_of(told)
        if name is not None:
            sources = [replace(source, name=name) for source in sources]
        groups = [(source, self._every(source, metrics)) for source in sources]
        counts = Counter(one.name for _, group in groups for one in group)
        return _of_own_names(
            [
                one.with_name(f"{source.stem}/{one.name}")
                if len(group) > 1 and counts[one.name] > 1
                else one
                for source, group in groups
                for one in group
            ]
        )

    def load_runs(
        self, told: Sequence[str], metrics: Sequence[str] = ()
    ) -> list[RAGPipelineEvaluation]:
        """Runs of one pipeline, each named after its file unless the user named it."""
        sources = sources_of(told)
        return _of_own_names(
            [self.load(replace(one, name=one.name or one.stem), metrics) for one in sources]
        )

    def _every(self, source: Source, metrics: Sequence[str]) -> list[RAGPipelineEvaluation]:
        if source.pipeline is not None:
            return [self.load(source, metrics)]
        found = rageval_report.read_scores(source.path, **self._told(metrics))
        every = [self._checked(one) for one in found.values()]
        if source.name is None:
            return every
        if len(every) == 1:
            return [every[0].with_name(source.name)]
        return [one.with_name(f"{source.name}/{one.name}") for one in every]


def _of_own_names(evaluations: list[RAGPipelineEvaluation]) -> list[RAGPipelineEvaluation]:
    names = Counter(evaluation.name for evaluation in evaluations)
    twice = [one for one, n in names.items() if n > 1]
    if twice:
        raise DataError(f"two runs are named {twice[0]!r}; give each its own name")
    return evaluations

"""Rankings with their judgments become scores: what `rageval_report.readers.rankings` hands over.

It is apart because every file is shown to every reader, and most are no rankings: recognising one
does not need what scores it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import AlignmentError, DataError, ReaderError, check_choice
from rageval_report.files.inputs import STANDARD_INPUT, is_file_input
from rageval_report.files.source import Source
from rageval_report.metrics.joining import IdRows, Ties
from rageval_report.metrics.ranking_ids import doubts_about_rankings, match_ranking_ids
from rageval_report.metrics.ranking_inputs import DuplicateDocs
from rageval_report.metrics.ranking_options import DEFAULT_METRICS, Judgments
from rageval_report.metrics.ranking_scores import (
    NoRelevant,
    RankedScores,
    default_ranking_metrics,
    ranked_metrics,
    ranking_dialect,
    score_table_of_rankings,
    tables_in_dialect,
)
from rageval_report.readers.base import ScoreFile
from rageval_report.readers.ranking_files import (
    VALUES,
    RankingFile,
    Values,
    judgments_file,
    ranking_name,
    run_file,
)
from rageval_report.readers.ranking_kinds import first_lines
from rageval_report.records.id_changes import MatchIds
from rageval_report.scores.catalogue.dialects import DIALECT, Dialect, DialectName
from rageval_report.scores.metric import Metric

# Grades are few: 0 to 4 in TREC's newest tracks, up to 5 elsewhere.
_MOST_GRADES = 6
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


def score_file_of_ranking(
    source: Source,
    *,
    qrels: Judgments,
    metrics: object,
    duplicates: DuplicateDocs,
    values: Values | None,
    ties: Ties | None,
    relevance_level: float | str | None,
    no_relevant: NoRelevant | None,
    drop_self: bool | str | None,
    match_ids: MatchIds,
    dialect: DialectName | None,
) -> ScoreFile:
    """The scores of a ranking; the parameters are those of `read_rankings`.

    Raises
    ------
    DataError
        If an option contradicts the dialect, or it has no metrics of rankings.
    ReaderError
        If a file cannot be read: the file, the line, what to do.
    """
    options = {
        "ties": ties,
        "relevance_level": _number(relevance_level),
        "no_relevant": no_relevant,
        "drop_self": _truth(drop_self),
    }
    plan = _RankingPlan.of(_names(metrics), duplicates, options, dialect)
    if values is not None:
        check_choice("values", values, VALUES)
    run = run_file(source, values)
    judgments = _judgments(qrels, source)
    match_notes = []
    if match_ids:
        run_table, judged_table, note = match_ranking_ids(run.content, judgments.content, match_ids)
        run, judgments = replace(run, content=run_table), replace(judgments, content=judged_table)
        match_notes = [note]
    ranked = plan.rename(_score(source, run, judgments, plan))
    notes = (
        *(() if plan.system is None else (plan.system.note,)),
        *match_notes,
        *run.notes,
        *(f"qrels: {note}" for note in judgments.notes),
        *([_default_note(ranked.scores)] if plan.is_default else []),
        *_settings_note(plan.own_options),
        *_doubts(run, judgments, ranked),
        *ranked.notes,
    )
    frame = pd.concat([ranked.details, ranked.scores], axis=1).reset_index()
    config = {} if run.tag is None else {"tag": run.tag}
    if plan.system is not None:
        config[DIALECT] = plan.system.name
    columns = tuple(map(str, ranked.scores))
    name = source.stem if source.folder is None else ranking_name(source.name)
    return ScoreFile(
        frame, name, metrics=plan.known, metric_columns=columns, notes=notes, config=config
    )


@dataclass(frozen=True)
class _RankingPlan:
    """The metrics and the options with which a ranking is scored, and their dialect.

    Parameters
    ----------
    names : list of str
        The metrics, by the names of the catalogue.
    duplicates : {"error", "best", "keep"}
        What to do with a document that was retrieved twice.
    options : dict
        The other options that are not the usual ones.
    is_default : bool
        Whether nobody named the metrics.
    system : Dialect, optional
        The dialect.
    known : dict of str to Metric
        The metrics by their names in the dialect.
    """

    names: list[str]
    duplicates: DuplicateDocs
    options: dict[str, Any]
    is_default: bool
    system: Dialect | None = None
    known: dict[str, Metric] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        names: list[str],
        duplicates: DuplicateDocs,
        options: Mapping[str, object],
        dialect: DialectName | None,
    ) -> _RankingPlan:
        system = ranking_dialect(dialect)
        settled: dict[str, Any] = dict(options)
        known: dict[str, Metric] = {}
        if system is not None:
            # Files of every kind are read with duplicates="error" unless somebody says otherwise.
            own = {"duplicates": None if duplicates == "error" else duplicates, **options}
            drop_self = own.pop("drop_self")
            settled = {**system.settle(**own), "drop_self": drop_self}
            duplicates = settled.pop("duplicates") or "error"
            known = ranked_metrics(names or default_ranking_metrics(system), system)
        named_metrics = list(dict.fromkeys(metric.known_as for metric in known.values())) or names
        changed = {name: value for name, value in settled.items() if value is not None}
        return cls(
            named_metrics or list(DEFAULT_METRICS), duplicates, changed, not names, system, known
        )

    @property
    def own_options(self) -> dict[str, Any]:
        """The options that are not rules of the dialect, whose own note has these."""
        if self.system is None:
            return self.options
        return {name: value for name, value in self.options.items() if name == "drop_self"}

    def rename(self, ranked: RankedScores) -> RankedScores:
        """The scores under the names of the dialect."""
        if self.system is None:
            return ranked
        scores, details = tables_in_dialect(ranked.scores, ranked.details, self.known)
        return replace(ranked, scores=scores, details=details)


def _score(
    source: Source,
    run: RankingFile,
    judgments: RankingFile,
    plan: _RankingPlan,
) -> RankedScores:
    try:
        return score_table_of_rankings(
            run.content,
            judgments.content,
            plan.names,
            duplicates=plan.duplicates,
            **plan.options,
        )
    except (ReaderError, AlignmentError):
        raise
    except DataError as exc:
        raise source.error(str(exc)) from exc


def _judgments(qrels: object, run: Source) -> RankingFile:
    """The judgments, in whatever form they are."""
    if not is_file_input(qrels):
        return RankingFile(qrels)
    if str(qrels) == STANDARD_INPUT and run.is_standard_input:
        raise run.error("standard input can be read once only; name a file for the judgments")
    source = Source(qrels)
    if None not in (source.folder, run.folder) and Path(source.name).samefile(run.name):
        raise run.error("the run and the judgments are the same file; name two files")
    return judgments_file(source)


def _names(metrics: object) -> list[str]:
    """The metrics to compute; none if the caller leaves the choice to us."""
    if metrics is None:
        return []
    if isinstance(metrics, str):
        return [metrics]
    return [str(name) for name in metrics] if isinstance(metrics, Iterable) else []


def _default_note(scores: pd.DataFrame) -> str:
    listed = ", ".join(map(str, scores))
    return f"no metrics were named; computed: {listed}. Name others with metrics=[...]"


def _settings_note(rules: Mapping[str, object]) -> Iterator[str]:
    """The settings that can move a number, if they are not the usual ones."""
    if rules:
        yield "scored with " + ", ".join(f"{name} {value}" for name, value in rules.items())


# -- options, which the command line passes as texts


def _number(level: float | str | None) -> float | None:
    if not isinstance(level, str):
        return level
    try:
        return float(level)
    except ValueError as exc:
        raise DataError(f"relevance_level must be a number > 0; got {level!r}") from exc


def _truth(flag: bool | str | None) -> bool | None:
    if not isinstance(flag, str):
        return flag
    check_choice("drop_self", flag.lower(), (*_TRUE, *_FALSE))
    return flag.lower() in _TRUE


# -- doubts


def _doubts(run: RankingFile, judgments: RankingFile, ranked: RankedScores) -> Iterator[str]:
    """What looks wrong, although every line can be read."""
    few = _few_whole_numbers(run.content)
    if few:
        yield (
            f"the scores of the run are only the whole numbers {few[0]} to {few[-1]}: if the file "
            "holds judgments, exchange run and qrels"
        )
    doubts = doubts_about_rankings(
        run.content, judgments.content, ranked.hits, list(ranked.scores.index)
    )
    yield from (doubt.note for doubt in doubts)
    judged = [column for column in ranked.details if str(column).startswith("n_judged")]
    if not doubts and judged and not ranked.details[judged].to_numpy().any():
        ids = [_first_document(content) for content in (run.content, judgments.content)]
        examples = f": {ids[0]!r} in the run, {ids[1]!r} in the judgments" if all(ids) else ""
        yield (
            "no retrieved document within the cutoffs is judged; are document ids written "
            f"differently{examples}?"
        )


def _few_whole_numbers(content: object) -> list[int]:
    """The scores of a run, if they look like grades: few, and whole; else none."""
    if isinstance(content, IdRows):
        values = content.value
    elif isinstance(content, Mapping):
        docs = [docs for docs in content.values() if isinstance(docs, Mapping)]
        try:
            values = np.array([value for row in docs for value in row.values()], np.float64)
        except OverflowError:  # a score that no float holds is not a grade
            return []
    else:
        return []
    distinct = np.unique(values)
    are_grades = (
        0 < len(distinct) <= min(_MOST_GRADES, len(values) // 2)
        and ((distinct == np.round(distinct)) & (distinct >= 0) & (distinct < _MOST_GRADES)).all()
    )
    return [int(value) for value in distinct] if are_grades else []


def _first_document(content: object) -> str | None:
    """The id of some document, to show how ids are written."""
    if isinstance(content, IdRows):
        return content.document(0)
    if isinstance(content, Mapping):
        docs = next(iter(content.values()), None)
        return str(next(iter(docs), "")) if isinstance(docs, Iterable) else None
    if isinstance(content, Path):
        words = (first_lines(Source(content)) or [""])[0].split()
        return words[2] if len(words) > 2 else None
    return None

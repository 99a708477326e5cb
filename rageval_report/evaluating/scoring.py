"""eval: the answers are computed and judged, and as much as possible of it is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.errors import DataError, JudgeError, PipelineError, is_doubt
from rageval_report.evaluating.config import EvalConfig
from rageval_report.evaluating.default_metrics import allowed_metrics, allowed_rubrics
from rageval_report.evaluating.eval_queries import QuerySource
from rageval_report.judges import Rubric
from rageval_report.judges.chats import Chat
from rageval_report.judges.options import JudgeOptions
from rageval_report.metrics.ranking_inputs import DuplicateDocs
from rageval_report.metrics.record_scores import lacking_fields
from rageval_report.metrics.scoring import JudgedEvaluation, score_and_judge
from rageval_report.metrics.views import Tools, tools_in_dialect
from rageval_report.readers.record_files import read_records
from rageval_report.runner import FinishedRun
from rageval_report.scores.catalogue.dialects import Dialect, dialect_of_name

# The names under which a server's configuration may hold the model that gives the answers.
_GENERATORS = ("llm_model", "generator_model", "generation_model", "generator", "model")


COST = "cost_usd"

# Is called with each note as soon as it is known.
Tell = Callable[[str], object]


@dataclass(frozen=True)
class ScoringPlan:
    """What is computed and judged, and by which model; known before the pipeline is asked.

    Parameters
    ----------
    computed : tuple of str
        Names of metrics; if empty, those that the fields allow.
    rubrics : tuple of Rubric
        The rubrics to judge by.
    judges_by_default : bool
        Whether the rubrics are those that the fields allow.
    chats : tuple of Chat
        The judges; empty if nothing is judged.
    how : dict
        How the judge is asked.
    """

    computed: tuple[str, ...] = ()
    rubrics: tuple[Rubric, ...] = ()
    judges_by_default: bool = False
    chats: tuple[Chat, ...] = ()
    how: JudgeOptions = field(default_factory=JudgeOptions)


@dataclass(frozen=True)
class ScoredRun:
    """The scores of a run.

    Parameters
    ----------
    scored : JudgedEvaluation
        All that was computed and judged.
    failure : str, optional
        Why nothing was judged, although something should have been.
    model : str, optional
        The model of the answers that do not name one.
    """

    scored: JudgedEvaluation
    failure: str | None = None
    model: str | None = None


def check_answered(finished: FinishedRun, target: str) -> None:
    """Refuse a run without a single answer, with the errors of the pipeline.

    Parameters
    ----------
    finished : FinishedRun
        The run.
    target : str
        The name of the target.

    Raises
    ------
    PipelineError
        If no query has an answer.
    """
    if finished.n_answered:
        return
    records = read_answers(finished)
    pairs = zip(records["error"].map(str), records["error_kind"].map(str), strict=True)
    errors = Counter(error.removeprefix(f"{kind}: ") for error, kind in pairs)
    reasons = "; ".join(f"{n} of {finished.n}: {error}" for error, n in errors.most_common(3))
    raise PipelineError(
        f"no query has an answer, so there is nothing to score; check the {target} target. "
        f"{reasons}"
    )


def score_answers(
    finished: FinishedRun,
    queries: QuerySource,
    config: EvalConfig,
    plan: ScoringPlan,
    tell: Tell,
) -> ScoredRun:
    """Compute and judge; if the judge fails, what was computed is kept.

    Raises
    ------
    DataError
        If nothing can be computed or judged.
    JudgeError
        If the judge fails, and nothing was to be computed.
    """
    records = read_answers(finished)
    named = config.judge.generator if config.judge is not None else None
    generator = named or generator_of(finished.config)
    model, price_notes = priced_model(records, config, generator)
    computed, rubrics = metrics_of_records(records, finished.records, config, plan)
    for message in notes_on_fields(records, computed, dialect_of_name(config.dialect)):
        tell(message)
    judging: JudgeOptions = {**plan.how, "generator": generator}
    name = config.run.name or name_of_folder(config.folder)
    about = {**queries.about, **finished.config, **config.run.about}
    tools = replace(tools_of(config), prices=config.prices or None, model=model)
    notes = (*filter(is_doubt, finished.notes), *price_notes)

    def score(metrics: Sequence[str | Rubric]) -> JudgedEvaluation:
        return score_and_judge(
            records,
            metrics,
            name=name,
            tools=tools,
            lacking="unscored",
            chat=plan.chats or None,
            judging=judging if plan.how else None,
            config=about,
            created=finished.created,
            match_ids=config.match_ids,
            notes=notes,
            strict=config.strict,
            allow=config.allow,
        )

    try:
        scored = score([*computed, *rubrics])
    except (DataError, JudgeError) as exc:
        if rubrics and computed:
            return ScoredRun(score(computed), str(exc), model)
        if rubrics:
            kept = f"the answers are kept in {config.folder}: go on with resume=True"
            tell("nothing was judged" + (f"; {kept}" if config.folder is not None else ""))
        raise
    failure = None if scored.judged is None else scored.judged.failure
    return ScoredRun(scored, failure, model)


def name_of_folder(folder: Path | None) -> str:
    """The name of a pipeline whose run has this folder."""
    return "pipeline" if folder is None else folder.absolute().name


def tools_of(config: EvalConfig) -> Tools:
    """How passages are compared with the gold.

    Raises
    ------
    DataError
        If a setting contradicts the dialect.
    """
    # A passage that a server returns twice does not cost the run.
    usual: DuplicateDocs | None = "best" if config.dialect is None else None
    return tools_in_dialect(
        config.dialect,
        duplicates=config.duplicates or usual,
        level=config.level,
        no_relevant=config.no_relevant,
    )


def read_answers(finished: FinishedRun) -> pd.DataFrame:
    """The answers; gold that does not fit them is dropped, so that it does not cost the run.

    Parameters
    ----------
    finished : FinishedRun
        The run.
    """
    return read_records(finished.records, unretrieved_citations="keep", unplaced_gold="drop")


def metrics_of_records(
    records: pd.DataFrame, place: Path, config: EvalConfig, plan: ScoringPlan
) -> tuple[list[str], list[str | Rubric]]:
    """The metrics and rubrics that are named, else those that the fields allow.

    Parameters
    ----------
    records : DataFrame
        The records.
    place : Path
        Where the answers are, for the error message.
    config, plan
        The settings, and what they compute and judge.

    Raises
    ------
    DataError
        If nothing can be computed or judged.
    """
    is_named = bool(plan.computed or (plan.rubrics and (config.run.metrics or config.rubrics)))
    computed = (
        [*plan.computed] if is_named else allowed_metrics(records, config.groups, config.dialect)
    )
    if _has_costs(records, config) and COST not in computed:
        computed.append(COST)
    rubrics: list[str | Rubric] = [*plan.rubrics]
    if plan.judges_by_default:
        rubrics = [*allowed_rubrics(records)]
    if not computed and not rubrics:
        fields = [str(column) for column in records if records[column].notna().any()]
        raise DataError(
            f"the answers are in {place}, but no metric can be computed from what they "
            f"and the queries hold ({', '.join(fields)}): recall needs relevant and retrieved, "
            "exact_match needs reference and answer; name other metrics with metrics=[...]"
        )
    return computed, rubrics


def _has_costs(records: pd.DataFrame, config: EvalConfig) -> bool:
    """Whether ``cost_usd`` is computed without being named: there are prices, or it is weighed."""
    if config.dialect is not None:  # a system has metrics of its own
        return False
    is_stated = COST in records and records[COST].notna().any()
    return bool(config.prices or (config.is_weighted and is_stated))


def priced_model(
    records: pd.DataFrame, config: EvalConfig, generator: str | None
) -> tuple[str | None, tuple[str, ...]]:
    """The model of answers that do not name one, and a note if it is a guess.

    Parameters
    ----------
    records : DataFrame
        The records.
    config : EvalConfig
        The settings, with the prices of models.
    generator : str, optional
        The model, if the settings or the pipeline name it.
    """
    is_named = "model" in records and records["model"].notna().any()
    if generator is not None or is_named or len(config.prices) != 1:
        return generator, ()
    [model] = config.prices
    note = f"nothing names the model of the pipeline: its tokens have the only price, of {model!r}"
    return model, (note,)


def notes_on_fields(
    records: pd.DataFrame, computed: list[str], dialect: Dialect | None
) -> Iterator[str]:
    """Which metrics stay without a score, one sentence for each set of missing fields."""
    if not computed:
        return
    names_by_fields: dict[tuple[str, ...], list[str]] = {}
    for name, fields in lacking_fields(records, computed, dialect).items():
        names_by_fields.setdefault(fields, []).append(name)
    for fields, names in names_by_fields.items():
        yield f"{', '.join(names)}: not applicable, the records have no {' and no '.join(fields)}"


def generator_of(config: Mapping[str, Any]) -> str | None:
    """The model that gives the answers, if the server's configuration names it."""
    values = (config.get(name) for name in _GENERATORS)
    return next((value for value in values if isinstance(value, str) and value.strip()), None)

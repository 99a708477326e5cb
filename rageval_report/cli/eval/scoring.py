"""What eval makes of the answers: computed, judged, and as much of it kept as there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rageval_report
from rageval_report._registry import load
from rageval_report.cli.eval.blocks import InBlocks, is_large
from rageval_report.cli.eval.metrics import allowed, judgeable
from rageval_report.cli.notes import note
from rageval_report.errors import DataError, JudgeError, PipelineError

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.cli.eval.config import EvalConfig
    from rageval_report.cli.eval.queries import Asked
    from rageval_report.judges import Rubric
    from rageval_report.judges.chats.over_http import HttpChat
    from rageval_report.runner import FinishedRun
    from rageval_report.scoring.records import WithJudged

# Where a server that tells its settings may name the model that gives the answers.
_GENERATORS = ("llm_model", "generator_model", "generation_model", "generator", "model")


@dataclass(frozen=True)
class Wanted:
    """What is computed and judged, and by whom; known before the pipeline is asked.

    Parameters
    ----------
    computed : tuple of str
        Names of metrics; what the fields allow where there are none.
    rubrics : tuple of Rubric
        What is judged.
    judges_what_it_can : bool
        Whether it is judged what the fields allow.
    chat : HttpChat, optional
        The judge.
    how : dict
        How it is asked.
    """

    computed: tuple[str, ...] = ()
    rubrics: tuple[Rubric, ...] = ()
    judges_what_it_can: bool = False
    chat: HttpChat | None = None
    how: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoredRun:
    """What came of it.

    Parameters
    ----------
    found : WithJudged
        All that was computed and judged.
    failure : str, optional
        Why nothing was judged, where something should have been.
    """

    found: WithJudged
    failure: str | None = None


def check_answered(finished: FinishedRun, where: str) -> None:
    """Refuse a run without a single answer, with what the pipeline said.

    Parameters
    ----------
    finished : FinishedRun
        The run.
    where : str
        The option that says whom to ask.

    Raises
    ------
    PipelineError
        If no query has an answer.
    """
    if finished.n_answered:
        return
    records = _records(finished)
    pairs = zip(records["error"].map(str), records["error_kind"].map(str), strict=True)
    errors = Counter(error.removeprefix(f"{kind}: ") for error, kind in pairs)
    told = "; ".join(f"{n} of {finished.n}: {why}" for why, n in errors.most_common(3))
    raise PipelineError(
        f"no query has an answer, so there is nothing to score; check {where}. {told}"
    )


def scored_run(
    finished: FinishedRun, asked: Asked, folder: Path, config: EvalConfig, wanted: Wanted
) -> ScoredRun:
    """Compute and judge; where the judge fails, what was computed stays.

    Raises
    ------
    DataError
        If nothing can be computed or judged.
    JudgeError
        If the judge fails, and nothing was to be computed.
    """
    blocks = InBlocks(finished) if is_large(finished) else None
    records = _records(finished) if blocks is None else blocks.sketch()
    computed, rubrics = _metrics(records, finished, config, wanted)
    _tell_lacking(records, computed)
    named = None if config.judge is None else config.judge.generator
    generator = named or _generator(finished.config)

    options = {
        "name": config.run.name or folder.absolute().name,
        "tools": load("rageval_report.metrics.views:Tools")(duplicates="best"),
        "chat": wanted.chat,
        "judging": {**wanted.how, "generator": generator} if wanted.how else {},
        "config": {**asked.about, **finished.config},
        "created": finished.created,
    }

    def score(metrics: list[Any]) -> WithJudged:
        if blocks is None:
            how = load("rageval_report.scoring.records:score_and_judge")
            whole: WithJudged = how(records, metrics, lacking="unscored", **options)
            return whole
        told = f"the whole texts of this large run are in {finished.records}"
        in_blocks: WithJudged = load("rageval_report.scoring.blocks:score_blocks")(
            blocks, metrics, notes=(told,), **options
        )
        return in_blocks

    try:
        found = score([*computed, *rubrics])
    except (DataError, JudgeError) as exc:
        if not (rubrics and computed):
            if rubrics:
                note(f"nothing was judged; the answers are kept in {folder}: go on with --resume")
            raise
        return ScoredRun(score(computed), str(exc))
    return ScoredRun(found, None if found.judged is None else found.judged.failure)


def _records(finished: FinishedRun) -> pd.DataFrame:
    """The answers; gold that they cannot be held against shall not cost them."""
    return rageval_report.read_records(
        finished.records, unretrieved_citations="keep", unplaced_gold="drop"
    )


def _metrics(
    records: pd.DataFrame, finished: FinishedRun, config: EvalConfig, wanted: Wanted
) -> tuple[list[str], list[Any]]:
    """What was asked for, else what the fields allow."""
    is_named = bool(wanted.computed or (config.run.metrics and wanted.rubrics))
    computed = [*wanted.computed] if is_named else allowed(records, config.groups)
    judged = judgeable(records) if wanted.judges_what_it_can else [*wanted.rubrics]
    if not computed and not judged:
        there = [str(one) for one in records if records[one].notna().any()]
        raise DataError(
            f"the answers are in {finished.records}, but no metric can be computed from what they "
            f"and the queries hold ({', '.join(there)}): relevant and retrieved give recall, "
            "reference and answer exact_match; others are named with --metric"
        )
    return computed, judged


def _tell_lacking(records: pd.DataFrame, computed: list[str]) -> None:
    """Which metrics stay without a score, for want of what; a sentence for each set of fields."""
    if not computed:
        return
    without: dict[tuple[str, ...], list[str]] = {}
    for name, fields in load("rageval_report.scoring.compute:lacking_fields")(
        records, computed
    ).items():
        without.setdefault(fields, []).append(name)
    for fields, names in without.items():
        note(f"{', '.join(names)}: not applicable, the records have no {' and no '.join(fields)}")


def _generator(config: Mapping[str, Any]) -> str | None:
    """The model that gives the answers, where the server's settings name it."""
    told = (config.get(name) for name in _GENERATORS)
    return next((one for one in told if isinstance(one, str) and one.strip()), None)

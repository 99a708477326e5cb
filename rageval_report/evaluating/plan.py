"""What an evaluation computes and judges, checked before the pipeline is asked."""

from __future__ import annotations

from rageval_report.analysis.objectives import check_weights
from rageval_report.evaluating.config import EvalConfig
from rageval_report.evaluating.judge_setup import JudgeSetup
from rageval_report.evaluating.scoring import ScoringPlan, Tell, tools_of
from rageval_report.judges import Rubric
from rageval_report.judges.options import JudgeOptions
from rageval_report.metrics.record_scores import computable
from rageval_report.metrics.scoring import split_metrics
from rageval_report.records.id_changes import parse_changes
from rageval_report.scores.guard import check_allowed


def scoring_plan(config: EvalConfig, setup: JudgeSetup, tell: Tell) -> ScoringPlan:
    """What is computed and judged.

    Wrong names and weights, and missing keys, are found now and not after a thousand queries.

    Parameters
    ----------
    config : EvalConfig
        The settings.
    setup : JudgeSetup
        The judge; nothing is judged if its section is not enabled.
    tell : callable
        Is called with a note if rubrics are named and nothing is judged.

    Raises
    ------
    RagevalError
        If a metric, a rubric, a weight, a check or a change of ids is not known or contradicts the
        others, or the judge's key is missing.
    """
    is_judged = setup.section.enabled
    names: list[str | Rubric] = [*config.run.metrics, *config.rubrics]
    names += setup.rubrics() if is_judged else []
    dialect = tools_of(config).dialect  # a contradiction is reported now
    check_allowed(config.allow)
    parse_changes(config.match_ids)
    computed: list[str] = []
    rubrics: list[Rubric] = []
    if names:
        computed, rubrics = split_metrics(names, dialect)
        if computed:
            computable(computed, dialect)
    if not is_judged and rubrics:
        tell(f"not judged: {', '.join(rubric.name for rubric in rubrics)}")
        rubrics = []
    check_weights(config.weights, config.objectives, [rubric.name for rubric in rubrics])
    by_default = is_judged and config.judge is not None and not rubrics
    if config.groups is not None and not config.groups.generation:
        by_default = False
    chats = tuple(setup.chats()) if rubrics or by_default else ()
    how = setup.judge_options(chats) if chats else JudgeOptions()
    return ScoringPlan(tuple(computed), tuple(rubrics), by_default, chats, how)

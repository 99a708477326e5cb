"""What a correct answer is, in all reports alike: what the caller says, else the best evidence.

In this order: the rule of the caller; a person's label; a judge of correctness; a known metric of
correctness; an exact match, if references are short and there is nothing else. A question without
an answer is answered correctly by a refusal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, RagevalError
from rageval_report.scores.correct import (
    HOW_TO_SAY,
    Correct,
    apply_rule,
    rule_in_words,
    yes_or_no,
)
from rageval_report.scores.exact_values import plain_value
from rageval_report.scores.metric import Metric, normalise_name
from rageval_report.scores.query_ids import first_named
from rageval_report.scores.table import Scored
from rageval_report.scores.texts import REFERENCE
from rageval_report.types import FloatArray

Origin = Literal["caller", "people", "judge", "metric", "exact match"]

# A column with such a name holds the verdict of a person on the answer.
_PEOPLE = ("human", "manual", "expert", "annotator", "reviewer")
_VERDICTS = (
    *("label", "correct", "correctness", "is_correct", "answer_correct", "answer_correctness"),
    *("verdict", "judgement", "judgment"),
)
# The column that the sheets for reviewers leave blank. A judge has the same name, but its verdicts
# come with its settings.
_SHEET = "answer_correct"
_LABELS = (
    *(f"{person}_{verdict}" for person in _PEOPLE for verdict in _VERDICTS),
    *(f"correct_{person}" for person in _PEOPLE),
    _SHEET,
)

# Metrics that say whether, or how far, an answer is correct: the most direct first.
_CORRECTNESS = (
    *("answer_correct", "is_matching", "answer_correctness", "llm_as_judge_answer_metrics"),
    *("is_correct", "correct", "accuracy", "answered_precision"),
)
EXACT_MATCHES = ("exact_match", "exact_match_squad")

# An answer of more words is seldom repeated word by word. Open-domain Natural Questions keeps
# answers of at most 5 tokens (Lee et al. 2019).
_MOST_WORDS = 5
# The same for texts without spaces between words.
_MOST_LETTERS = 50
_SAMPLE = 1000

_HALF = 0.5


@dataclass(frozen=True)
class CorrectNotion:
    """What a correct answer is, and where that comes from.

    Parameters
    ----------
    rule : Correct
        The rule, as `rageval_report.scores.correct.apply_rule` takes it.
    origin : {"caller", "people", "judge", "metric", "exact match"}
        Who or what decides.
    column : str
        The column that decides; empty for a rule of the caller.
    words : str
        The rule in words, such as "judged answer_correctness >= 0.5".
    """

    rule: Correct
    origin: Origin
    column: str
    words: str

    @property
    def is_guess(self) -> bool:
        """Whether the rule was chosen from the columns."""
        return self.origin != "caller"

    @property
    def note(self) -> str:
        """That the rule is a guess, and how to overrule it; empty for a rule of the caller."""
        if not self.is_guess:
            return ""
        return f"{self.words.removeprefix('correct: ')} means correct; change it with correct="


def find_notion(
    evaluation: Scored, correct: Correct | CorrectNotion | None = None
) -> CorrectNotion | None:
    """What a correct answer of a pipeline is; None if nothing says so.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores and details.
    correct : str, (str, float), mapping of str to float, or callable, optional
        The rule of the caller, or what this function gave; if omitted, the rule of the evaluation,
        else the first that applies.

    Raises
    ------
    DataError
        If the rule of the caller makes no sense.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> scores = {"query_id": ["a", "b"], "exact_match": [0, 1], "answer_correctness": [0.75, 1]}
    >>> find_notion(RAGPipelineEvaluation("hybrid", scores)).words
    'answer_correctness >= 0.5'
    """
    if isinstance(correct, CorrectNotion):
        return correct
    rule = getattr(evaluation, "correct_rule", None) if correct is None else correct
    if rule is None:
        return next(_guesses(evaluation), None)
    return _of_caller(evaluation, rule)


def _of_caller(evaluation: Scored, rule: Correct | CorrectNotion) -> CorrectNotion:
    if isinstance(rule, CorrectNotion):
        return rule
    apply_rule(evaluation, rule)  # an impossible rule raises here, before anything is computed
    return CorrectNotion(rule, "caller", "", rule_in_words(evaluation, rule))


def shared_notions(
    runs: Sequence[Scored], correct: Correct | CorrectNotion | None = None
) -> tuple[CorrectNotion, ...] | None:
    """What a correct answer of each of several pipelines is, by the same column if it is a guess.

    Parameters
    ----------
    runs : sequence of Scored
        The pipelines.
    correct : see `find_notion`, optional
        The rule of the caller for all of them; if omitted, each has its own, and those without one
        have that of the first that has one.

    Returns
    -------
    tuple of CorrectNotion, or None
        One per pipeline; None if nothing says what is correct in all of them.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> judged = {"query_id": ["a"], "exact_match": [0], "answer_correctness": [1]}
    >>> plain = {"query_id": ["a"], "exact_match": [0]}
    >>> runs = [RAGPipelineEvaluation("a", judged), RAGPipelineEvaluation("b", plain)]
    >>> shared_notions(runs) is None
    True
    """
    if correct is not None:
        return tuple(_of_caller(run, correct) for run in runs)
    own = [getattr(run, "correct_rule", None) for run in runs]
    stated = next((rule for rule in own if rule is not None), None)
    if stated is None:
        return _shared_guesses(runs)
    try:
        return tuple(
            _of_caller(run, stated if rule is None else rule)
            for run, rule in zip(runs, own, strict=True)
        )
    except RagevalError:  # the rule of one pipeline needs columns that another one lacks
        return None


def _shared_guesses(runs: Sequence[Scored]) -> tuple[CorrectNotion, ...] | None:
    """The first guess of the first pipeline that every pipeline has, under any of its names."""
    first, *others = ({_key(run, guess): guess for guess in _guesses(run)} for run in runs)
    key = next((key for key in first if all(key in guesses for guesses in others)), None)
    if key is None:
        return None
    return (first[key], *(guesses[key] for guesses in others))


def _key(run: Scored, guess: CorrectNotion) -> str:
    """The same for the same metric under any of its names."""
    metric = run.metrics.get(guess.column)
    return normalise_name(guess.column) if metric is None else metric.known_as


def correctness(evaluation: Scored, correct: Correct | CorrectNotion | None = None) -> pd.Series:
    """Whether each query was answered correctly.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores and details.
    correct : str, (str, float), mapping of str to float, or callable, optional
        A metric (correct means its best score), a metric and a threshold, thresholds that must all
        hold, a detail column of yes and no, or a function of the frame of scores and details that
        returns one boolean per row. If omitted, the rule of the evaluation, else a person's label,
        a judge of correctness, a metric of correctness, or an exact match.

    Returns
    -------
    Series of boolean, index query_id
        NA if the scores that decide are missing: neither correct nor incorrect. A question without
        an answer that was refused is correct; a function or a column that the caller names decides
        alone.

    Raises
    ------
    DataError
        If nothing says what is correct, or the rule makes no sense.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> scores = {"query_id": ["a", "b", "c"], "faithfulness": [0.9, 0.4, None]}
    >>> correctness(RAGPipelineEvaluation("hybrid", scores), ("faithfulness", 0.8)).tolist()
    [True, False, <NA>]
    """
    notion = find_notion(evaluation, correct)
    if notion is None:
        why = why_unknown(evaluation) or f"{evaluation.name!r} has no metric of correct answers"
        raise DataError(f"{why}. {HOW_TO_SAY}")
    return answers_by(evaluation, notion)


def answers_by(evaluation: Scored, notion: CorrectNotion) -> pd.Series:
    """Whether each query was answered correctly, by a rule that is known.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores and details.
    notion : CorrectNotion
        What `find_notion` or `shared_notions` gave for it.

    Returns
    -------
    Series of boolean, index query_id
        As in `correctness`.
    """
    right = apply_rule(evaluation, notion.rule)
    if _decides_alone(evaluation, notion):
        return right
    answers = right.array
    unknown = np.array(answers.isna())
    holds = answers.to_numpy(dtype=np.bool_, na_value=False)
    refused_rightly = _right_refusals(evaluation)
    if refused_rightly is not None:
        is_open = unknown if notion.origin in ("caller", "people") else True
        decides = ~np.isnan(refused_rightly) & is_open
        holds = np.where(decides, refused_rightly > _HALF, holds)
        unknown &= ~decides
    false_refusals = _numbers(evaluation, "false_refusal")
    if false_refusals is not None:
        unknown &= ~(false_refusals > _HALF)  # a refusal that nothing else judges is wrong
    return yes_or_no(holds, unknown, right.index)


@dataclass(frozen=True)
class CorrectCounts:
    """How many queries are answered correctly, wrongly, or nobody knows how.

    Parameters
    ----------
    n_correct, n_incorrect, n_unscored : int
        The numbers of queries.

    Examples
    --------
    >>> CorrectCounts(1, 2, 0) + CorrectCounts(0, 1, 1)
    CorrectCounts(n_correct=1, n_incorrect=3, n_unscored=1)
    """

    n_correct: int
    n_incorrect: int
    n_unscored: int

    @classmethod
    def of(cls, right: pd.Series) -> CorrectCounts:
        """The counts of some queries, of which `answers_by` gave the answers."""
        n_correct, n_unscored = int(right.sum()), int(right.isna().sum())
        return cls(n_correct, len(right) - n_correct - n_unscored, n_unscored)

    def __add__(self, other: CorrectCounts) -> CorrectCounts:
        """The counts of both parts."""
        return CorrectCounts(
            self.n_correct + other.n_correct,
            self.n_incorrect + other.n_incorrect,
            self.n_unscored + other.n_unscored,
        )


def declare_counts(evaluation: Scored, notion: CorrectNotion, counts: CorrectCounts) -> str:
    """The sentence of `declare`, of queries that are counted already.

    Parameters
    ----------
    evaluation : Scored
        The pipeline; only its metrics and some of its queries are needed.
    notion : CorrectNotion
        What is correct.
    counts : CorrectCounts
        The counts.
    """
    counted = counts.n_correct + counts.n_incorrect
    text = f"correct: {words_with_refusals(evaluation, notion)}"
    if not counted:
        return f"{text}; it is not known for any query whether its answer is correct"
    n_unscored = counts.n_unscored
    rest = f"; {n_unscored} more are unscored, and counted as neither" if n_unscored else ""
    return f"{text}; {counts.n_correct} of {counted} queries are correct{rest}"


def declare_all(runs: Sequence[Scored], notions: Sequence[CorrectNotion]) -> str:
    """The same sentence for several pipelines, with their counts.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> runs = [RAGPipelineEvaluation(n, {"query_id": ["x"], "exact_match": [1]}) for n in "ab"]
    >>> declare_all(runs, shared_notions(runs))
    'correct: exact_match = 1; a: 1 of 1 queries are correct, b: 1 of 1'
    """
    pairs = zip(runs, notions, strict=True)
    counts = [CorrectCounts.of(answers_by(run, notion)) for run, notion in pairs]
    return declare_all_counts(runs, notions, counts)


def declare_all_counts(
    runs: Sequence[Scored], notions: Sequence[CorrectNotion], counts: Sequence[CorrectCounts]
) -> str:
    """The sentence of `declare_all`, of queries that are counted already.

    Parameters
    ----------
    runs : sequence of Scored
        The pipelines; only their metrics and some of their queries are needed.
    notions : sequence of CorrectNotion
        What is correct in each.
    counts : sequence of CorrectCounts
        The counts of each.
    """
    parts: list[str] = []
    for run, known in zip(runs, counts, strict=True):
        verb = "" if parts else " queries are correct"
        n_known = known.n_correct + known.n_incorrect
        parts.append(f"{run.name}: {known.n_correct} of {n_known}{verb}")
    return f"{describe_notions(runs, notions)}; {', '.join(parts)}"


def describe_notions(runs: Sequence[Scored], notions: Sequence[CorrectNotion]) -> str:
    """What is correct in each pipeline; once if it is the same in all.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> rows = {"query_id": ["x"], "recall": [1]}
    >>> rules = {"a": ("recall", 1), "b": ("recall", 0.5)}
    >>> runs = [RAGPipelineEvaluation(name, rows, correct=rule) for name, rule in rules.items()]
    >>> describe_notions(runs, shared_notions(runs))
    'correct: recall >= 1 (a), recall >= 0.5 (b)'
    """
    pairs = zip(runs, notions, strict=True)
    words = {run.name: words_with_refusals(run, notion) for run, notion in pairs}
    distinct = list(dict.fromkeys(words.values()))
    if len(distinct) == 1:
        return f"correct: {distinct[0]}"
    return f"correct: {', '.join(f'{text} ({name})' for name, text in words.items())}"


def words_with_refusals(evaluation: Scored, notion: CorrectNotion) -> str:
    """The rule in words; with the refusals that count as correct, if there may be any."""
    refusals = None if _decides_alone(evaluation, notion) else _right_refusals(evaluation)
    if refusals is None or np.isnan(refusals).all():
        return notion.words
    return f"{notion.words}, or a right refusal"


def why_unknown(evaluation: Scored) -> str:
    """Why an exact match does not say what is correct; empty if there is none.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> long = "It was switched off by the operator at noon."
    >>> rows = {"query_id": ["a"], "reference": [long], "exact_match": [0]}
    >>> why_unknown(RAGPipelineEvaluation("a", rows)).partition(",")[0]
    'which answers are correct is not known: the references are long (a median of 9 words)'
    """
    exact = _metric_named(evaluation, EXACT_MATCHES)
    length = _words_of_references(evaluation)
    if exact is None:
        return ""
    unscored = [
        metric.name
        for metric in _correctness_metrics(evaluation)
        if not _usable(evaluation, metric)
    ]
    if unscored:
        return f"which answers are correct is not known: {unscored[0]} decides, and has no score"
    if length is None or length <= _MOST_WORDS:
        return ""
    return (
        f"which answers are correct is not known: the references are long (a median of {length:g} "
        f"words), so {exact.name} misses right answers in other words; pass correct=..., or let a "
        "judge score answer_correctness"
    )


# -- the guesses, in order


def _guesses(evaluation: Scored) -> Iterator[CorrectNotion]:
    yield from _labels(evaluation)
    metrics = [*_correctness_metrics(evaluation)]
    usable = [metric for metric in metrics if _usable(evaluation, metric)]
    for is_wanted in (True, False):
        for metric in usable:
            if _is_judged(evaluation, metric) is is_wanted:
                yield _by_metric(metric, is_judged=is_wanted)
    exact = _metric_named(evaluation, EXACT_MATCHES)
    length = _words_of_references(evaluation)
    if exact is not None and not metrics and (length is None or length <= _MOST_WORDS):
        yield CorrectNotion((exact.name, 1.0), "exact match", exact.name, f"{exact.name} = 1")


def _labels(evaluation: Scored) -> Iterator[CorrectNotion]:
    """Columns of labels that cover most queries; the sheet's, unless a judge wrote it."""
    by_name = {
        normalise_name(str(column)): str(column)
        for column in (*evaluation.details, *evaluation.scores)
    }
    for name in _LABELS:
        column = by_name.get(name)
        if column is None:
            continue
        metric = evaluation.metrics.get(column)
        if name == _SHEET and metric is not None and not _has_sheet(by_name):
            continue
        rule = _rule_of_label(evaluation, column)
        if rule is not None:
            yield CorrectNotion(rule, "people", column, f"a person's label, {column}")


def _has_sheet(by_name: Mapping[str, str]) -> bool:
    return "citations_correct" in by_name


def _rule_of_label(evaluation: Scored, column: str) -> Correct | None:
    """The rule by a column of labels; None if its cells say neither yes nor no, or are few."""
    metric = evaluation.metrics.get(column)
    if metric is not None and metric.bounds is None:
        return None
    rule: Correct = column if metric is None else (column, _middle(metric))
    try:
        right = apply_rule(evaluation, rule)
    except DataError:
        return None
    return rule if right.notna().mean() > _HALF else None


def _correctness_metrics(evaluation: Scored) -> Iterator[Metric]:
    known = {metric.known_as: metric for metric in reversed([*evaluation.metrics.values()])}
    return (known[name] for name in _CORRECTNESS if name in known)


def _usable(evaluation: Scored, metric: Metric) -> bool:
    return metric.bounds is not None and bool(evaluation.scores[metric.name].notna().any())


def _by_metric(metric: Metric, *, is_judged: bool) -> CorrectNotion:
    sign = ">=" if metric.greater_is_better else "<="
    words = f"{metric.name} {sign} {_middle(metric):g}"
    if is_judged:
        return CorrectNotion(
            (metric.name, _middle(metric)), "judge", metric.name, f"judged {words}"
        )
    return CorrectNotion((metric.name, _middle(metric)), "metric", metric.name, words)


def _middle(metric: Metric) -> float:
    """The middle of the scale: 0.5 between 0 and 1."""
    low, high = metric.bounds or (0.0, 1.0)
    return (low + high) / 2


def _is_judged(evaluation: Scored, metric: Metric) -> bool:
    """Whether a judge of this library gave the scores."""
    settings = getattr(evaluation, "config", {}).get("judge")
    rubrics = settings.get("rubrics", ()) if isinstance(settings, Mapping) else ()
    return metric.source == "judged" or metric.name in rubrics


def _metric_named(evaluation: Scored, names: Iterable[str]) -> Metric | None:
    known = {metric.known_as: metric for metric in reversed([*evaluation.metrics.values()])}
    return next((known[name] for name in names if name in known), None)


# -- refusals and references


def _decides_alone(evaluation: Scored, notion: CorrectNotion) -> bool:
    """Whether the caller has said it for each query: by a function or a column."""
    if notion.origin != "caller":
        return False
    rule = notion.rule
    return callable(rule) or (isinstance(rule, str) and rule in evaluation.details.columns)


def _right_refusals(evaluation: Scored) -> FloatArray | None:
    """1 for a question without an answer that was refused, 0 if it was not, NaN for all others.

    None if no metric says so of any question.
    """
    invented = _numbers(evaluation, "hallucinated_answer")
    refused = _numbers(evaluation, "abstention_recall")
    if invented is None:
        return refused
    values = 1.0 - invented
    return values if refused is None else np.where(np.isnan(values), refused, values)


def _numbers(evaluation: Scored, name: str) -> FloatArray | None:
    metric = _metric_named(evaluation, (name,))
    return None if metric is None else evaluation.scores[metric.name].to_numpy(dtype=np.float64)


def _words_of_references(evaluation: Scored) -> float | None:
    """The median number of words of the shortest reference of a query; None without references."""
    column = first_named(map(str, evaluation.details), REFERENCE)
    if column is None:
        return None
    cells = evaluation.details[column].dropna().head(_SAMPLE).tolist()
    lengths = [min(sizes) for cell in cells if (sizes := [*map(_size, _texts(cell))])]
    return float(np.median(lengths)) if lengths else None


def _texts(cell: object) -> list[str]:
    plain = plain_value(cell)
    texts = plain if isinstance(plain, list) else [plain]
    return [str(text) for text in texts if text is not None and str(text).strip()]


def _size(text: str) -> float:
    """Words; of a text without spaces, its letters on the same scale."""
    return max(float(len(text.split())), len(text) * _MOST_WORDS / _MOST_LETTERS)

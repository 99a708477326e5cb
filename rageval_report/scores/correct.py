"""What a correct answer is, in all reports alike: what the caller says, else the best evidence.

In this order: the rule of the caller; a person's label; a metric of correctness; an exact match, if
references are short and there is nothing else. A question without an answer is answered correctly
by a refusal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from operator import and_
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, RagevalError
from rageval_report.scores.cells import read_cells
from rageval_report.scores.metric import WORDS, Metric, is_binary, normalise_name
from rageval_report.scores.query_ids import REFERENCE, first_named
from rageval_report.scores.roles import resolver
from rageval_report.scores.saved_columns import plain_value
from rageval_report.scores.states import is_missing
from rageval_report.scores.table import Scored, join_details
from rageval_report.types import BoolArray, FloatArray

Correct = (
    str
    | tuple[str, float]
    | Mapping[str, float]
    | Callable[[pd.DataFrame], "pd.Series | np.ndarray"]
)
Origin = Literal["caller", "people", "metric", "exact match"]

HOW_TO_SAY = (
    "Pass the rule for a correct answer: correct='exact_match', correct=('faithfulness', 0.8), "
    "correct={'faithfulness': 0.8, 'recall@5': 1.0}, the name of a column of booleans, or a "
    "function of the frame of rows."
)

# The column that the sheets for reviewers leave blank. A judge has the same name, but its verdicts
# come with its settings.
_SHEET = "answer_correct"
_PEOPLE, _VERDICTS, _CORRECTNESS = (
    WORDS["correct"][key].split() for key in ("people", "verdicts", "metrics")
)
_LABELS = (
    *(f"{person}_{verdict}" for person in _PEOPLE for verdict in _VERDICTS),
    *(f"correct_{person}" for person in _PEOPLE),
    _SHEET,
)

EXACT_MATCHES = ("exact_match", "exact_match_squad")

# An answer of more words is seldom repeated word by word. Open-domain Natural Questions keeps
# answers of at most 5 tokens (Lee et al. 2019).
_MOST_WORDS = 5
# The same for texts without spaces between words.
_MOST_LETTERS = 50
_SAMPLE = 1000
_HALF = 0.5


# -- a rule and the answers that it calls correct


def apply_rule(evaluation: Scored, correct: Correct) -> pd.Series:
    """Whether a rule calls each answer correct, NA if the scores that decide are missing.

    The rule is a metric (correct means its best score), a metric and a threshold, thresholds that
    must all hold, a detail column of yes and no, or a function of the frame of scores and details
    that returns one boolean per row.

    Raises
    ------
    DataError
        If the rule makes no sense.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> scores = {"query_id": ["a", "b", "c"], "faithfulness": [0.9, 0.4, None]}
    >>> apply_rule(RAGPipelineEvaluation("hybrid", scores), ("faithfulness", 0.8)).tolist()
    [True, False, <NA>]
    """
    if callable(correct):
        return _by_function(evaluation, correct)
    if _is_detail(evaluation, correct):
        name = str(correct)
        return _as_booleans(evaluation.details[name], name, evaluation.details.index)
    answers = []
    for metric, threshold in _thresholds(evaluation, correct):
        column = evaluation.scores[metric.name]
        values = column.to_numpy(dtype=np.float64)
        holds = values >= threshold if metric.greater_is_better else values <= threshold
        # A missing score is neither correct nor incorrect; a comparison with NaN would be False.
        answers.append(yes_or_no(holds, np.isnan(values), column.index))
    # Three-valued logic: False & NA is False, so one failure decides.
    return reduce(and_, answers).rename("correct")


def _is_detail(evaluation: Scored, correct: object) -> bool:
    """Whether a rule is a detail column of yes and no."""
    return isinstance(correct, str) and correct in evaluation.details.columns


def _thresholds(evaluation: Scored, correct: Correct) -> list[tuple[Metric, float]]:
    """The metrics of a rule with the scores that they must reach."""
    resolve = resolver(evaluation.metrics)
    if isinstance(correct, str):
        metric = evaluation.metrics[resolve(correct)]
        if metric.bounds is None:
            pair = f"({metric.name!r}, ...)"
            raise DataError(f"{metric.name!r} has no best score; pass a threshold: correct={pair}")
        return [(metric, metric.bounds[metric.greater_is_better])]
    if isinstance(correct, tuple) and (len(correct) != 2 or not isinstance(correct[0], str)):
        raise DataError(f"correct must be a metric and a threshold; got {correct!r}. {HOW_TO_SAY}")
    pairs: list[Any] = [*correct.items()] if isinstance(correct, Mapping) else [correct]
    if not pairs:
        raise DataError(f"correct must hold at least one threshold; got none. {HOW_TO_SAY}")
    return [(evaluation.metrics[resolve(name)], _threshold(number)) for name, number in pairs]


def _threshold(threshold: object) -> float:
    if isinstance(threshold, Real) and not isinstance(threshold, bool) and math.isfinite(threshold):
        return float(threshold)
    raise DataError(
        f"correct: a threshold must be a finite number; got {threshold!r}. {HOW_TO_SAY}"
    )


def yes_or_no(holds: BoolArray, unknown: BoolArray, index: pd.Index) -> pd.Series:
    """The answers as a Series, NA where they are unknown."""
    return pd.Series(pd.arrays.BooleanArray(holds, unknown), index=index, name="correct")


def rule_in_words(evaluation: Scored, correct: Correct) -> str:
    """A rule as a report shows it.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("a", {"query_id": ["q"], "recall@5": [1], "latency_ms": [9]})
    >>> rule_in_words(run, {"latency_ms": 2000, "recall@5": 0.5})
    'latency_ms <= 2000 and recall@5 >= 0.5'
    """
    if callable(correct):
        return f"the function {getattr(correct, '__name__', 'given')} says so"
    if _is_detail(evaluation, correct):
        return f"{correct} says so"
    thresholds = _thresholds(evaluation, correct)
    if isinstance(correct, str):
        return f"{thresholds[0][0].name} = {thresholds[0][1]:g}"
    return " and ".join(_condition(metric, limit) for metric, limit in thresholds)


def _condition(metric: Metric, threshold: float) -> str:
    return f"{metric.name} {'>=' if metric.greater_is_better else '<='} {threshold:g}"


def _by_function(evaluation: Scored, rule: Callable[[pd.DataFrame], object]) -> pd.Series:
    rows = join_details(evaluation.scores, evaluation.details)
    answers = rule(rows)
    name = getattr(rule, "__name__", "the function")
    if isinstance(answers, pd.Series) and len(answers) == len(rows):
        # A function may sort; rows that still have their query ids are put back in order.
        has_ids = answers.index.is_unique and rows.index.isin(answers.index).all()
        answers = answers.loc[rows.index] if has_ids else answers
    values = np.atleast_1d(np.asarray(answers))
    if values.shape != (len(rows),):
        raise DataError(
            f"correct: {name} must return one boolean per row ({len(rows)}); it returned "
            f"{' x '.join(map(str, values.shape))}"
        )
    return _as_booleans(pd.Series(values), name, rows.index)


def _as_booleans(column: pd.Series, name: str, index: pd.Index) -> pd.Series:
    """The yes and no of a column, which a sheet that people filled in says in words."""
    cells = [None if isinstance(cell, str) and not cell.strip() else cell for cell in column]
    present = [cell for cell in cells if not is_missing(cell)]
    numbers = read_cells(cells).numbers if any(isinstance(c, str) for c in present) else None
    if numbers is None and all(isinstance(cell, bool | Real | np.bool_) for cell in present):
        numbers = np.array(
            [math.nan if cell is None or is_missing(cell) else float(cell) for cell in cells]
        )
    if (
        numbers is None
        or not is_binary(numbers)
        or np.isnan(numbers).sum() > len(cells) - len(present)
    ):
        raise DataError(f"correct: {name!r} must be true or false for each query. {HOW_TO_SAY}")
    return yes_or_no(numbers == 1, np.isnan(numbers), index)


# -- in files


def correct_fields(correct: Correct | None) -> dict[str, Any]:
    """The rule for a correct answer as fields of a file; a function is only named."""
    if correct is None:
        return {}
    if callable(correct):
        return {"correct_function": getattr(correct, "__name__", type(correct).__name__)}
    return {"correct": plain_value(correct)}


def parse_correct(document: Mapping[str, Any]) -> tuple[Correct | None, tuple[str, ...]]:
    """The rule for a correct answer in a file, and a note if the file could not hold it."""
    if "correct_function" in document:
        note = (
            f"the rule for a correct answer was the function {document['correct_function']!r}, "
            "which a file cannot hold; pass correct=..."
        )
        return None, (note,)
    rule = document.get("correct")
    if rule is None or isinstance(rule, str):
        return rule, ()
    pairs = [*rule.items()] if isinstance(rule, dict) else [rule]
    kinds = [[*map(type, pair)] if isinstance(pair, list | tuple) else [] for pair in pairs]
    if not kinds or any(kind not in ([str, int], [str, float]) for kind in kinds):
        raise DataError(f"correct has the wrong shape: {rule!r:.60}")
    return (rule if isinstance(rule, dict) else (rule[0], rule[1])), ()


# -- what is correct


@dataclass(frozen=True)
class CorrectNotion:
    """What a correct answer is, and who or what decides."""

    rule: Correct
    origin: Origin
    column: str  # that decides; empty for a rule of the caller
    words: str  # such as "answer_correctness >= 0.5"

    @property
    def note(self) -> str:
        """That the rule is a guess, and how to overrule it; empty for a rule of the caller."""
        is_stated = self.origin == "caller"
        return "" if is_stated else f"{self.words} means correct; change it with correct="


def find_notion(
    evaluation: Scored, correct: Correct | CorrectNotion | None = None
) -> CorrectNotion | None:
    """What a correct answer of a pipeline is; None if nothing says so.

    Without a rule it is the rule of the evaluation, else the first guess that applies.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> scores = {"query_id": ["a", "b"], "exact_match": [0, 1], "answer_correctness": [0.75, 1]}
    >>> find_notion(RAGPipelineEvaluation("hybrid", scores)).words
    'answer_correctness >= 0.5'
    """
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

    Without a rule each has its own, and those without one have that of the first that has one.
    None if nothing says what is correct in all of them.
    """
    if correct is not None:
        return tuple(_of_caller(run, correct) for run in runs)
    own = [getattr(run, "correct_rule", None) for run in runs]
    stated = next((rule for rule in own if rule is not None), None)
    if stated is None:
        return _shared_guesses(runs)
    pairs = zip(runs, own, strict=True)
    try:
        return tuple(_of_caller(run, stated if rule is None else rule) for run, rule in pairs)
    except RagevalError:  # the rule of one pipeline needs columns that another one lacks
        return None


def _shared_guesses(runs: Sequence[Scored]) -> tuple[CorrectNotion, ...] | None:
    """The first guess of the first pipeline that every pipeline has, under any of its names."""

    def key_of(run: Scored, guess: CorrectNotion) -> str:
        metric = run.metrics.get(guess.column)
        return normalise_name(guess.column) if metric is None else metric.known_as

    first, *others = ({key_of(run, guess): guess for guess in _guesses(run)} for run in runs)
    key = next((key for key in first if all(key in guesses for guesses in others)), None)
    return None if key is None else (first[key], *(guesses[key] for guesses in others))


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
        a metric of correctness, or an exact match.

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
    """As `correctness`, by a rule that `find_notion` or `shared_notions` gave."""
    right = apply_rule(evaluation, notion.rule)
    if _decides_alone(evaluation, notion):
        return right
    unknown = np.array(right.array.isna())
    holds = right.array.to_numpy(dtype=np.bool_, na_value=False)
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
    """How many queries are answered correctly, wrongly, or nobody knows how."""

    n_correct: int
    n_incorrect: int
    n_unscored: int

    @classmethod
    def of(cls, right: pd.Series) -> CorrectCounts:
        """The counts of some queries, of which `answers_by` gave the answers."""
        n_correct, n_unscored = int(right.sum()), int(right.isna().sum())
        return cls(n_correct, len(right) - n_correct - n_unscored, n_unscored)

    @property
    def text(self) -> str:
        """How many of the known answers are correct."""
        return f"{self.n_correct} of {self.n_correct + self.n_incorrect}"


def declare_counts(evaluation: Scored, notion: CorrectNotion, counts: CorrectCounts) -> str:
    """What is correct, and how many queries are; of the pipeline a sample of rows is enough."""
    n_unscored = counts.n_unscored
    rest = f"; {n_unscored} more are unscored, and counted as neither" if n_unscored else ""
    words = words_with_refusals(evaluation, notion)
    return f"correct: {words}; {counts.text} queries are correct{rest}"


def declare_all(runs: Sequence[Scored], notions: Sequence[CorrectNotion]) -> str:
    """What is correct in several pipelines, and how many of their queries are.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> runs = [RAGPipelineEvaluation(n, {"query_id": ["x"], "exact_match": [1]}) for n in "ab"]
    >>> declare_all(runs, shared_notions(runs))
    'correct: exact_match = 1; a: 1 of 1 queries are correct, b: 1 of 1'
    """
    pairs = zip(runs, notions, strict=True)
    counts = [f"{run.name}: {CorrectCounts.of(answers_by(run, own)).text}" for run, own in pairs]
    counts[0] += " queries are correct"
    return f"{describe_notions(runs, notions)}; {', '.join(counts)}"


def describe_notions(runs: Sequence[Scored], notions: Sequence[CorrectNotion]) -> str:
    """What is correct in each pipeline; once if it is the same in all."""
    pairs = zip(runs, notions, strict=True)
    words = {run.name: words_with_refusals(run, notion) for run, notion in pairs}
    distinct = list(dict.fromkeys(words.values()))
    if len(distinct) == 1:
        return f"correct: {distinct[0]}"
    return f"correct: {', '.join(f'{text} ({name})' for name, text in words.items())}"


def words_with_refusals(evaluation: Scored, notion: CorrectNotion) -> str:
    """The rule in words; with the refusals that count as correct, if there may be any."""
    refusals = None if _decides_alone(evaluation, notion) else _right_refusals(evaluation)
    is_alone = refusals is None or np.isnan(refusals).all()
    return notion.words if is_alone else f"{notion.words}, or a right refusal"


def why_unknown(evaluation: Scored) -> str:
    """Why an exact match does not say what is correct; empty if there is none."""
    exact, metrics = _metric_known_as(evaluation, EXACT_MATCHES), _correctness_metrics(evaluation)
    length = _words_of_references(evaluation)
    if exact is not None and metrics:
        why = f"{metrics[0].name} decides, and has no score"
    elif exact is not None and length > _MOST_WORDS:
        why = (
            f"the references are long (a median of {length:g} words), so {exact.name} misses right "
            "answers in other words; pass correct=..., or let a judge score answer_correctness"
        )
    else:
        return ""
    return f"which answers are correct is not known: {why}"


# -- the guesses, in order


def _guesses(evaluation: Scored) -> Iterator[CorrectNotion]:
    yield from _labels(evaluation)
    metrics = _correctness_metrics(evaluation)
    usable = [m for m in metrics if m.bounds and evaluation.scores[m.name].notna().any()]
    for metric in usable:
        rule, words = (metric.name, _middle(metric)), _condition(metric, _middle(metric))
        yield CorrectNotion(rule, "metric", metric.name, words)
    exact = _metric_known_as(evaluation, EXACT_MATCHES)
    if exact is not None and not metrics and _words_of_references(evaluation) <= _MOST_WORDS:
        yield CorrectNotion((exact.name, 1.0), "exact match", exact.name, f"{exact.name} = 1")


def _labels(evaluation: Scored) -> Iterator[CorrectNotion]:
    """Columns of labels that cover most queries; the sheet's, unless a judge wrote it."""
    columns = map(str, (*evaluation.details, *evaluation.scores))
    by_name = {normalise_name(column): column for column in columns}
    for name in _LABELS:
        column = by_name.get(name)
        if column is None:
            continue
        metric = evaluation.metrics.get(column)
        if name == _SHEET and metric is not None and "citations_correct" not in by_name:
            continue
        if metric is not None and metric.bounds is None:
            continue
        rule: Correct = column if metric is None else (column, _middle(metric))
        try:
            right = apply_rule(evaluation, rule)
        except DataError:  # its cells say neither yes nor no
            continue
        if right.notna().mean() > _HALF:
            yield CorrectNotion(rule, "people", column, f"a person's label, {column}")


def _correctness_metrics(evaluation: Scored) -> list[Metric]:
    found = (_metric_known_as(evaluation, (name,)) for name in _CORRECTNESS)
    return [metric for metric in found if metric is not None]


def _metric_known_as(evaluation: Scored, names: Iterable[str]) -> Metric | None:
    known = {metric.known_as: metric for metric in reversed([*evaluation.metrics.values()])}
    return next((known[name] for name in names if name in known), None)


def _middle(metric: Metric) -> float:
    """The middle of the scale: 0.5 between 0 and 1."""
    low, high = metric.bounds or (0.0, 1.0)
    return (low + high) / 2


# -- refusals and references


def _decides_alone(evaluation: Scored, notion: CorrectNotion) -> bool:
    """Whether the caller has said it for each query: by a function or a column."""
    rule = notion.rule
    return notion.origin == "caller" and (callable(rule) or _is_detail(evaluation, rule))


def _right_refusals(evaluation: Scored) -> FloatArray | None:
    """1 for a question without an answer that was refused, 0 if it was not, NaN for all others."""
    invented = _numbers(evaluation, "hallucinated_answer")
    refused = _numbers(evaluation, "abstention_recall")
    if invented is None:
        return refused
    values = 1.0 - invented
    return values if refused is None else np.where(np.isnan(values), refused, values)


def _numbers(evaluation: Scored, name: str) -> FloatArray | None:
    metric = _metric_known_as(evaluation, (name,))
    return None if metric is None else evaluation.scores[metric.name].to_numpy(dtype=np.float64)


def _words_of_references(evaluation: Scored) -> float:
    """The median number of words of the shortest reference of a query; 0 without references."""
    column = first_named(map(str, evaluation.details), REFERENCE)
    cells = [] if column is None else evaluation.details[column].dropna().head(_SAMPLE).tolist()
    plain = [[*map(str, cell)] if isinstance(cell, list | tuple) else [str(cell)] for cell in cells]
    lengths = [min(map(_size, texts)) for texts in plain if any(map(str.strip, texts))]
    return float(np.median(lengths)) if lengths else 0.0


def _size(text: str) -> float:
    """Words; of a text without spaces, its letters on the same scale."""
    return max(float(len(text.split())), len(text) * _MOST_WORDS / _MOST_LETTERS)

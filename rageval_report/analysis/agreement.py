"""How far raters agree: a judge with people, people with each other, or several judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import choose_metrics, kind_of_mean
from rageval_report.analysis.ratings import CLOSE, Ratings, RatingScale, ScaleKind, scale_of_judges
from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.scores.query_ids import first_named
from rageval_report.scores.states import VOTES, unscored_reasons
from rageval_report.scores.texts import ANSWER, QUESTION
from rageval_report.stats.agreement import (
    MeasurementLevel,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
)
from rageval_report.stats.base import Interval, check_level, check_resamples, check_seed
from rageval_report.stats.means import mean_interval
from rageval_report.types import FloatArray

JUDGE_AND_PEOPLE = "judge and people"
_PEOPLE = "people with each other"

# Words for the size of a coefficient, each with the smallest value it applies to.
_ANY = -math.inf
_LANDIS, _KRIPPENDORFF, _COHEN = "Landis & Koch 1977", "Krippendorff 2004", "Cohen 1988"
_WORDS = {
    _LANDIS: {
        _ANY: "poor",
        0.0: "slight",
        0.2: "fair",
        0.4: "moderate",
        0.6: "substantial",
        0.8: "almost perfect",
    },
    _KRIPPENDORFF: {_ANY: "unreliable", 0.667: "tentative", 0.8: "reliable"},
    _COHEN: {_ANY: "none", 0.1: "small", 0.3: "medium", 0.5: "large"},
}
_LEVELS: dict[ScaleKind, MeasurementLevel] = {
    "binary": "nominal",
    "nominal": "nominal",
    "ordinal": "ordinal",
    "continuous": "interval",
}


@dataclass(frozen=True, slots=True)
class IntervalSettings:
    """The settings of the intervals, checked."""

    confidence_level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0

    def __post_init__(self) -> None:
        check_level(self.confidence_level)
        check_resamples(self.n_resamples)
        check_seed(self.seed)


@dataclass(frozen=True, eq=False)
class AgreementFigure:
    """One row of a table of agreement: a named estimate with its interval and a word for it."""

    part: str
    name: str
    interval: Interval
    n: int
    source: str = ""
    reading: str = ""
    verdict: str | None = None

    @classmethod
    def read(
        cls, part: str, name: str, interval: Interval, n: int, source: str = ""
    ) -> AgreementFigure:
        """A figure with the word of a benchmark.

        Examples
        --------
        >>> kappa = Interval(0.65, 0.5, 0.8, 0.1, "gwet", 0.95)
        >>> AgreementFigure.read("both", "kappa", kappa, 40, "Landis & Koch 1977").reading
        'substantial'
        """
        if not source or math.isnan(interval.estimate):
            return cls(part, name, interval, n)
        words = reversed(_WORDS[source].items())
        reading = next(word for least, word in words if interval.estimate >= least)
        return cls(part, name, interval, n, source, reading)

    def row(self) -> dict[str, object]:
        """The row of the frame."""
        return {
            "part": self.part,
            "figure": self.name,
            "estimate": self.interval.estimate,
            "ci_low": self.interval.low,
            "ci_high": self.interval.high,
            "n": self.n,
            "reading": self.reading or None,
            "source": self.source or None,
            "method": self.interval.method,
            "verdict": self.verdict,
        }


def interval_notes(figures: Iterable[AgreementFigure]) -> list[str]:
    """The notes of the intervals, each once with the figures it applies to."""
    names_by_note: dict[str, dict[str, None]] = {}
    for figure in figures:
        for note in figure.interval.notes:
            names_by_note.setdefault(note, {})[figure.name] = None
    return [f"{', '.join(names)}: {note}" for note, names in names_by_note.items()]


# -- two ratings of each query


@dataclass(frozen=True, eq=False)
class RatingPair:
    """Two ratings of the same queries, without gaps, and their scale."""

    a: FloatArray
    b: FloatArray
    scale: RatingScale
    settings: IntervalSettings

    def figures(self, part: str) -> list[AgreementFigure]:
        """The measures that are for this scale."""
        return [
            AgreementFigure.read(part, name, compute(self), self.a.size, source)
            for name, kinds, compute, source in MEASURES
            if self.scale.kind in kinds
        ]


def _same(pair: RatingPair) -> Interval:
    same = (pair.a == pair.b).astype(np.float64)
    level = pair.settings.confidence_level
    return mean_interval(same, bounds=(0.0, 1.0), confidence_level=level)


def _beyond_chance(pair: RatingPair, coefficient: Callable[..., Interval]) -> Interval:
    categories = [float(category) for category in pair.scale.categories]
    level = pair.settings.confidence_level
    return coefficient(pair.a, pair.b, categories=categories, confidence_level=level)


def _alpha(pair: RatingPair) -> Interval:
    return alpha_of(np.column_stack([pair.a, pair.b]), pair.scale, pair.settings)


def alpha_of(table: FloatArray, scale: RatingScale, settings: IntervalSettings) -> Interval:
    """Krippendorff's alpha at the measurement level of the scale."""
    return krippendorff_alpha(table, _LEVELS[scale.kind], **asdict(settings))


def _kappa(weights: Literal["linear", "quadratic"] | None = None) -> Callable[..., Interval]:
    return partial(_beyond_chance, coefficient=partial(cohen_kappa, weights=weights))


def _correlation(kind: CorrelationKind) -> Callable[..., Interval]:
    def compute(pair: RatingPair) -> Interval:
        return correlation(pair.a, pair.b, kind, confidence_level=pair.settings.confidence_level)

    return compute


CorrelationKind = Literal["pearson", "spearman", "kendall"]
_ALL, _STEPS, _NUMBERS = ("binary", "nominal", "ordinal"), ("ordinal",), ("continuous",)
_AC1 = partial(_beyond_chance, coefficient=gwet_ac1)
_AC2 = partial(_beyond_chance, coefficient=partial(gwet_ac2, weights="quadratic"))

# One more measure is one line: its name, its scales, how it is computed, whose words read it.
MEASURES: tuple[tuple[str, tuple[str, ...], Callable[[RatingPair], Interval], str], ...] = (
    ("percent agreement", _ALL, _same, ""),
    ("Cohen's kappa", _ALL, _kappa(), _LANDIS),
    ("Cohen's kappa, linear", _STEPS, _kappa("linear"), _LANDIS),
    ("Cohen's kappa, quadratic", _STEPS, _kappa("quadratic"), _LANDIS),
    ("Gwet's AC1", _ALL, _AC1, _LANDIS),
    ("Gwet's AC2, quadratic", _STEPS, _AC2, _LANDIS),
    ("Pearson correlation", _NUMBERS, _correlation("pearson"), _COHEN),
    ("Spearman correlation", _NUMBERS, _correlation("spearman"), _COHEN),
    ("Kendall's tau-b", _NUMBERS, _correlation("kendall"), ""),
    ("Krippendorff's alpha", (*_ALL, *_NUMBERS), _alpha, _KRIPPENDORFF),
)

# The variance of Fisher's z, and the fewest pairs: with fewer, its denominator is not above zero.
_VARIANCES: dict[CorrelationKind, tuple[Callable[[float, int], float], int]] = {
    "pearson": (lambda _, n: 1.0 / (n - 3), 4),
    "spearman": (lambda r, n: (1.0 + r**2 / 2.0) / (n - 3), 4),
    "kendall": (lambda _, n: 0.437 / (n - 4), 5),
}


def correlation(
    judge: FloatArray,
    people: FloatArray,
    kind: CorrelationKind = "pearson",
    *,
    confidence_level: float = 0.95,
) -> Interval:
    """A correlation of complete pairs with the interval of Fisher's z.

    NaN if a side is constant; the interval needs at least 4 pairs, for Kendall's tau-b 5. The
    variances are those of Bonett & Wright (2000).

    Examples
    --------
    >>> people = np.array([0.1, 0.4, 0.5, 0.8, 0.9, 1.0])
    >>> round(correlation(people**2, people, "spearman").estimate, 3)
    1.0
    >>> round(correlation(people**2, people).estimate, 3)
    0.975
    """
    from scipy.special import ndtri

    n, method = judge.size, f"fisher-z {kind}"
    if n < 2 or not (np.ptp(judge) and np.ptp(people)):
        note = "one query" if n < 2 else "a side is constant: the correlation is undefined"
        return Interval(*4 * (math.nan,), method, confidence_level, (note,))
    estimate = _CORRELATIONS[kind](judge, people)
    variance, fewest = _VARIANCES[kind]
    # On a line Fisher's transformation is infinite.
    if n < fewest or abs(estimate) >= 1.0 - 1e-12:
        why = f"{n} queries" if n < fewest else "all queries lie on a line"
        nan, note = math.nan, f"{why}: no interval"
        return Interval(estimate, nan, nan, nan, method, confidence_level, (note,))
    error = math.sqrt(variance(estimate, n))
    reach = float(ndtri(0.5 + confidence_level / 2.0)) * error
    low, high = (math.tanh(math.atanh(estimate) + side) for side in (-reach, reach))
    # Back from Fisher's z to the correlation by the derivative of tanh.
    return Interval(estimate, low, high, error * (1.0 - estimate**2), method, confidence_level)


def _pearson(a: FloatArray, b: FloatArray) -> float:
    sides = []
    for values in (a, b):
        scaled = values / np.abs(values).max()  # huge and tiny numbers have squares, too
        centred = scaled - scaled.mean()
        sides.append(centred / math.sqrt(float((centred * centred).sum())))
    return min(max(float((sides[0] * sides[1]).sum()), -1.0), 1.0)


def _spearman(a: FloatArray, b: FloatArray) -> float:
    first, second = (pd.Series(side).rank().to_numpy(dtype=np.float64) for side in (a, b))
    return _pearson(np.asarray(first), np.asarray(second))


def _kendall(a: FloatArray, b: FloatArray) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(a, b).statistic)


_CORRELATIONS: dict[CorrelationKind, Callable[[FloatArray, FloatArray], float]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _kendall,
}


# -- several raters


def people_figures(
    ratings: Ratings, scale: RatingScale, settings: IntervalSettings
) -> Iterator[AgreementFigure]:
    """The agreement of people with each other: the most that can be expected of a judge."""
    rated = np.column_stack([scale.label_categories(column) for column in ratings.table.T])
    has_several = (~np.isnan(rated)).sum(axis=1) > 1
    if not has_several.any():
        return
    table = rated[has_several]
    yield from group_figures(_PEOPLE, table, scale, settings)
    # If this is below people's own alpha, the judge agrees with them less than they with each
    # other.
    joined = np.column_stack([table, scale.judge_categories(ratings.judge)[has_several]])
    alpha = alpha_of(joined, scale, settings)
    yield AgreementFigure.read(
        _PEOPLE, "alpha, the judge as one more", alpha, len(table), _KRIPPENDORFF
    )


def group_figures(
    part: str, table: FloatArray, scale: RatingScale, settings: IntervalSettings
) -> Iterator[AgreementFigure]:
    """The agreement of several raters, one column each; each query has two ratings or more."""
    level = settings.confidence_level
    if scale.kind != "continuous":
        # The mean over queries of the share of pairs of raters who agree.
        pairs = [
            (~(np.isnan(first) | np.isnan(second)), first == second)
            for first, second in combinations(table.T, 2)
        ]
        same = sum(is_pair & is_same for is_pair, is_same in pairs)
        share = mean_interval(
            same / sum(is_pair.astype(int) for is_pair, _ in pairs),
            bounds=(0.0, 1.0),
            kind="proportion" if table.shape[1] > 2 else "binary",
            confidence_level=level,
        )
        yield AgreementFigure(part, "percent agreement", share, len(table))
        # Fleiss' kappa needs an equal number of ratings: the usual one.
        n_ratings = (~np.isnan(table)).sum(axis=1)
        rated = table[n_ratings == np.bincount(n_ratings).argmax()]
        counts = np.column_stack([(rated == value).sum(axis=1) for value in scale.categories])
        kappa = fleiss_kappa(counts, confidence_level=level)
        yield AgreementFigure.read(part, "Fleiss' kappa", kappa, len(rated), _LANDIS)
    alpha = alpha_of(table, scale, settings)
    yield AgreementFigure.read(part, "Krippendorff's alpha", alpha, len(table), _KRIPPENDORFF)


# -- several judges


def votes_of(evaluation: Scored, metric: str | Metric) -> pd.DataFrame:
    """Each judge's scores of a metric that several judges scored: one column per judge.

    Examples
    --------
    >>> from rageval_report import score
    >>> from rageval_report.judges import ScriptedChat
    >>> rows = [{"query_id": "q", "question": "Where is Oslo?", "answer": "In Norway."}]
    >>> chats = [ScriptedChat([f"SCORE: {n}"], model=name) for n, name in ((5, "a"), (4, "b"))]
    >>> run = score(rows, "answer_relevancy", chat=chats)
    >>> votes_of(run, "answer_relevancy").loc["q"].to_dict()
    {'a': 1.0, 'b': 0.75}
    """
    known = metric if isinstance(metric, Metric) else choose_metrics(evaluation, metric)[0]
    column = f"{known.name}{VOTES}"
    cells = evaluation.details[column].tolist() if column in evaluation.details else []
    if not any(isinstance(cell, Mapping) for cell in cells):
        raise DataError(
            f"{known.name!r} was not scored by several judges: the details have no column "
            f"{column!r}. Give a list of chats: score(..., chat=[first, second])"
        )
    rows = [cell if isinstance(cell, Mapping) else {} for cell in cells]
    return pd.DataFrame(rows, index=evaluation.scores.index).astype(np.float64)


def _judged_metrics(evaluation: Scored, metrics: str | Iterable[str] | None) -> list[Metric]:
    if metrics is not None:
        return choose_metrics(evaluation, metrics)
    known = evaluation.metrics.values()
    judged = [metric for metric in known if f"{metric.name}{VOTES}" in evaluation.details]
    if not judged:
        raise DataError(
            f"no metric of {evaluation.name!r} was scored by several judges. Give a list of "
            "chats: score(..., chat=[first, second])"
        )
    return judged


def judges_agreement(
    evaluation: Scored,
    metrics: str | Iterable[str] | None = None,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Result:
    """How far several judges agree on each metric, and the mean of each.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        An evaluation whose metrics were scored by several judges.
    metrics : str or iterable of str, optional
        The judged metrics; if omitted, all that several judges scored.
    confidence_level, n_resamples, seed
        As in `rageval_report.calibrate`.

    Returns
    -------
    Result
        One row per metric, part and figure: ``metric``, ``part``, ``figure``, ``estimate``,
        ``ci_low``, ``ci_high``, ``n``, ``reading``, ``source``, ``method``. The parts are each
        judge (its mean), each pair of judges, and with three judges or more all of them together.

    Examples
    --------
    >>> from rageval_report import score
    >>> from rageval_report.judges import Rubric, ScriptedChat
    >>> rubric = Rubric("is_polite", "Polite?", "Polite? {answer}", kind="yes_no")
    >>> rows = [{"query_id": n, "answer": n} for n in "abcd"]
    >>> said = {"strict": "YES YES NO NO", "kind": "YES YES YES NO"}
    >>> chats = [
    ...     ScriptedChat([f"VERDICT: {word}" for word in words.split()], model=name)
    ...     for name, words in said.items()
    ... ]
    >>> run = score(rows, rubric, chat=chats, judging={"concurrency": 1})
    >>> table = judges_agreement(run).frame.set_index(["part", "figure"])["estimate"]
    >>> float(table["strict and kind", "Cohen's kappa"]), float(table["strict", "mean score"])
    (0.5, 0.5)
    """
    settings = IntervalSettings(confidence_level, n_resamples, seed)
    rows, notes = [], []
    for metric in _judged_metrics(evaluation, metrics):
        votes = votes_of(evaluation, metric)
        figures = list(_figures_of_judges(votes, metric, settings))
        rows += [{"metric": metric.name, **figure.row()} for figure in figures]
        notes += [f"{metric.name}: {note}" for note in _notes_on_judges(votes, figures)]
    return Result(
        f"Agreement of judges: {evaluation.name}",
        pd.DataFrame(rows).drop(columns="verdict"),
        asdict(settings),
        tuple(notes),
        headline=("metric", "part", "figure", "estimate", "ci_low", "ci_high", "n", "reading"),
        grouped_by="metric",
    )


def _figures_of_judges(
    votes: pd.DataFrame, metric: Metric, settings: IntervalSettings
) -> Iterator[AgreementFigure]:
    for judge in votes:
        scores = votes[judge].dropna().to_numpy()
        mean = mean_interval(
            scores,
            bounds=metric.bounds,
            kind=kind_of_mean(metric),
            confidence_level=settings.confidence_level,
        )
        yield AgreementFigure(str(judge), "mean score", mean, len(scores))
    table, judges = votes.to_numpy(), tuple(map(str, votes))
    ratings = Ratings(votes.index, table[:, 0], table[:, 1:], judges[1:], votes.index[:0])
    scale = scale_of_judges(ratings, metric)
    categories = np.column_stack([scale.judge_categories(column) for column in table.T])
    for (i, first), (j, second) in combinations(enumerate(judges), 2):
        both = categories[:, [i, j]]
        both = both[~np.isnan(both).any(axis=1)]
        if len(both):
            pair = RatingPair(both[:, 0], both[:, 1], scale, settings)
            yield from pair.figures(f"{first} and {second}")
    has_several = (~np.isnan(table)).sum(axis=1) > 1
    if len(judges) > 2 and has_several.any():
        yield from group_figures("all judges", categories[has_several], scale, settings)


def _notes_on_judges(votes: pd.DataFrame, figures: Sequence[AgreementFigure]) -> Iterator[str]:
    n_by_judge = votes.notna().sum()
    if (n_by_judge < len(votes)).any():
        counts = ", ".join(f"{judge} {n}" for judge, n in n_by_judge.items())
        yield f"of {len(votes)} queries, scored by {counts}; a pair counts where both scored"
    for first, second in combinations(votes, 2):
        if votes[[first, second]].dropna().empty:
            yield f"no query was scored by both {first} and {second}"
    yield from interval_notes(figures)


def judges_disagreements(evaluation: Scored, metrics: str | Iterable[str] | None = None) -> Result:
    """The queries on which several judges differ, the largest difference first.

    Parameters
    ----------
    evaluation, metrics
        As for `judges_agreement`.

    Returns
    -------
    Result
        Index ``query_id``, one row per metric and query: ``metric``, ``spread``, the difference
        of the highest and the lowest score, ``score``, the combined one, the score of each judge
        under its name, and the question, the answer and the judges' reasons if there are any.

    Examples
    --------
    >>> from rageval_report import score
    >>> from rageval_report.judges import ScriptedChat
    >>> rows = [{"query_id": n, "question": "Who?", "answer": n} for n in "xy"]
    >>> chats = [ScriptedChat(["SCORE: 5", f"SCORE: {n}"], model=f"judge-{n}") for n in (5, 1)]
    >>> run = score(rows, "answer_relevancy", chat=chats, judging={"concurrency": 1})
    >>> frame = judges_disagreements(run).frame
    >>> frame[["spread", "judge-5", "judge-1"]].loc["y"].to_dict()
    {'spread': 1.0, 'judge-5': 1.0, 'judge-1': 0.0}
    """
    tables, notes, judges = [], [], dict[str, None]()
    for metric in _judged_metrics(evaluation, metrics):
        votes = votes_of(evaluation, metric)
        judges |= dict.fromkeys(map(str, votes))
        spread = votes.max(axis=1) - votes.min(axis=1)
        differs = spread[spread > CLOSE].sort_values(ascending=False, kind="stable").index
        n_compared = int((votes.notna().sum(axis=1) > 1).sum())
        notes.append(f"{metric.name}: judges differ on {len(differs)} of {n_compared} queries")
        scores = evaluation.scores[metric.name]
        head = pd.DataFrame({"metric": metric.name, "spread": spread, "score": scores})
        parts = [head, votes, text_columns(evaluation, metric)]
        tables.append(pd.concat(parts, axis=1).loc[differs])
    frame = pd.concat(tables).rename_axis("query_id")
    texts_shown = [name for name in ("question", "reason") if name in frame]
    return Result(
        f"Where judges disagree: {evaluation.name}",
        frame,
        {"judges": ", ".join(judges)},
        tuple(notes),
        headline=("metric", "spread", *judges, *texts_shown),
    )


def text_columns(evaluation: Scored, metric: Metric) -> pd.DataFrame:
    """Question, answer and the judge's reason, if the details have them."""
    details = evaluation.details
    columns: dict[str, pd.Series] = {}
    for name, names in (("question", QUESTION), ("answer", ANSWER)):
        column = first_named(map(str, details), names)
        if column is not None:
            columns[name] = details[column]
    reasons = unscored_reasons(details, metric.name)
    if reasons.notna().any():
        columns["reason"] = reasons
    return pd.DataFrame(columns, index=details.index)

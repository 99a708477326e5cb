"""Tells a row of totals from a query: by its label, and by whether its numbers are the totals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import numpy as np

from rageval_report.types import BoolArray

# Words of English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Polish, Russian,
# Chinese and Japanese, as spreadsheets and evaluation tools write them.
_WORDS = {
    "mean": (
        "mean means average averages avg ave mittel mittelwert durchschnitt moyenne media promedio "
        "média gemiddelde medelvärde genomsnitt średnia среднее 平均 平均值 均值"
    ),
    "total": (
        "total totals all overall sum aggregate aggregated summary gesamt insgesamt summe somme "
        "ensemble totale suma soma somma totaal summa razem итого всего 合计 總計 总计 合計"
    ),
    "median": "median mediane médiane mediana медиана 中位数 中央値",
    "standard deviation": "std stdev stddev sd deviation standardabweichung stdabw",
    "standard error": "sem se stderr",
    "variance": "var variance varianz",
    "minimum": "min minimum",
    "maximum": "max maximum",
    "count": "count anzahl",
}
_KIND_OF = {word: kind for kind, words in _WORDS.items() for word in words.split()}
# These words are hardly ever the id of a query; the others may be, so that numbers must agree.
_CERTAIN = frozenset(
    "mean means average averages avg median std stdev stddev total totals all overall sum gesamt "
    "mittelwert durchschnitt moyenne promedio".split()
)
# Words that may stand beside them, as in "macro average" and "Mean score of all queries".
_BESIDE = frozenset(
    "macro micro weighted grand score scores of the queries query questions question rows row "
    "standard error dev row column".split()
)
_TOKEN = re.compile(r"\d+(?:\.\d+)?%|[^\W\d_]+")
_SIZE = re.compile(r"[(\[]?\bn\s*=\s*[\d,. ]*\d[)\]]?")
_QUANTILE = re.compile(r"(\d+(?:\.\d+)?)%")
_LONGEST = 40

_PERCENTS = tuple(f"{percent}%" for percent in (1, 5, 10, 20, 25, 50, 75, 80, 90, 95, 99))
_FRAMES = ("{}", "{}:", "({})", "[{}]", "<{}>", "*{}*", "**{}**", "_{}_", "__{}__", " {}", "{} ")

# At most this many labelled rows are compared; a table with more of them is one of words.
MOST_LABELS = 200


def _spellings() -> frozenset[str]:
    """The usual spellings of the words, to find them among millions of ids in one step."""
    phrases = (
        *(*_KIND_OF, *_PERCENTS, "overall mean", "overall average", "grand total", "mean score"),
        *("macro average", "macro avg", "micro avg", "weighted avg", "std dev", "average score"),
    )
    cased = {form for word in phrases for form in (word, word.title(), word.upper())}
    return frozenset(frame.format(word) for word in cased for frame in _FRAMES)


SPELLINGS = _spellings()


def kinds_of_label(label: object) -> frozenset[str]:
    """The statistics that a label names; none if it names no statistic.

    Examples
    --------
    >>> sorted(kinds_of_label("Overall mean (n=50):")), sorted(kinds_of_label("25%"))
    (['mean', 'total'], ['25%'])
    >>> kinds_of_label("all the king's men")
    frozenset()
    """
    if not isinstance(label, str) or len(label) > _LONGEST:
        return frozenset()
    text = _SIZE.sub("", label.casefold())
    tokens = _TOKEN.findall(text)
    # Digits that belong to no percentage number something: "mean 3" is an id.
    if re.search(r"\d", _QUANTILE.sub("", text)):
        return frozenset()
    named = {token for token in tokens if token in _KIND_OF or _QUANTILE.fullmatch(token)}
    if not named or not named | _BESIDE >= set(tokens):
        return frozenset()
    return frozenset(_KIND_OF.get(token, token) for token in named)


def is_certain_label(label: object) -> bool:
    """Whether a label hardly names a query: "mean" does not, "max" may.

    Examples
    --------
    >>> is_certain_label("Average:"), is_certain_label("25%"), is_certain_label("max")
    (True, True, False)
    """
    tokens = _TOKEN.findall(_SIZE.sub("", str(label).casefold()))
    return any(token in _CERTAIN or _QUANTILE.fullmatch(token) for token in tokens)


@dataclass(frozen=True)
class ColumnMatch:
    """What the number of one column is, if it is a statistic of the other rows."""

    column: str
    value: float
    statistic: str | None
    # Any statistic of a constant column is the constant, which shows nothing.
    is_telling: bool


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers, NaN where a cell holds none."""

    name: str
    numbers: np.ndarray


def match_columns(
    columns: Sequence[NumberColumn],
    row: int,
    kinds: Iterable[str],
    groups: Iterable[BoolArray],
) -> list[ColumnMatch]:
    """Compare the numbers of one row with the statistics of groups of other rows.

    Parameters
    ----------
    columns : sequence of NumberColumn
        The columns of numbers.
    row : int
        The row that may hold totals.
    kinds : iterable of str
        The statistics that its label names.
    groups : iterable of boolean arrays
        The rows that it may summarise: all queries, or those of its block.

    Returns
    -------
    list of ColumnMatch
        One per column in which the row has a number, for the group that fits best.

    Examples
    --------
    >>> recall = NumberColumn("recall", np.array([0.5, 1.0, 0.25, 0.583]))
    >>> others = np.array([True, True, True, False])
    >>> match_columns([recall], 3, ["mean"], [others])[0].statistic
    'mean'
    """
    filled = [column for column in columns if not math.isnan(column.numbers[row])]
    labels = tuple(kinds)
    best: list[ColumnMatch] = []
    for members in groups:
        if not members.any():
            continue
        matches = [_match_column(column, row, labels, members) for column in filled]
        if not best or _n_matches(matches) > _n_matches(best):
            best = matches
    return best


def _n_matches(matches: Iterable[ColumnMatch]) -> int:
    return sum(match.statistic is not None for match in matches)


def _match_column(
    column: NumberColumn, row: int, kinds: tuple[str, ...], members: BoolArray
) -> ColumnMatch:
    value, cells = float(column.numbers[row]), column.numbers[members]
    scored = cells[~np.isnan(cells)]
    if not len(scored):
        return ColumnMatch(column.name, value, None, False)
    is_telling = bool((scored != scored[0]).any())
    for kind in kinds:
        for statistic, number in _statistics(kind, scored, len(cells)):
            if _agrees(value, number):
                return ColumnMatch(column.name, value, statistic, is_telling)
    return ColumnMatch(column.name, value, None, is_telling)


def _statistics(kind: str, scored: np.ndarray, n_rows: int) -> list[tuple[str, float]]:
    """The numbers that a label of this kind may stand for, with their names."""
    quantile = _QUANTILE.fullmatch(kind)
    if quantile:
        return _quantiles(kind, scored, float(quantile[1]))
    # The sum of scores near the largest float is infinite, and matches no row.
    with np.errstate(over="ignore", invalid="ignore"):
        return _OF_KIND[kind](scored, n_rows)


def _quantiles(kind: str, scored: np.ndarray, percent: float) -> list[tuple[str, float]]:
    if percent > 100:
        return []
    methods: tuple[Literal["linear", "lower", "higher"], ...] = ("linear", "lower", "higher")
    share = percent / 100
    # Infinite scores, which are refused later, have no quantiles in between.
    with np.errstate(invalid="ignore"):
        return [(kind, float(np.quantile(scored, share, method=method))) for method in methods]


def _means(scored: np.ndarray, n_rows: int) -> list[tuple[str, float]]:
    sum_of_all = float(scored.sum())
    return [
        ("mean", sum_of_all / len(scored)),
        # Many tools count a failed score as 0.
        ("mean, unscored as 0", sum_of_all / n_rows),
    ]


def _totals(scored: np.ndarray, n_rows: int) -> list[tuple[str, float]]:
    return [*_means(scored, n_rows), ("sum", float(scored.sum()))]


def _counts(scored: np.ndarray, n_rows: int) -> list[tuple[str, float]]:
    return [("count", float(len(scored))), ("count", float(n_rows))]


def _deviations(scored: np.ndarray, _: int) -> list[tuple[str, float]]:
    degrees = (1, 0) if len(scored) > 1 else (0,)
    return [("standard deviation", float(scored.std(ddof=ddof))) for ddof in degrees]


def _standard_errors(scored: np.ndarray, n_rows: int) -> list[tuple[str, float]]:
    return [
        ("standard error", deviation / math.sqrt(len(scored)))
        for _, deviation in _deviations(scored, n_rows)
    ]


def _variances(scored: np.ndarray, n_rows: int) -> list[tuple[str, float]]:
    return [("variance", deviation**2) for _, deviation in _deviations(scored, n_rows)]


_OF_KIND: dict[str, Callable[[np.ndarray, int], list[tuple[str, float]]]] = {
    "mean": _means,
    "total": _totals,
    "median": lambda scored, _: [("median", float(np.median(scored)))],
    "standard deviation": _deviations,
    "standard error": _standard_errors,
    "variance": _variances,
    "minimum": lambda scored, _: [("minimum", float(scored.min()))],
    "maximum": lambda scored, _: [("maximum", float(scored.max()))],
    "count": _counts,
}


def _agrees(value: float, statistic: float) -> bool:
    """Whether a number is a statistic, rounded or cut to the decimals that it is written with."""
    if not math.isfinite(value) or not math.isfinite(statistic):
        return False
    n_decimals = max(0, -int(Decimal(repr(value)).as_tuple().exponent))
    # A whole number rounds a latency, but a mean of scores of 0.7 is not written as 1.
    if value.is_integer() and abs(value) >= 10:
        n_decimals = 0
    # Sums in another order differ in their last bits.
    exact = 1e-9 * max(1.0, abs(statistic))
    unit = 10.0**-n_decimals
    is_rounded = abs(value - statistic) <= unit / 2 + exact
    is_cut = n_decimals > 1 and 0 <= abs(statistic) - abs(value) < unit
    return is_rounded or (is_cut and value * statistic >= 0)

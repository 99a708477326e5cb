"""Sentences about paired differences: numbers, lists, verdicts, and the answer above them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rageval_report.scores.names import ShortNames
from rageval_report.scores.shown import (
    BETTER,
    DIRECTION_UNKNOWN,
    EQUIVALENT,
    IDENTICAL,
    NOT_TESTED,
    WORSE,
    Shown,
)

Row = Mapping[str, Any]

# Scores differ by rounding, or by more than this.
_BESIDE_ZERO = 1e-12
# Of more queries than ten times those there are, only the order of magnitude is said.
_MOST_TIMES = 10
_MOST_QUERIES_NAMED = 1_000_000

_CORRECTIONS = {
    "bh": "Benjamini–Hochberg",
    "bonferroni": "Bonferroni",
    "by": "Benjamini–Yekutieli",
    "hochberg": "Hochberg",
    "holm": "Holm",
    "westfall-young": "Westfall–Young",
}
# What each correction of the false discovery rate assumes.
_FALSE_DISCOVERY = {
    "bh": (
        "it assumes that the tests are independent, as those of groups without common queries are, "
        'or positively related; correction="by" does not'
    ),
    "by": "it assumes nothing of how the tests are related",
}
# The methods against a margin that are defaults; a sentence names the others.
_USUAL_METHODS = ("sign-flip", "mcnemar")


# -- numbers and lists


def number(value: float) -> str:
    """A number in a sentence: three decimals for shares, fewer for large values."""
    size = abs(value)
    # The limit of an interval that does not contain 0, but all numbers beside it.
    if 0.0 < size < _BESIDE_ZERO:
        return "just above 0" if value > 0 else "just below 0"
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.3f}" if size >= 0.001 or value == 0 else f"{value:.2g}"


def signed(value: float) -> str:
    """A difference with its sign, such as "+0.126"."""
    return f"+{number(value)}" if value > 0 else number(value)


def size_text(size: float) -> str:
    """A size that somebody chose, without needless digits: "0.05", "50"."""
    text = number(size)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def pvalue_text(pvalue: float) -> str:
    """A p-value after "p", with its sign of relation."""
    if pvalue < 0.001:
        return "< 0.001"
    return f"= {pvalue:.2g}" if pvalue < 0.1 else f"= {pvalue:.2f}"


def rounded_count(n: int) -> str:
    """An estimated count to two significant digits, rounded up because fewer are not enough."""
    step = 10 ** max(len(str(n)) - 2, 0) if n >= 100 else 1
    return f"{math.ceil(n / step) * step}"


def with_commas(n: int) -> str:
    """A count with commas between thousands."""
    return f"{n:,}"


def counted(n: int, singular: str, plural: str = "") -> str:
    """A count with its noun."""
    return f"{with_commas(n)} {singular if n == 1 else plural or f'{singular}s'}"


def queries_text(n: float, present: int) -> str:
    """A number of queries that are needed, beside those there are."""
    most = _MOST_TIMES * present
    if n <= most:
        return f"about {with_commas(int(rounded_count(math.ceil(n))))} queries"
    digit = 10 ** max(len(str(most)) - 1, 0)
    return f"over {with_commas(most // digit * digit)} queries"


def join_names(names: Sequence[str], most: int | None = None) -> str:
    """Names as a sentence lists them, the first few if they are many."""
    shown = [*names[:most]]
    if rest := len(names) - len(shown):
        return f"{', '.join(shown)} and {rest} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def names_with_rest(names: Sequence[str]) -> str:
    """The first three names, and how many more there are."""
    return join_names(names, 3)


# -- notes on a table


def correction_text(correction: str) -> str:
    """How a correction of p-values is called in a sentence, such as "Holm-adjusted"."""
    return "uncorrected" if correction == "none" else f"{correction_name(correction)}-adjusted"


def correction_name(correction: str) -> str:
    """The name of a correction, such as "Holm"."""
    return _CORRECTIONS.get(correction, correction)


def correction_note(correction: str, n_tests: int, alpha: float, unit: str = "tests") -> str:
    """The note on the correction of a table of several tests."""
    if correction == "none":
        alarms = n_tests * alpha
        return (
            f"{n_tests} {unit} without correction: expect about "
            f"{alarms if alarms < 10 else round(alarms):.2g} false alarms where nothing differs"
        )
    return f"p-values are adjusted ({correction}) over the {n_tests} {unit} of this table"


def false_discovery_notes(correction: str, n_shown: int, alpha: float) -> list[str]:
    """What a false discovery rate says of the groups that differ; nothing for other corrections."""
    assumption = _FALSE_DISCOVERY.get(correction)
    if assumption is None or not n_shown:
        return []
    return [
        f"of the {n_shown} slices that differ here, about one in {1 / alpha:.0f} may be "
        f"noise: {correction!r} limits the share of false findings, not the chance of a single "
        f'one, as "holm" does; {assumption}'
    ]


def filled_notes(n: int) -> tuple[str, ...]:
    """A note on missing scores that count as the worst possible ones; none if there are none."""
    if not n:
        return ()
    return (f"{n} missing {'score counts' if n == 1 else 'scores count'} as the worst possible",)


def group_notes(notes: Iterable[tuple[str, str]], n_metrics: int) -> list[str]:
    """Notes on metrics, each text once with all metrics to which it applies."""
    by_text: dict[str, dict[str, None]] = {}
    for metric, text in notes:
        by_text.setdefault(text, {})[metric] = None
    return [
        f"all {n_metrics} metrics: {text}"
        if len(metrics) == n_metrics > 1
        else f"{', '.join(metrics)}: {text}"
        for text, metrics in by_text.items()
    ]


def undecided_text(verdicts: Sequence[Any]) -> str:
    """How many metrics are undecided, and the queries that detect a useful difference."""
    if not verdicts:
        return ""
    are = counted(len(verdicts), "metric is", "metrics are")
    known = [(*own.missing_queries, own.n) for own in verdicts if own.missing_queries]
    if not known:
        return f"{are} undecided."
    sizes = {size_text(size) for size, *_ in known}
    difference = f"a difference of {sizes.pop()}" if len(sizes) == 1 else "a useful difference"
    known.sort(key=lambda need: (math.isnan(need[1]), need[1]))
    low, high = (queries_text(n, present) for _, n, present in (known[0], known[-1]))
    needed = low
    if low != high and not low.startswith("over"):
        needed = f"{low.removesuffix(' queries')} to {high.removeprefix('about ')}"
    return f"{are} undecided: {needed} would show {difference}."


def basis_text(frame: pd.DataFrame, plan: Any, correction: str, family: Any) -> str:
    """How a comparison was tested: the test, the families of its correction, the missing scores."""
    test = "sign-flip" if plan.test == "auto" else plan.test
    text = f"{test} test{' of clusters' if plan.units.are_clusters else ''}"
    is_quality = frame["metric"].isin(family.members)
    n_tests = int(frame.loc[is_quality, "n_tests"].max())
    if correction == "none":
        text += f"; {correction_note(correction, int(frame['pvalue'].notna().sum()), plan.alpha)}"
    elif n_tests > 1:
        quality = "quality " if family.outside else ""
        what = "metrics" if len(set(frame["candidate"])) == 1 or plan.tried > 1 else "tests"
        apart = f", {join_names(family.outside)} apart" if family.outside else ""
        name = correction_name(correction)
        text += f"; p adjusted for {n_tests} {quality}{what} ({name}){apart}"
    lost = frame.groupby("metric", sort=False)["n_dropped"].max()
    texts = [f"{n} {name}" for name, n in lost.sort_values(ascending=False).items() if n]
    return f"{text}. Missing scores: {names_with_rest(texts)}" if texts else text


def direction_question(metric: str) -> str:
    """The question that a reader must answer before a difference is better or worse."""
    return (
        f"is higher better? --higher {metric} / --lower {metric} "
        f"(in Python: metrics={{{metric!r}: 'lower'}})"
    )


def direction_notes(metrics: Iterable[Any]) -> list[str]:
    """The note on metrics whose direction was only guessed; none if all are known."""
    names = list(dict.fromkeys(own.name for own in metrics if not own.direction_is_known))
    return [f"{names_with_rest(names)}: {direction_question(names[0])}"] if names else []


# -- the verdict of a row


@dataclass(frozen=True)
class TestWords:
    """What the sentences of a table say of its tests."""

    __test__ = False  # for pytest

    correction: str
    family_size: int
    alpha: float
    fewest: int
    tried: int = 1

    def pvalue(self, row: Row) -> str:
        """The p-value after correction, with the name of the correction if it had an effect."""
        text = pvalue_text(row["pvalue_adjusted"])
        is_of_many = self.correction != "none" and self.family_size > 1
        if self.tried > 1 and not is_of_many:
            return f"corrected p {text}"
        if self.correction != "none" and not is_of_many:
            return f"p {text}"
        return f"{correction_text(self.correction)} p {text}"


def verdict_sentence(row: Row, words: TestWords) -> str:
    """The verdict of one metric of two pipelines in a sentence."""
    metric, names = row["metric"], f"{row['candidate']} and {row['baseline']}"
    n, unit = _units(row)
    if not row["n"]:
        return f"not compared on {metric}: no query is scored in both runs"
    if row["ties"] == row["n"]:
        paired = unit if unit == "clusters" else f"paired {unit}"
        return f"{names} are identical on {metric}: equal scores on all {n} {paired}"
    if math.isnan(row["pvalue"]):
        return (
            f"too few {unit} for a test on {metric}: {n} in common, at least {words.fewest} are "
            "needed"
        )
    if row["pvalue_adjusted"] <= words.alpha:
        return _shown_sentence(row, words) + _tried_part(words)
    if row.get("equivalence_pvalue_adjusted", math.nan) <= words.alpha:
        pvalue = pvalue_text(row["equivalence_pvalue_adjusted"])
        return (
            f"{names} are equivalent on {metric} within ±{number(row['margin'])} "
            f"({_equivalence_interval(row, words)}, equivalence p {pvalue})"
            f"{row['equivalence_note']}{_tried_part(words)}"
        )
    return _undecided_sentence(row, words) + _tried_part(words)


def _tried_part(words: TestWords) -> str:
    """That the numbers are corrected for a choice."""
    best = f"; corrected for the choice of the best of {words.tried} variants"
    return best if words.tried > 1 else ""


def _units(row: Row) -> tuple[int, str]:
    """The number of independent units of a row, and what they are."""
    if "n_clusters" in row:
        return int(row["n_clusters"]), "clusters"
    return int(row["n"]), "queries"


def _shown_sentence(row: Row, words: TestWords) -> str:
    difference, (n, unit) = row["difference"], _units(row)
    low, high = row["ci_low"], row["ci_high"]
    if difference < 0:  # so that the interval surrounds the size of the difference
        low, high = -high, -low
    is_known = row.get("direction_is_known", True)
    word: str = BETTER if (difference > 0) == row["greater_is_better"] else WORSE
    word = word if is_known else "higher" if difference > 0 else "lower"
    sentence = (
        f"{row['candidate']} is {word} on {row['metric']} by "
        f"{number(abs(difference))} ({100 * (1 - words.alpha):g} % CI {number(low)} to "
        f"{number(high)}), {words.pvalue(row)}, {n} {'' if unit == 'clusters' else 'paired '}{unit}"
    )
    if not is_known:
        return f"{sentence}; {direction_question(row['metric'])}"
    if math.isnan(row.get("margin", math.nan)):
        return sentence
    margin = number(row["margin"])
    if row["equivalence_pvalue_adjusted"] <= words.alpha:
        usual = row["margin_method"] in _USUAL_METHODS
        method = "" if usual else f" ({_equivalence_interval(row, words)})"
        return (
            f"{sentence}, but by less than the margin of {margin}{method}{row['equivalence_note']}"
        )
    if math.isnan(row["equivalence_low"]):
        return f"{sentence}; not shown to lie within ±{margin}{row['equivalence_note']}"
    # By the interval that the sentence shows, not by the narrower one of the test of equivalence.
    return f"{sentence}, by more than the margin of {margin}" if low > row["margin"] else sentence


def _equivalence_interval(row: Row, words: TestWords) -> str:
    """The interval that lies within the margin if equivalence is shown."""
    method = "" if row["margin_method"] in _USUAL_METHODS else f"{row['margin_method']} "
    low, high = number(row["equivalence_low"]), number(row["equivalence_high"])
    return f"{method}{100 * (1 - 2 * words.alpha):g} % CI {low} to {high}"


def _undecided_sentence(row: Row, words: TestWords) -> str:
    sentence = f"no difference shown on {row['metric']}"
    if row["pvalue"] <= words.alpha:
        tests = f"correcting for {words.family_size} tests" if words.tried == 1 else "correction"
        raw = pvalue_text(row["pvalue"])
        sentence += f": not significant after {tests} (p {raw}, {words.pvalue(row)})"
    parts = (_detectable_part(row), _needed_part(row), _margin_part(row, words))
    return "; ".join([sentence, *filter(None, parts)])


def _detectable_part(row: Row) -> str:
    """The differences that as many units can detect; empty if the differences do not vary."""
    detectable, (n, unit) = row["min_detectable_difference"], _units(row)
    is_share = row.get("kind") in ("binary", "proportion")
    widest = 1.0 if is_share else math.inf
    if math.isinf(detectable):
        return f"{n} {unit} cannot detect any difference after correction"
    if detectable >= widest:
        return f"{n} {unit} can detect hardly any difference"
    # A difference that was seen and is not shown contradicts a smaller number.
    if not detectable > abs(row["difference"]):
        return ""
    return f"{n} {unit} can detect only differences above about {number(detectable)}"


def _needed_part(row: Row) -> str:
    """The units that detect differences of a useful size, if they are more than there are."""
    (present, unit), parts = _units(row), list[str]()
    for size, n in needed_in(row):
        if n <= present:
            continue
        many = (
            "over a million" if not n <= _MOST_QUERIES_NAMED else f"about {rounded_count(int(n))}"
        )
        if parts:
            parts.append(f"for {number(size)} {many}")
            continue
        # Clusters are named, because the set would need more documents, not more questions on them.
        has_rest = unit == "clusters" and n <= _MOST_QUERIES_NAMED
        rest = f" ({rounded_count(int(n) - present)} more)" if has_rest else ""
        parts.append(f"to detect {number(size)}, ask {many} {unit}{rest}")
    return ", ".join(parts).replace("ask", "use" if unit == "clusters" else "ask", 1)


def needed_in(row: Row) -> tuple[tuple[float, float], ...]:
    """The differences of a useful size that a row plans for, and the units that each needs."""
    pairs = (("planned_difference", "n_needed"), ("smaller_planned_difference", "n_needed_smaller"))
    known = ((float(row.get(size, math.nan)), float(row.get(n, math.nan))) for size, n in pairs)
    return tuple(pair for pair in known if not math.isnan(pair[0]))


def _margin_part(row: Row, words: TestWords) -> str:
    """That the difference may be larger than the margin; empty without one."""
    if math.isnan(row.get("margin", math.nan)):
        return ""
    margin = f"not shown to lie within ±{number(row['margin'])}"
    if math.isnan(row["equivalence_low"]):
        return f"{margin}{row['equivalence_note']}"
    pvalue, correction = "", ""
    if row["equivalence_pvalue"] <= words.alpha:  # shown before the correction, not after it
        pvalue = f", equivalence p {pvalue_text(row['equivalence_pvalue_adjusted'])}"
        correction = " after correction"
    return f"{margin}{correction} ({_equivalence_interval(row, words)}{pvalue})"


# -- the answer above the table


def pair_answer(
    labels: Mapping[Shown, Sequence[str]], names: tuple[str, str], n: int, fewest: int
) -> str:
    """The answer for two pipelines in one sentence."""
    baseline, candidate = names
    n_of = {shown: len(own) for shown, own in labels.items()}
    k, first = sum(n_of.values()), next(own[0] for own in labels.values() if own)
    m = counted(k, "metric")
    if n_of.get(NOT_TESTED) == k:
        return (
            f"Too few queries to compare {candidate} and {baseline}: {n} in common, at least "
            f"{fewest} are needed."
        )
    better, worse, equivalent = (n_of.get(shown, 0) for shown in (BETTER, WORSE, EQUIVALENT))
    if better:
        end = "; no metric is clearly worse."
        if worse:
            end = f" and worse on {labels[WORSE][0] if worse == 1 else worse}."
        return f"{candidate} is better than {baseline} on {better} of {m}{end}"
    if worse:
        return f"{candidate} is worse than {baseline} on {worse} of {m} and better on none."
    if n_of.get(IDENTICAL) == k:
        return f"{candidate} and {baseline} have the same scores on every query."
    if equivalent + n_of.get(IDENTICAL, 0) == k:
        on = f"all {m}" if k > 1 else first
        return f"{candidate} and {baseline} are equivalent on {on}, within your margins."
    if unknown := labels.get(DIRECTION_UNKNOWN):
        on = names_with_rest(unknown)
        return f"{candidate} differs from {baseline} on {on}; is higher better?"
    start = f"No difference is shown between {candidate} and {baseline}"
    if equivalent:
        are = "is" if equivalent == 1 else "are"
        return f"{start}; {equivalent} of {m} {are} equivalent."
    return f"{start} on any of {m}." if k > 1 else f"{start} on {first}."


def several_answer(shown: Mapping[str, tuple[int, int]], baseline: str, names: ShortNames) -> str:
    """The answer for several candidates beside one baseline in one sentence."""
    k = len(shown)
    gains = [name for name, (better, worse) in shown.items() if better and not worse]
    mixed = [name for name, (better, worse) in shown.items() if better and worse]
    losses = [name for name, (better, worse) in shown.items() if worse and not better]
    if not (gains or mixed or losses):
        return f"No difference is shown between {baseline} and any of its {k} candidates."
    if len(gains) == 1 and not mixed:
        rest = f"; {len(losses)} of {k} candidates are worse" if len(losses) > 1 else ""
        rest = f"; {names.of(losses[0])} is worse" if len(losses) == 1 else rest
        return f"{names.of(gains[0])} is better than {baseline} and worse on nothing{rest}."
    parts: list[str] = []
    for group, start, end in (
        (gains, "better", "and worse on nothing"),
        (mixed, "better", "on some metrics and worse on others"),
        (losses, "worse", "and better on nothing"),
    ):
        if group:  # only the first part names the baseline
            of, than = (f" of {k} candidates", f" than {baseline}") if not parts else ("", "")
            are = "is" if len(group) == 1 else "are"
            parts.append(f"{len(group)}{of} {are} {start}{than} {end}")
    return f"{'; '.join(parts)}."


@dataclass(frozen=True)
class Headline:
    """The answer, what supports it, and where it does not hold."""

    text: str
    basis: str
    details: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it, in the order in which it is read."""
        warnings = (f"{NOT_EVERYWHERE} {text}" for text in self.exceptions)
        return (self.text, *self.details, *warnings, f"Compared: {self.basis}.")


NOT_EVERYWHERE = "Not everywhere."
"""What opens the sentence about a group of queries in which the opposite is shown."""

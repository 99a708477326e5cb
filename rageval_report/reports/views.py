"""What the templates of a page show of two pipelines: metrics, groups, changes, causes.

A view is a mapping: the name of its template, and what the template shows.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, TypeAlias
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from rageval_report.analysis.breakdown import FINE, UNKNOWN
from rageval_report.analysis.pairing import Pairing, overall_changes
from rageval_report.analysis.verdicts import SHOWN_IN_ORDER, MetricVerdict, of_shown, verdicts_of
from rageval_report.reports.cells import (
    confidence,
    interval,
    number,
    pvalue,
    shorten,
    signed_number,
)
from rageval_report.reports.query_table import query_texts
from rageval_report.reports.sentences import correction_text
from rageval_report.results import Result
from rageval_report.scores import Metric
from rageval_report.scores.names import ShortNames, display_width
from rageval_report.scores.states import unscored_reasons

View: TypeAlias = Mapping[str, Any]
Words: TypeAlias = tuple[object, str]
"""The confidence level and the correction, for `hover_text`."""


def view_address(**parameters: str) -> str:
    """The fragment of the page's address that shows some queries."""
    return f"#{urlencode(parameters)}"


# -- scales

# A round limit is one of these times a power of ten.
_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 20.0)


def round_up(value: float) -> float:
    """The next round number that is not smaller."""
    if not (math.isfinite(value) and value > 0):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    # One part in a million of room, so that 0.3 is not rounded up for its last bit.
    step = next(step for step in _ROUND if step * power >= value * (1 - 1e-6))
    return float(f"{step * power:.6g}")


@dataclass(frozen=True)
class Scale:
    """A straight axis."""

    left: float
    right: float

    def share(self, value: float) -> float:
        """Where a value stands, 0 to 1; values beyond an end stand at it."""
        return min(max((value - self.left) / (self.right - self.left), 0.0), 1.0)

    def place(self, value: float) -> str:
        """Where a value stands, in percent of the width, with two decimals at most."""
        return f"{100.0 * self.share(value):.2f}".rstrip("0").rstrip(".")


def own_scale(
    values: Iterable[float], bounds: tuple[float, float] | None, *, greater_is_better: bool = True
) -> Scale:
    """The axis of a metric: its range if it has one, else from 0 to a round number."""
    known = [value for value in values if math.isfinite(value)]
    if bounds is not None and all(map(math.isfinite, bounds)):
        low, high = bounds
    else:
        low = -round_up(-min(known)) if known and min(known) < 0 else 0.0
        high = round_up(max(known, default=1.0))
        high = 0.0 if low < 0 and max(known) <= 0 else high
    return Scale(low, high) if greater_is_better else Scale(high, low)


def tick_text(value: float, *, signed: bool = False) -> str:
    """A round number as the label of an axis."""
    if value == 0:
        return "0"
    text = f"{value:,.6g}" if 1e-4 <= abs(value) < 1e9 else number(value)
    return f"+{text}" if signed and value > 0 else text


def hover_text(verdict: MetricVerdict, level: object, correction: str) -> str:
    """The statistics of a row in one line."""
    adjusted = f"{correction} p {pvalue(verdict.pvalue_adjusted)}, "
    return (
        f"difference {signed_number(verdict.difference)}, "
        f"{confidence(level)} {interval(verdict.ci_low, verdict.ci_high)}, "
        f"p {pvalue(verdict.pvalue)}, {adjusted if correction != 'none' else ''}"
        f"{verdict.n:,} queries: better on {verdict.wins:,}, equal on {verdict.ties:,}, "
        f"worse on {verdict.losses:,}"
    )


# -- every metric

# In columns of a terminal.
_ROOM_FOR_NAME, _ROOM_FOR_COLUMN = 7, 18


def strip(
    verdicts: Sequence[MetricVerdict],
    metrics: Mapping[str, Metric],
    names: ShortNames,
    words: Words,
    heading: str = "",
) -> View:
    """Every metric of two pipelines, those with the same verdict together."""
    # Half the width of the axis that all metrics between 0 and 1 share.
    half = round_up(max((_reach(own) for own in verdicts if own.is_share), default=0))
    groups: list[dict[str, Any]] = []
    for shown in SHOWN_IN_ORDER:
        own = of_shown(verdicts, shown)
        rows = [_strip_row(verdict, metrics.get(verdict.metric), half, words) for verdict in own]
        has_axis = any(verdict.is_share for verdict in own) and not any(g["ticks"] for g in groups)
        if rows:
            ticks = _ticks(half) if has_axis else ()
            groups.append({"shown": shown, "rows": rows, "ticks": ticks})
    sides = (names.of(verdicts[0].baseline), names.of(verdicts[0].candidate))
    widest = max(map(display_width, sides))
    return {
        "template": "strip",
        "heading": heading,
        "sides": sides,
        "columns": sides if widest <= _ROOM_FOR_COLUMN else ("Baseline", "Candidate"),
        "marks": sides if widest <= _ROOM_FOR_NAME else ("before", "after"),
        "groups": groups,
        "level": confidence(words[0]),
        "has_margins": not all(math.isnan(verdict.margin) for verdict in verdicts),
    }


def _reach(verdict: MetricVerdict) -> float:
    """The largest size of a difference that the row must show."""
    sizes = map(abs, (verdict.ci_low, verdict.ci_high, verdict.difference, verdict.margin))
    return max((size for size in sizes if math.isfinite(size)), default=0.0)


def _strip_row(verdict: MetricVerdict, metric: Metric | None, half: float, words: Words) -> View:
    """One metric: both means on its own scale, the difference and its interval on an axis."""
    is_up, difference = verdict.greater_is_better, verdict.difference
    half = half if verdict.is_share else round_up(_reach(verdict))
    axis = Scale(-half, half) if is_up else Scale(half, -half)
    bounds = None if metric is None else metric.bounds
    own = own_scale([1.05 * mean for mean in verdict.means], bounds, greater_is_better=is_up)
    has_means = all(map(math.isfinite, verdict.means))
    # Without an interval only the difference is drawn.
    ends = [x if math.isfinite(x) else difference for x in (verdict.ci_low, verdict.ci_high)]
    low, high = ends if is_up else ends[::-1]
    margins = (-verdict.margin, verdict.margin)
    return {
        "verdict": verdict,
        "note": "" if is_up else "lower is better",
        "means": tuple(map(number, verdict.means)),
        "places": tuple(map(own.place, verdict.means)) if has_means else None,
        "own_ticks": (tick_text(own.left), tick_text(own.right)),
        "difference": signed_number(difference),
        "limits": tuple(map(axis.place, (low, difference, high)))
        if math.isfinite(difference)
        else None,
        "margin": None if math.isnan(margins[1]) else sorted(map(axis.share, margins)),
        "ticks": () if verdict.is_share else _ticks(half, turned=not is_up),
        "hover": hover_text(verdict, *words),
    }


def _ticks(half: float, *, turned: bool = False) -> tuple[tuple[str, str], ...]:
    """Three labels: 0 in the middle, and a round number at four fifths of either side."""
    power = 10.0 ** math.floor(math.log10(0.8 * half) + 1e-9)
    side = float(f"{max(math.floor(0.8 * half / power + 1e-9), 1) * power:.6g}")
    values = (side, 0.0, -side) if turned else (-side, 0.0, side)
    share = 50.0 * side / half
    places = (50.0 - share, 50.0, 50.0 + share)
    return tuple(
        (f"{place:.2f}", tick_text(value, signed=True))
        for place, value in zip(places, values, strict=True)
    )


# -- groups of queries

_MOST_ROWS = 24


def matrix_cell(verdict: MetricVerdict, words: Words, text: str, *named: str) -> View:
    """A difference; only a verdict of these names has a colour."""
    shown = verdict.shown if verdict.shown in named else "undecided"
    return {"text": text, "shown": shown, "hover": hover_text(verdict, *words)}


def slice_matrix(
    slices: Result, overall: Sequence[MetricVerdict], names: ShortNames, labels: Mapping[str, str]
) -> View:
    """The differences of two pipelines in each group of queries."""
    by, level = str(slices.settings["by"]), float(str(slices.settings["confidence_level"]))
    words = level, str(slices.settings["correction"])
    known = verdicts_of(slices.frame, alpha=1.0 - level, labels=labels)
    groups: dict[str, dict[str, MetricVerdict]] = {}
    for verdict, group in zip(known, slices.frame[by], strict=True):
        groups.setdefault(str(group), {})[verdict.metric] = verdict

    def cell(verdict: MetricVerdict | None) -> View | None:
        if verdict is None or math.isnan(verdict.difference):
            return None
        text = signed_number(verdict.difference)
        return matrix_cell(verdict, words, text, "better", "worse", "equivalent")

    def row(label: str, own: Mapping[str, MetricVerdict], address: str = "") -> View:
        cells = [cell(own.get(verdict.metric)) for verdict in overall]
        n = max(verdict.n for verdict in own.values())
        return {"label": label, "n": n, "cells": cells, "address": address}

    rows = [
        row(group, own, view_address(**{f"slice.{by}": group})) for group, own in groups.items()
    ]
    everything = row("all queries", {verdict.metric: verdict for verdict in overall})
    baseline, candidate = names.of(overall[0].baseline), names.of(overall[0].candidate)
    return {
        "template": "slice_matrix",
        "by": by,
        "sentence": f"{candidate} minus {baseline} by {by}. Colour only where a difference is "
        f"shown ({correction_text(words[1])} over {slices.settings['family_size']} tests).",
        "metrics": [verdict.label for verdict in overall],
        "rows": [everything, *rows[:_MOST_ROWS]],
        "n_left_out": max(len(rows) - _MOST_ROWS, 0),
    }


# -- what changed

BOTH_RIGHT, BECAME_RIGHT, BECAME_WRONG, BOTH_WRONG = KNOWN_OUTCOMES = (
    *("both right", "became right", "became wrong", "both wrong"),
)
_TONES = {BECAME_RIGHT: "better", BECAME_WRONG: "worse"}
_MOST_CARDS = {BECAME_WRONG: 3, BECAME_RIGHT: 2}
_MOST_BARS = 5
_LONGEST_REASON = 200
_LEAST_CHANGE = 1e-9
# One word, one sign, or one character of a script that has no spaces.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]|\w+|[^\w\s]")


def changed(
    pairing: Pairing, outcome: pd.Series | None, words: str, names: ShortNames
) -> View | None:
    """What changed between two pipelines; None if nothing did."""
    counts = Counter() if outcome is None else Counter(outcome.tolist())
    groups = list(_changed_groups(pairing, outcome, counts))
    known = {kind: counts[kind] for kind in KNOWN_OUTCOMES if counts[kind]}
    if not known and not groups:
        return None
    sentence = "The queries that changed most, over all metrics."
    if counts:
        sentence = (
            f"Of {sum(known.values()):,} answers, {counts[BECAME_RIGHT]:,} became right and "
            f"{counts[BECAME_WRONG]:,} became wrong ({words})."
        )
    starts = np.cumsum([0, *known.values()])
    segments = [
        {
            "label": kind,
            "n": n,
            "x": start / starts[-1],
            "width": n / starts[-1],
            "tone": _TONES.get(kind, "neutral"),
            "address": view_address(outcome=kind),
        }
        for (kind, n), start in zip(known.items(), starts[:-1], strict=True)
    ]
    sides = names.of(pairing.baseline.name), names.of(pairing.candidate.name)
    shown = {"sentence": sentence, "sides": sides, "segments": segments, "groups": groups}
    return {"template": "changed", **shown}


def _changed_groups(
    pairing: Pairing, outcome: pd.Series | None, counts: Counter[str]
) -> Iterable[View]:
    """The queries that changed most, by kind; with a rule, of those of this outcome."""
    changes = overall_changes(pairing)
    for kind, most in _MOST_CARDS.items():
        sizes = -changes if kind == BECAME_WRONG else changes
        if outcome is None:
            chosen = sizes[sizes > _LEAST_CHANGE]
        else:
            chosen = sizes[outcome.reindex(changes.index) == kind].fillna(0.0)
        ids = chosen.sort_values(ascending=False, kind="stable").index[:most]
        if len(ids):
            yield {
                "heading": _heading_of(kind, counts[kind], has_rule=bool(counts)),
                "tone": _TONES[kind],
                "cards": [_card(pairing, query_id) for query_id in ids.tolist()],
            }


def _heading_of(kind: str, n: int, *, has_rule: bool) -> str:
    if not has_rule:
        return "The largest falls" if kind == BECAME_WRONG else "The largest rises"
    if n == 1:
        return f"The one that {kind}"
    which = "worst" if kind == BECAME_WRONG else "best"
    return f"The {which} of the {n} that {kind}" if n > _MOST_CARDS[kind] else f"Those that {kind}"


def _card(pairing: Pairing, query_id: object) -> View:
    """One query: what was asked, expected and answered, and the scores that changed most."""
    before, after = (query_texts(run, query_id) for run in (pairing.baseline, pairing.candidate))
    return {
        "title": before["question"] or after["question"] or str(query_id),
        "expected": before["reference"] or after["reference"],
        "before": before["answer"],
        "after": mark_new_words(before["answer"], after["answer"]),
        "reason": _reason(pairing, query_id),
        "bars": _bars(pairing, query_id),
        "address": view_address(open=str(query_id)),
    }


def _reason(pairing: Pairing, query_id: object) -> str:
    """Why a judge gave the candidate a score, the first one that is said."""
    for _, theirs in pairing.metrics:
        value = unscored_reasons(pairing.candidate.details, theirs.name).get(query_id)
        if isinstance(value, str) and value.strip():
            return f"{theirs.title}: {shorten(value, _LONGEST_REASON)}"
    return ""


def _bars(pairing: Pairing, query_id: object) -> Sequence[View]:
    """The scores that changed most, as shares of their ranges."""
    place = int(pairing.alignment.ids.get_indexer(pd.Index([query_id]))[0])
    bars: list[dict[str, Any]] = []
    for ours, theirs in pairing.metrics:
        before, after = (float(side[place]) for side in pairing.both(ours, theirs))
        if math.isfinite(after - before) and abs(after - before) > _LEAST_CHANGE:
            scale = own_scale((before, after), ours.bounds)
            tone = "better" if (after > before) == ours.greater_is_better else "worse"
            sides = [(number(score), scale.share(score)) for score in (before, after)]
            bars.append({"label": ours.title, "tone": tone, "sides": sides})
    bars.sort(key=lambda bar: -abs(bar["sides"][1][1] - bar["sides"][0][1]))
    return bars[:_MOST_BARS]


def mark_new_words(before: str, after: str) -> list[tuple[str, bool]]:
    """A text in pieces, and whether each is not in another text."""
    if not before or not after:
        return [(after, False)] if after else []
    old, new = list(_WORD.finditer(before)), list(_WORD.finditer(after))
    matcher = SequenceMatcher(None, [m[0] for m in old], [m[0] for m in new], autojunk=False)
    pieces: list[tuple[str, bool]] = []
    end = 0
    for kind, _, _, start, stop in matcher.get_opcodes():
        if kind in ("replace", "insert"):
            first, last = new[start].start(), new[stop - 1].end()
            pieces += [(after[end:first], False), (after[first:last], True)]
            end = last
    return [piece for piece in (*pieces, (after[end:], False)) if piece[0]]


# -- why queries fail

_CAUSE_TITLES = {FINE: "Nothing", UNKNOWN: "Not known"}


def causes_view(causes: Sequence[Result], pipelines: Sequence[str], names: ShortNames) -> View:
    """The causes of failures of some pipelines, side by side."""
    frames = [result.frame.set_index("cause") for result in causes]
    together = pd.concat(frames)
    order = sorted(dict.fromkeys(together.index), key=lambda name: name in (FINE, UNKNOWN))
    largest = together["share"].max() or 1.0
    rows = [
        {
            "title": _CAUSE_TITLES.get(name, name.capitalize()),
            "meaning": together.loc[[name], "what"].iloc[0],
            "bars": [
                {"name": names.of(pipeline), **_cause_bar(frame, name, largest)}
                for frame, pipeline in zip(frames, pipelines, strict=True)
            ],
        }
        for name in order
        if together.loc[[name], "n"].any()
    ]
    sentence = _causes_sentence(frames[-1], names.of(pipelines[-1]))
    return {"template": "causes", "sentence": sentence, "rows": rows}


def _cause_bar(frame: pd.DataFrame, name: str, largest: float) -> View:
    columns = frame[["n", "share", "ci_low", "ci_high"]].astype(float)
    n, share, low, high = columns.reindex([name]).iloc[0]
    if math.isnan(share):
        return {"n": "–", "width": "0", "share": "not measured"}
    text = f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
    return {"n": int(n), "width": f"{100 * share / largest:.1f}", "share": text}


def _causes_sentence(frame: pd.DataFrame, name: str) -> str:
    failing = frame[~frame.index.isin((FINE, UNKNOWN))].fillna({"n": 0})
    total = int(failing["n"].sum())
    if not total:
        return f"No query of {name} fails for a cause that is measured."
    first = failing.iloc[int(failing["n"].to_numpy().argmax())]
    queries, fail = ("query", "fails") if total == 1 else ("queries", "fail")
    return (
        f"{total:,} {queries} of {name} {fail}; most often the cause is "
        f"{first.name} ({int(first['n']):,}): {first['what']}."
    )

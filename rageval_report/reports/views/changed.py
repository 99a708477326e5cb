"""What changed between two pipelines, and why queries fail."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd

from rageval_report.analysis.breakdown import FINE, UNKNOWN
from rageval_report.analysis.pairing import Pairing, overall_changes
from rageval_report.render.cell_text import number
from rageval_report.render.display import shorten
from rageval_report.reports.query_table import query_texts
from rageval_report.reports.views.strip import own_scale, view_address
from rageval_report.results import Result
from rageval_report.scores.names import ShortNames
from rageval_report.scores.states import unscored_reasons
from rageval_report.types import FloatArray

BOTH_RIGHT, BECAME_RIGHT, BECAME_WRONG, BOTH_WRONG = (
    *("both right", "became right", "became wrong", "both wrong"),
)
PLAIN_OUTCOMES = (
    *(BOTH_RIGHT, BECAME_RIGHT, BECAME_WRONG, BOTH_WRONG, "unknown"),
    *("only in the baseline", "only in the candidate"),
)
"""All outcomes of a query, in the order in which they are shown."""

_KNOWN = (BOTH_RIGHT, BECAME_RIGHT, BECAME_WRONG, BOTH_WRONG)
_TONES = {BECAME_RIGHT: "better", BECAME_WRONG: "worse"}
_MOST_CARDS = {BECAME_WRONG: 3, BECAME_RIGHT: 2}
_MOST_BARS = 5
_LONGEST_REASON = 200
_LEAST_CHANGE = 1e-9
# One word, one sign, or one character of a script that has no spaces.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]|\w+|[^\w\s]")


@dataclass(frozen=True)
class Changed:
    """What changed between two pipelines."""

    template: ClassVar[str] = "changed.html.jinja"

    sentence: str
    baseline: str
    candidate: str
    segments: tuple[SimpleNamespace, ...]
    groups: tuple[SimpleNamespace, ...]

    @classmethod
    def of(
        cls, pairing: Pairing, outcome: pd.Series | None, words: str, names: ShortNames
    ) -> Changed | None:
        """What changed, or None if no query did."""
        counts = Counter() if outcome is None else Counter(outcome.tolist())
        return cls.of_counts(pairing, counts, _most_changed(pairing, outcome), words, names)

    @classmethod
    def of_counts(
        cls,
        pairing: Pairing,
        counts: Mapping[str, int],
        changed: Mapping[str, Sequence[str]],
        words: str,
        names: ShortNames,
    ) -> Changed | None:
        """What changed between two runs of which some queries are known; None if nothing did."""
        groups = tuple(_groups(pairing, counts, changed))
        segments = tuple(_segments(counts))
        if not segments and not groups:
            return None
        return cls(
            _sentence(counts, words),
            names.of(pairing.baseline.name),
            names.of(pairing.candidate.name),
            segments,
            groups,
        )


def _sentence(counts: Mapping[str, int], words: str) -> str:
    if not counts:
        return "The queries that changed most, over all metrics."
    total = sum(counts.get(kind, 0) for kind in _KNOWN)
    return (
        f"Of {total:,} answers, {counts.get(BECAME_RIGHT, 0):,} became right and "
        f"{counts.get(BECAME_WRONG, 0):,} became wrong ({words})."
    )


def _segments(counts: Mapping[str, int]) -> Iterable[SimpleNamespace]:
    known = {kind: counts[kind] for kind in _KNOWN if counts.get(kind)}
    total, start = sum(known.values()), 0
    for kind, n in known.items():
        yield SimpleNamespace(
            label=kind,
            n=n,
            x=f"{100 * start / total:.2f}",
            width=f"{100 * n / total:.2f}",
            tone=_TONES.get(kind, "neutral"),
            address=view_address(outcome=kind),
        )
        start += n


# -- the queries that changed most


def improvements_of(kind: str, changes: FloatArray) -> FloatArray:
    """How far queries changed in the direction of a kind; NaN if it was the other direction."""
    sizes = -changes if kind == BECAME_WRONG else changes
    return np.where(sizes > _LEAST_CHANGE, sizes, np.nan)


def _most_changed(pairing: Pairing, outcome: pd.Series | None) -> dict[str, list[str]]:
    """The ids of the queries that changed most, by kind; with a rule, of those of this outcome."""
    changes = overall_changes(pairing)
    known = None if outcome is None else outcome.reindex(changes.index)
    most: dict[str, list[str]] = {}
    for kind, n in _MOST_CARDS.items():
        if known is None:
            chosen = pd.Series(improvements_of(kind, changes.to_numpy()), changes.index).dropna()
        else:
            chosen = changes[known == kind].fillna(0.0) * (-1.0 if kind == BECAME_WRONG else 1.0)
        most[kind] = chosen.sort_values(ascending=False, kind="stable").index[:n].tolist()
    return most


def _groups(
    pairing: Pairing, counts: Mapping[str, int], changed: Mapping[str, Sequence[str]]
) -> Iterable[SimpleNamespace]:
    for kind, most in _MOST_CARDS.items():
        ids = changed[kind][:most]
        if len(ids):
            yield SimpleNamespace(
                heading=_heading(kind, counts.get(kind, 0), has_rule=bool(counts)),
                tone=_TONES[kind],
                cards=[_card(pairing, query_id) for query_id in ids],
            )


def _heading(kind: str, n: int, *, has_rule: bool) -> str:
    which = "worst" if kind == BECAME_WRONG else "best"
    if not has_rule:
        return "The largest falls" if kind == BECAME_WRONG else "The largest rises"
    if n == 1:
        return f"The one that {kind}"
    return f"The {which} of the {n} that {kind}" if n > _MOST_CARDS[kind] else f"Those that {kind}"


def _card(pairing: Pairing, query_id: object) -> SimpleNamespace:
    """One query: what was asked, expected and answered, and the scores that changed most."""
    place = int(pairing.alignment.ids.get_indexer(pd.Index([query_id]))[0])
    before, after = (query_texts(run, query_id) for run in (pairing.baseline, pairing.candidate))
    old, new = before["answer"], after["answer"]
    return SimpleNamespace(
        query_id=str(query_id),
        question=before["question"] or after["question"],
        expected=before["reference"] or after["reference"],
        before=old,
        after=tuple(mark_new_words(old, new)),
        reason=_reason(pairing, query_id),
        bars=tuple(_bars(pairing, place)),
        address=view_address(open=str(query_id)),
    )


def _reason(pairing: Pairing, query_id: object) -> str:
    """Why a judge gave the candidate a score, the first one that is said."""
    details = pairing.candidate.details
    for _, theirs in pairing.metrics:
        value = unscored_reasons(details, theirs.name).get(query_id)
        if isinstance(value, str) and value.strip():
            return f"{theirs.title}: {shorten(value, _LONGEST_REASON)}"
    return ""


def _bars(pairing: Pairing, place: int) -> list[SimpleNamespace]:
    """The scores that changed most, as shares of their ranges."""
    bars = []
    for ours, theirs in pairing.metrics:
        before, after = (float(side[place]) for side in pairing.both(ours, theirs))
        if np.isfinite([before, after]).all() and abs(after - before) > _LEAST_CHANGE:
            scale = own_scale((before, after), ours.bounds, greater_is_better=True)
            shares = (scale.share(before), scale.share(after))
            is_better = (after > before) == ours.greater_is_better
            bar = SimpleNamespace(
                label=ours.title,
                before=number(before),
                after=number(after),
                before_width=f"{100 * shares[0]:.1f}",
                after_width=f"{100 * shares[1]:.1f}",
                tone="better" if is_better else "worse",
            )
            bars.append((abs(shares[1] - shares[0]), bar))
    bars.sort(key=lambda pair: -pair[0])
    return [bar for _, bar in bars[:_MOST_BARS]]


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


def plain_outcomes(outcome: pd.Series, names: Sequence[str]) -> pd.Series:
    """Outcomes such as "only hybrid right" in the words of this module."""
    known = plain_outcome_names(names)
    return outcome.map(lambda name: known.get(name, name))


def plain_outcome_names(names: Sequence[str]) -> dict[str, str]:
    """Each outcome such as "only hybrid right" with its name in the words of this module."""
    first, second, third, *rest = PLAIN_OUTCOMES
    return dict(zip(names, (first, third, second, *rest), strict=True))


_TITLES = {FINE: "Nothing", UNKNOWN: "Not known"}


@dataclass(frozen=True)
class Causes:
    """Why queries fail."""

    template: ClassVar[str] = "causes.html.jinja"

    sentence: str
    rows: tuple[SimpleNamespace, ...]

    @classmethod
    def of(cls, causes: Sequence[Result], pipelines: Sequence[str], names: ShortNames) -> Causes:
        """The causes of some pipelines."""
        frames = [result.frame.set_index("cause") for result in causes]
        order = list(dict.fromkeys(name for frame in frames for name in frame.index))
        order.sort(key=lambda name: name in (FINE, UNKNOWN))
        largest = max(float(frame["share"].max()) for frame in frames) or 1.0
        rows = tuple(
            SimpleNamespace(
                title=_TITLES.get(name, name.capitalize()),
                meaning=str(next(f for f in frames if name in f.index).loc[name, "what"]),
                bars=tuple(
                    _bar(frame, name, names.of(pipeline), largest)
                    for frame, pipeline in zip(frames, pipelines, strict=True)
                ),
            )
            for name in order
            if any(_n(frame, name) for frame in frames)
        )
        return cls(_causes_sentence(frames[-1], names.of(pipelines[-1])), rows)


def _n(frame: pd.DataFrame, name: str) -> int:
    n = frame["n"].reindex([name]).fillna(0).iloc[0]
    return int(n)


def _bar(frame: pd.DataFrame, name: str, pipeline: str, largest: float) -> SimpleNamespace:
    n = _n(frame, name)
    row = frame[["share", "ci_low", "ci_high"]].astype(float).reindex([name]).iloc[0]
    if math.isnan(row["share"]):
        return SimpleNamespace(name=pipeline, n="–", width="0", share="not measured")
    share, low, high = row.tolist()
    text = f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"
    width = f"{100 * share / largest:.1f}"
    return SimpleNamespace(name=pipeline, n=str(n), width=width, share=text)


def _causes_sentence(frame: pd.DataFrame, name: str) -> str:
    failing = {cause: _n(frame, cause) for cause in frame.index if cause not in (FINE, UNKNOWN)}
    total = sum(failing.values())
    if not total:
        return f"No query of {name} fails for a cause that is measured."
    cause = max(failing, key=lambda key: failing[key])
    verb = "query of" if total == 1 else "queries of"
    return (
        f"{total:,} {verb} {name} {'fails' if total == 1 else 'fail'}; most often the cause is "
        f"{cause} ({failing[cause]:,}): {frame['what'].astype(str)[cause]}."
    )

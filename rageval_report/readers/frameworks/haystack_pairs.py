"""Haystack's comparative reports: which columns belong to which of two runs.

The report writes ``<run>_<column>``, and the names of runs and of metrics may contain underscores,
so that two metrics with a common ending look like one metric of two runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rageval_report.errors import named
from rageval_report.readers.frameworks.format import described
from rageval_report.readers.json_shapes import ShapeError
from rageval_report.scores.metric import Catalogue, normalise_name

_WORDS = described("haystack")
INPUTS = _WORDS["plurals"] | _WORDS["singulars"]
_METRIC = "metric_"  # a prefix that some put before the names of metrics


class RunPair(NamedTuple):
    """The names of two runs, and the columns that both have."""

    first: str
    second: str
    suffixes: tuple[str, ...]

    def columns(self) -> tuple[str, ...]:
        """The names of the columns of both runs."""
        return tuple(f"{run}_{name}" for run in (self.first, self.second) for name in self.suffixes)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns of a run that are no inputs."""
        return tuple(name for name in self.suffixes if name not in INPUTS)


class Reading(NamedTuple):
    """The two runs of a table, None if it has one; and what there is to say about the choice."""

    pair: RunPair | None
    notes: tuple[str, ...] = ()


def read_header(header: Sequence[str]) -> Reading:
    """The two runs whose names are the prefixes of the columns, if the columns are those of two.

    Haystack puts the prefix before every metric and before each input that was kept of both runs.
    So they are two runs if an input has both prefixes, or if several metrics have both, and no
    known metric stands without a prefix. A prefix that is a part of a metric's name ("strict",
    "doc_recall") never names a run.
    """
    candidates = pairs_of(header)
    if not candidates:
        return Reading(None)
    pair = candidates[0]
    if any(name in INPUTS for name in pair.suffixes):  # an input was kept of both runs
        return Reading(pair)
    if any(_words(run) <= _WORDS["variants"] for run in (pair.first, pair.second)):
        return Reading(None, (_metrics_note(pair, "the prefixes are parts of metrics' names"),))
    outside = _metrics_outside(header, pair)
    if outside:
        reason = f"{named(outside)} has no such prefix, as each metric of two runs would"
        return Reading(None, (_metrics_note(pair, reason),))
    if len(pair.metrics) > 1 or _are_names_of_runs(pair):
        return Reading(pair)
    if any(_words(run) & _WORDS["variants"] for run in (pair.first, pair.second)):
        return Reading(None, (_metrics_note(pair, "the prefixes have words of metrics' names"),))
    [metric] = pair.metrics
    raise ShapeError(
        f"the columns {named(pair.columns())} may be the metric {metric!r} of two runs, or two "
        f"metrics of one run. For two runs pass runs={f'{pair.first},{pair.second}'!r}; for two "
        "metrics pass reader='csv', or the reader of this kind of file"
    )


def pair_of_runs(header: Sequence[str], first: str, second: str) -> RunPair:
    """The columns of two runs whose names the caller knows."""
    theirs = {run: columns_of_run(header, run, (first, second)) for run in (first, second)}
    suffixes = tuple(name for name in theirs[first] if name in theirs[second])
    if not suffixes:
        raise ShapeError(
            f"runs: no column is in the file once with the prefix {f'{first}_'!r} and once with "
            f"{f'{second}_'!r}; columns: {named(header, 12)}"
        )
    return RunPair(first, second, suffixes)


def columns_of_run(header: Iterable[str], run: str, runs: Iterable[str]) -> list[str]:
    """The columns with the prefix of a run, unless a longer run's prefix fits as well."""
    longer = [f"{other}_" for other in runs if other.startswith(f"{run}_")]
    return [
        name.removeprefix(f"{run}_")
        for name in header
        if name.startswith(f"{run}_") and not any(name.startswith(other) for other in longer)
    ]


def own_name(suffix: str, pair: RunPair, shared: Iterable[str]) -> str:
    """The name of a run's column without the run and, if it is then known, without "metric_"."""
    plain = suffix.removeprefix(_METRIC)
    is_taken = plain in shared or plain in pair.suffixes
    return suffix if is_taken or Catalogue().find(plain) is None else plain


# -- evidence


def _words(prefix: str) -> set[str]:
    """The words of a prefix, without its numbers."""
    words = normalise_name(prefix).replace("@", "_").split("_")
    return {word for word in words if word and not word.isdigit()}


def _metrics_outside(header: Iterable[str], pair: RunPair) -> list[str]:
    """The known metrics that stand without a prefix; measures of time and cost may be inputs."""
    catalogue = Catalogue()
    outside = []
    for name in header:
        metric = catalogue.find(name)
        is_metric = metric is not None and metric.group != "performance"
        if is_metric and name not in pair.columns() and name not in INPUTS:
            outside.append(name)
    return outside


def _are_names_of_runs(pair: RunPair) -> bool:
    """Whether the prefixes look like names of runs: numbered, or one is the other and more."""
    names = pair.first, pair.second
    words = [_words(name) for name in names]
    is_numbered = any(re.search(r"\d", name) for name in names)
    return (
        is_numbered or bool(words[0] & words[1]) or all(own & _WORDS["run_words"] for own in words)
    )


def _metrics_note(pair: RunPair, reason: str) -> str:
    return (
        f"{named(pair.columns())} are metrics of one run, because {reason}; if they are of two "
        f"runs, pass runs={f'{pair.first},{pair.second}'!r}"
    )


# -- pairs of prefixes


def pairs_of(header: Iterable[str]) -> list[RunPair]:
    """The ways to read the header as that of two runs, the best first."""
    catalogue = Catalogue()
    # Both parts of `<run>_<metric>` may contain "_", so metrics of their own must not be split.
    names = [name for name in header if catalogue.find(name) is None and name not in INPUTS]
    ranked = []
    for first, second, suffixes in _equal_prefixes(_by_prefix(names)):
        n_known = sum(_is_known(suffix, catalogue) for suffix in suffixes)
        if n_known:
            in_order = sorted((first, second), key=lambda run: names.index(f"{run}_{suffixes[0]}"))
            pair = RunPair(in_order[0], in_order[1], tuple(suffixes))
            # The reading that explains most columns wins; the shorter name breaks a tie.
            ranked.append((len(suffixes), n_known, -len(first), pair))
    ranked.sort(key=lambda candidate: candidate[:3], reverse=True)
    return [pair for *_, pair in ranked]


def _by_prefix(names: Iterable[str]) -> dict[str, dict[str, None]]:
    """The possible names of runs, with the columns that each would have."""
    by_prefix: dict[str, dict[str, None]] = {}
    for name in names:
        for place in range(1, len(name) - 1):
            if name[place] == "_":
                by_prefix.setdefault(name[:place], {})[name[place + 1 :]] = None
    return by_prefix


def _equal_prefixes(
    by_prefix: Mapping[str, dict[str, None]],
) -> Iterable[tuple[str, str, list[str]]]:
    """The pairs of prefixes with the same columns; one prefix may be the start of the other."""
    by_suffixes: dict[frozenset[str], list[str]] = {}
    for prefix, suffixes in by_prefix.items():
        by_suffixes.setdefault(frozenset(suffixes), []).append(prefix)
        for place in range(1, len(prefix) - 1):
            shorter, longer = prefix[:place], prefix[place + 1 :]
            if prefix[place] == "_" and shorter in by_prefix:
                own = [name for name in by_prefix[shorter] if not name.startswith(f"{longer}_")]
                if set(own) == set(suffixes):
                    yield shorter, prefix, own
    for prefixes in by_suffixes.values():
        if len(prefixes) == 2:
            yield prefixes[0], prefixes[1], list(by_prefix[prefixes[0]])


def _is_known(suffix: str, catalogue: Catalogue) -> bool:
    return suffix in INPUTS or catalogue.find(suffix.removeprefix(_METRIC)) is not None

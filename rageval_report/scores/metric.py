"""What is known of a metric: title, group, kind, direction, bounds; and how names are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from rageval_report._registry import Registry
from rageval_report.errors import DataError, UnknownNameError

Kind = Literal["binary", "proportion", "ordinal", "real"]
KINDS: tuple[Kind, ...] = ("binary", "proportion", "ordinal", "real")
GROUPS = ("retrieval", "generation", "citation", "abstention", "performance", "other")

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
_GAPS = re.compile(r"[\s_\-]+")
_CUTOFF = re.compile(r"^(?P<stem>.+?)(?:@|_at_|_cut_)(?P<k>\d+)$")
_TREC_CUTOFF = re.compile(r"^(?P<stem>p|recall|success|map|ndcg|relative_p)_(?P<k>\d+)$")
_SUFFIXES = re.compile(r"_(score|value)$")

# Words in the name of an unknown metric that say that less is better.
_LOWER_IS_BETTER = frozenset(
    "cer cost costs distance duration error errors false hallucinated hallucination "
    "hallucinations latency loss ms noise perplexity price seconds time tokens toxic toxicity "
    "unsupported violations wer".split()
)


@dataclass(frozen=True, slots=True)
class Metric:
    """What is known of a metric.

    Parameters
    ----------
    name : str
        The name in snake_case, the cutoff at the end: "recall@5".
    title : str, optional
        The title in reports; made of the name where none is given.
    group : {"retrieval", "generation", "citation", "abstention", "performance", "other"}
        Under which heading reports show it.
    kind : {"binary", "proportion", "ordinal", "real"}
        0 or 1; between 0 and 1; steps of a scale; any number.
    greater_is_better : bool
        The direction.
    bounds : (float, float), optional
        The smallest and largest possible score; None where there is no limit.
    description : str
        One sentence.
    source : str
        Where the definition stands.
    aliases : tuple of str
        Names under which other frameworks write the same thing.
    known_as : str, optional
        The name in the catalogue, where `name` is an alias of it.

    Examples
    --------
    >>> Metric("recall").at(5).title
    'Recall@5'
    """

    name: str
    title: str = ""
    group: str = "other"
    kind: Kind = "real"
    greater_is_better: bool = True
    bounds: tuple[float, float] | None = None
    description: str = ""
    source: str = ""
    aliases: tuple[str, ...] = ()
    known_as: str = ""

    def __post_init__(self) -> None:
        if self.group not in GROUPS:
            raise UnknownNameError("group of metrics", self.group, GROUPS)
        if self.kind not in KINDS:
            raise UnknownNameError("kind of metric", self.kind, KINDS)
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _checked_bounds(self.name, self.bounds))
        if not self.title:
            object.__setattr__(self, "title", title_of(self.name))
        if not self.known_as:
            object.__setattr__(self, "known_as", self.name)

    def at(self, k: int) -> Metric:
        """The same metric with a cutoff after `k` results."""
        return replace(
            self,
            name=f"{self.name}@{k}",
            title=f"{self.title}@{k}",
            known_as=f"{self.known_as}@{k}",
        )


def _checked_bounds(name: str, bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = (float(bound) for bound in bounds)
    if not (np.isfinite([low, high]).all() and low < high):
        raise DataError(
            f"the bounds of {name!r} must be two numbers, the lower first, as (0, 1); got {bounds}"
        )
    return low, high


METRICS: Registry[Metric] = Registry("metric", group="rageval_report.metrics")


def normalised(name: str) -> str:
    """The one spelling of a metric's name: snake_case, the cutoff after an @.

    Examples
    --------
    >>> [normalised(name) for name in ("Reciprocal Rank", "reciprocal-rank", "reciprocalRank")]
    ['reciprocal_rank', 'reciprocal_rank', 'reciprocal_rank']
    >>> [normalised(name) for name in ("nDCG@10", "recall_at_5", "ndcg_cut_10", "P_5")]
    ['ndcg@10', 'recall@5', 'ndcg@10', 'p@5']
    """
    spelled = _GAPS.sub("_", _CAMEL.sub("_", str(name).strip())).strip("_").lower()
    spelled = spelled.replace("_@_", "@").replace("@_", "@").replace("_@", "@")
    cut = _CUTOFF.match(spelled) or _TREC_CUTOFF.match(spelled)
    return f"{cut['stem']}@{int(cut['k'])}" if cut else spelled


def title_of(name: str) -> str:
    """A title made of a name.

    Examples
    --------
    >>> title_of("my_own_metric@5")
    'My Own Metric@5'
    """
    stem, at, cutoff = name.partition("@")
    words = [word[:1].upper() + word[1:] for word in stem.split("_")]
    return " ".join(words) + at + cutoff


class Catalogue:
    """The metrics known now, found by any of their names.

    Examples
    --------
    >>> Catalogue().find("MRR").known_as
    'reciprocal_rank'
    >>> Catalogue().find("ndcg_cut_10").title
    'nDCG@10'
    """

    def __init__(self) -> None:
        self._by_alias: dict[str, Metric] = {}
        for metric in (METRICS[name] for name in METRICS):
            for alias in (metric.name, *metric.aliases):
                self._by_alias.setdefault(normalised(alias), metric)

    def find(self, name: str) -> Metric | None:
        """The metric of that name, named as asked; None where it is not known."""
        spelled = normalised(name)
        stem, _, cutoff = spelled.partition("@")
        for candidate in (stem, _SUFFIXES.sub("", stem)):
            known = self._by_alias.get(candidate)
            if known is not None:
                found = replace(known, name=candidate, known_as=known.name)
                found = found.at(int(cutoff)) if cutoff.isdigit() else found
                return replace(found, name=spelled)
        return None


def inferred(name: str, values: np.ndarray) -> Metric:
    """What the values and the name of an unknown metric say about it.

    Parameters
    ----------
    name : str
        The normalised name.
    values : ndarray of shape (n_queries,)
        The scores; NaN where unscored.
    """
    kind, bounds = _kind_of(values)
    words = set(re.split(r"[^a-z0-9]+", name))
    return Metric(name, kind=kind, bounds=bounds, greater_is_better=not words & _LOWER_IS_BETTER)


def _kind_of(values: np.ndarray) -> tuple[Kind, tuple[float, float] | None]:
    if np.isnan(values).all():
        return "real", None
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if low >= 0.0 and high <= 1.0:
        return ("binary" if is_binary(values) else "proportion"), (0.0, 1.0)
    if low >= 0.0 and high <= 10.0 and _all_whole(values):
        return "ordinal", None
    return "real", None


def is_binary(values: np.ndarray) -> bool:
    """Whether every score that is there is 0 or 1.

    Examples
    --------
    >>> is_binary(np.array([0.0, 1.0, np.nan]))
    True
    """
    return not bool(np.any((values != 0.0) & (values != 1.0) & ~np.isnan(values)))


def _all_whole(values: np.ndarray) -> bool:
    finite = values[~np.isnan(values)]
    return bool((finite == np.round(finite)).all())


Override = Metric | Mapping[str, Any] | Literal["higher", "lower"]


def overridden(metric: Metric, change: Override) -> Metric:
    """The metric with what the caller knows better.

    Parameters
    ----------
    metric : Metric
        What is known or inferred.
    change : Metric, mapping of fields, or {"higher", "lower"}
        A whole metric, some of its fields, or only the direction.

    Raises
    ------
    DataError
        If the change is none of these, or names a field that a metric does not have.
    """
    if isinstance(change, Metric):
        return replace(change, name=metric.name)
    if isinstance(change, str) and change in ("higher", "lower"):
        return replace(metric, greater_is_better=change == "higher")
    if not isinstance(change, Mapping):
        raise DataError(
            f"what is known of {metric.name!r} must be a Metric, a dict of its fields, "
            f'"higher" or "lower"; got {change!r}'
        )
    known = {field.name for field in fields(Metric)} - {"name", "known_as"}
    for field in change:
        if field not in known:
            raise UnknownNameError("field of a metric", field, known)
    return replace(metric, **dict(change))

"""Metrics: title, group, kind, direction and bounds of each, and the normal form of their names.

The metrics that are known by name are the rows of `metrics.csv`, in the order of reports. To add
one, add a row: its description, and if it needs no judge, the function that computes it and the
view of the records that this function takes. From outside the package use
``METRICS.add(name, Metric(...))``, or an entry point of the group ``rageval_report.metrics``.
"""

from __future__ import annotations

import csv
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np

from rageval_report._registry import Registry, resolve
from rageval_report.errors import DataError, RagevalError, UnknownNameError, check_choice
from rageval_report.types import FloatArray

# A view of the records and a cutoff become one score per query, NaN where unscored.
MetricFunction = Callable[[Any, int | None], FloatArray]

Kind = Literal["binary", "proportion", "ordinal", "real"]
KINDS: tuple[Kind, ...] = get_args(Kind)
GROUPS = ("retrieval", "generation", "citation", "abstention", "performance", "other")

# Between "answer" and "Relevancy"; and around the capitals of "AnswerLLMJudge".
_CAMEL = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z]{2,}[A-Z][a-z]{2})|(?<=[A-Z]{2})(?=[A-Z][a-z]{2})"
)
_GAPS = re.compile(r"[\s_\-]+")
_CUTOFF = re.compile(r"^(?P<stem>.+?)(?:@|_at_|_cut_)(?P<k>\d{1,9})$")
_TREC_CUTOFF = re.compile(r"^(?P<stem>p|recall|success|map|ndcg|relative_p)_(?P<k>\d{1,9})$")
_SUFFIXES = re.compile(r"_(score|value|metric)$")

# The words by which names and cells are understood, parsed once.
WORDS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)
_WRITTEN = {word: word.upper() for word in WORDS["metrics"]["capitals"].split()}
_WRITTEN |= WORDS["metrics"]["titles"]
_SPENT, _LOWER_IS_BETTER = (set(WORDS["metrics"][key].split()) for key in ("spent", "lower"))

_UNIT = (0.0, 1.0)
_FIRST = 64  # scores that are looked at before all others are
_UNIT_KINDS: tuple[Kind, ...] = ("binary", "proportion")


@dataclass(frozen=True, slots=True)
class Metric:
    """The description of a metric.

    Parameters
    ----------
    name : str
        The name in snake_case with the cutoff at the end, such as "recall@5".
    title : str, optional
        The title in reports; if omitted, it is made from the name.
    group : {"retrieval", "generation", "citation", "abstention", "performance", "other"}
        The heading under which reports show the metric.
    kind : {"binary", "proportion", "ordinal", "real"}
        0 or 1; between 0 and 1; steps of a scale; any number.
    greater_is_better : bool
        The direction.
    bounds : (float, float), optional
        The smallest and largest possible score; None if there is no limit. 0 and 1 for the kinds
        "binary" and "proportion".
    description : str
        One sentence.
    source : str
        The source of the definition.
    aliases : tuple of str
        The names that other frameworks use for the same metric.
    known_as : str, optional
        The name in the catalogue, if `name` is an alias of it.
    compute : callable or "module:function", optional
        The function that computes the metric from records. It takes the view that the metric needs
        and the cutoff, and returns an array with one score per query, NaN where unscored.
    needs : str, optional
        The view of the records that `compute` takes, such as "rankings" or "answers".
    in_family : bool
        Whether its tests count when p-values are corrected for several tests. False for a column
        that was taken for a metric only because of its cells, and for counts of tokens: they must
        not make the findings on other metrics weaker. A metric that a caller names always counts.
    direction_is_known : bool
        Whether `greater_is_better` is known or was told. A direction that was only guessed gives no
        "better" and "worse".

    Examples
    --------
    >>> Metric("recall").at(5).title
    'Recall@5'
    >>> Metric("word_count").function() is None
    True
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
    compute: MetricFunction | str | None = None
    needs: str = ""
    in_family: bool = True
    direction_is_known: bool = True

    def __post_init__(self) -> None:
        check_choice(f"group of the metric {self.name!r}", self.group, GROUPS)
        check_choice(f"kind of the metric {self.name!r}", self.kind, KINDS)
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _check_bounds(self.name, self.bounds))
        elif self.kind in _UNIT_KINDS:
            object.__setattr__(self, "bounds", _UNIT)
        if not isinstance(self.title, str):
            raise DataError(
                f"the title of the metric {self.name!r} must be a text; got {self.title!r:.60}"
            )
        if not self.title:
            object.__setattr__(self, "title", title_of(self.name))
        if not self.known_as:
            object.__setattr__(self, "known_as", self.name)

    def at(self, k: int) -> Metric:
        """The same metric with the cutoff `k`.

        Examples
        --------
        >>> Metric("ndcg", title="nDCG").at(10).name
        'ndcg@10'
        """
        return replace(
            self,
            name=f"{self.name}@{k}",
            title=f"{self.title}@{k}",
            known_as=f"{self.known_as}@{k}",
        )

    def function(self) -> MetricFunction | None:
        """The function that computes it, imported now if `compute` names its place."""
        return resolve(self.compute)


def _check_bounds(name: str, bounds: object) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in bounds)  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if math.isfinite(low) and math.isfinite(high) and low < high:
        return low, high
    raise DataError(
        f"bounds of the metric {name!r} must be two numbers, the lower first, such as (0, 1); "
        f"got {bounds!r:.80}"
    )


METRICS: Registry[Metric] = Registry("metric", group="rageval_report.metrics")


# Who reads a file asks for the name of the same column many times, some hundred in a small table.
@lru_cache(maxsize=4096)
def normalise_name(name: str) -> str:
    """The normal form of a metric's name: snake_case, with the cutoff after an @.

    Examples
    --------
    >>> [normalise_name(name) for name in ("Reciprocal Rank", "reciprocal-rank", "reciprocalRank")]
    ['reciprocal_rank', 'reciprocal_rank', 'reciprocal_rank']
    >>> [normalise_name(name) for name in ("nDCG@10", "recall_at_5", "ndcg_cut_10", "P_5")]
    ['ndcg@10', 'recall@5', 'ndcg@10', 'p@5']
    """
    spelled = _GAPS.sub("_", _CAMEL.sub("_", str(name).strip())).strip("_").lower()
    spelled = spelled.replace("_@_", "@").replace("@_", "@").replace("_@", "@")
    match = _CUTOFF.match(spelled) or _TREC_CUTOFF.match(spelled)
    return f"{match['stem']}@{int(match['k'])}" if match else spelled


def title_of(name: str) -> str:
    """A title made from a name.

    Examples
    --------
    >>> title_of("my_own_metric@5"), title_of("answer_llm_judge"), title_of("rougel_max")
    ('My Own Metric@5', 'Answer LLM Judge', 'ROUGE-L Max')
    """
    stem, at, cutoff = name.partition("@")
    words = [_WRITTEN.get(word, word[:1].upper() + word[1:]) for word in stem.split("_") if word]
    return " ".join(words) + at + cutoff


class Catalogue:
    """The metrics that are known at present, to be found by any of their names.

    Examples
    --------
    >>> Catalogue().find("MRR").known_as
    'reciprocal_rank'
    >>> Catalogue().find("ndcg_cut_10").title
    'nDCG@10'
    >>> Catalogue().search("MRR").title
    'Reciprocal Rank'
    """

    def __init__(self) -> None:
        self._by_name = _by_any_name(tuple(METRICS.known().items()))

    def find(self, name: str) -> Metric | None:
        """The metric of that name, under the name that was passed; None if it is not known."""
        spelled = normalise_name(name)
        stem, cutoff = _split_cutoff(spelled)
        # The whole name first: some known names contain a cutoff or end in "_score" themselves.
        for candidate, k in ((spelled, None), (stem, cutoff), (_SUFFIXES.sub("", stem), cutoff)):
            known = self._by_name.get(candidate)
            if known is not None:
                return replace(known if k is None else known.at(k), name=spelled)
        return None

    def search(self, name: str) -> Metric | None:
        """As `find`, but an unknown name is also looked up among the plug-ins."""
        metric = self.find(name)
        if metric is None:
            self._by_name = _by_any_name(tuple(METRICS.loaded().items()))
            metric = self.find(name)
        return metric


def _split_cutoff(spelled: str) -> tuple[str, int | None]:
    """A normalised name as its stem and its cutoff."""
    match = _CUTOFF.match(spelled)
    return (match["stem"], int(match["k"])) if match else (spelled, None)


@lru_cache(maxsize=4)
def _by_any_name(known: tuple[tuple[str, Metric], ...]) -> dict[str, Metric]:
    """The metrics by name, alias and title; the name of one wins over the alias of another."""
    for name, metric in known:
        if not isinstance(metric, Metric):
            raise DataError(f"METRICS[{name!r}] must be a Metric; got {metric!r}")
    by_name = {normalise_name(name): metric for name, metric in known}
    for _, metric in known:
        for alias in (metric.name, *metric.aliases, metric.title):
            by_name.setdefault(normalise_name(alias), metric)
    return by_name


class Extremes(NamedTuple):
    """The smallest and the largest number; NaN if there is none."""

    low: float
    high: float


def extremes_of(values: FloatArray) -> Extremes:
    """The smallest and the largest number of a column, NaN where blank, without a copy of it.

    Examples
    --------
    >>> extremes_of(np.array([0.5, np.nan, -1.0]))
    Extremes(low=-1.0, high=0.5)
    """
    if not values.size:
        return Extremes(math.nan, math.nan)
    return Extremes(float(np.fmin.reduce(values)), float(np.fmax.reduce(values)))


def infer_metric(name: str, values: FloatArray) -> Metric:
    """The description of an unknown metric, inferred from its normalised name and its scores.

    Examples
    --------
    >>> rate = infer_metric("word_error_rate", np.array([0.25, np.nan, 0.5]))
    >>> rate.kind, rate.bounds, rate.greater_is_better, rate.direction_is_known
    ('proportion', (0.0, 1.0), False, False)
    """
    # Whole words: "latency" must match, "cost" in "costume" must not.
    words = set(re.split(r"[^a-z0-9]+", name))
    if words & _SPENT:  # 0.3 seconds are not a proportion, and 3 seconds are not a grade
        spent = Metric(name, group="performance", greater_is_better=False)
        return replace(spent, direction_is_known=False)
    kind, bounds = _infer_kind(values)
    higher = not words & _LOWER_IS_BETTER
    guess = Metric(name, kind=kind, bounds=bounds, greater_is_better=higher)
    return replace(guess, direction_is_known=False)


def _infer_kind(values: FloatArray) -> tuple[Kind, tuple[float, float] | None]:
    low, high = extremes_of(values)
    if low >= 0.0 and high <= 1.0:
        return ("binary" if is_binary(values) else "proportion"), _UNIT
    # Whole numbers up to 10 are the usual scales of grades (1 to 5, 0 to 10).
    if low >= 0.0 and high <= 10.0 and ((values == np.round(values)) | np.isnan(values)).all():
        return "ordinal", None
    return "real", None


def is_binary(values: FloatArray) -> bool:
    """Whether every score is 0, 1 or NaN.

    Examples
    --------
    >>> is_binary(np.array([0.0, 1.0, np.nan]))
    True
    """
    first = values[:_FIRST]  # they mostly show it
    is_first_binary = bool(((first == 0.0) | (first == 1.0) | np.isnan(first)).all())
    return is_first_binary and bool(((values == 0.0) | (values == 1.0) | np.isnan(values)).all())


Override = Metric | Mapping[str, Any] | Literal["higher", "lower"]


def override_metric(metric: Metric, change: Override) -> Metric:
    """The metric with the changes of a caller: a whole metric, some fields, or the direction.

    Raises
    ------
    DataError
        If the change is none of these.
    UnknownNameError
        If it names a field that a metric does not have.

    Examples
    --------
    >>> stars = override_metric(Metric("stars"), {"bounds": (1, 5), "title": "Stars of 5"})
    >>> stars.bounds, stars.title
    ((1.0, 5.0), 'Stars of 5')
    """
    if isinstance(change, Metric):
        return replace(change, name=metric.name)
    if isinstance(change, str) and change in ("higher", "lower"):
        change = {"greater_is_better": change == "higher"}
    if not isinstance(change, Mapping):
        raise DataError(
            f"metrics: the description of {metric.name!r} must be a Metric, a dict of its fields, "
            f'"higher" or "lower"; got {change!r}'
        )
    known = {field.name for field in fields(Metric)} - {"name", "known_as"}
    for field in change:
        if field not in known:
            raise UnknownNameError("field of a metric", field, known)
    changed = dict(change)
    if "greater_is_better" in changed:
        changed.setdefault("direction_is_known", True)
    if "bounds" in changed and metric.kind in _UNIT_KINDS:
        # With bounds other than 0 and 1 it is not a proportion any more.
        bounds = changed["bounds"]
        is_unit = isinstance(bounds, tuple | list) and tuple(bounds) == _UNIT
        changed.setdefault("kind", metric.kind if is_unit else "real")
    return replace(metric, **changed)


# -- in files

# The function that computes a metric is code, and a file is data: a reader must not load what a
# file names. The file says whether there was one; it comes from the catalogue again.
_CODE, _HAS_CODE = "compute", "is_computed"
_FIELDS = {field.name: field for field in fields(Metric) if field.name != _CODE}


def metric_fields(metric: Metric) -> dict[str, Any]:
    """The fields of a metric as JSON, without the function that computes it."""
    plain = {name: getattr(metric, name) for name in _FIELDS}
    if metric.direction_is_known:  # as nearly always
        del plain["direction_is_known"]
    lists = {name: list(value) for name, value in plain.items() if isinstance(value, tuple)}
    return {**plain, **lists, _HAS_CODE: metric.compute is not None}


def metric_from_fields(name: str, document: object, catalogue: Catalogue) -> Metric:
    """The metric that `metric_fields` described; absent fields are those of the catalogue.

    Raises
    ------
    DataError
        If a field has a value that a metric cannot have.
    """
    if not isinstance(document, Mapping):
        raise DataError(f"metric {name!r} must be an object; got {document!r:.60}")
    values = {key: document[key] for key in _FIELDS if key in document and key != "name"}
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    for key, value in values.items():
        usual = _FIELDS[key].default
        if type(value) is not type(usual) and not (usual is None and isinstance(value, tuple)):
            raise DataError(f"{key} of the metric {name!r} cannot be {value!r:.60}")
    known = catalogue.search(name) or Metric(name)
    if values.get("known_as", known.known_as) != known.known_as:
        known = Metric(name)
    if document.get(_HAS_CODE) is False:
        values[_CODE] = None
    try:
        return replace(known, **values)
    except RagevalError as exc:  # a group or a kind that this version does not know
        raise DataError(str(exc)) from exc


# -- the catalogue


def _metric_of_row(row: dict[str, str]) -> Metric:
    bounds = tuple(map(float, row["bounds"].split()))
    return Metric(
        *(row["name"], row["title"], row["group"], cast("Kind", row["kind"])),
        greater_is_better=row["better"] == "higher",
        bounds=(bounds[0], bounds[1]) if bounds else None,
        description=row["description"],
        source=row["source"],
        aliases=tuple(row["aliases"].split()),
        compute=f"rageval_report.{row['compute']}" if row["compute"] else None,
        needs=row["needs"],
        in_family=row["in_family"] != "no",
    )


with Path(__file__).with_name("metrics.csv").open(encoding="utf-8", newline="") as _file:
    for _row in csv.DictReader(_file):
        METRICS.add(_row["name"], _metric_of_row(_row))

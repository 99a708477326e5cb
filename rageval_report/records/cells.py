"""Convert the cells of a record: they come in many shapes, and leave in one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.files.strict_json import load_json
from rageval_report.records.levels import GoldSection, Section
from rageval_report.records.passage_ids import NO_PLACES, IdPlaces, passage_ids, passage_text

T = TypeVar("T")

_GRADE_KEYS = ("relevance", "relevance_score", "grade", "score")
_FILE_KEYS = ("filename", "file", "path")
_LONGEST_REPR = 60
_ID_LIMIT = 10**1000  # Python refuses to write integers of more than 4,300 digits


class CellError(ValueError):
    """A cell that cannot be converted: what was expected, and what it contains."""


class Span(NamedTuple):
    """The characters of a file from `start` up to, not including, `end`."""

    filename: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """An id for a chunk that has no other."""
        return f"{self.filename}:{self.start}-{self.end}"


@dataclass(frozen=True)
class RankingCell:
    """A ranking: ids in order; scores, texts, spans and sections are empty if there are none."""

    ids: list[str]
    scores: list[float | None]
    texts: list[str]
    spans: list[Span | None]
    sections: list[Section]
    places: list[IdPlaces] = field(default_factory=list)


@dataclass(frozen=True)
class GoldCell:
    """What is relevant: grades by id, spans with grades, and sections if documents are named."""

    grades: dict[str, float] = field(default_factory=dict)
    spans: list[tuple[Span, float]] = field(default_factory=list)
    sections: list[GoldSection] = field(default_factory=list)
    places: list[IdPlaces] = field(default_factory=list)


@dataclass(frozen=True)
class CitationCell:
    """What is cited: ids in order, and sections if documents are named."""

    ids: list[str]
    sections: list[Section]
    places: list[IdPlaces] = field(default_factory=list)


def optional(convert: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """The same conversion, which returns None for a missing cell."""
    return lambda cell: None if is_missing(cell) else convert(cell)


def is_missing(cell: object) -> bool:
    """Whether a cell has no value; an empty text or list is a value."""
    return (
        cell is None
        or cell is pd.NA
        or cell is pd.NaT
        or (isinstance(cell, float) and cell != cell)  # NaN, ten times faster than math.isnan
    )


def short_repr(value: object) -> str:
    """The repr of a value, cut to 60 characters for an error message."""
    try:
        shown = repr(value)
    except (ValueError, RecursionError) as exc:
        of_what = "digits" if isinstance(exc, ValueError) else "levels"
        return f"a value with too many {of_what} to print"
    return shown if len(shown) <= _LONGEST_REPR else shown[: _LONGEST_REPR - 3] + "..."


# -- single values


def text(cell: object) -> str:
    """A text, unchanged."""
    if isinstance(cell, str):
        return cell
    raise CellError(f"expected a text; got {short_repr(cell)}")


def truth(cell: object) -> bool:
    """True or false; 0 and 1 are accepted, the text "false" is not."""
    if isinstance(cell, bool | np.bool_) or (isinstance(cell, Real) and cell in (0, 1)):
        return bool(cell)
    raise CellError(f"expected true or false (a boolean, not a text); got {short_repr(cell)}")


def amount(cell: object) -> float:
    """A finite number >= 0."""
    number = _finite(cell)
    if number is not None and number >= 0.0:
        return number
    raise CellError(f"expected a number >= 0; got {short_repr(cell)}")


def doc_id(cell: object) -> str:
    """An id: a text that is not blank, or an integer."""
    if isinstance(cell, str) and cell.strip():
        return cell
    if isinstance(cell, Integral) and not isinstance(cell, bool) and abs(int(cell)) < _ID_LIMIT:
        return str(int(cell))
    raise CellError(f"expected an id (a text or an integer); got {short_repr(cell)}")


def grade(cell: object) -> float:
    """A relevance grade: any finite number; 0 and below mean judged but not relevant."""
    number = float(cell) if isinstance(cell, bool | np.bool_) else _finite(cell)
    if number is not None:
        return number
    raise CellError(f"relevance grades must be finite numbers; got {short_repr(cell)}")


def _score(cell: object) -> float:
    number = _finite(cell)
    if number is not None:
        return number
    raise CellError(f"retrieval scores must be finite numbers; got {short_repr(cell)}")


def _finite(cell: object) -> float | None:
    """A number as a float; None if it is not one, not finite, or too large for a float."""
    if not isinstance(cell, Real) or isinstance(cell, bool | np.bool_):
        return None
    try:
        number = float(cell)
    except OverflowError:  # integers of JSON and Python have any size
        return None
    return number if math.isfinite(number) else None


# -- lists


def items_in(cell: object) -> list[Any]:
    """The items of a cell: a list, an array, a list written as JSON, or one item alone."""
    cell = decoded(cell)
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, set | frozenset):
        raise CellError("expected a list; got a set, which has no order")
    return list(cell) if isinstance(cell, list | tuple) else [cell]


def decoded(cell: object) -> Any:
    """A list or object that a CSV file had to write as text; any other cell is unchanged."""
    if not isinstance(cell, str) or cell[:1] not in ("[", "{"):
        return cell
    try:
        return load_json(cell)
    except (ValueError, RecursionError):
        return cell


def texts(cell: object) -> list[str]:
    """One text, or a list of them."""
    return [text(item) for item in items_in(cell)]


def graded_texts(cell: object) -> dict[str, float]:
    """Texts that are relevant, alone or with a grade."""
    return gold(cell, as_id=text).grades


def numbers(cell: object) -> list[float | None]:
    """One finite number per result, or None."""
    items = items_in(cell)
    if all(type(item) is float and math.isfinite(item) for item in items):
        return items
    # Parquet gives back a null among numbers as NaN.
    return [None if is_missing(item) else _score(item) for item in items]


def spans(cell: object) -> list[Span | None]:
    """The place of each retrieved chunk; None where it is unknown."""
    return [None if is_missing(item) else _span(*item) for item in items_in(cell)]


def sections(cell: object) -> list[Section]:
    """Pairs of document and chunk; the document may be unknown."""
    pairs = [tuple(item) if isinstance(item, list | tuple) else () for item in items_in(cell)]
    if any(len(pair) != 2 for pair in pairs):
        raise CellError(f"expected pairs of document and chunk; got {short_repr(cell)}")
    return [(None if is_missing(doc) else doc_id(doc), doc_id(chunk)) for doc, chunk in pairs]


def graded_sections(cell: object) -> list[tuple[str | None, str, float | None]]:
    """Pairs of document and chunk, or triples with a grade; None for a grade that is omitted."""
    items = [tuple(item) if isinstance(item, list | tuple) else () for item in items_in(cell)]
    pairs = sections([list(item[:2]) for item in items])
    if any(len(item) > 3 for item in items):
        raise CellError(f"expected document, chunk and grade; got {short_repr(cell)}")
    grades = [grade(item[2]) if len(item) == 3 else None for item in items]
    return [(*pair, value) for pair, value in zip(pairs, grades, strict=True)]


def _has_only_numbers(cell: Mapping[Any, Any]) -> bool:
    return all(isinstance(value, Real | np.bool_) for value in cell.values())


# -- passages: what a ranking, the gold and the citations are made of


class _PassageCell(NamedTuple):
    """The document and the own id of a passage, where they stand within it, and its span."""

    section: Section
    places: IdPlaces | None = None
    is_certain: bool = True
    span: Span | None = None


def _passage(item: Mapping[str, Any], preferred: IdPlaces) -> _PassageCell | None:
    file = next((item[key] for key in _FILE_KEYS if key in item), None)
    if file is None or "start" not in item or "end" not in item:
        return _identified(item, preferred)
    span = _span(file, item["start"], item["end"])
    passage = _identified(item, preferred)
    if passage is None or not passage.is_certain:
        return _PassageCell((None, span.name), is_certain=False, span=span)
    return passage._replace(span=span)


def _identified(item: Mapping[str, Any], preferred: IdPlaces) -> _PassageCell | None:
    """The ids of a passage; a document alone is its own id."""
    candidates = passage_ids(item)
    document, chunk = candidates.choose(preferred)
    first = chunk or document
    if first is None:
        return None
    section: Section = (None, doc_id(first.value))
    if chunk is not None and document is not None:
        section = (doc_id(document.value), doc_id(chunk.value))
    places = IdPlaces(document.place if document else "", chunk.place if chunk else "")
    is_beside = candidates.is_certain and not any("." in place for place in places)
    return _PassageCell(section, None if is_beside else places, candidates.is_certain)


def _span(file: object, start: object, end: object) -> Span:
    are_integers = isinstance(start, Integral) and isinstance(end, Integral)
    if isinstance(file, str) and file and are_integers and 0 <= start < end:  # type: ignore[operator]
        return Span(file, int(start), int(end))  # type: ignore[call-overload]
    raise CellError(
        "expected a span of filename, start and end, with start < end; "
        f"got {short_repr((file, start, end))}"
    )


def _named_documents(named: list[Section]) -> list[Section]:
    """The sections if one of them names a document; else none."""
    return named if any(document is not None for document, _ in named) else []


class _RankedItem(NamedTuple):
    section: Section
    score: float | None = None
    text: str | None = None
    span: Span | None = None
    places: IdPlaces | None = None


def ranking(cell: object, preferred: IdPlaces = NO_PLACES) -> RankingCell:
    """A ranking: ids, pairs of id and score, mappings, or one mapping of ids to scores."""
    whole = decoded(cell)
    if isinstance(whole, Mapping) and _has_only_numbers(whole):
        # By score, then id, both descending: trec_eval's order, because a mapping has none.
        pairs = [(doc_id(key), grade(value)) for key, value in whole.items()]
        whole = sorted(pairs, key=lambda pair: (pair[1], pair[0]), reverse=True)
    items = items_in(whole)
    if all(type(item) is str and item.strip() for item in items):  # the usual case, and the fastest
        return RankingCell(items, [], [], [], [])
    ranked = [_ranked_item(item, preferred) for item in items]
    return RankingCell(
        [item.section[1] for item in ranked],
        # A result without a score among scored ones is a result at its place.
        [item.score for item in ranked] if any(item.score is not None for item in ranked) else [],
        [item.text or "" for item in ranked]
        if any(item.text is not None for item in ranked)
        else [],
        [item.span for item in ranked] if any(item.span for item in ranked) else [],
        _named_documents([item.section for item in ranked]),
        [item.places for item in ranked if item.places is not None],
    )


def _ranked_item(item: Any, preferred: IdPlaces) -> _RankedItem:
    if isinstance(item, Mapping):
        passage = _passage(item, preferred)
        if passage is None:
            raise CellError(f"expected a result with an id or a span; got {short_repr(item)}")
        scores = (item.get(key) for key in ("score", "similarity"))
        score = next((_score(value) for value in scores if value is not None), None)
        chunk = passage_text(item)
        own_text = None if chunk is None else text(chunk)
        return _RankedItem(passage.section, score, own_text, passage.span, passage.places)
    if isinstance(item, list | tuple) and len(item) == 2:
        score = None if item[1] is None else _score(item[1])
        if not isinstance(item[0], Mapping):
            return _RankedItem((None, doc_id(item[0])), score)
        inner = _ranked_item(item[0], preferred)  # a passage and its score
        return inner if score is None else inner._replace(score=score)
    if isinstance(item, list | tuple) and len(item) == 3:
        span = _span(*item)
        return _RankedItem((None, span.name), span=span)
    return _RankedItem((None, doc_id(item)))


def gold(
    cell: object, as_id: Callable[[object], str] = doc_id, preferred: IdPlaces = NO_PLACES
) -> GoldCell:
    """What is relevant: ids with or without grades, or (filename, start, end) spans."""
    whole = decoded(cell)
    if isinstance(whole, Mapping) and _has_only_numbers(whole):
        whole = list(whole.items())
    if isinstance(whole, set | frozenset):
        whole = sorted(whole)  # the order of a set changes from process to process
    if isinstance(whole, tuple) and [type(part) for part in whole] == [str, int, int]:
        whole = [whole]  # one span alone
    collected = GoldCell()
    for item in items_in(whole):
        if isinstance(item, Mapping):
            _add_passage(collected, item, preferred)
        elif isinstance(item, list | tuple) and len(item) in (3, 4):
            value = grade(item[3]) if len(item) == 4 else 1.0
            collected.spans.append((_span(*item[:3]), value))
        elif isinstance(item, list | tuple) and len(item) == 2:
            _add_grade(collected, as_id(item[0]), grade(item[1]))
        else:
            _add_grade(collected, as_id(item), 1.0)
    # Ids and places cannot be counted together: both may mean the same passage.
    if collected.grades and collected.spans:
        raise CellError("expected ids or spans; got both")
    return collected


def _add_passage(collected: GoldCell, item: Mapping[str, Any], preferred: IdPlaces) -> None:
    value = next((grade(item[key]) for key in _GRADE_KEYS if not is_missing(item.get(key))), 1.0)
    passage = _passage(item, preferred)
    if passage is None:
        raise CellError(f"expected gold with an id or a span; got {short_repr(item)}")
    if passage.span is not None and not passage.is_certain:
        collected.spans.append((passage.span, value))
        return
    document, chunk = passage.section
    if document is None:
        _add_grade(collected, chunk, value)
    else:
        # Documents may number their chunks alike, so a second grade of an id is no contradiction.
        collected.grades[chunk] = max(value, collected.grades.get(chunk, value))
        collected.sections.append((document, chunk, value))
    if passage.places is not None:
        collected.places.append(passage.places)


def _add_grade(collected: GoldCell, name: str, value: float) -> None:
    if collected.grades.setdefault(name, value) != value:
        raise CellError(f"{name!r} has two grades, {collected.grades[name]:g} and {value:g}")


def citations(
    cell: object, ranked: Sequence[Section], preferred: IdPlaces = NO_PLACES
) -> CitationCell:
    """What is cited: ids, or mappings with ids or a `source_index` into `ranked`, from 1 on."""
    cited = [_citation(item, ranked, preferred) for item in items_in(cell)]
    return CitationCell(
        [section[1] for section, _ in cited],
        _named_documents([section for section, _ in cited]),
        [places for _, places in cited if places is not None],
    )


def _citation(
    item: Any, ranked: Sequence[Section], preferred: IdPlaces
) -> tuple[Section, IdPlaces | None]:
    if not isinstance(item, Mapping):
        return (None, doc_id(item)), None
    passage, place = _identified(item, preferred), item.get("source_index")
    if passage is not None and (passage.is_certain or place is None):
        return passage.section, passage.places
    if not isinstance(place, int) or isinstance(place, bool):
        raise CellError(f"expected a citation with an id or a source_index; got {short_repr(item)}")
    # A number beyond the ranking is an invented source; under a name of its own it counts as wrong.
    return ranked[place - 1] if 0 < place <= len(ranked) else (None, f"source {place}"), None


def with_documents(
    ids: Sequence[Any], documents: Sequence[Any], names: tuple[Any, Any]
) -> list[Any]:
    """The cells of a column of ids with the documents that another column holds, item by item."""
    return [
        _with_document(row, *cells, names)
        for row, cells in enumerate(zip(ids, documents, strict=True))
    ]


def _with_document(row: int, cell: object, documents: object, names: tuple[Any, Any]) -> object:
    if is_missing(cell) or is_missing(documents):
        return cell
    whole = decoded(cell)
    grades = whole if isinstance(whole, Mapping) and _has_only_numbers(whole) else None
    items, owners = list(grades or items_in(cell)), items_in(documents)
    if any(isinstance(item, Mapping) for item in items):
        return cell  # each item names its document itself
    if len(items) != len(owners):
        raise DataError(
            f"{names[1]} must have one document for each item of {names[0]}; row {row} has "
            f"{len(owners)} and {len(items)}: leave one of the columns out"
        )
    paired = []
    for item, owner in zip(items, owners, strict=True):
        name, *number = item if isinstance(item, list | tuple) else (item,)
        value = grades[name] if grades else number[0] if number else None
        paired.append(
            {"chunk_id": name, "doc_id": owner} | ({} if value is None else {"score": value})
        )
    return paired

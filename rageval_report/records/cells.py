"""Convert the cells of a record: they come in many shapes, and leave in one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
import pandas as pd

from rageval_report.files.strict_json import load_json
from rageval_report.records.levels import GoldSection, Section, passage_ids, passage_text

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
    """Passages in order; what else is known of them is empty if it is known of none."""

    ids: list[str]
    scores: list[float | None] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    spans: list[Span | None] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)


@dataclass(frozen=True)
class GoldCell:
    """What is relevant: grades by id, spans with grades, and sections if documents are named."""

    grades: dict[str, float] = field(default_factory=dict)
    spans: list[tuple[Span, float]] = field(default_factory=list)
    sections: list[GoldSection] = field(default_factory=list)

    def add(self, name: str, value: float) -> None:
        """Add an id; a second grade of it is an error."""
        if self.grades.setdefault(name, value) != value:
            raise CellError(f"{name!r} has two grades, {self.grades[name]:g} and {value:g}")


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
    return cell if isinstance(cell, str) else _refuse("expected a text", cell)


def truth(cell: object) -> bool:
    """True or false; 0 and 1 are accepted, the text "false" is not."""
    if isinstance(cell, bool | np.bool_) or (isinstance(cell, Real) and cell in (0, 1)):
        return bool(cell)
    raise CellError(f"expected true or false (a boolean, not a text); got {short_repr(cell)}")


def doc_id(cell: object) -> str:
    """An id: a text that is not blank, or an integer."""
    if isinstance(cell, str) and cell.strip():
        return cell
    if isinstance(cell, Integral) and not isinstance(cell, bool) and abs(int(cell)) < _ID_LIMIT:
        return str(int(cell))
    raise CellError(f"expected an id (a text or an integer); got {short_repr(cell)}")


def amount(cell: object) -> float:
    """A finite number >= 0."""
    number = _finite(cell, "expected a number >= 0")
    return number if number >= 0.0 else _refuse("expected a number >= 0", cell)


def grade(cell: object) -> float:
    """A relevance grade: any finite number; 0 and below mean judged but not relevant."""
    is_flag = isinstance(cell, bool | np.bool_)
    return float(cell) if is_flag else _finite(cell, "relevance grades must be finite numbers")  # type: ignore[arg-type]


def _score(cell: object) -> float:
    return _finite(cell, "retrieval scores must be finite numbers")


def _finite(cell: object, expected: str) -> float:
    """A number as a float; an error if it is not one, not finite, or too large for a float."""
    if isinstance(cell, Real) and not isinstance(cell, bool | np.bool_):
        try:
            number = float(cell)
        except OverflowError:  # integers of JSON and Python have any size
            number = math.inf
        if math.isfinite(number):
            return number
    return _refuse(expected, cell)


def _refuse(expected: str, cell: object) -> NoReturn:
    raise CellError(f"{expected}; got {short_repr(cell)}")


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
        _refuse("expected pairs of document and chunk", cell)
    return [(None if is_missing(doc) else doc_id(doc), doc_id(chunk)) for doc, chunk in pairs]


def graded_sections(cell: object) -> list[tuple[str | None, str, float | None]]:
    """Pairs of document and chunk, or triples with a grade; None for a grade that is omitted."""
    items = [tuple(item) if isinstance(item, list | tuple) else () for item in items_in(cell)]
    pairs = sections([list(item[:2]) for item in items])
    if any(len(item) > 3 for item in items):
        _refuse("expected document, chunk and grade", cell)
    grades = [grade(item[2]) if len(item) == 3 else None for item in items]
    return [(*pair, value) for pair, value in zip(pairs, grades, strict=True)]


def _has_only_numbers(cell: Mapping[Any, Any]) -> bool:
    return all(isinstance(value, Real | np.bool_) for value in cell.values())


# -- passages: what a ranking, the gold and the citations are made of


class _PassageCell(NamedTuple):
    """A passage: its document and own id, and what else is known."""

    section: Section
    value: float | None = None  # a score or a grade
    text: str | None = None
    span: Span | None = None
    is_certain: bool = True  # without a certain id a passage is its place, named by the span


def _passage(item: Mapping[str, Any]) -> _PassageCell | None:
    passage = _identified(item)
    file = next((item[key] for key in _FILE_KEYS if key in item), None)
    if file is None or "start" not in item or "end" not in item:
        return passage
    span = _span(file, item["start"], item["end"])
    if passage is None or not passage.is_certain:
        return _PassageCell((None, span.name), span=span, is_certain=False)
    return passage._replace(span=span)


def _identified(item: Mapping[str, Any]) -> _PassageCell | None:
    """The ids of a passage; a document alone is its own id."""
    document, chunk, is_certain = passage_ids(item)
    if chunk is None and document is None:
        return None
    owner = None if chunk is None or document is None else doc_id(document)
    own = doc_id(document if chunk is None else chunk)
    return _PassageCell((owner, own), is_certain=is_certain)


def _span(file: object, start: object, end: object) -> Span:
    are_integers = isinstance(start, Integral) and isinstance(end, Integral)
    if isinstance(file, str) and file and are_integers and 0 <= start < end:  # type: ignore[operator]
        return Span(file, int(start), int(end))  # type: ignore[call-overload]
    expected = "expected a span of filename, start and end, with start < end"
    return _refuse(expected, (file, start, end))


def _known(values: Iterable[T | None]) -> list[T | None]:
    """The values if one of them is known; else none."""
    listed = list(values)
    return listed if any(value is not None for value in listed) else []


def _ranking_of(passages: list[_PassageCell]) -> RankingCell:
    named = any(passage.section[0] is not None for passage in passages)
    return RankingCell(
        [passage.section[1] for passage in passages],
        # A result without a score among scored ones is a result at its place.
        _known(passage.value for passage in passages),
        [chunk or "" for chunk in _known(passage.text for passage in passages)],
        _known(passage.span for passage in passages),
        [passage.section for passage in passages] if named else [],
    )


def ranking(cell: object) -> RankingCell:
    """A ranking: ids, pairs of id and score, mappings, or one mapping of ids to scores."""
    whole = decoded(cell)
    if isinstance(whole, Mapping) and _has_only_numbers(whole):
        # By score, then id, both descending: trec_eval's order, because a mapping has none.
        pairs = [(doc_id(key), grade(value)) for key, value in whole.items()]
        whole = sorted(pairs, key=lambda pair: (pair[1], pair[0]), reverse=True)
    items = items_in(whole)
    if all(type(item) is str and item.strip() for item in items):  # the usual case, and the fastest
        return RankingCell(items)
    return _ranking_of(list(map(_ranked, items)))


def _ranked(item: Any) -> _PassageCell:
    if isinstance(item, Mapping):
        passage = _passage(item)
        if passage is None:
            _refuse("expected a result with an id or a span", item)
        scores = (item.get(key) for key in ("score", "similarity"))
        score = next((_score(value) for value in scores if value is not None), None)
        chunk = passage_text(item)
        return passage._replace(value=score, text=None if chunk is None else text(chunk))
    if isinstance(item, list | tuple) and len(item) == 2:
        inner = _ranked(item[0]) if isinstance(item[0], Mapping) else None
        inner = inner or _PassageCell((None, doc_id(item[0])))
        return inner if item[1] is None else inner._replace(value=_score(item[1]))
    if isinstance(item, list | tuple) and len(item) == 3:
        span = _span(*item)
        return _PassageCell((None, span.name), span=span)
    return _PassageCell((None, doc_id(item)))


def gold(cell: object, as_id: Callable[[object], str] = doc_id) -> GoldCell:
    """What is relevant: ids with or without grades, checked by `as_id`, or spans."""
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
            _add_passage(collected, item)
        elif isinstance(item, list | tuple) and len(item) in (3, 4):
            value = grade(item[3]) if len(item) == 4 else 1.0
            collected.spans.append((_span(*item[:3]), value))
        elif isinstance(item, list | tuple) and len(item) == 2:
            collected.add(as_id(item[0]), grade(item[1]))
        else:
            collected.add(as_id(item), 1.0)
    # Ids and places cannot be counted together: both may mean the same passage.
    if collected.grades and collected.spans:
        raise CellError("expected ids or spans; got both")
    return collected


def _add_passage(collected: GoldCell, item: Mapping[str, Any]) -> None:
    value = next((grade(item[key]) for key in _GRADE_KEYS if not is_missing(item.get(key))), 1.0)
    passage = _passage(item)
    if passage is None:
        _refuse("expected gold with an id or a span", item)
    if passage.span is not None and not passage.is_certain:
        collected.spans.append((passage.span, value))
        return
    document, chunk = passage.section
    if document is None:
        collected.add(chunk, value)
    else:
        # Documents may number their chunks alike, so a second grade of an id is no contradiction.
        collected.grades[chunk] = max(value, collected.grades.get(chunk, value))
        collected.sections.append((document, chunk, value))


def citations(cell: object, ranked: Sequence[Section]) -> RankingCell:
    """What is cited: ids, or mappings with ids or a `source_index` into `ranked`, from 1 on."""
    return _ranking_of([_citation(item, ranked) for item in items_in(cell)])


def _citation(item: Any, ranked: Sequence[Section]) -> _PassageCell:
    if not isinstance(item, Mapping):
        return _PassageCell((None, doc_id(item)))
    passage, place = _identified(item), item.get("source_index")
    if passage is not None and (passage.is_certain or place is None):
        return passage
    if not isinstance(place, int) or isinstance(place, bool):
        _refuse("expected a citation with an id or a source_index", item)
    # A number beyond the ranking is an invented source; under a name of its own it counts as wrong.
    is_there = 0 < place <= len(ranked)
    return _PassageCell(ranked[place - 1] if is_there else (None, f"source {place}"))

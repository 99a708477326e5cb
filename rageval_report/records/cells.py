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
from rageval_report.records.spans import Span

_GRADE_KEYS = ("relevance", "relevance_score", "grade", "score")
_FILE_KEYS = ("filename", "file", "path")
_LONGEST_REPR = 60
_ID_LIMIT = 10**1000  # Python refuses to write integers of more than 4,300 digits


class CellError(ValueError):
    """A cell that cannot be converted: what was expected, and what it contains."""


T = TypeVar("T")


@dataclass(frozen=True)
class RankingCell:
    """A ranking: ids in order, with scores, texts, spans and sections (empty if there are none).

    The score of a result is None if only others have one; a text is then empty. The places are
    those of ids that stand within the passages.
    """

    ids: list[str]
    scores: list[float | None]
    texts: list[str]
    spans: list[Span | None]
    sections: list[Section]
    places: list[IdPlaces] = field(default_factory=list)


@dataclass(frozen=True)
class GoldCell:
    """What is relevant: grades by id, spans with grades, and sections if documents are named."""

    grades: dict[str, float]
    spans: list[tuple[Span, float]]
    sections: list[GoldSection]
    places: list[IdPlaces] = field(default_factory=list)


@dataclass(frozen=True)
class CitationCell:
    """What is cited: ids in order, and sections if documents are named."""

    ids: list[str]
    sections: list[Section]
    places: list[IdPlaces] = field(default_factory=list)


class _SectionIn(NamedTuple):
    """The document and the own id of a passage, and where they stand within it."""

    section: Section
    places: IdPlaces | None
    is_certain: bool


def optional(convert: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """The same conversion, which returns None for a missing cell.

    Examples
    --------
    >>> optional(text)(None) is None
    True
    """
    return lambda cell: None if is_missing(cell) else convert(cell)


def is_missing(cell: object) -> bool:
    """Whether a cell has no value; an empty text or list is a value.

    Examples
    --------
    >>> is_missing(float("nan")), is_missing(""), is_missing([])
    (True, False, False)
    """
    return (
        cell is None
        or cell is pd.NA
        or cell is pd.NaT
        or (isinstance(cell, float) and cell != cell)  # NaN, ten times faster than math.isnan
    )


def short_repr(value: object) -> str:
    """The repr of a value, cut to 60 characters for an error message.

    Examples
    --------
    >>> len(short_repr("x" * 100))
    60
    """
    try:
        text = repr(value)
    except ValueError:  # an integer of more than 4,300 digits
        return "a value with too many digits to print"
    except RecursionError:
        return "a value with too many levels to print"
    return text if len(text) <= _LONGEST_REPR else text[: _LONGEST_REPR - 3] + "..."


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
    number = _number(cell)
    if number is not None and math.isfinite(number) and number >= 0.0:
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
    number = float(cell) if isinstance(cell, bool | np.bool_) else _number(cell)
    if number is not None and math.isfinite(number):
        return number
    raise CellError(f"relevance grades must be finite numbers; got {short_repr(cell)}")


def _number(cell: object) -> float | None:
    """A number as a float; None if it is not a number, or too large for a float."""
    if not isinstance(cell, Real) or isinstance(cell, bool | np.bool_):
        return None
    try:
        return float(cell)
    except OverflowError:  # integers of JSON and Python have any size
        return None


# -- lists


def items_in(cell: object) -> list[Any]:
    """The items of a cell: a list, an array, a list written as JSON, or one item alone.

    Examples
    --------
    >>> items_in("d1"), items_in(["d1", "d2"])
    (['d1'], ['d1', 'd2'])
    """
    cell = decoded(cell)
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, set | frozenset):
        raise CellError("expected a list; got a set, which has no order")
    return list(cell) if isinstance(cell, list | tuple) else [cell]


def decoded(cell: object) -> Any:
    """A list or object that a CSV file had to write as text; any other cell is unchanged.

    Examples
    --------
    >>> decoded('{"d1": 2}'), decoded("d1")
    ({'d1': 2}, 'd1')
    """
    if not isinstance(cell, str) or cell[:1] not in ("[", "{"):
        return cell
    try:
        return load_json(cell)
    except (ValueError, RecursionError):
        return cell


def texts(cell: object) -> list[str]:
    """One text, or a list of them.

    Examples
    --------
    >>> texts("Paris"), texts('["Paris", "Lutetia"]')
    (['Paris'], ['Paris', 'Lutetia'])
    """
    return [text(item) for item in items_in(cell)]


def graded_texts(cell: object) -> dict[str, float]:
    """Texts that are relevant, alone or with a grade."""
    return gold(cell, as_id=text).grades


# -- rankings, gold, citations


def ranking(cell: object, preferred: IdPlaces = NO_PLACES) -> RankingCell:
    """A ranking: ids, pairs of id and score, mappings, or one mapping of ids to scores.

    Parameters
    ----------
    cell : object
        The cell.
    preferred : IdPlaces
        The paths within a passage whose ids go before others; see `passage_ids.passage_ids`.

    Examples
    --------
    >>> ranking({"d1": 0.5, "d2": 0.75}).ids
    ['d2', 'd1']
    """
    whole = decoded(cell)
    if isinstance(whole, Mapping) and _has_only_numbers(whole):
        # By score, then id, both descending: trec_eval's order, because a mapping has none.
        pairs = [(doc_id(key), grade(value)) for key, value in whole.items()]
        whole = sorted(pairs, key=lambda pair: (pair[1], pair[0]), reverse=True)
    items = items_in(whole)
    if all(
        type(item) is str and item.strip() for item in items
    ):  # the usual case, and the fastest path
        return RankingCell(items, [], [], [], [])
    parts = [_ranked_item(item, preferred) for item in items]
    sections, scores, chunks, spans, places = (list(part) for part in zip(*parts, strict=True))
    has_texts = any(chunk is not None for chunk in chunks)
    return RankingCell(
        [name for _, name in sections],
        # A result without a score among scored ones is a result at its place.
        scores if any(score is not None for score in scores) else [],
        ["" if chunk is None else chunk for chunk in chunks] if has_texts else [],
        spans if any(spans) else [],
        sections if _name_documents(sections) else [],
        [place for place in places if place is not None],
    )


def _name_documents(sections: Sequence[Section]) -> bool:
    return any(document is not None for document, _ in sections)


_RankedItem = tuple[Section, float | None, str | None, Span | None, IdPlaces | None]


def _ranked_item(item: Any, preferred: IdPlaces) -> _RankedItem:
    if isinstance(item, Mapping):
        span, named_section = _span_in(item), _section_in(item, preferred)
        if span is not None and (named_section is None or not named_section.is_certain):
            named_section = _SectionIn((None, span.name), None, True)
        if named_section is None:
            raise CellError(f"expected a result with an id or a span; got {short_repr(item)}")
        return (
            named_section.section,
            _first_score(item),
            _first_text(item),
            span,
            named_section.places,
        )
    if isinstance(item, list | tuple) and len(item) == 2:
        score = None if item[1] is None else _score(item[1])
        if isinstance(item[0], Mapping):  # a passage and its score
            section, own_score, chunk, span, places = _ranked_item(item[0], preferred)
            return section, own_score if score is None else score, chunk, span, places
        return (None, doc_id(item[0])), score, None, None, None
    if isinstance(item, list | tuple) and len(item) == 3:
        span = _span(*item)
        return (None, span.name), None, None, span, None
    return (None, doc_id(item)), None, None, None, None


def _section_in(item: Mapping[str, Any], preferred: IdPlaces = NO_PLACES) -> _SectionIn | None:
    """The document and the own id of a passage; a document alone is its own id."""
    candidates = passage_ids(item)
    document, chunk = candidates.choose(preferred)
    first = chunk or document
    if first is None:
        return None
    section = (
        (None, doc_id(first.value))
        if chunk is None or document is None
        else (doc_id(document.value), doc_id(chunk.value))
    )
    places = IdPlaces(document.place if document else "", chunk.place if chunk else "")
    is_beside = candidates.is_certain and not any("." in place for place in places)
    return _SectionIn(section, None if is_beside else places, candidates.is_certain)


def _first_score(item: Mapping[str, Any]) -> float | None:
    values = (item.get(key) for key in ("score", "similarity"))
    return next((_score(value) for value in values if value is not None), None)


def _first_text(item: Mapping[str, Any]) -> str | None:
    value = passage_text(item)
    return None if value is None else text(value)


def _score(cell: object) -> float:
    number = _number(cell)
    if number is not None and math.isfinite(number):
        return number
    raise CellError(f"retrieval scores must be finite numbers; got {short_repr(cell)}")


def gold(
    cell: object, as_id: Callable[[object], str] = doc_id, preferred: IdPlaces = NO_PLACES
) -> GoldCell:
    """What is relevant: ids with or without grades, or (filename, start, end) spans.

    Parameters
    ----------
    cell : object
        The cell.
    as_id : callable
        Checks a gold item that is neither a list nor a mapping.
    preferred : IdPlaces
        As for `ranking`.

    Examples
    --------
    >>> gold({"d1": 2, "d2": 0}).grades
    {'d1': 2.0, 'd2': 0.0}
    >>> gold([("guide.md", 10, 90)]).spans
    [(Span(filename='guide.md', start=10, end=90), 1.0)]
    """
    whole = decoded(cell)
    if isinstance(whole, Mapping) and _has_only_numbers(whole):
        whole = list(whole.items())
    if isinstance(whole, set | frozenset):
        # Sorted, because the order of a set changes from process to process.
        whole = sorted(whole)
    if isinstance(whole, tuple) and [type(part) for part in whole] == [str, int, int]:
        whole = [whole]  # one span alone
    collected = GoldCell({}, [], [])
    for item in items_in(whole):
        _add_gold(collected, item, as_id, preferred)
    # Ids and places cannot be counted together: both may mean the same passage.
    if collected.grades and collected.spans:
        raise CellError("expected ids or spans; got both")
    return collected


def _add_gold(
    collected: GoldCell, item: Any, as_id: Callable[[object], str], preferred: IdPlaces
) -> None:
    if isinstance(item, Mapping):
        _add_gold_mapping(collected, item, preferred)
    elif isinstance(item, list | tuple) and len(item) in (3, 4):
        collected.spans.append((_span(*item[:3]), grade(item[3]) if len(item) == 4 else 1.0))
    elif isinstance(item, list | tuple) and len(item) == 2:
        _add_grade(collected, as_id(item[0]), grade(item[1]))
    else:
        _add_grade(collected, as_id(item), 1.0)


def _add_gold_mapping(collected: GoldCell, item: Mapping[str, Any], preferred: IdPlaces) -> None:
    value = next((grade(item[key]) for key in _GRADE_KEYS if not is_missing(item.get(key))), 1.0)
    named_section, span = _section_in(item, preferred), _span_in(item)
    if span is not None and (named_section is None or not named_section.is_certain):
        collected.spans.append((span, value))
        return
    if named_section is None:
        raise CellError(f"expected gold with an id or a span; got {short_repr(item)}")
    document, chunk = named_section.section
    if document is None:
        _add_grade(collected, chunk, value)
    else:
        # Documents may number their chunks alike, so a second grade of an id is no contradiction.
        collected.grades[chunk] = max(value, collected.grades.get(chunk, value))
        collected.sections.append((document, chunk, value))
    if named_section.places is not None:
        collected.places.append(named_section.places)


def _add_grade(collected: GoldCell, name: str, value: float) -> None:
    if collected.grades.setdefault(name, value) != value:
        raise CellError(f"{name!r} has two grades, {collected.grades[name]:g} and {value:g}")


def citations(
    cell: object, ranked: Sequence[Section], preferred: IdPlaces = NO_PLACES
) -> CitationCell:
    """What is cited: ids, or mappings with ids or a `source_index` (counted from 1).

    Parameters
    ----------
    cell : object
        The cell.
    ranked : sequence of Section
        The retrieved passages of the query.
    preferred : IdPlaces
        As for `ranking`.

    Examples
    --------
    >>> citations([{"source_index": 2}, "d9"], ranked=[(None, "d1"), (None, "d2")]).ids
    ['d2', 'd9']
    """
    parts = [_citation(item, ranked, preferred) for item in items_in(cell)]
    sections = [section for section, _ in parts]
    return CitationCell(
        [name for _, name in sections],
        sections if _name_documents(sections) else [],
        [places for _, places in parts if places is not None],
    )


def _citation(
    item: Any, ranked: Sequence[Section], preferred: IdPlaces
) -> tuple[Section, IdPlaces | None]:
    if not isinstance(item, Mapping):
        return (None, doc_id(item)), None
    named_section, place = _section_in(item, preferred), item.get("source_index")
    if named_section is not None and (named_section.is_certain or place is None):
        return named_section.section, named_section.places
    if not isinstance(place, int) or isinstance(place, bool):
        raise CellError(f"expected a citation with an id or a source_index; got {short_repr(item)}")
    # A number beyond the ranking is an invented source; under a name of its own it counts as wrong.
    is_ranked = 0 < place <= len(ranked)
    return ranked[place - 1] if is_ranked else (None, f"source {place}"), None


def with_documents(
    ids: Sequence[Any], documents: Sequence[Any], names: tuple[Any, Any]
) -> list[Any]:
    """The cells of a column of ids with the documents that another column holds, item by item.

    Parameters
    ----------
    ids, documents : sequence of cells
        One cell per query each.
    names : (str, str)
        The names of the two columns.

    Raises
    ------
    DataError
        If the cells of a row differ in length.

    Examples
    --------
    >>> with_documents([["c1"]], [["guide"]], ("retrieved_chunk_ids", "retrieved_doc_ids"))
    [[{'chunk_id': 'c1', 'doc_id': 'guide'}]]
    """
    return [
        _pairitems_in(row, *cells, names)
        for row, cells in enumerate(zip(ids, documents, strict=True))
    ]


def _pairitems_in(row: int, cell: object, documents: object, names: tuple[Any, Any]) -> object:
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


def _has_only_numbers(cell: Mapping[Any, Any]) -> bool:
    return all(isinstance(value, Real | np.bool_) for value in cell.values())


def _span_in(item: Mapping[str, Any]) -> Span | None:
    file = next((item[key] for key in _FILE_KEYS if key in item), None)
    if file is None or "start" not in item or "end" not in item:
        return None
    return _span(file, item["start"], item["end"])


def _span(file: object, start: object, end: object) -> Span:
    are_integers = isinstance(start, Integral) and isinstance(end, Integral)
    if isinstance(file, str) and file and are_integers and 0 <= start < end:  # type: ignore[operator]
        return Span(file, int(start), int(end))  # type: ignore[call-overload]
    raise CellError(
        "expected a span of filename, start and end, with start < end; "
        f"got {short_repr((file, start, end))}"
    )


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
    """Pairs of document and chunk, or triples with a grade; None for a grade that is omitted.

    Examples
    --------
    >>> graded_sections([("guide", "c1"), (None, "c2", 2)])
    [('guide', 'c1', None), (None, 'c2', 2.0)]
    """
    items = [tuple(item) if isinstance(item, list | tuple) else () for item in items_in(cell)]
    pairs = sections([list(item[:2]) for item in items])
    if any(len(item) > 3 for item in items):
        raise CellError(f"expected document, chunk and grade; got {short_repr(cell)}")
    grades = [grade(item[2]) if len(item) == 3 else None for item in items]
    return [(*pair, value) for pair, value in zip(pairs, grades, strict=True)]


def numbers(cell: object) -> list[float | None]:
    """One finite number per result, or None."""
    items = items_in(cell)
    if all(type(item) is float and math.isfinite(item) for item in items):
        return items
    # Parquet gives back a null among numbers as NaN.
    return [None if is_missing(item) else _score(item) for item in items]

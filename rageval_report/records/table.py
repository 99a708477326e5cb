"""Check a table of records once; afterwards every cell of a field has one shape."""

from __future__ import annotations

import math
import re
import unicodedata
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any, Literal, get_args

import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, RagevalWarning, check_choice, named
from rageval_report.records import cells
from rageval_report.records.cells import Span, optional
from rageval_report.records.levels import FIELD_NAMES
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.query_ids import (
    ANSWER,
    CONTEXTS,
    QUERY_ID,
    QUESTION,
    REFERENCE,
    all_named,
    query_ids,
)

_TEXTS = {"question": QUESTION, "reference": REFERENCE, "contexts": CONTEXTS, "answer": ANSWER}
# The fields of a record, in the order of the table, with other names that a column may have.
FIELDS: dict[str, tuple[str, ...]] = {
    field: tuple(name for name in (*_TEXTS.get(field, ()), *names) if name != "retrieved")
    for field, names in FIELD_NAMES["records"].items()
}
_PARALLEL = FIELD_NAMES["parallel"]
_COOKBOOK = FIELD_NAMES["cookbook"]
_AMOUNTS = ("latency_ms", "prompt_tokens", "completion_tokens", "cost_usd")

# How the cells of most fields are converted; rankings, gold and citations depend on each other.
_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("question", "answer", "model", "error"), cells.text),
    **dict.fromkeys(("reference", "negative_reference", "contexts"), cells.texts),
    **dict.fromkeys(_AMOUNTS, cells.amount),
    "answerable": cells.truth,
    "retrieved_sections": cells.sections,
    "cited_sections": cells.sections,
    "relevant_sections": cells.graded_sections,
    "retrieved_scores": cells.numbers,
    "retrieved_spans": cells.spans,
}

# Stack levels from the warnings here to the line that called `record_table`.
_CALLERS_LINE = 3

UnretrievedCitations = Literal["warn", "error", "keep"]
UnplacedGold = Literal["error", "drop"]


def record_table(
    data: object,
    *,
    query_id: str = QUERY_ID,
    overlap: float = 0.5,
    unretrieved_citations: UnretrievedCitations = "warn",
    unplaced_gold: UnplacedGold = "error",
) -> pd.DataFrame:
    """Check records, and convert every cell of a known field to one shape.

    Parameters
    ----------
    data : frame, dict of lists, or list of dicts
        One row per query. The known columns are those of `FIELDS`; all others are metadata and
        stay unchanged. ``relevant`` contains ids (a list, a mapping to grades, pairs, or mappings
        with ``doc_id``, ``chunk_id``, ``relevance``) or (filename, start, end) spans; texts belong
        in ``relevant_texts``. If rows have a field under different names, such as ``relevant`` and
        ``gold_ids``, and no row has both, the columns are read as one.
        ``retrieved`` contains ids in order, pairs of id and score, or
        mappings with ``doc_id``, ``chunk_id``, ``score``, ``text`` and with ``filename``,
        ``start``, ``end``. A passage may carry the ids of its document and of its chunk.
    query_id : str
        The column of ids. If there is none, other common names are tried, then the index, then the
        ids are derived from the questions.
    overlap : float
        A retrieved chunk contains a gold span or a gold text if they share this much of the shorter
        of the two; see `rageval_report.records.gold_texts.first_text_holders` for texts.
    unretrieved_citations : {"warn", "error", "keep"}
        What to do if a citation was not retrieved. This is an error of the pipeline more often than
        of the data, so by default such citations are kept and scored as wrong.
    unplaced_gold : {"error", "drop"}
        What to do if gold is texts or spans, and the retrieved chunks have no texts or spans to
        compare with. "drop" leaves such queries unscored, with a warning that counts them.

    Returns
    -------
    DataFrame
        Index ``query_id``; the known fields of the data: texts or None; lists of texts;
        ``relevant`` a dict of id to grade; ``retrieved`` a list of ids; ``answerable`` boolean or
        missing; amounts as float64, NaN if missing. Where passages carry two ids, these fields have
        that of the chunk, and ``retrieved_sections``, ``relevant_sections`` and ``cited_sections``
        have pairs of document and chunk, those of the gold with their grades. Gold spans and texts
        become the ids of the first retrieved chunks that contain them, each credited once; the
        others keep a name of their own, and the original gold stays in ``relevant_spans`` and
        ``relevant_texts``.
        Checking the result again changes nothing.

    Raises
    ------
    DataError
        If ids are missing or repeated, or cells are wrong: the first five by query and field.

    Examples
    --------
    >>> records = record_table(
    ...     [{"qid": 1, "relevant": ["d1"], "retrieved": [("d2", 0.9), ("d1", 0.8)]}]
    ... )
    >>> records.loc["1", "relevant"], records.loc["1", "retrieved"]
    ({'d1': 1.0}, ['d2', 'd1'])
    """
    check_choice("unretrieved_citations", unretrieved_citations, get_args(UnretrievedCitations))
    check_choice("unplaced_gold", unplaced_gold, get_args(UnplacedGold))
    if not (isinstance(overlap, Real) and 0.0 < overlap <= 1.0):
        raise DataError(f"overlap must be > 0 and <= 1, e.g. 0.5; got {overlap!r}")
    frame = _with_usual_names(to_pandas(data, parameter="records", file_reader="read_records"))
    if not len(frame):
        raise DataError("expected one row per query; the table is empty")
    ids, id_column, _ = query_ids(frame, query_id)
    if ids.duplicated().any():
        repeated = ids[ids.duplicated()].unique().tolist()
        raise DataError(f"query ids must be unique; these appear more than once: {named(repeated)}")
    columns, used = _known_columns(frame, id_column)
    records = _RecordColumns(ids.tolist(), columns)
    records.convert(overlap, drop_unplaced=unplaced_gold == "drop")
    records.drop_unplaced_gold()
    records.check_citations(unretrieved_citations)
    return records.table(frame.drop(columns=[c for c in frame if c in {*used, id_column}]))


def concatenate_rows(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all tables, at least one; the ids keep their type, which pandas changes."""
    parts = list(tables)
    kinds: dict[Hashable, set[str]] = {}
    for part in parts:
        for name, dtype in part.dtypes.items():
            kinds.setdefault(name, set()).add("number" if dtype.kind in "iuf" else dtype.kind)
    # pandas 2 ignores a part that is blank when it chooses the type, and warns of it; pandas 3 does
    # not ignore it.
    mixed = {name for name, kinds_of_column in kinds.items() if len(kinds_of_column) > 1}
    if mixed:
        parts = [part.astype(dict.fromkeys(mixed & {*part.columns}, object)) for part in parts]
    table = pd.concat(parts)
    return table.set_axis(table.index.astype(object))


# -- which column is which field


def _with_usual_names(frame: pd.DataFrame) -> pd.DataFrame:
    """A table of the cookbook under the names of `FIELDS`; any other as it is."""
    if not set(_COOKBOOK) <= set(frame.columns) or "reference" in frame.columns:
        return frame

    def facts(cell: object) -> list[Any]:
        items = cells.items_in(cell)
        return [item.get("fact", item) if isinstance(item, Mapping) else item for item in items]

    column = pd.Series(map(optional(facts), frame["gt_chunks"]), frame.index, dtype=object)
    return frame.assign(gt_chunks=column).rename(columns=_COOKBOOK)


def _known_columns(
    frame: pd.DataFrame, id_column: str | None
) -> tuple[dict[str, list[Any]], set[str]]:
    """The cells of each known field, and the columns that they come from."""
    labels = [label for label in frame.columns if label != id_column]
    columns: dict[str, list[Any]] = {}
    used: set[str] = set()
    for field, also in FIELDS.items():
        for label in all_named(labels, (field, *also)):
            column = frame[label].tolist()
            pairs = list(zip(columns.setdefault(field, column), column, strict=True))
            filled = [(_is_filled(cell), _is_filled(other)) for cell, other in pairs]
            # Only if no row has both it is one field, spelled in two ways.
            if columns[field] is column or (True, True) not in filled:
                columns[field] = [other if _is_filled(other) else cell for cell, other in pairs]
                used.add(label)
            elif field == "relevant" and (False, True) in filled:
                raise DataError(
                    f"relevant: row {filled.index((False, True))} has its gold only in {label!r}, "
                    f"and row {filled.index((True, True))} in another column too, so it is not "
                    "clear which is the gold. Leave one out, or write all gold into one"
                )
    return columns, used


def _is_filled(cell: object) -> bool:
    """Whether a cell has a value; an empty list says that there is none."""
    is_empty = isinstance(cell, list | tuple | dict | set) and not cell
    return not is_empty and not cells.is_missing(cell)


class _RecordColumns:
    """The columns while they are converted, and the problems so far."""

    def __init__(self, ids: list[str], columns: dict[str, list[Any]]):
        self.ids = ids
        self.columns = columns
        # Why cells cannot be used, as query, field and message.
        self.problems: list[tuple[str, str, str]] = []
        self.unplaced: list[tuple[str, str, str]] = []

    def convert(self, overlap: float, *, drop_unplaced: bool) -> None:
        """Convert field by field; problems are collected, and raised together."""
        for field, convert in _CONVERTERS.items():
            if field in self.columns:
                self.columns[field] = self._converted(field, convert)
        self._convert_rankings()
        self._convert_gold()
        self._raise_problems()
        # After the rankings, because a citation may be a position in one.
        self._convert_citations()
        for field, main_field in _PARALLEL.items():
            self._check_lengths(field, main_field)
        self._match_gold(overlap)
        if not drop_unplaced:
            self.problems += self.unplaced
        self._raise_problems()

    def drop_unplaced_gold(self) -> None:
        """Leave out gold that cannot be compared with what was retrieved, with a warning."""
        if not self.unplaced:
            return
        query_ids = [query_id for query_id, _, _ in self.unplaced]
        without = set(query_ids)
        for field in {"relevant", "relevant_texts", "relevant_spans"} & set(self.columns):
            pairs = zip(self.ids, self.columns[field], strict=True)
            self.columns[field] = [None if query in without else cell for query, cell in pairs]
        _, field, message = self.unplaced[0]
        warnings.warn(
            f"{message} ({field}), which {len(query_ids)} of {len(self.ids)} answers do not have "
            f"({named(query_ids)}): metrics that need the gold are unscored there",
            RagevalWarning,
            stacklevel=_CALLERS_LINE,
        )

    def check_citations(self, policy: UnretrievedCitations) -> None:
        """Report citations of documents that were not retrieved."""
        outside = []
        rows = self._rows("citations", "retrieved", "retrieved_sections")
        for query_id, cited, ids, sections in rows if policy != "keep" else ():
            # A citation may name a document, of which a chunk was retrieved.
            known = {*(ids or ()), *(document for document, _ in sections or ())}
            if ids is not None and not known.issuperset(cited or ()):
                outside.append(query_id)
        message = f"documents were cited but not retrieved in {named(outside)}; they count as wrong"
        if outside and policy == "error":
            raise DataError(message)
        if outside:
            warnings.warn(message, RagevalWarning, stacklevel=_CALLERS_LINE)

    def table(self, metadata: pd.DataFrame) -> pd.DataFrame:
        """The table of the fields in their order, with the metadata behind them."""
        index = pd.Index(self.ids, name=QUERY_ID, dtype=object)
        # "boolean" has a missing value; NumPy's bool would make False of it.
        dtypes = {**dict.fromkeys(_AMOUNTS, "float64"), "answerable": "boolean"}
        fields = {
            field: pd.Series(self.columns[field], index=index, dtype=dtypes.get(field, "object"))
            for field in FIELDS
            if field in self.columns
        }
        rest = metadata.drop(columns=[label for label in metadata.columns if label in fields])
        parts = [pd.DataFrame(fields, index=index), rest.set_axis(index, axis=0)]
        return pd.concat(parts, axis=1)

    # -- fields

    def _column(self, field: str) -> list[Any]:
        return self.columns.get(field) or [None] * len(self.ids)

    def _rows(self, *fields: str) -> zip[tuple[Any, ...]]:
        return zip(self.ids, *map(self._column, fields), strict=True)

    def _converted(self, field: str, convert: Callable[[Any], Any]) -> list[Any]:
        """The cells of a field, None where one is missing or has a problem, which is noted."""
        return [
            self._converted_cell(query_id, field, convert, cell)
            for query_id, cell in zip(self.ids, self.columns[field], strict=True)
        ]

    def _converted_cell(
        self, query_id: str, field: str, convert: Callable[[Any], Any], cell: object
    ) -> Any:
        try:
            return None if cells.is_missing(cell) else convert(cell)
        except cells.CellError as exc:
            self.problems.append((query_id, field, str(exc)))
            return None

    def _raise_problems(self) -> None:
        if not self.problems:
            return
        shown = self.problems[:MOST_NAMED]
        listed = [f"{field} of {query_id!r}: {message}" for query_id, field, message in shown]
        more = len(self.problems) - len(listed)
        raise DataError("; ".join(listed) + (f"; and {more} more" if more > 0 else ""))

    def _fill_missing(self, field: str, values: Iterable[Any]) -> None:
        """Fill missing cells of a field with values that another field contained, if not empty."""
        pairs = zip(self._column(field), values, strict=True)
        merged = [(new or None) if cell is None else cell for cell, new in pairs]
        if field in self.columns or any(cell is not None for cell in merged):
            self.columns[field] = merged

    def _check_lengths(self, field: str, main_field: str) -> None:
        for query_id, cell, main in self._rows(field, main_field):
            if cell is not None and main is not None and len(cell) != len(main):
                message = (
                    f"expected {len(main)} items, one for each of {main_field}; got {len(cell)}"
                )
                self.problems.append((query_id, field, message))

    def _convert_rankings(self) -> None:
        if "retrieved" not in self.columns:
            return
        rankings = self._converted("retrieved", cells.ranking)
        self.columns["retrieved"] = [ranking and ranking.ids for ranking in rankings]
        for part in ("scores", "spans", "sections", "texts"):
            field = "contexts" if part == "texts" else f"retrieved_{part}"
            self._fill_missing(field, (ranking and getattr(ranking, part) for ranking in rankings))

    def _convert_gold(self) -> None:
        if "relevant_texts" in self.columns:
            self.columns["relevant_texts"] = self._converted("relevant_texts", cells.graded_texts)
        for field in ("relevant", "relevant_spans"):
            if field not in self.columns:
                continue
            gold = self._converted(field, cells.gold)
            spans = [
                item and ([(*span, grade) for span, grade in item.spans] or None) for item in gold
            ]
            if field == "relevant":
                self.columns[field] = [item and item.grades for item in gold]
                self._fill_missing("relevant_sections", (item and item.sections for item in gold))
                self._fill_missing("relevant_spans", spans)
            else:
                self.columns[field] = spans
        if "relevant_sections" in self.columns:
            # A section without a grade of its own has that of its id.
            self.columns["relevant_sections"] = [
                sections
                and [
                    (document, name, (grades or {}).get(name, 1.0) if grade is None else grade)
                    for document, name, grade in sections
                ]
                for _, sections, grades in self._rows("relevant_sections", "relevant")
            ]

    def _convert_citations(self) -> None:
        if "citations" not in self.columns:
            return
        cited = []
        for query_id, cell, ids, sections in self._rows(
            "citations", "retrieved", "retrieved_sections"
        ):
            ranked = sections or [(None, name) for name in ids or ()]
            convert = partial(cells.citations, ranked=ranked)
            cited.append(self._converted_cell(query_id, "citations", convert, cell))
        self.columns["citations"] = [cell and cell.ids for cell in cited]
        self._fill_missing("cited_sections", (cell and cell.sections for cell in cited))

    # -- gold that is a span or a text

    def _match_gold(self, overlap: float) -> None:
        """Give spans and texts the ids of the first retrieved chunks that contain them."""
        if not {"relevant_spans", "relevant_texts"} & set(self.columns):
            return
        relevant, ranked = self._column("relevant").copy(), self._column("retrieved").copy()
        rows = self._rows("relevant_spans", "relevant_texts", "retrieved_spans", "contexts")
        for row, (_, spans, texts, chunks, contexts) in enumerate(rows):
            if spans:
                places = [Span(*span[:3]) for span in spans]
                grades: dict[str, float] = {}
                for place, span in zip(places, spans, strict=True):
                    grades[place.name] = max(span[3], grades.get(place.name, span[3]))
                gold = list({place.name: place for place in places}.values())
                need = "gold spans need the filename, start and end of each retrieved chunk"
                if self._can_be_placed(row, ranked[row], chunks, "retrieved", need):
                    holders = first_holders(chunks, gold, overlap)
                    grades = self._credited(row, grades, ranked[row], holders)
                relevant[row] = grades
            elif texts is not None:
                if ranked[row] is None and contexts is not None:
                    # Without ids the texts are the ranking; an id must not be blank.
                    ranked[row] = [text if text.strip() else "(blank)" for text in contexts]
                need = "gold texts need one text for each retrieved chunk"
                relevant[row] = texts
                if self._can_be_placed(row, ranked[row], contexts, "contexts", need):
                    holders = first_text_holders(contexts, list(texts), overlap)
                    relevant[row] = self._credited(row, texts, ranked[row], holders)
        self.columns["relevant"] = relevant
        if any(ranking is not None for ranking in ranked):
            self.columns["retrieved"] = ranked

    def _can_be_placed(
        self, row: int, ranking: list[str] | None, chunks: list[Any] | None, field: str, need: str
    ) -> bool:
        """Whether there is a chunk for each retrieved id; a problem is noted."""
        is_placed = not ranking or (chunks is not None and len(chunks) == len(ranking))
        if not is_placed:
            self.unplaced.append((self.ids[row], field, need))
        return bool(ranking) and is_placed

    def _credited(
        self, row: int, grades: dict[str, float], ranking: list[str], holders: Sequence[int]
    ) -> dict[str, float]:
        """The grades by the ids of the chunks that contain the gold, which get its sections."""
        sections = self._column("retrieved_sections")[row]
        if sections is not None:
            columns = self.columns.setdefault("relevant_sections", [None] * len(self.ids))
            columns[row] = [
                (*(sections[rank] if rank >= 0 else (None, name)), grade)
                for rank, (name, grade) in zip(holders, grades.items(), strict=True)
            ]
        credited: dict[str, float] = {}
        # Several items in one chunk become one, with the highest of their grades.
        for (name, grade), rank in zip(grades.items(), holders, strict=True):
            key = name if rank < 0 else ranking[rank]
            credited[key] = max(grade, credited.get(key, grade))
        return credited


# -- which chunk holds a span or a text

# Fewer characters in common say nothing: "ro" at the end of a chunk is no half of "Rome", and "the"
# is in every long text.
_LEAST = 10

# Soft hyphens, joiners and the like, which are in a text but not seen.
_UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")

# Letters and digits of scripts that write blanks between words. Thai, Lao, Burmese, Khmer, Chinese
# and Japanese do not, so the character beside a text says nothing about where a word ends.
_SPACED = re.compile(
    "[^\\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def first_holders(chunks: Sequence[Span | None], gold: Sequence[Span], overlap: float) -> list[int]:
    """For each gold span the rank, from 0, of the first chunk that contains it; -1 if none does."""
    known = [(rank, chunk) for rank, chunk in enumerate(chunks) if chunk is not None]
    return [
        next((rank for rank, chunk in known if _share_enough(chunk, span, overlap)), -1)
        for span in gold
    ]


def _share_enough(chunk: Span, span: Span, overlap: float) -> bool:
    """Whether a chunk and a gold span share `overlap` times the length of the shorter one."""
    if chunk.filename != span.filename:
        return False
    common = min(chunk.end, span.end) - max(chunk.start, span.start)
    # Of the shorter of the two: a long gold span cannot fit into a small chunk, nor the reverse.
    shorter = min(chunk.end - chunk.start, span.end - span.start)
    return common > 0 and common >= overlap * shorter


def first_text_holders(chunks: Sequence[str], gold: Sequence[str], overlap: float) -> list[int]:
    """For each gold text the rank, from 0, of the first chunk that contains it; -1 if none does."""
    plain = [_simplified(chunk) for chunk in chunks]
    holders = []
    for item in gold:
        text = _simplified(item)
        kept = [place for place, character in enumerate(text) if character.isalnum()]
        text = text[kept[0] : kept[-1] + 1] if kept else text
        ranks = (rank for rank, chunk in enumerate(plain) if _contains(chunk, text, overlap))
        holders.append(next(ranks, -1) if text else -1)
    return holders


def _simplified(text: str) -> str:
    """A text for comparison: one form of each character, no upper case, single blanks."""
    plain = unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).casefold()
    return " ".join(unicodedata.normalize("NFKC", plain).split())


def _contains(chunk: str, gold: str, overlap: float) -> bool:
    if gold in chunk:
        return len(gold) >= _LEAST or _has_as_words(chunk, gold)
    least = max(math.ceil(overlap * min(len(chunk), len(gold))), _LEAST)
    if len(chunk) < least:
        return False
    return chunk in gold or _follows(chunk, gold, least) or _follows(gold, chunk, least)


def _has_as_words(chunk: str, gold: str) -> bool:
    """Whether a short text is in a chunk other than as part of a longer word."""

    def is_one_word(left: str, right: str) -> bool:
        return bool(_SPACED.match(left) and _SPACED.match(right))

    return any(
        not is_one_word(chunk[: match.start()][-1:], gold[0])
        and not is_one_word(gold[-1], chunk[match.end() :][:1])
        for match in re.finditer(re.escape(gold), chunk)
    )


def _follows(first: str, second: str, least: int) -> bool:
    """Whether the end of a text is the start of another, over at least that many characters."""
    head = second[:least]
    place = first.find(head, max(0, len(first) - len(second)))
    while place >= 0:
        if second.startswith(first[place:]):
            return True
        place = first.find(head, place + 1)
    return False

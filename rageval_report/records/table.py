"""Check a table of records once; afterwards every cell of a field has one shape."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, RagevalWarning, check_choice, named
from rageval_report.records import cells
from rageval_report.records.gold_texts import first_text_holders
from rageval_report.records.id_places import preferred_places, with_note
from rageval_report.records.levels import GoldSection
from rageval_report.records.named_shapes import with_usual_names
from rageval_report.records.passage_ids import NO_PLACES, IdPlaces
from rageval_report.records.spans import Span, first_holders, map_gold_to_chunks
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.query_ids import QUERY_ID, all_named, first_named, query_ids
from rageval_report.scores.texts import ANSWER, CONTEXTS, QUESTION, REFERENCE

T = TypeVar("T")

# The fields of a record, in the order of the table, with other names that a column may have.
FIELDS: dict[str, tuple[str, ...]] = {
    "question": QUESTION,
    "reference": REFERENCE,
    "negative_reference": ("negative_references", "wrong_answers"),
    "answerable": ("is_answerable",),
    "relevant": (
        *("relevant_ids", "relevant_chunk_ids", "relevant_doc_ids", "gold_ids", "gold_chunk_ids"),
        *("gold_doc_ids", "gold_passages", "gold_citations"),
    ),
    "relevant_texts": ("gold_texts", "gold_contexts"),
    "relevant_spans": ("gold_spans",),
    "relevant_sections": (),
    "retrieved": (
        *("retrieved_ids", "retrieved_chunk_ids", "retrieved_doc_ids", "retrieved_chunks"),
    ),
    "retrieved_sections": (),
    "retrieved_scores": (),
    "retrieved_spans": (),
    "contexts": tuple(name for name in CONTEXTS if name != "retrieved"),
    "answer": ANSWER,
    "citations": ("citation_ids", "cited_chunk_ids", "cited_doc_ids"),
    "cited_sections": (),
    "latency_ms": ("latency_in_ms",),
    "prompt_tokens": ("input_tokens",),
    "completion_tokens": ("output_tokens",),
    "cost_usd": (),
    "model": ("model_name",),
    "error": (),
}
# Columns of the documents of passages whose ids another column holds, item by item.
_DOCUMENTS = {
    "relevant": ("relevant_doc_ids", "relevant_document_ids", "gold_doc_ids"),
    "retrieved": ("retrieved_doc_ids", "retrieved_document_ids"),
    "citations": ("cited_doc_ids", "cited_document_ids"),
}
_TEXTS = ("question", "answer", "model", "error")
_LISTS_OF_TEXTS = ("reference", "negative_reference", "contexts")
_AMOUNTS = ("latency_ms", "prompt_tokens", "completion_tokens", "cost_usd")

# Lists that must be as long as another one, item by item.
_PARALLEL = {
    "retrieved_scores": "retrieved",
    "retrieved_sections": "retrieved",
    "retrieved_spans": "retrieved",
    "cited_sections": "citations",
}

# Stack levels from the warnings here to the line that called `record_table`.
_CALLERS_LINE = 3

UnretrievedCitations = Literal["warn", "error", "keep"]
UnplacedGold = Literal["error", "drop"]


class _CellProblem(NamedTuple):
    """Why a cell cannot be used."""

    query_id: str
    field: str
    message: str


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
        ``gold_ids``, and no row has both, the columns are read as one, with a warning.
        ``retrieved`` contains ids in order, pairs of id and score, or
        mappings with ``doc_id``, ``chunk_id``, ``score``, ``text`` and with ``filename``,
        ``start``, ``end``. A passage may carry the ids of its document and of its chunk; columns
        such as ``retrieved_doc_ids`` beside ``retrieved_chunk_ids`` say the same.
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
    if not 0.0 < overlap <= 1.0:
        raise DataError(f"overlap must be > 0 and <= 1, e.g. 0.5; got {overlap!r}")
    frame = with_usual_names(to_pandas(data, parameter="records", file_reader="read_records"))
    ids, id_column = _unique_ids(frame, query_id)
    columns, source_columns = _known_columns(frame, id_column)
    records = _RecordColumns(ids, columns)
    records.convert(overlap, drop_unplaced=unplaced_gold == "drop")
    records.drop_unplaced_gold()
    records.check_citations(unretrieved_citations)
    table = _build_table(frame, ids, records.columns, {*source_columns, id_column})
    return with_note(table, records.places, earlier=frame)


def _unique_ids(frame: pd.DataFrame, query_id: str) -> tuple[list[str], str | None]:
    if not len(frame):
        raise DataError("expected one row per query; the table is empty")
    ids, column, _ = query_ids(frame, query_id)
    if ids.duplicated().any():
        repeated = ids[ids.duplicated()].unique().tolist()
        raise DataError(f"query ids must be unique; these appear more than once: {named(repeated)}")
    return ids.tolist(), column


def _known_columns(
    frame: pd.DataFrame, id_column: str | None
) -> tuple[dict[str, list[Any]], set[str]]:
    """The cells of each known field, and the columns that they come from."""
    labels = [label for label in frame.columns if label != id_column]
    columns: dict[str, list[Any]] = {}
    present: dict[str, str] = {}
    used: set[str] = set()
    for field, also in FIELDS.items():
        named_so = all_named(labels, (field, *also))
        if named_so:
            present[field] = named_so[0]
            columns[field], merged = _join_spellings(frame, field, named_so)
            used.update(merged)
    for field in [name for name in _DOCUMENTS if name in columns]:
        label = first_named(labels, _DOCUMENTS[field])
        if label is not None and label not in used:
            used.add(label)
            columns[field] = cells.with_documents(
                columns[field], frame[label].tolist(), (present[field], label)
            )
    return columns, used


def _join_spellings(
    frame: pd.DataFrame, field: str, labels: Sequence[str]
) -> tuple[list[Any], list[str]]:
    """The cells of a field that rows have under different names, and the columns that were read.

    Columns are joined only if no row has both: then it is one field, spelled in several ways.
    """
    first, *others = labels
    joined, merged = frame[first].tolist(), [first]
    for label in others:
        column = frame[label].tolist()
        pairs = list(zip(map(_is_filled, joined), map(_is_filled, column), strict=True))
        only_here = [row for row, (is_old, is_new) in enumerate(pairs) if is_new and not is_old]
        in_both = [row for row, both in enumerate(pairs) if all(both)]
        if only_here and not in_both:
            for row in only_here:
                joined[row] = column[row]
            merged.append(label)
        elif only_here and field == "relevant" and label not in _DOCUMENTS[field]:
            raise DataError(
                f"relevant: row {only_here[0]} has its gold only in {label!r}, and row "
                f"{in_both[0]} also in {first!r}, so it is not clear which column is the gold. "
                "Leave one of the columns out, or write all gold into one"
            )
    if len(merged) > 1:
        names = " and ".join(map(repr, merged))
        warnings.warn(
            f"{field}: the columns {names} are read as one, because no row has more than one of "
            "them; give them one name",
            RagevalWarning,
            stacklevel=_CALLERS_LINE + 1,
        )
    return joined, merged


def _is_filled(cell: object) -> bool:
    """Whether a cell has a value; an empty list says that there is none."""
    return not cells.is_missing(cell) and not (
        isinstance(cell, list | tuple | dict | set) and not cell
    )


def _build_table(
    frame: pd.DataFrame, ids: list[str], columns: dict[str, list[Any]], used: set[str | None]
) -> pd.DataFrame:
    index = pd.Index(ids, name=QUERY_ID, dtype=object)
    fields = {
        field: pd.Series(columns[field], index=index, dtype=_dtype_of(field))
        for field in FIELDS
        if field in columns
    }
    metadata = frame.drop(columns=[label for label in frame.columns if label in used])
    metadata = metadata.drop(columns=[label for label in metadata.columns if label in fields])
    return pd.concat([pd.DataFrame(fields, index=index), metadata.set_axis(index, axis=0)], axis=1)


def _dtype_of(field: str) -> str:
    # "boolean" has a missing value; NumPy's bool would make False of it.
    return "float64" if field in _AMOUNTS else "boolean" if field == "answerable" else "object"


class _RecordColumns:
    """The columns while they are converted, and the problems so far."""

    def __init__(self, ids: list[str], columns: dict[str, list[Any]]):
        self.ids = ids
        self.columns = columns
        self.problems: list[_CellProblem] = []
        self.unplaced: list[_CellProblem] = []
        self.places: dict[str, list[IdPlaces]] = {}
        self.preferred = NO_PLACES

    def convert(self, overlap: float, *, drop_unplaced: bool) -> None:
        """Convert field by field; problems are collected, and raised together."""
        self._convert(_TEXTS, cells.optional(cells.text))
        self._convert(_LISTS_OF_TEXTS, cells.optional(cells.texts))
        self._convert(_AMOUNTS, cells.optional(cells.amount))
        self._convert(("answerable",), cells.optional(cells.truth))
        self._convert(("retrieved_sections", "cited_sections"), cells.optional(cells.sections))
        self._convert(("relevant_sections",), cells.optional(cells.graded_sections))
        self._convert(("retrieved_scores",), cells.optional(cells.numbers))
        self._convert(("retrieved_spans",), cells.optional(cells.spans))
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
        query_ids = [problem.query_id for problem in self.unplaced]
        without = set(query_ids)
        for field in ("relevant", "relevant_texts", "relevant_spans"):
            if field in self.columns:
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
        # A citation may name a document, of which a chunk was retrieved.
        retrieved = [
            None if ids is None else {*ids, *(document for document, _ in sections or ())}
            for ids, sections in zip(
                self._column("retrieved"), self._column("retrieved_sections"), strict=True
            )
        ]
        pairs = zip(self.ids, self._column("citations"), retrieved, strict=True)
        outside = {
            query_id: missing
            for query_id, cited, ranking in pairs
            if cited and ranking is not None and (missing := sorted(set(cited) - ranking))
        }
        if not outside or policy == "keep":
            return
        listed = [f"{query!r} ({named(missing, 2)})" for query, missing in outside.items()]
        more = f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
        message = f"documents were cited but not retrieved: {', '.join(listed[:MOST_NAMED])}{more}"
        if policy == "error":
            raise DataError(f'{message}. With unretrieved_citations="keep" they count as wrong')
        warnings.warn(f"{message}; they count as wrong", RagevalWarning, stacklevel=_CALLERS_LINE)

    # -- fields

    def _column(self, field: str) -> list[Any]:
        return self.columns.get(field) or [None] * len(self.ids)

    def _convert(self, fields: Iterable[str], convert: Callable[[Any], Any]) -> None:
        for field in fields:
            if field in self.columns:
                self.columns[field] = self._convert_column(field, convert)

    def _convert_column(self, field: str, convert: Callable[[Any], T]) -> list[T | None]:
        rows = enumerate(self.columns[field])
        return [self._convert_cell(row, field, convert, cell) for row, cell in rows]

    def _convert_cell(
        self, row: int, field: str, convert: Callable[[Any], T], cell: object
    ) -> T | None:
        try:
            return convert(cell)
        except cells.CellError as exc:
            self.problems.append(_CellProblem(self.ids[row], field, str(exc)))
            return None

    def _raise_problems(self) -> None:
        if not self.problems:
            return
        listed = [
            f"{problem.field} of {problem.query_id!r}: {problem.message}"
            for problem in self.problems[:MOST_NAMED]
        ]
        more = len(self.problems) - len(listed)
        raise DataError("; ".join(listed) + (f"; and {more} more" if more > 0 else ""))

    def _fill_missing(self, field: str, values: Sequence[Any]) -> None:
        """Fill missing cells of a field with values that another field contained."""
        old = self._column(field)
        merged = [new if cell is None else cell for cell, new in zip(old, values, strict=True)]
        if field in self.columns or any(cell is not None for cell in merged):
            self.columns[field] = merged

    def _check_lengths(self, field: str, main_field: str) -> None:
        rows = zip(self.ids, self._column(field), self._column(main_field), strict=True)
        for query_id, cell, main in rows:
            if cell is not None and main is not None and len(cell) != len(main):
                message = (
                    f"expected {len(main)} items, one for each of {main_field}; got {len(cell)}"
                )
                self.problems.append(_CellProblem(query_id, field, message))

    def _convert_rankings(self) -> None:
        if "retrieved" not in self.columns:
            return
        raw = self.columns["retrieved"]
        rankings = self._convert_column("retrieved", cells.optional(cells.ranking))
        if any(ranking is not None and ranking.places for ranking in rankings):
            self.preferred = preferred_places(raw, self._column("relevant"))
        if self.preferred != NO_PLACES and not self.problems:
            prefer: Callable[[Any], cells.RankingCell] = partial(
                cells.ranking, preferred=self.preferred
            )
            rankings = [
                self._convert_cell(row, "retrieved", cells.optional(prefer), cell)
                for row, cell in enumerate(raw)
            ]
        self._note_places("retrieved", rankings)
        self.columns["retrieved"] = [ranking and ranking.ids for ranking in rankings]
        self._fill_missing("retrieved_scores", [r and (r.scores or None) for r in rankings])
        self._fill_missing("retrieved_spans", [r and (r.spans or None) for r in rankings])
        self._fill_missing("retrieved_sections", [r and (r.sections or None) for r in rankings])
        self._fill_missing("contexts", [r and (r.texts or None) for r in rankings])

    def _note_places(
        self,
        field: str,
        converted: Sequence[cells.RankingCell | cells.GoldCell | cells.CitationCell | None],
    ) -> None:
        self.places[field] = [place for cell in converted if cell for place in cell.places]

    def _convert_gold(self) -> None:
        self._convert(("relevant_texts",), cells.optional(cells.graded_texts))
        for field in ("relevant", "relevant_spans"):
            if field not in self.columns:
                continue
            convert = partial(cells.gold, preferred=self.preferred)
            gold = self._convert_column(field, cells.optional(convert))
            self._note_places(field, gold)
            spans = [item and _graded_spans(item.spans) for item in gold]
            if field == "relevant":
                self.columns[field] = [item and item.grades for item in gold]
                sections = [item and (item.sections or None) for item in gold]
                self._fill_missing("relevant_sections", sections)
                self._fill_missing("relevant_spans", spans)
            else:
                self.columns[field] = spans
        if "relevant_sections" in self.columns:
            rows = zip(self.columns["relevant_sections"], self._column("relevant"), strict=True)
            self.columns["relevant_sections"] = [
                sections and _with_grades(sections, grades or {}) for sections, grades in rows
            ]

    def _convert_citations(self) -> None:
        if "citations" not in self.columns:
            return
        rows = zip(self._column("retrieved"), self._column("retrieved_sections"), strict=True)
        rankings = [sections or [(None, name) for name in ids or ()] for ids, sections in rows]
        converters = [
            cells.optional(partial(cells.citations, ranked=names, preferred=self.preferred))
            for names in rankings
        ]
        cited = [
            self._convert_cell(row, "citations", convert, self.columns["citations"][row])
            for row, convert in enumerate(converters)
        ]
        self._note_places("citations", cited)
        self.columns["citations"] = [cell and cell.ids for cell in cited]
        self._fill_missing("cited_sections", [cell and (cell.sections or None) for cell in cited])

    # -- gold that is a span or a text

    def _match_gold(self, overlap: float) -> None:
        if not {"relevant_spans", "relevant_texts"} & set(self.columns):
            return
        relevant, ranked = self._column("relevant").copy(), self._column("retrieved").copy()
        for row, (spans, texts) in enumerate(
            zip(self._column("relevant_spans"), self._column("relevant_texts"), strict=True)
        ):
            if spans:
                relevant[row] = self._gold_of_spans(row, spans, overlap)
            elif texts is not None:
                ranked[row] = self._ranking_for_texts(row)
                relevant[row] = self._gold_of_texts(row, texts, ranked[row], overlap)
        self.columns["relevant"] = relevant
        if any(ranking is not None for ranking in ranked):
            self.columns["retrieved"] = ranked

    def _gold_of_spans(self, row: int, spans: list[Any], overlap: float) -> dict[str, float]:
        places = [Span(*span[:3]) for span in spans]
        grades: dict[str, float] = {}
        for place, (*_, grade) in zip(places, spans, strict=True):
            grades[place.name] = max(grade, grades.get(place.name, grade))
        unique = list({place.name: place for place in places}.values())
        ranking, chunks = self._column("retrieved")[row], self._column("retrieved_spans")[row]
        if not ranking:
            return grades
        if chunks is None or len(chunks) != len(ranking):
            message = "gold spans need the filename, start and end of each retrieved chunk"
            self.unplaced.append(_CellProblem(self.ids[row], "retrieved", message))
            return grades
        return self._credit(row, grades, first_holders(chunks, unique, overlap), ranking)

    def _ranking_for_texts(self, row: int) -> list[str] | None:
        """The ids of a ranking; if there are no ids, its texts."""
        ranking, contexts = self._column("retrieved")[row], self._column("contexts")[row]
        if ranking is None and contexts is not None:
            # An id must not be blank.
            return [text if text.strip() else "(blank)" for text in contexts]
        return ranking  # type: ignore[no-any-return]

    def _gold_of_texts(
        self, row: int, texts: dict[str, float], ranking: list[str] | None, overlap: float
    ) -> dict[str, float]:
        contexts = self._column("contexts")[row]
        if not ranking:
            return texts
        if contexts is None or len(contexts) != len(ranking):
            message = "gold texts need one text for each retrieved chunk"
            self.unplaced.append(_CellProblem(self.ids[row], "contexts", message))
            return texts
        holders = first_text_holders(contexts, list(texts), overlap)
        return self._credit(row, texts, holders, ranking)

    def _credit(
        self, row: int, grades: dict[str, float], holders: list[int], ranking: list[str]
    ) -> dict[str, float]:
        """The grades by the ids of the chunks that contain the gold, which get its sections."""
        sections = self._column("retrieved_sections")[row]
        if sections is not None:
            gold_sections = [
                (*(sections[rank] if rank >= 0 else (None, name)), grade)
                for rank, (name, grade) in zip(holders, grades.items(), strict=True)
            ]
            columns = self.columns.setdefault("relevant_sections", [None] * len(self.ids))
            columns[row] = gold_sections
        return map_gold_to_chunks(grades, holders, ranking)


def _with_grades(
    sections: list[tuple[str | None, str, float | None]], grades: dict[str, float]
) -> list[GoldSection]:
    """The sections with their grades; one without a grade of its own has that of its id."""
    return [
        (document, name, grades.get(name, 1.0) if grade is None else grade)
        for document, name, grade in sections
    ]


def _graded_spans(
    spans: list[tuple[Span, float]],
) -> list[tuple[str, int, int, float]] | None:
    return [(*span, grade) for span, grade in spans] or None

"""The table of records, checked once: every cell of a field has one shape afterwards."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, RagevalWarning, UnknownNameError, named
from rageval_report.records import cells
from rageval_report.records.spans import Span, first_holders, map_gold_to_chunks
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.query_ids import QUERY_ID, first_named, query_ids
from rageval_report.scores.texts import ANSWER, CONTEXTS, QUESTION, REFERENCE

# The fields of a record, in the order of the table, and how else a column may be named.
FIELDS: dict[str, tuple[str, ...]] = {
    "question": QUESTION,
    "reference": REFERENCE,
    "negative_reference": ("negative_references", "wrong_answers"),
    "answerable": ("is_answerable",),
    "relevant": ("relevant_ids", "relevant_doc_ids", "gold_ids", "gold_passages", "gold_citations"),
    "relevant_texts": ("gold_texts", "gold_contexts"),
    "relevant_spans": ("gold_spans",),
    "relevant_sections": (),
    "retrieved": ("retrieved_ids", "retrieved_doc_ids", "retrieved_chunks"),
    "retrieved_scores": (),
    "retrieved_spans": (),
    "contexts": tuple(name for name in CONTEXTS if name != "retrieved"),
    "answer": ANSWER,
    "citations": ("citation_ids",),
    "cited_sections": (),
    "latency_ms": ("latency_in_ms",),
    "prompt_tokens": ("input_tokens",),
    "completion_tokens": ("output_tokens",),
    "cost_usd": (),
    "model": ("model_name",),
    "error": (),
}
_TEXTS = ("question", "answer", "model", "error")
_LISTS_OF_TEXTS = ("reference", "negative_reference", "contexts")
_AMOUNTS = ("latency_ms", "prompt_tokens", "completion_tokens", "cost_usd")

# Lists that stand beside others, item by item.
_PARALLEL = {
    "retrieved_scores": "retrieved",
    "retrieved_spans": "retrieved",
    "cited_sections": "citations",
}

# From the check here to the line of whoever called `record_table`.
_CALLERS_LINE = 3

UnretrievedCitations = Literal["warn", "error", "keep"]
_UNRETRIEVED: tuple[UnretrievedCitations, ...] = ("warn", "error", "keep")
UnplacedGold = Literal["error", "drop"]
_UNPLACED: tuple[UnplacedGold, ...] = ("error", "drop")
Fault = tuple[str, str, str]
Cells = list[Any]


def record_table(
    data: object,
    *,
    query_id: str = QUERY_ID,
    overlap: float = 0.5,
    unretrieved_citations: UnretrievedCitations = "warn",
    unplaced_gold: UnplacedGold = "error",
) -> pd.DataFrame:
    """Check the records, and bring every cell of a known field into one shape.

    Parameters
    ----------
    data : frame, dict of lists, or list of dicts
        One row a query. Known columns are those of `FIELDS`; all others are metadata and are kept
        as they are. ``relevant`` holds ids (a list, a mapping to grades, pairs, or mappings with
        ``doc_id``, ``chunk_id``, ``relevance``) or (filename, start, end) spans; exact texts stand
        in ``relevant_texts``. ``retrieved`` holds ids in order, pairs of id and score, or mappings
        with ``text`` and with ``filename``, ``start``, ``end``.
    query_id : str
        The column of ids; other usual names are looked for, then an index, then the question.
    overlap : float
        A retrieved chunk holds a gold span if they share this much of the shorter of the two.
    unretrieved_citations : {"warn", "error", "keep"}
        What to do about citations of what was not retrieved. They are a fault of the pipeline
        more often than of the data, so they are scored as wrong.
    unplaced_gold : {"error", "drop"}
        What to do where gold is texts or places, and what was retrieved has neither text nor place
        to compare them with. Without its gold a query is unscored; it is said of how many.

    Returns
    -------
    DataFrame
        Index ``query_id``; of the known fields those that were there: texts or None; lists of
        texts; ``relevant`` a dict of id to grade; ``retrieved`` a list of ids; ``answerable``
        boolean or missing; amounts as float64, NaN where missing. Gold spans and texts become the
        ids of the first retrieved chunks that hold them, each truth credited once; those not
        found keep a name of their own, and the gold as given stays in ``relevant_spans`` and
        ``relevant_texts``. Running the check again changes nothing.

    Raises
    ------
    DataError
        If ids are missing or twice there, or cells are wrong: the first five by query and field.

    Examples
    --------
    >>> records = record_table(
    ...     [{"qid": 1, "relevant": ["d1"], "retrieved": [("d2", 0.9), ("d1", 0.8)]}]
    ... )
    >>> records.loc["1", "relevant"], records.loc["1", "retrieved"]
    ({'d1': 1.0}, ['d2', 'd1'])
    """
    if unretrieved_citations not in _UNRETRIEVED:
        raise UnknownNameError("way with citations", str(unretrieved_citations), _UNRETRIEVED)
    if unplaced_gold not in _UNPLACED:
        raise UnknownNameError("way with gold", str(unplaced_gold), _UNPLACED)
    if not 0.0 < overlap <= 1.0:
        raise DataError(f"overlap must be above 0 and at most 1, as 0.5; got {overlap!r}")
    frame = to_pandas(data)
    ids, id_column = _unique_ids(frame, query_id)
    columns, sources = _named_columns(frame, id_column)
    reading = _Reading(ids, columns)
    reading.read_everything(overlap, drop_unplaced=unplaced_gold == "drop")
    reading.tell_unplaced()
    reading.check_citations(unretrieved_citations)
    return _assembled(frame, ids, reading.columns, {*sources, id_column})


def _unique_ids(frame: pd.DataFrame, query_id: str) -> tuple[list[str], str | None]:
    if not len(frame):
        raise DataError("expected one row a query; the table is empty")
    ids, column, _ = query_ids(frame, query_id)
    if ids.duplicated().any():
        twice = ids[ids.duplicated()].unique().tolist()
        raise DataError(f"query ids must be unique; seen more than once: {named(twice)}")
    return ids.tolist(), column


def _named_columns(frame: pd.DataFrame, id_column: str | None) -> tuple[dict[str, Cells], set[str]]:
    """The cells of each known field, and the columns that they came from."""
    labels = [label for label in frame.columns if label != id_column]
    found = {field: first_named(labels, (field, *also)) for field, also in FIELDS.items()}
    present = {field: label for field, label in found.items() if label is not None}
    return {field: frame[label].tolist() for field, label in present.items()}, set(present.values())


def _assembled(
    frame: pd.DataFrame, ids: list[str], columns: dict[str, Cells], used: set[str | None]
) -> pd.DataFrame:
    index = pd.Index(ids, name=QUERY_ID, dtype=object)
    made = {
        field: pd.Series(columns[field], index=index, dtype=_dtype_of(field))
        for field in FIELDS
        if field in columns
    }
    metadata = frame.drop(columns=[label for label in frame.columns if label in used])
    metadata = metadata.drop(columns=[label for label in metadata.columns if label in made])
    return pd.concat([pd.DataFrame(made, index=index), metadata.set_axis(index, axis=0)], axis=1)


def _dtype_of(field: str) -> str:
    return "float64" if field in _AMOUNTS else "boolean" if field == "answerable" else "object"


class _Reading:
    """The columns while they are read, and what was wrong with them."""

    def __init__(self, ids: list[str], columns: dict[str, Cells]):
        self.ids = ids
        self.columns = columns
        self.faults: list[Fault] = []
        self.unplaced: list[Fault] = []

    def read_everything(self, overlap: float, *, drop_unplaced: bool) -> None:
        """Read field by field; all faults are found before the first few are told."""
        self._read(_TEXTS, cells.optional(cells.text))
        self._read(_LISTS_OF_TEXTS, cells.optional(cells.texts))
        self._read(_AMOUNTS, cells.optional(cells.amount))
        self._read(("answerable",), cells.optional(cells.truth))
        self._read(("relevant_sections", "cited_sections"), cells.optional(cells.sections))
        self._read(("retrieved_scores",), cells.optional(cells.numbers))
        self._read(("retrieved_spans",), cells.optional(cells.spans))
        self._read_retrieved()
        self._read_gold()
        self._refuse_faults()
        self._read_citations()
        for field, of in _PARALLEL.items():
            self._check_lengths(field, of)
        self._match_gold(overlap)
        if not drop_unplaced:
            self.faults += self.unplaced
        self._refuse_faults()

    def tell_unplaced(self) -> None:
        """Leave out gold that nothing can be compared with, and say so."""
        if not self.unplaced:
            return
        names = [one for one, _, _ in self.unplaced]
        without = set(names)
        for field in ("relevant", "relevant_texts", "relevant_spans"):
            if field in self.columns:
                pairs = zip(self.ids, self.columns[field], strict=True)
                self.columns[field] = [None if one in without else cell for one, cell in pairs]
        _, field, what = self.unplaced[0]
        warnings.warn(
            f"{what} ({field}), which {len(names)} of {len(self.ids)} answers lack ({named(names)})"
            ": what needs the gold is unscored there",
            RagevalWarning,
            stacklevel=_CALLERS_LINE,
        )

    def check_citations(self, way: UnretrievedCitations) -> None:
        """Say which citations are of documents that were not retrieved."""
        pairs = zip(self.ids, self._column("citations"), self._column("retrieved"), strict=True)
        outside = {
            one: missing
            for one, cited, ranking in pairs
            if cited and ranking is not None and (missing := sorted(set(cited) - set(ranking)))
        }
        if not outside or way == "keep":
            return
        shown = [f"{one!r} ({named(missing, 2)})" for one, missing in outside.items()]
        more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
        told = f"citations of what was not retrieved: {', '.join(shown[:MOST_NAMED])}{more}"
        if way == "error":
            raise DataError(f'{told}. With unretrieved_citations="keep" they are scored as wrong')
        warnings.warn(f"{told}; they are scored as wrong", RagevalWarning, stacklevel=_CALLERS_LINE)

    # -- fields

    def _column(self, field: str) -> Cells:
        return self.columns.get(field) or [None] * len(self.ids)

    def _read(self, fields: Iterable[str], read: Callable[[Any], Any]) -> None:
        for field in fields:
            if field in self.columns:
                self.columns[field] = self._each(field, read)

    def _each(self, field: str, read: Callable[[Any], Any]) -> Cells:
        return [self._one(row, field, read, cell) for row, cell in enumerate(self.columns[field])]

    def _one(self, row: int, field: str, read: Callable[[Any], Any], cell: Any) -> Any:
        try:
            return read(cell)
        except cells.CellError as exc:
            self.faults.append((self.ids[row], field, str(exc)))
            return None

    def _refuse_faults(self) -> None:
        if not self.faults:
            return
        shown = [f"{field} of {one!r}: {what}" for one, field, what in self.faults[:MOST_NAMED]]
        more = len(self.faults) - len(shown)
        raise DataError("; ".join(shown) + (f"; and {more} more" if more > 0 else ""))

    def _offer(self, field: str, found: Cells) -> None:
        """Fill a field from what stood inside another; what has a column of its own stays."""
        old = self._column(field)
        merged = [new if one is None else one for one, new in zip(old, found, strict=True)]
        if field in self.columns or any(one is not None for one in merged):
            self.columns[field] = merged

    def _check_lengths(self, field: str, of: str) -> None:
        pairs = zip(self.ids, self._column(field), self._column(of), strict=True)
        for one, cell, main in pairs:
            if cell is not None and main is not None and len(cell) != len(main):
                what = f"expected one for each of {of}, {len(main)}; got {len(cell)}"
                self.faults.append((one, field, what))

    def _read_retrieved(self) -> None:
        if "retrieved" not in self.columns:
            return
        found = self._each("retrieved", cells.optional(cells.ranking))
        self.columns["retrieved"] = [None if one is None else one.ids for one in found]
        self._offer("retrieved_scores", [one.scores or None if one else None for one in found])
        self._offer("retrieved_spans", [one.spans or None if one else None for one in found])
        self._offer("contexts", [one.texts or None if one else None for one in found])

    def _read_gold(self) -> None:
        self._read(("relevant_texts",), cells.optional(cells.graded_texts))
        for field in ("relevant", "relevant_spans"):
            if field not in self.columns:
                continue
            found = self._each(field, cells.optional(cells.gold))
            spans = [one.spans or None if one else None for one in found]
            if field == "relevant":
                self.columns[field] = [None if one is None else one.grades for one in found]
                self._offer(
                    "relevant_sections", [one.sections or None if one else None for one in found]
                )
                self._offer("relevant_spans", [_plain(one) for one in spans])
            else:
                self.columns[field] = [_plain(one) for one in spans]

    def _read_citations(self) -> None:
        if "citations" not in self.columns:
            return
        rankings = [ranking or [] for ranking in self._column("retrieved")]
        readings = [cells.optional(partial(cells.citations, ranked_ids=one)) for one in rankings]
        found = [
            self._one(row, "citations", read, self.columns["citations"][row])
            for row, read in enumerate(readings)
        ]
        self.columns["citations"] = [None if one is None else one.ids for one in found]
        self._offer("cited_sections", [one.sections or None if one else None for one in found])

    # -- gold that is a place or a text

    def _match_gold(self, overlap: float) -> None:
        if not {"relevant_spans", "relevant_texts"} & set(self.columns):
            return
        relevant, ranked = self._column("relevant").copy(), self._column("retrieved").copy()
        for row, (spans, texts) in enumerate(
            zip(self._column("relevant_spans"), self._column("relevant_texts"), strict=True)
        ):
            if spans:
                relevant[row] = self._by_spans(row, spans, overlap)
            elif texts is not None:
                ranked[row] = self._ranked_by_text(row)
                relevant[row] = self._by_texts(row, texts, ranked[row])
        self.columns["relevant"] = relevant
        if any(one is not None for one in ranked):
            self.columns["retrieved"] = ranked

    def _by_spans(self, row: int, spans: list[Any], overlap: float) -> dict[str, float]:
        places = [Span(*span[:3]) for span in spans]
        grades: dict[str, float] = {}
        for place, (*_, grade) in zip(places, spans, strict=True):
            grades[place.name] = max(grade, grades.get(place.name, grade))
        unique = list({place.name: place for place in places}.values())
        ranking, chunks = self._column("retrieved")[row], self._column("retrieved_spans")[row]
        if not ranking:
            return grades
        if chunks is None or len(chunks) != len(ranking):
            what = "gold spans need the filename, start and end of each retrieved chunk"
            self.unplaced.append((self.ids[row], "retrieved", what))
            return grades
        return map_gold_to_chunks(grades, first_holders(chunks, unique, overlap), ranking)

    def _ranked_by_text(self, row: int) -> list[str] | None:
        """The ids of a ranking, or its texts where there are no ids."""
        ranking, contexts = self._column("retrieved")[row], self._column("contexts")[row]
        if ranking is None and contexts is not None:
            return [one if one.strip() else "(blank)" for one in contexts]
        return ranking  # type: ignore[no-any-return]

    def _by_texts(
        self, row: int, texts: dict[str, float], ranking: list[str] | None
    ) -> dict[str, float]:
        contexts = self._column("contexts")[row]
        if not ranking:
            return texts
        if contexts is None or len(contexts) != len(ranking):
            what = "gold texts need one text for each retrieved chunk"
            self.unplaced.append((self.ids[row], "contexts", what))
            return texts
        first = {one: rank for rank, one in reversed(list(enumerate(contexts)))}
        return map_gold_to_chunks(texts, [first.get(one, -1) for one in texts], ranking)


def _plain(spans: list[tuple[Span, float]] | None) -> list[tuple[str, int, int, float]] | None:
    return [(*span, grade) for span, grade in spans] if spans else None

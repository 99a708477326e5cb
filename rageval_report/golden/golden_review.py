"""People look at a golden set: a sheet or a page to fill, and the answers read back."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.datasets.golden_items import GoldenItem, checked_ids
from rageval_report.errors import DataError, RagevalWarning, named
from rageval_report.files.source import Source

FORMAT = "rageval_report golden review"
FORMAT_VERSION = 1

ACCEPT, EDIT, REJECT = "accept", "edit", "reject"
_DECISIONS = {
    **dict.fromkeys(("accept", "accepted", "a", "ok", "yes", "y"), ACCEPT),
    **dict.fromkeys(("edit", "edited", "e"), EDIT),
    **dict.fromkeys(("reject", "rejected", "r", "no", "n"), REJECT),
}

COLUMNS = (
    *("query_id", "decision", "question", "references", "negative_references"),
    *("answerable", "gold", "note", "fingerprint"),
)
_AROUND = 300  # characters that are shown before and after a span

# What a spreadsheet takes for a formula; an apostrophe makes it a text, and is taken off again.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")


@dataclass(frozen=True)
class Decision:
    """What a reviewer said of one item.

    Parameters
    ----------
    query_id : str
        The item.
    decision : {"accept", "edit", "reject"}, optional
        None where nothing was said.
    question : str
        The question, perhaps changed.
    references, negative_references : tuple of str
        The answers, perhaps changed.
    note : str
        What else was said.
    fingerprint : str
        Of the item that was seen.
    """

    query_id: str
    decision: str | None
    question: str
    references: tuple[str, ...]
    negative_references: tuple[str, ...]
    note: str
    fingerprint: str


@dataclass(frozen=True)
class Reviewed:
    """A golden set after a review.

    Parameters
    ----------
    items : tuple of GoldenItem
        Those accepted or edited, and those that nobody has decided on.
    rejected : tuple of GoldenItem
        Those that are out.
    decisions : DataFrame
        A row an item: ``query_id``, ``decision`` ("open" where there is none), ``note``.
    """

    items: tuple[GoldenItem, ...]
    rejected: tuple[GoldenItem, ...]
    decisions: pd.DataFrame


def review_rows(
    items: Iterable[GoldenItem], documents: Mapping[str, str] | None = None
) -> list[dict[str, str]]:
    r"""What a reviewer sees of each item, as texts; several answers stand on lines of their own.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    documents : mapping of str to str, optional
        Texts by filename or id, as `Documents` reads a folder: with them the passages are shown
        that an item was made from or that its gold names.

    Examples
    --------
    >>> review_rows([GoldenItem("a", "Who?", ("Ann", "Lee"))])[0]["references"]
    'Ann\nLee'
    """
    return [
        {
            "query_id": item.query_id,
            "decision": "",
            "question": item.question,
            "references": "\n".join(map(_one_line, item.references)),
            "negative_references": "\n".join(map(_one_line, item.negative_references)),
            "answerable": "" if item.answerable is None else str(item.answerable).lower(),
            "gold": "\n\n".join([*_gold(item), *_passages(item, documents or {})]),
            "note": "",
            "fingerprint": item.fingerprint,
        }
        for item in checked_ids(items)
    ]


def _gold(item: GoldenItem) -> Iterator[str]:
    yield from item.relevant_texts
    yield from (span.name for span in item.relevant_spans)
    yield from item.relevant


def _passages(item: GoldenItem, documents: Mapping[str, str]) -> Iterator[str]:
    """What a reviewer must have read to say whether the answer is right, or there is none."""
    made_from = item.provenance.get("passages")
    places = [one for one in made_from if _is_place(one)] if isinstance(made_from, list) else []
    around = [
        (span.filename, max(0, span.start - _AROUND), span.end + _AROUND)
        for span in item.relevant_spans
    ]
    for filename, start, end in places or around:
        if filename in documents:
            yield f"{filename}:\n{documents[filename][start:end]}"
    yield from (f"{one}:\n{documents[one]}" for one in item.relevant if one in documents)


def _is_place(one: object) -> bool:
    return (
        isinstance(one, list)
        and len(one) == 3
        and isinstance(one[0], str)
        and all(isinstance(place, int) for place in one[1:])
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def review_sheet(items: Iterable[GoldenItem], *, documents: Mapping[str, str] | None = None) -> str:
    """A sheet to fill, as comma-separated values: accept, edit or reject in ``decision``.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    documents : mapping of str to str, optional
        As in `review_rows`.

    Returns
    -------
    str
        The columns `COLUMNS`. Question and answers may be changed where the decision is edit.
        A text that a spreadsheet would take for a formula begins with an apostrophe.

    Examples
    --------
    >>> review_sheet([GoldenItem("a", "=1+1?")]).splitlines()[1][:9]
    "a,,'=1+1?"
    """
    out = StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in review_rows(items, documents):
        writer.writerow({name: _guarded(text) for name, text in row.items()})
    return out.getvalue()


def _guarded(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def _unguarded(text: str) -> str:
    return text[1:] if text[:1] == "'" and text[1:].startswith(_FORMULA_STARTS) else text


# -- read back


def read_review(path: str | Path) -> list[Decision]:
    """Read what reviewers said.

    Parameters
    ----------
    path : str or Path
        The filled sheet (CSV), or the file that the page saved (JSON).

    Returns
    -------
    list of Decision
        A decision an item.

    Raises
    ------
    ReaderError
        If it is neither, a decision is none of accept, edit, reject, or an item is there twice.
    """
    source = Source(path)
    rows = _page_rows(source) if source.starts_like_json else _sheet_rows(source)
    found: dict[str, Decision] = {}
    for number, row in rows:
        decision = _decision(row, source, number)
        if decision.query_id in found:
            raise source.error(f"{decision.query_id!r} stands there twice", line=number)
        found[decision.query_id] = decision
    if not found:
        raise source.error("expected decisions; there are none")
    return list(found.values())


def _page_rows(source: Source) -> Iterator[tuple[int | None, Mapping[str, Any]]]:
    document = source.document
    is_review = isinstance(document, dict) and document.get("format") == FORMAT
    if not is_review or document.get("format_version") != FORMAT_VERSION:
        raise source.error(f"expected a file that a review page saved, of format {FORMAT_VERSION}")
    rows = document.get("items")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise source.error('expected "items", a list of objects')
    yield from ((None, row) for row in rows)


def _sheet_rows(source: Source) -> Iterator[tuple[int | None, Mapping[str, Any]]]:
    text = source.text
    head = text.partition("\n")[0]
    # Spreadsheets of many countries write semicolons, some tabs.
    delimiter = max((",", ";", "\t"), key=head.count)
    reader = csv.DictReader(StringIO(text, newline=""), delimiter=delimiter)
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise source.error(f"expected the sheet of a review; it lacks {', '.join(missing)}", line=1)
    try:
        for row in reader:
            texts = {name: _unguarded(row[name] or "") for name in COLUMNS}
            if any(texts.values()):
                yield reader.line_num, texts
    except csv.Error as exc:
        raise source.error(f"the sheet cannot be read: {exc}", line=reader.line_num) from exc


def _decision(row: Mapping[str, Any], source: Source, line: int | None) -> Decision:
    texts = {name: str(row.get(name) or "") for name in COLUMNS}
    told = texts["decision"].strip().lower()
    if told and told not in _DECISIONS:
        raise source.error(f"expected accept, edit or reject; got {told!r:.40}", line=line)
    if not texts["query_id"].strip():
        raise source.error("every row needs the query_id that it came with", line=line)
    return Decision(
        texts["query_id"],
        _DECISIONS.get(told),
        texts["question"].strip(),
        _lines(texts["references"]),
        _lines(texts["negative_references"]),
        texts["note"].strip(),
        texts["fingerprint"].strip(),
    )


def _lines(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def apply_review(
    items: Iterable[GoldenItem], decisions: Sequence[Decision], *, reviewer: str = ""
) -> Reviewed:
    """Do what reviewers decided.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set that was reviewed.
    decisions : sequence of Decision
        As `read_review` gives them; items without one stay as they are.
    reviewer : str
        Who it was; it stands in the provenance, with the decision and its note.

    Returns
    -------
    Reviewed
        An accepted item stays as it was, whatever its cells say; a warning names those whose cells
        say something else.

    Raises
    ------
    DataError
        If a decision is of an item that is not there, or of another version of one, or an edit
        leaves no question.

    Examples
    --------
    >>> item = GoldenItem("a", "Who?", ("Ann",))
    >>> said = Decision("a", "edit", "Who wrote it?", ("Ann Lee",), (), "", item.fingerprint)
    >>> apply_review([item], [said]).items[0].references
    ('Ann Lee',)
    """
    every = checked_ids(items)
    by_id = {one.query_id: one for one in decisions}
    _refuse_others(every, by_id)
    _warn_of_unsaid_edits(every, by_id)
    kept, rejected, rows = [], [], []
    for item in every:
        said = by_id.get(item.query_id)
        told = None if said is None else said.decision
        rows.append((item.query_id, told or "open", "" if said is None else said.note))
        if said is None or told is None:
            kept.append(item)
        elif told == REJECT:
            rejected.append(_with_review(item, said, reviewer))
        else:
            changed = _edited(item, said) if told == EDIT else item
            kept.append(_with_review(changed, said, reviewer))
    frame = pd.DataFrame(rows, columns=["query_id", "decision", "note"])
    return Reviewed(tuple(kept), tuple(rejected), frame)


def _refuse_others(items: Sequence[GoldenItem], decisions: Mapping[str, Decision]) -> None:
    known = {item.query_id: item for item in items}
    strange = [one for one in decisions if one not in known]
    if strange:
        raise DataError(f"the review is of items that are not in the set: {named(strange)}")
    changed = [
        one
        for one, said in decisions.items()
        if said.decision and said.fingerprint != known[one].fingerprint
    ]
    if changed:
        told = "items have changed since the review was made, or its fingerprints have"
        raise DataError(f"{told}: {named(changed)}; make a new one for them")


def _warn_of_unsaid_edits(items: Sequence[GoldenItem], decisions: Mapping[str, Decision]) -> None:
    """A reviewer may have forgotten to write edit; or a spreadsheet made a date of a number."""
    asked = {item.query_id: row for item, row in zip(items, review_rows(items), strict=True)}
    changed = [
        one
        for one, said in decisions.items()
        if said.decision in (None, ACCEPT) and _texts_of(said) != _shown_texts(asked[one])
    ]
    if changed:
        told = f"texts were changed where the decision is not edit: {named(changed)}"
        warnings.warn(
            f"{told}. These items stay as they were; write edit where the change is meant",
            RagevalWarning,
            stacklevel=3,
        )


Texts = tuple[str, tuple[str, ...], tuple[str, ...]]


def _texts_of(said: Decision) -> Texts:
    return said.question, said.references, said.negative_references


def _shown_texts(row: Mapping[str, str]) -> Texts:
    return (
        row["question"].strip(),
        _lines(row["references"]),
        _lines(row["negative_references"]),
    )


def _edited(item: GoldenItem, said: Decision) -> GoldenItem:
    if not said.question:
        raise DataError(f"the edit of {item.query_id!r} leaves no question; reject it instead")
    answerable = bool(said.references) if bool(said.references) != bool(item.references) else None
    return replace(
        item,
        question=said.question,
        references=said.references,
        negative_references=said.negative_references,
        answerable=item.answerable if answerable is None else answerable,
    )


def _with_review(item: GoldenItem, said: Decision, reviewer: str) -> GoldenItem:
    told = {"decision": said.decision, "reviewer": reviewer, "note": said.note}
    review = {name: value for name, value in told.items() if value}
    return replace(item, provenance={**item.provenance, "review": review})

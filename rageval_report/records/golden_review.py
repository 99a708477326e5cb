"""The review of a golden set by people: a page to fill in, and what is decided there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from html import escape
from importlib import resources
from pathlib import Path

import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.files.source import Source
from rageval_report.records.golden import GoldenItem, check_items
from rageval_report.types import JsonObject

FORMAT = "rageval_report golden review"
FORMAT_VERSION = 1
_PAGE = "review_page.html"
# Characters that could end the element with the data, or are line ends in a script.
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}

ACCEPT, EDIT, REJECT = _DECISIONS = ("accept", "edit", "reject")

COLUMNS = (
    *("query_id", "decision", "question", "references", "negative_references"),
    *("answerable", "gold", "note", "fingerprint"),
)
_CONTEXT = 300  # characters that are shown before and after a span


@dataclass(frozen=True)
class Decision:
    """A reviewer's decision on one item."""

    query_id: str
    decision: str | None
    question: str
    references: tuple[str, ...]
    negative_references: tuple[str, ...]
    note: str
    fingerprint: str


@dataclass(frozen=True)
class Reviewed:
    """A golden set after a review."""

    items: tuple[GoldenItem, ...]
    rejected: tuple[GoldenItem, ...]
    decisions: pd.DataFrame


def _review_rows(
    items: Iterable[GoldenItem], documents: Mapping[str, str] | None = None
) -> list[dict[str, str]]:
    """What a reviewer sees of each item, as texts; several answers are on separate lines."""
    return [
        {
            **dict.fromkeys(COLUMNS, ""),
            "query_id": item.query_id,
            "question": item.question,
            "references": _as_lines(item.references),
            "negative_references": _as_lines(item.negative_references),
            "answerable": "" if item.answerable is None else str(item.answerable).lower(),
            "gold": "\n\n".join(_shown_gold(item, documents or {})),
            "fingerprint": item.fingerprint,
        }
        for item in check_items(items)
    ]


def _as_lines(texts: Iterable[str]) -> str:
    return "\n".join(" ".join(text.split()) for text in texts)


def _shown_gold(item: GoldenItem, documents: Mapping[str, str]) -> Iterator[str]:
    """What a reviewer must read to decide whether the answer is right, or there is none."""
    yield from item.relevant_texts
    yield from (span.name for span in item.relevant_spans)
    yield from item.relevant
    passages = item.provenance.get("passages")
    places = [place for place in passages if _is_place(place)] if isinstance(passages, list) else []
    for filename, start, end in places or [
        (span.filename, max(0, span.start - _CONTEXT), span.end + _CONTEXT)
        for span in item.relevant_spans
    ]:
        if filename in documents:
            yield f"{filename}:\n{documents[filename][start:end]}"
    yield from (f"{name}:\n{documents[name]}" for name in item.relevant if name in documents)


def _is_place(value: object) -> bool:
    """Whether a value of a provenance is a list of filename, start and end."""
    return isinstance(value, list) and [type(part) for part in value] == [str, int, int]


def review_page(
    items: Iterable[GoldenItem],
    *,
    title: str = "golden set",
    documents: Mapping[str, str] | None = None,
) -> str:
    """An HTML page to accept, edit or reject each item, and to save the decisions to a file.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    title : str
        The title of the page.
    documents : mapping of str to str, optional
        Texts by filename or id, so that the passages are shown.

    Returns
    -------
    str
        HTML that needs no network. `read_review` reads the file that it saves.

    Examples
    --------
    >>> page = review_page([GoldenItem("a", "</script>?")], title="a & b")
    >>> "Review of a &amp; b" in page, "</script>?" in page
    (True, False)
    """
    rows = _review_rows(items, documents)
    # The page keeps unsaved decisions in the browser under this key: a changed set must not find
    # those of an older one.
    versions = "\n".join(f"{row['query_id']} {row['fingerprint']}" for row in rows)
    data = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "key": blake2b(versions.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
        "file": "review.json",
        "items": rows,
    }
    filled = {"title": escape(title), "data": json.dumps(data).translate(_ESCAPES)}
    page = resources.files(__package__).joinpath(_PAGE).read_text(encoding="utf-8")
    return re.sub(r"\{\{ (\w+) \}\}", lambda place: filled[place[1]], page)


# -- read back


def read_review(path: str | Path) -> list[Decision]:
    """Read the decisions of reviewers.

    Parameters
    ----------
    path : str or Path
        The file that the page saved.

    Returns
    -------
    list of Decision
        One decision per item.

    Raises
    ------
    ReaderError
        If it is another file, a decision is not accept, edit or reject, or an item appears twice.

    Examples
    --------
    >>> import tempfile
    >>> saved = {"format": FORMAT, "format_version": 1, "items": [{"query_id": "a"}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "review.json")
    ...     _ = path.write_text(json.dumps(saved), encoding="utf-8")
    ...     [(row.query_id, row.decision) for row in read_review(path)]
    [('a', None)]
    """
    source = Source(path)
    document = source.document if source.starts_like_json else None
    if not isinstance(document, dict) or (
        (document.get("format"), document.get("format_version")) != (FORMAT, FORMAT_VERSION)
    ):
        raise source.error(f"expected a file saved by a review page, of format {FORMAT_VERSION}")
    rows = document.get("items")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise source.error('expected "items", a list of objects')
    decisions: dict[str, Decision] = {}
    for decision in (_read_decision(row, source) for row in rows):
        if decision.query_id in decisions:
            raise source.error(f"the item {decision.query_id!r} appears twice")
        decisions[decision.query_id] = decision
    if not decisions:
        raise source.error("expected decisions; there are none")
    return list(decisions.values())


def _read_decision(row: JsonObject, source: Source) -> Decision:
    texts = {name: str(row.get(name) or "") for name in COLUMNS}
    word = texts["decision"].strip().lower()
    if word and word not in _DECISIONS:
        raise source.error(f"decision must be accept, edit or reject; got {word!r:.40}")
    if not texts["query_id"].strip():
        raise source.error("query_id is missing: each item keeps the id that it came with")
    note, fingerprint = texts["note"].strip(), texts["fingerprint"].strip()
    return Decision(texts["query_id"], word or None, *_texts_of(texts), note, fingerprint)


def _texts_of(row: Mapping[str, str]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The question and the answers of a row, each answer once."""
    references, negatives = (
        tuple(dict.fromkeys(filter(None, map(str.strip, row[name].splitlines()))))
        for name in ("references", "negative_references")
    )
    return row["question"].strip(), references, negatives


def apply_review(
    items: Iterable[GoldenItem], decisions: Sequence[Decision], *, reviewer: str = ""
) -> Reviewed:
    """Apply the decisions of reviewers.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set that was reviewed.
    decisions : sequence of Decision
        As `read_review` returns them; items without a decision stay as they are.
    reviewer : str
        The reviewer's name, for the provenance, with the decision and its note.

    Returns
    -------
    Reviewed
        An accepted item stays as it was, even if its texts were changed.

    Raises
    ------
    DataError
        If a decision belongs to an item that is not in the set or has changed since, or an edit
        leaves no question.

    Examples
    --------
    >>> item = GoldenItem("a", "Who?", ("Ann",))
    >>> edit = Decision("a", "edit", "Who wrote it?", ("Ann Lee",), (), "", item.fingerprint)
    >>> apply_review([item], [edit]).items[0].references
    ('Ann Lee',)
    """
    every = check_items(items)
    by_id = {decision.query_id: decision for decision in decisions}
    _check_decisions(every, by_id)
    remaining: list[GoldenItem] = []
    rejected: list[GoldenItem] = []
    rows = []
    for item in every:
        decision = by_id.get(item.query_id)
        word = decision and decision.decision
        rows.append((item.query_id, word or "open", decision.note if decision else ""))
        if decision is None or word is None:
            remaining.append(item)
            continue
        entries = {"decision": word, "reviewer": reviewer, "note": decision.note}
        review = {name: value for name, value in entries.items() if value}
        changed = _edited(item, decision) if word == EDIT else item
        changed = replace(changed, provenance={**item.provenance, "review": review})
        (rejected if word == REJECT else remaining).append(changed)
    frame = pd.DataFrame(rows, columns=["query_id", "decision", "note"])
    return Reviewed(tuple(remaining), tuple(rejected), frame)


def _check_decisions(items: Sequence[GoldenItem], decisions: Mapping[str, Decision]) -> None:
    """Check that the decisions belong to these items, as they are now."""
    by_id = {item.query_id: item for item in items}
    if unknown := [query_id for query_id in decisions if query_id not in by_id]:
        raise DataError(f"the review contains items that are not in the set: {named(unknown)}")
    # A decision on another wording must not be applied to this one.
    changed = [
        query_id
        for query_id, decision in decisions.items()
        if decision.decision and decision.fingerprint != by_id[query_id].fingerprint
    ]
    if changed:
        raise DataError(
            "items have changed since the review was made, or its fingerprints have: "
            f"{named(changed)}; make a new review for them"
        )


def _edited(item: GoldenItem, decision: Decision) -> GoldenItem:
    if not decision.question:
        raise DataError(f"the edit of {item.query_id!r} leaves no question; reject it instead")
    # A question that gets its first reference, or loses its last, changes whether it has an answer.
    has_references = bool(decision.references)
    is_changed = has_references != bool(item.references)
    return replace(
        item,
        question=decision.question,
        references=decision.references,
        negative_references=decision.negative_references,
        answerable=has_references if is_changed else item.answerable,
    )

"""Texts by which the rows of tables are put side by side if the ids of their queries differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rageval_report._registry import import_arrow_module, import_pyarrow
from rageval_report.scores.text_matching import matching_text

# A column of an Arrow table, and texts, which have no types.
ArrowColumn: TypeAlias = Any
KeyTexts: TypeAlias = Any

# What the cells of a column are in memory: those of a CSV file are read as texts here.
KeyKind = Literal["integer", "number", "text"]

# White space, which a text in its plain form has not: what follows it can be no part of a text.
_MARK = "\x1f"
# Only signs of ASCII with single spaces between them are surely in that form.
_NOT_PLAIN = r"[^ -~]|^ | $|  "


@dataclass(frozen=True)
class MatchKeys:
    """Reads one key per row from a column of texts, as `rageval_report.compare` matches with on=.

    Parameters
    ----------
    column : str
        The column, by its name in the files.
    kind : {"integer", "number", "text"}
        What its cells are in memory.
    side : int
        The place of the table among those that are put side by side.
    """

    column: str
    kind: KeyKind
    side: int

    def texts(self, cells: ArrowColumn, ids: Callable[[], KeyTexts]) -> KeyTexts:
        """The key of each row: its text, or, without one, something that no other table has.

        Parameters
        ----------
        cells : pyarrow.ChunkedArray
            The column.
        ids : callable
            Gives the query ids of the rows.
        """
        compute = import_arrow_module("compute")
        texts = self._texts(cells)
        if not texts.null_count:
            return texts
        return compute.coalesce(texts, add_texts(f"{_MARK}{self.side}{_MARK}", ids()))

    def _texts(self, cells: ArrowColumn) -> KeyTexts:
        """The plain texts of cells; null without one."""
        arrow, types = import_pyarrow(), import_pyarrow().types
        if types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        is_text = types.is_string(cells.type) or types.is_large_string(cells.type)
        if types.is_integer(cells.type) or (is_text and self.kind == "text"):
            nothing = arrow.array([], type=arrow.large_string())
            return _plain_texts(
                arrow.concat_arrays([nothing, *cells.cast(arrow.large_string()).chunks])
            )
        values = cells.to_pylist()
        if is_text:
            values = [_as_number(value, self.kind) for value in values]
        return arrow.array(map(matching_text, values), type=arrow.large_string())


def add_texts(before: str, texts: KeyTexts, after: str = "") -> KeyTexts:
    """Texts with the same signs before and after each.

    Examples
    --------
    >>> import pyarrow
    >>> add_texts("<", pyarrow.array(["q1"]), ">").to_pylist()
    ['<q1>']
    """
    arrow, compute = import_pyarrow(), import_arrow_module("compute")
    first, last, nothing = (arrow.scalar(each, texts.type) for each in (before, after, ""))
    return compute.binary_join_element_wise(first, texts, last, nothing)


def _as_number(text: str | None, kind: KeyKind) -> object:
    """The cell of a CSV file as memory has it."""
    if text is None:
        return None
    try:
        return int(text) if kind == "integer" else float(text)
    except ValueError:
        return text


def _plain_texts(texts: KeyTexts) -> KeyTexts:
    """Texts in the form of `matching_text`; only those that may have another form cost time."""
    arrow, compute = import_pyarrow(), import_arrow_module("compute")
    is_other = compute.or_(
        compute.match_substring_regex(texts, _NOT_PLAIN), compute.equal(texts, "")
    ).fill_null(False)
    if not compute.any(is_other).as_py():
        return texts
    others = [matching_text(text) for text in texts.filter(is_other).to_pylist()]
    return compute.replace_with_mask(texts, is_other, arrow.array(others, type=texts.type))


def number_keys(keys: KeyTexts, n_before: dict[str, int]) -> KeyTexts:
    """Keys of which repeated ones have the number of equal keys before them at their end.

    Parameters
    ----------
    keys : pyarrow.Array of str
        The keys of the next rows of a table.
    n_before : dict of str to int
        For each key that occurs several times in the table, how often it occurred in earlier rows;
        the new ones are added.

    Examples
    --------
    >>> import pyarrow
    >>> keys, n_before = pyarrow.array(["Why?", "Who?", "Why?"]), {"Why?": 0}
    >>> [len(key) for key in number_keys(keys, n_before).to_pylist()], n_before
    ([4, 4, 12], {'Why?': 2})
    """
    if not n_before:
        return keys
    arrow, compute = import_pyarrow(), import_arrow_module("compute")
    repeats = arrow.array(list(n_before), type=keys.type)
    is_repeat = compute.is_in(keys, value_set=repeats)
    if not compute.any(is_repeat).as_py():
        return keys
    numbered = []
    for key in keys.filter(is_repeat).to_pylist():
        # Of equal length, so that keys in order stay in order.
        numbered.append(f"{key}{_MARK}{n_before[key]:07d}" if n_before[key] else key)
        n_before[key] += 1
    return compute.replace_with_mask(keys, is_repeat, arrow.array(numbered, type=keys.type))

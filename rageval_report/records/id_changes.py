"""Changes of the form of ids, so that two ways of writing the same id become equal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from rageval_report.errors import DataError, check_choice

IdSide = Literal["both", "gold", "retrieved"]

_QUOTES = "\"'`<>[](){}“”‘’«»"
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]*://[^/]*/?")
_LEADING = re.compile(r"^(?:\.{0,2}/+)+")
_EXTENSION = re.compile(r"(?<=[^/.])\.[A-Za-z][A-Za-z0-9]{0,4}$")
_SEPARATORS = re.compile(r"[\s_\-]+")
_PADDING = re.compile(r"(?<![0-9.])0+(?=[0-9])")
_WHOLE = re.compile(r"(?<=[0-9])\.0+$")
_CHUNK = re.compile(
    r"(?<=\w)[\s#:/_\-.@(\[]*(?:chunk|part|section|page|passage|node|segment|split|block)?"
    r"[\s#:/_\-.=]*0*([0-9]+)[)\]]?$",
    re.IGNORECASE,
)
_UUID = re.compile(
    r"^(?:urn:uuid:)?\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$",
    re.IGNORECASE,
)


def _without_place(name: str) -> str:
    """A path or URL without scheme, host and leading slashes; slashes instead of backslashes."""
    path = _SCHEME.sub("", name.replace("\\", "/"))
    return _LEADING.sub("", path).rstrip("/") or name


def _without_uuid_form(name: str) -> str:
    match = _UUID.match(name)
    return "".join(match.groups()).lower() if match else name


# By name, in the order in which a search tries them: what loses nothing first.
ID_CHANGES: dict[str, Callable[[str], str]] = {
    "blanks": lambda name: " ".join(name.split()),
    "quotes": lambda name: name.strip(_QUOTES) or name,
    "unicode": lambda name: unicodedata.normalize("NFKC", name),
    "percent": unquote,
    "uuid": _without_uuid_form,
    "case": str.casefold,
    "number": lambda name: _WHOLE.sub("", _PADDING.sub("", name)),
    "path": _without_place,
    "extension": lambda name: _EXTENSION.sub("", name),
    "separators": lambda name: _SEPARATORS.sub("-", name),
    "chunk": lambda name: _CHUNK.sub(r"#\1", name),
    "file": lambda name: name.rstrip("/").rpartition("/")[2] or name,
}

# Changes with a text of the user after a colon.
_PARTS: dict[str, Callable[[str, str], str]] = {
    "prefix": lambda name, part: name.removeprefix(part) or name,
    "suffix": lambda name, part: name.removesuffix(part) or name,
    # The last one, because a document's id may contain the same text.
    "cut": lambda name, part: name.rpartition(part)[0] or name,
}
_SIDES: tuple[IdSide, ...] = ("gold", "retrieved")


@dataclass(frozen=True)
class IdChange:
    """A change of the form of ids.

    Parameters
    ----------
    name : str
        A name of `ID_CHANGES`, or "prefix", "suffix" or "cut".
    part : str
        The text that is removed from the beginning or the end, or at whose last occurrence ids are
        cut.
    side : {"both", "gold", "retrieved"}
        Which ids are changed.

    Examples
    --------
    >>> IdChange.parse("extension")("guide.md"), IdChange.parse("retrieved:cut:#")("guide#2")
    ('guide', 'guide')
    """

    name: str
    part: str = ""
    side: IdSide = "both"

    @classmethod
    def parse(cls, text: str) -> IdChange:
        """The change that a user wrote, such as "case", "prefix:docs/" or "retrieved:cut:#".

        Raises
        ------
        UnknownValueError
            If there is no change of that name.
        DataError
            If the text to remove is missing.
        """
        side: IdSide = "both"
        rest = text
        for candidate in _SIDES:
            if text.startswith(f"{candidate}:"):
                side, rest = candidate, text.removeprefix(f"{candidate}:")
        name, colon, part = rest.partition(":")
        if name not in _PARTS:
            check_choice("match_ids", rest, (*ID_CHANGES, *(f"{name}:TEXT" for name in _PARTS)))
        elif not colon or not part:
            raise DataError(f'match_ids: "{name}" needs a text, such as "{name}:#"; got {text!r}')
        return cls(name, part, side)

    def __call__(self, name: str) -> str:
        """The changed id."""
        if self.name in _PARTS:
            return _PARTS[self.name](name, self.part)
        return ID_CHANGES[self.name](name)

    def __str__(self) -> str:
        side = "" if self.side == "both" else f"{self.side}:"
        return f"{side}{self.name}:{self.part}" if self.part else f"{side}{self.name}"

    def applies_to(self, side: IdSide) -> bool:
        """Whether ids of this side are changed."""
        return self.side in ("both", side)


MatchIds = str | Iterable[str]


def parse_changes(match_ids: MatchIds) -> tuple[IdChange, ...]:
    """The changes that a user wrote, in their order.

    Examples
    --------
    >>> [str(change) for change in parse_changes(["case", "prefix:docs/"])]
    ['case', 'prefix:docs/']
    """
    texts = [match_ids] if isinstance(match_ids, str) else list(match_ids)
    return tuple(map(IdChange.parse, texts))


def change_id(name: str, changes: Iterable[IdChange], side: IdSide) -> str:
    """An id of one side after the changes that apply to it.

    Examples
    --------
    >>> change_id("docs/Guide.md", parse_changes(["case", "extension"]), "gold")
    'docs/guide'
    """
    for change in changes:
        if change.applies_to(side):
            name = change(name)
    return name

"""JSON, parsed strictly: nothing is lost silently, and every error names its line."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

# "[" starts an array only if a value follows: the first column of a CSV may be "[label] prompt".
_OPENING = re.compile(r"""\s*(\{\s*("|\}|$)|\[\s*(\{|\[|"|\]|$|-?\d))""")
# As deep as Python's own parser lets brackets be in a literal. The parser of JSON has limits that
# differ: about 1,000 levels less the depth of the caller until Python 3.12, as many as the stack of
# the machine holds after it. Functions that walk a document level by level need a few calls each.
_MOST_LEVELS = 200
_NEVER_DEEP = 2 * _MOST_LEVELS  # characters: each level has two brackets
_CONTAINERS = (dict, list)
_UNFINISHED_WORD = re.compile(r"[-+.\w]*\s*")
# One half of a character beyond U+FFFF; programs that cut texts by length leave it behind.
_LONE_SURROGATE = re.compile(
    r"""(?<!\\)((?:\\\\)*)                                          # an even number of backslashes
    (?: \\u[dD][89abAB][0-9a-fA-F]{2} (?!\\u[dD][c-fC-F][0-9a-fA-F]{2})
      | (?<!\\u[dD][89abAB][0-9a-fA-F]{2}) \\u[dD][c-fC-F][0-9a-fA-F]{2} )""",
    re.VERBOSE,
)


class NotJSONError(ValueError):
    """A text is not JSON."""

    def __init__(self, message: str, line: int | None = None, *, is_cut: bool = False):
        self.line = line
        self.is_cut = is_cut
        super().__init__(message)


def starts_like_json(text: str) -> bool:
    """Whether a text starts with a JSON object or array."""
    return _OPENING.match(text) is not None


def replace_lone_surrogates(text: str) -> tuple[str, int]:
    r"""Replace half characters in the escapes of a JSON text, and count them."""
    # Most files have no such escape, and a search for a text is much faster than the expression.
    if "\\ud" not in text and "\\uD" not in text:
        return text, 0
    return _LONE_SURROGATE.subn(r"\1\\ufffd", text)


def check_depth(document: Any, n_characters: int) -> Any:
    """A parsed document, if its lists and objects are nested at most 200 levels deep."""
    if n_characters <= _NEVER_DEEP:
        return document
    level = [document] if isinstance(document, _CONTAINERS) else []
    for _ in range(_MOST_LEVELS):
        members = chain.from_iterable(
            value.values() if isinstance(value, dict) else value for value in level
        )
        level = [value for value in members if isinstance(value, _CONTAINERS)]
        if not level:
            return document
    raise RecursionError(f"lists and objects are nested more than {_MOST_LEVELS} levels deep")


def load_json(text: str | bytes, *, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """``json.loads`` with a limit of depth that is the same on all versions of Python."""
    return check_depth(json.loads(text, parse_constant=parse_constant), len(text))


def parse_json(text: str) -> Any:
    """Parse a JSON document; NaN and Infinity are accepted, as Python writes them."""
    try:
        return check_depth(_DECODER.decode(text), len(text))
    except json.JSONDecodeError as exc:
        raise _to_not_json_error(text, exc) from exc
    except RecursionError as exc:
        raise NotJSONError("objects are nested too deeply") from exc
    except ValueError as exc:
        raise exc if isinstance(exc, NotJSONError) else NotJSONError(str(exc)) from exc


def parse_record(text: str) -> Any:
    """As `parse_json`, in less time for an object whose keys can be counted without a parser."""
    try:
        record = _PLAIN_DECODER.decode(text)
        # It drops the first of two equal keys silently. But there are no more keys than colons
        # after a quote, if no white space stands before a colon.
        if (
            isinstance(record, dict)
            and text.count('":') == len(record)
            and " :" not in text
            and "\t:" not in text
        ):
            return check_depth(record, len(text))
    except (ValueError, RecursionError):
        pass  # the error with its line comes from the strict parser
    return parse_json(text)


def _to_not_json_error(text: str, exc: json.JSONDecodeError) -> NotJSONError:
    is_string = exc.msg.startswith("Unterminated string")
    if is_string or _UNFINISHED_WORD.fullmatch(text, exc.pos):
        return NotJSONError(
            "the JSON ends in the middle; the file may be cut", exc.lineno, is_cut=True
        )
    return NotJSONError(f"this is not JSON: {exc.msg}, at character {exc.colno}", exc.lineno)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without repeated keys; Python would silently keep the last value."""
    members = dict(pairs)
    if len(members) < len(pairs):
        [(repeated, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise NotJSONError(f"an object has the key {repeated!r} more than once")
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
_PLAIN_DECODER = json.JSONDecoder()

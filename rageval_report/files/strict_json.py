"""JSON, parsed strictly: nothing is lost silently, and every error names its line."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

# "[" starts an array only if a value follows: the first column of a CSV may be "[label] prompt".
_OPENING = re.compile(r"""\s*(\{\s*("|\}|$)|\[\s*(\{|\[|"|\]|$|-?\d))""")
_UNFINISHED_WORD = re.compile(r"[-+.\w]*\s*")
# One half of a character beyond U+FFFF; programs that cut texts by length leave it behind.
_LONE_SURROGATE = re.compile(
    r"""(?<!\\)((?:\\\\)*)                                          # an even number of backslashes
    (?: \\u[dD][89abAB][0-9a-fA-F]{2} (?!\\u[dD][c-fC-F][0-9a-fA-F]{2})
      | (?<!\\u[dD][89abAB][0-9a-fA-F]{2}) \\u[dD][c-fC-F][0-9a-fA-F]{2} )""",
    re.VERBOSE,
)


class NotJSONError(ValueError):
    """A text is not JSON.

    Parameters
    ----------
    message : str
        The problem.
    line : int, optional
        The line of the text, counted from 1.
    is_cut : bool
        Whether the text ends before the document does.
    """

    def __init__(self, message: str, line: int | None = None, *, is_cut: bool = False):
        self.line = line
        self.is_cut = is_cut
        super().__init__(message)


def starts_like_json(text: str) -> bool:
    """Whether a text starts with a JSON object or array.

    Examples
    --------
    >>> starts_like_json(' {"a": 1}'), starts_like_json("[gpt] prompt,score")
    (True, False)
    """
    return _OPENING.match(text) is not None


def replace_lone_surrogates(text: str) -> tuple[str, int]:
    r"""Replace half characters in the escapes of a JSON text, and count them.

    A lone surrogate cannot be encoded; it becomes U+FFFD, the replacement character.

    Examples
    --------
    >>> replace_lone_surrogates(r'["\ud83d", "\ud83d\ude00"]')
    ('["\\ufffd", "\\ud83d\\ude00"]', 1)
    """
    # Most files have no such escape, and a search for a text is much faster than the expression.
    if "\\ud" not in text and "\\uD" not in text:
        return text, 0
    return _LONE_SURROGATE.subn(r"\1\\ufffd", text)


def parse_json(text: str) -> Any:
    """Parse a JSON document; NaN and Infinity are accepted, as Python writes them.

    Raises
    ------
    NotJSONError
        If the text is not JSON, is cut, or has an object with a repeated key.

    Examples
    --------
    >>> parse_json('{"recall": NaN}')
    {'recall': nan}
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        raise _to_not_json_error(text, exc) from exc
    except RecursionError as exc:
        raise NotJSONError("objects are nested too deeply") from exc
    except ValueError as exc:
        raise exc if isinstance(exc, NotJSONError) else NotJSONError(str(exc)) from exc


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

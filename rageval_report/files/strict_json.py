"""JSON texts, parse_json so that nothing is lost in silence and each fault has its line."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

# "[" opens an array only if a value follows: a CSV's first column may be named "[label] prompt".
_OPENING = re.compile(r"""\s*(\{\s*("|\}|$)|\[\s*(\{|\[|"|\]|$|-?\d))""")
_UNFINISHED_WORD = re.compile(r"[-+.\w]*\s*")
# One half of a character beyond U+FFFF, as programs leave that cut texts by length.
_HALF_CHARACTER = re.compile(
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
        What is wrong.
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
    """Whether a text opens with a JSON object or array.

    Examples
    --------
    >>> starts_like_json(' {"a": 1}'), starts_like_json("[gpt] prompt,score")
    (True, False)
    """
    return _OPENING.match(text) is not None


def replace_lone_surrogates(text: str) -> tuple[str, int]:
    r"""A JSON text whose escapes are all whole characters, and how many were not.

    Half of one cannot be written to any file; it becomes U+FFFD, the sign for what is lost.

    Examples
    --------
    >>> replace_lone_surrogates(r'["\ud83d", "\ud83d\ude00"]')
    ('["\\ufffd", "\\ud83d\\ude00"]', 1)
    """
    if "\\ud" not in text and "\\uD" not in text:
        return text, 0
    return _HALF_CHARACTER.subn(r"\1\\ufffd", text)


def parse_json(text: str) -> Any:
    """The document; NaN and Infinity are read as Python writes them.

    Raises
    ------
    NotJSONError
        If the text is not JSON, is cut, or an object has a key twice.

    Examples
    --------
    >>> parse_json('{"recall": NaN}')
    {'recall': nan}
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        raise _explained(text, exc) from exc
    except RecursionError as exc:
        raise NotJSONError("objects are nested too deeply") from exc
    except ValueError as exc:
        raise exc if isinstance(exc, NotJSONError) else NotJSONError(str(exc)) from exc


def _explained(text: str, exc: json.JSONDecodeError) -> NotJSONError:
    is_string = exc.msg.startswith("Unterminated string")
    if is_string or _UNFINISHED_WORD.fullmatch(text, exc.pos):
        return NotJSONError(
            "the JSON ends in the middle; is the file cut?", exc.lineno, is_cut=True
        )
    return NotJSONError(f"this is not JSON: {exc.msg}, at character {exc.colno}", exc.lineno)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Python would keep the last of two equal keys and say nothing."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise NotJSONError(f"an object has the key {twice!r} twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object)

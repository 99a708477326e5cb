"""Templates of requests, whose {fields} are filled from a query and whose ${KEYS} are keys."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from rageval_report.http import Key, map_texts
from rageval_report.runner.query_source import field_of

# A field, or a key after a dollar sign. Both in one pass, so that nothing that is filled in is read
# as a template: a question that contains ${NAME} stays as it is.
PLACEHOLDER = re.compile(r"(?P<dollar>\$?)\{(?P<name>[A-Za-z_]\w*)\}")
_NO_KEYS: Mapping[str, Key] = {}


def in_url(value: object) -> str:
    """A value escaped for an address; a slash in a question must not become part of the path."""
    return quote(str(value), safe="")


def fill_template(
    template: object,
    fields: Mapping[str, object],
    keys: Mapping[str, Key] = _NO_KEYS,
    *,
    escape: Callable[[object], str] = str,
    leaves_others: bool = False,
) -> Any:
    """Fill the placeholders of a template, at any depth.

    Parameters
    ----------
    template : JSON value
        A text, or lists and objects of texts.
    fields : mapping of str to object
        The values by name; a placeholder alone keeps the type of its value.
    keys : mapping of str to Key
        The keys by the name of their variable.
    escape : callable, default str
        Makes a text of a value, e.g. `in_url`.
    leaves_others : bool, default False
        Whether placeholders without a value stay; otherwise they are errors.

    Raises
    ------
    UnknownNameError
        If a placeholder is not a field.

    Examples
    --------
    >>> fill_template({"q": "{question}", "k": "{top_k}"}, {"question": "Why?", "top_k": 5})
    {'q': 'Why?', 'k': 5}
    >>> fill_template("http://host/{question}", {"question": "a/b?"}, escape=in_url)
    'http://host/a%2Fb%3F'
    """

    def stays(match: re.Match[str]) -> bool:
        if match["dollar"]:
            return match["name"] not in keys
        return leaves_others and match["name"] not in fields

    def text_of(match: re.Match[str]) -> str:
        if stays(match):
            return match[0]
        name = match["name"]
        return escape(keys[name].text() if match["dollar"] else field_of(name, fields))

    def fill(text: str) -> Any:
        whole = PLACEHOLDER.fullmatch(text)
        if whole and not whole["dollar"] and escape is str and not stays(whole):
            return field_of(whole["name"], fields)
        return PLACEHOLDER.sub(text_of, text)

    return map_texts(template, fill)


def placeholders_in(template: object) -> set[str]:
    """The names of the placeholders in a template, at any depth.

    Examples
    --------
    >>> sorted(placeholders_in({"q": "{question}", "auth": "${KEY}"}))
    ['question']
    """
    text = json.dumps(template, default=str)
    return {match["name"] for match in PLACEHOLDER.finditer(text) if not match["dollar"]}

"""Templates of requests, whose {fields} are filled from a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from rageval_report.errors import UnknownNameError
from rageval_report.http.keys import Key

_NO_KEYS: Mapping[str, Key] = {}

# A field, or a key after a dollar sign. Both in one pass, so that nothing that is filled in is read
# as a template: a question that contains ${NAME} stays as it is.
_PLACEHOLDER = re.compile(r"(?P<dollar>\$?)\{(?P<name>[A-Za-z_]\w*)\}")


def fill_template(
    template: object, fields: Mapping[str, object], keys: Mapping[str, Key] = _NO_KEYS
) -> Any:
    """Fill the placeholders of a template, at any depth.

    Parameters
    ----------
    template : JSON value
        A text that is only a placeholder becomes the value of the field, of any type; in a longer
        text the value is inserted as text. Braces around anything but a name are left unchanged.
    fields : mapping
        The values by name.
    keys : mapping of str to Key
        The keys by the name of their variable; ``${NAME}`` becomes the key.

    Raises
    ------
    UnknownNameError
        If a placeholder names no field.

    Examples
    --------
    >>> fields = {"question": "Why?", "tags": ["a", "b"]}
    >>> fill_template({"q": "{question}", "text": "Q: {question}", "tags": "{tags}"}, fields)
    {'q': 'Why?', 'text': 'Q: Why?', 'tags': ['a', 'b']}
    """
    if isinstance(template, Mapping):
        return {key: fill_template(value, fields, keys) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill_template(item, fields, keys) for item in template]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    # A placeholder alone keeps the type of its value, such as a number or a list.
    if whole and not whole["dollar"]:
        return field_of(whole["name"], fields)
    return _PLACEHOLDER.sub(lambda match: _text_of(match, fields, keys), template)


def fill_url(
    template: str, fields: Mapping[str, object], keys: Mapping[str, Key] = _NO_KEYS
) -> str:
    """Fill the placeholders of an address, with URL escapes.

    Examples
    --------
    >>> fill_url("http://host/ask?q={question}", {"question": "Why & how?"})
    'http://host/ask?q=Why%20%26%20how%3F'
    """
    # safe="": a slash in a question must not become part of the path.
    return _PLACEHOLDER.sub(lambda match: quote(_text_of(match, fields, keys), safe=""), template)


def fill_known(template: object, values: Mapping[str, object]) -> Any:
    """Fill only the placeholders of these names, and leave all others for the query.

    Parameters
    ----------
    template : JSON value
        As for `fill_template`.
    values : mapping
        The values by name.

    Examples
    --------
    >>> fill_known({"q": "{question}", "k": "{top_k}", "text": "k={top_k}"}, {"top_k": 5})
    {'q': '{question}', 'k': 5, 'text': 'k=5'}
    """
    if isinstance(template, Mapping):
        return {key: fill_known(value, values) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill_known(item, values) for item in template]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    if whole and not whole["dollar"] and whole["name"] in values:
        return values[whole["name"]]
    return _fill_known_text(template, values, str)


def fill_known_url(template: str, values: Mapping[str, object]) -> str:
    """An address with only the placeholders of these names filled, with URL escapes.

    Examples
    --------
    >>> fill_known_url("http://host/{index}/ask?q={question}", {"index": "a b"})
    'http://host/a%20b/ask?q={question}'
    """
    return _fill_known_text(template, values, lambda value: quote(str(value), safe=""))


def _fill_known_text(
    template: str, values: Mapping[str, object], as_text: Callable[[object], str]
) -> str:
    def filled(match: re.Match[str]) -> str:
        if match["dollar"] or match["name"] not in values:
            return match[0]
        return as_text(values[match["name"]])

    return _PLACEHOLDER.sub(filled, template)


def placeholders_in(template: object) -> set[str]:
    """The names of the placeholders in a template, at any depth.

    Examples
    --------
    >>> sorted(placeholders_in({"q": "{question}", "k": ["{top_k}", 3], "key": "${KEY}"}))
    ['question', 'top_k']
    """
    if isinstance(template, Mapping):
        return {name for value in template.values() for name in placeholders_in(value)}
    if isinstance(template, list | tuple):
        return {name for item in template for name in placeholders_in(item)}
    if not isinstance(template, str):
        return set()
    return {match["name"] for match in _PLACEHOLDER.finditer(template) if not match["dollar"]}


def _text_of(match: re.Match[str], fields: Mapping[str, object], keys: Mapping[str, Key]) -> str:
    if match["dollar"] and match["name"] in keys:
        return keys[match["name"]].text()
    return match["dollar"] + str(field_of(match["name"], fields))


def field_of(name: str, fields: Mapping[str, object]) -> object:
    """The value of a field that may be sent.

    Raises
    ------
    UnknownNameError
        If there is no such field, or it must not be sent.

    Examples
    --------
    >>> field_of("k", {"question": "Why?", "k": 5})
    5
    """
    if name not in fields:
        raise UnknownNameError("field that may be sent", name, fields)
    return fields[name]

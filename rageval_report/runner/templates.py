"""Templates of requests, whose {fields} are filled from a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
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

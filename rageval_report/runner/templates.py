"""What is sent: a template whose {fields} are filled from a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from rageval_report.errors import UnknownNameError

_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")


def fill_template(template: Any, fields: Mapping[str, Any]) -> Any:
    """A template with its places filled, however deep.

    Parameters
    ----------
    template : JSON value
        A text that is a place and nothing else becomes the field's value as it is; in a longer text
        the value is written. Braces around anything but a name are left alone.
    fields : mapping
        By name.

    Raises
    ------
    UnknownNameError
        If a place names no field.

    Examples
    --------
    >>> fields = {"question": "Why?", "tags": ["a", "b"]}
    >>> fill_template({"q": "{question}", "text": "Q: {question}", "tags": "{tags}"}, fields)
    {'q': 'Why?', 'text': 'Q: Why?', 'tags': ['a', 'b']}
    """
    if isinstance(template, Mapping):
        return {key: fill_template(value, fields) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill_template(item, fields) for item in template]
    if not isinstance(template, str):
        return template
    whole = _PLACE.fullmatch(template)
    if whole:
        return field_of(whole[1], fields)
    return _PLACE.sub(lambda place: str(field_of(place[1], fields)), template)


def fill_url(template: str, fields: Mapping[str, Any]) -> str:
    """An address with its places filled and escaped.

    Examples
    --------
    >>> fill_url("http://host/ask?q={question}", {"question": "Why & how?"})
    'http://host/ask?q=Why%20%26%20how%3F'
    """
    return _PLACE.sub(lambda place: quote(str(field_of(place[1], fields)), safe=""), template)


def field_of(name: str, fields: Mapping[str, Any]) -> Any:
    """A field that is to be sent.

    Raises
    ------
    UnknownNameError
        If there is none of that name.

    Examples
    --------
    >>> field_of("k", {"question": "Why?", "k": 5})
    5
    """
    if name not in fields:
        raise UnknownNameError("field that may be sent", name, fields)
    return fields[name]

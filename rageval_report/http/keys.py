"""API keys: from the environment, into a request, and nowhere else.

A key is never written into a setting: ``${NAME}`` names the environment variable that holds it, in
a header, a body, and the path or the query of an address. Settings, journals and reports then hold
the name only. A literal key is refused, as `rageval_report.http.literal_keys` says.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn
from urllib.parse import quote, unquote

from rageval_report.errors import DataError

VARIABLE = re.compile(r"\$\{(\w+)\}")
"""A key in a template: ``${NAME}``, with the name of its environment variable."""

HIDDEN = "***"
"""What replaces a key."""

# What a header can contain. It is checked here because the HTTP library prints a header that it
# refuses, including the key.
_SENDABLE = re.compile(r"[!-~]+")
_ENTITIES = {"&": "|amp", "<": "|lt", ">": "|gt", '"': "|quot", "'": "|apos"}
_SHORT_ESCAPES = {"\n": r"\\+n", "\r": r"\\+r", "\t": r"\\+t", " ": r"\+"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USER_OF_PROXY = re.compile(r"(?:^|//)([^/@]+)@")
_SHORTEST_PASSWORD = 4  # stars for each "a" would spoil every text


class Key:
    """A key for a server; only the request that carries it can read it.

    Parameters
    ----------
    value : str
        The key; blanks and line ends around it are removed.
    scheme : str, default "Bearer"
        The word before the key in the header; "" if the header contains the key alone.
    name : str, default "the key"
        What an error calls it.
    for_header : bool, default True
        Whether it must have a form that a header can contain.

    Raises
    ------
    DataError
        If it is empty, or contains characters that cannot be sent in a header.

    Examples
    --------
    >>> Key("sk-1234")
    <a key>
    >>> Key("sk-1234").redact("Incorrect API key: sk-1234")
    'Incorrect API key: ***'
    >>> Key("sk-1234").text(), Key("sk-1234").header()
    ('sk-1234', 'Bearer sk-1234')
    """

    # Without a __dict__, so that vars() and debuggers' dumps do not show the key.
    __slots__ = ("_forms", "_scheme", "_value")

    def __init__(
        self,
        value: str,
        *,
        scheme: str = "Bearer",
        name: str = "the key",
        for_header: bool = True,
    ):
        # A key read from a file ends in a line feed, which a header cannot contain.
        stripped = value.strip()
        if not stripped and not for_header:
            raise DataError(f"{name} is empty")
        if for_header and not _SENDABLE.fullmatch(stripped):
            raise DataError(
                f"{name} is empty, or contains blanks, line ends or characters beyond ASCII, which "
                "cannot be sent in a header: copy it again"
            )
        self._value = stripped
        self._scheme = scheme
        self._forms = _written_forms(stripped)

    def header(self) -> str:
        """The value of the header."""
        return f"{self._scheme} {self._value}" if self._scheme else self._value

    def text(self) -> str:
        """The key alone, for a body or an address."""
        return self._value

    def redact(self, text: str) -> str:
        """The text with the key replaced by stars, also where it is escaped for JSON or a URL."""
        return self._forms.sub(HIDDEN, text)

    def __repr__(self) -> str:
        return "<a key>"

    def __reduce__(self) -> NoReturn:
        # A pickle would write the key to a file or to another process.
        raise TypeError(
            "a key cannot be pickled: pass the name of its environment variable instead"
        )


def _written_forms(value: str) -> re.Pattern[str]:
    """The key as servers repeat it: itself, or escaped for JSON, a URL or HTML, also repeatedly."""
    return re.compile("".join(map(_written_character, value)))


def _written_character(character: str) -> str:
    plain = re.escape(character)
    if character.isascii() and (character.isalnum() or character in "-_.~"):
        return plain  # no format escapes these
    encoded = character.encode("utf-8", "surrogatepass")
    forms = [
        rf"\\*{plain}",  # a JSON text in a JSON text has more than one backslash
        "".join(rf"\\+u{unit:04x}" for unit in _utf16_units(character)),
        "".join(rf"\\+x{byte:02x}" for byte in encoded),
        "".join(f"%(?:25)*{byte:02x}" for byte in encoded),
        f"&(?:amp;)*(?:#0*{ord(character)}|#x0*{ord(character):x}{_ENTITIES.get(character, '')});",
    ]
    if character in _SHORT_ESCAPES:
        forms.append(_SHORT_ESCAPES[character])
    return f"(?i:{'|'.join(forms)})"


def _utf16_units(character: str) -> list[int]:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return [encoded[n] << 8 | encoded[n + 1] for n in range(0, len(encoded), 2)]


def key_from_environment(variable: str, *, scheme: str = "Bearer", for_header: bool = True) -> Key:
    """The key in an environment variable.

    Parameters
    ----------
    variable : str
        The name of the variable, e.g. "OPENAI_API_KEY".
    scheme, for_header
        As in `Key`.

    Raises
    ------
    DataError
        If the variable is not set, or does not contain a usable key.

    Examples
    --------
    >>> key_from_environment("NO_SUCH_KEY")
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: no key: the environment variable NO_SUCH_KEY is not set
    """
    value = os.environ.get(variable)
    if value is None:
        raise DataError(f"no key: the environment variable {variable} is not set")
    name = f"the environment variable {variable}"
    return Key(value, scheme=scheme, name=name, for_header=for_header)


def check_key_variable(name: str) -> str:
    """Check that a text is the name of a variable, not the key itself, and return it.

    Parameters
    ----------
    name : str
        The value of the parameter that should name the environment variable.

    Raises
    ------
    DataError
        If no variable of that name is set, and it is not in capitals, as such names are. The
        message does not repeat the value, because it may be the key.

    Examples
    --------
    >>> check_key_variable("MY_KEY")
    'MY_KEY'
    """
    if _is_variable_name(name):
        return name
    raise DataError(
        "api_key_env must be the name of the environment variable with the key, e.g. MY_KEY; no "
        "variable of the given name is set. The value is not shown because it may be the key"
    )


def _is_variable_name(name: object) -> bool:
    is_a_name = isinstance(name, str) and _NAME.fullmatch(name) is not None
    # A key without punctuation has the form of a name; but an unset variable in capitals is far
    # more likely a name than a key.
    return is_a_name and (name in os.environ or name == str(name).upper())


def proxy_keys() -> tuple[Key, ...]:
    """The passwords of the proxies that the environment names, e.g. in HTTPS_PROXY.

    The HTTP library sends them; a proxy may repeat them in a page about an error.

    Examples
    --------
    >>> all(isinstance(key, Key) for key in proxy_keys())
    True
    """
    addresses = (value for name, value in os.environ.items() if name.lower().endswith("_proxy"))
    pairs = {match[1] for match in map(_USER_OF_PROXY.search, addresses) if match}
    secrets: set[str] = set()
    for pair in pairs:
        user, _, password = (unquote(part) for part in pair.partition(":"))
        # As the header holds them; without a password the user is the secret.
        secrets.add(base64.b64encode(f"{user}:{password}".encode()).decode())
        secrets |= {text for text in (password or user, pair) if len(text) >= _SHORTEST_PASSWORD}
    return tuple(Key(secret, scheme="", for_header=False) for secret in sorted(secrets))


# -- templates, in which ${NAME} stands for a key


def keys_named_in(template: object, *, for_header: bool = False) -> dict[str, Key]:
    """The keys that a template names as ``${NAME}``, at any depth, by the name.

    Parameters
    ----------
    template : JSON value
        A text, or lists and objects of texts.
    for_header : bool, default False
        As in `Key`.

    Raises
    ------
    DataError
        If a variable is not set, or does not contain a usable key: of four characters or more.

    Examples
    --------
    >>> keys_named_in({"q": "{question}", "auth": ["${NO_SUCH_KEY}"]})
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: no key: the environment variable NO_SUCH_KEY is not set
    """
    names = {name for _, text in texts_in(template) for name in VARIABLE.findall(str(text))}
    for name in names:
        if not _is_variable_name(name):
            raise DataError(
                "${...} must contain the name of an environment variable, e.g. ${MY_KEY}; no "
                "variable of the given name is set. The name is not shown because it may be the "
                "key; a field such as {question} has no $ before it"
            )
    keys = {
        name: key_from_environment(name, scheme="", for_header=for_header) for name in sorted(names)
    }
    for name, key in keys.items():
        if len(key.text()) < _SHORTEST_PASSWORD:
            raise DataError(
                f"${{{name}}} is for a key, which is replaced by stars in everything that the "
                f"server says; the variable {name} holds fewer than {_SHORTEST_PASSWORD} "
                "characters, which many texts contain: if it is no secret, write its value itself"
            )
    return keys


def fill_keys(template: Any, keys: Mapping[str, Key], *, escape: Callable[[str], str] = str) -> Any:
    """A template with each ``${NAME}`` replaced by its key, at any depth.

    Parameters
    ----------
    template : JSON value
        A text, or lists and objects of texts.
    keys : mapping of str to Key
        As `keys_named_in` returns them.
    escape : callable, optional
        Escapes a key, e.g. for a URL.

    Examples
    --------
    >>> fill_keys({"auth": "${MY_KEY}"}, {"MY_KEY": Key("sk-1234")})
    {'auth': 'sk-1234'}
    """
    if isinstance(template, Mapping):
        return {name: fill_keys(part, keys, escape=escape) for name, part in template.items()}
    if isinstance(template, list | tuple):
        return [fill_keys(part, keys, escape=escape) for part in template]
    if not isinstance(template, str):
        return template
    return VARIABLE.sub(lambda match: escape(keys[match[1]].text()), template)


def fill_keys_in_url(url: str, keys: Mapping[str, Key]) -> str:
    """An address with each ``${NAME}`` replaced by its key, escaped.

    Examples
    --------
    >>> fill_keys_in_url("http://host/${MY_KEY}/ask", {"MY_KEY": Key("a/b")})
    'http://host/a%2Fb/ask'
    """
    return str(fill_keys(url, keys, escape=lambda text: quote(text, safe="")))


def fill_request(url: str, body: Any) -> tuple[str, Any, tuple[Key, ...]]:
    """An address and a body with their keys, and the keys, which the client hides.

    Raises
    ------
    DataError
        If a variable is not set, or does not contain a usable key.

    Examples
    --------
    >>> fill_request("http://host/ask", {"model": "small"})
    ('http://host/ask', {'model': 'small'}, ())
    """
    keys = keys_named_in([url, body])
    return fill_keys_in_url(url, keys), fill_keys(body, keys), tuple(keys.values())


def texts_in(
    template: object, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str | int]]:
    """The texts and integers in a template, each after its path of names and positions.

    Parameters
    ----------
    template : JSON value
        A text, or lists and objects of texts.
    path : tuple of str and int
        Where the template itself is.

    Examples
    --------
    >>> list(texts_in({"q": "{question}", "auth": ["${MY_KEY}", None]}))
    [(('q',), '{question}'), (('auth', 0), '${MY_KEY}')]
    """
    if isinstance(template, Mapping):
        for name, part in template.items():
            yield from texts_in(part, (*path, str(name)))
    elif isinstance(template, list | tuple):
        for number, part in enumerate(template):
            yield from texts_in(part, (*path, number))
    elif isinstance(template, str) or (
        isinstance(template, int) and not isinstance(template, bool)
    ):
        yield path, template


# -- redaction


def redact_keys(keys: Iterable[Key], text: str) -> str:
    """Replace keys in a text by stars. Shorten a text only afterwards, or half a key may remain.

    Examples
    --------
    >>> redact_keys([Key("sk-1")], "sk-1 is wrong")
    '*** is wrong'
    """
    # The longest first: of two keys one may be the beginning of the other.
    for key in sorted(keys, key=lambda key: -len(key.text())):
        text = key.redact(text)
    return text


def redact_document(keys: Iterable[Key], document: Any) -> Any:
    """Replace keys in all texts of a JSON document by stars, the names of its fields included.

    Examples
    --------
    >>> redact_document([Key("sk-1")], {"echo": ["sk-1", 5]})
    {'echo': ['***', 5]}
    """
    sent = tuple(keys)
    if not sent:
        return document
    if isinstance(document, str):
        return redact_keys(sent, document)
    if isinstance(document, list):
        return [redact_document(sent, item) for item in document]
    if isinstance(document, dict):
        return {
            redact_keys(sent, str(name)): redact_document(sent, item)
            for name, item in document.items()
        }
    return document


def hidden_names(
    keys: Mapping[str, Key], document: Any, said: Callable[[], Any]
) -> tuple[str, ...]:
    """The names of the keys that stars replace in a document.

    Parameters
    ----------
    keys : mapping of str to Key
        The keys that were sent, by the name of their variable.
    document : JSON value
        What was read from an answer, after `redact_document`.
    said : callable
        Returns the answer before it; it is called only if there are stars.

    Examples
    --------
    >>> keys = {"TEAM": Key("search"), "MY_KEY": Key("sk-1234")}
    >>> hidden_names(keys, {"answer": "The *** team."}, lambda: ["The search team."])
    ('TEAM',)
    """
    if not keys or not any(HIDDEN in str(text) for _, text in texts_in(document)):
        return ()
    before = said()
    return tuple(
        sorted(name for name, key in keys.items() if redact_document([key], before) != before)
    )

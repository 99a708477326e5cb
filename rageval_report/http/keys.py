"""API keys: from the environment, into a request, and nowhere else.

A key is never written into a setting: ``${NAME}`` names the environment variable that holds it, in
a header, a body, and the path or the query of an address. Settings, journals and reports then hold
the name only. A literal key is refused. It is recognised in two ways:

- by the name of its field: ``api_key``, ``clientSecret``, ``password``, ``Authorization`` and the
  like, with any text as the value. ``token``, ``key`` and ``auth`` alone have other meanings too,
  so that the value must also be long, and have letters and digits; in the query of an address,
  where such names mean a key, every text counts;
- by its form, wherever it is: the beginnings that providers give their keys (``sk-``, ``AIza``,
  ``ghp_`` ...), JSON Web Tokens, ``Bearer`` and ``Basic`` with a value, private keys in PEM, a
  password in an address. A part of a path or query that looks drawn at random counts too.

Only templates are checked, never the questions that fill them; UUIDs, hexadecimal digests, base64
of files and ids of documents have neither a name nor a form that is listed.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn
from urllib.parse import parse_qsl, quote, unquote

from rageval_report.errors import DataError

VARIABLE = re.compile(r"\$\{(\w+)\}")
"""A key in a template: ``${NAME}``, with the name of its environment variable."""

_HIDDEN = "***"
# What a header can contain. It is checked here because the HTTP library prints a header that it
# refuses, including the key.
_SENDABLE = re.compile(r"[!-~]+")
_ENTITIES = {"&": "|amp", "<": "|lt", ">": "|gt", '"': "|quot", "'": "|apos"}
_SHORT_ESCAPES = {"\n": r"\\+n", "\r": r"\\+r", "\t": r"\\+t", " ": r"\+"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIELD = re.compile(r"\{[A-Za-z_]\w*\}")

# -- the forms of keys

# Documented beginnings, each with a shortest length, so that words such as sk-learn are not keys.
_FORMS = (
    r"sk-(?=[\w-]*[A-Z0-9])[\w-]{8,}",  # OpenAI, Anthropic, DeepSeek, OpenRouter, LangFuse
    r"(?:sk|pk|rk)_(?:live|test)_\w{8,}|whsec_\w{16,}",  # Stripe
    r"AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}",  # Google
    r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}",  # GitHub, GitLab
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",  # Amazon
    r"xox[abeprs]-[\w-]{10,}|xapp-[\w-]{10,}",  # Slack
    r"hf_[A-Za-z0-9]{30,}|gsk_\w{30,}|r8_\w{30,}|nvapi-[\w-]{30,}|pplx-\w{30,}|xai-\w{30,}",
    r"tvly-[\w-]{20,}|pcsk_\w{20,}|lsv2_[ps][tk]_\w{20,}|jina_\w{30,}|app-[A-Za-z0-9]{24}",
    r"npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,}|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_\w{40,}|dapi[0-9a-f]{32}",
    r"\d{8,10}:AA[\w-]{33}",  # Telegram
    r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",  # JSON Web Token
)
_KEY_FORM = re.compile(rf"(?<![\w-])(?:{'|'.join(_FORMS)})(?![\w-])")
# "Bearer" or "token" in a header, and the key after it: 12 characters or more, with a digit.
_BEARER = re.compile(r"(?i:\b(?:bearer|token)\s+)(?=[\w.~+/-]*\d)[\w.~+/=-]{12,}")
_BASIC = re.compile(r"(?i:\bbasic\s+)([A-Za-z0-9+/]{8,}={0,2})")
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_PASSWORD_IN_ADDRESS = re.compile(r"(?<=://)[\w.%~+-]*:[\w.%~+!*=&;,-]+(?=@)")
_USER_OF_PROXY = re.compile(r"(?:^|//)([^/@]+)@")
_ASSIGNED = re.compile(
    r"""(?i:api[_-]?key|password|secret|access[_-]?token)["']?\s*[:=]\s*["']?"""
    r"""(?=[^\s"',;&<>{}$]*\d)[^\s"',;&<>{}$]{8,}"""
)
_ANYWHERE = (_KEY_FORM, _BEARER, _PEM, _PASSWORD_IN_ADDRESS, _ASSIGNED)

# -- the names of keys

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRETS = frozenset(
    "apikey accesskey secretkey authtoken accesstoken authorization bearer cookie cookies "
    "credential credentials pass passphrase passwd password pwd secret secrets".split()
)
# Before "key" and "token"; a sort key and an end-of-text token are no secrets.
_OWNERS = frozenset(
    "access account admin api app auth bearer bot client csrf id jwt license master oauth private "
    "refresh sas secret service session shared signing subscription user xsrf".split()
)
_AMBIGUOUS = frozenset("auth code jwt key keys sig signature token tokens".split())
# Last words of what is said about a key: its name, its place, its kind.
_ABOUT = frozenset(
    "count endpoint env file format header id limit mode name path policy type uri url "
    "variable".split()
)
_SECRET_HEADER = re.compile(r"authorization|cookie|key|token|secret|password", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SHORTEST_AMBIGUOUS = 12
_SHORTEST_PASSWORD = 4  # stars for each "a" would spoil every text
_SHORTEST_RANDOM = 20
# Of a base62 text of twenty characters, half have at least six changes between letters and digits;
# names with a version in them, such as Llama3Prod2025, have at most four.
_RANDOM_CHANGES = 5


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
        return self._forms.sub(_HIDDEN, text)

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
    names = {name for _, _, text in _texts_in(template) for name in VARIABLE.findall(str(text))}
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


# -- literal keys


def looks_like_key(text: str) -> bool:
    """Whether a text contains something that has the form of a key.

    Parameters
    ----------
    text : str
        Any text.

    Examples
    --------
    >>> looks_like_key("use sk-proj-Ab12Cd34Ef56"), looks_like_key("fit it with sk-learn")
    (True, False)
    >>> looks_like_key("3fa85f64-5717-4562-b3fc-2c963f66afa6")
    False
    """
    return any(form.search(text) for form in _ANYWHERE) or any(
        map(_is_credential_pair, _BASIC.findall(text))
    )


def hide_literal_keys(text: str) -> str:
    """The text with everything replaced by stars that has the form of a key.

    Examples
    --------
    >>> hide_literal_keys("unexpected argument 'sk-proj-Ab12Cd34Ef56'")
    "unexpected argument '***'"
    """
    for form in _ANYWHERE:
        text = form.sub(_HIDDEN, text)
    return _BASIC.sub(lambda match: _HIDDEN if _is_credential_pair(match[1]) else match[0], text)


def is_secret_name(name: str) -> bool:
    """Whether a field of that name holds a secret.

    Parameters
    ----------
    name : str
        In any spelling: api_key, apiKey, X-API-Key.

    Examples
    --------
    >>> [is_secret_name(name) for name in ("apiKey", "client_secret", "max_tokens", "sort_key")]
    [True, True, False, False]
    """
    words = _words_of(name)
    if not words or words[-1] in _ABOUT:
        return False
    owns = len(words) > 1 and words[-1] in ("key", "token") and words[-2] in _OWNERS
    return owns or not _SECRETS.isdisjoint(words)


def check_header(name: str, value: str) -> str:
    """Check that a header contains no literal key, and return its value.

    Parameters
    ----------
    name, value : str
        The header; ``${NAME}`` in it stands for a key.

    Raises
    ------
    DataError
        If it contains a literal key; the message does not repeat it.

    Examples
    --------
    >>> check_header("Authorization", "Bearer ${RAG_API_KEY}")
    'Bearer ${RAG_API_KEY}'
    """
    is_named = _SECRET_HEADER.search(name) is not None and not VARIABLE.search(value)
    if is_named or looks_like_key(value):
        raise literal_key_error(f"the header {name!r}", "Bearer ${RAG_API_KEY}")
    return value


def check_body(body: Any, what: str = "the body") -> Any:
    """Check that a body contains no literal key, and return it.

    Parameters
    ----------
    body : JSON value
        The template of a body; ``${NAME}`` in it stands for a key.
    what : str, default "the body"
        What an error calls it.

    Raises
    ------
    DataError
        If it contains a literal key; the message names its place, and does not repeat it.

    Examples
    --------
    >>> check_body({"question": "{question}", "api_key": "abc"})
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: the body contains a literal API key at 'api_key'; put the key \
into an environment variable, and write '${RAG_API_KEY}'
    """
    for place, name, text in _texts_in(body):
        if _is_literal_key(name, text) or looks_like_key(place):
            shown = hide_literal_keys(place)
            raise literal_key_error(f"{what}{shown and f' at {shown!r}'}", "${RAG_API_KEY}", "")
    return body


def check_url_template(url: str, what: str = "url") -> str:
    """Check that an address contains no literal key, and return it.

    Parameters
    ----------
    url : str
        The template of an address; ``${NAME}`` in its path or query stands for a key.
    what : str, default "url"
        What an error calls it.

    Raises
    ------
    DataError
        If its path or query contains a literal key, or its host is to be filled in.

    Examples
    --------
    >>> check_url_template("http://localhost:8001/${RAG_API_KEY}/answer?k=5")
    'http://localhost:8001/${RAG_API_KEY}/answer?k=5'
    >>> check_url_template("http://localhost:8001/answer?api_key=abc")
    Traceback (most recent call last):
    ...
    rageval_report.errors.DataError: url contains a literal API key in its query; put the key into \
an environment variable, and write '${RAG_API_KEY}'
    """
    _, _, rest = url.partition("//")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if VARIABLE.search(host) or VARIABLE.search(url[: len(url) - len(rest)]):
        raise DataError(
            f"{what}: ${{NAME}} can be in the path or the query of an address, not in its host"
        )
    path, _, query = rest[len(host) :].partition("#")[0].partition("?")
    fragment = rest.partition("#")[2]
    parts = [unquote(part) for part in (*path.split("/"), *fragment.split("/"))]
    if any(map(_is_key_in_address, parts)):
        raise literal_key_error(what, "${RAG_API_KEY}", " in its path")
    for name, value in parse_qsl(query, keep_blank_values=True):
        is_named = is_secret_name(name) or _is_ambiguous_name(name)
        if (is_named and _is_literal(value)) or _is_key_in_address(value or name):
            raise literal_key_error(what, "${RAG_API_KEY}", " in its query")
    return url


def literal_key_error(what: str, example: str, where: str = "") -> DataError:
    """The error about a literal key, which does not repeat it.

    Examples
    --------
    >>> str(literal_key_error("the body", "${MY_KEY}")).partition(";")[0]
    'the body contains a literal API key'
    """
    what, at, place = what.partition(" at ")
    return DataError(
        f"{what} contains a literal API key{where}{at}{place}; put the key into an environment "
        f"variable, and write {example!r}"
    )


def _texts_in(
    value: object, place: str = "", name: str = ""
) -> Iterator[tuple[str, str, str | int]]:
    """The texts and integers in a template: place, name of the field, value."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            inner = f"{place}.{key}" if place else str(key)
            # What is in a field named "credentials" is secret under any name.
            yield from _texts_in(part, inner, name if is_secret_name(name) else str(key))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _texts_in(part, f"{place}.{number}" if place else str(number), name)
    elif isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        yield place, name, value


def _is_literal_key(name: str, value: str | int) -> bool:
    if isinstance(value, int):
        return is_secret_name(name)
    if looks_like_key(value):
        return True
    if not _is_literal(value):
        return False
    return is_secret_name(name) or (_is_ambiguous_name(name) and _is_long_word(value))


def _is_ambiguous_name(name: str) -> bool:
    words = _words_of(name)
    return len(words) == 1 and words[0] in _AMBIGUOUS


def _is_literal(value: str) -> bool:
    """Whether a text says something itself, and is not only filled in."""
    return not VARIABLE.search(value) and bool(_FIELD.sub("", value).strip())


def _is_long_word(text: str) -> bool:
    has_both = re.search("[A-Za-z]", text) and re.search("[0-9]", text)
    return len(text) >= _SHORTEST_AMBIGUOUS and not re.search(r"\s", text) and bool(has_both)


def _is_key_in_address(part: str) -> bool:
    return looks_like_key(part) or _looks_random(_FIELD.sub("", VARIABLE.sub("", part)))


def _looks_random(text: str) -> bool:
    """Whether a part of an address looks drawn at random, and is not a UUID or a digest."""
    if len(text) < _SHORTEST_RANDOM or re.search(r"[^\w~+=-]", text) or _UUID.fullmatch(text):
        return False
    changes = len(re.findall(r"(?<=[A-Za-z])\d|(?<=\d)[A-Za-z]", text))
    has_both_cases = text != text.lower() and text != text.upper()
    return has_both_cases and changes >= _RANDOM_CHANGES


def _is_credential_pair(encoded: str) -> bool:
    """Whether base64 contains user:password, as ``Basic`` in a header does."""
    try:
        decoded = base64.b64decode(encoded, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    return ":" in decoded and decoded.isprintable()


def _words_of(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


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
    if not keys or not any(_HIDDEN in str(text) for *_, text in _texts_in([document])):
        return ()
    before = said()
    return tuple(
        sorted(name for name, key in keys.items() if redact_document([key], before) != before)
    )

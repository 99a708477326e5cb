"""Literal API keys: recognised in templates, and refused.

A key is recognised in two ways:

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
import re
from typing import Any
from urllib.parse import parse_qsl, unquote

from rageval_report.errors import DataError
from rageval_report.http.keys import HIDDEN, VARIABLE, texts_in

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
_SHORTEST_RANDOM = 20
# Of a base62 text of twenty characters, half have at least six changes between letters and digits;
# names with a version in them, such as Llama3Prod2025, have at most four.
_RANDOM_CHANGES = 5


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
        text = form.sub(HIDDEN, text)
    return _BASIC.sub(lambda match: HIDDEN if _is_credential_pair(match[1]) else match[0], text)


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
    for path, text in texts_in(body):
        place = ".".join(map(str, path))
        if _is_literal_key(_field_name(path), text) or looks_like_key(place):
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


def _field_name(path: tuple[str | int, ...]) -> str:
    """The field that a text is in; what is in a field "credentials" is secret under any name."""
    names = [name for name in path if isinstance(name, str)]
    return next(filter(is_secret_name, names), names[-1] if names else "")


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

"""What callers pass as a file: a path, bytes, or an open file; anything else is described."""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path
from types import ModuleType
from typing import IO, Any, NamedTuple, TypeGuard

from rageval_report.errors import ArgumentKindError, DataError, describe_kind, quote_briefly

# A path, the contents of a file, or an open file.
FileInput = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[str] | IO[bytes]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_JSON = re.compile(r"\s*[\[{]")
_GLOB = re.compile(r"[*?]")
# A password in an address, up to the last "@"; a port alone, "host:5432/", is none.
_PASSWORD = re.compile(r"(://[^/?#@:]*):(?!\d+(?:[/?#]|$))(.*)@", re.DOTALL)
_SECRET = re.compile(
    r"([?&](?:[^=&?]*(?:password|passwd|secret|token|key|signature|credential)[^=&?]*|sig)=)[^&]*",
    re.IGNORECASE,
)
_HIDDEN = r"\1:***@"
# The longest path of Linux has 4,096 bytes; a message should be shorter.
_LONGEST_PATH = 240
STANDARD_INPUT = "-"
_UNNAMED = "pipeline"


class Contents(NamedTuple):
    """The contents of a file that is not opened by its path."""

    name: str
    stem: str
    data: bytes
    is_text: bool = False


def is_file_input(value: object) -> TypeGuard[FileInput]:
    """Whether a value is a path, the contents of a file, or an open file."""
    if isinstance(value, type | ModuleType):
        return False
    if isinstance(value, str | bytes | bytearray | memoryview | os.PathLike):
        return True
    return callable(getattr(value, "read", None))


def open_input(value: object, parameter: str = "path") -> Path | Contents:
    """The path that the caller passed, or the contents."""
    if isinstance(value, str):
        return _path_of(value, parameter)
    if isinstance(value, os.PathLike):
        return _path_of(os.fsdecode(value), parameter)
    if isinstance(value, bytes | bytearray | memoryview):
        return Contents(f"<{type(value).__name__}>", _UNNAMED, bytes(value))
    if is_file_input(value):
        return _read_open_file(value, parameter)
    raise ArgumentKindError(
        f"{parameter} must be the path of a file, its contents as bytes, or an open file; got "
        f"{describe_kind(value)}"
    )


def input_name(value: object) -> str:
    """What names an input in messages: its path, or its kind."""
    if isinstance(value, str | os.PathLike):
        name = os.fsdecode(value)
        return "standard input" if name == STANDARD_INPUT else shorten_path(hide_password(name))
    return _name_of(value) if is_file_input(value) else f"<{type(value).__name__}>"


def hide_password(address: str) -> str:
    """An address without the password and the secret parameters in it, for messages."""
    if "://" not in address:
        return address
    return _SECRET.sub(r"\1***", _PASSWORD.sub(_HIDDEN, address))


def shorten_path(path: str) -> str:
    """A path for messages: one that is longer than usual is cut."""
    return path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST_PATH]}..."


def _path_of(text: str, parameter: str) -> Path:
    expected = f"{parameter} must be the path of a file"
    if not text:
        raise DataError(f"{expected}; got an empty text")
    if "\0" in text:
        raise DataError(f"{expected}; got {quote_briefly(text)}, which contains a NUL character")
    lines = text.splitlines()
    if len(lines) > 1 or (_JSON.match(text) and not is_file(Path(text))):
        raise DataError(
            f"{expected}; got a text that starts with {quote_briefly(lines[0])}. If this is the "
            "contents of a file, pass bytes: text.encode()"
        )
    if _URL.match(text) or (_GLOB.search(text) and not is_file(Path(text))):
        raise DataError(f"{expected}; got the address or pattern {quote_briefly(text)}")
    return Path(text)


def _read_open_file(file: Any, parameter: str) -> Contents:
    shown = _name_of(file)
    stem = _UNNAMED if shown.startswith("<") else Path(shown).stem
    try:
        content = file.read()
        if isinstance(content, str):
            return Contents(shown, stem, content.encode("utf-8"), is_text=True)
    except (OSError, ValueError, TypeError) as exc:  # closed, open for writing, of half characters
        raise DataError(f"{parameter}: {shown} cannot be read: {exc}") from exc
    if isinstance(content, bytes | bytearray | memoryview):
        return Contents(shown, stem, bytes(content))
    if inspect.iscoroutine(content):
        content.close()
    raise ArgumentKindError(
        f"{parameter} must be a file whose read() returns text or bytes; that of {shown} returned "
        f"{describe_kind(content)}"
    )


def _name_of(file: object) -> str:
    """The path of an open file, or its kind if it has none, as `io.BytesIO`."""
    name = getattr(file, "name", None)
    return shorten_path(name) if isinstance(name, str) and name else f"<{type(file).__name__}>"


def is_folder(path: Path) -> bool:
    """Whether there is a folder of this name; a name that none can have is no error."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether there is a file of this name; a name that no file can have is no error."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or not encodable
        return False

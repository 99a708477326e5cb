"""From which size on files are read part by part: the rule, and the memory of the machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rageval_report.errors import DataError

LIMIT_VARIABLE = "RAGEVAL_SCAN_ABOVE"
# A table in memory has texts, its scores, and a copy of them while it is described: about three
# times the size of its files.
_SHARE = 3
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kmgt]?)b?", re.IGNORECASE)
# What a container may use; version 2 of control groups first.
_CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


@dataclass(frozen=True)
class MemoryLimit:
    """From which size on files are read part by part.

    Parameters
    ----------
    n_bytes : int
        Larger files are read part by part.
    reason : str
        Where the number comes from, as the end of "more than ...".
    """

    n_bytes: int
    reason: str


def streaming_limit() -> MemoryLimit | None:
    """The size from which on files are read part by part.

    Returns
    -------
    MemoryLimit or None
        The environment variable RAGEVAL_SCAN_ABOVE, such as "500MB"; if it is not set, a third of
        the memory of this machine, or of its container. None if the memory is not known.

    Raises
    ------
    DataError
        If the variable is not a size.
    """
    stated = os.environ.get(LIMIT_VARIABLE)
    if stated:
        return MemoryLimit(parse_size(stated, LIMIT_VARIABLE), f"{LIMIT_VARIABLE}={stated}")
    memory = memory_of_machine()
    if memory is None:
        return None
    return MemoryLimit(memory // _SHARE, f"a third of the memory ({format_size(memory)})")


def memory_of_machine() -> int | None:
    """The bytes of memory of this machine, or those that its container may use; None if unknown."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        return None
    return min([physical, *_container_limits()])


def _container_limits() -> Iterable[int]:
    for path in _CONTAINER_LIMITS:
        try:
            text = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeError):
            continue
        if text.isdigit():  # "max" where there is no limit
            yield int(text)


def parse_size(text: str, parameter: str) -> int:
    """The number of bytes in a text such as "500MB" or "2 GB".

    Parameters
    ----------
    text : str
        A number and a unit of B, KB, MB, GB or TB: powers of a thousand.
    parameter : str
        The name of the parameter, for the error.

    Raises
    ------
    DataError
        If it is not a size.

    Examples
    --------
    >>> parse_size("1.5GB", "memory_limit")
    1500000000
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise DataError(f"{parameter} must be a size such as 500MB or 2GB; got {text!r}")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def format_size(n_bytes: int) -> str:
    """A size for people.

    Examples
    --------
    >>> format_size(12_345_678_901), format_size(999_600), format_size(512)
    ('12.3 GB', '1.0 MB', '512 bytes')
    """
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if n_bytes >= 0.9995 * 10**power:
            return f"{n_bytes / 10**power:.1f} {unit}"
    return f"{n_bytes} bytes"

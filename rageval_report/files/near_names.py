"""The name that was meant, where a file does not exist: a near one in its folder."""

from __future__ import annotations

import difflib
from itertools import islice
from pathlib import Path

_NEAR = 0.65  # as for names of metrics
_MOST_NAMES = 5000  # of a folder; comparing more would be slow


def hint_for_missing(path: Path) -> str:
    """What to add to the error about a file that does not exist."""
    folder = path.parent
    try:
        if not folder.is_dir():
            return f". The folder {folder} does not exist either.{_near(folder)}"
        near = _near(path)
    except (OSError, ValueError):
        return ""
    return f".{near}" if near else ""


def _near(path: Path) -> str:
    """The nearest name in a folder, as a question; endings do not count."""
    if not path.parent.is_dir():
        return ""
    by_stem: dict[str, list[Path]] = {}
    for other in islice(path.parent.iterdir(), _MOST_NAMES):
        by_stem.setdefault(_stem(other), []).append(other)
    same_letters = [stem for stem in by_stem if sorted(stem) == sorted(_stem(path))]
    near = same_letters or difflib.get_close_matches(_stem(path), by_stem, n=1, cutoff=_NEAR)
    if not near:
        return ""
    # A file of the same ending before other files, and folders last.
    best = min(
        by_stem[near[0]], key=lambda other: (other.is_dir(), other.suffix != path.suffix, other)
    )
    return f" Did you mean {str(best)!r}?"


def _stem(path: Path) -> str:
    return path.name.lower().partition(".")[0] or path.name.lower()

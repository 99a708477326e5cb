"""`verify`: whether files are as they were written, by the digests in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, named
from rageval_report.results import Result
from rageval_report.verification.checks import DAMAGED, UNPROTECTED, FileCheck, check_file

# What SQLite keeps next to its file is checked with the file.
_NOT_ALONE = ("-wal", "-shm")


@dataclass(frozen=True, eq=False, repr=False)
class Verification(Result):
    """What was checked, one row per file.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    damage : dict of str to tuple of str
        What is damaged, by file: lines, rows and queries.
    """

    damage: dict[str, tuple[str, ...]] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether no file is damaged."""
        return not self.damage


def verify(*paths: str | os.PathLike[str]) -> Verification:
    """Check caches, journals, run files, saved tables and their descriptions by their digests.

    Parameters
    ----------
    *paths : str or PathLike
        Files, and folders with their folders. Nothing is changed. A cache must not be in use by
        this process.

    Returns
    -------
    Verification
        One row per file: ``file``, ``kind``, ``n`` (the lines, rows or queries that were checked),
        ``n_damaged``, ``state`` ("whole", "damaged", "not protected": the file has no digests,
        because an earlier version or another program wrote it), ``damage``. The notes name every
        file that is damaged. In a folder, files of other kinds are counted, not listed.

    Raises
    ------
    DataError
        If a path does not exist or cannot be read, or no path is given.

    Examples
    --------
    >>> import tempfile
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("hybrid", {"query_id": ["a", "b"], "recall": [0.5, 1.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = run.save(folder + "/run.json")
    ...     before = verify(folder)
    ...     _ = path.write_text(path.read_text().replace("0.5", "0.7", 2))
    ...     after = verify(path)
    >>> before.is_whole, after.is_whole
    (True, False)
    """
    if not paths:
        raise DataError("verify() needs at least one path of a file or a folder")
    rows: list[dict[str, object]] = []
    damage: dict[str, tuple[str, ...]] = {}
    others = []
    for name, is_given in _files([Path(path) for path in paths]):
        try:
            check = check_file(name)
        except OSError as exc:
            raise DataError(f"{name} cannot be read: {exc.strerror or exc}") from exc
        if check.kind == "file without digests" and not is_given:
            others.append(name.name)
            continue
        rows.append(_row(name, check))
        if check.damage:
            damage[str(name)] = check.damage
    columns = ["file", "kind", "n", "n_damaged", "state", "damage"]
    frame = pd.DataFrame(rows, columns=columns)
    return Verification(
        "Files checked by their digests",
        frame,
        {"files": len(frame)},
        tuple(_notes(frame, damage, others)),
        headline=tuple(columns[:-1]),
        damage=damage,
    )


def _files(paths: list[Path]) -> Iterator[tuple[Path, bool]]:
    """Every file once, and whether the caller named it."""
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise DataError(f"{path}: there is no such file or folder")
        inside = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else []
        for file in inside or ([path] if path.is_file() else []):
            if file not in seen and not file.name.endswith(_NOT_ALONE):
                seen.add(file)
                yield file, file == path


def _row(path: Path, check: FileCheck) -> dict[str, object]:
    return {
        "file": str(path),
        "kind": check.kind,
        "n": check.n,
        "n_damaged": len(check.damage),
        "state": check.state,
        "damage": _listed(check.damage),
    }


def _listed(damage: tuple[str, ...]) -> str:
    rest = len(damage) - MOST_NAMED
    return "; ".join(damage[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _notes(
    frame: pd.DataFrame, damage: dict[str, tuple[str, ...]], others: list[str]
) -> Iterator[str]:
    for path, problems in damage.items():
        yield f"{path}: {_listed(problems)}"
    unprotected = frame.loc[frame["state"] == UNPROTECTED, "file"].tolist()
    if unprotected:
        yield (
            f"without digests, so that damage cannot be found: {named(unprotected)}. Save what "
            "this library wrote again to protect it"
        )
    if others:
        yield f"{len(others)} files of other kinds were not checked: {named(others)}"
    if (frame["state"] == DAMAGED).any():
        yield (
            "damaged entries of caches and journals are asked for again in the next run; restore "
            "run files and tables from a copy"
        )

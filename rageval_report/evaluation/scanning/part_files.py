"""The parts of a file for all rows, each written where its rows are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from rageval_report._registry import import_parquet
from rageval_report.errors import DataError
from rageval_report.scale.pieces import ArrowTable


@contextmanager
def folder_of_parts(target: Path | None) -> Iterator[str | None]:
    """A folder for the parts of a file, which is removed with them; None without a file.

    It lies beside the file: the workers of a cluster share that place, as they share the tables
    that they read, and not the temporary folder of one machine.

    Parameters
    ----------
    target : Path, optional
        The file; missing folders are created.

    Raises
    ------
    DataError
        If the folder cannot be written to.
    """
    if target is None:
        yield None
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = TemporaryDirectory(
            prefix=f".{target.name}.", suffix=".parts", dir=target.parent.resolve()
        )
    except OSError as exc:
        raise DataError(f"{target} cannot be written: {exc.strerror or exc}") from exc
    with folder as name:
        yield name


def write_part(folder: str, table: ArrowTable) -> str:
    """Write a part; returns its path.

    Parameters
    ----------
    folder : str
        What `folder_of_parts` gave.
    table : pyarrow.Table
        The rows.

    Raises
    ------
    DataError
        If a worker of a cluster does not have the folder.
    """
    if not Path(folder).is_dir():
        raise DataError(
            f"path must lie in a folder that every worker of the cluster shares, because each "
            f"writes the rows that it reads; {str(Path(folder).parent)!r} is not there for one of "
            "them"
        )
    path = str(Path(folder, f"{uuid4().hex}.parquet"))
    import_parquet().write_table(table, path)
    return path

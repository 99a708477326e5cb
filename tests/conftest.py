"""What tests of several wings share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rageval_report.readers import ScoreFile, read

_REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """A file or folder of public results that nobody on the project wrote; skips without them.

    They lie in the folder that the environment variable RAGEVAL_DATA names, else in
    ``shared/data`` beside the repository.
    """
    named = os.environ.get("RAGEVAL_DATA")
    folder = Path(named) if named else _REPOSITORY.parent / "shared" / "data"

    def find(name: str) -> Path:
        if not (folder / name).exists():
            pytest.skip(f"no {name} among the public data; RAGEVAL_DATA may name their folder")
        return folder / name

    return find


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """A file with this content; texts are written as UTF-8, line ends as they are."""

    def write_(content: str | bytes, name: str = "run") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    return write_


@pytest.fixture
def read_text(write: Callable[..., Path]) -> Callable[..., ScoreFile]:
    """The one pipeline of a file with this content."""

    def read_text_(content: str | bytes, **options: Any) -> ScoreFile:
        [found] = read(write(content), **options)
        return found

    return read_text_


@pytest.fixture
def frame_text(read_text: Callable[..., ScoreFile]) -> Callable[..., pd.DataFrame]:
    """The frame of a file with this content."""

    def frame_text_(content: str | bytes, **options: Any) -> pd.DataFrame:
        return read_text(content, **options).frame

    return frame_text_

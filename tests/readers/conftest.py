from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rageval_report.readers import ScoreFile, read


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

"""What tests of several wings share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

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

"""Expected numbers, each file with the tool, the version and the command that made it."""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def golden():
    """The path of a file of this folder, or what stands in a JSON file."""

    def golden(name):
        path = HERE / name
        return json.loads(path.read_text(encoding="utf-8")) if path.suffix == ".json" else path

    return golden

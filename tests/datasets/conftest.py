"""Data sets in small: files of the shapes that their authors publish."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BEIR_FILES = {
    "corpus.jsonl": '{"_id": "d1", "title": "Mice", "text": "Of mice."}\n'
    '{"_id": "d2", "title": "", "text": "Of men."}\n',
    "queries.jsonl": '{"_id": "q1", "text": "Of what?"}\n{"_id": "q9", "text": "Not judged?"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td2\t1\nq1\td1\t2\n",
    "qrels/dev.tsv": "query-id\tcorpus-id\tscore\nq9\td2\t1\n",
}


@pytest.fixture
def json_file(tmp_path: Path) -> Callable[..., Path]:
    """A file that holds a document as JSON, or rows as JSON Lines."""

    def written(document: Any, name: str = "set.json") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(row) + "\n" for row in document))
        else:
            path.write_text(json.dumps(document))
        return path

    return written


@pytest.fixture
def beir_folder(tmp_path: Path) -> Path:
    """A BEIR set, unpacked."""
    folder = tmp_path / "tiny"
    for name, text in BEIR_FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def zipped(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """A zip archive with these members."""

    def pack(files: dict[str, str]) -> Path:
        path = tmp_path / "tiny.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return path

    return pack

"""Every notebook runs in a kernel of its own, and the outputs that are kept are current.

A notebook about public files names their folder in its metadata, ``{"rageval": {"needs": ...}}``;
it is skipped where the files are not.
"""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.notebook
@pytest.mark.filterwarnings("ignore")  # of the kernel's own libraries; the cells' are checked below
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs_and_shows_pictures(path, monkeypatch, real_data):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # with Agg a kernel shows no pictures
    notebook = nbformat.read(path, as_version=4)
    needed = notebook.metadata.get("rageval", {}).get("needs")
    if needed:
        monkeypatch.setenv("RAGEVAL_DATA", str(real_data(needed).parent.resolve()))
    kept = [_texts(cell) for cell in notebook.cells if cell.cell_type == "code"]
    NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    fresh = [_texts(cell) for cell in notebook.cells if cell.cell_type == "code"]
    assert fresh == kept
    assert any(_has_picture(cell) for cell in notebook.cells if cell.cell_type == "code")


def _texts(cell):
    """What a cell printed or returned as text; a picture differs from machine to machine."""
    told = []
    for output in cell.outputs:
        if output.output_type == "stream":
            assert output.name == "stdout", f"a warning was shown: {output.text}"
            told.append(output.text)
        elif not _is_picture(output):
            told.append(output.get("data", {}).get("text/plain", ""))
    return "".join(told)


def _is_picture(output):
    return "image/png" in output.get("data", {})


def _has_picture(cell):
    return any(_is_picture(output) for output in cell.outputs)

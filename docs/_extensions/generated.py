"""Writes pages that are made from the package, and removes those that nothing makes any more."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class GeneratedPages:
    """Pages under a folder of documents, each rewritten only if its text changed.

    Parameters
    ----------
    docs : Path
        The folder of documents.
    folders : iterable of str
        The folders in it that hold nothing else but generated pages; `finish` removes from them
        what was not written.
    """

    def __init__(self, docs: Path, folders: Iterable[str]):
        self._docs = docs
        self._folders = tuple(folders)
        self._written: set[Path] = set()

    def write(self, name: str, text: str) -> None:
        """Write a page, named from the folder of documents on."""
        path = self._docs / name
        self._written.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

    def finish(self) -> None:
        """Remove the pages of earlier times."""
        for folder in self._folders:
            for path in (self._docs / folder).glob("**/*"):
                if path.is_file() and path not in self._written:
                    path.unlink()


def heading(text: str, line: str = "=") -> str:
    """A heading of reStructuredText."""
    return f"{text}\n{line * len(text)}\n"


def hidden_toctree(names: Iterable[str], caption: str = "") -> str:
    """A list of pages for the side bar, in reStructuredText."""
    options = ["   :hidden:", *([f"   :caption: {caption}"] if caption else [])]
    return "\n".join([".. toctree::", *options, "", *(f"   {name}" for name in names), ""])


def escape_rst(text: str) -> str:
    """Text as reStructuredText shows it, character by character."""
    return "".join(f"\\{letter}" if letter in "\\`*_|<>:" else letter for letter in text)


def cell(text: object) -> str:
    """Text as a cell of a Markdown table."""
    return str(text).replace("|", "\\|").replace("\n", " ")


def markdown_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table of Markdown; the cells are Markdown too."""
    columns = list(columns)
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines) + "\n"

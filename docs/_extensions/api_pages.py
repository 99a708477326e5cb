"""The reference: one page per public name, and one per room that lists the names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from generated import GeneratedPages, heading, markdown_table
from public_names import PACKAGE, PublicName, names_of, pages, public_modules

FOLDER = "reference/api"


def page_of(entry: PublicName) -> str:
    """The page of a public name, from the folder of documents on, without a suffix."""
    return f"{FOLDER}/{entry.path}"


def write_api(out: GeneratedPages) -> None:
    """Write the pages of all rooms and all names."""
    for module in public_modules():
        out.write(f"{FOLDER}/{module}.rst", _room(module))
    for entry in dict.fromkeys(pages().values()):
        out.write(f"{page_of(entry)}.rst", _name(entry))


def _room(module: str) -> str:
    """The page of a room: its docstring, and a table of its names."""
    about = inspect.getdoc(public_modules()[module]) or ""
    text = [heading(module), f".. py:module:: {module}\n", about, ""]
    rows = [
        line
        for entry in names_of(module)
        for line in (
            f"   * - :py:obj:`{entry.name} <{pages()[entry.path].path}>`",
            f"     - {_summary(pages()[entry.path])}",
        )
    ]
    text += [".. list-table::", "   :widths: 30 70", "   :class: names", "", *rows, ""]
    return "\n".join(text)


def _summary(entry: PublicName) -> str:
    if entry.sentence:
        return entry.sentence
    if isinstance(entry.thing, Mapping):
        return f"A table of {len(entry.thing)} entries by name."
    return "A type alias."


def _name(entry: PublicName) -> str:
    """The page of a name: autodoc writes it from the docstring.

    The side bar lists rooms, not names: with all names in it, each page would hold a list of all
    others. So the page is an orphan to Sphinx, and the page of its room links to it.
    """
    path = entry.path
    text = f":orphan:\n\n{heading(entry.name)}\n.. currentmodule:: {entry.module}\n\n"
    text += f"A name of :doc:`{entry.module}`.\n\n"
    if entry.kind == "data":
        return text + f".. py:data:: {entry.name}\n\n   {_summary(entry)}\n{_entries(entry.thing)}"
    members = "   :members:\n" if entry.kind == "class" else ""
    if entry.kind != "function" and entry.thing.__bases__ != (object,):
        members += "   :show-inheritance:\n"
    return f"{text}.. auto{entry.kind}:: {path}\n{members}"


def _entries(thing: object) -> str:
    """The names in a table, and where their descriptions are."""
    if not isinstance(thing, Mapping):
        return f"\n   ``{str(thing).replace(PACKAGE + '.', '')}``\n"
    names = ", ".join(f"``{name}``" for name in sorted(thing))
    return f"\n   {names}\n\n   :doc:`/reference/tables` describes the entries.\n"


# The other pages of the reference, which are made elsewhere, with what they hold.
_OTHER = {
    "commands/index.rst": ("Command line", "Every command, with its options and examples."),
    "metrics.md": (
        "Metrics",
        "Every metric that is known by name, with its direction and its values.",
    ),
    "readers.md": ("Readers", "Every kind of file of scores that is read."),
    "tables.md": ("Tables", "Tests, intervals, corrections, judges, gates, data sets, sources."),
    "schemas.md": ("JSON Schemas", "The files that the library writes."),
}


def with_contents(text: str) -> str:
    """The page of the reference, with tables of its parts and the lists for the side bar."""
    rooms = [
        (f"[`{name}`](api/{name}.rst)", f"{(inspect.getdoc(room) or '').partition(chr(10))[0]}")
        for name, room in public_modules().items()
    ]
    parts = [(f"[{title}]({page})", sentence) for page, (title, sentence) in _OTHER.items()]
    names = [page.rpartition(".")[0] for page in _OTHER]
    trees = (
        "```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"
        for pages in (names, [f"api/{name}" for name in public_modules()])
    )
    return "\n".join(
        [
            *(text, "## Commands and tables\n", markdown_table(("page", "what it has"), parts)),
            *("## Python\n", markdown_table(("room", "what it has"), rooms), *trees),
        ]
    )

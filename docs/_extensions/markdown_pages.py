"""Pages of plain Markdown as the site shows them.

The pages of docs/ hold nothing but Markdown, so that they read well where the code is hosted. What
the site needs besides is added here: the lists of pages for the side bar, which are read from the
tables of the index pages; a link for each word of the glossary; and links to files outside docs/.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from api_pages import with_contents
from generated import GeneratedPages

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent

# Files outside docs/ that are pages of the site, by the page that they become.
OUTSIDE = {
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/code_of_conduct.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "README.md": "project/readme.md",
    "SECURITY.md": "project/security.md",
    "docs/plugin_template/README.md": "project/plugin_template.md",
}
# A link whose text is the name of a file, such as "[ci.md](ci.md)": the site shows the title.
_FILE_NAME = re.compile(r"\[(?:[\w/]+\.md)\](?=\((?![^)]*#)[^)]*\.md\))")
_TARGET = re.compile(r"\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_ENTRY = re.compile(r"^- \*\*(.+?)\*\*: (.+)$", re.MULTILINE)


def notebooks() -> list[Path]:
    """The notebooks, which are shown with the results that they hold."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def outside_pages() -> dict[Path, str]:
    """The files outside docs/ that are pages of the site."""
    pages = {ROOT / name: page for name, page in OUTSIDE.items() if (ROOT / name).exists()}
    pages |= {path: f"notebooks/{path.name}" for path in notebooks()}
    return pages | {ROOT / "notebooks": "notebooks/index.md", DOCS / "gallery": "gallery/index.md"}


def with_links_of_the_site(text: str, home: Path, page: str) -> str:
    """The text of a page, with links to other files of the repository as links within the site.

    Parameters
    ----------
    text : str
        The text, with links as they work in the repository.
    home : Path
        The folder of the repository in which the text stands.
    page : str
        The page of the site, from docs/ on.
    """
    pages = outside_pages()
    up = "../" * page.count("/")

    def link(found: re.Match[str]) -> str:
        target, anchor = found["target"], found["anchor"] or ""
        if re.match(r"[a-z]+:", target):
            return found[0]
        place = (home / target).resolve()
        if place in pages:
            return f"]({up}{pages[place]}{anchor})"
        if place.is_relative_to(DOCS):
            return f"]({up}{place.relative_to(DOCS).as_posix()}{anchor})"
        return found[0]

    return _TARGET.sub(link, text)


def with_titles(text: str) -> str:
    """The text of a page, with titles in place of the names of files.

    Examples
    --------
    >>> with_titles("as [ci.md](ci.md) says")
    'as [](ci.md) says'
    """
    return _FILE_NAME.sub("[]", text)


def listed_pages(text: str) -> Iterator[tuple[str, list[str]]]:
    """The headings of an index page, and the pages that the table below each lists."""
    parts = _SECTION.split(text)
    for title, part in zip(parts[1::2], parts[2::2], strict=True):
        targets = [found["target"] for found in _TARGET.finditer(part)]
        pages = [target.removesuffix(".md") for target in targets if target.endswith(".md")]
        if pages:
            yield title, list(dict.fromkeys(pages))


def with_toctrees(text: str) -> str:
    """An index page with the lists of the side bar, one per heading."""
    trees = (
        "```{toctree}\n:hidden:\n:caption: "
        + title
        + "\n\n"
        + "\n".join(map(_entry, pages))
        + "\n```\n"
        for title, pages in listed_pages(text)
    )
    return text + "\n" + "\n".join(trees)


def _entry(page: str) -> str:
    """A line of a list of pages; README has the title of the whole site."""
    return f"README <{page}>" if page == "project/readme" else page


def with_glossary(text: str) -> str:
    """The glossary with a target for each word."""
    start = next(_ENTRY.finditer(text)).start()
    entries = "\n".join(f"{term}\n  {sentence}\n" for term, sentence in _ENTRY.findall(text))
    return f"{text[:start]}```{{glossary}}\n{entries}```\n"


def terms() -> list[str]:
    """The words of the glossary."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    return [term for term, _ in _ENTRY.findall(text)]


# What is added to a page, by its name.
ADDITIONS: dict[str, Callable[[str], str]] = {
    "index": with_toctrees,
    "reference/index": with_contents,
    "extending": lambda text: text + "\n```{toctree}\n:hidden:\n\nproject/plugin_template\n```\n",
    "glossary": with_glossary,
}


def adapt(page: str, text: str) -> str:
    """The text of a page of docs/ as the site shows it."""
    suffix = ".md" if (DOCS / f"{page}.md").exists() else ".ipynb"
    if suffix == ".md" and not page.startswith(("project/", "notebooks/", "gallery/")):
        text = with_links_of_the_site(text, (DOCS / page).parent, page)
    return with_titles(ADDITIONS.get(page, str)(text))


def write_outside_pages(out: GeneratedPages) -> None:
    """Copy the files outside docs/ that are pages of the site."""
    for path, page in outside_pages().items():
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            out.write(page, with_links_of_the_site(text, path.parent, page))
    names = "\n".join(path.stem for path in notebooks())
    text = "# Notebooks\n\nEach goes from data to a decision, with the results that a run gave.\n\n"
    out.write("notebooks/index.md", f"{text}```{{toctree}}\n\n{names}\n```\n")

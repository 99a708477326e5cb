"""Checks a built site without a network: links, anchors, orphans, and what pages load.

Run from the repository's root, after the site is built: ``python docs/check_site.py docs/_build``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Pages that the theme's buttons open, not the text.
_BY_BUTTON = ("search.html", "genindex.html", "py-modindex.html", "_modules/")
_LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
# What a link of the head may name without loading it.
_NOT_LOADED = {"canonical", "author", "license", "me"}


class _Page(HTMLParser):
    """The links, the anchors and the loaded files of one page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {values[name] or "" for name in ("id", "name") if name in values}
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        for name, value in attrs:
            if (tag, name) in _LOADS and value and values.get("rel") not in _NOT_LOADED:
                self.loaded.append(value)


def faults(site: Path) -> Iterator[str]:
    """What is wrong, one sentence each."""
    pages = {
        path: _Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }
    for path, page in pages.items():
        where = path.relative_to(site).as_posix()
        for target in page.loaded:
            if urlsplit(target).netloc:
                yield f"{where} loads {target} from the network"
            elif fault := _fault_of(path, target, pages):
                yield f"{where} loads {fault}"
        for target in page.links:
            if not urlsplit(target).scheme and (fault := _fault_of(path, target, pages)):
                yield f"{where} links to {fault}"
    for path in sorted(set(pages) - _reached(site / "index.html", pages)):
        where = path.relative_to(site).as_posix()
        if not where.startswith(_BY_BUTTON):
            yield f"{where} is not linked from any page that the start page leads to"


def _file_of(page: Path, target: str) -> Path:
    path = unquote(urlsplit(target).path)
    return (page.parent / path).resolve() if path else page


def _fault_of(page: Path, target: str, pages: dict[Path, _Page]) -> str | None:
    if target.startswith("data:"):
        return None
    place, anchor = _file_of(page, target), unquote(urlsplit(target).fragment)
    if not place.is_file():
        return f"{target}, which does not exist"
    if anchor and place in pages and anchor not in pages[place].anchors:
        return f"{target}, but there is no such anchor"
    return None


def _reached(start: Path, pages: dict[Path, _Page]) -> set[Path]:
    queue, seen = [start], {start}
    while queue:
        page = queue.pop()
        for target in pages[page].links:
            if not urlsplit(target).scheme:
                place = _file_of(page, target)
                if place in pages and place not in seen:
                    seen.add(place)
                    queue.append(place)
    return seen


def main(folder: str) -> int:
    """Print every fault; the exit code is 1 if there is one."""
    site = Path(folder).resolve()
    found = list(faults(site))
    for fault in found:
        print(fault)
    print(f"{len(list(site.rglob('*.html')))} pages, {len(found)} faults")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

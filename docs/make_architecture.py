"""Draws the pictures of docs/architecture.md from the imports of the package, and lists its rooms.

Run from the repository's root: ``python docs/make_architecture.py``. The floors, the halves and the
way in which imports are read are those of ``tests/test_architecture.py``, so the pictures show what
that test enforces. They name rooms only; they change when a room is added, or starts to use another
one. The table of rooms has the first sentence of each room's docstring.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "architecture.md"
FOLDER = DOCS / "architecture"
sys.path.insert(0, str(DOCS.parent / "tests"))

import test_architecture as laws  # noqa: E402 - the tests are no package

_FONT = "font-family='Helvetica, Arial, sans-serif'"
_INK, _PALE, _LINE = "#1f2933", "#5f6b7a", "#d5dbe3"
# The fill and the edge of a room by its half. The hues stay apart for colour-blind readers.
COLOURS = {
    "making": ("#fdebd3", "#c9781c"),
    "reading": ("#dcebfa", "#2b6cb0"),
    "common": ("#eef0f3", "#8a94a3"),
    "both": ("#e9e3f5", "#6b4fa3"),
}
MEANINGS = {
    "making": "makes scores",
    "reading": "reads scores",
    "common": "common ground of both",
    "both": "stands above both halves",
}
_LOWEST_ABOVE_BOTH = 12  # the floor of `scale`, the first room that may know both halves


def floor_of() -> dict[str, int]:
    """The floor of each room, from 0 at the bottom."""
    return {room: level for level, rooms in enumerate(laws.FLOORS) for room in sorted(rooms)}


def half_of(room: str) -> str:
    """The half of a room: a key of `COLOURS`."""
    if room in laws.READING:
        return "reading"
    if room in laws.MAKING:
        return "making"
    return "both" if floor_of()[room] >= _LOWEST_ABOVE_BOTH else "common"


def needs() -> dict[str, set[str]]:
    """For each room the other rooms that it imports when it runs."""
    found: dict[str, set[str]] = {room: set() for room in floor_of()}
    imports = laws.own_imports(laws.PACKAGE, laws.running_nodes_of)
    for module, targets in imports.items():
        rooms = set(map(laws.room_of, targets))
        found[laws.room_of(module)] |= rooms - {laws.room_of(module)}
    return found


def nearest_needs() -> dict[str, set[str]]:
    """The needs without those that follow from others: what A needs by way of B is left out."""
    direct = needs()

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(direct[start])
        while waiting:
            room = waiting.pop()
            if room not in seen:
                seen.add(room)
                waiting += direct[room]
        return seen

    below = {room: reached(room) for room in direct}
    return {
        room: {one for one in rooms if not any(one in below[other] for other in rooms)}
        for room, rooms in direct.items()
    }


def shown(room: str) -> str:
    """The name of a room in a picture."""
    return "rageval_report (the face)" if room == "__init__" else room


def text(x: float, y: float, words: str, size: float = 12, **attributes: str) -> str:
    """A line of text."""
    rest = " ".join(f"{key.replace('_', '-')}='{value}'" for key, value in attributes.items())
    fill = "" if "fill" in attributes else f" fill='{_INK}'"
    return f"<text x='{x:g}' y='{y:g}' font-size='{size:g}'{fill} {rest}>{escape(words)}</text>"


def page(width: float, height: float, parts: list[str], title: str, description: str) -> str:
    """A picture with a title and a description for those who cannot see it."""
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' "
        f"width='{width:g}' height='{height:g}' role='img' {_FONT}>"
    )
    words = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    ground = f"<rect width='{width:g}' height='{height:g}' rx='6' fill='#ffffff'/>"
    return "\n".join([head, words, ground, *parts, "</svg>", ""])


# -- the house

_WIDTH, _TOP, _STEP, _BOX, _LEFT = 1100, 62, 50, 28, 185
_SUBJECTS = {  # the lowest floor of a group, and what the rooms of the group are for
    0: "what everything uses",
    3: "files, network, tables",
    6: "records",
    7: "arrays, pictures, texts",
    8: "scores come in or are made",
    10: "findings, judges, large tables",
    12: "the object that a user holds",
    13: "verbs over whole evaluations",
    15: "what is imported and typed",
}


def places() -> dict[str, tuple[float, float, float]]:
    """The left edge, the top and the width of the box of each room."""
    found = {}
    columns = {
        "making": (0, 0.45),
        "common": (0.45, 0.73),
        "both": (0.2, 0.8),
        "reading": (0.73, 1),
    }
    inner = _WIDTH - _LEFT - 24
    for level, rooms in enumerate(laws.FLOORS):
        top = _TOP + (len(laws.FLOORS) - 1 - level) * _STEP
        for half, (start, end) in columns.items():
            members = sorted(room for room in rooms if half_of(room) == half)
            share = (end - start) * inner / max(len(members), 1)
            width = min(share - 6, 9 * max([len(shown(room)) for room in members], default=0) + 26)
            margin = (share - width) / 2
            if half == "making" and len(members) == 1 and level % 2:
                margin += 75  # so that lines to lower floors pass beside the box
            for number, room in enumerate(members):
                found[room] = (_LEFT + start * inner + number * share + margin, top, width)
    return found


def house() -> str:
    """The rooms on their floors, and an arrow from each room to the nearest ones that it needs."""
    at = places()
    height = _TOP + len(laws.FLOORS) * _STEP
    parts = [*_legend(), *_floors()]
    for room, rooms in nearest_needs().items():
        for other in sorted(rooms):
            parts.append(_arrow(at[room], at[other], COLOURS[half_of(room)][1]))
    for room, (x, y, width) in at.items():
        fill, edge = COLOURS[half_of(room)]
        parts.append(
            f"<rect x='{x:.1f}' y='{y:g}' width='{width:.1f}' height='{_BOX}' rx='5' "
            f"fill='{fill}' stroke='{edge}'/>"
        )
        middle = x + width / 2
        parts.append(text(round(middle, 1), y + 18.5, shown(room), 12.5, text_anchor="middle"))
    return page(
        _WIDTH,
        height,
        parts,
        "The rooms of rageval_report on their floors",
        "Each room imports from rooms below it only. The page lists the same in words.",
    )


def _legend() -> Iterator[str]:
    yield text(20, 30, "Imports go down", 17, font_weight="bold")
    x = 200.0
    for half, meaning in MEANINGS.items():
        fill, edge = COLOURS[half]
        box = f"<rect x='{x:g}' y='17' width='16' height='16' rx='3'"
        yield f"{box} fill='{fill}' stroke='{edge}'/>"
        yield text(x + 23, 30, meaning, 13)
        x += 48 + 7.1 * len(meaning)


def _floors() -> Iterator[str]:
    top_floor = len(laws.FLOORS) - 1
    for level in range(len(laws.FLOORS)):
        y = _TOP + (top_floor - level) * _STEP
        if level in _SUBJECTS:
            line = y + _BOX + 11
            yield f"<path d='M20 {line:g}H{_WIDTH - 20}' stroke='{_LINE}' stroke-dasharray='2 4'/>"
            yield text(20, y + 19, _SUBJECTS[level], 11, fill=_PALE)


def _arrow(start: tuple[float, float, float], end: tuple[float, float, float], colour: str) -> str:
    x0, y0 = start[0] + start[2] / 2, start[1] + _BOX
    x1, y1 = end[0] + end[2] / 2, end[1]
    bend = max((y1 - y0) * 0.45, 12)
    return (
        f"<path d='M{x0:.1f} {y0:g}C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} "
        f"{y1:g}' fill='none' stroke='{colour}' stroke-opacity='0.55' stroke-width='1.3'/>"
        f"<circle cx='{x1:.1f}' cy='{y1:g}' r='2.6' fill='{colour}'/>"
    )


def pictures() -> dict[str, str]:
    """The content of each picture by its file name."""
    return {"house.svg": house()}


# -- the list of rooms

_LIST = re.compile(r"(<!-- rooms -->\n).*?(<!-- end of rooms -->)", re.DOTALL)


def rooms_table() -> str:
    """Every room with its floor, its half and the first sentence of its docstring."""
    modules = laws.modules_of(laws.PACKAGE)
    lines = ["| floor | room | half | what it is |", "| ---: | --- | --- | --- |"]
    for level, rooms in reversed(list(enumerate(laws.FLOORS))):
        for room in sorted(rooms):
            path = modules.get(room) or modules[f"{room}.__init__"]
            docstring = ast.get_docstring(laws.tree_of(path)) or ""
            sentence = " ".join(docstring.split("\n\n")[0].split()).replace("``", "`")
            name = "rageval_report" if room == "__init__" else room
            lines.append(f"| {level} | `{name}` | {half_of(room)} | {sentence} |")
    return "\n".join(lines) + "\n"


def with_rooms(page: str) -> str:
    """The page with the list of rooms of today."""
    return _LIST.sub(lambda found: found[1] + rooms_table() + found[2], page)


def main() -> None:
    """Write docs/architecture/<picture>.svg, and the table of docs/architecture.md."""
    PAGE.write_text(with_rooms(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    FOLDER.mkdir(exist_ok=True)
    for name, content in pictures().items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()

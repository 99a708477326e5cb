"""The pictures and the tables of docs/architecture.md are those of the package of today."""

import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
AGAIN = "run `python docs/make_architecture.py` and commit what it writes"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(DOCS / "make_architecture.py"))


def test_the_pictures_are_drawn_from_the_imports_of_today(script):
    for name, content in script["pictures"]().items():
        kept = (DOCS / "architecture" / name).read_text(encoding="utf-8")
        assert kept == content, f"docs/architecture/{name} is out of date: {AGAIN}"
        assert f"(architecture/{name})" in PAGE


def test_the_table_of_rooms_is_that_of_the_docstrings(script):
    assert script["with_rooms"](PAGE) == PAGE, f"docs/architecture.md is out of date: {AGAIN}"
    rooms = set().union(*script["laws"].FLOORS)
    assert len(re.findall(r"^\| \d+ \| `", PAGE, re.MULTILINE)) == len(rooms)


def test_every_line_of_the_house_goes_down(script):
    """Read from the picture itself: a line begins at the foot of one box and ends on another."""
    picture = ET.fromstring(script["pictures"]()["house.svg"])
    lines = [
        path.get("d")
        for path in picture.iter("{http://www.w3.org/2000/svg}path")
        if path.get("stroke-opacity")
    ]
    assert len(lines) >= len(script["floor_of"]()) - 2  # all but the lowest rooms need something
    for line in lines:
        start, end = re.fullmatch(r"M\S+ (\S+)C.* (\S+)", line).groups()
        assert float(start) < float(end)


def test_boxes_of_the_house_do_not_overlap(script):
    boxes = list(script["places"]().values())
    for number, (x, y, width) in enumerate(boxes):
        assert x >= 0
        assert x + width <= 1100
        for other_x, other_y, other_width in boxes[:number]:
            assert y != other_y or x >= other_x + other_width or other_x >= x + width


def test_what_a_room_needs_by_way_of_others_is_all_that_it_imports(script):
    """The lines that are left out follow from those that are drawn."""
    nearest = script["nearest_needs"]()

    def reached(room):
        below = set(nearest[room])
        return below.union(*map(reached, below))

    for room, rooms in script["needs"]().items():
        assert rooms <= reached(room)


def test_tests_and_files_that_the_page_names_exist():
    laws = (DOCS.parent / "tests" / "test_architecture.py").read_text(encoding="utf-8")
    for name in re.findall(r"`(test_\w+)`", PAGE):
        assert f"def {name}(" in laws
    for name in re.findall(r"`((?:tests|benchmarks|docs)/[\w/.]+)`", PAGE):
        assert (DOCS.parent / name).exists(), name
    package = DOCS.parent / "rageval_report"
    for name in re.findall(
        r"^\| .* \| `(\w+/[\w/]*)`", PAGE.partition("## Where")[2], re.MULTILINE
    ):
        assert (package / name).exists(), name

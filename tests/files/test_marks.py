"""Marks: a file of ours is known again, unless a byte of it changed; formats stay valid."""

from __future__ import annotations

import hashlib
import io
import json
import xml.etree.ElementTree as ElementTree

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from rageval_report._version import __version__
from rageval_report.files.marks import can_be_marked, is_marked, is_own_file, marked, unmarked


def picture(suffix: str) -> bytes:
    figure = Figure()
    figure.add_subplot().plot([1, 2])
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "x"}):
        figure.savefig(buffer, format=suffix.removeprefix("."))
    return buffer.getvalue()


CONTENTS = {
    "html": b"<!doctype html>\n<html lang=en><title>a</title></html>\n",
    "json": b'[{\n  "title": "a"\n},\n{"title": "b"}]\n',
    "junit": b"<?xml version='1.0' encoding='utf-8'?>\n<testsuites><testsuite /></testsuites>\n",
    "latex": b"\\begin{table}\n\\end{table}\n",
    "markdown": b"# Means\n",
    "text": b"Means\n",
    **{suffix: picture(suffix) for suffix in (".pdf", ".png", ".svg")},
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_file_is_known_again(kind):
    content = marked(CONTENTS[kind], kind)
    assert can_be_marked(kind)
    assert is_marked(content)
    assert not is_marked(CONTENTS[kind])
    assert unmarked(content) == CONTENTS[kind]


@pytest.mark.parametrize("kind", CONTENTS)
def test_the_mark_names_the_program_its_version_and_the_rest_of_the_file(kind):
    digits = hashlib.sha256(CONTENTS[kind]).hexdigest()[:16]
    assert f"rageval-report {__version__} {digits}".encode() in marked(CONTENTS[kind], kind)


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_changed_byte_makes_it_the_file_of_somebody_else(kind):
    content = marked(CONTENTS[kind], kind)
    start = content.index(b"rageval-report ")
    end = start + len(f"rageval-report {__version__} ") + 16
    step = max(1, len(content) // 300)
    outside = [*range(0, start - 20, step), *range(end + 12, len(content), step)]
    checksum = range(end - 16, end)
    for place in (*outside, *checksum):
        changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        assert not is_marked(changed), place
    assert not is_marked(content + b"a note of mine\n")


@pytest.mark.parametrize("kind", CONTENTS)
def test_marking_again_marks_the_whole(kind):
    twice = marked(marked(CONTENTS[kind], kind), kind)
    assert is_marked(twice)
    assert unmarked(twice) == marked(CONTENTS[kind], kind)


@pytest.mark.parametrize("kind", ["csv", "tsv", ".xlsx", "", "of a plug-in"])
def test_other_formats_are_left_as_they_are(kind):
    assert not can_be_marked(kind)
    assert marked(b"a,b\n", kind) == b"a,b\n"


def test_marked_json_is_json():
    document = json.loads(marked(CONTENTS["json"], "json"))
    assert [sorted(part) for part in document] == [["generator", "title"], ["title"]]
    for text in (b"[]", b"{}", b"[1]", b"[{}]", b"3", b""):
        assert marked(text, "json") == text  # there is no place for a name


def test_marked_xml_is_xml():
    for kind in ("junit", ".svg"):
        before, after = CONTENTS[kind], marked(CONTENTS[kind], kind)
        assert after != before
        assert ElementTree.canonicalize(after) == ElementTree.canonicalize(before)


def test_a_marked_png_is_a_png():
    from PIL import Image

    with Image.open(io.BytesIO(marked(CONTENTS[".png"], ".png"))) as image:
        image.load()
        assert image.text["Software"].startswith("rageval-report ")
    assert marked(b"no picture", ".png") == b"no picture"


def test_a_text_that_quotes_marked_files_is_not_ours():
    quoted = marked(CONTENTS["markdown"], "markdown")
    assert not is_marked(b"# My notes\n" + quoted + quoted + b"what I think of it\n")


def test_a_file_of_ours_may_quote_others():
    quoted = marked(CONTENTS["markdown"], "markdown")
    assert is_marked(marked(b"# Means\n" + quoted * 3 + b"\n", "markdown"))


@given(st.binary(max_size=300))
def test_no_bytes_are_taken_for_our_own(content):
    assert not is_marked(content)
    assert unmarked(marked(content, "text")) == content


def test_what_is_no_readable_file_is_not_ours(tmp_path):
    path = tmp_path / "a.md"
    assert not is_own_file(path)
    assert not is_own_file(tmp_path)
    path.write_bytes(marked(b"# Means\n", "markdown"))
    assert is_own_file(path)
    path.write_bytes(b"")
    assert not is_own_file(path)

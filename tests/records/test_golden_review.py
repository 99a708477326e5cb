"""What reviewers decide is read back and done, from the sheet and from the page."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO

import pytest

from rageval_report.errors import DataError, ReaderError
from rageval_report.golden import GoldenItem, apply_review, read_review, review_page, review_sheet
from rageval_report.records.cells import Span

ITEMS = [
    GoldenItem("a", "=Who wrote it?", ("Ann",), ("-Bob",), answerable=True),
    GoldenItem("b", "'Why, </script><b>bold</b> & so?", ("Because", "So; so, so")),
    GoldenItem("c", "Is it there?", answerable=False),
    GoldenItem("d", "When was it?", ("In 1998",)),
]


def filled(changes):
    """The sheet with these cells changed."""
    rows = list(csv.DictReader(StringIO(review_sheet(ITEMS))))
    for row in rows:
        row.update(changes.get(row["query_id"], {}))
    return rows


def sheet_rows(items, documents=None):
    """The rows of a sheet."""
    return list(csv.DictReader(StringIO(review_sheet(items, documents=documents))))


@pytest.fixture
def sheet(tmp_path):
    """A filled sheet, written with any delimiter."""

    def write(changes, delimiter=","):
        rows = filled(changes)
        path = tmp_path / "review.csv"
        with path.open("w", newline="", encoding="utf-8-sig") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
            writer.writeheader()
            writer.writerows(rows)
        return path

    return write


def test_the_sheet_comes_back_as_it_went(sheet):
    for item, said in zip(ITEMS, read_review(sheet({})), strict=True):
        assert (said.question, said.references) == (item.question, item.references)
        assert said.negative_references == item.negative_references
        assert said.decision is None


def test_no_cell_of_the_sheet_is_a_formula():
    for row in csv.reader(StringIO(review_sheet(ITEMS))):
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_accept_edit_and_reject_are_done(sheet, delimiter):
    changes = {
        "a": {"decision": " Accept "},
        "b": {"decision": "reject", "note": "nobody asks so"},
        "c": {"decision": "edit", "question": "Is it here?", "references": "Yes\nIndeed"},
    }
    done = apply_review(ITEMS, read_review(sheet(changes, delimiter)), reviewer="eve")
    assert [item.query_id for item in done.items] == ["a", "c", "d"]
    assert [item.query_id for item in done.rejected] == ["b"]
    assert done.items[1].references == ("Yes", "Indeed")
    assert done.items[1].answerable is True
    assert done.items[0].provenance["review"] == {"decision": "accept", "reviewer": "eve"}
    assert done.items[2] is ITEMS[3]
    assert done.decisions["decision"].tolist() == ["accept", "reject", "edit", "open"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"b": {"decision": "maybe"}}, "decision must be accept, edit or reject; got 'maybe'"),
        ({"b": {"query_id": "a"}}, "the item 'a' appears twice"),
        ({"b": {"query_id": ""}}, "query_id is missing"),
    ],
)
def test_a_sheet_filled_wrongly_is_refused_with_its_line(sheet, changes, told):
    with pytest.raises(ReaderError, match=told):
        read_review(sheet(changes))


def test_a_review_of_another_version_is_refused(sheet):
    said = read_review(sheet({"a": {"decision": "accept"}}))
    changed = [GoldenItem("a", "Who wrote that?", ("Ann",)), *ITEMS[1:]]
    with pytest.raises(DataError, match="items have changed since the review was made"):
        apply_review(changed, said)
    with pytest.raises(DataError, match="items that are not in the set: 'a'"):
        apply_review(ITEMS[1:], said)


# -- the page


def data_of(page):
    """What the page hands to its script."""
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(text)


def test_the_page_holds_every_item_and_nothing_of_it_is_markup():
    page = review_page(ITEMS, title="<set>")
    assert [row["question"] for row in data_of(page)["items"]] == [one.question for one in ITEMS]
    assert "<b>bold</b>" not in page
    assert "<set>" not in page
    assert page.count("</script>") == 2


def test_what_the_page_saves_is_read_back(tmp_path):
    saved = data_of(review_page(ITEMS))
    saved["items"][1]["decision"] = "reject"
    path = tmp_path / "review.json"
    path.write_text(json.dumps(saved))
    done = apply_review(ITEMS, read_review(path))
    assert [item.query_id for item in done.rejected] == ["b"]


@pytest.mark.browser
def test_a_browser_keeps_decisions_and_saves_them(tmp_path, opened):
    """The page in a real browser: keys, a change in a field, the saved file."""
    (tmp_path / "page.html").write_text(review_page(ITEMS), encoding="utf-8")
    page = opened(tmp_path / "page.html")
    page.keyboard.press("a")
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.locator("article").nth(3).locator("textarea[name=references]").fill("In 1999")
    with page.expect_download() as download:
        page.click("#save")
    download.value.save_as(tmp_path / "review.json")
    assert page.inner_text("#progress") == "3 of 4 decided"
    done = apply_review(ITEMS, read_review(tmp_path / "review.json"))
    assert done.decisions["decision"].tolist() == ["accept", "reject", "open", "edit"]
    assert done.items[-1].references == ("In 1999",)


# -- what a reviewer must have read


def test_passages_are_shown_where_the_documents_are_given():
    text = "x" * 400 + "The Seine is 777 km long." + "y" * 400
    documents = {"a.md": text, "d1": "By id."}
    items = [
        GoldenItem("a", "How long?", relevant_spans=(Span("a.md", 413, 419),)),
        GoldenItem("b", "Who?", answerable=False, provenance={"passages": [["a.md", 400, 425]]}),
        GoldenItem("c", "What?", relevant={"d1": 1.0, "gone": 1.0}),
    ]
    shown = [row["gold"] for row in sheet_rows(items, documents)]
    assert "a.md:\n" + text[113:719] in shown[0]
    assert shown[1] == "a.md:\nThe Seine is 777 km long."
    assert shown[2].endswith("d1:\nBy id.")
    assert "By id." in review_page(items, documents=documents)

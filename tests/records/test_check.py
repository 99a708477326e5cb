"""Each check finds what is planted, and nothing in a set that is sound."""

from __future__ import annotations

import pytest

from rageval_report.errors import UnknownNameError
from rageval_report.golden import CHECKS, Documents, GoldenItem, Limits, check_golden
from rageval_report.records.cells import Span
from rageval_report.records.golden import golden_item


def found(items, *checks, **options):
    frame = check_golden(items, checks=checks or None, **options)
    return frame[["check", "severity", "query_id"]].to_numpy().tolist()


def sound(n):
    """A set with nothing wrong in it."""
    return [
        GoldenItem(
            f"q{i}",
            f"Which animal lives on island {i * 7919}?",
            (f"species {i}",),
            relevant_texts=(f"On it lives the species {i}.",),
            answerable=True,
            metadata={"query_type": ("factoid", "summary")[i % 2]},
        )
        for i in range(n)
    ]


def test_a_sound_set_has_no_findings():
    assert found(sound(20), *[name for name in CHECKS if name != "balance"], limits=None) == []
    mixed = [*sound(20), *(GoldenItem(f"u{i}", f"Why is {i**5} odd?", answerable=False)
                           for i in range(10))]  # fmt: skip
    frame = check_golden(mixed, checks=["balance"], limits=Limits(by=("answerable",)))
    assert frame.empty


def test_equal_questions_are_an_error_and_near_ones_a_warning():
    texts = (
        "When did the great war end?",
        "when did the GREAT war end",
        "When did the great wars end?",
    )
    items = [GoldenItem(f"q{n}", text) for n, text in enumerate(texts)]
    assert found(items, "duplicates", "near_duplicates") == [
        ["duplicates", "error", "q1"],
        ["near_duplicates", "warning", "q2"],
    ]


@pytest.mark.parametrize(
    ("span", "told"),
    [
        (Span("b.md", 0, 3), "there is no document 'b.md'"),
        (Span("a.md", 10, 999), "ends beyond the file, which has 18 characters"),
        (Span("a.md", 3, 5), "is blank"),
        (Span("a.md", 0, 3), "reads 'One', not 'Two'"),
    ],
)
def test_a_span_that_does_not_match_its_file_is_an_error(span, told):
    item = GoldenItem("a", "Why?", relevant_spans=(span,), relevant_texts=("Two",))
    texts = {"a.md": "One\n\nTwo and three"}
    [finding] = check_golden([item], documents=texts, checks=["spans"]).to_dict("records")
    assert told in finding["told"]


def test_an_id_that_names_a_file_which_is_not_there_is_an_error():
    items = [
        GoldenItem("a", "Who?", relevant={"monet.md": 1.0, "seine.md": 1.0, "old.md": 0.0}),
        GoldenItem("b", "When?", relevant={"monet.md": 1.0, "manet.md": 2.0}),
    ]
    frame = check_golden(items, documents={"seine.md": "Of it."}, checks=["spans"])
    assert frame[["severity", "query_id", "told"]].to_numpy().tolist() == [
        ["error", "a", "there is no document 'monet.md'"],
        ["error", "b", "there is no document 'monet.md'"],
        ["error", "b", "there is no document 'manet.md'"],
        ["warning", "", "2 of the 3 documents that ids name do not exist"],
    ]


def test_a_key_that_no_item_has_is_answered_with_those_that_there_are():
    with pytest.raises(UnknownNameError, match=r"Did you mean 'query_type'\?"):
        check_golden(sound(2), limits=Limits(by=("querytype",)))


def test_a_name_that_leads_out_of_the_folder_is_no_document(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "docs").mkdir()
    documents = Documents(tmp_path / "docs")
    for name in ("../secret.txt", str(tmp_path / "secret.txt"), "a\x00b", ""):
        assert name not in documents


def test_an_answer_that_is_not_in_its_gold_is_found():
    right = GoldenItem("a", "Who?", ("Ann Lee",), relevant_texts=("By Ann Lee.",))
    wrong = GoldenItem("b", "Who?", ("Bob Ray",), relevant_texts=("By Ann Lee.",))
    yes = GoldenItem("c", "Did she?", ("Yes",), relevant_texts=("By Ann Lee.",))
    assert found([right, wrong, yes], "answers_in_contexts") == [
        ["answers_in_contexts", "warning", "b"]
    ]


def test_a_question_that_holds_its_answer_is_found_but_not_in_a_comparison():
    leak = GoldenItem("a", "Is the Seine a river in France called Seine?", ("the Seine",))
    fine = GoldenItem("b", "Which river runs through Paris?", ("the Seine",))
    choice = GoldenItem(
        "c",
        "Is the Seine or the Oder longer?",
        ("the Seine",),
        metadata={"query_type": "comparison"},
    )
    assert found([leak, fine, choice], "leakage") == [["leakage", "warning", "a"]]


@pytest.mark.parametrize(
    ("row", "severity", "told"),
    [
        ({"answerable": True}, "error", "it has an answer, but no reference"),
        ({"answerable": False, "references": ["A"]}, "error", "it has no answer, but references"),
        ({"references": ["A"]}, "warning", "it has no gold"),
        ({"references": ["A b"], "negative_references": ["a B."]}, "error", "is a reference and a"),
        ({"refrences": ["A"]}, "warning", "did you mean 'references'?"),
    ],
)
def test_items_that_contradict_themselves_are_found(row, severity, told):
    frame = check_golden([golden_item({"question": "Why?", **row})], checks=["fields"])
    hits = frame[frame["told"].str.contains(told, regex=False)]
    assert hits["severity"].tolist() == [severity]


def test_types_with_few_queries_and_one_that_drowns_the_others_are_found():
    items = [
        GoldenItem(f"q{i}", f"Why {i}?", metadata={"domain": "a" if i else "b"}) for i in range(30)
    ]
    told = check_golden(items, checks=["balance"])["told"].tolist()
    assert told == [
        "29 of 30 queries have domain a; they decide every mean",
        "only 1 of 30 queries have domain b",
    ]

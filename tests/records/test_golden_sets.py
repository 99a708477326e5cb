"""Golden sets: read from many formats, checked, sampled, split, reviewed, and written back."""

import json
import random
import re
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import read_records
from rageval_report.datasets import load_dataset
from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.golden import (
    CHECKS,
    Documents,
    GoldenItem,
    apply_review,
    check_golden,
    golden_records,
    read_golden,
    read_review,
    review_page,
    sample_golden,
    write_golden,
)
from rageval_report.records.cells import Span
from rageval_report.records.golden import ITEM_FIELDS, golden_item, records_text
from rageval_report.records.golden_checks import near_pairs

FULL = GoldenItem(
    *("a", "Who wrote it?", ("Ann", "Ann Lee"), ("Bob",), {"d1": 2.0}, ("Ann wrote it.",)),
    *((Span("a.md", 3, 16),), True),
    {"query_type": "factoid", "tags": ["x"]},
    {"source": "by hand"},
)

# -- files and formats

_texts = st.text(min_size=1, max_size=20).filter(lambda one: bool(one.strip()))
_items = st.builds(
    GoldenItem,
    *(_texts, _texts, st.lists(_texts, max_size=3, unique=True).map(tuple)),
    relevant=st.dictionaries(_texts, st.integers(0, 3).map(float), max_size=3),
    answerable=st.booleans(),
)


@settings(max_examples=30)
@given(st.lists(_items, min_size=1, max_size=4, unique_by=lambda one: one.query_id))
def test_any_texts_survive_writing_and_reading(tmp_path_factory, items):
    path = write_golden(tmp_path_factory.mktemp("golden") / "gold.jsonl", items)
    assert read_golden(path) == items


SECTION = {"relevant": {"c1": 2.0}, "relevant_sections": (("guide", "c1", 2.0),)}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # ragbench: a list of question, answer, document, query_type
        (
            {"answer": "A.", "document": "d.pdf", "query_type": "factual"},
            {"references": ("A.",), "answerable": True},
        ),
        # the same, of a type whose questions have no answer, which its own loader forgets
        ({"query_type": "unanswerable"}, {"answerable": False}),
        (
            {"gold_passages": [{"doc_id": "d", "chunk_id": "c", "text": "T"}, "U"]},
            {"relevant": {"c": 1.0}, "relevant_texts": ("T", "U")},
        ),
        # WFGY: qid, gold_claim_substr, gold_citations
        (
            {"qid": "7", "gold_claim_substr": ["A"], "gold_citations": ["p#1"]},
            {"query_id": "7", "references": ("A",), "relevant": {"p#1": 1.0}},
        ),
        # ADR-013's ground truth
        (
            {"query_id": "P-1", "ground_truth_answer": "A.", "expected_document_ids": ["M-1"]},
            {"references": ("A.",), "relevant": {"M-1": 1.0}},
        ),
        (
            {"gold_passages": [{"doc_id": "guide", "chunk_id": "c1", "relevance_score": 2}]},
            SECTION,
        ),
        ({"relevant": [{"document_id": "guide", "node_id": "c1", "relevance": 2}]}, SECTION),
        ({"relevant": {"c1": 2}, "relevant_sections": [["guide", "c1"]]}, SECTION),
        ({"relevant_sections": [["guide", "c1", 2]]}, SECTION),
    ],
)
def test_other_golden_sets_are_read_and_gold_keeps_its_ids(row, expected):
    item = golden_item({"question": "Q?", **row})
    assert {name: getattr(item, name) for name in expected} == expected
    assert golden_item(json.loads(json.dumps(item.as_dict()))) == item
    if expected is SECTION:
        record = golden_records([item]).iloc[0]
        assert record["relevant_sections"] == [("guide", "c1", 2.0)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"references": ["A"]}', "line 2: every item needs a question"),
        ('{"question": "Q?", "answerable": "no"}', "line 2: answerable: expected true or false"),
        ('{"question": "Q?", "references": [1]}', "line 2: references: expected a text"),
        ('{"question": "Q?", "metadata": [1]}', "line 2: metadata: expected an object"),
        ('{"query_id": "a", "question": "Q?"}', "the id 'a' appears in lines 1 and 2"),
        ('{"question": ', "line 2: the record is cut"),
    ],
)
def test_a_fault_is_named_by_its_line(tmp_path, line, told):
    path = tmp_path / "gold.jsonl"
    path.write_text('{"query_id": "a", "question": "First?"}\n' + line + "\n")
    with pytest.raises(ReaderError, match=told):
        read_golden(path)


def test_an_id_hangs_on_the_question_where_none_is_given():
    ids = {golden_item({"question": text}).query_id for text in ("Q?", " Q? ", "R?")}
    assert len(ids) == 2


_atom = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_list = st.lists(_atom | st.lists(_atom, max_size=3), max_size=3)
_json = _atom | _list | st.dictionaries(st.text(max_size=5), _atom | _list, max_size=3)
_names = st.sampled_from([name for name in ITEM_FIELDS if name != "question"])


@settings(max_examples=80)
@given(st.dictionaries(_names, _json, max_size=5), st.text(max_size=6))
def test_whatever_an_item_holds_it_is_read_or_refused_by_our_own_error(row, question):
    """And what is read passes the checks, makes records, and is written as it was read."""
    try:
        item = golden_item({"question": question, **row})
    except DataError:
        return
    check_golden([item], documents={"d": "text"})
    golden_records([item])
    assert repr(golden_item(json.loads(json.dumps(item.as_dict())))) == repr(item)


def test_a_golden_set_is_a_data_set_and_its_records_are_written_as_lines(tmp_path):
    items = [FULL, GoldenItem("b", "Why?", answerable=False)]
    records = load_dataset("golden", write_golden(tmp_path / "golden.jsonl", items))
    assert records.loc["a", "reference"] == ["Ann", "Ann Lee"]
    assert records.loc["a", "negative_reference"] == ["Bob"]
    assert records["answerable"].tolist() == [True, False]
    assert records.loc["a", "query_type"] == "factoid"
    (tmp_path / "asked.jsonl").write_text(records_text(records), encoding="utf-8")
    assert read_records(tmp_path / "asked.jsonl").to_dict() == records.to_dict()
    by = {gold: golden_records([FULL], gold=gold).iloc[0] for gold in ("auto", "spans", "texts")}
    assert by["auto"]["relevant"] == {"d1": 2.0}
    assert by["spans"]["relevant"] == {"a.md:3-16": 1.0}
    assert by["texts"]["relevant"] == {"Ann wrote it.": 1.0}


# -- checks: each finds what is planted, and nothing in a set that is sound


def found(items, *checks, **options):
    frame = check_golden(items, checks=checks or None, **options)
    return frame[["check", "severity", "query_id"]].to_numpy().tolist()


def sound(n):
    """A set with nothing wrong in it."""
    return [
        GoldenItem(
            *(f"q{i}", f"Which animal lives on island {i * 7919}?", (f"species {i}",)),
            relevant_texts=(f"On it lives the species {i}.",),
            answerable=True,
            metadata={"query_type": ("factoid", "summary")[i % 2]},
        )
        for i in range(n)
    ]


def test_a_sound_set_has_no_findings():
    assert found(sound(20), *[name for name in CHECKS if name != "balance"], near=0.8) == []
    lacking = [GoldenItem(f"u{i}", f"Why is {i**5} odd?", answerable=False) for i in range(10)]
    assert found([*sound(20), *lacking], "balance", by=("answerable",)) == []
    with pytest.raises(UnknownNameError, match=r"Did you mean 'query_type'\?"):
        check_golden(sound(2), by=("querytype",))


def asked(query_id, question, *references, **fields):
    return GoldenItem(query_id, question, references, **fields)


BY_ANN = {"relevant_texts": ("By Ann Lee.",)}
CHOICE = {"metadata": {"query_type": "comparison"}}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (
            [
                asked("q0", "When did the great war end?"),
                asked("q1", "when did the GREAT war end"),
                asked("q2", "When did the great wars end?"),
            ],
            [["duplicates", "error", "q1"], ["near_duplicates", "warning", "q2"]],
        ),
        (
            [
                asked("a", "Who?", "Ann Lee", **BY_ANN),
                asked("b", "Who?", "Bob Ray", **BY_ANN),
                asked("c", "Did she?", "Yes", **BY_ANN),
            ],
            [["answers_in_contexts", "warning", "b"]],
        ),
        (
            [
                asked("a", "Is the Seine a river in France called Seine?", "the Seine"),
                asked("b", "Which river runs through Paris?", "the Seine"),
                asked("c", "Is the Seine or the Oder longer?", "the Seine", **CHOICE),
            ],
            [["leakage", "warning", "a"]],
        ),
    ],
)
def test_what_is_planted_is_found(items, expected):
    assert found(items, *(check for check, *_ in expected)) == expected


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


def test_a_name_that_leads_out_of_the_folder_is_no_document(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "docs").mkdir()
    documents = Documents(tmp_path / "docs")
    for name in ("../secret.txt", str(tmp_path / "secret.txt"), "a\x00b", ""):
        assert name not in documents


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
    items = [asked(f"q{i}", "Why?", metadata={"domain": "a" if i else "b"}) for i in range(30)]
    assert check_golden(items, checks=["balance"])["told"].tolist() == [
        "29 of 30 queries have domain a; they decide every mean",
        "only 1 of 30 queries have domain b",
    ]


# -- samples keep the strata, and splits keep apart what must not leak


def items_of(types, **fields):
    return [
        asked(f"q{n}", f"What is {n * 7919} to {n**3}?", metadata={"query_type": one}, **fields)
        for n, one in enumerate(types)
    ]


def counts(items):
    return Counter(item.metadata["query_type"] for item in items)


def test_a_sample_hangs_on_the_seed_and_not_on_the_order_of_the_file():
    items = items_of(["a"] * 70 + ["b"] * 20 + ["c"] * 2)
    assert counts(sample_golden(items, 20, how="equal")) == {"a": 9, "b": 9, "c": 2}
    shuffled = random.Random(0).sample(items, len(items))
    ids = {one.query_id for one in sample_golden(items, 10)}
    assert ids == {one.query_id for one in sample_golden(shuffled, 10)}
    assert ids != {one.query_id for one in sample_golden(items, 10, seed=1)}


def with_and_without_answer(n_lack, n_have):
    lacking = items_of(["unanswerable"] * n_lack, answerable=False)
    having = items_of(["a", "b"] * (n_have // 2), answerable=True)
    return lacking + [replace(one, query_id=f"h{one.query_id}") for one in having]


def test_a_sample_has_the_share_without_an_answer_that_is_asked_for():
    items = with_and_without_answer(60, 40)
    drawn = sample_golden(items, 20, unanswerable_ratio=0.3)
    assert counts(drawn) == {"unanswerable": 6, "a": 7, "b": 7}
    assert drawn == sample_golden(items[::-1], 20, unanswerable_ratio=0.3)[::-1]
    items = with_and_without_answer(2, 20)
    with pytest.raises(DataError, match="5 without and 5 with an answer; there are 2 and 20"):
        sample_golden(items, 10, unanswerable_ratio=0.5)
    for ratio in (-0.1, 1.5, float("nan"), True):
        with pytest.raises(DataError, match="must be a number from 0 to 1"):
            sample_golden(items, 10, unanswerable_ratio=ratio)


_words = st.sampled_from(["who", "wrote", "the", "book", "books", "of", "rain", "1998", "1999"])
_questions = st.lists(st.lists(_words, max_size=6).map(" ".join), max_size=12)


def similarity(first, second):
    """The second witness: sets of runs of three characters, one pair at a time."""
    if {"1998", "1999"} & set(first.split()) != {"1998", "1999"} & set(second.split()):
        return 0.0
    one, two = (
        {text[i : i + 3] for i in range(max(1, len(text) - 2)) if text} for text in (first, second)
    )
    return len(one & two) / len(one | two) if one | two else 0.0


@given(_questions, st.sampled_from([0.3, 0.5, 0.7, 0.8, 0.9, 1.0]))
def test_no_pair_is_missed(texts, threshold):
    pairs = combinations(range(len(texts)), 2)
    values = [(one, two, similarity(texts[one], texts[two])) for one, two in pairs]
    assert near_pairs(texts, threshold) == [each for each in values if each[2] >= threshold]


# -- reviews: what people decide on the page is read back and done

ITEMS = [
    asked("a", "=Who wrote it?", "Ann", negative_references=("-Bob",), answerable=True),
    asked("b", "'Why, </script><b>bold</b> & so?", "Because", "So; so, so"),
    asked("c", "Is it there?", answerable=False),
    asked("d", "When was it?", "In 1998"),
]


def data_of(page):
    """What the page hands to its script."""
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(text)


@pytest.fixture
def saved(tmp_path):
    """What a page saves after some of its fields were changed."""

    def write(changes):
        data = data_of(review_page(ITEMS))
        data["items"] = [{**row, **changes.get(row["query_id"], {})} for row in data["items"]]
        path = tmp_path / "review.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return write


def test_what_is_not_decided_comes_back_as_it_went(saved):
    for item, said in zip(ITEMS, read_review(saved({})), strict=True):
        assert (said.question, said.references) == (item.question, item.references)
        assert said.negative_references == item.negative_references
        assert said.decision is None


def test_accept_edit_and_reject_are_done(saved):
    changes = {
        "a": {"decision": " Accept "},
        "b": {"decision": "reject", "note": "nobody asks so"},
        "c": {"decision": "edit", "question": "Is it here?", "references": "Yes\nIndeed"},
    }
    done = apply_review(ITEMS, read_review(saved(changes)), reviewer="eve")
    assert [item.query_id for item in done.items] == ["a", "c", "d"]
    assert [item.query_id for item in done.rejected] == ["b"]
    assert (done.items[1].references, done.items[1].answerable) == (("Yes", "Indeed"), True)
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
def test_a_file_filled_wrongly_is_refused(saved, changes, told):
    with pytest.raises(ReaderError, match=told):
        read_review(saved(changes))


def test_a_review_of_another_version_is_refused(saved):
    said = read_review(saved({"a": {"decision": "accept"}}))
    changed = [asked("a", "Who wrote that?", "Ann"), *ITEMS[1:]]
    with pytest.raises(DataError, match="items have changed since the review was made"):
        apply_review(changed, said)
    with pytest.raises(DataError, match="items that are not in the set: 'a'"):
        apply_review(ITEMS[1:], said)


def test_the_page_holds_every_item_as_text():
    page = review_page(ITEMS, title="<set>")
    assert [row["question"] for row in data_of(page)["items"]] == [one.question for one in ITEMS]
    assert "<b>bold</b>" not in page
    assert "<set>" not in page
    assert page.count("</script>") == 2


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


def test_passages_are_shown_where_the_documents_are_given():
    text = "x" * 400 + "The Seine is 777 km long." + "y" * 400
    documents = {"a.md": text, "d1": "By id."}
    items = [
        asked("a", "How long?", relevant_spans=(Span("a.md", 413, 419),)),
        asked("b", "Who?", answerable=False, provenance={"passages": [["a.md", 400, 425]]}),
        asked("c", "What?", relevant={"d1": 1.0, "gone": 1.0}),
    ]
    shown = [row["gold"] for row in data_of(review_page(items, documents=documents))["items"]]
    assert "a.md:\n" + text[113:719] in shown[0]
    assert shown[1] == "a.md:\nThe Seine is 777 km long."
    assert shown[2].endswith("d1:\nBy id.")

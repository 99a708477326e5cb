"""Golden items are read from their own format and from others, and written back unchanged."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import read_records
from rageval_report.datasets import load_dataset
from rageval_report.errors import DataError, ReaderError
from rageval_report.golden import (
    GoldenItem,
    check_golden,
    golden_records,
    read_golden,
    write_golden,
)
from rageval_report.records.cells import Span
from rageval_report.records.golden import ITEM_FIELDS, golden_item, golden_text, records_text

GIVEN = [name for name in ITEM_FIELDS if name not in ("query_id", "question", "references")]

FULL = GoldenItem(
    "a",
    "Who wrote it?",
    ("Ann", "Ann Lee"),
    ("Bob",),
    {"d1": 2.0},
    ("Ann wrote it.",),
    (Span("a.md", 3, 16),),
    True,
    {"query_type": "factoid", "tags": ["x"]},
    {"source": "by hand"},
)


_texts = st.text(min_size=1, max_size=20).filter(lambda one: bool(one.strip()))


@settings(max_examples=30)
@given(
    st.lists(
        st.builds(
            GoldenItem,
            _texts,
            _texts,
            st.lists(_texts, max_size=3, unique=True).map(tuple),
            relevant=st.dictionaries(_texts, st.integers(0, 3).map(float), max_size=3),
            answerable=st.booleans(),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda one: one.query_id,
    )
)
def test_any_texts_survive_writing_and_reading(tmp_path_factory, items):
    path = write_golden(tmp_path_factory.mktemp("golden") / "gold.jsonl", items)
    assert read_golden(path) == items


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # ragbench: a list of question, answer, document, query_type
        (
            {"question": "Q?", "answer": "A.", "document": "d.pdf", "query_type": "factual"},
            {"references": ("A.",), "answerable": True},
        ),
        # the same, of a type whose questions have no answer, which its own loader forgets
        ({"question": "Q?", "query_type": "unanswerable"}, {"answerable": False}),
        (
            {
                "question": "Q?",
                "gold_passages": [{"doc_id": "d", "chunk_id": "c", "text": "T"}, "U"],
            },
            {"relevant": {"c": 1.0}, "relevant_texts": ("T", "U")},
        ),
        # datapizza: query, answer, evidence of title and fact
        # WFGY: qid, gold_claim_substr, gold_citations
        (
            {"qid": "7", "question": "Q?", "gold_claim_substr": ["A"], "gold_citations": ["p#1"]},
            {"query_id": "7", "references": ("A",), "relevant": {"p#1": 1.0}},
        ),
        # ADR-013's ground truth
        (
            {
                "query_id": "P-1",
                "query_text": "Q?",
                "ground_truth_answer": "A.",
                "expected_document_ids": ["M-1"],
                "highly_relevant_count": 1,
            },
            {"references": ("A.",), "relevant": {"M-1": 1.0}},
        ),
    ],
)
def test_other_golden_sets_are_read(row, expected):
    found = golden_item(row)
    assert {name: getattr(found, name) for name in expected} == expected


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


# -- records


def test_a_golden_set_is_a_data_set(tmp_path):
    items = [FULL, GoldenItem("b", "Why?", answerable=False)]
    path = write_golden(tmp_path / "golden.jsonl", items)
    records = load_dataset("golden", path)
    assert records.loc["a", "reference"] == ["Ann", "Ann Lee"]
    assert records.loc["a", "negative_reference"] == ["Bob"]
    assert records["answerable"].tolist() == [True, False]
    assert records.loc["a", "query_type"] == "factoid"


def test_what_tells_relevance_can_be_chosen():
    by = {gold: golden_records([FULL], gold=gold).iloc[0] for gold in ("auto", "spans", "texts")}
    assert by["auto"]["relevant"] == {"d1": 2.0}
    assert by["spans"]["relevant"] == {"a.md:3-16": 1.0}
    assert by["texts"]["relevant"] == {"Ann wrote it.": 1.0}


def test_records_are_written_as_lines_that_are_read_back(tmp_path):
    records = golden_records([FULL, GoldenItem("b", "What?", answerable=False)])
    path = tmp_path / "asked.jsonl"
    path.write_text(records_text(records), encoding="utf-8")
    assert read_records(path).to_dict() == records.to_dict()


_atom = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_list = st.lists(_atom | st.lists(_atom, max_size=3), max_size=3)
_json = _atom | _list | st.dictionaries(st.text(max_size=5), _atom | _list, max_size=3)


@settings(max_examples=80)
@given(
    st.dictionaries(st.sampled_from(["query_id", "references", *GIVEN]), _json, max_size=5),
    st.text(max_size=6),
)
def test_whatever_an_item_holds_it_is_read_or_refused_by_our_own_error(row, question):
    """And what is read passes the checks, makes records, and is written as it was read."""
    try:
        item = golden_item({"question": question, **row})
    except DataError:
        return
    check_golden([item], documents={"d": "text"})
    golden_records([item])
    assert repr(golden_item(json.loads(json.dumps(item.as_dict())))) == repr(item)


@pytest.mark.parametrize(
    "row",
    [
        {"gold_passages": [{"doc_id": "guide", "chunk_id": "c1", "relevance_score": 2}]},
        {"relevant": [{"document_id": "guide", "node_id": "c1", "relevance": 2}]},
        {"relevant": {"c1": 2}, "relevant_sections": [["guide", "c1"]]},
        {"relevant_sections": [["guide", "c1", 2]]},
    ],
)
def test_gold_passages_keep_the_ids_of_document_and_chunk(row):
    item = golden_item({"query_id": "a", "question": "Who?", **row})
    assert item.relevant == {"c1": 2.0}
    assert item.relevant_sections == (("guide", "c1", 2.0),)
    assert golden_item(json.loads(golden_text([item]))) == item
    record = golden_records([item]).loc["a"]
    assert record["relevant_sections"] == [("guide", "c1", 2.0)]

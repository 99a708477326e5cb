"""Gold texts are found in the chunks that contain them, or share half of the shorter with them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import score
from rageval_report.records import record_table
from rageval_report.records.table import first_text_holders

GOLD = "The Seine is 777 km long"  # 24 characters


def holds(chunk, gold=GOLD, overlap=0.5):
    return first_text_holders([chunk], [gold], overlap) == [0]


@pytest.mark.parametrize(
    "chunk",
    [
        GOLD,
        "Rivers of France. The Seine is 777 km long. It flows into the Channel.",
        "the seine\n\tis   777 KM LONG",
        "The\u00a0Seine is \uff17\uff17\uff17\u202fkm long",  # no-break blanks, full-width digits
        "The Sei\u00adne is 777 km\u200b long",  # a soft hyphen, a blank without width
        "Seine is 777 km",  # inside the gold: 15 of 24 characters
        "e Seine is 777 k",  # cut within words
        "Of all rivers, the Seine is 777",  # ends with 16 of 24 characters of the gold
        "is 777 km long, and the Loire 1,006 km.",  # starts with 14 of 24
        "One more word, the Seine is",  # 12 of 24: exactly half
    ],
)
def test_a_chunk_contains_a_text_whatever_its_blanks_case_and_unicode_form(chunk):
    assert holds(chunk)


@pytest.mark.parametrize(
    ("chunk", "gold", "expected"),
    [
        ("in rome.", "Rome", True),
        ("a Romeo", "Rome", False),  # a short text must stand as words
        ("I like ro", "Rome", False),
        ("\u6771\u4eac\u90fd\u306f", "\u6771\u4eac", True),  # Japanese has no blanks
        ("Stra\u00dfe", "STRASSE", True),
        ("cafe\u0301", "caf\u00e9", True),  # decomposed and composed
        ("the \ufb01rst rule of it", "The first rule", True),  # a ligature
        ("length: 777 km, said Ann", "777 km.", True),  # punctuation at the ends
        ("...", "...", True),
        ("any", "", False),
    ],
)
def test_short_texts_and_other_scripts(chunk, gold, expected):
    assert holds(chunk, gold) is expected


@settings(max_examples=100)
@given(st.text("ab ", min_size=0, max_size=40), st.text("ab ", min_size=0, max_size=40))
def test_overlaps_are_those_of_comparing_every_end(chunk, gold):
    first, second = " ".join(chunk.split()), " ".join(gold.split())
    least = max(10, min(len(first), len(second)) / 2)
    ends = [n for n in range(1, min(len(first), len(second)) + 1)
            if first[-n:] == second[:n] or second[-n:] == first[:n]]  # fmt: skip
    whole = (
        bool(second) and second in first and (len(second) >= 10 or f" {second} " in f" {first} ")
    )
    inside = first in second and len(first) >= least
    assert holds(chunk, gold) == bool(
        whole or (second and (inside or max(ends, default=0) >= least))
    )


# -- in records


def record(**cells):
    return record_table([{"query_id": "q", **cells}]).loc["q"]


def test_a_text_is_credited_once_to_the_first_chunk_that_contains_it():
    row = record(
        relevant_texts=[GOLD],
        retrieved=["c1", "c2", "c3"],
        contexts=["Paris.", f"So: {GOLD.upper()}!", GOLD],
    )
    assert row["relevant"] == {"c2": 1.0}


def test_a_text_cut_into_several_chunks_is_found_with_the_first_of_them():
    long = "The Seine rises in Burgundy and flows through Paris and Rouen into the Channel"
    row = record(
        relevant_texts=[long],
        retrieved=["c1", "c2", "c3"],
        contexts=["through Paris and Rouen", "The Seine rises in Burgundy", "into the Channel"],
    )
    assert row["relevant"] == {"c1": 1.0}


def test_a_gold_text_has_the_document_of_the_chunk_that_contains_it():
    passages = [
        {"document_id": "a", "node_id": "0", "content": "Paris."},
        {"document_id": "a", "node_id": "1", "content": GOLD},
        {"document_id": "b", "node_id": "1", "content": "Lyon."},
    ]
    rows = [{"query_id": "q", "relevant_texts": [GOLD, "Elsewhere is more"], "retrieved": passages}]
    table = record_table(rows)
    assert table.loc["q", "relevant_sections"] == [
        ("a", "1", 1.0),
        (None, "Elsewhere is more", 1.0),
    ]
    assert record_table(table).equals(table)
    # One of two texts is in the second of three chunks, in the first of two documents.
    names = ["recall@5", "mrr"]
    assert score(rows, names, level="chunk").scores.iloc[0].tolist() == [1 / 2, 1 / 2]
    assert score(rows, names, level="document").scores.iloc[0].tolist() == [1 / 2, 1.0]

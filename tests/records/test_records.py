"""The check at the door of the records; expected cells are worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import score
from rageval_report.errors import DataError, RagevalWarning, UnknownNameError
from rageval_report.records import record_table
from rageval_report.records.cells import Span
from rageval_report.records.table import concatenate_rows, first_holders, first_text_holders


def one(**cells):
    """The checked record of one query."""
    return record_table([{"query_id": "q1", **cells}]).loc["q1"]


# -- shapes


@pytest.mark.parametrize(
    ("given_as", "grades"),
    [
        (["d1", "d2"], {"d1": 1.0, "d2": 1.0}),
        ({"d1": 2, "d2": 0}, {"d1": 2.0, "d2": 0.0}),
        ([{"doc_id": "d1", "relevance": 3}], {"d1": 3.0}),
        ([{"doc_id": "a", "chunk_id": "c7"}], {"c7": 1.0}),
        ('["d1", 7]', {"d1": 1.0, "7": 1.0}),
        (np.array(["d1"]), {"d1": 1.0}),
        ({"d2", "d1"}, {"d1": 1.0, "d2": 1.0}),
        ([], {}),
    ],
)
def test_gold_comes_as_ids_with_grades_however_it_is_written(given_as, grades):
    assert one(relevant=given_as)["relevant"] == grades


@pytest.mark.parametrize(
    ("given_as", "ids"),
    [
        ([("d2", 0.1), ("d1", 0.9)], ["d2", "d1"]),
        ({"d2": 0.1, "d1": 0.9, "d3": 0.1}, ["d1", "d3", "d2"]),
        ([{"id": 3, "score": 1.5}], ["3"]),
        ([{"filename": "a.md", "start": 0, "end": 9}], ["a.md:0-9"]),
        ([], []),
    ],
)
def test_a_ranking_comes_as_ids_in_order(given_as, ids):
    assert one(retrieved=given_as)["retrieved"] == ids


def test_scores_texts_and_places_of_results_have_columns_of_their_own():
    chunk = {"id": "c1", "score": 0.5, "text": "Rome", "filename": "a", "start": 0, "end": 4}
    record = one(retrieved=[chunk])
    assert record["retrieved_scores"] == [0.5]
    assert record["contexts"] == ["Rome"]
    assert record["retrieved_spans"] == [("a", 0, 4)]


def test_a_missing_cell_is_not_an_empty_one():
    records = record_table({"query_id": ["a", "b"], "relevant": [None, []], "answer": [np.nan, ""]})
    assert records["relevant"].tolist() == [None, {}]
    assert records["answer"].tolist() == [None, ""]


def test_metadata_is_kept_as_it_is_and_stands_behind_the_fields():
    records = record_table({"topic": ["x"], "qid": [7], "Query": ["?"], "n": [3]})
    assert list(records) == ["question", "topic", "n"]
    assert records.index.tolist() == ["7"]
    assert records.index.name == "query_id"


@pytest.mark.parametrize(
    ("column", "field"),
    [("user_input", "question"), ("Response", "answer"), ("ground_truth", "reference")],
)
def test_fields_are_known_by_the_names_of_other_frameworks(column, field):
    assert field in one(**{column: "text"})


def test_gold_that_rows_have_under_different_names_is_one_field():
    rows = [
        {"query_id": "a", "relevant": ["d1"], "query": "Who?"},
        {"query_id": "b", "gold_ids": {"d2": 2}, "question": "Where?"},
        {"query_id": "c", "Gold Doc IDs": ["d3"], "question": "When?"},
        {"query_id": "d", "gold_ids": [], "question": "Why?"},
    ]
    with pytest.warns(RagevalWarning) as caught:
        table = record_table(rows)
    assert table["relevant"].tolist()[:3] == [{"d1": 1.0}, {"d2": 2.0}, {"d3": 1.0}]
    assert table["question"].tolist() == ["Who?", "Where?", "When?", "Why?"]
    assert list(table) == ["question", "relevant"]
    told = [str(warning.message) for warning in caught]
    assert told == [
        "question: the columns 'question' and 'query' are read as one, because no row has more "
        "than one of them; give them one name",
        "relevant: the columns 'relevant' and 'gold_ids' and 'Gold Doc IDs' are read as one, "
        "because no row has more than one of them; give them one name",
    ]
    assert record_table(table).equals(table)


def test_gold_that_two_columns_may_be_is_refused():
    rows = [
        {"query_id": "a", "relevant": ["d1"], "gold_citations": ["d7"]},
        {"query_id": "b", "gold_citations": ["d2"]},
    ]
    with pytest.raises(DataError, match="row 1 has its gold only in 'gold_citations', and row 0"):
        record_table(rows)
    # Documents of chunks are no second gold.
    rows = [
        {"query_id": "a", "relevant": ["c1"], "gold_doc_ids": ["d7"]},
        {"query_id": "b", "gold_doc_ids": ["d2"]},
    ]
    table = record_table(rows)
    assert table["relevant_sections"].tolist() == [[("d7", "c1", 1.0)], None]


# -- spans and texts


def chunks(*places):
    return [
        {"id": f"c{n}", "filename": f, "start": a, "end": b} for n, (f, a, b) in enumerate(places)
    ]


def test_a_gold_span_becomes_the_first_chunk_that_holds_half_of_the_shorter():
    record = one(
        relevant=[("a.md", 90, 130), ("a.md", 500, 520), ("b.md", 90, 130)],
        retrieved=chunks(("a.md", 0, 100), ("a.md", 80, 180), ("a.md", 85, 190)),
    )
    # c0 shares 10 of 40 characters, c1 all of them, c2 comes too late; two spans are not held
    assert record["relevant"] == {"c1": 1.0, "a.md:500-520": 1.0, "b.md:90-130": 1.0}


def test_gold_spans_wait_for_a_retrieval_that_is_still_to_come():
    gold = record_table([{"query_id": "q", "relevant": [("a", 0, 10)]}])
    assert gold.loc["q", "relevant"] == {"a:0-10": 1.0}
    answered = gold.assign(retrieved=[chunks(("a", 0, 50))])
    assert record_table(answered).loc["q", "relevant"] == {"c0": 1.0}


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(1, 20)), max_size=5),
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(1, 20)),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([0.1, 0.5, 1.0]),
)
@settings(max_examples=80)
def test_overlaps_are_those_of_counting_characters(found, gold, overlap):
    placed = [Span(file, start, start + length) for file, start, length in found]
    wanted = [Span(file, start, start + length) for file, start, length in gold]
    expected = []
    for span in wanted:
        inside = [
            rank
            for rank, chunk in enumerate(placed)
            if chunk.filename == span.filename
            and (common := set(range(*chunk[1:])) & set(range(*span[1:])))
            and len(common) >= overlap * min(chunk.end - chunk.start, span.end - span.start)
        ]
        expected.append(inside[0] if inside else -1)
    assert first_holders(placed, wanted, overlap) == expected


def test_exact_texts_are_found_among_the_texts_of_the_chunks():
    record = one(
        relevant_texts=["Rome", "Oslo"],
        retrieved=["c1", "c2", "c3"],
        contexts=["x", "Rome", "Rome"],
    )
    assert record["relevant"] == {"c2": 1.0, "Oslo": 1.0}


# -- running it again


EVERYTHING = {
    "query_id": ["a", "b"],
    "question": ["?", None],
    "reference": [["x", "y"], None],
    "answerable": [True, None],
    "relevant": [[("f.md", 0, 10)], None],
    "retrieved": [[{"filename": "f.md", "start": 0, "end": 9, "text": "t", "score": 1}], []],
    "answer": ["yes", None],
    "citations": [[{"doc_id": "f.md", "chunk_id": "f.md:0-9"}], None],
    "latency_ms": [3, None],
    "error": [None, "time out"],
    "topic": ["p", "q"],
}


def test_checking_checked_records_changes_nothing():
    once = record_table(EVERYTHING)
    pd.testing.assert_frame_equal(record_table(once), once)


# -- faults


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ({"answerable": "false"}, r"answerable of 'q1': expected true or false.*'false'"),
        ({"relevant": {"d1": float("nan")}}, r"relevant of 'q1': relevance grades must be finite"),
        ({"relevant": [("d1", 1), ("d1", 2)]}, r"'d1' has two grades, 1 and 2"),
        ({"relevant": ["d1", ("a", 0, 9)]}, r"expected ids or spans; got both"),
        ({"relevant": [("a", 9, 9)]}, r"with start < end; got \('a', 9, 9\)"),
        ({"relevant": [{"page": 3, "of": "a"}]}, r"expected gold with an id or a span"),
        ({"cited_sections": [["a"]]}, r"expected pairs of document and chunk"),
        ({"relevant": [1.5]}, r"expected an id \(a text or an integer\); got 1\.5"),
        ({"retrieved": [("d1", float("nan"))]}, r"retrieval scores must be finite numbers"),
        ({"retrieved": {"d1", "d2"}}, r"a set, which has no order"),
        (
            {"retrieved": ["d1"], "retrieved_scores": [1, 2]},
            r"expected 1 items, one for each of retrieved; got 2",
        ),
        ({"contexts": ["a", None]}, r"contexts of 'q1': expected a text; got None"),
        ({"latency_ms": -1}, r"latency_ms of 'q1': expected a number >= 0; got -1"),
        ({"citations": [{"page": 3}]}, r"expected a citation with an id or a source_index"),
        ({"relevant": [("a", 0, 9)], "retrieved": ["c1"]}, r"gold spans need the filename, start"),
        ({"relevant_texts": "x", "retrieved": ["a"], "contexts": []}, r"gold texts need one text"),
    ],
)
def test_a_wrong_cell_is_named_by_field_query_and_content(cells, told):
    with pytest.raises(DataError, match=told):
        one(**cells)


def test_of_many_faults_five_are_shown_and_the_rest_counted():
    rows = [{"query_id": f"q{n}", "answerable": "no"} for n in range(9)]
    with pytest.raises(DataError, match=r"'q4'.*; and 4 more$") as caught:
        record_table(rows)
    assert "'q5'" not in str(caught.value)


def test_the_warning_of_citations_points_at_the_callers_line():
    rows = [{"query_id": "q1", "retrieved": ["d1"], "citations": ["d9"]}]
    with pytest.warns(RagevalWarning) as caught:
        record_table(rows)
    assert caught[0].filename == __file__


def test_citations_of_what_was_not_retrieved_may_be_refused_or_passed_over():
    rows = [{"query_id": "q1", "retrieved": ["d1"], "citations": ["d9"]}]
    with pytest.raises(DataError, match=r"not retrieved: 'q1' \('d9'\)"):
        record_table(rows, unretrieved_citations="error")
    assert len(record_table(rows, unretrieved_citations="keep")) == 1
    with pytest.raises(UnknownNameError, match='"warn", "error" or "keep"; got "ignore"'):
        record_table(rows, unretrieved_citations="ignore")


def test_real_gold_with_ids_of_signed_integers_is_read(real_data):
    path = real_data("clapnq_dev") / "clapnq_dev_answerable_first150.jsonl"
    rows = pd.read_json(path, lines=True, dtype={"id": str}).to_dict("records")
    records = record_table(
        [
            {
                "query_id": row["id"],
                "question": row["input"],
                "reference": [out["answer"] for out in row["output"]],
                "contexts": [passage["text"] for passage in row["passages"]],
                "answerable": True,
            }
            for row in rows
        ]
    )
    assert len(records) == 150
    assert records["answerable"].all()
    assert set(map(len, records["reference"])) == {1, 2}
    assert records.index.str.startswith("-").any()


# -- gold that nothing can be held against


@pytest.mark.parametrize(
    ("gold", "field"),
    [({"relevant_texts": ["Rome"]}, "contexts"), ({"relevant": [("a.md", 0, 9)]}, "retrieved")],
)
def test_gold_that_nothing_can_be_held_against_is_left_out_on_demand(gold, field):
    rows = [
        {"query_id": "a", "retrieved": ["c1"], **gold},
        {"query_id": "b", "retrieved": ["c1"], "relevant": ["c1"]},
    ]
    with pytest.raises(DataError, match=f"^{field} of 'a': gold "):
        record_table(rows)
    with pytest.warns(RagevalWarning, match="which 1 of 2 answers do not have \\('a'\\)"):
        table = record_table(rows, unplaced_gold="drop")
    assert table["relevant"].tolist() == [None, {"c1": 1.0}]
    assert record_table(table).equals(table)


# -- gold texts are found in the chunks that contain them, or share half of the shorter with th


GOLD = "The Seine is 777 km long"  # 24 characters


def holds(chunk, gold=GOLD, overlap=0.5):
    return first_text_holders([chunk], [gold], overlap) == [0]


@pytest.mark.parametrize(
    "chunk",
    [
        GOLD,
        "the seine\n\tis   777 KM LONG",
        "The\u00a0Seine is \uff17\uff17\uff17\u202fkm long",  # no-break blanks, full-width digits
        "The Sei\u00adne is 777 km\u200b long",  # a soft hyphen, a blank without width
        "e Seine is 777 k",  # cut within words
        "Of all rivers, the Seine is 777",  # ends with 16 of 24 characters of the gold
        "is 777 km long, and the Loire 1,006 km.",  # starts with 14 of 24
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
        ("length: 777 km, said Ann", "777 km.", True),  # punctuation at the ends
        ("...", "...", True),
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


# -- tables one below the other: no cell changes, whatever is blank in one of them


def table(ids, **columns):
    return pd.DataFrame(columns, index=pd.Index(ids, name="query_id"))


@pytest.mark.parametrize(
    ("upper", "lower"),
    [
        ([None, None], [0.5, 1.5]),
        ([None, None], [True, False]),
        (["a", "b"], [0.5, 1.5]),
        ([1, 2], [True, False]),
    ],
    ids=["floats", "booleans", "texts", "numbers and booleans"],
)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_each_cell_is_as_it_was_in_its_table(upper, lower, is_swapped):
    first, second = (lower, upper) if is_swapped else (upper, lower)
    whole = concatenate_rows([table(["q1", "q2"], x=first), table(["q3", "q4"], x=second)])
    assert whole["x"].tolist() == [*first, *second]
    assert [type(cell) for cell in whole["x"]] == [type(cell) for cell in [*first, *second]]


def test_the_ids_keep_their_type_and_their_name():
    whole = concatenate_rows([table(["q1"], x=[1]), table(["q2"], x=[2])])
    assert whole.index.tolist() == ["q1", "q2"]
    assert whole.index.dtype == object
    assert whole.index.name == "query_id"

"""The check at the door of the records; expected cells are worked out by hand.

`passages.json` has results as LlamaIndex, LangChain, Haystack, Dify, Qdrant, Milvus, Elasticsearch
and Bedrock give them, with the ids of the document and of the chunk in them.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import score
from rageval_report.errors import DataError, RagevalWarning, UnknownNameError
from rageval_report.records import record_table
from rageval_report.records.cells import Span
from rageval_report.records.levels import choose_level, records_at_level
from rageval_report.records.table import (
    concatenate_rows,
    first_holders,
    first_text_holders,
)

PASSAGES = json.loads(Path(__file__).with_name("passages.json").read_text(encoding="utf-8"))


def table_of(**cells):
    """The checked table of one query; checking it again changes nothing."""
    table = record_table([{"query_id": "q1", **cells}], unretrieved_citations="keep")
    assert record_table(table).equals(table)
    return table


def one(**cells):
    return table_of(**cells).loc["q1"]


# -- shapes


@pytest.mark.parametrize(
    ("field", "cell", "expected"),
    [
        ("relevant", ["d1", "d2"], {"d1": 1.0, "d2": 1.0}),
        ("relevant", {"d1": 2, "d2": 0}, {"d1": 2.0, "d2": 0.0}),
        ("relevant", [{"doc_id": "d1", "relevance": 3}], {"d1": 3.0}),
        ("relevant", [{"doc_id": "a", "chunk_id": "c7"}], {"c7": 1.0}),
        ("relevant", '["d1", 7]', {"d1": 1.0, "7": 1.0}),
        ("relevant", np.array(["d1"]), {"d1": 1.0}),
        ("relevant", {"d2", "d1"}, {"d1": 1.0, "d2": 1.0}),
        ("relevant", [], {}),
        ("retrieved", [("d2", 0.1), ("d1", 0.9)], ["d2", "d1"]),
        ("retrieved", {"d2": 0.1, "d1": 0.9, "d3": 0.1}, ["d1", "d3", "d2"]),
        ("retrieved", [{"id": 3, "score": 1.5}], ["3"]),
        ("retrieved", [{"filename": "a.md", "start": 0, "end": 9}], ["a.md:0-9"]),
        ("retrieved", [], []),
        ("user_input", "text", "question"),
        ("Response", "text", "answer"),
        ("ground_truth", "text", "reference"),
    ],
)
def test_a_field_comes_in_one_shape_however_it_is_written_and_called(field, cell, expected):
    row = one(**{field: cell})
    if cell == "text":
        assert expected in row
    else:
        assert row[field] == expected


def test_scores_texts_and_places_of_results_have_columns_of_their_own():
    chunk = {"id": "c1", "score": 0.5, "text": "Rome", "filename": "a", "start": 0, "end": 4}
    record = one(retrieved=[chunk])
    assert record["retrieved_scores"] == [0.5]
    assert record["contexts"] == ["Rome"]
    assert record["retrieved_spans"] == [("a", 0, 4)]


def test_a_missing_cell_is_not_an_empty_one_and_metadata_stands_behind_the_fields():
    records = record_table({"query_id": ["a", "b"], "relevant": [None, []], "answer": [np.nan, ""]})
    assert records["relevant"].tolist() == [None, {}]
    assert records["answer"].tolist() == [None, ""]
    records = record_table({"topic": ["x"], "qid": [7], "Query": ["?"], "n": [3]})
    assert list(records) == ["question", "topic", "n"]
    assert (records.index.tolist(), records.index.name) == (["7"], "query_id")


def test_gold_that_rows_have_under_different_names_is_one_field():
    rows = [
        {"query_id": "a", "relevant": ["d1"], "query": "Who?"},
        {"query_id": "b", "gold_ids": {"d2": 2}, "question": "Where?"},
        {"query_id": "c", "Gold Doc IDs": ["d3"], "question": "When?"},
        {"query_id": "d", "gold_ids": [], "question": "Why?"},
    ]
    table = record_table(rows)
    assert table["relevant"].tolist()[:3] == [{"d1": 1.0}, {"d2": 2.0}, {"d3": 1.0}]
    assert table["question"].tolist() == ["Who?", "Where?", "When?", "Why?"]
    assert list(table) == ["question", "relevant"]
    assert record_table(table).equals(table)


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


def test_citations_of_what_was_not_retrieved_are_told_refused_or_kept():
    rows = [{"query_id": "q1", "retrieved": ["d1"], "citations": ["d9"]}]
    with pytest.warns(RagevalWarning) as caught:
        record_table(rows)
    assert caught[0].filename == __file__
    with pytest.raises(DataError, match="not retrieved in 'q1'"):
        record_table(rows, unretrieved_citations="error")
    assert len(record_table(rows, unretrieved_citations="keep")) == 1
    with pytest.raises(UnknownNameError, match='"warn", "error" or "keep"; got "ignore"'):
        record_table(rows, unretrieved_citations="ignore")


def test_real_gold_with_ids_of_signed_integers_is_read(real_data):
    path = real_data("clapnq_dev") / "clapnq_dev_answerable_first150.jsonl"
    table = pd.read_json(path, lines=True, dtype={"id": str}).rename(columns={"input": "question"})
    table["reference"] = [[out["answer"] for out in outputs] for outputs in table.pop("output")]
    table["contexts"] = [[one["text"] for one in passages] for passages in table.pop("passages")]
    records = record_table(table.assign(answerable=True), query_id="id")
    assert len(records) == 150
    assert records["answerable"].all()
    assert set(map(len, records["reference"])) == {1, 2}
    assert records.index.str.startswith("-").any()


# -- gold that is a span or a text


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
    # Gold spans wait for a retrieval that is still to come.
    gold = table_of(relevant=[("a", 0, 10)])
    assert gold.loc["q1", "relevant"] == {"a:0-10": 1.0}
    answered = gold.assign(retrieved=[chunks(("a", 0, 50))])
    assert record_table(answered).loc["q1", "relevant"] == {"c0": 1.0}


_places = st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(1, 20))


@given(
    st.lists(_places, max_size=5),
    st.lists(_places, min_size=1, max_size=4),
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


GOLD = "The Seine is 777 km long"  # 24 characters


def holds(chunk, gold=GOLD):
    return first_text_holders([chunk], [gold], 0.5) == [0]


@pytest.mark.parametrize(
    ("chunk", "gold", "expected"),
    [
        (GOLD, GOLD, True),
        ("the seine\n\tis   777 KM LONG", GOLD, True),
        # no-break blanks, full-width digits
        ("The\u00a0Seine is \uff17\uff17\uff17\u202fkm long", GOLD, True),
        # a soft hyphen, a blank without width
        ("The Sei\u00adne is 777 km\u200b long", GOLD, True),
        ("e Seine is 777 k", GOLD, True),  # cut within words
        ("Of all rivers, the Seine is 777", GOLD, True),  # ends with 16 of 24 characters
        ("is 777 km long, and the Loire 1,006 km.", GOLD, True),  # starts with 14 of 24
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
def test_a_chunk_contains_a_text_whatever_its_blanks_case_and_script(chunk, gold, expected):
    assert holds(chunk, gold) is expected


@settings(max_examples=100)
@given(st.text("ab ", min_size=0, max_size=40), st.text("ab ", min_size=0, max_size=40))
def test_overlaps_are_those_of_comparing_every_end(chunk, gold):
    first, second = " ".join(chunk.split()), " ".join(gold.split())
    least = max(10, min(len(first), len(second)) / 2)
    lengths = range(1, min(len(first), len(second)) + 1)
    ends = [n for n in lengths if first[-n:] == second[:n] or second[-n:] == first[:n]]
    is_long_or_a_word = len(second) >= 10 or f" {second} " in f" {first} "
    whole = bool(second) and second in first and is_long_or_a_word
    inside = first in second and len(first) >= least
    reaches = inside or max(ends, default=0) >= least
    assert holds(chunk, gold) == bool(whole or (second and reaches))


def test_a_gold_text_is_credited_once_with_the_document_of_its_chunk():
    row = one(
        relevant_texts=[GOLD, "Oslo"],
        retrieved=["c1", "c2", "c3"],
        contexts=["Paris.", f"So: {GOLD.upper()}!", GOLD],
    )
    assert row["relevant"] == {"c2": 1.0, "Oslo": 1.0}
    passages = [
        {"document_id": document, "node_id": node, "content": text}
        for document, node, text in (("a", "0", "Paris."), ("a", "1", GOLD), ("b", "1", "Lyon."))
    ]
    cells = {"relevant_texts": [GOLD, "Elsewhere is more"], "retrieved": passages}
    expected = [("a", "1", 1.0), (None, "Elsewhere is more", 1.0)]
    assert one(**cells)["relevant_sections"] == expected
    # One of two texts is in the second of three chunks, in the first of two documents.
    rows, names = [{"query_id": "q", **cells}], ["recall@5", "mrr"]
    assert score(rows, names, level="chunk").scores.iloc[0].tolist() == [1 / 2, 1 / 2]
    assert score(rows, names, level="document").scores.iloc[0].tolist() == [1 / 2, 1.0]


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


# -- two levels of ids, beside a passage or within it


def both(document, chunk, **more):
    return {"document_id": document, "node_id": chunk, **more}


@pytest.mark.parametrize("name", PASSAGES)
def test_both_ids_of_a_passage_are_read_and_kept(name):
    passage, document, chunk = (PASSAGES[name][key] for key in ("passage", "document", "chunk"))
    table = table_of(retrieved=[passage], citations=[passage], relevant=[passage])
    row = table.loc["q1"]
    assert (row["retrieved"], row["retrieved_sections"]) == ([chunk], [(document, chunk)])
    assert (row["citations"], row["cited_sections"]) == ([chunk], [(document, chunk)])
    [(section, grade)] = [(item[:2], item[2]) for item in row["relevant_sections"]]
    assert (section, row["relevant"]) == ((document, chunk), {chunk: grade})
    assert grade == passage.get("score", 1.0)
    if not name.startswith("beside"):
        assert row["contexts"] == ["Oslo"]


@pytest.mark.parametrize(
    "passage",
    [
        {"id": "a", "text": "x", "metadata": {"page": 3, "section": "Introduction"}},
        {"node_id": "a", "id": "b", "text": "x"},
        {"id": "a", "metadata": {"source": None, "doc_id": "", "document_id": 1.5}},
        {"id": "a", "metadata": {"source": "a"}},
        {"id": "a", "source": "wiki", "url": "https://example.org"},
    ],
)
def test_a_plain_id_stays_the_only_one(passage):
    table = table_of(retrieved=[passage])
    assert table.loc["q1", "retrieved"] == ["a"]
    assert "retrieved_sections" not in table


def test_a_citation_may_be_a_place_in_the_ranking():
    row = one(retrieved=[both("a", "1"), both("b", "2")], citations=[{"source_index": 2}])
    assert (row["citations"], row["cited_sections"]) == (["2"], [("b", "2")])


@pytest.mark.parametrize(
    ("retrieved", "relevant", "level"),
    [
        (["a"], ["a"], None),  # one id each
        ([both("a", "1")], [both("a", "1")], "chunk"),
        ([both("a", "1")], ["a"], "document"),
        ([both("a", "1")], ["elsewhere"], "chunk"),
        (["a"], [both("a", "1")], "document"),  # the server names documents only
        ([both("a", "1"), both("b", "2")], [both("a", "1"), "b"], "document"),
        ([both("a", "1")], [both("a", "1"), {"doc_id": "z", "relevance": 0}], "chunk"),
    ],
)
def test_the_level_is_the_one_at_which_gold_and_passages_meet(retrieved, relevant, level):
    choice = choose_level(table_of(retrieved=retrieved, relevant=relevant))
    assert choice.level == level
    assert bool(choice.note) == (level is not None)
    assert choice.note.startswith("level: ") or level is None


def test_chunks_that_documents_number_alike_are_different_chunks():
    gold = [both("b", "0", relevance=2), both("a", "0", relevance=0)]
    table = table_of(retrieved=[both("a", "0"), both("b", "0")], relevant=gold)
    row = records_at_level(table, "chunk").loc["q1"]
    assert len(set(row["retrieved"])) == 2
    assert [row["relevant"][name] for name in row["retrieved"]] == [0.0, 2.0]


@pytest.mark.parametrize(
    ("gold", "level", "recall"),
    [(["b.md"], "document", 1.0), (["2"], "chunk", 1.0), (["a.md", "z.md"], "document", 0.5)],
)
def test_recall_is_computed_at_the_level_of_the_gold(gold, level, recall):
    retrieved = [
        {"text": "x", "metadata": {"file_name": document, "chunk_id": chunk}}
        for document, chunk in (("a.md", "1"), ("b.md", "2"), ("b.md", "3"))
    ]
    evaluation = score([{"query_id": "q", "retrieved": retrieved, "relevant": gold}], "recall@5")
    assert evaluation.get_aggregated_scores("recall@5") == recall
    assert evaluation.config["retrieval"]["level"] == level


# -- tables one below the other: no cell changes, whatever is blank in one of them


def column(ids, cells):
    return pd.DataFrame({"x": cells}, index=pd.Index(ids, name="query_id"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([None, None], [0.5, 1.5]),
        ([0.5, 1.5], [None, None]),
        ([None, None], [True, False]),
        (["a", "b"], [0.5, 1.5]),
        ([1, 2], [True, False]),
        ([True, False], [1, 2]),
    ],
)
def test_each_cell_is_as_it_was_in_its_table_and_ids_keep_their_type(first, second):
    whole = concatenate_rows([column(["q1", "q2"], first), column(["q3", "q4"], second)])
    assert whole["x"].tolist() == [*first, *second]
    assert [type(cell) for cell in whole["x"]] == [type(cell) for cell in [*first, *second]]
    assert whole.index.tolist() == ["q1", "q2", "q3", "q4"]
    assert (whole.index.dtype, whole.index.name) == (object, "query_id")


def test_gold_that_two_columns_may_be_is_refused():
    rows = [
        {"query_id": "a", "relevant": ["c1"], "gold_citations": ["d7"]},
        {"query_id": "b", "gold_citations": ["d2"]},
    ]
    with pytest.raises(DataError, match="row 1 has its gold only in 'gold_citations'"):
        record_table(rows)

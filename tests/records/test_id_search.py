"""Ids that are written in two ways: which change of form brings them together."""

import tomllib
from pathlib import Path

import pytest

from rageval_report.errors import UnknownValueError
from rageval_report.records import record_table
from rageval_report.records.id_changes import match_record_ids, parse_changes
from rageval_report.records.id_search import QueryIds, doubts_about_ids, find_different_ids

# By name: how the gold is written, how what was retrieved is, and the changes that are named.
FORMS = tomllib.loads(Path(__file__).with_name("id_forms.toml").read_text(encoding="utf-8"))


def plain(i):
    return f"doc{i}"


def written(form):
    """A function that writes the id of a number in a form."""
    return lambda i: form.format(i=i, n=100 + i)


def queries_of(gold, retrieved, n=8):
    """Queries of which each finds its gold first, and then the gold of the next ones."""
    return [
        QueryIds(f"q{i}", (gold(i),), tuple(retrieved(i + step) for step in range(3)))
        for i in range(n)
    ]


@pytest.mark.parametrize("name", FORMS)
def test_the_change_of_form_is_named_and_what_to_type_brings_the_ids_together(name):
    *forms, change = FORMS[name]
    gold, retrieved = map(written, forms)
    queries = queries_of(gold, retrieved)
    (doubt,) = doubts_about_ids(queries)
    assert doubt.check == "ids_differ"
    assert doubt.message.startswith("0 of 8 gold ids (0%) were retrieved, and 8 (100%) after ")
    assert f"gold {gold(0)!r} is retrieved as {retrieved(0)!r}" in doubt.message
    typed = eval(doubt.advice.partition("match_ids=")[2].partition(" (on the command")[0])
    assert typed == change
    rows = [
        {"query_id": q.query_id, "relevant": list(q.gold), "retrieved": list(q.retrieved)}
        for q in queries
    ]
    records, note = match_record_ids(record_table(rows), typed)
    pairs = zip(records["relevant"], records["retrieved"], strict=True)
    assert all(set(relevant) <= set(ids) for relevant, ids in pairs)
    assert note.startswith("ids are compared after ")


@pytest.mark.parametrize(
    ("gold", "retrieved"),
    [
        (lambda i: f"MED-{i}", lambda i: f"MED-{i + 100}"),
        (lambda i: f"a/{i}.md", lambda i: f"b/{i + 50}.md"),
        (lambda i: f"doc{i}#1", lambda i: f"doc{i}#2"),
        (plain, plain),
    ],
)
def test_ids_that_differ_or_are_equal_need_no_change(gold, retrieved):
    assert not list(find_different_ids(queries_of(gold, retrieved)))


@pytest.mark.parametrize("text", ["cas", "gold:", "lower"])
def test_an_unknown_change_is_refused(text):
    with pytest.raises(UnknownValueError, match="match_ids must be"):
        parse_changes(text)


def test_repeats_after_a_change_are_left_out_and_counted():
    rows = [
        {
            "query_id": "q",
            "relevant": {"A#1": 1, "A#2": 2},
            "retrieved": [("B#1", 0.9), ("B#2", 0.8), ("A#9", 0.7)],
            "citations": ["A#9"],
        }
    ]
    records, note = match_record_ids(record_table(rows), "cut:#")
    row = records.loc["q"]
    assert row["relevant"] == {"A": 2.0}
    assert row["retrieved"] == ["B", "A"]
    assert row["retrieved_scores"] == [0.9, 0.7]
    assert row["citations"] == ["A"]
    assert note == "ids are compared after cut:#; 1 repeat of a document is left out after that"


# -- other doubts about ids


def test_ids_that_never_meet_are_doubted_with_both_sides():
    (doubt,) = doubts_about_ids(queries_of(written("MED-{i}"), lambda i: f"node-{i * 7 + 1000}"))
    assert doubt.check == "ids_never_meet"
    assert "none of 8 gold ids was retrieved for any of 8 queries" in doubt.message
    assert "'MED-0'" in doubt.message
    assert "'node-1000'" in doubt.message
    assert "--path retrieved=" in doubt.advice


def test_gold_that_was_retrieved_for_other_queries_is_shifted():
    queries = queries_of(plain, lambda i: f"doc{(i + 3) % 8}")
    shifted = [QueryIds(q.query_id, q.gold, q.retrieved[:1]) for q in queries]
    (doubt,) = doubts_about_ids(shifted)
    assert doubt.check == "other_rows"
    assert "100% of them for other queries" in doubt.message


@pytest.mark.parametrize("n_empty", [3, 4, 8])
def test_empty_rankings_are_doubted_if_they_are_many(n_empty):
    queries = queries_of(plain, plain)
    empty = [QueryIds(q.query_id, q.gold, ()) for q in queries[:n_empty]]
    checks = [doubt.check for doubt in doubts_about_ids([*empty, *queries[n_empty:]])]
    assert checks == ([] if n_empty < 4 else ["no_retrieved"])

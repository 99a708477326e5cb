"""Ids that are written in two ways: which change of form brings them together."""

import uuid

import pytest

from rageval_report.errors import UnknownValueError
from rageval_report.records import record_table
from rageval_report.records.id_changes import match_record_ids, parse_changes
from rageval_report.records.id_search import QueryIds, doubts_about_ids, find_id_match


def uuid_of(number):
    return uuid.UUID(int=number + 10**30)


def queries_of(gold, retrieved, n=8):
    """Queries of which each finds its gold first, and then the gold of the next ones."""
    return [
        QueryIds(f"q{i}", (gold(i),), tuple(retrieved(i + step) for step in range(3)))
        for i in range(n)
    ]


def plain(i):
    return f"doc{i}"


# The forms that were asked for, and others of the same kinds.
FORMS = {
    "hash": (plain, lambda i: f"doc{i}#2", "retrieved:cut:#"),
    "chunk": (plain, lambda i: f"doc{i}_chunk_{i}", "retrieved:cut:_chunk_"),
    "path of a chunk": (plain, lambda i: f"doc{i}/chunk/4", "retrieved:cut:/chunk/"),
    "letter": (plain, lambda i: f"doc{i}c{i}", "retrieved:cut:c"),
    "chunks in the gold": (lambda i: f"doc{i}::{i}", plain, "gold:cut:::"),
    "chunks of numbered documents": (
        *(lambda i: f"MED-{100 + i}", lambda i: f"MED-{100 + i}-{i}", "retrieved:cut:-"),
    ),
    "two spellings of chunks": (lambda i: f"d{i}#2", lambda i: f"d{i}_chunk_02", "chunk"),
    "md": (lambda i: f"doc{i}.md", plain, "extension"),
    "case": (lambda i: f"Doc{i}", plain, "case"),
    "folder": (lambda i: f"docs/doc{i}", plain, "file"),
    "prefix": (lambda i: f"{i}", lambda i: f"doc:{i}", "retrieved:prefix:doc:"),
    "suffix": (lambda i: f"doc{i}@latest", plain, "gold:suffix:@latest"),
    "url": (lambda i: f"https://x.org/a/b{i}", lambda i: f"/a/b{i}", "path"),
    "backslash": (lambda i: f"docs\\a{i}.txt", lambda i: f"docs/a{i}.txt", "path"),
    "percent": (lambda i: f"a%20b{i}", lambda i: f"a b{i}", "percent"),
    "whole number": (lambda i: f"{i}.0", str, "number"),
    "padding": (lambda i: f"{i:03}", str, "number"),
    "padding inside": (lambda i: f"doc-{i:03}", lambda i: f"doc-{i}", "number"),
    "blank": (lambda i: f" doc{i}", plain, "blanks"),
    "unicode": (lambda i: f"cafe\u0301{i}", lambda i: f"caf\u00e9{i}", "unicode"),
    "uuid": (lambda i: str(uuid_of(i)), lambda i: uuid_of(i).hex, "uuid"),
    "uuid in capitals": (lambda i: f"{{{uuid_of(i)}}}".upper(), lambda i: str(uuid_of(i)), "uuid"),
    "quotes": (lambda i: f'"doc{i}"', plain, "quotes"),
    "separators": (lambda i: f"my_doc_{i}", lambda i: f"my-doc-{i}", "separators"),
    "several": (
        lambda i: f"https://x.org/docs/Guide%20{i}.html",
        lambda i: f"guide {i}#3",
        ["percent", "case", "extension", "file", "retrieved:cut:#"],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_change_of_form_is_named(form):
    gold, retrieved, changes = FORMS[form]
    queries = queries_of(gold, retrieved)
    match = find_id_match(queries)
    assert match is not None
    assert [str(change) for change in match.changes] == (
        [changes] if isinstance(changes, str) else changes
    )
    assert (match.n_before, match.n_after, match.n) == (0, 8, 8)
    assert match.examples[0] == (gold(0), retrieved(0))


@pytest.mark.parametrize("form", FORMS)
def test_what_the_doubt_says_to_type_brings_the_ids_together(form):
    gold, retrieved, _ = FORMS[form]
    queries = queries_of(gold, retrieved)
    (doubt,) = doubts_about_ids(queries)
    assert doubt.check == "ids_differ"
    typed = eval(doubt.advice.partition("match_ids=")[2].partition(" (on the command")[0])
    rows = [
        {"query_id": q.query_id, "relevant": list(q.gold), "retrieved": list(q.retrieved)}
        for q in queries
    ]
    records, note = match_record_ids(record_table(rows), typed)
    assert all(
        set(relevant) <= set(ids)
        for relevant, ids in zip(records["relevant"], records["retrieved"], strict=True)
    )
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
    assert find_id_match(queries_of(gold, retrieved)) is None


@pytest.mark.parametrize("text", ["cas", "gold:", "lower"])
def test_an_unknown_change_is_refused(text):
    with pytest.raises(UnknownValueError, match="match_ids must be"):
        parse_changes(text)


# -- records whose ids are changed


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


def checks_of(queries):
    return [doubt.check for doubt in doubts_about_ids(queries)]


def test_ids_that_never_meet_are_doubted_with_both_sides():
    queries = queries_of(lambda i: f"MED-{i}", lambda i: f"node-{i * 7 + 1000}")
    (doubt,) = doubts_about_ids(queries)
    assert doubt.check == "ids_never_meet"
    assert "none of 8 gold ids was retrieved for any of 8 queries" in doubt.message
    assert "'MED-0'" in doubt.message
    assert "'node-1000'" in doubt.message
    assert "--path retrieved=" in doubt.advice


@pytest.mark.parametrize("joint", [";", "; ", "|", ", ", "\n"])
@pytest.mark.parametrize("is_gold", [True, False])
def test_lists_in_one_text_are_doubted(joint, is_gold):
    one = [f"d{i}" for i in range(3)]
    joined = [f"x{i}{joint}d{i}" for i in range(3)]
    gold, retrieved = (joined, one) if is_gold else (one, joined)
    queries = [QueryIds(f"q{i}", (gold[i],), (retrieved[i],)) for i in range(3)]
    assert "joined_ids" in [doubt.check for doubt in doubts_about_ids(queries)]


def test_gold_that_was_retrieved_for_other_queries_is_shifted():
    queries = queries_of(plain, lambda i: f"doc{(i + 3) % 8}")
    shifted = [QueryIds(q.query_id, q.gold, q.retrieved[:1]) for q in queries]
    (doubt,) = doubts_about_ids(shifted)
    assert doubt.check == "other_rows"
    assert "100% of them for other queries" in doubt.message


@pytest.mark.parametrize(
    ("n_empty", "checks"), [(4, ["no_retrieved"]), (3, []), (8, ["no_retrieved"])]
)
def test_empty_rankings_are_doubted_if_they_are_many(n_empty, checks):
    queries = queries_of(plain, plain)
    empty = [QueryIds(q.query_id, q.gold, ()) for q in queries[:n_empty]]
    assert checks_of([*empty, *queries[n_empty:]]) == checks

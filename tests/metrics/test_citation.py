"""Citations beside gold: hand arithmetic, and set arithmetic in the property test."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import score
from rageval_report.metrics.citation import (
    citation_hit,
    citation_precision,
    citation_recall,
    citations_between,
    document_accuracy,
    section_accuracy,
)
from rageval_report.scores.states import states_of

NAN = math.nan


def of_one(metric, cited, relevant, k=None, **more):
    """The score of one answer."""
    more = {name: [value] for name, value in more.items()}
    return float(metric(citations_between([cited], [relevant], **more), k)[0])


def ones(*names):
    return dict.fromkeys(names, 1.0)


def test_nothing_to_cite_is_not_applicable_and_unknown_gold_is_missing():
    view = citations_between([["a"], ["a"], ["a"]], [{}, None, ones("a")])
    states = states_of(citation_precision(view), applies=view.applies("citation_precision"))
    assert states.tolist() == ["not applicable", "missing", "scored"]


def test_section_accuracy_counts_each_citation_and_asks_for_document_and_chunk():
    scores = {
        metric: of_one(
            metric,
            ["1", "1", "2", "9"],
            ones("1", "2"),
            cited_sections=[("a", "1"), ("b", "1"), ("a", "2"), ("a", "9")],
            relevant_sections=[("a", "1"), ("a", "2")],
        )
        for metric in (section_accuracy, document_accuracy, citation_precision)
    }
    assert scores[section_accuracy] == 2 / 4  # a/1 and a/2
    assert scores[document_accuracy] == 3 / 4  # all but b/1
    assert scores[citation_precision] == 2 / 3  # 1 and 2 of 1, 2, 9


@pytest.mark.parametrize(
    ("cited", "relevant", "retrieved", "hit"),
    [
        (["a", "b"], ones("a"), ["a", "b"], 1),
        (["a", "z"], ones("a"), ["a", "b"], 0),  # z was not retrieved
        (["b"], ones("a"), ["a", "b"], 0),
        ([], ones("a"), ["a"], 0),
        ([], {}, ["a"], 1),
        (["a"], {}, ["a"], 0),
        (["a", "z"], ones("a"), None, 1),  # nobody knows what was retrieved
        (["a"], None, ["a"], NAN),
        (None, ones("a"), ["a"], NAN),
    ],
)
def test_a_hit_cites_gold_and_nothing_that_was_not_retrieved(cited, relevant, retrieved, hit):
    found = of_one(citation_hit, cited, relevant, retrieved=retrieved)
    assert found == hit or (math.isnan(found) and math.isnan(hit))


ids = st.sampled_from("abcdef")
queries = st.lists(
    st.tuples(
        st.lists(ids, max_size=6),
        st.dictionaries(ids, st.sampled_from([0.0, 1.0, 2.0]), max_size=5),
        st.lists(ids, max_size=6, unique=True),
    ),
    min_size=1,
    max_size=6,
)


@given(queries)
@settings(max_examples=80)
def test_the_arrays_say_what_sets_say(rows):
    cited, relevant, retrieved = (list(part) for part in zip(*rows, strict=True))
    view = citations_between(cited, relevant, retrieved=retrieved)
    found = np.array([metric(view) for metric in (citation_precision, citation_recall)])
    hits = citation_hit(view)
    for row, (names, grades, ranking) in enumerate(rows):
        gold, distinct = {name for name, grade in grades.items() if grade}, set(names)
        right = len(gold & distinct)
        if gold:
            expected = [right / len(distinct) if distinct else 0, right / len(gold)]
            np.testing.assert_allclose(found[:, row], expected)
        else:
            assert np.isnan(found[:, row]).all()
        is_hit = distinct <= set(ranking) and (right > 0 if gold else not distinct)
        assert hits[row] == is_hit


# -- documents and chunks


def cited_at(level, cited, relevant, **more):
    """Citation precision, citation recall, section accuracy and hit of one answer."""
    row = {"query_id": "q", "citations": cited, "relevant": relevant, **more}
    names = ["citation_precision", "citation_recall", "section_accuracy", "citation_hit"]
    return score([row], names, level=level)


def section(name, **more):
    """c12 is chunk c12 of document c1."""
    return {"document_id": name[:2], "node_id": name, **more}


@pytest.mark.parametrize(
    ("level", "expected"),
    # Cited: a11, a12 and b11. Gold: a11 and c11, so the chunks a11, and the document a1, are right.
    [("chunk", [1 / 3, 1 / 2, 1 / 3, 1]), ("document", [1 / 2, 1 / 2, 2 / 3, 1])],
)
def test_citations_are_compared_at_either_level(level, expected):
    cited = [section(name) for name in ("a11", "a12", "b11")]
    gold = [section("a11"), section("c11"), section("b11", relevance=0)]
    evaluation = cited_at(level, cited, gold)
    assert evaluation.scores.iloc[0].tolist() == pytest.approx(expected)
    assert evaluation.config["retrieval"] == {"level": level}


@pytest.mark.parametrize(
    ("cited", "gold"),
    [
        ([section("a11"), section("b11")], ["a1"]),  # documents are gold
        (["a1", "b1"], [section("a11"), section("a12")]),  # documents are cited
    ],
)
def test_the_level_of_citations_is_the_one_at_which_they_meet_the_gold(cited, gold):
    retrieved = [section("a12"), section("b11")]
    evaluation = cited_at("auto", cited, gold, retrieved=retrieved)
    assert evaluation.scores.iloc[0].tolist() == [1 / 2, 1, 1 / 2, 1]
    assert any("citation metrics are computed at the level of doc" in n for n in evaluation.notes)

"""The nfcorpus evaluation of ADR-013: its numbers by hand, row by row, and what is mended here."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path

import pytest

from rageval_report.datasets import load_corpus, load_dataset
from rageval_report.errors import DataError, RagevalWarning
from rageval_report.golden import golden_records, ground_truth, read_golden
from rageval_report.judges import ScriptedChat, judge
from rageval_report.metrics.judged_sets import evaluate_judged_set


def row(query_id, expected, retrieved, answer="Yes."):
    return {
        "query_id": query_id,
        "question": f"Is it {query_id}?",
        "reference": "Yes.",
        "relevant": dict.fromkeys(expected, 2),
        "retrieved": retrieved,
        "answer": answer,
    }


def evaluated(*rows, **options):
    return evaluate_judged_set(list(rows), generation="exact_match", **options)


# -- context recall and precision at 1


def test_context_recall_is_of_distinct_ids_among_the_first_ten():
    """d1 twice and d2 once within ten, d3 at rank 11: 2 of 3."""
    ranking = ["d1", "d1", "d2", *(f"x{n}" for n in range(7)), "d3"]
    found = evaluated(row("a", ["d1", "d2", "d3"], ranking))
    assert found.evaluation.scores["recall@10"].tolist() == [2 / 3]


def test_the_minimum_of_recall_is_inclusive():
    """4 of 5 is 0.8."""
    found = evaluated(row("a", list("abcde"), list("abcdx")))
    assert found.queries.frame["retrieval"].tolist() == ["found"]


def test_more_expected_than_ten_cannot_be_reached_and_is_said():
    """With 14, 15, 16, 20 and 21 expected documents: 10/14, 10/15, 10/16, 10/20 and 10/21."""
    sizes = (14, 15, 16, 20, 21)
    rows = []
    for n in sizes:
        documents = [f"d{number}" for number in range(n)]
        rows.append(row(f"q{n}", documents, documents))
    found = evaluated(*rows)
    scores = found.evaluation.scores
    assert scores["recall@10"].round(3).tolist() == [0.714, 0.667, 0.625, 0.5, 0.476]
    assert scores["reachable_recall@10"].tolist() == [1.0] * 5
    assert any("cannot exceed 0.596" in note for note in found.table.notes)


def test_precision_at_1_is_whether_the_first_result_is_expected():
    found = evaluated(row("a", ["d1"], ["d1", "x"]), row("b", ["d1"], ["x", "d1"]))
    assert found.evaluation.scores["precision@1"].tolist() == [1.0, 0.0]
    assert found.evaluation.get_aggregated_scores("precision@1") == 0.5


def test_every_query_is_scored_before_a_gate_is_evaluated():
    rows = [row("a", ["d1"], ["x"]), row("b", ["d1"], ["d1"]), row("c", ["d1"], ["d1"], "No.")]
    found = evaluated(*rows)
    frame = found.queries.frame.set_index("query_id")
    assert frame["recall"].tolist() == [0.0, 1.0, 1.0]
    assert frame["retrieval"].tolist() == ["not found", "found", "found"]
    assert frame["answer"].tolist() == ["correct", "correct", "incorrect"]
    assert not found.evaluation.gate("min(reachable_recall@10) >= 0.8").passed


def test_retrieval_and_generation_are_told_apart_in_a_table():
    """By hand: found and right, found and wrong, not found and right."""
    rows = [
        row("a", ["d1"], ["d1"]),
        row("b", ["d1"], ["d1"], "No."),
        row("c", ["d1"], ["x"]),
    ]
    frame = evaluated(*rows).table.frame.set_index("retrieval")
    assert frame.loc["found", ["correct", "incorrect"]].tolist() == [1, 1]
    assert frame.loc["not found", ["correct", "incorrect"]].tolist() == [1, 0]
    assert frame.loc["all", "accuracy"] == pytest.approx(2 / 3)


def test_chunks_may_count_as_ten_results_or_as_documents():
    passages = [f"d{number // 5}" for number in range(10)] + ["d2"]
    rows = row("a", ["d0", "d1", "d2"], passages)
    assert evaluated(rows).evaluation.scores["recall@10"].tolist() == [2 / 3]
    best = evaluated(rows, duplicates="best")
    assert best.evaluation.scores["recall@10"].tolist() == [1.0]


def test_documents_without_a_note_stay_expected_and_are_counted():
    found = evaluated(row("a", ["d1", "d2"], ["note-7"]), mapping={"d1": "note-7"})
    assert found.evaluation.scores["recall@10"].tolist() == [0.5]
    assert any("1 expected documents are not in the mapping" in one for one in found.table.notes)


# -- the judge of correctness


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("TRUE", 1.0),
        (" true \n", 1.0),
        ("True.", 1.0),
        ("**TRUE**", 1.0),
        ("FALSE", 0.0),
        ("**False.**", 0.0),
        ("NO", 0.0),
        ("That is not true", math.nan),  # which holds the word, but is no verdict
        ("untrue", math.nan),
        ("I cannot tell.", math.nan),
    ],
)
def test_a_verdict_is_the_first_word_without_markup(reply, score):
    rows = [{"query_id": "q", "question": "?", "answer": "a", "reference": "b"}]
    judged = judge(rows, "answer_correct", ScriptedChat([reply, reply]))
    assert judged.scores["answer_correct"].tolist() == pytest.approx([score], nan_ok=True)


# -- files


def write_beir(folder: Path, qrels: str) -> Path:
    """An archive in the shape of nfcorpus."""
    corpus = [{"_id": f"MED-{n}", "title": f"T{n}", "text": f"Text {n}."} for n in range(7)]
    queries = [{"_id": f"PLAIN-{n}", "text": f"Query {n}?"} for n in range(3)]
    files = {
        "corpus.jsonl": "".join(json.dumps(one) + "\n" for one in corpus),
        "queries.jsonl": "".join(json.dumps(one) + "\n" for one in queries),
        "qrels/test.tsv": qrels,
    }
    path = folder / "nfcorpus.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"nfcorpus/{name}", text)
    return path


def test_references_are_written_from_the_first_five_highly_relevant_documents(tmp_path):
    lines = "".join(f"PLAIN-0\tMED-{n}\t2\n" for n in range(7)) + "PLAIN-1\tMED-2\t1\n"
    place = write_beir(tmp_path, "query-id\tcorpus-id\tscore\n" + lines)
    queries, documents = load_dataset("beir", place), load_corpus("beir", place)
    assert queries.loc["PLAIN-0", "relevant"] == {f"MED-{n}": 2.0 for n in range(7)}
    asked = []

    def write(text):
        asked.append(text)
        return "  It is so.  "

    with pytest.warns(RagevalWarning, match="1 queries have no highly relevant document"):
        [item] = ground_truth(queries, documents, write)
    assert item.references == ("It is so.",)  # the reply without blanks around it
    assert item.query_id == "PLAIN-0"  # the other query has no document of grade 2
    assert [n for n in range(7) if f"Text {n}." in asked[0]] == [0, 1, 2, 3, 4]


def test_the_file_of_ground_truths_is_a_golden_set(tmp_path):
    item = {
        "query_id": "PLAIN-2",
        "query_text": "Is it healthy?",
        "ground_truth_answer": "It is.",
        "expected_document_ids": ["MED-1", "MED-2"],
        "highly_relevant_count": 2,
    }
    path = tmp_path / "ground_truth.json"
    path.write_text(json.dumps([item]))
    [read] = read_golden(path)
    assert (read.query_id, read.question) == ("PLAIN-2", "Is it healthy?")
    assert read.references == ("It is.",)
    assert set(read.relevant) == {"MED-1", "MED-2"}
    records = golden_records([read], gold="ids")
    assert list(records["relevant"].iloc[0]) == ["MED-1", "MED-2"]


# -- the command and the providers


def test_no_highly_relevant_document_is_an_error():
    rows = [{**row("a", ["d"], ["d"]), "relevant": {"d": 1}}]
    with pytest.raises(DataError, match="grade 2 or higher"):
        evaluate_judged_set(rows, generation="exact_match", grade=2)

"""Parquet files with the columns of the data sets' pages, in the folders of a download.

The rows are invented; the columns are those of rungalileo/ragbench, microsoft/ms_marco (v2.1) and
of the conversion of allenai/qasper to Parquet, where a list of objects is an object of lists.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_report.datasets import load_dataset


def written(path, *rows):
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def gold_texts(records):
    """The texts of the gold passages of each question."""
    pairs = zip(records["relevant"], records["passages"], strict=True)
    return [[texts[name] for name in relevant or {}] for relevant, texts in pairs]


def annotation(**filled):
    empty = {"unanswerable": False, "extractive_spans": [], "yes_no": None, "evidence": []}
    return {**empty, "free_form_answer": "", "highlighted_evidence": [], **filled}


def by(*annotations):
    ids = [str(n) for n in range(len(annotations))]
    return {"answer": list(annotations), "annotation_id": ids, "worker_id": ids}


PAPER = {
    "id": "1909.00694",
    "title": "On cakes",
    "abstract": "Cakes.",
    "full_text": {
        "section_name": ["Introduction", None],
        "paragraphs": [["Cakes are baked.", "Some are round."], ["Ours is square.", ""]],
    },
    "qas": {
        "question": ["How are cakes made?", "Is it round?", "Who ate it?"],
        "question_id": ["q1", "q2", "q3"],
        "answers": [
            by(
                annotation(extractive_spans=["baked"], evidence=["Cakes are baked."]),
                annotation(free_form_answer="In an oven.", evidence=["FLOAT SELECTED: Table 1"]),
            ),
            by(annotation(yes_no=False, evidence=["Ours is square."])),
            by(annotation(unanswerable=True)),
        ],
    },
}


def test_a_paper_of_qasper_becomes_its_questions(tmp_path):
    written(tmp_path / "qasper" / "validation" / "0000.parquet", PAPER)
    records = load_dataset("qasper", tmp_path / "qasper")
    assert records.index.tolist() == ["q1", "q2", "q3"]
    assert records["reference"].tolist() == [["baked", "In an oven."], ["No"], None]
    assert records["answerable"].tolist() == [True, True, False]
    assert records["n_annotators"].tolist() == [2, 1, 1]
    evidence = ["Cakes are baked.", "FLOAT SELECTED: Table 1"]
    assert gold_texts(records) == [evidence, ["Ours is square."], []]
    paragraphs = ["Cakes are baked.", "Some are round.", "Ours is square."]
    assert list(records["passages"]["q2"].values()) == paragraphs


def query(number, answers, selected, written_well=()):
    texts = [f"Text {number}.{n}" for n in range(len(selected))]
    return {
        "answers": answers,
        "passages": {"is_selected": selected, "passage_text": texts, "url": texts},
        "query": f"what is {number}",
        "query_id": number,
        "query_type": "DESCRIPTION",
        "wellFormedAnswers": list(written_well),
    }


@pytest.mark.parametrize("below", ["", "v2.1"])
def test_selected_passages_of_msmarco_are_gold(tmp_path, below):
    written(
        tmp_path / "v2.1" / "validation-00000-of-00001.parquet",
        query(7, ["A bus."], [0, 1, 0], ["It is a bus."]),
        query(8, ["No Answer Present."], [0, 0]),
        query(9, ["A tram.", "A bus."], [1, 1]),
    )
    records = load_dataset("msmarco", tmp_path / below)
    assert records.index.tolist() == ["7", "8", "9"]
    assert records["reference"].tolist() == [
        *(["It is a bus.", "A bus."], None, ["A tram.", "A bus."])
    ]
    assert records["answerable"].tolist() == [True, False, True]
    assert gold_texts(records) == [["Text 7.1"], [], ["Text 9.0", "Text 9.1"]]


def test_documents_with_a_relevant_sentence_are_gold_of_ragbench(tmp_path):
    for subset, keys in {"covidqa": ["0a", "0b"], "cuad": ["1aa", "0b"]}.items():
        row = {
            "id": "358",
            "question": "Which mask?",
            "documents": ["Title: a\nPassage: masks.", "Title: b"],
            "response": "A cloth one.",
            "generation_model_name": "gpt-3.5-turbo-0125",
            "dataset_name": f"{subset}_test",
            "adherence_score": True,
            "all_relevant_sentence_keys": keys,
        }
        written(tmp_path / subset / "test-00000-of-00001.parquet", row)
    records = load_dataset("ragbench", tmp_path)
    assert records.index.tolist() == ["covidqa:358", "cuad:358"]
    # The gold has the order of the keys of sentences: a document and the letters in it.
    masks, title = "Title: a\nPassage: masks.", "Title: b"
    assert gold_texts(records) == [[masks], [title, masks]]

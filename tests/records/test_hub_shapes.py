"""Parquet files with the columns and types of the data sets' pages, in the folders of a download.

The rows are invented; the columns are those of rungalileo/ragbench, microsoft/ms_marco (v2.1) and
of the conversion of allenai/qasper to Parquet. Whole copies are read where the public data is.
"""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_report.datasets import load_dataset
from rageval_report.metrics.scoring import score

TEXTS = pa.list_(pa.string())


def table_of(rows, **types):
    return pa.Table.from_pylist(rows, schema=pa.schema(list(types.items())))


def write(path, table):
    path.parent.mkdir(parents=True)
    pq.write_table(table, path)


# -- qasper: one row is a paper, and its questions are columns

ANSWER = pa.struct(
    [
        ("unanswerable", pa.bool_()),
        ("extractive_spans", TEXTS),
        ("yes_no", pa.bool_()),
        ("free_form_answer", pa.string()),
        ("evidence", TEXTS),
        ("highlighted_evidence", TEXTS),
    ]
)
ANSWERS = pa.struct([("answer", pa.list_(ANSWER)), ("annotation_id", TEXTS), ("worker_id", TEXTS)])
QUESTIONS = pa.struct([("question", TEXTS), ("question_id", TEXTS), ("answers", pa.list_(ANSWERS))])
FULL_TEXT = pa.struct([("section_name", TEXTS), ("paragraphs", pa.list_(TEXTS))])


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


@pytest.fixture
def qasper(tmp_path):
    types = {"id": pa.string(), "title": pa.string(), "abstract": pa.string()}
    table = table_of([PAPER], **types, full_text=FULL_TEXT, qas=QUESTIONS)
    write(tmp_path / "qasper" / "validation" / "0000.parquet", table)
    return tmp_path / "qasper"


def test_a_paper_of_qasper_becomes_its_questions(qasper):
    records = load_dataset("qasper", qasper)
    assert records.index.tolist() == ["q1", "q2", "q3"]
    assert records["reference"].tolist() == [["baked", "In an oven."], ["No"], None]
    assert records["answerable"].tolist() == [True, True, False]
    assert records["n_annotators"].tolist() == [2, 1, 1]
    texts = records["passages"]["q1"]
    assert [texts[name] for name in records["relevant"]["q1"]] == [
        "Cakes are baked.",
        "FLOAT SELECTED: Table 1",
    ]
    assert list(records["passages"]["q2"].values()) == [
        *("Cakes are baked.", "Some are round.", "Ours is square.")
    ]


# -- msmarco: the passages are a structure of three lists

PASSAGES = pa.struct(
    [("is_selected", pa.list_(pa.int32())), ("passage_text", TEXTS), ("url", TEXTS)]
)


def query(number, answers, selected, **more):
    texts = [f"Text {number}.{n}" for n in range(len(selected))]
    passages = {"is_selected": selected, "passage_text": texts, "url": texts}
    return {
        "answers": answers,
        "passages": passages,
        "query": f"what is {number}",
        "query_id": number,
        "query_type": "DESCRIPTION",
        "wellFormedAnswers": [],
        **more,
    }


@pytest.fixture
def msmarco(tmp_path):
    rows = [
        query(7, ["A bus."], [0, 1, 0], wellFormedAnswers=["It is a bus."]),
        query(8, ["No Answer Present."], [0, 0]),
        query(9, ["A tram.", "A bus."], [1, 1]),
    ]
    types = {"answers": TEXTS, "passages": PASSAGES, "query": pa.string()}
    types |= {"query_id": pa.int32(), "query_type": pa.string(), "wellFormedAnswers": TEXTS}
    path = tmp_path / "ms_marco" / "v2.1" / "validation-00000-of-00001.parquet"
    write(path, table_of(rows, **types))
    return tmp_path / "ms_marco"


@pytest.mark.parametrize("below", ["", "v2.1"])
def test_selected_passages_of_msmarco_are_gold(msmarco, below):
    records = load_dataset("msmarco", msmarco / below)
    assert records.index.tolist() == ["7", "8", "9"]
    assert records["reference"].tolist() == [
        ["It is a bus.", "A bus."],
        None,
        ["A tram.", "A bus."],
    ]
    assert records["answerable"].tolist() == [True, False, True]
    gold = [
        [texts[name] for name in relevant or {}]
        for relevant, texts in zip(records["relevant"], records["passages"], strict=True)
    ]
    assert gold == [["Text 7.1"], [], ["Text 9.0", "Text 9.1"]]


# -- ragbench: a folder for each subset; a key of a sentence is its document and its letters


def response(subset, keys):
    return {
        "id": "358",
        "question": "Which mask?",
        "documents": ["Title: a\nPassage: masks.", "Title: b"],
        "response": "A cloth one.",
        "generation_model_name": "gpt-3.5-turbo-0125",
        "dataset_name": f"{subset}_test",
        "documents_sentences": [[["0a", "Title: a"], ["0b", "Passage: masks."]], [["1a", "b"]]],
        "adherence_score": True,
        "all_relevant_sentence_keys": keys,
        "relevance_score": 0.5,
        "utilization_score": 0.25,
        "completeness_score": 0.5,
    }


@pytest.fixture
def ragbench(tmp_path):
    for subset, keys in {"covidqa": ["0a", "0b"], "cuad": ["1aa", "0b"]}.items():
        path = tmp_path / "ragbench" / subset / "test-00000-of-00001.parquet"
        write(path, pa.Table.from_pylist([response(subset, keys)]))
    return tmp_path / "ragbench"


def test_documents_with_a_relevant_sentence_are_gold_of_ragbench(ragbench):
    records = load_dataset("ragbench", ragbench)
    assert records.index.tolist() == ["covidqa:358", "cuad:358"]
    gold = [
        [texts[name] for name in relevant]
        for relevant, texts in zip(records["relevant"], records["passages"], strict=True)
    ]
    # A dictionary of gold has the order of the keys of the sentences.
    assert gold == [
        ["Title: a\nPassage: masks."],
        ["Title: b", "Title: a\nPassage: masks."],
    ]


# -- from the questions to a score


@pytest.mark.parametrize("name", ["qasper", "msmarco", "ragbench"])
def test_the_records_can_be_scored_by_the_hybrid_log_rank(name, request):
    records = load_dataset(name, request.getfixturevalue(name))
    # The gold at the ranks 2 and 4 of a list of five, or its one passage at rank 2.
    records["retrieved"] = [
        ["x", *[*(gold or {}), "y", "z"][:1], "u", *[*(gold or {}), "w", "v"][1:2], "t"]
        for gold in records["relevant"]
    ]
    scores = score(records, ["hybrid_log_rank", "recall@5"]).scores
    n_gold = [len(gold or {}) for gold in records["relevant"]]
    # By hand: recall 1, and (1 - ln 2 / ln 5 + 1 - ln 4 / ln 5) / 2 for the ranks 2 and 4;
    # datapizza's module has the same figures.
    by_number = {1: 0.5 + 0.5 * 0.5693234419266069, 2: 0.5 + 0.5 * 0.3539851628899104}
    for value, recall, n in zip(scores["hybrid_log_rank"], scores["recall@5"], n_gold, strict=True):
        if n == 0:
            assert math.isnan(value)  # a question without gold has no score
        else:
            assert recall == 1.0
            assert value == pytest.approx(by_number[n], abs=1e-12)


# -- whole copies, where they are


@pytest.mark.parametrize("name", ["ragbench", "msmarco", "qasper"])
def test_a_local_copy_of_the_whole_set_is_read(name, real_data):
    records = load_dataset(name, real_data(name), samples=200, seed=0)
    assert 0 < len(records) <= 200
    has_gold = records["relevant"].notna()
    assert has_gold.any()
    for gold, texts in zip(
        records.loc[has_gold, "relevant"], records.loc[has_gold, "passages"], strict=True
    ):
        assert gold.keys() <= texts.keys()

"""BEIR sets: folders, archives, queries with judgments beside them."""

from __future__ import annotations

import shutil

import pytest

from rageval_report.datasets import load_corpus, load_dataset
from rageval_report.errors import RagevalWarning, ReaderError
from rageval_report.records.question_sets import read_qrels

FILES = {
    "tiny/corpus.jsonl": '{"_id": "d1", "title": "Mice", "text": "Of mice."}\n',
    "tiny/queries.jsonl": '{"_id": "q1", "text": "Of what?"}\n',
    "tiny/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t2\n",
}


def test_a_folder_and_its_archive_are_one_set(beir_folder, zipped):
    files = {
        f"tiny/{path.relative_to(beir_folder).as_posix()}": path.read_text()
        for path in beir_folder.rglob("*.*")
    }
    archive = zipped(files)
    one, two = load_dataset("beir", beir_folder), load_dataset("beir", archive)
    assert (
        one.to_dict()
        == two.to_dict()
        == {"question": {"q1": "Of what?"}, "relevant": {"q1": {"d1": 2.0, "d2": 1.0}}}
    )
    assert load_corpus("beir", archive).equals(load_corpus("beir", beir_folder))


@pytest.mark.parametrize("name", ["../evil.jsonl", "/etc/evil.jsonl", "a/../../evil", "C:\\evil"])
def test_an_archive_with_names_that_lead_out_is_not_read(zipped, name):
    with pytest.raises(ReaderError, match="contains paths outside its root"):
        load_dataset("beir", zipped({**FILES, name: "{}"}))


def test_arguana(real_data):
    folder = real_data("beir_arguana_sample")
    records, corpus = load_dataset("beir", folder), load_corpus("beir", folder)
    # 150 queries, 700 documents, one relevant document a query: its README
    assert len(records) == 150
    assert len(corpus) == 700
    assert records["relevant"].map(len).eq(1).all()
    assert {one for grades in records["relevant"] for one in grades} <= set(corpus.index)


def test_nfcorpus_without_texts_has_gold_and_says_what_is_lacking(real_data):
    with pytest.warns(RagevalWarning, match="the records have no questions"):
        records = load_dataset("beir", real_data("beir_nfcorpus_qrels"))
    # 323 queries, 12,334 judgments: its README
    assert len(records) == 323
    assert records["relevant"].map(len).sum() == 12_334


def test_judgments_of_trec_and_of_beir_are_one(real_data):
    folder = real_data("beir_nfcorpus_qrels")
    texts = (folder / "qrels/test.tsv", next(folder.glob("*.trec.txt")))
    one, two = (read_qrels(path.read_text(), path.name) for path in texts)
    assert one == two


def test_queries_of_another_name_are_read_by_their_path(real_data):
    records = load_dataset("beir", real_data("mtrag_retrieval_govt/govt/govt_rewrite.jsonl"))
    assert len(records) == 201
    assert "<::>" in records.index[0]
    assert records["relevant"].map(len).max() > 1
    with pytest.raises(ReaderError, match=r"expected a corpus\.jsonl"):
        load_corpus("beir", real_data("mtrag_retrieval_govt/govt"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("q1\td1\t2\nq1\td2\n", "line 2: expected query-id"),
        ("q1\td1\t2\nq1\td2\tgood\n", "line 2: expected query-id"),
        ("q1\td1\t2\nq1\td2\tnan\n", "line 2: expected query-id"),
        ("q1\td1\t2\nq1\td1\t1\n", "line 2: 'd1' is judged twice"),
        ("query-id\tcorpus-id\tscore\n", "there are none"),
    ],
)
def test_judgments_that_cannot_be_read_are_named_by_their_line(text, told):
    with pytest.raises(ReaderError, match=told):
        read_qrels(text, "test.tsv")


def test_a_file_that_is_no_archive_and_no_set_is_refused(tmp_path):
    (tmp_path / "nfcorpus.zip").write_text("not a zip")
    with pytest.raises(ReaderError, match="expected a folder or zip archive"):
        load_dataset("beir", tmp_path / "nfcorpus.zip")


# -- the evaluation of ADR-013


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        ("corpus.jsonl", '{"_id": "d1", "title": "Mice"}', "entry 1: expected a field 'text'"),
        ("corpus.jsonl", '{"text": "Of mice."}', "entry 1: expected an '_id'"),
        ("corpus.jsonl", '{"_id": "d1", "text": null}', "entry 1: expected 'text' to be a str"),
        ("queries.jsonl", '{"_id": ["q1"], "text": "Why?"}', "entry 1: expected an '_id'"),
    ],
)
def test_a_document_or_query_without_id_or_text_is_named(beir_folder, name, line, told):
    (beir_folder / name).write_text(line + "\n")
    with pytest.raises(ReaderError, match=told) as caught:
        (load_corpus if name == "corpus.jsonl" else load_dataset)("beir", beir_folder)
    assert name in str(caught.value)


def test_a_folder_of_several_sets_is_not_taken_for_one(beir_folder, tmp_path):
    shutil.copytree(beir_folder, tmp_path / "other")
    for read in (load_dataset, load_corpus):
        with pytest.raises(ReaderError, match="expected one set; found several: 'other', 'tiny'"):
            read("beir", tmp_path)
    assert len(load_dataset("beir", tmp_path / "other")) == 1

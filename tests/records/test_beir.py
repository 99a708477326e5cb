"""BEIR sets: folders, archives, queries with judgments beside them."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

from rageval_report import score
from rageval_report.datasets import load_corpus, load_dataset
from rageval_report.errors import DataError, RagevalWarning, ReaderError
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
        == {
            "question": {"q1": "Of what?"},
            "relevant": {"q1": {"d1": 2.0, "d2": 1.0}},
        }
    )
    assert load_corpus("beir", archive).equals(load_corpus("beir", beir_folder))


def test_the_split_says_which_judgments(beir_folder):
    assert load_dataset("beir", beir_folder, split="dev").index.tolist() == ["q9"]
    with pytest.raises(ReaderError, match=r"judgments of the split 'train'.*found dev, test"):
        load_dataset("beir", beir_folder, split="train")


def test_only_some_documents_of_a_corpus_can_be_held(beir_folder):
    assert load_corpus("beir", beir_folder, ids=["d2"])["text"].to_dict() == {"d2": "Of men."}


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


def test_grades_are_those_that_pandas_reads(real_data):
    path = real_data("beir_nfcorpus_qrels/qrels/test.tsv")
    table = pd.read_csv(path, sep="\t")
    found = read_qrels(path.read_text(), path.name)
    counted = table[table["score"] == 2].groupby("query-id").size().to_dict()
    high = {query: sum(grade == 2 for grade in one.values()) for query, one in found.items()}
    assert {query: n for query, n in high.items() if n} == counted


def test_queries_of_another_name_are_read_by_their_path(real_data):
    records = load_dataset("beir", real_data("mtrag_retrieval_govt/govt/govt_rewrite.jsonl"))
    assert len(records) == 201
    assert "<::>" in records.index[0]
    assert records["relevant"].map(len).max() > 1
    with pytest.raises(ReaderError, match=r"expected a corpus\.jsonl"):
        load_corpus("beir", real_data("mtrag_retrieval_govt/govt"))


@pytest.mark.parametrize(
    "text",
    ["q1\td1\t2\n", "\nq1 0 d1 2\n\n", "query-id\tcorpus-id\tscore\nq1\td1\t2.0\n", "q1\td1\t2"],
)
def test_judgments_with_and_without_header_blank_lines_and_decimals(text):
    assert read_qrels(text, "test.tsv") == {"q1": {"d1": 2.0}}


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


def test_judged_queries_without_text_are_said(beir_folder):
    (beir_folder / "queries.jsonl").write_text('{"_id": "q9", "text": "Other?"}\n')
    with pytest.warns(RagevalWarning, match="1 judged queries have no text: 'q1'"):
        assert "question" not in load_dataset("beir", beir_folder)


def test_a_broken_line_in_an_archive_is_named(zipped):
    files = {**FILES, "tiny/queries.jsonl": '{"_id": "q1", "text": "Of what?"}\n{"_id": \n'}
    with pytest.raises(ReaderError, match=r"queries.jsonl, line 2"):
        load_dataset("beir", zipped(files))


def test_a_file_that_is_no_archive_and_no_set_is_refused(tmp_path):
    (tmp_path / "nfcorpus.zip").write_text("not a zip")
    with pytest.raises(ReaderError, match="expected a folder or zip archive"):
        load_dataset("beir", tmp_path / "nfcorpus.zip")


def test_without_path_and_subset_the_error_says_what_to_give():
    with pytest.raises(DataError, match=r"e\.g\. 'beir/nfcorpus'"):
        load_dataset("beir")


# -- the evaluation of ADR-013


def test_recall_stands_next_to_the_recall_that_can_be_reached(real_data):
    """The record's recall@10 cannot pass 0.8 where more than ten documents are expected.

    With 14, 15, 16, 20 and 21 of them it ends at 10/14, ..., 10/21, however good the ranking.
    """
    with pytest.warns(RagevalWarning, match="no questions"):
        records = load_dataset("beir", real_data("beir_nfcorpus_qrels"))
    high = records["relevant"].map(lambda grades: [one for one in grades if grades[one] == 2])
    chosen = [high[high.map(len) == n].index[0] for n in (14, 15, 16, 20, 21)]
    asked = records.loc[chosen].assign(relevant=high[chosen], retrieved=high[chosen])
    run = score(asked, ["recall@10", "reachable_recall@10"])
    assert run.scores["recall@10"].round(3).tolist() == [0.714, 0.667, 0.625, 0.5, 0.476]
    assert run.scores["reachable_recall@10"].tolist() == [1.0] * 5


def test_the_tsv_of_mtrag_gives_every_judgment(real_data):
    path = real_data("mtrag_retrieval_govt/govt")
    lines = (path / "qrels/dev.tsv").read_text().splitlines()[1:]
    found = load_dataset("beir", path / "govt_lastturn.jsonl", split="dev")
    assert found["relevant"].map(len).sum() == len([line for line in lines if line.strip()])
    lines = (path / "govt_lastturn.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["_id"] for line in lines]
    assert set(found.index) <= set(texts)


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


def test_files_that_macos_adds_to_an_archive_are_no_judgments(zipped):
    more = {"__MACOSX/tiny/qrels/._test.tsv": "x", "__MACOSX/tiny/._queries.jsonl": "x"}
    assert load_dataset("beir", zipped({**FILES, **more})).index.tolist() == ["q1"]


def test_queries_without_judgments_beside_them_are_refused_without_a_search(tmp_path):
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Why?"}')
    with pytest.raises(ReaderError, match="queries next to a folder qrels"):
        load_dataset("beir", tmp_path / "queries.jsonl")

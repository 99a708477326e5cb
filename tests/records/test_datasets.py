"""Sets of questions as their authors publish them: official files, folders, archives, the hub.

Real files where there are some; those of `sets.json` are invented, in the form of the official
files, and of rungalileo/ragbench, microsoft/ms_marco (v2.1) and allenai/qasper as Parquet, where a
list of objects is an object of lists.
"""

import copy
import json
import random
import shutil
import sys
import warnings
import zipfile
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.datasets import (
    DATASETS,
    Dataset,
    DatasetPart,
    dataset_counts,
    load_corpus,
    load_dataset,
)
from rageval_report.errors import (
    DataError,
    MissingDependencyError,
    RagevalError,
    RagevalWarning,
    ReaderError,
    UnknownNameError,
)
from rageval_report.records.question_sets import read_qrels

SETS = json.loads(Path(__file__).with_name("sets.json").read_text(encoding="utf-8"))
RAGBENCH = SETS["ragbench"]
SQUAD = "squad_v2_sample/dev-v2.0.sample.json"


def gold_texts(records):
    """The texts of the gold passages of each question."""
    pairs = zip(records["relevant"], records["passages"], strict=True)
    return [[texts[name] for name in relevant or {}] for relevant, texts in pairs]


def parquet(path, *rows):
    arrow, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    path.parent.mkdir(parents=True)
    parquet.write_table(arrow.Table.from_pylist(list(rows)), path)


# -- what each set becomes


def test_squad_keeps_every_question_and_those_without_an_answer(real_data, json_file):
    path = real_data(SQUAD)
    records, corpus = load_dataset("squad_v2", path), load_corpus("squad_v2", path)
    # 208 questions, 112 without an answer, 39 paragraphs: the counts of the sample's own README
    assert (len(records), (~records["answerable"]).sum(), len(corpus)) == (208, 112, 39)
    assert records["relevant"].notna().sum() == records["reference"].notna().sum() == 96
    told = records[records["answerable"]]
    for [text], answers in zip(gold_texts(told), told["reference"], strict=True):
        assert all(answer in text for answer in answers)
    # What might be taken for an answer is a negative reference.
    record = load_dataset("squad_v2", json_file(SETS["official"]["squad_v2"])).loc["b"]
    assert (record["negative_reference"], record["answerable"]) == (["It"], False)


def test_gold_of_hotpotqa_are_the_supporting_paragraphs(real_data):
    path = real_data("hotpotqa_sample/hotpotqa_60.json")
    records = load_dataset("hotpotqa", path)
    assert len(records) == 60
    for row in json.loads(path.read_text(encoding="utf-8")):
        record = records.loc[row["_id"]]
        assert set(record["relevant"]) == {title for title, _ in row["supporting_facts"]}
        assert set(record["relevant"]) <= set(record["passages"])
        assert (record["reference"], record["difficulty"]) == ([row["answer"]], row["level"])


def test_qasper_takes_every_annotator(real_data, tmp_path):
    path = real_data("qasper_fixture/qasper_sample_small.json")
    with pytest.warns(RagevalWarning, match="several questions have the same id"):
        records = load_dataset("qasper", path)  # the fixture gives four questions one id
    assert records.iloc[0]["reference"] == ["a vocabulary", "using seed lexicon"]
    assert gold_texts(records)[0] == ["Method paragraph using seed lexicon"]
    kinds = ["abstractive", "boolean", "unanswerable", "extractive"]
    assert records["query_type"].tolist() == kinds
    assert records["answerable"].tolist() == [True, True, False, True]
    assert records.iloc[1]["reference"] == ["Yes"]
    parquet(tmp_path / "qasper" / "validation" / "0000.parquet", SETS["paper"])
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
    parquet(
        tmp_path / "v2.1" / "validation-00000-of-00001.parquet",
        query(7, ["A bus."], [0, 1, 0], ["It is a bus."]),
        query(8, ["No Answer Present."], [0, 0]),
        query(9, ["A tram.", "A bus."], [1, 1]),
    )
    records = load_dataset("msmarco", tmp_path / below)
    assert records.index.tolist() == ["7", "8", "9"]
    answers = [["It is a bus.", "A bus."], None, ["A tram.", "A bus."]]
    assert records["reference"].tolist() == answers
    assert records["answerable"].tolist() == [True, False, True]
    assert gold_texts(records) == [["Text 7.1"], [], ["Text 9.0", "Text 9.1"]]


def test_documents_with_a_relevant_sentence_are_gold_of_ragbench(tmp_path, json_file):
    for subset, keys in {"covidqa": ["0a", "0b"], "cuad": ["1aa", "0b"]}.items():
        about = {"dataset_name": f"{subset}_test", "all_relevant_sentence_keys": keys}
        parquet(tmp_path / "hub" / subset / "test-0-of-1.parquet", {**RAGBENCH, **about})
    records = load_dataset("ragbench", tmp_path / "hub")
    assert records.index.tolist() == ["covidqa:358", "cuad:358"]
    # The gold has the order of the keys of sentences: a document and the letters in it.
    first, second = RAGBENCH["documents"]
    assert gold_texts(records) == [[first], [second, first]]
    # A response that is not supported is no reference; the same row in JSON Lines is the same.
    rows = [RAGBENCH, {**RAGBENCH, "id": "359", "adherence_score": False}]
    records = load_dataset("ragbench", json_file(rows, "test.jsonl"))
    assert records["reference"].tolist() == [["They eat."], None]
    assert records["given_response"].tolist() == ["They eat."] * 2
    assert "answer" not in records
    parquet(tmp_path / "rows" / "test.parquet", *rows)
    assert load_dataset("ragbench", tmp_path / "rows").to_dict() == records.to_dict()


def test_clapnq_with_and_without_answers(real_data):
    told = load_dataset("clapnq", real_data("clapnq_dev/clapnq_dev_answerable_first150.jsonl"))
    lost = load_dataset("clapnq", real_data("clapnq_dev/clapnq_dev_unanswerable_first150.jsonl"))
    assert len(told) == len(lost) == 150
    assert told["answerable"].all()
    assert not lost["answerable"].any()
    assert "reference" not in lost
    assert told["reference"].map(len).isin([1, 2]).all()  # as its README says
    assert told.index[-1] == "-5880045577240493755"  # no float has been near it


# -- draws


@pytest.mark.parametrize(("samples", "ratio", "n_lack"), [(40, 0.3, 12), (10, 1, 10), (9, 0, 0)])
def test_a_share_without_an_answer_can_be_asked_for(real_data, samples, ratio, n_lack):
    path = real_data(SQUAD)
    records = load_dataset("squad_v2", path, samples=samples, unanswerable_ratio=ratio)
    assert (len(records), (~records["answerable"]).sum()) == (samples, n_lack)
    everything = load_dataset("squad_v2", path).index.tolist()
    assert records.index.tolist() == [one for one in everything if one in set(records.index)]


@pytest.mark.parametrize(
    ("name", "ratio", "told"),
    [
        ("squad_v2", 0.5, r"unanswerable_ratio=0\.5: 1 questions have no answer, 0 have one"),
        ("golden", 0.5, "no question says whether it has an answer"),
        ("squad_v2", 1.5, "must be a number from 0 to 1"),
    ],
)
def test_a_share_that_cannot_be_had_is_refused(json_file, name, ratio, told):
    row = {"question": "Who?", "title": "N", "context": "A."}
    row |= {"id": "1", "answers": []} if name == "squad_v2" else {}
    with pytest.raises(DataError, match=told):
        load_dataset(name, json_file([row]), unanswerable_ratio=ratio)


ROWS = [
    {"query_id": str(n), "question": f"Question {n}?", "answerable": n % 3 > 0} for n in range(24)
]


@pytest.fixture(autouse=True)
def rows_as_a_set(monkeypatch):
    """A data set whose questions are the rows that a test sets."""
    monkeypatch.setattr(DATASETS, "_entries", dict(DATASETS._entries))


def drawn(rows, **options):
    """The questions that are drawn from these rows."""
    parts = [DatasetPart("rows", rows, dict)]
    DATASETS.add("rows", Dataset("rows", "", "", "", lambda _: parts))
    return load_dataset("rows", **options)["question"].tolist()


@given(st.permutations(ROWS), st.integers(1, 23))
@settings(max_examples=20)
def test_shuffled_rows_have_the_same_sample_in_the_order_of_the_file(shuffled, samples):
    first = drawn(ROWS, samples=samples, seed=7)
    assert first == [row["question"] for row in ROWS if row["question"] in first]
    assert sorted(drawn(shuffled, samples=samples, seed=7)) == sorted(first)
    assert len(set(first)) == samples


# -- what is none


@pytest.mark.parametrize("name", SETS["official"])
@pytest.mark.parametrize("document", [{"a": 1}, {"a": {"b": 1}}, [1, 2], [None], [{"x": 1}]])
def test_a_file_of_something_else_is_refused_with_what_was_expected(json_file, name, document):
    path = json_file(document)
    with pytest.raises(ReaderError, match="expected") as caught:
        load_dataset(name, path)
    assert str(path) in str(caught.value)


def test_a_row_a_subset_or_a_split_that_cannot_be_had_is_named(json_file):
    rows = [RAGBENCH, {**RAGBENCH, "id": 7}]
    with pytest.raises(ReaderError, match=r"question 1 .counted from 0.: expected 'id' to be a s"):
        load_dataset("ragbench", json_file(rows, "test.jsonl"))
    with pytest.raises(UnknownNameError, match=r"'covidq'.*Did you mean 'covidqa'"):
        load_dataset("ragbench/covidq", json_file([RAGBENCH]))
    for split in ("train", "test"):
        folder = json_file([RAGBENCH], f"cuad/{split}-00000-of-00001.jsonl").parent
    with pytest.raises(ReaderError, match="files of several splits: 'test', 'train'"):
        load_dataset("ragbench", folder)
    assert len(load_dataset("ragbench", folder, split="test")) == 1
    with pytest.raises(ReaderError, match="of the split 'validation'"):
        load_dataset("ragbench", folder, split="validation")


ODD = [None, True, 0, -1, 10**400, float("nan"), "", " ", "x", [], {}, [None], [[1]], {"a": None}]


def damaged(document, drawn):
    """The document with one value, at any depth, replaced or removed."""
    whole = {"": copy.deepcopy(document)}
    here, key = whole, ""
    while isinstance(here[key], dict | list) and here[key] and drawn.random() < 0.8:
        here = here[key]
        key = drawn.choice(list(here)) if isinstance(here, dict) else drawn.randrange(len(here))
    if here is not whole and drawn.random() < 0.3:
        del here[key]
    else:
        here[key] = drawn.choice(ODD)
    return whole[""]


def cut_or_changed(content, drawn):
    place = drawn.randrange(len(content))
    odd = drawn.choice([b"", b"\xff", b"\x00", b'"', b"{", b"\n", b"["])
    return content[:place] + odd + content[place + drawn.randrange(3) :]


def read_or_refused(name, path):
    """Whether the set is read; another error than ours is the test's failure."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset_counts(load_dataset(name, path))
            load_corpus(name, path)
    except RagevalError:
        return False
    return True


def write_set(name, path, change=lambda document: document):
    """The official file of a set; BEIR's are lines in an archive."""
    if name != "beir":
        path.write_text(json.dumps(change(SETS["official"][name])))
        return
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\n")
        for file, rows in SETS["beir"].items():
            archive.writestr(file, "".join(json.dumps(change(row)) + "\n" for row in rows))


@pytest.mark.parametrize("name", [*SETS["official"], "beir"])
def test_a_damaged_file_is_read_or_refused(name, tmp_path):
    chance, path, n_read = random.Random(0), tmp_path / "set.json", 0
    write_set(name, path)
    assert read_or_refused(name, path)
    for _ in range(40):
        write_set(name, path, lambda one: damaged(one, chance) if chance.random() < 0.6 else one)
        if chance.random() < 0.3:
            path.write_bytes(cut_or_changed(path.read_bytes(), chance))
        n_read += read_or_refused(name, path)
    assert 0 < n_read < 40


# -- sets through the ``datasets`` library, which a stand-in replaces: no test asks the network


class Table:
    """Rows that are counted as they are read, as those of a large table should be few."""

    def __init__(self, rows):
        self.rows, self.n_read = rows, 0

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        self.n_read += 1
        return self.rows[place]


@pytest.fixture
def library(monkeypatch):
    """A stand-in for the library that knows some tables of the hub."""
    module, tables = ModuleType("datasets"), {tuple(key): rows for key, rows in SETS["hub"]}
    module.fetched = []

    def load_dataset(path, name=None, *, split=None, revision=None):
        if (path, name, split, revision) not in tables:
            raise ValueError(f'Unknown split "{split}"')
        module.fetched.append(Table(tables[path, name, split, revision]))
        return module.fetched[-1]

    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module


def test_a_set_without_a_path_is_fetched_and_only_the_rows_that_are_drawn_are_read(library):
    assert len(load_dataset("squad_v2", samples=4)) == 4
    assert library.fetched[0].n_read == 4
    assert load_dataset("qasper", split="test")["reference"].tolist() == [["7"]]
    assert load_dataset("beir/nfcorpus")["relevant"].to_dict() == {"q1": {"d1": 2.0}}
    assert load_corpus("beir/nfcorpus").loc["d1"].tolist() == ["T", "So."]
    told = r"'dev' of rajpurkar/squad_v2.*download a copy and pass its path"
    with pytest.raises(DataError, match=told):
        load_dataset("squad_v2", split="dev")


def test_without_the_library_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingDependencyError, match="'datasets', which is not installed"):
        load_dataset("squad_v2")


# -- BEIR: folders, archives, queries with judgments beside them


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_a_folder_and_its_archive_are_one_set(beir_folder, tmp_path):
    files = {f"tiny/{p.relative_to(beir_folder)}": p.read_text() for p in beir_folder.rglob("*.*")}
    archive = zipped(tmp_path / "tiny.zip", files)
    one, two = load_dataset("beir", beir_folder), load_dataset("beir", archive)
    grades = {"q1": {"d1": 2.0, "d2": 1.0}}
    assert one.to_dict() == {"question": {"q1": "Of what?"}, "relevant": grades}
    assert two.equals(one)
    assert load_corpus("beir", archive).equals(load_corpus("beir", beir_folder))
    for name in ("../evil.jsonl", "/etc/evil.jsonl", "a/../../evil", "C:\\evil"):
        with pytest.raises(ReaderError, match="contains paths outside its root"):
            load_dataset("beir", zipped(tmp_path / "evil.zip", {**files, name: "{}"}))


def test_real_sets_have_the_counts_of_their_readmes(real_data):
    folder = real_data("beir_arguana_sample")
    records, corpus = load_dataset("beir", folder), load_corpus("beir", folder)
    # 150 queries, 700 documents, one relevant document a query
    assert (len(records), len(corpus)) == (150, 700)
    assert records["relevant"].map(len).eq(1).all()
    assert {one for grades in records["relevant"] for one in grades} <= set(corpus.index)
    folder = real_data("beir_nfcorpus_qrels")
    with pytest.warns(RagevalWarning, match="the records have no questions"):
        records = load_dataset("beir", folder)
    # 323 queries, 12,334 judgments; those of TREC are the same
    assert (len(records), records["relevant"].map(len).sum()) == (323, 12_334)
    trec = next(folder.glob("*.trec.txt"))
    assert read_qrels(trec.read_text(), trec.name) == records["relevant"].to_dict()


def test_queries_of_another_name_are_read_by_their_path(real_data):
    records = load_dataset("beir", real_data("mtrag_retrieval_govt/govt/govt_rewrite.jsonl"))
    assert len(records) == 201
    assert "<::>" in records.index[0]
    assert records["relevant"].map(len).max() > 1
    with pytest.raises(ReaderError, match=r"expected a corpus\.jsonl"):
        load_corpus("beir", real_data("mtrag_retrieval_govt/govt"))


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("qrels/test.tsv", "q1\td1\t2\nq1\td2\n", "line 2: expected query-id"),
        ("qrels/test.tsv", "q1\td1\t2\nq1\td2\tgood\n", "line 2: expected query-id"),
        ("qrels/test.tsv", "q1\td1\t2\nq1\td2\tnan\n", "line 2: expected query-id"),
        ("qrels/test.tsv", "q1\td1\t2\nq1\td1\t1\n", "line 2: 'd1' is judged twice"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", "there are none"),
        ("corpus.jsonl", '{"_id": "d1", "title": "Mice"}\n', "entry 1: expected a field 'text'"),
        ("corpus.jsonl", '{"text": "Of mice."}\n', "entry 1: expected an '_id'"),
        ("corpus.jsonl", '{"_id": "d1", "text": null}\n', "1: expected 'text' to be a str"),
        ("queries.jsonl", '{"_id": ["q1"], "text": "Why?"}\n', "entry 1: expected an '_id'"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(beir_folder, name, text, told):
    (beir_folder / name).write_text(text)
    with pytest.raises(ReaderError, match=told) as caught:
        (load_corpus if name == "corpus.jsonl" else load_dataset)("beir", beir_folder)
    assert name in str(caught.value)


def test_what_is_no_set_or_several_is_refused(beir_folder, tmp_path):
    (tmp_path / "nfcorpus.zip").write_text("not a zip")
    with pytest.raises(ReaderError, match="expected a folder or zip archive"):
        load_dataset("beir", tmp_path / "nfcorpus.zip")
    shutil.copytree(beir_folder, tmp_path / "other")
    for read in (load_dataset, load_corpus):
        with pytest.raises(ReaderError, match="expected one set; found several: 'other', 'tiny'"):
            read("beir", tmp_path)
    assert isinstance(load_dataset("beir", tmp_path / "other"), pd.DataFrame)

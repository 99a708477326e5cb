"""Sets of questions as their authors publish them.

Real files where there are some; those of MS MARCO and RAGBench are written by hand after their
public data set cards (microsoft/ms_marco and rungalileo/ragbench).
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.datasets import (
    DATASETS,
    Dataset,
    DatasetPart,
    dataset_list,
    load_corpus,
    load_dataset,
)
from rageval_report.errors import (
    DataError,
    MissingDependencyError,
    RagevalWarning,
    ReaderError,
    UnknownNameError,
)

RAGBENCH = {
    "id": "358",
    "question": "What role do macrophages play?",
    "documents": ["Title: A\nOf cells. Of mice.", "Title: B\nMacrophages eat."],
    "response": "They eat.",
    "dataset_name": "covidqa_train",
    "generation_model_name": "some-model",
    "all_relevant_sentence_keys": ["1b", "1ab"],
    "adherence_score": True,
    "relevance_score": 0.5,
}


# -- SQuAD


def test_squad_keeps_every_question_and_those_without_an_answer(real_data):
    records = load_dataset("squad_v2", real_data("squad_v2_sample/dev-v2.0.sample.json"))
    # 208 questions, 112 without an answer: the counts of the sample's own README
    assert len(records) == 208
    assert (~records["answerable"]).sum() == 112
    assert records["relevant"].notna().sum() == records["reference"].notna().sum() == 96


def test_gold_of_squad_is_the_paragraph_and_one_paragraph_has_one_id(real_data):
    path = real_data("squad_v2_sample/dev-v2.0.sample.json")
    records = load_dataset("squad_v2", path)
    for record in records[records["answerable"]].itertuples():
        [(passage, grade)] = record.relevant.items()
        assert grade == 1.0
        assert all(answer in record.passages[passage] for answer in record.reference)
    corpus = load_corpus("squad_v2", path)
    assert len(corpus) == 39  # the paragraphs, as its README says


def test_what_might_be_taken_for_an_answer_is_a_negative_reference(json_file):
    asked = {"id": "1", "question": "Who?", "answers": [], "is_impossible": True}
    asked["plausible_answers"] = [{"text": "Rollo", "answer_start": 3}]
    paragraph = {"context": "Of Rollo.", "qas": [asked]}
    path = json_file({"version": "v2.0", "data": [{"title": "N", "paragraphs": [paragraph]}]})
    record = load_dataset("squad_v2", path).loc["1"]
    assert record["negative_reference"] == ["Rollo"]
    assert not record["answerable"]


# -- HotpotQA


def test_gold_of_hotpotqa_are_the_supporting_paragraphs(real_data):
    path = real_data("hotpotqa_sample/hotpotqa_60.json")
    records = load_dataset("hotpotqa", path)
    assert len(records) == 60
    for row in json.loads(path.read_text(encoding="utf-8")):
        record = records.loc[row["_id"]]
        assert set(record["relevant"]) == {title for title, _ in row["supporting_facts"]}
        assert set(record["relevant"]) <= set(record["passages"])
        assert record["reference"] == [row["answer"]]
        assert record["difficulty"] == row["level"]


# -- Qasper


def test_qasper_takes_every_annotator(real_data):
    path = real_data("qasper_fixture/qasper_sample_small.json")
    with pytest.warns(RagevalWarning, match="several questions have the same id"):
        records = load_dataset("qasper", path)  # the fixture gives four questions one id
    first = records.iloc[0]
    assert first["reference"] == ["a vocabulary", "using seed lexicon"]
    [gold] = first["relevant"]
    assert first["passages"][gold] == "Method paragraph using seed lexicon"
    assert records["answerable"].tolist() == [True, True, False, True]
    assert records["query_type"].tolist() == [
        *("abstractive", "boolean", "unanswerable", "extractive")
    ]
    assert records.iloc[1]["reference"] == ["Yes"]


# -- RAGBench


def test_a_response_that_is_not_supported_is_no_reference(json_file):
    rows = [RAGBENCH, {**RAGBENCH, "id": "359", "adherence_score": False}]
    records = load_dataset("ragbench", json_file(rows, "test.jsonl"))
    assert records["reference"].tolist() == [["They eat."], None]
    assert records["given_response"].tolist() == ["They eat."] * 2
    assert "answer" not in records


def test_a_subset_that_does_not_exist_is_refused_with_those_that_do(json_file):
    with pytest.raises(UnknownNameError, match=r"'covidq'.*Did you mean 'covidqa'"):
        load_dataset("ragbench/covidq", json_file([RAGBENCH]))


# -- CLAP NQ


def test_clapnq_with_and_without_answers(real_data):
    told = load_dataset("clapnq", real_data("clapnq_dev/clapnq_dev_answerable_first150.jsonl"))
    lost = load_dataset("clapnq", real_data("clapnq_dev/clapnq_dev_unanswerable_first150.jsonl"))
    assert len(told) == len(lost) == 150
    assert told["answerable"].all()
    assert not lost["answerable"].any()
    assert "reference" not in lost
    assert told["reference"].map(len).isin([1, 2]).all()  # as its README says
    assert told.index[-1] == "-5880045577240493755"  # no float has been near it


# -- drawing


def test_the_seed_says_which_questions_are_drawn(real_data):
    path = real_data("hotpotqa_sample/hotpotqa_60.json")
    everything = load_dataset("hotpotqa", path).index.tolist()
    one, again, other = (
        load_dataset("hotpotqa", path, samples=10, seed=seed).index.tolist() for seed in (0, 0, 1)
    )
    assert one == again != other
    assert one != everything[:10]
    assert one == [query_id for query_id in everything if query_id in one]


@pytest.mark.parametrize(("samples", "ratio", "n_lack"), [(40, 0.3, 12), (10, 1, 10), (9, 0, 0)])
def test_a_share_without_an_answer_can_be_asked_for(real_data, samples, ratio, n_lack):
    path = real_data("squad_v2_sample/dev-v2.0.sample.json")
    records = load_dataset("squad_v2", path, samples=samples, unanswerable_ratio=ratio)
    assert len(records) == samples
    assert (~records["answerable"]).sum() == n_lack
    everything = load_dataset("squad_v2", path).index.tolist()
    assert records.index.tolist() == [one for one in everything if one in set(records.index)]


def test_a_share_that_cannot_be_had_is_refused(json_file):
    rows = [{"id": "1", "question": "Who?", "title": "N", "context": "A.", "answers": []}]
    with pytest.raises(
        DataError,
        match=r"cannot reach unanswerable_ratio=0\.5: 1 questions have no answer, 0 have one",
    ):
        load_dataset("squad_v2", json_file(rows), unanswerable_ratio=0.5)
    asked = [{"question": "Who?"}, {"question": "When?"}]
    with pytest.raises(DataError, match="no question says whether it has an answer"):
        load_dataset("golden", json_file(asked), unanswerable_ratio=0.5)
    with pytest.raises(DataError, match="must be a number from 0 to 1"):
        load_dataset("squad_v2", json_file(rows), unanswerable_ratio=1.5)


# -- what is none


@pytest.mark.parametrize(
    "name", ["squad_v2", "hotpotqa", "msmarco", "qasper", "ragbench", "clapnq"]
)
@pytest.mark.parametrize("document", [{"a": 1}, {"a": {"b": 1}}, [1, 2], [None], [{"x": 1}]])
def test_a_file_of_something_else_is_refused_with_what_was_expected(json_file, name, document):
    path = json_file(document)
    with pytest.raises(ReaderError, match="expected") as caught:
        load_dataset(name, path)
    assert str(path) in str(caught.value)


def test_a_row_that_lacks_a_field_is_named(json_file):
    rows = [RAGBENCH, {**RAGBENCH, "id": 7}]
    with pytest.raises(
        ReaderError, match=r"question 1 .counted from 0.: expected 'id' to be a str"
    ):
        load_dataset("ragbench", json_file(rows, "test.jsonl"))


def test_a_folder_with_several_splits_asks_which(json_file):
    for split in ("train", "test"):
        folder = json_file([RAGBENCH], f"cuad/{split}-00000-of-00001.jsonl").parent
    with pytest.raises(ReaderError, match="files of several splits: 'test', 'train'"):
        load_dataset("ragbench", folder)
    assert len(load_dataset("ragbench", folder, split="test")) == 1
    with pytest.raises(ReaderError, match="of the split 'validation'"):
        load_dataset("ragbench", folder, split="validation")


def test_parquet_is_read_as_json_lines_are(tmp_path, json_file):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").Table.from_pylist([RAGBENCH])
    parquet.write_table(table, tmp_path / "test.parquet")
    one = load_dataset("ragbench", tmp_path / "test.parquet")
    assert one.to_dict() == load_dataset("ragbench", json_file([RAGBENCH], "a.jsonl")).to_dict()


def test_warnings_point_at_the_line_that_called(tmp_path):
    rows = [{"_id": "a", "question": f"Who is {name}?", "answer": name} for name in ("Ann", "Bo")]
    (tmp_path / "hotpot.json").write_text(json.dumps(rows), encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("q\ta\t1\n", encoding="utf-8")
    for name, path in (("hotpotqa", tmp_path / "hotpot.json"), ("beir", tmp_path)):
        with pytest.warns(RagevalWarning) as caught:
            load_dataset(name, path, samples=9)
        assert {warning.filename for warning in caught} == {__file__}


# -- samples of a data set: the same questions in whichever order a file has them


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
def test_shuffled_rows_have_the_same_sample(shuffled, samples):
    first = sorted(drawn(ROWS, samples=samples, seed=7))
    assert sorted(drawn(shuffled, samples=samples, seed=7)) == first
    assert len(set(first)) == samples


def test_every_row_is_drawn_about_equally_often():
    counts = {row["question"]: 0 for row in ROWS}
    for seed in range(100):
        for question in drawn(ROWS, samples=6, seed=seed):
            counts[question] += 1
    # Binomial(100, 1/4): mean 25, standard deviation 4.33; five of them on either side.
    assert max(abs(count - 25) for count in counts.values()) < 5 * 4.33


@pytest.mark.parametrize("seed", [0, 1])
def test_a_shuffled_file_gives_the_same_questions(seed):
    rows = [{"_id": f"h{n}", "question": f"Question {n}?", "answer": "Ann"} for n in range(40)]
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "a.json"), Path(folder, "b.json")
        first.write_text(json.dumps(rows))
        second.write_text(json.dumps(rows[::-1]))
        ids = [
            set(load_dataset("hotpotqa", path, samples=8, seed=seed).index)
            for path in (first, second)
        ]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 8


# -- sets through the ``datasets`` library, which a stand-in replaces: no test asks the network


TABLES = {
    ("rajpurkar/squad_v2", "squad_v2", "validation", None): [
        {
            "id": str(n),
            "title": "T",
            "context": f"Context {n}.",
            "question": f"What is {n}?",
            "answers": {"text": [str(n)] if n % 2 else [], "answer_start": [0] if n % 2 else []},
        }
        for n in range(20)
    ],
    ("allenai/qasper", "qasper", "test", "refs/convert/parquet"): [
        {
            "id": "p1",
            "title": "T",
            "full_text": {"section_name": ["A"], "paragraphs": [["It is 7."]]},
            "qas": {
                "question": ["How much?"],
                "question_id": ["a"],
                "answers": [
                    {
                        "answer": [
                            {
                                "unanswerable": False,
                                "extractive_spans": ["7"],
                                "yes_no": None,
                                "free_form_answer": "",
                                "evidence": ["It is 7."],
                            }
                        ],
                        "annotation_id": ["x"],
                    }
                ],
            },
        }
    ],
    ("BeIR/nfcorpus", "queries", "queries", None): [{"_id": "q1", "title": "", "text": "Why?"}],
    ("BeIR/nfcorpus", "corpus", "corpus", None): [{"_id": "d1", "title": "T", "text": "So."}],
    ("BeIR/nfcorpus-qrels", None, "test", None): [
        {"query-id": "q1", "corpus-id": "d1", "score": 2}
    ],
}


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
    """A stand-in for the library that knows the tables above."""
    module = ModuleType("datasets")
    module.fetched = []

    def load_dataset(path, name=None, *, split=None, revision=None):
        if (path, name, split, revision) not in TABLES:
            raise ValueError(f'Unknown split "{split}"')
        module.fetched.append(Table(TABLES[path, name, split, revision]))
        return module.fetched[-1]

    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module


def test_a_set_without_a_path_is_fetched_and_only_the_rows_that_are_drawn_are_read(library):
    records = load_dataset("squad_v2", samples=4)
    assert len(records) == 4
    assert library.fetched[0].n_read == 4


def test_a_beir_set_is_put_together_from_three_tables(library):
    assert load_dataset("beir/nfcorpus")["relevant"].to_dict() == {"q1": {"d1": 2.0}}
    assert load_corpus("beir/nfcorpus").loc["d1"].tolist() == ["T", "So."]


def test_what_cannot_be_fetched_is_said_with_what_to_do(library):
    with pytest.raises(
        DataError, match=r"'dev' of rajpurkar/squad_v2.*download a copy and pass its path"
    ):
        load_dataset("squad_v2", split="dev")


def test_without_the_library_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingDependencyError, match="'datasets', which is not installed"):
        load_dataset("squad_v2")


def test_every_set_has_a_licence_a_size_and_a_sentence():
    frame = dataset_list()
    assert frame["dataset"].tolist() == list(DATASETS)
    for column in ("licence", "questions", "holds"):
        assert frame[column].str.strip().ne("").all(), column

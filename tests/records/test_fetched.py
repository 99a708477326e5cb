"""Sets through the ``datasets`` library, which a stand-in replaces: no test asks the network."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from rageval_report.datasets import DATASETS, dataset_list, load_corpus, load_dataset
from rageval_report.errors import DataError, MissingDependencyError

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

"""Files that were damaged at random are read or refused, never with an error that is not ours."""

from __future__ import annotations

import copy
import json
import random
import warnings
import zipfile

import pytest

from rageval_report.datasets import dataset_counts, load_corpus, load_dataset
from rageval_report.errors import RagevalError

_ANSWER = {"unanswerable": False, "free_form_answer": "42", "evidence": ["It is 42."]}
SETS = {
    "squad_v2": {
        "data": [
            {
                "title": "T",
                "paragraphs": [
                    {
                        "context": "It is 42.",
                        "qas": [
                            {
                                "id": "a",
                                "question": "How much?",
                                "answers": [{"text": "42", "answer_start": 6}],
                                "is_impossible": False,
                            },
                            {
                                "id": "b",
                                "question": "Why?",
                                "answers": [],
                                "plausible_answers": [{"text": "It", "answer_start": 0}],
                                "is_impossible": True,
                            },
                        ],
                    }
                ],
            }
        ]
    },
    "hotpotqa": [
        {
            "_id": "a",
            "question": "Which?",
            "answer": "42",
            "type": "bridge",
            "level": "hard",
            "supporting_facts": [["T", 0]],
            "context": [["T", ["It is 42.", " So."]], ["U", ["No."]]],
        }
    ],
    "msmarco": {
        "query_id": {"0": 1},
        "query": {"0": "how much"},
        "query_type": {"0": "NUMERIC"},
        "answers": {"0": ["42"]},
        "wellFormedAnswers": {"0": "[]"},
        "passages": {"0": [{"is_selected": 1, "passage_text": "It is 42."}]},
    },
    "qasper": {
        "p1": {
            "title": "T",
            "full_text": [{"section_name": "S", "paragraphs": ["It is 42."]}],
            "qas": [
                {"question": "How much?", "question_id": "a", "answers": [{"answer": _ANSWER}]}
            ],
        }
    },
    "ragbench": [
        {
            "id": "1",
            "question": "How much?",
            "documents": ["It is 42.", "No."],
            "response": "42",
            "dataset_name": "cuad_test",
            "all_relevant_sentence_keys": ["0a"],
            "adherence_score": True,
        }
    ],
    "clapnq": [
        {
            "id": "1",
            "input": "How much?",
            "passages": [{"title": "T", "text": "It is 42."}],
            "output": [{"answer": "42"}],
        }
    ],
}
BEIR = {
    "corpus.jsonl": [{"_id": "d1", "title": "T", "text": "It is 42."}],
    "queries.jsonl": [{"_id": "q1", "text": "How much?"}],
}
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


@pytest.mark.parametrize("name", SETS)
def test_a_damaged_file_is_read_or_refused(name, tmp_path):
    drawn, path, read = random.Random(0), tmp_path / "set.json", 0
    path.write_text(json.dumps(SETS[name]))
    assert read_or_refused(name, path)
    for _ in range(40):
        content = json.dumps(damaged(SETS[name], drawn)).encode()
        path.write_bytes(cut_or_changed(content, drawn) if drawn.random() < 0.3 else content)
        read += read_or_refused(name, path)
    assert 0 < read < 40


def test_a_damaged_beir_set_is_read_or_refused(tmp_path):
    drawn, path, read = random.Random(0), tmp_path / "set.zip", 0
    for _ in range(40):
        files = {
            name: "".join(json.dumps(damaged(row, drawn)) + "\n" for row in rows)
            if drawn.random() < 0.5
            else "".join(json.dumps(row) + "\n" for row in rows)
            for name, rows in BEIR.items()
        }
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\n")
            for name, text in files.items():
                archive.writestr(name, text)
        if drawn.random() < 0.3:
            path.write_bytes(cut_or_changed(path.read_bytes(), drawn))
        read += read_or_refused("beir", path)
    assert 0 < read < 40

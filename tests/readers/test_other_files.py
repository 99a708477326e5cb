"""Files without scores: what they are is named, and the calls in the message work on the file."""

from __future__ import annotations

import json
import pathlib
import re

import pandas
import pytest

from rageval_report import load_dataset, read_scores, score
from rageval_report.datasets import load_corpus
from rageval_report.errors import ReaderError
from rageval_report.readers.record_files import read_records

# The names that the calls in messages use.
NAMES = {
    "load_dataset": load_dataset,
    "load_corpus": load_corpus,
    "read_records": read_records,
    "score": score,
    "pandas": pandas,
    "pathlib": pathlib,
    "json": json,
}
CALL = re.compile(r"(?:documents|records): ((?:load_dataset|load_corpus|read_records)\(.*?\))\. ")


def refusal(path, **options):
    with pytest.raises(ReaderError) as caught:
        read_scores(path, **options)
    return str(caught.value)


def tables(message):
    """The results of the calls in a message."""
    calls = CALL.findall(message)
    assert calls, message
    return [eval(call, dict(NAMES)) for call in calls]


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


PASSAGES = [{"is_selected": 1, "passage_text": "Oslo is a city."}]
SQUAD = {"title": "Oslo", "context": "Oslo is a city.", "question": "What is Oslo?"}
ARTICLE = {"title": "A", "paragraphs": [{"context": "A is b.", "qas": []}]}
ARTICLE["paragraphs"][0]["qas"] = [
    {"id": "1", "question": "What is A?", "answers": [{"text": "b", "answer_start": 5}]}
]

# Each set in several spellings: the publisher's own, that of the `datasets` library, other files.
SETS = {
    "squad of the datasets library": (
        "a.jsonl",
        lines({"id": "5", **SQUAD, "answers": {"text": ["a city"], "answer_start": [8]}}),
        'load_dataset("squad_v2"',
    ),
    "squad with a property that is no score": (
        "b.jsonl",
        lines(
            {"id": "5", **SQUAD, "answers": [], "is_impossible": True},
            {"id": "6", **SQUAD, "answers": [{"text": "a city"}], "is_impossible": False},
        ),
        'load_dataset("squad_v2"',
    ),
    "squad 1.1": (
        "c.json",
        json.dumps({"version": "1.1", "data": [ARTICLE]}),
        'load_dataset("squad_v2"',
    ),
    "ms marco by lines": (
        "d.jsonl",
        lines(*({"query_id": n, "query": "q?", "passages": PASSAGES, "answers": ["a"],
                 "query_type": "NUMERIC", "wellFormedAnswers": []} for n in range(12))),
        'load_dataset("msmarco"',
    ),
    "ms marco by columns": (
        "e.json",
        json.dumps({"query": {"0": "q?"}, "query_id": {"0": 7}, "passages": {"0": PASSAGES},
                    "answers": {"0": ["a"]}, "wellFormedAnswers": {"0": "[]"}}),
        'load_dataset("msmarco"',
    ),
    "hotpotqa of the datasets library": (
        "f.jsonl",
        lines({"id": "a", "question": "q?", "answer": "yes", "type": "bridge", "level": "hard",
               "supporting_facts": {"title": ["A"], "sent_id": [0]},
               "context": {"title": ["A"], "sentences": [["s."]]}}),
        'load_dataset("hotpotqa"',
    ),
    "2wikimultihopqa, in the form of hotpotqa": (
        "g.json",
        json.dumps([{"_id": "a", "type": "comparison", "question": "q?", "answer": "no",
                     "context": [["A", ["s."]]], "supporting_facts": [["A", 0]],
                     "evidences": [["A", "is", "b"]]}]),
        'load_dataset("hotpotqa"',
    ),
    "clap nq": (
        "i.jsonl",
        lines({"id": "1", "input": "q?", "passages": [{"title": "A", "text": "x"}],
               "output": [{"answer": "x"}]}),
        'load_dataset("clapnq"',
    ),
    "a golden set with a number that is no score": (
        "j.jsonl",
        lines(*({"query_id": f"g{n}", "question": f"{n}?", "expected_answer": "a", "difficulty": n}
                for n in (1, 2, 4))),
        'load_dataset("golden"',
    ),
    "a golden set of our own": (
        "my golden set.json",
        json.dumps([{"query_id": "g", "question": "q?", "references": ["a"],
                     "relevant": {"d1": 1}}]),
        'load_dataset("golden"',
    ),
    "gold in a table": ("k.csv", "question,ground_truth\nWho?,Ann\nWhen?,Now\n", "read_records("),
    "gold in lines": (
        "l.jsonl",
        lines({"qid": "a", "query": "q?", "gold_ids": ["d1"], "is_answerable": True}),
        "read_records(",
    ),
    "questions alone": ("m.tsv", "query_id\tquestion\nq1\tWho?\nq2\tWhen?\n", "read_records("),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text", "call"), SETS.values(), ids=SETS)
def test_a_set_of_questions_is_named_and_the_call_loads_it(tmp_path, name, text, call):
    path = tmp_path / name
    path.write_text(text)
    message = refusal(path)
    assert call in message, message
    assert "rageval-report eval --" in message
    [table] = tables(message)
    assert table["question"].str.strip().str.endswith("?").all()
    assert len(table)
    # The same contents without a path have the same kind; the call says `path`.
    assert "this is a" in refusal(path.read_bytes())


# Qasper's fixture repeats an id of its own.
@pytest.mark.filterwarnings("ignore:several questions have the same id")
@pytest.mark.parametrize(
    "pattern",
    [
        "hotpotqa_sample/*.json",
        "clapnq_dev/*.jsonl",
        "squad_v2_sample/dev*.json",
        "cognee_memory_hotpotqa/hotpot*.json",
        "continuous_eval_fixtures/invalid.jsonl",
    ],
)
def test_the_calls_work_on_public_files(real_data, pattern):
    folder, _, rest = pattern.partition("/")
    files = sorted(real_data(folder).glob(rest))
    assert files
    for path in files:
        assert all(len(table) for table in tables(refusal(path)))


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": "d1", "contents": "Oslo is a city."}],
        [{"docid": "d1", "title": "Oslo", "text": "Oslo is a city."}],
        # Haystack's documents, as `Document.to_dict` gives them, nested and flat
        [{"id": "d1", "content": "Oslo", "blob": None, "meta": {"name": "a.md"}, "score": None}],
        [{"id": f"d{n}", "content": "Oslo", "embedding": None, "page_number": n} for n in (1, 3)],
    ],
)
def test_a_corpus_is_no_list_of_queries(rows):
    message = refusal(lines(*rows).encode())
    assert "this is a corpus" in message
    assert "--qrels QRELS" in message


def test_judgments_of_beir_are_passed_beside_a_ranking(real_data):
    qrels = real_data("beir_arguana_sample") / "qrels" / "test.tsv"
    message = refusal(qrels)
    assert "If the file holds the judgments, pass them beside a ranking" in message
    query, document = qrels.read_text().splitlines()[1].split("\t")[:2]
    run = f"{query} Q0 {document} 1 0.9 t\n".encode()
    [evaluation] = read_scores(run, qrels=qrels, metrics=["ndcg@10"]).values()
    assert evaluation.scores["ndcg@10"].max() == 1


def test_a_file_with_scores_beside_the_gold_is_read(tmp_path):
    path = tmp_path / "scored.jsonl"
    path.write_text(lines(*({"query_id": n, "question": "q?", "references": ["a"], "recall@5": 0.5}
                            for n in "ab")))  # fmt: skip
    [evaluation] = read_scores(path).values()
    assert list(evaluation.scores) == ["recall@5"]


def test_a_number_of_a_gold_set_is_a_metric_if_somebody_says_so(tmp_path):
    path = tmp_path / "golden.jsonl"
    path.write_text(SETS["a golden set with a number that is no score"][1])
    [evaluation] = read_scores(path, roles={"difficulty": "metric"}).values()
    assert evaluation.scores["difficulty"].tolist() == [1, 2, 4]

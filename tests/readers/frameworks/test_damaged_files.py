"""Damaged files of these frameworks: a right answer or an error of our own, never another's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from damage import EDITS, VALUES, damage_settings, edited, is_read_or_refused, places_in, with_part
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.readers.frameworks.autorag import AUTORAG
from rageval_report.readers.frameworks.inspector_raget import INSPECTOR_RAGET
from rageval_report.readers.frameworks.ragbench import RAGBENCH
from rageval_report.readers.frameworks.ragchecker import RAGCHECKER
from rageval_report.readers.frameworks.tonic_validate import TONIC_VALIDATE
from rageval_report.readers.frameworks.trec_eval import PYTREC_EVAL, TREC_EVAL
from rageval_report.readers.long import LONG
from rageval_report.readers.rankings import RANKINGS

GOLDEN = Path(__file__).parents[2] / "golden"
LONG_TABLE = (
    "query_id,system,metric,value,status,reason,epoch,topic\n"
    "q1,a,mrr,0.5,ok,fine,1,x\nq1,a,mrr,83 %,ok,,2,x\nq2,b,f1,,failed,timeout,1,y\n"
)
OUTPUT = "map\t301\t0.0324\nrelstring\t301\t'01'\nP_5\t302\t0.2\nmap\tall\t0.1\nrunid\tall\ta b\n"
RAGET = {
    "models": [{"model_id": "gpt"}],
    "metrics": [
        {"name": "tone", "type": "categorical", "values": [{"value": "1", "numeric_value": 1}]},
        {"name": "length", "type": "numerical", "range": [0, 9, 1], "order": "descending"},
        {"name": "tone_reason", "type": "text"},
    ],
    "documents": [{"document_id": "d", "text": "one"}],
    "tasks": [{"task_id": "t", "input": [{"text": "why"}], "contexts": [{"document_id": "d"}]}],
    "results": [
        {
            "task_id": "t",
            "model_id": "gpt",
            "output": [{"role": "assistant", "content": "so"}],
            "scores": {
                "tone": {"a": {"value": "1"}, "b": {"value": "N/A"}},
                "length": {"system": {"value": 12}},
                "tone_reason": {"a": {"value": "flat"}},
            },
        }
    ],
}


def golden(name):
    return (GOLDEN / name).read_bytes()


def small(name, key, n=2):
    """A document of which one list is cut short."""
    document = json.loads(golden(name))
    document[key] = document[key][:n]
    return document


DOCUMENTS = [
    (RAGCHECKER, small("ragchecker/results.json", "results")),
    (TONIC_VALIDATE, small("tonic_validate/run.json", "run_data")),
    (RAGBENCH, json.loads(golden("ragbench/run.json"))),
    (RAGBENCH, json.loads(golden("ragbench/run_without_ids.json"))),
    (RAGBENCH, small("ragbench/run_samples.json", "samples")),
    (INSPECTOR_RAGET, RAGET),
    (PYTREC_EVAL, {"q1": {"map": 0.5, "P_5": 0.2}, "q2": {"map": 1}}),
    (
        LONG,
        [{"query_id": "a", "run": "x", "metric": "m", "value": 1, "error": None, "epoch": 1}] * 2,
    ),
    (RANKINGS, {"q1": {"d1": 0.5}, "q2": {"d2": 1}}),
    (RANKINGS, {"ndcg": {"NDCG@10": 0.5}, "map": {"MAP@10": 0.25}}),
]
TEXTS = [
    *((reader, json.dumps(document).encode()) for reader, document in DOCUMENTS),
    (LONG, LONG_TABLE.encode()),
    (TREC_EVAL, OUTPUT.encode()),
    (RANKINGS, b"q1 Q0 d1 1 0.9 a\nq1 Q0 d2 2 0.5 a\n"),
    (TONIC_VALIDATE, b"reference_question,reference_answer,llm_answer,x\nWhy?,So.,['a'],4\n"),
    (AUTORAG, golden("autorag/0/retrieve_node_line/lexical_retrieval/summary.csv")),
]
FAST = damage_settings(200)


@FAST
@given(st.sampled_from(TEXTS), EDITS)
def test_a_file_with_changed_bytes_is_read_or_refused(tmp_path_factory, case, edits):
    reader, content = case
    path = tmp_path_factory.mktemp("bytes") / "run"
    path.write_bytes(edited(content, edits))
    assert is_read_or_refused(path, reader)


@FAST
@given(st.sampled_from(DOCUMENTS), st.data(), VALUES)
def test_a_document_with_a_changed_part_is_read_or_refused(tmp_path_factory, case, data, part):
    reader, document = case
    place = data.draw(st.sampled_from(list(places_in(document))))
    path = tmp_path_factory.mktemp("parts") / "run"
    path.write_text(json.dumps(with_part(document, place, part)))
    assert is_read_or_refused(path, reader)


def test_a_module_of_autorag_with_changed_bytes_is_read_or_refused(tmp_path):
    pytest.importorskip("pyarrow")
    content = golden("autorag/0/retrieve_node_line/lexical_retrieval/best_1.parquet")
    for place in range(0, len(content), 199):
        (tmp_path / "run").write_bytes(content[:place] + b"\xa5" + content[place + 1 :])
        assert is_read_or_refused(tmp_path / "run", AUTORAG)


@pytest.mark.parametrize(("reader", "content"), TEXTS)
def test_a_file_that_ends_early_is_read_or_refused(tmp_path, reader, content):
    for end in range(1, len(content), max(1, len(content) // 25)):
        (tmp_path / "run").write_bytes(content[:end])
        assert is_read_or_refused(tmp_path / "run", reader)

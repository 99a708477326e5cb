"""Damaged files: a right answer or an error of our own, never another library's traceback."""

from __future__ import annotations

import gzip
import io
import json

import pandas as pd
import pytest
from damage import EDITS, VALUES, damage_settings, edited, is_read_or_refused, places_in, with_part
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.readers import READERS

TABLE = 'query_id,answer,recall,mrr\nq1,"a ""b""\nc",0.5,1\n002,None,,0.25\nq3,"x, y",NA,1\n'
RECORDS = [
    {"query_id": "q1", "recall": 0.5, "metrics": {"f1": {"score": 0.5, "reason": "half"}}},
    {"query_id": 2, "recall": None, "metrics": {"f1": {"score": 1}}},
]
PROMPTFOO = {
    "results": {
        "prompts": [{"provider": "gpt"}],
        "results": [
            {
                "provider": {"id": "gpt"},
                "prompt": {"raw": "why", "label": "{{question}}"},
                "vars": {"question": "why"},
                "response": {"output": "so", "tokenUsage": {"total": 5}},
                "success": True,
                "score": 1,
                "namedScores": {"f1": 0.5},
                "gradingResult": {"componentResults": [{"named_scores": {"mrr": 1}}]},
            }
        ],
    }
}
RAGET = {
    "models": [{"model_id": "gpt"}],
    "metrics": [{"name": "tone", "type": "categorical", "values": [{"value": "1"}]}],
    "documents": [{"document_id": "d", "text": "one"}],
    "tasks": [{"task_id": "t", "input": [{"text": "why"}], "contexts": [{"document_id": "d"}]}],
    "evaluations": [
        {"task_id": "t", "model_id": "gpt", "annotations": {"tone": {"a": {"value": "1"}}}}
    ],
}
DOCUMENTS = [RECORDS, PROMPTFOO, RAGET, json.loads(pd.DataFrame(RECORDS).to_json(orient="split"))]


def parquet_bytes():
    buffer = io.BytesIO()
    pd.DataFrame({"query_id": ["a", "b"], "recall": [0.5, None]}).to_parquet(buffer)
    return buffer.getvalue()


FILES = [
    TABLE.encode(),
    TABLE.replace(",", ";").replace("0.5", "0,5").encode(),
    TABLE.replace(",", "\t").encode("utf-16"),
    gzip.compress(TABLE.encode()),
    "\n".join(map(json.dumps, RECORDS)).encode(),
    *(json.dumps(document).encode() for document in DOCUMENTS),
]
FAST = damage_settings(40)


@FAST
@given(st.sampled_from(FILES), EDITS, st.none() | st.sampled_from(list(READERS)))
def test_a_file_with_changed_bytes_is_read_or_refused(tmp_path, content, edits, reader):
    path = tmp_path / "run"
    path.write_bytes(edited(content, edits))
    assert is_read_or_refused(path, reader)


def test_a_parquet_file_with_changed_bytes_is_read_or_refused(tmp_path):
    pytest.importorskip("pyarrow")
    content = parquet_bytes()
    path = tmp_path / "run"
    for place in range(0, len(content), 31):
        path.write_bytes(content[:place] + b"\xa5" + content[place + 1 :])
        assert is_read_or_refused(path, None)


@FAST
@given(st.sampled_from(DOCUMENTS), st.data(), VALUES, st.sampled_from([None, "json"]))
def test_a_document_with_a_changed_part_is_read_or_refused(tmp_path, document, data, part, reader):
    path = data.draw(st.sampled_from(list(places_in(document))))
    (tmp_path / "run").write_text(json.dumps(with_part(document, path, part)))
    assert is_read_or_refused(tmp_path / "run", reader)

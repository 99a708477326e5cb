"""Files of records, read back as they were written; figures by hand."""

import json

import pandas as pd
import pytest

from rageval_report import read_records, score
from rageval_report.errors import ReaderError, UnknownNameError

ROWS = [
    {"query_id": "a", "question": "[Who]?", "retrieved": ["d1", "d2"], "relevant": {"d2": 1}},
    {"query_id": "b", "question": "Why?", "retrieved": [], "relevant": {}},
]


@pytest.fixture
def files(write):
    frame = pd.DataFrame(ROWS)
    texts = frame.assign(**{name: frame[name].map(repr) for name in ("retrieved", "relevant")})
    return {
        "jsonl": write("\n".join(map(json.dumps, ROWS)), "records.jsonl"),
        "json": write(json.dumps(ROWS), "records.json"),
        "csv": write(texts.to_csv(index=False), "records.csv"),
    }


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv"])
def test_records_are_the_same_from_any_file(files, kind):
    records = read_records(files[kind])
    assert records["retrieved"].tolist() == [["d1", "d2"], []]
    assert records["relevant"].tolist() == [{"d2": 1.0}, {}]
    assert records["question"].tolist() == ["[Who]?", "Why?"]
    # Nothing is relevant to the second question, so that the metric does not apply to it.
    assert score(records, ["mrr"]).states["mrr"].tolist() == ["scored", "not applicable"]
    assert score(records, ["mrr"], no_relevant="zero").scores["mrr"].tolist() == [0.5, 0.0]


def test_what_is_wrong_is_told_with_the_file(write):
    with pytest.raises(ReaderError, match=r"run\.jsonl: .*answerable"):
        read_records(write('{"query_id": "a", "answerable": "perhaps"}', "run.jsonl"))
    with pytest.raises(ReaderError, match="expected a table of records; this looks like HTML"):
        read_records(write("<html>"))
    with pytest.raises(UnknownNameError, match="no reader of tables is named 'cvs'"):
        read_records(write("a,b\n1,2\n"), reader="cvs")


def test_public_records_without_scores_are_read(real_data):
    records = read_records(real_data("continuous_eval_fixtures/retrieval_sm.jsonl"))
    assert {"question", "contexts"} <= set(records)
    assert records["contexts"].map(len).min() > 0

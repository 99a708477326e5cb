"""A small run with its judgments, and the forms that rankings come in."""

import pandas as pd
import pytest


@pytest.fixture
def run():
    return {"q1": {"a": 0.9, "b": 0.8, "c": 0.7}, "q2": {"b": 0.5, "d": 0.4}}


@pytest.fixture
def qrels():
    return {"q1": {"b": 1, "c": 2}, "q2": {"d": 1, "b": 0}}


@pytest.fixture(scope="session")
def frame_of():
    """A table of query, document and number as a tidy frame."""

    def frame_of(table, number):
        rows = [(query, doc, x) for query, docs in table.items() for doc, x in docs.items()]
        return pd.DataFrame(rows, columns=["query_id", "doc_id", number])

    return frame_of


@pytest.fixture
def write_run(tmp_path):
    """Write a TREC run, and tell where."""

    def write_run(run, name="run"):
        path = tmp_path / name
        rows = ((query, doc, x) for query, docs in run.items() for doc, x in docs.items())
        path.write_text("".join(f"{query} Q0 {doc} 1 {x!r} tag\n" for query, doc, x in rows))
        return path

    return write_run


@pytest.fixture
def write_qrels(tmp_path):
    """Write TREC judgments, and tell where."""

    def write_qrels(qrels, name="qrels"):
        path = tmp_path / name
        rows = ((query, doc, x) for query, docs in qrels.items() for doc, x in docs.items())
        path.write_text("".join(f"{query} 0 {doc} {x}\n" for query, doc, x in rows))
        return path

    return write_qrels

"""SQLite: the same evaluation as from CSV, reading only, writing in one transaction."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, inspect, read_scores
from rageval_report.errors import DataError, ReaderError, UnknownNameError

ROWS = [
    ("007", 0.1, 1, "1.50", "2026-01-02", None),
    ("008", None, 0, "yes, it is", None, "α"),
    ("09", 2 / 3, 1, "", "2026-01-03", 'a "b"'),
]
NAMES = ["query_id", "recall", "exact_match", "answer", "day", "topic"]


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "scores.db"
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE scores (query_id TEXT, recall REAL, exact_match INTEGER, answer TEXT, "
        "day TEXT, topic TEXT)"
    )
    connection.executemany("INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    connection.execute("CREATE TABLE empty (query_id TEXT, recall REAL)")
    connection.execute("CREATE TABLE numbered (id INTEGER, mrr REAL)")
    connection.executemany("INSERT INTO numbered VALUES (?, ?)", [(1, 0.5), (2, 1)])
    connection.commit()
    connection.close()
    return path


@pytest.fixture
def evaluation():
    data = pd.DataFrame(ROWS, columns=NAMES).assign(
        contexts=[["x", "y"], [], None], is_new=[True, False, True], rank=[3, 1, 2]
    )
    return RAGPipelineEvaluation(
        "hybrid", data, correct=("recall", 0.5), config={"top_k": 5}, created="2026-08-01"
    )


def test_a_table_is_read_as_the_same_csv(database, tmp_path):
    path = tmp_path / "scores.csv"
    pd.DataFrame(ROWS, columns=NAMES).to_csv(path, index=False)
    of_table = RAGPipelineEvaluation.load(None, f"sqlite:///{database}?table=scores")
    of_file = RAGPipelineEvaluation.load(None, path)
    pd.testing.assert_frame_equal(of_table.scores, of_file.scores)
    assert of_table.metrics == of_file.metrics
    blank = of_table.details.replace("", np.nan)  # CSV has one form for blank and for NULL
    blank = blank.where(blank.notna(), np.nan)  # pandas 2 keeps None in columns of texts
    pd.testing.assert_frame_equal(blank, of_file.details)
    assert of_table.name == "scores"


def test_integer_ids_are_texts_and_a_query_chooses_rows(database):
    [numbered] = read_scores(f"sqlite:///{database}?table=numbered").values()
    assert numbered.scores.index.tolist() == ["1", "2"]
    query = "SELECT query_id, recall FROM scores WHERE topic LIKE '%b%' OR recall < 0.2"
    [chosen] = read_scores(f"sqlite:///{database}?query={query}").values()
    assert chosen.scores["recall"].to_dict() == {"007": 0.1, "09": 2 / 3}


def test_inspect_says_where_the_rows_come_from(database):
    shown = inspect(f"sqlite:///{database}?table=scores")
    assert "3 rows of table 'scores'" in shown.notes
    assert shown.notes[0] == "read as frame (rows of a database): a database returns rows"


WRITES = (
    *("DELETE FROM scores", "INSERT INTO scores VALUES (1,1,1,1,1,1)", "DROP TABLE scores"),
    *("CREATE TABLE x (a)", "ATTACH 'other.db' AS o", "PRAGMA user_version=3", "VACUUM"),
    "SELECT 1; DELETE FROM scores",
)


@pytest.mark.parametrize("query", WRITES)
def test_a_query_that_writes_is_refused(database, query):
    before = database.read_bytes()
    with pytest.raises(ReaderError, match=r"must only read|one statement at a time"):
        read_scores(f"sqlite:///{database}?query={query}")
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("?table=score", r"no table 'score'. Did you mean 'scores'\? Tables: it has 'scores'"),
        ("", r"name a table, \?table=NAME, or a query.*; it has 'scores', 'empty', 'numbered'"),
        ("?table=empty", "the table has no rows; its columns are 'query_id', 'recall'"),
        ("?query=SELECT * FROM scores WHERE 0", "the query returned no rows"),
        ("?query=SELECT recall FROM scores", "no column holds query ids"),
        ("?query=SELECT a.query_id, b.query_id FROM scores a, scores b", "several columns named"),
        ("?query=SELEC 1", "SQLite says"),
        ("?tabel=scores", r"no parameter is named 'tabel'. Did you mean 'table'\?"),
        ("?table=scores&query=SELECT 1", "a table or a query, not both"),
    ],
)
def test_a_wrong_address_is_refused_with_what_is_expected(database, tail, message):
    with pytest.raises(ReaderError, match=message):
        read_scores(f"sqlite:///{database}{tail}")


def test_a_missing_file_is_not_made(tmp_path):
    with pytest.raises(ReaderError, match="there is no file"):
        read_scores(f"sqlite:///{tmp_path}/none.db?table=scores")
    assert list(tmp_path.iterdir()) == []


def test_a_scheme_that_is_not_known_is_refused():
    with pytest.raises(UnknownNameError, match=r"'sqlit'. Did you mean 'sqlite'\?"):
        read_scores("sqlit:///a.db?table=scores")


def test_a_saved_table_reads_back_as_the_same_evaluation(evaluation, tmp_path):
    address = f"sqlite:///{tmp_path}/out.db?table=hybrid"
    assert evaluation.save(address) == address
    back = RAGPipelineEvaluation.load(None, address)
    pd.testing.assert_frame_equal(back.scores, evaluation.scores)
    pd.testing.assert_frame_equal(back.details, evaluation.details)
    assert (back.name, back.config, back.created) == ("hybrid", {"top_k": 5}, evaluation.created)
    assert back.metrics == evaluation.metrics
    assert dict(back.evaluation_report()) == dict(evaluation.evaluation_report())


def test_other_programs_read_the_table(evaluation, tmp_path):
    evaluation.save(f"sqlite:///{tmp_path}/out.db?table=hybrid")
    connection = sqlite3.connect(tmp_path / "out.db")
    rows = connection.execute("SELECT query_id, recall, avg(exact_match) OVER () FROM hybrid")
    assert rows.fetchall() == [("007", 0.1, 2 / 3), ("008", None, 2 / 3), ("09", 2 / 3, 2 / 3)]
    connection.close()


def test_a_table_is_replaced_only_on_request(evaluation, tmp_path):
    address = f"sqlite:///{tmp_path}/out.db?table=hybrid"
    evaluation.save(address)
    with pytest.raises(ReaderError, match="the table 'hybrid' exists; pass overwrite=True"):
        evaluation.with_name("other").save(address)
    assert RAGPipelineEvaluation.load(None, address).name == "hybrid"
    evaluation.with_name("other").save(address, overwrite=True)
    assert RAGPipelineEvaluation.load(None, address).name == "other"


def test_a_table_that_cannot_be_written_leaves_nothing(evaluation, tmp_path):
    rows = {"query_id": ["q1"], "recall": [1.0], "topic": ["a"], "TOPIC": ["b"]}
    odd = RAGPipelineEvaluation("odd", rows)  # names of columns that are one to SQLite
    with pytest.raises(DataError, match="SQLite says: duplicate column name"):
        odd.save(f"sqlite:///{tmp_path}/out.db?table=odd")
    assert list(tmp_path.iterdir()) == []
    address = f"sqlite:///{tmp_path}/out.db?table=hybrid"
    evaluation.save(address)
    with pytest.raises(DataError):
        odd.save(address, overwrite=True)
    assert RAGPipelineEvaluation.load(None, address).name == "hybrid"


def test_a_source_of_another_package_is_a_line_in_the_table(monkeypatch, database):
    from rageval_report.sources import SOURCES

    monkeypatch.setitem(SOURCES._entries, "mine", SOURCES["sqlite"])
    assert list(read_scores(f"mine:///{database}?table=scores")) == ["scores"]

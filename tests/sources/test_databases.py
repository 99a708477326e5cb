"""SQLite, DuckDB and a PostgreSQL server: the same evaluation as from CSV."""

import decimal
import sqlite3

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, inspect, read_scores
from rageval_report._registry import load
from rageval_report.errors import (
    MissingDependencyError,
    ReaderError,
    UnknownNameError,
)
from rageval_report.sources import SOURCES

ROWS = [
    ("007", 0.1, True, "1.50", "2026-01-02", decimal.Decimal("0.25"), 3),
    ("008", None, False, "yes, it is", None, decimal.Decimal(1), 1),
    ("09", 2 / 3, True, "α", "2026-01-03", None, 2),
]
NAMES = ["query_id", "recall", "exact_match", "answer", "day", "precision", "rank"]
TABLE = """CREATE TABLE scores (query_id TEXT, recall DOUBLE PRECISION, exact_match BOOLEAN,
answer TEXT, day DATE, "precision" NUMERIC(5, 2), rank BIGINT)"""


def fill_sqlite(tmp_path, postgresql):
    path = tmp_path / "scores.db"
    connection = sqlite3.connect(path)
    connection.execute(TABLE)
    rows = [[float(c) if isinstance(c, decimal.Decimal) else c for c in row] for row in ROWS]
    connection.executemany("INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.execute("CREATE TABLE blank (query_id TEXT, recall REAL)")
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


def fill_duckdb(tmp_path, postgresql):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "scores.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(TABLE)
        connection.executemany("INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?, ?)", ROWS)
        connection.execute("CREATE TABLE blank (query_id TEXT, recall DOUBLE PRECISION)")
    return f"duckdb:///{path}"


def fill_postgresql(tmp_path, postgresql):
    address, psycopg = postgresql
    with psycopg.connect(address) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
        connection.execute(TABLE)
        marks = ", ".join(["%s"] * len(NAMES))
        connection.cursor().executemany(f"INSERT INTO scores VALUES ({marks})", ROWS)
        connection.execute("CREATE TABLE blank (query_id TEXT, recall DOUBLE PRECISION)")
    return address


FILLS = {"sqlite": fill_sqlite, "duckdb": fill_duckdb, "postgresql": fill_postgresql}


@pytest.fixture(params=FILLS)
def database(request, tmp_path):
    """The address of a database with a table of scores, without the question mark."""
    server = request.getfixturevalue("postgresql") if request.param == "postgresql" else None
    return FILLS[request.param](tmp_path, server)


def test_a_table_is_read_as_the_same_csv(database, tmp_path):
    path = tmp_path / "scores.csv"
    pd.DataFrame(ROWS, columns=NAMES).to_csv(path, index=False)
    of_table = RAGPipelineEvaluation.load(None, f"{database}?table=scores")
    of_file = RAGPipelineEvaluation.load(None, path)
    pd.testing.assert_frame_equal(of_table.scores, of_file.scores)
    details = of_table.details.where(of_table.details.notna(), np.nan)  # pandas 2 keeps None
    pd.testing.assert_frame_equal(details, of_file.details)
    assert of_table.metrics == of_file.metrics
    assert of_table.scores.loc["007", "precision"] == 0.25


def test_a_query_chooses_rows(database):
    query = "SELECT query_id, recall FROM scores WHERE answer LIKE '%s%' OR recall < 0.2"
    [chosen] = read_scores(f"{database}?query={query}").values()
    assert chosen.scores["recall"].fillna(-1).to_dict() == {"007": 0.1, "008": -1}


def test_a_query_with_its_own_filter_gives_the_same_numbers_as_sql(database):
    mean = "SELECT 'all' AS query_id, avg(recall) AS recall FROM scores"
    [by_sql] = read_scores(f"{database}?query={mean}", totals="keep").values()
    [scores] = read_scores(f"{database}?table=scores").values()
    assert scores.get_aggregated_scores("recall") == pytest.approx(by_sql.scores.iloc[0, 0])


WRITES = (
    *("DROP TABLE scores", "CREATE TABLE x (a INT)", "SELECT 1; DELETE FROM scores"),
    *("COMMIT; DROP TABLE scores", "COPY scores TO '/tmp/never'", ""),
)


REFUSED = "must only read|multiple commands|one statement at a time|syntax error|returned no rows"


@pytest.mark.parametrize("query", WRITES)
def test_a_query_that_is_more_than_one_select_is_refused(database, query):
    with pytest.raises(ReaderError, match=REFUSED):
        read_scores(f"{database}?query={query}")
    assert len(read_scores(f"{database}?table=scores")["scores"].scores) == 3


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("?table=score", r"no table 'score'. Did you mean 'scores'\?"),
        ("", r"name a table, \?table=NAME, or a query"),
        ("?table=blank", "the table has no rows; its columns are 'query_id', 'recall'"),
        ("?query=SELECT recall FROM scores", "no column holds query ids"),
        ("?table=scores&query=SELECT 1", "a table or a query, not both"),
        ("?tabel=scores", r"no parameter is named 'tabel'. Did you mean 'table'\?"),
    ],
)
def test_a_wrong_address_is_refused_with_what_is_expected(database, tail, message):
    with pytest.raises(ReaderError, match=message):
        read_scores(f"{database}{tail}")


def test_the_password_is_in_no_message_note_or_title(postgresql, tmp_path):
    address = fill_postgresql(tmp_path, postgresql)
    password = "w%C3%B6rd", "wörd"
    shown = [str(inspect(f"{address}?table=scores"))]
    shown += RAGPipelineEvaluation.load("x", f"{address}?table=scores").notes
    wrong = [
        f"{address}?table=nope",
        f"{address.replace('eva:', 'adam:')}?table=scores",
        f"{address}?table=scores&sslmode=nope",
        f"{address.replace('127.0.0.1:', '127.0.0.1:1')}?table=scores",
        f"{address.replace('%3A', ':').replace('%2F', '/').replace('%40', '@')}?table=scores",
    ]
    for text in wrong:
        with pytest.raises(ReaderError) as caught:
            read_scores(text)
        shown += [str(caught.value), repr(caught.value.__cause__)]
    assert not [text for text in shown for part in password if part in text]


def test_a_table_of_another_schema_is_named_with_it(postgresql, tmp_path):
    address = fill_postgresql(tmp_path, postgresql)
    _, psycopg = postgresql
    with psycopg.connect(address) as connection:
        connection.execute("DROP SCHEMA IF EXISTS rag CASCADE")
        connection.execute("CREATE SCHEMA rag")
        connection.execute("CREATE TABLE rag.runs AS SELECT * FROM scores")
    [run] = read_scores(f"{address}?table=rag.runs").values()
    assert run.n_queries == 3


@pytest.mark.parametrize("scheme", ["duckdb:///{}", "postgresql://u@localhost/x#{}"])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, tmp_path, scheme):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("importlib.import_module", missing)
    extra = scheme.partition(":")[0]
    package = {"duckdb": "duckdb", "postgresql": "psycopg"}[extra]
    with pytest.raises(MissingDependencyError, match=rf"rageval-report\[{extra}\]"):
        load(package)


# -- SQLite


def test_integer_ids_are_texts_and_a_title_says_where_the_rows_come_from(tmp_path):
    path = tmp_path / "numbered.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE numbered (id INTEGER, mrr REAL)")
    connection.executemany("INSERT INTO numbered VALUES (?, ?)", [(1, 0.5), (2, 1)])
    connection.commit()
    connection.close()
    [numbered] = read_scores(f"sqlite:///{path}").values()
    assert numbered.scores.index.tolist() == ["1", "2"]
    shown = inspect(f"sqlite:///{path}")
    assert "2 rows of table 'numbered'" in shown.notes


@pytest.mark.parametrize("query", ["ATTACH 'other.db' AS o", "PRAGMA user_version=3", "VACUUM"])
def test_a_query_of_sqlite_that_writes_is_refused(tmp_path, query):
    address = fill_sqlite(tmp_path, None)
    with pytest.raises(ReaderError, match=r"must only read"):
        read_scores(f"{address}?query={query}")


def test_a_missing_file_is_not_made(tmp_path):
    with pytest.raises(ReaderError, match="there is no file"):
        read_scores(f"sqlite:///{tmp_path}/none.db?table=scores")
    assert list(tmp_path.iterdir()) == []


def test_scores_are_not_written_to_a_database(tmp_path):
    run = RAGPipelineEvaluation("run", {"query_id": ["a"], "recall": [1.0]})
    with pytest.raises(ReaderError, match="saved to a file"):
        run.save(f"sqlite:///{tmp_path}/out.db?table=run")


def test_schemes_are_a_table(monkeypatch, tmp_path):
    with pytest.raises(UnknownNameError, match=r"'sqlit'. Did you mean 'sqlite'\?"):
        read_scores("sqlit:///a.db?table=scores")
    monkeypatch.setitem(SOURCES._entries, "mine", SOURCES["sqlite"])
    address = fill_sqlite(tmp_path, None).replace("sqlite", "mine", 1)
    assert list(read_scores(f"{address}?table=scores")) == ["scores"]

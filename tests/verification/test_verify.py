"""`verify` names every damaged file, line, row and query, and changes nothing."""

from __future__ import annotations

import json
import re
import sqlite3
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval_report import RAGPipelineEvaluation, verify
from rageval_report.cli import rageval_report
from rageval_report.errors import DataError
from rageval_report.judges import Cache, Message, Reply
from rageval_report.judges.chats import as_chat
from rageval_report.judges.ledger import Ledger
from rageval_report.records.golden_drafts import ReplyJournal
from rageval_report.runner import collect_answers

RUN = RAGPipelineEvaluation(
    "hybrid", {"query_id": ["a", "b"], "recall": [0.5, 1.0], "topic": ["x", "y"]}
)
QUERIES = [{"query_id": "a", "question": "Why?"}, {"query_id": "b", "question": "How?"}]


ASKED: list[str] = []


def answer_query(question):
    ASKED.append(question)
    return f"{question} So."


@pytest.fixture
def folder(tmp_path):
    """One file of every kind."""
    RUN.save(tmp_path / "monday.json")
    RUN.save(tmp_path / "table.csv")
    RUN.save(tmp_path / "table.jsonl")
    RUN.save(tmp_path / "table.parquet")
    collect_answers(QUERIES, answer_query, tmp_path / "run")
    with Cache(tmp_path / "judges.sqlite") as cache:
        cache.put(b"k1", Reply("8/10"), judge="tone", model="m")
        cache.put(b"k2", Reply("2/10"), judge="tone", model="m")
    ledger = Ledger(1.0, tmp_path / "judges.sqlite.spending")
    assert ledger.reserve(600)
    ledger.settle(600, 1234)
    ledger.close()
    with ReplyJournal(tmp_path / "replies.jsonl").open(as_chat(lambda text: text)) as ask:
        ask(Message("one"))
        ask(Message("two"))
    return tmp_path


def replace_in(path, old, new):
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


def damage_in(path):
    result = verify(path)
    [row] = result.frame.to_dict("records")
    assert result.is_whole == (row["state"] != "damaged")
    return row["kind"], row["state"], row["damage"]


def test_a_folder_of_every_kind_is_whole(folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = verify(folder)
    assert result.is_whole
    assert set(result.frame["state"]) == {"whole"}
    assert result.frame["kind"].tolist() == [
        "cache of judges",
        "ledger of a budget",
        "run file",
        "journal of replies",
        "journal of a run",
        "records of a run",
        "summary of a run",
        "table of scores",
        "description of a table",
        "table of scores",
        "table of scores",
    ]
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_line_of_a_journal_is_named_with_its_query(folder):
    path = folder / "run" / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines, 1) if b'"b"' in line and n > 1)
    replace_in(path, b"How? So", b"Who? So")
    damage = f"line {number} (query 'b') is damaged"
    assert damage_in(path) == ("journal of a run", "damaged", damage)


def test_lines_that_are_missing_at_the_end_are_found_by_the_summary(folder):
    path = folder / "run" / "journal.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    assert damage_in(path)[2] == "line 3 is missing"


def test_a_line_that_is_cut_is_found(folder):
    path = folder / "replies.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    assert damage_in(path) == ("journal of replies", "damaged", "the last line is cut")


def test_a_reply_is_found_by_its_line(folder):
    replace_in(folder / "replies.jsonl", b'"two"', b'"six"')
    assert damage_in(folder / "replies.jsonl")[2] == "line 2 is damaged"


def test_a_row_of_a_cache_is_named_by_its_key(folder):
    replace_in(folder / "judges.sqlite", b"8/10", b"9/10")
    kind, state, damage = damage_in(folder / "judges.sqlite")
    assert (kind, state) == ("cache of judges", "damaged")
    assert damage == "the reply with the key 6b31 (judge 'tone') is damaged"


def change_ledger(folder, statement):
    database = sqlite3.connect(folder / "judges.sqlite.spending")
    with database:
        database.execute(statement)
    database.close()


def test_a_run_of_a_ledger_is_named(folder):
    change_ledger(folder, "UPDATE runs SET spent = 1000")
    found = ("ledger of a budget", "damaged", "run 1 is damaged")
    assert damage_in(folder / "judges.sqlite.spending") == found


def test_a_run_that_is_missing_in_a_ledger_is_found(folder):
    change_ledger(folder, "DELETE FROM runs")
    assert damage_in(folder / "judges.sqlite.spending")[2] == "run 1 is missing"


def test_a_ledger_that_a_killed_run_left_in_a_transaction_is_whole(folder):
    path = folder / "judges.sqlite.spending"
    killed = sqlite3.connect(path, isolation_level=None)
    killed.execute("PRAGMA cache_size = 1")
    killed.execute("PRAGMA cache_spill = 1")
    killed.execute("BEGIN IMMEDIATE")
    killed.execute("UPDATE runs SET spent = 7")
    copy = folder / "copy.spending"
    copy.write_bytes(path.read_bytes())
    journal = path.with_name(f"{path.name}-journal")
    (folder / "copy.spending-journal").write_bytes(journal.read_bytes())
    killed.close()
    before = {name: (folder / name).read_bytes() for name in ("copy.spending-journal",)}
    assert damage_in(copy) == ("ledger of a budget", "whole", "")
    assert before == {"copy.spending-journal": (folder / "copy.spending-journal").read_bytes()}


@pytest.mark.parametrize("place", [0, 20, 64, 100, 4096])
def test_a_damaged_page_of_a_ledger_is_damage(folder, place):
    path = folder / "judges.sqlite.spending"
    data = bytearray(path.read_bytes())
    data[place : place + 40] = b"\xff" * 40
    path.write_bytes(bytes(data))
    assert damage_in(path)[:2] == ("ledger of a budget", "damaged")


@pytest.mark.parametrize("place", [0, 20, 100, 4096])
def test_a_damaged_page_of_a_cache_is_damage(folder, place):
    path = folder / "judges.sqlite"
    data = bytearray(path.read_bytes())
    data[place : place + 40] = b"\xff" * 40
    path.write_bytes(bytes(data))
    assert damage_in(path)[:2] == ("cache of judges", "damaged")


def test_a_query_of_a_run_file_is_named(folder):
    replace_in(folder / "monday.json", b'"recall": 1.0', b'"recall": 0.9')
    assert damage_in(folder / "monday.json") == ("run file", "damaged", "query 'b' is damaged")


def test_damage_beside_the_queries_of_a_run_file_is_named(folder):
    replace_in(folder / "monday.json", b'"name": "hybrid"', b'"name": "hibrid"')
    assert damage_in(folder / "monday.json")[2] == "what it says beside its queries is damaged"


@pytest.mark.parametrize("name", ["monday.json", "run/run.json", "table.csv.meta.json"])
def test_a_document_that_is_cut_is_damaged(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:-20])
    assert damage_in(path)[1] == "damaged"


def test_a_table_and_its_description_are_checked(folder):
    replace_in(folder / "table.csv", b"0.5", b"0.7")
    replace_in(folder / "table.csv.meta.json", b'"recall"', b'"racall"')
    result = verify(folder / "table.csv", folder / "table.csv.meta.json")
    assert result.frame["state"].tolist() == ["damaged", "damaged"]


@pytest.mark.parametrize(
    ("change", "damage"),
    [
        (lambda rows: [rows[0], rows[1].replace(b"1.0", b"0.9")], "query 'b' is damaged, or was"),
        (lambda rows: rows[:1], "1 of 2 rows are missing"),
        (lambda rows: [*rows, rows[1].replace(b'"b"', b'"c"')], "query 'c' is damaged, or was"),
        (lambda rows: [row.replace(b'"topic": "', b'"t": "') for row in rows], "columns 'topic'"),
        (lambda rows: [*rows[1:], rows[0].replace(b"hybrid", b"hybrld")], "its description cannot"),
        (lambda rows: [rows[0].replace(b'"rageval_report":', b'"rageval":'), rows[1]], "0 descr"),
        (lambda rows: [rows[0], rows[1][:-5]], "line 2"),
    ],
)
def test_rows_of_json_lines_that_changed_are_damage(folder, change, damage):
    path = folder / "table.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    kind, state, found = damage_in(path)
    assert (kind, state) == ("table of scores", "damaged")
    assert damage in found


def test_rows_of_json_lines_in_another_order_are_whole(folder):
    path = folder / "table.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[::-1]))
    assert damage_in(path) == ("table of scores", "whole", "")


def test_a_page_of_a_parquet_file_that_changed_is_damage(folder):
    replace_in(folder / "table.parquet", struct.pack("<d", 0.5), struct.pack("<d", 0.7))
    kind, state, found = damage_in(folder / "table.parquet")
    assert (kind, state) == ("table of scores", "damaged")
    assert "CRC" in found


def test_a_parquet_file_that_another_program_wrote_anew_is_not_protected(folder):
    import pyarrow.parquet as pq

    path = folder / "table.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    assert damage_in(path) == ("table of scores", "not protected", "")


def test_records_that_changed_are_damaged(folder):
    [path] = (folder / "run").glob("records.*")
    path.write_bytes(path.read_bytes() + b" ")
    assert "resume the run to write it again" in damage_in(path)[2]


def test_files_of_earlier_versions_are_listed_as_not_protected(folder):
    document = json.loads((folder / "monday.json").read_text())
    old = {key: value for key, value in document.items() if "digest" not in key}
    (folder / "monday.json").write_text(json.dumps(old))
    assert damage_in(folder / "monday.json") == ("run file", "not protected", "")
    (folder / "replies.jsonl").write_text('{"key": "a", "reply": "b"}\n')
    assert damage_in(folder / "replies.jsonl")[:2] == ("journal of replies", "not protected")
    old_cache = sqlite3.connect(folder / "judges.sqlite")
    with old_cache:
        old_cache.execute("ALTER TABLE replies DROP COLUMN digest")
    old_cache.close()
    assert damage_in(folder / "judges.sqlite") == ("cache of judges", "not protected", "")


def test_other_files_are_counted_in_a_folder_and_listed_where_they_are_named(folder):
    (folder / "notes.txt").write_text("mine")
    result = verify(folder)
    assert result.notes == ("1 files of other kinds were not checked: 'notes.txt'",)
    assert damage_in(folder / "notes.txt")[1] == "not protected"


def test_a_path_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(DataError, match="there is no such file or folder"):
        verify(tmp_path / "gone")
    with pytest.raises(DataError, match="needs at least one path"):
        verify()


def test_a_damaged_query_is_unscored_and_the_others_are_kept(folder):
    replace_in(folder / "monday.json", b'"recall": 1.0', b'"recall": 0.9')
    loaded = RAGPipelineEvaluation.load(None, folder / "monday.json")
    assert loaded.scores["recall"].fillna(-1).to_dict() == {"a": 0.5, "b": -1}
    assert loaded.notes[0].startswith("Doubt: the run file is damaged: 1 of 2 queries")
    assert "'b'" in loaded.notes[0]


def test_a_damaged_journal_is_asked_again_for_the_lost_query_alone(folder):
    replace_in(folder / "run" / "journal.jsonl", b"How? So", b"Who? So")
    ASKED.clear()
    finished = collect_answers(QUERIES, answer_query, folder / "run", resume=True)
    assert ASKED == ["How?"]
    assert "journal.jsonl is damaged: line" in " ".join(finished.notes)
    assert finished.n_answered == 2


def run_command(*arguments):
    return CliRunner().invoke(rageval_report, ["verify", *map(str, arguments)])


def test_the_command_ends_with_one_if_something_is_damaged(folder):
    assert run_command(folder).exit_code == 0
    replace_in(folder / "monday.json", b'"recall": 1.0', b'"recall": 0.9')
    done = run_command(folder)
    assert done.exit_code == 1
    assert "monday.json: query 'b' is damaged" in done.output.replace("\n      ", " ")


def test_the_command_without_a_file_or_with_a_wrong_one_ends_with_two(tmp_path):
    assert run_command().exit_code == 2
    assert run_command(tmp_path / "gone").exit_code == 2


def test_the_example_of_the_page_runs(capsys):
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    exec(compile(example, "reliability.md", "exec"), {})
    assert capsys.readouterr().out == "True ['whole']\n"

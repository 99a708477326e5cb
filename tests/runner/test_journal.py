"""The journal: what was appended is there, whatever happened to the file afterwards."""

from __future__ import annotations

import os
import threading

import pytest

from rageval_report.errors import ReaderError
from rageval_report.runner.run_journal import RunJournal

HEADER = {"id": "a", "asked": {"seed": 0}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "journal.jsonl"


def write_entries(path, n=3, total=5):
    with RunJournal(path, HEADER, total) as journal:
        for row in range(n):
            journal.append({"row": row, "query_id": f"q{row}", "answer": f"answer {row}"})


def test_the_last_of_several_entries_counts(path):
    with RunJournal(path, HEADER, 1) as journal:
        journal.append({"row": 0, "query_id": "a", "error": "timeout"})
        assert (len(journal.failed), journal.n_done) == (1, 1)
        journal.append({"row": 0, "query_id": "a", "answer": "at last"})
        assert (len(journal.failed), journal.n_done) == (0, 1)
    with RunJournal(path, HEADER, 1) as journal:
        assert journal.entry(0)["answer"] == "at last"


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_line_that_was_cut_by_a_kill_is_dropped_and_the_rest_kept(path, cut):
    write_entries(path)
    path.write_bytes(path.read_bytes()[:-cut])
    with RunJournal(path, HEADER, 5) as journal:
        assert journal.is_cut
        assert journal.n_done == 2
        journal.append({"row": 2, "query_id": "q2", "answer": "again"})
    with RunJournal(path, HEADER, 5) as journal:
        assert (journal.is_cut, journal.n_done) == (False, 3)


def test_another_file_is_no_journal(path):
    path.parent.mkdir()
    path.write_text('{"query_id": "a"}\n')
    with pytest.raises(ReaderError, match="expected a journal"):
        RunJournal(path, HEADER, 5)


def test_threads_append_whole_lines(path):
    with RunJournal(path, HEADER, 400) as journal:

        def work(first):
            for row in range(first, 400, 8):
                journal.append({"row": row, "query_id": str(row), "answer": "x" * row})

        threads = [threading.Thread(target=work, args=(first,)) for first in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(len(journal.entry(row)["answer"]) == row for row in range(400))


# -- damage

ASKED = {"id": "a", "asked": {"seed": 0, "the pipeline": {"url": "x"}}}


@pytest.fixture
def sealed(path):
    """The lines of a journal: q0 answered, q1 failed, q2 answered, q1 answered at last."""
    with RunJournal(path, ASKED, 3) as journal:
        journal.append({"row": 0, "query_id": "q0", "answer": "A0"})
        journal.append({"row": 1, "query_id": "q1", "error": "timeout"})
        journal.append({"row": 2, "query_id": "q2", "answer": "A2"})
        journal.append({"row": 1, "query_id": "q1", "answer": "A1"})
    return path.read_bytes().splitlines(keepends=True)


def read_answers(path, lines, header=ASKED):
    path.write_bytes(b"".join(lines))
    with RunJournal(path, header, 3) as journal:
        entries = [journal.entry(row) or {} for row in range(3)]
        return [entry.get("answer") for entry in entries], journal.damage


@pytest.mark.parametrize("line", [1, 2, 3, 4])
def test_a_damaged_line_costs_its_query_alone(path, sealed, line):
    spoilt = [*sealed[:line], sealed[line].replace(b"query_id", b"quary_id"), *sealed[line + 1 :]]
    answers, damage = read_answers(path, spoilt)
    expected = {1: [None, "A1", "A2"], 2: ["A0", "A1", "A2"], 3: ["A0", "A1", None]}
    assert answers == expected.get(line, ["A0", None, "A2"])
    assert damage == [f"line {line + 1} is damaged"]


def test_a_failure_that_a_lost_line_may_have_replaced_is_asked_again(path, sealed):
    spoilt = [*sealed[:4], b"x" * 20 + b"\n", *sealed[3:4]]
    with RunJournal(path, ASKED, 3):
        pass
    path.write_bytes(b"".join(spoilt))
    with RunJournal(path, ASKED, 3) as journal:
        assert sorted(journal.entries) == [0, 2]


def test_a_damaged_first_line_costs_nothing_if_the_same_is_asked(path, sealed):
    answers, damage = read_answers(path, [sealed[0].replace(b'"x"', b'"y"'), *sealed[1:]])
    assert answers == ["A0", "A1", "A2"]
    assert damage == ["line 1, which says what was asked, is damaged"]


def test_lines_that_are_cut_off_are_known_by_their_number(path, sealed):
    path.write_bytes(b"".join(sealed[:3]))
    with RunJournal(path, ASKED, 3) as journal:
        assert sorted(journal.entries) == [0, 1]
        journal.expect_lines(5)
        assert journal.damage == ["2 of 5 lines are missing"]
        # The failure may have had an answer in a line that is cut off.
        assert sorted(journal.entries) == [0]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_journal_is_its_owners_alone(path):
    write_entries(path)
    assert path.stat().st_mode & 0o777 == 0o600

"""The journal: what was appended is there, whatever happened to the file afterwards."""

from __future__ import annotations

import os
import threading

import pytest

from rageval_report.errors import DataError, ReaderError
from rageval_report.runner.run_journal import RunJournal

HEADER = {"id": "a", "asked": {"seed": 0}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "journal.jsonl"


def write_entries(path, n=3, total=5):
    with RunJournal(path, HEADER, total) as journal:
        for row in range(n):
            journal.append({"row": row, "query_id": f"q{row}", "answer": f"answer {row}"})


def test_what_was_appended_is_there_when_it_is_opened_again(path):
    write_entries(path)
    with RunJournal(path, HEADER, 5) as journal:
        assert journal.done.tolist() == [True, True, True, False, False]
        assert journal.entry(1)["answer"] == "answer 1"
        assert journal.entry(4) is None


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


def test_a_header_that_was_cut_is_written_anew(path):
    write_entries(path, n=0)
    path.write_bytes(path.read_bytes()[:-9])
    write_entries(path)
    with RunJournal(path, HEADER, 5) as journal:
        assert journal.n_done == 3


def test_what_was_asked_otherwise_is_named(path):
    write_entries(path)
    with pytest.raises(DataError, match="different settings: seed"):
        RunJournal(path, {"asked": {"seed": 1}}, 5)


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
        assert journal.done.tolist() == [True, False, True]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 2), (0, 1, 4, 3, 2)])
def test_a_line_that_was_copied_or_moved_does_not_replace_an_answer(path, sealed, order):
    answers, _ = read_answers(path, [sealed[place] for place in order])
    assert answers == ["A0", "A1", "A2"]


def test_lines_of_another_run_are_never_taken(path, sealed, tmp_path):
    other = tmp_path / "other.jsonl"
    with RunJournal(other, {"id": "b", "asked": {"seed": 1}}, 3) as journal:
        journal.append({"row": 0, "query_id": "q0", "answer": "of another pipeline"})
    foreign = other.read_bytes().splitlines(keepends=True)[1]
    answers, damage = read_answers(path, [sealed[0], foreign, *sealed[2:]])
    assert answers == [None, "A1", "A2"]
    assert damage == ["line 2 is damaged"]


def test_a_damaged_first_line_costs_nothing_if_the_same_is_asked(path, sealed):
    answers, damage = read_answers(path, [sealed[0].replace(b'"x"', b'"y"'), *sealed[1:]])
    assert answers == ["A0", "A1", "A2"]
    assert damage == ["line 1, which says what was asked, is damaged"]


def test_a_damaged_first_line_is_an_error_if_something_else_is_asked(path, sealed):
    spoilt = [sealed[0].replace(b'"x"', b'"y"'), *sealed[1:]]
    with pytest.raises(ReaderError, match="line 1: expected a journal of format 3"):
        read_answers(path, spoilt, {"asked": {"seed": 0, "the pipeline": {"url": "y"}}})
    assert path.read_bytes() == b"".join(spoilt)


def test_lines_that_are_cut_off_are_known_by_their_number(path, sealed):
    path.write_bytes(b"".join(sealed[:3]))
    with RunJournal(path, ASKED, 3) as journal:
        assert journal.done.tolist() == [True, True, False]
        journal.expect_lines(5)
        assert journal.damage == ["2 of 5 lines are missing"]
        # The failure may have had an answer in a line that is cut off.
        assert journal.done.tolist() == [True, False, False]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_journal_is_its_owners_alone(path):
    write_entries(path)
    assert path.stat().st_mode & 0o777 == 0o600

"""The journal: what was appended is there, whatever happened afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        assert [journal.has(row) for row in range(5)] == [True, True, True, False, False]
        assert journal.entry(1)["answer"] == "answer 1"
        assert journal.entry(4) is None


def test_an_entry_is_in_the_file_before_append_returns(path):
    with RunJournal(path, HEADER, 1) as journal:
        journal.append({"row": 0, "query_id": "a", "answer": "here"})
        assert json.loads(path.read_text().splitlines()[-1])["answer"] == "here"


def test_the_last_of_several_entries_counts(path):
    with RunJournal(path, HEADER, 1) as journal:
        journal.append({"row": 0, "query_id": "a", "error": "timeout"})
        assert (journal.n_failed, journal.n_done) == (1, 1)
        journal.append({"row": 0, "query_id": "a", "answer": "at last"})
        assert (journal.n_failed, journal.n_done) == (0, 1)
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


def test_a_line_that_is_broken_in_the_middle_is_told_by_its_number(path):
    write_entries(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"what?\n", *lines[2:]]))
    with RunJournal(path, HEADER, 5) as journal:
        assert journal.damage == ["line 3 is damaged"]
        assert journal.done.tolist() == [True, True, True, False, False]


def test_what_was_asked_otherwise_is_named(path):
    write_entries(path)
    with pytest.raises(DataError, match="different settings: seed"):
        RunJournal(path, {"asked": {"seed": 1}}, 5)


def test_another_file_is_no_journal(path):
    path.parent.mkdir()
    path.write_text('{"query_id": "a"}\n')
    with pytest.raises(ReaderError, match="expected a journal"):
        RunJournal(path, HEADER, 5)


def test_two_runs_do_not_write_one_journal(path):
    with (
        RunJournal(path, HEADER, 5),
        pytest.raises(DataError, match="another run is writing this file"),
    ):
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


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_comes_back_or_its_half_characters_as_the_sign_for_lost(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    with RunJournal(path, HEADER, 1) as journal:
        journal.append({"row": 0, "query_id": "a", "answer": text})
        kept = journal.entry(0)["answer"]
    assert not any("\ud800" <= c <= "\udfff" for c in kept)
    assert kept == text or any("\ud800" <= c <= "\udfff" for c in text)


FILLS_A_DISK = """
import resource, sys
from rageval_report.errors import DataError
from rageval_report.runner.run_journal import RunJournal

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with RunJournal(sys.argv[1], {"asked": {}}, 100) as journal:
    try:
        for row in range(100):
            journal.append({"row": row, "query_id": str(row), "answer": "x" * 50})
    except DataError as exc:
        print(row, exc)
"""


def test_a_disk_that_is_full_is_told_and_the_lines_before_stay_whole(path):
    done = subprocess.run(
        [sys.executable, "-c", FILLS_A_DISK, str(path)], capture_output=True, text=True, check=True
    )
    written, _, told = done.stdout.partition(" ")
    assert "cannot be written" in told
    assert "can be resumed" in told
    assert path.read_bytes().endswith(b"\n")
    with RunJournal(path, {"asked": {}}, 100) as journal:
        assert not journal.is_cut
        assert journal.n_done == int(written) > 0


def test_a_journal_that_something_else_changes_is_told_and_not_mixed_up(path):
    with RunJournal(path, HEADER, 2) as journal:
        journal.append({"row": 0, "query_id": "a", "answer": "A"})
        with path.open("ab") as other:
            other.write(b'{"row": 0, "query_id": "a", "answer": "not yours"}\n')
        journal.append({"row": 1, "query_id": "b", "answer": "B"})
        with pytest.raises(ReaderError, match="another program changed the journal"):
            journal.entry(1)


def test_a_journal_without_an_answer_is_let_go_and_one_with_answers_kept(path):
    with RunJournal(path, HEADER, 2) as journal:
        journal.delete_if_empty()
    assert not path.exists()
    with RunJournal(path, HEADER, 2) as journal:
        journal.append({"row": 0, "query_id": "a", "answer": "A"})
        journal.delete_if_empty()
    assert path.exists()


# -- damage

ASKED = {"id": "a", "asked": {"seed": 0, "the pipeline": {"url": "x"}}}


@pytest.fixture
def lines(path):
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
def test_a_damaged_line_costs_its_query_alone(path, lines, line):
    spoilt = [*lines[:line], lines[line].replace(b"query_id", b"quary_id"), *lines[line + 1 :]]
    answers, damage = read_answers(path, spoilt)
    expected = {1: [None, "A1", "A2"], 2: ["A0", "A1", "A2"], 3: ["A0", "A1", None]}
    assert answers == expected.get(line, ["A0", None, "A2"])
    assert damage == [f"line {line + 1} is damaged"]


def test_a_failure_that_a_lost_line_may_have_replaced_is_asked_again(path, lines):
    spoilt = [*lines[:4], b"x" * 20 + b"\n", *lines[3:4]]
    with RunJournal(path, ASKED, 3):
        pass
    path.write_bytes(b"".join(spoilt))
    with RunJournal(path, ASKED, 3) as journal:
        assert journal.done.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        ([0, 1, 3, 4], "line 3 is missing"),
        ([0, 3, 4], "2 of the lines 2 to 3 are missing"),
        ([0, 1, 2, 3, 4, 2], "line 3 is there again, or was moved"),
        ([0, 1, 2, 3, 3, 4], "line 4 is there again, or was moved"),
    ],
)
def test_lines_that_are_removed_or_copied_are_reported(path, lines, order, problem):
    answers, damage = read_answers(path, [lines[place] for place in order])
    assert damage == [problem]
    # A copy of the failure at the end does not replace the answer.
    assert answers[1] == "A1"


def test_lines_that_changed_places_keep_the_newer_entry(path, lines):
    answers, damage = read_answers(path, [lines[place] for place in (0, 1, 4, 3, 2)])
    assert answers == ["A0", "A1", "A2"]
    assert len(damage) == 3


def test_a_line_feed_that_is_damaged_costs_nothing(path, lines):
    answers, damage = read_answers(path, [*lines[:2], lines[2][:-1] + b"\x0b", *lines[3:]])
    assert answers == ["A0", "A1", "A2"]
    assert damage == []


def test_lines_of_another_run_are_never_taken(path, lines, tmp_path):
    other = tmp_path / "other.jsonl"
    with RunJournal(other, {"id": "b", "asked": {"seed": 1}}, 3) as journal:
        journal.append({"row": 0, "query_id": "q0", "answer": "of another pipeline"})
    foreign = other.read_bytes().splitlines(keepends=True)[1]
    answers, damage = read_answers(path, [lines[0], foreign, *lines[2:]])
    assert answers == [None, "A1", "A2"]
    assert damage == ["line 2 (query 'q0') is damaged"]


def test_a_damaged_first_line_costs_nothing_if_the_same_is_asked(path, lines):
    answers, damage = read_answers(path, [lines[0].replace(b'"x"', b'"y"'), *lines[1:]])
    assert answers == ["A0", "A1", "A2"]
    assert damage == ["line 1, which says what was asked, is damaged"]


def test_a_damaged_first_line_is_an_error_if_something_else_is_asked(path, lines):
    spoilt = [lines[0].replace(b'"x"', b'"y"'), *lines[1:]]
    with pytest.raises(ReaderError, match="line 1, which says what was asked, is damaged, and no"):
        read_answers(path, spoilt, {"asked": {"seed": 0, "the pipeline": {"url": "y"}}})
    assert path.read_bytes() == b"".join(spoilt)


def test_a_damaged_journal_goes_on_and_says_so_again(path, lines):
    read_answers(path, [*lines[:3], lines[3].replace(b"A2", b"B2"), lines[4]])
    with RunJournal(path, ASKED, 3) as journal:
        journal.append({"row": 2, "query_id": "q2", "answer": "A2 again"})
    with RunJournal(path, ASKED, 3) as journal:
        assert journal.damage == ["line 4 (query 'q2') is damaged"]
        assert journal.entry(2)["answer"] == "A2 again"
        assert journal.n_lines == 6


def test_lines_that_are_cut_off_are_known_by_their_number(path, lines):
    path.write_bytes(b"".join(lines[:3]))
    with RunJournal(path, ASKED, 3) as journal:
        assert journal.done.tolist() == [True, True, False]
        journal.expect_lines(5)
        assert journal.damage == ["2 of the lines 4 to 5 are missing"]
        # The failure may have had an answer in a line that is cut off.
        assert journal.done.tolist() == [True, False, False]


def test_a_journal_of_an_earlier_version_goes_on_without_digests(path):
    path.parent.mkdir()
    first = {"format": "rageval_report journal", "format_version": 1, **ASKED}
    old = [first, {"row": 0, "query_id": "q0", "answer": "A0"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in old))
    with RunJournal(path, ASKED, 3) as journal:
        assert not journal.has_digests
        journal.append({"row": 1, "query_id": "q1", "answer": "A1"})
    assert json.loads(path.read_text().splitlines()[2]) == {
        "row": 1,
        "query_id": "q1",
        "answer": "A1",
    }
    with RunJournal(path, ASKED, 3) as journal:
        assert (journal.entry(0)["answer"], journal.entry(1)["answer"]) == ("A0", "A1")
    path.write_text(path.read_text() + "what?\n")
    with pytest.raises(ReaderError, match="line 4: this is not a line of a journal"):
        RunJournal(path, ASKED, 3)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_journal_is_its_owners_alone(path):
    write_entries(path)
    assert path.stat().st_mode & 0o777 == 0o600

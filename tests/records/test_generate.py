"""Golden sets made from documents: drafted, filtered, resumable, with their provenance."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rageval_report.errors import DataError, JudgeError, RagevalWarning, ReaderError
from rageval_report.golden import Documents, check_golden, generate_golden, load_prompts
from rageval_report.judges.chats import Message, ScriptedChat
from rageval_report.records.golden_drafts import passages_of

OPTIONS = {"shortest": 10}


def made(documents, chat, kinds, **options):
    return generate_golden(documents, chat, kinds, **{**OPTIONS, **options})


# -- what is made


def test_a_question_has_an_answer_gold_and_wrong_answers(documents, chat):
    [item] = made(documents, chat, {"factoid": 1}).items
    [span], [answer] = item.relevant_spans, item.references
    held = documents[span.filename][span.start : span.end]
    assert item.relevant_texts == (held,)
    assert answer in held
    assert item.negative_references == ("5 feet", "9 inches")
    assert item.answerable is True


def test_what_is_made_passes_the_checks(documents, chat):
    items = made(documents, chat, {"factoid": 5, "unanswerable": 3, "multi_hop": 2}).items
    found = check_golden(items, documents=Documents(documents))
    assert set(found["check"]) <= {"balance", "near_duplicates"}
    kinds = [item.metadata["query_type"] for item in items]
    assert [kinds.count(one) for one in ("factoid", "unanswerable", "multi_hop")] == [5, 3, 2]


def test_two_hops_have_gold_in_both_passages(documents, chat):
    [item] = made(documents, chat, {"multi_hop": 1}).items
    assert len({span.filename for span in item.relevant_spans}) == 2


def test_two_hops_of_which_one_is_enough_are_rejected(documents):
    def one_is_enough(message):
        if "takes both texts" in message.user:
            return json.dumps({"question": "How long are some rivers?"})
        return '{"answerable": true, "answer": "100 miles", "evidence": "100 miles"}'

    with pytest.warns(RagevalWarning, match="1 of 1 multi_hop questions could not be made"):
        found = made(documents, ScriptedChat(one_is_enough), {"multi_hop": 1})
    assert found.items == ()
    assert found.rejected["reason"].str.contains("alone").all()


def test_every_item_says_where_it_comes_from(documents, chat):
    [item] = made(documents, chat, {"factoid": 1}, seed=3).items
    told = item.provenance
    assert told["model"] == "river-model"
    assert told["seed"] == 3
    assert told["prompts"] == ["question@1", "answer@1", "negatives@1"]
    [[filename, start, end]] = told["passages"]
    assert item.references[0] in documents[filename][start:end]


def test_a_pool_of_threads_makes_the_same_set(documents, chat):
    with ThreadPoolExecutor(4) as pool:
        one = made(documents, chat, {"factoid": 6}, map=pool.map).items
    assert one == made(documents, chat, {"factoid": 6}).items


def test_a_set_that_is_there_is_not_asked_again(documents, chat):
    first = made(documents, chat, {"factoid": 4}).items
    second = made(documents, chat, {"factoid": 4}, existing=first).items
    assert len({item.question for item in (*first, *second)}) == 8


def test_more_than_the_documents_give_is_said(documents, chat):
    with pytest.warns(RagevalWarning, match="2 of 10 factoid questions could not be made"):
        found = made(documents, chat, {"factoid": 10})
    assert len(found.items) == 8
    assert found.rejected["reason"].str.contains("the question is nearly").any()


# -- what is rejected


@pytest.mark.parametrize(
    ("question", "answer", "told"),
    [
        ("Why?", "100 miles", "has 1 words; expected 3 to 60"),
        ("What does the text say of it?", "100 miles", "refers to 'the text'"),
        ("How long is it, 100 miles?", "100 miles", "the question contains its answer"),
        ("How wide is the river?", "99 feet wide", "the text contains 0% of the words"),
        (None, "100 miles", "expected a text 'question'"),
    ],
)
def test_a_draft_is_rejected_with_its_reason(question, answer, told):
    def model(message):
        if "Write one question" in message.user:
            return json.dumps({"question": question})
        return json.dumps({"answerable": True, "answer": answer, "evidence": ""})

    with pytest.warns(RagevalWarning, match="could not be made"):
        found = made({"a": "The river is 100 miles long."}, ScriptedChat(model), {"factoid": 1})
    assert found.items == ()
    assert found.rejected["reason"].str.contains(told, regex=False).all()


# -- the journal


class Stopped(BaseException):
    """As when somebody presses Ctrl-C."""


def stopping_after(chat, n):
    """The same chat, which is stopped at its question number n + 1."""

    def say(message):
        if len(stopped.asked) > n:
            raise Stopped
        with chat.open() as ask:
            return ask(message).text

    stopped = ScriptedChat(say, model=chat.model)
    return stopped


def test_a_run_that_was_stopped_goes_on_where_it_was(documents, chat, tmp_path):
    whole = made(documents, ScriptedChat(chat._function, model=chat.model), {"factoid": 5})
    journal = tmp_path / "journal.jsonl"
    for n in (1, 4, 7):
        with pytest.raises(Stopped):
            made(documents, stopping_after(chat, n), {"factoid": 5}, journal=journal)
    resumed = made(documents, chat, {"factoid": 5}, journal=journal)
    assert resumed.items == whole.items
    assert resumed.n_replayed == 1 + 4 + 7
    assert resumed.n_asked + resumed.n_replayed == whole.n_asked


def test_a_line_that_was_cut_is_asked_again(documents, chat, tmp_path):
    journal = tmp_path / "journal.jsonl"
    first = made(documents, chat, {"factoid": 2}, journal=journal)
    content = journal.read_bytes()
    journal.write_bytes(content[:-9])
    again = made(documents, chat, {"factoid": 2}, journal=journal)
    assert (again.n_asked, again.items) == (1, first.items)
    assert journal.read_bytes() == content


def test_a_damaged_line_is_reported_and_asked_again(documents, chat, tmp_path):
    journal = tmp_path / "journal.jsonl"
    first = made(documents, chat, {"factoid": 2}, journal=journal)
    first_line, *rest = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(first_line.replace(b"reply", b"replY") + b"".join(rest))
    with pytest.warns(RagevalWarning, match="the journal is damaged: 'line 1'"):
        again = made(documents, chat, {"factoid": 2}, journal=journal)
    assert (again.n_asked, again.items) == (1, first.items)


def test_another_file_is_no_journal(documents, chat, tmp_path):
    path = tmp_path / "golden.jsonl"
    path.write_text('{"question": "Who?"}\n')
    with pytest.raises(ReaderError, match="line 1: expected a key and a reply"):
        made(documents, chat, {"factoid": 1}, journal=path)


def test_a_chat_that_fails_now_and_then_costs_drafts_not_the_run(documents, chat):
    def shaky(message):
        return JudgeError("busy") if len(flaky.asked) % 4 == 1 else chat._function(message)

    flaky = ScriptedChat(shaky)
    found = made(documents, flaky, {"factoid": 3}, n_negatives=0)
    assert len(found.items) == 3
    assert found.rejected["reason"].str.contains("the chat failed: busy").any()


# -- prompts and passages


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[question]\nversion = '1'\nuser = '$context $key'", r"may contain \$context, \$examples"),
        ("[question]\nversion = '1'\nuser = '$context costs $5'", r"\$\$ is a dollar sign"),
        ("[questions]\nversion = '1'\nuser = '$context'", "no prompt is named 'questions'"),
        ("[question", "mine.toml: "),
    ],
)
def test_a_prompt_that_cannot_be_filled_is_refused(tmp_path, text, told):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ReaderError, match=told):
        load_prompts(path)


def test_passages_stand_where_they_say(documents):
    text = "\n\nOne  paragraph.\n \n\nAnother one,\nof two lines.  \n\n" + "word " * 400
    for passage in passages_of({"a": text}, longest=80, shortest=5):
        assert text[passage.span.start : passage.span.end] == passage.text
        assert 5 <= len(passage.text) <= 80
        assert passage.text == passage.text.strip()
    joined = "".join(one.text for one in passages_of({"a": text}, longest=80, shortest=1))
    assert "".join(joined.split()) == "".join(text.split())


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of files")
def test_a_disk_that_is_full_leaves_no_half_line_in_the_journal(documents, chat, tmp_path):
    """A limit of the size of files, because a disk accepts the first part of a line, too."""
    import resource

    journal = tmp_path / "journal"
    whole = made(documents, chat, {"factoid": 2}, journal=journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.unlink()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (sum(map(len, lines)) - 5, limits[1]))
    try:
        with pytest.raises(DataError, match="the journal cannot be written: File too large"):
            made(documents, chat, {"factoid": 2}, journal=journal)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert journal.read_bytes().count(b"\n") == len(lines) - 1
    assert journal.read_bytes().endswith(b"\n")
    resumed = made(documents, chat, {"factoid": 2}, journal=journal)
    assert (resumed.items, resumed.n_asked) == (whole.items, 1)


KILLED_CHAT = """\
import os, signal, sys

sys.path.insert(0, {tests!r})
from conftest import river_model

asked = []


def ask(text):
    asked.append(text)
    if len(asked) > 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return river_model(text)
"""


def test_a_process_that_is_killed_loses_only_what_was_in_flight(tmp_path, documents, chat):
    """Killed by the signal that nothing can catch, and gone on with by another process."""
    (tmp_path / "docs").mkdir()
    for name, text in documents.items():
        (tmp_path / "docs" / name).write_text(text)
    tests = str(Path(__file__).parent)
    (tmp_path / "killed_chat.py").write_text(KILLED_CHAT.format(tests=tests), encoding="utf-8")
    words = "golden make docs --chat killed_chat:ask --factoid 6 --shortest 10 -o drafts.jsonl"
    command = [sys.executable, "-m", "rageval_report", *words.split(), "--concurrency", "1"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / "drafts.jsonl").exists()

    def ask(text):
        return chat._function(Message(text))

    journal = tmp_path / "drafts.jsonl.journal"
    whole = made(tmp_path / "docs", ask, {"factoid": 6})
    resumed = made(tmp_path / "docs", ask, {"factoid": 6}, journal=journal)
    assert resumed.items == whole.items
    assert resumed.n_replayed == 7
    assert resumed.n_asked == whole.n_asked - 7

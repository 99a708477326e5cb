"""Golden sets made from documents, and references for judged sets: filtered, resumable, told."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from rageval_report.datasets import load_dataset
from rageval_report.errors import DataError, JudgeError, RagevalWarning
from rageval_report.golden import (
    Documents,
    check_golden,
    generate_golden,
    ground_truth,
    highly_relevant,
)
from rageval_report.http import RequestError
from rageval_report.judges import Message, ScriptedChat


def made(documents, chat, kinds, **options):
    return generate_golden(documents, chat, kinds, **{"shortest": 10, **options})


# -- what is made


def test_a_question_has_an_answer_gold_wrong_answers_and_its_origin(documents, chat):
    [item] = made(documents, chat, {"factoid": 1}, seed=3).items
    [span], [answer] = item.relevant_spans, item.references
    assert item.relevant_texts == (documents[span.filename][span.start : span.end],)
    assert answer in item.relevant_texts[0]
    assert item.negative_references == ("5 feet", "9 inches")
    assert item.answerable is True
    [[filename, start, end]] = item.provenance["passages"]
    assert answer in documents[filename][start:end]
    labels = ["question@1", "answer@1", "negatives@1"]
    assert [item.provenance[name] for name in ("model", "seed", "prompts")] == [
        *("river-model", 3, labels)
    ]


def test_what_is_made_passes_the_checks(documents, chat):
    items = made(documents, chat, {"factoid": 5, "unanswerable": 3, "multi_hop": 2}).items
    found = check_golden(items, documents=Documents(documents))
    assert set(found["check"]) <= {"balance", "near_duplicates"}
    kinds = [item.metadata["query_type"] for item in items]
    assert [kinds.count(one) for one in ("factoid", "unanswerable", "multi_hop")] == [5, 3, 2]
    # Two hops have gold in both passages.
    assert {len({span.filename for span in item.relevant_spans}) for item in items[8:]} == {2}


def test_a_pool_of_threads_makes_the_same_set(documents, chat):
    alone = made(documents, chat, {"factoid": 4}).items
    with ThreadPoolExecutor(4) as pool:
        assert made(documents, chat, {"factoid": 4}, map=pool.map).items == alone


def test_more_than_the_documents_give_is_said(documents, chat):
    with pytest.warns(RagevalWarning, match="2 of 10 factoid questions could not be made"):
        found = made(documents, chat, {"factoid": 10})
    assert len(found.items) == 8
    assert found.rejected["reason"].str.contains("the question is nearly").any()


@pytest.mark.parametrize(
    ("kind", "question", "answer", "told"),
    [
        ("factoid", "Why?", "100 miles", "has 1 words; expected 3 to 60"),
        ("factoid", "What does the text say of it?", "100 miles", "refers to 'the text'"),
        ("factoid", "How long is it, 100 miles?", "100 miles", "the question contains its answer"),
        ("factoid", "How wide is the river?", "99 feet wide", "the text contains 0% of the words"),
        ("factoid", None, "100 miles", "expected a text 'question'"),
        ("multi_hop", "How long are some rivers?", "100 miles", "alone is enough for it"),
        ("unanswerable", "How long is the river?", "100 miles", "it has an answer: '100 miles'"),
    ],
)
def test_a_draft_is_rejected_with_its_reason(kind, question, answer, told):
    def model(message):
        if "Write one question" in message.user:
            return json.dumps({"question": question})
        return json.dumps({"answerable": True, "answer": answer, "evidence": ""})

    texts = dict.fromkeys("ab", "The river is 100 miles long.")
    with pytest.warns(RagevalWarning, match=f"1 of 1 {kind} questions could not be made"):
        found = made(texts, ScriptedChat(model), {kind: 1})
    assert found.items == ()
    assert found.rejected["reason"].str.contains(told, regex=False).all()


def test_a_chat_that_fails_now_and_then_costs_drafts_not_the_run(documents, chat):
    def shaky(message):
        return JudgeError("busy") if len(flaky.asked) % 4 == 1 else chat._function(message)

    flaky = ScriptedChat(shaky)
    found = made(documents, flaky, {"factoid": 3}, n_negatives=0)
    assert len(found.items) == 3
    assert found.rejected["reason"].str.contains("the chat failed: busy").any()


# -- replies are kept


class Stopped(BaseException):
    """As when somebody presses Ctrl-C."""


def stopping_after(chat, n):
    """The same chat, which is stopped at its question number n + 1."""

    def say(message):
        if len(stopped.asked) > n:
            raise Stopped
        return chat._function(message)

    stopped = ScriptedChat(say, model=chat.model)
    return stopped


def test_a_run_that_was_stopped_goes_on_where_it_was(documents, chat, tmp_path):
    whole = made(documents, chat, {"factoid": 5})
    journal = tmp_path / "replies"
    for n in (1, 4, 7):
        with pytest.raises(Stopped):
            made(documents, stopping_after(chat, n), {"factoid": 5}, journal=journal)
    resumed = made(documents, chat, {"factoid": 5}, journal=journal)
    assert resumed.items == whole.items
    assert resumed.n_replayed == 1 + 4 + 7
    assert resumed.n_asked + resumed.n_replayed == whole.n_asked


def test_another_file_is_no_journal_and_stays(documents, chat, tmp_path):
    path = tmp_path / "golden.jsonl"
    path.write_text('{"question": "Who?"}\n')
    with pytest.raises(DataError, match=r"cannot be used: .*; delete it, or name another file"):
        made(documents, chat, {"factoid": 1}, journal=path)
    assert [file.name for file in tmp_path.iterdir()] == ["golden.jsonl"]


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

    whole = made(tmp_path / "docs", ask, {"factoid": 6})
    journal = tmp_path / "drafts.jsonl.journal"
    resumed = made(tmp_path / "docs", ask, {"factoid": 6}, journal=journal)
    assert resumed.items == whole.items
    assert resumed.n_replayed == 7
    assert resumed.n_asked == whole.n_asked - 7


# -- passages


@pytest.mark.parametrize("shortest", [1, 5])
def test_every_passage_stands_where_it_says(shortest):
    text = "\n\nOne  paragraph.\n \n\nAnother one,\nof two lines.  \n\n" + "word " * 400
    shown = []

    def model(message):
        shown.append(message.user.partition("<text>\n")[2].rpartition("\n</text>")[0])
        number = f"{len(shown)} " * 9
        asked = {"question": f"How many {number}?", "answerable": True, "answer": "Yes"}
        return json.dumps(asked)

    options = {"longest": 80, "shortest": shortest, "n_negatives": 0}
    with pytest.warns(RagevalWarning, match="could not be made"):
        found = generate_golden({"a": text}, ScriptedChat(model), {"factoid": 99}, **options)
    assert set(shown) == {item.relevant_texts[0] for item in found.items}
    for item in found.items:
        [(_, start, end)], [passage] = item.relevant_spans, item.relevant_texts
        assert text[start:end] == passage == passage.strip()
        assert shortest <= len(passage) <= 80
    covered = {n for item in found.items for n in range(*item.relevant_spans[0][1:])}
    left_out = "".join(text[n] for n in range(len(text)) if n not in covered).split()
    assert len("".join(left_out)) < shortest


# -- references for judged sets


def records_of(n_high, query_id="q1"):
    grades = {**{f"h{n}": 2.0 for n in range(n_high)}, "low": 1.0}
    rows = {"question": ["Is milk healthy?"], "relevant": [grades]}
    return pd.DataFrame(rows, index=[query_id])


TEXTS = {"low": "Low.", **{f"h{n}": f"Text {n}." for n in range(9)}}


def test_the_context_is_the_first_five_highly_relevant_documents_that_are_there():
    texts = {name: text for name, text in TEXTS.items() if name != "h1"}
    chat = ScriptedChat(["  It is. \n"])
    [item] = ground_truth(records_of(7), texts, chat)
    shown = [n for n in range(9) if f"Text {n}." in chat.asked[0].user]
    assert shown == [0, 2, 3, 4, 5]
    assert "Low." not in chat.asked[0].user
    assert item.references == ("It is.",)
    assert item.metadata["context_documents"] == ["h0", "h2", "h3", "h4", "h5"]


@pytest.mark.parametrize(
    ("n_high", "reply", "told"),
    [
        (0, "It is.", "1 queries have no highly relevant document"),
        (2, "", "no answer was written for 'q2"),
        (2, JudgeError("busy"), "no answer was written for 'q2"),
    ],
)
def test_a_query_without_a_reference_is_left_out_and_said(n_high, reply, told):
    both = pd.concat([records_of(1), records_of(n_high, "q2")])
    chat = ScriptedChat(lambda message: reply if "Text 1." in message.user else "It is.")
    with pytest.warns(RagevalWarning, match=told):
        items = ground_truth(both, TEXTS, chat)
    assert [item.query_id for item in items] == ["q1"]


BUSY = RequestError("busy", url="http://host", failure="status", status=503)


@pytest.mark.parametrize("failure", [ConnectionRefusedError("refused"), BUSY])
def test_a_chat_that_is_down_for_a_while_makes_no_smaller_set(tmp_path, failure):
    both, down = pd.concat([records_of(1), records_of(2, "q2")]), [failure]
    chat = ScriptedChat(lambda message: down[0] if "Text 1." in message.user else "It is.")
    journal = tmp_path / "truth.journal"
    with pytest.raises(JudgeError, match=r"1 of 2 queries have no reference yet.*'q2'"):
        ground_truth(both, TEXTS, chat, journal=journal)
    down[0] = "It is."
    items = ground_truth(both, TEXTS, chat, journal=journal)
    assert [item.query_id for item in items] == ["q1", "q2"]
    assert len(chat.asked) == 3  # the reply to q1 was kept


def test_highly_relevant_queries_of_nfcorpus_are_those_that_pandas_counts(real_data):
    folder = real_data("beir_nfcorpus_qrels")
    with pytest.warns(RagevalWarning, match="no questions"):
        found = highly_relevant(load_dataset("beir", folder))
    table = pd.read_csv(folder / "qrels/test.tsv", sep="\t")
    counted = table[table["score"] == 2].groupby("query-id").size()
    assert found["highly_relevant_count"].to_dict() == counted.to_dict()

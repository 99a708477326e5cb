"""The cache: what it keeps, and what becomes of it when the disk or another process errs."""

import json
import os
import sqlite3
import subprocess
import sys

import pytest

from rageval_report.errors import DataError, RagevalWarning
from rageval_report.judges import Cache, Message, Reply, Rubric, ScriptedChat, judge
from rageval_report.judges.cache import reply_key

TONE = Rubric("tone", "Is it polite?", "How polite? {question} {answer}", scale=(1, 5))
FIVE = json.dumps({"reasoning": "so", "score": 5})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "judges.sqlite"


def chat(**given):
    return ScriptedChat(lambda message: FIVE, **given)


# -- what is kept


def test_the_same_is_not_asked_twice(rows, path):
    first, second = chat(), chat()
    scores = judge(rows, TONE, first, cache=path).scores
    again = judge(rows, TONE, second, cache=path)
    assert (len(first.asked), len(second.asked)) == (3, 0)
    assert again.scores.equals(scores)
    assert again.usage["n_cached"].item() == 3


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"settings": {"temperature": 0}},
        {"message": Message("Is it?", "Be kind.")},
        {"message": Message("Is it?", schema={})},
        {"judge": "other"},
        {"version": "2"},
        {"repeat": 1},
    ],
)
def test_whatever_could_change_an_answer_changes_its_key(change):
    same = {
        "model": "m",
        "settings": {"temperature": None},
        "message": Message("Is it?"),
        "judge": "tone",
        "version": "1",
    }
    assert reply_key(**same) == reply_key(**same)
    assert reply_key(**same) != reply_key(**{**same, **change})


UNUSABLE = {
    "unreadable": (["hm", "hm again"], "(asked twice)"),
    "refused": ([Reply("I cannot.", 9, 9, "refusal")], "the judge refused: 'I cannot.'"),
    "cut off": ([Reply('{"reaso', 9, 9, "length")], "cut off at max_tokens"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_an_answer_without_a_verdict_is_paid_for_once(rows, path, kind):
    answers, reason = UNUSABLE[kind]
    first = judge(rows[:1], TONE, ScriptedChat(answers), cache=path)
    silent = ScriptedChat([])
    again = judge(rows[:1], TONE, silent, cache=path)
    assert silent.asked == []
    assert reason in again.states["tone_reason"].item()
    assert again.states.equals(first.states)
    assert again.usage[["n_calls", "n_cached", "n_failed"]].iloc[0].tolist() == [0, 1, 1]


def test_replies_are_counted_and_forgotten(rows, path):
    judge(rows, [TONE, "coherence"], chat(model="m"), cache=path)
    with Cache(path) as cache:
        assert cache.counts() == {("coherence", "m"): 3, ("tone", "m"): 3}
        assert cache.clear("tone") == 3
        assert cache.counts() == {("coherence", "m"): 3}
        assert cache.clear() == 3
        assert cache.counts() == {}


# -- damaged, old, new, foreign


def old_version(path):
    with Cache(path) as cache:
        cache.put(b"k", Reply("x"), judge="j", model="m")
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 0")
    database.close()


def no_database(path):
    path.write_bytes(b"this is no database, and never was one\n" * 40)


def foreign(path):
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE birds (name TEXT)")
    database.commit()
    database.close()


def other_columns(path):
    with Cache(path):
        pass
    database = sqlite3.connect(path)
    database.execute("ALTER TABLE replies RENAME COLUMN kept TO at")
    database.commit()
    database.close()


@pytest.mark.parametrize("spoil", [old_version, no_database, foreign, other_columns])
def test_what_is_no_cache_of_this_version_is_refused_and_kept(path, spoil):
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"cannot be used: .*; delete it, or name another file"):
        Cache(path)
    assert path.read_bytes() == before


@pytest.fixture
def broken(path):
    """A cache of which only the first page, with the header, is whole."""
    with Cache(path) as cache:
        for i in range(500):
            cache.put(i.to_bytes(16, "big"), Reply("x" * 500), judge="j", model="m")
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(bytes(data))
    return path


def test_a_cache_that_breaks_while_it_is_used_does_not_stop_the_work(rows, broken):
    with pytest.warns(RagevalWarning, match="malformed; from here on replies are not kept"):
        judged = judge(rows, TONE, chat(), cache=broken, concurrency=1)
    assert judged.scores["tone"].notna().all()


def test_a_full_disk_does_not_stop_the_work(rows, path):
    with Cache(path) as cache:
        pages = cache._database.execute("PRAGMA page_count").fetchone()[0]
        cache._database.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own "disk is full"
        wordy = ScriptedChat(lambda message: json.dumps({"reasoning": "x" * 9000, "score": 5}))
        with pytest.warns(RagevalWarning, match="database or disk is full") as said:
            judged = judge(rows, TONE, wordy, cache=cache, concurrency=1)
    assert len(said) == 1
    assert judged.scores["tone"].tolist() == [1.0] * 3


# -- several processes

PROGRAM = """
import sys, warnings
from rageval_report.judges import Cache, Reply
warnings.simplefilter("error")
who = int(sys.argv[2])
with Cache(sys.argv[1]) as cache:
    for i in range(200):
        key = (i if i % 2 else 1000 * who + i).to_bytes(16, "big")  # half of them are shared
        if cache.get(key) is None:
            cache.put(key, Reply(f"{i}"), judge="j", model=f"m{who}")
"""


def test_several_processes_share_one_cache_from_its_first_moment(path):
    words = [sys.executable, "-c", PROGRAM, str(path)]
    running = [
        subprocess.Popen([*words, str(who)], stderr=subprocess.PIPE, text=True) for who in (1, 2, 3)
    ]
    complaints = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], complaints
    with Cache(path) as cache:
        assert sum(cache.counts().values()) == 100 + 3 * 100
        assert all(cache.get(i.to_bytes(16, "big")).text == f"{i}" for i in range(1, 200, 2))


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_cache_is_its_owners_alone(path):
    with Cache(path) as cache:
        cache.put(b"k", Reply("x"), judge="j", model="m")
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(
        ("judges.sqlite", "judges.sqlite-wal", "judges.sqlite-shm"), 0o600
    )


# -- damage inside the file


def change_row(path, statement, *values):
    database = sqlite3.connect(path)
    with database:
        assert database.execute(statement, values).rowcount > 0
    database.close()


@pytest.fixture
def two_rows(path):
    with Cache(path) as cache:
        cache.put(b"a", Reply("1/10", 3, 4), judge="tone", model="m")
        cache.put(b"b", Reply("9/10", 5, 6), judge="tone", model="m")
    return path


@pytest.mark.parametrize(
    "change",
    [
        "text = '2/10'",
        "text = x'31'",
        "prompt_tokens = 4",
        "kept = kept + 1",
        "ending = 'length'",
        "digest = x''",
        "text = CAST(x'ff31' AS TEXT)",
    ],
)
def test_a_damaged_row_is_reported_and_asked_again_and_no_other(two_rows, change):
    change_row(two_rows, f"UPDATE replies SET {change} WHERE key = x'61'")
    with Cache(two_rows) as cache:
        with pytest.warns(RagevalWarning, match="judge 'tone' is damaged; it is asked for again"):
            assert cache.get(b"a") is None
        assert cache.get(b"b").text == "9/10"
        assert cache.counts() == {("tone", "m"): 1}
        cache.put(b"a", Reply("3/10"), judge="tone", model="m")
        assert cache.get(b"a").text == "3/10"

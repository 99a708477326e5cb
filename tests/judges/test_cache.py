"""The cache: what it keeps, and what becomes of it when the disk or another process errs."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rageval_report.errors import DataError, RagevalWarning
from rageval_report.judges import Cache, Message, Reply, Rubric, ScriptedChat, estimate, judge
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
    noted = "1 answer in the cache without a verdict cost nothing again; retry_unusable=True"
    assert any(note.startswith(noted) for note in again.notes)
    assert not any("without a verdict cost nothing" in note for note in first.notes)


@pytest.mark.parametrize("kind", UNUSABLE)
def test_an_answer_without_a_verdict_is_asked_for_again_on_request(rows, path, kind):
    judge(rows[:1], TONE, ScriptedChat(UNUSABLE[kind][0]), cache=path)
    table = estimate(rows[:1], TONE, chat(), cache=path)
    assert table[["n_calls", "n_cached"]].iloc[0].tolist() == [0, 1]
    table = estimate(rows[:1], TONE, chat(), cache=path, retry_unusable=True)
    assert table[["n_calls", "n_cached"]].iloc[0].tolist() == [1, 0]
    judged = judge(rows[:1], TONE, chat(), cache=path, retry_unusable=True)
    assert judged.scores["tone"].item() == 1.0
    # From then on the cache has a verdict, also for those who do not ask again.
    assert judge(rows[:1], TONE, ScriptedChat([]), cache=path).scores["tone"].item() == 1.0


def test_status_counts_and_clear_forgets(rows, path):
    judge(rows, [TONE, "coherence"], chat(model="m"), cache=path)
    with Cache(path) as cache:
        assert cache.status().by_judge == {("coherence", "m"): 3, ("tone", "m"): 3}
        assert cache.clear("tone") == 3
        assert cache.status().by_judge == {("coherence", "m"): 3}
        assert cache.clear() == 3
        assert cache.status().n_replies == 0


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


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (old_version, "it has an older version, 0"),
        (no_database, "it is damaged, or not a cache"),
        (foreign, "a database of another program"),
        (other_columns, "its table has other columns"),
    ],
)
def test_what_is_no_cache_is_moved_aside_and_said(path, spoil, told):
    spoil(path)
    before = path.read_bytes()
    with pytest.warns(RagevalWarning, match=told) as said:
        opened = Cache(path)
    with opened as cache:
        cache.put(b"k", Reply("new"), judge="j", model="m")
        assert cache.status().n_replies == 1
    assert "renamed to judges.sqlite.aside-1" in str(said[0].message)
    assert Path(f"{path}.aside-1").read_bytes()[:16] == before[:16]


def test_a_newer_version_is_left_alone(path):
    Cache(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(DataError, match=r"newer rageval-report \(version 99"):
        Cache(path)
    assert path.exists()


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
    with pytest.warns(RagevalWarning, match="it is damaged"):
        judged = judge(rows, TONE, chat(), cache=broken, concurrency=1)
    assert judged.scores["tone"].notna().all()
    assert judge(rows, TONE, ScriptedChat([]), cache=broken).scores["tone"].notna().any()


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
        assert cache.status().n_replies == 100 + 3 * 100
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
        with pytest.warns(RagevalWarning, match=r"key 61 .* is damaged; it is asked for again"):
            assert cache.get(b"a") is None
        assert cache.get(b"a") is None  # and is reported once
        assert cache.get(b"b").text == "9/10"
        state = cache.status()
        assert (state.n_replies, state.n_damaged) == (1, 1)
        cache.put(b"a", Reply("3/10"), judge="tone", model="m")
        assert cache.get(b"a").text == "3/10"


def filled(path, n=400, size=300):
    with Cache(path) as cache:
        for i in range(n):
            text = f"{i} " + "x" * (size if i % 50 else 20_000)  # some fill several pages
            cache.put(i.to_bytes(16, "big"), Reply(text, i, None), judge="j", model="m")
    return path


def kept_replies(path, n=400):
    with Cache(path) as cache:
        return {i: reply for i in range(n) if (reply := cache.get(i.to_bytes(16, "big")))}


@pytest.mark.filterwarnings("ignore::rageval_report.errors.RagevalWarning")
def test_of_a_file_with_a_damaged_page_what_sqlite_reads_is_kept(path):
    data = bytearray(filled(path).read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(bytes(data))
    kept = kept_replies(path)  # those behind the damage count as absent, or are read from the end
    assert 0 < len(kept) < 400
    assert all(reply.text.startswith(f"{i} x") for i, reply in kept.items())
    assert all(reply.prompt_tokens == i for i, reply in kept.items())

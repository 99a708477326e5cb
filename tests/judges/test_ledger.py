"""The ledger: whole numbers, waiting that ends, and a file that outlives its run."""

import sqlite3
import threading
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError, RagevalWarning
from rageval_report.judges import Reply, Rubric, ScriptedChat, judge
from rageval_report.judges.ledger import Ledger, cost_in_micros, ledger_path
from rageval_report.metrics.performance import Price

SOON = 20  # seconds after which a thread that waits is taken to hang


def budget(micros, *more, **options):
    return Ledger(micros / 1_000_000, *more, **options)


# -- amounts


@given(
    st.decimals(0, 100, places=4),
    st.decimals(0, 100, places=4),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
)
def test_a_cost_is_rounded_up_by_less_than_a_millionth_of_a_dollar(prompt, completion, sent, got):
    # The second witness: the price in whole ten-thousandths, with Python's integers.
    exact = Fraction(int(prompt * 10_000) * sent + int(completion * 10_000) * got, 10_000)
    cost = cost_in_micros(Price(float(prompt), float(completion)), sent, got)
    assert exact <= cost < exact + 1


def test_a_budget_is_rounded_down():
    assert Ledger(0.1 + 0.2).limit == 300_000  # 0.30000000000000004
    assert Ledger(0.0000019).limit == 1
    assert Ledger(0.29).limit == 290_000  # 0.29 * 1e6 is 289999.99999999994


# -- waiting


def run_all(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    return not any(thread.is_alive() for thread in threads)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 900), st.integers(0, 100)), max_size=24), st.integers(1, 2000)
)
def test_no_order_of_calls_exceeds_a_budget_or_waits_for_ever(calls, limit):
    ledger = budget(limit)

    def call(amount, percent):
        if ledger.reserve(amount):
            ledger.settle(amount, amount * percent // 100)

    threads = [threading.Thread(target=call, args=each, daemon=True) for each in calls]
    assert run_all(threads)
    assert ledger.spent <= limit
    assert (ledger.reserved, ledger.n_in_flight) == (0, 0)


def test_all_that_wait_are_woken_when_the_last_call_ends():
    ledger = budget(1000)
    assert ledger.reserve(1000)
    waiting = threading.Semaphore(0)
    outcomes = []

    def wait(amount):
        outcomes.append(ledger.reserve(amount, waiting.release))

    # Each wants another amount, and what is left after the call is too small for all of them.
    threads = [threading.Thread(target=wait, args=(500 + n,), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert waiting.acquire(timeout=SOON)
    ledger.settle(1000, 600)
    for thread in threads:
        thread.join(SOON)
    assert outcomes == [False] * 8


def test_a_call_that_can_never_fit_does_not_wait_for_others():
    ledger = budget(1000)
    assert ledger.reserve(900)
    assert not ledger.reserve(1001)
    ledger.settle(900, 500)
    assert ledger.reserve(100)
    assert not ledger.reserve(501)


# -- the file


def test_what_a_killed_run_had_reserved_counts_as_spent(tmp_path):
    killed = budget(1000, tmp_path / "spending")
    assert killed.reserve(600)
    assert killed.reserve(300)
    killed.settle(300, 10)
    killed.close()  # as the system does it for a process that it ends
    later = budget(1000, tmp_path / "spending")
    assert later.earlier == 610
    assert not later.reserve(391)
    assert later.reserve(390)


def test_two_runs_at_the_same_time_share_the_budget(tmp_path):
    one, two = (budget(1000, tmp_path / "spending") for _ in range(2))
    assert one.reserve(600)
    assert not two.reserve(600)  # at once: nothing of its own is in flight
    one.settle(600, 100)
    assert two.reserve(600)
    assert not one.reserve(301)
    assert one.reserve(300)


def test_a_budget_of_one_run_leaves_the_others_out_and_is_in_the_file(tmp_path):
    first = budget(1000, tmp_path / "spending", over="run")
    assert first.reserve(1000)
    first.settle(1000, 900)
    second = budget(1000, tmp_path / "spending", over="run")
    assert second.reserve(1000)
    assert budget(5000, tmp_path / "spending").earlier == 1900


def damaged(path):
    path.write_bytes(b"this is no ledger, and never was one\n" * 200)


def foreign(path):
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE birds (name TEXT)")
    database.commit()
    database.close()


TONE = Rubric("tone", "Is it polite?", "How polite? {question} {answer}", scale=(1, 5))
FIVE = '{"reasoning": "so", "score": 5}'


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("spoil", [damaged, foreign, empty])
def test_a_ledger_that_cannot_be_read_is_an_error_before_the_first_call(tmp_path, rows, spoil):
    cache = tmp_path / "c.sqlite"
    spoil(ledger_path(cache))
    chat = ScriptedChat(lambda message: Reply(FIVE, 10, 10), model="m")
    how = {"prices": {"m": (1.0, 10.0)}, "cache": cache}
    with pytest.raises(DataError, match=r"max_cost includes .*c.sqlite.spending is damaged"):
        judge(rows, TONE, chat, max_cost=1, **how)
    assert chat.asked == []
    with pytest.warns(RagevalWarning, match="is not kept for later runs"):
        judged = judge(rows, TONE, chat, max_cost=1, max_cost_over="run", **how)
    assert judged.scores["tone"].tolist() == [1.0] * 3


@pytest.fixture
def spent(tmp_path):
    """The ledger of three runs that have spent 100, 200 and 300."""
    path = tmp_path / "spending"
    for cost in (100, 200, 300):
        ledger = budget(1000, path)
        assert ledger.reserve(cost)
        ledger.settle(cost, cost)
        ledger.close()
    return path


def change(path, statement):
    database = sqlite3.connect(path)
    with database:
        database.execute(statement)
    database.close()


DAMAGE = {
    "UPDATE runs SET spent = 0 WHERE run = 2": "run 2 is damaged",
    "UPDATE runs SET reserved = -600 WHERE run = 1": "run 1 is damaged",
    "UPDATE runs SET model = CAST(x'ff' AS TEXT) WHERE run = 3": "run 3 is damaged",
    "UPDATE runs SET digest = x'' WHERE run = 1": "run 1 is damaged",
    "UPDATE runs SET run = 9 WHERE run = 1": "run 9 is damaged; run 1 is missing",
    "DELETE FROM runs WHERE run = 1": "run 1 is missing",
    "DELETE FROM runs WHERE run = 3": "run 3 is missing",
    "DELETE FROM sqlite_sequence": "the numbers of the runs are damaged",
    "UPDATE sqlite_sequence SET seq = 1 << 62": "the number of the last run is damaged",
    "DROP TABLE runs": "no such table: runs",
    "ALTER TABLE runs DROP COLUMN reserved": "no such column: reserved",
    "PRAGMA user_version = 3": "it is empty, or of another program or version",
}


@pytest.mark.parametrize("statement", DAMAGE)
def test_what_earlier_runs_spent_is_never_less_than_they_wrote(spent, statement):
    assert budget(1000, spent).earlier == 600  # 100 + 200 + 300
    change(spent, statement)
    before = spent.read_bytes()
    with pytest.raises(DataError, match=r"Delete that file to count from 0, or use") as error:
        budget(1000, spent)
    assert f"spending is damaged, or not a ledger ({DAMAGE[statement]})" in str(error.value)
    assert spent.read_bytes() == before  # nothing that could still be read is lost


def test_a_session_whose_ledger_is_damaged_keeps_its_verdicts_and_says_why(tmp_path, rows):
    cache = tmp_path / "c.sqlite"
    earlier = budget(1000, ledger_path(cache))
    assert earlier.reserve(1)
    earlier.close()

    def answer(message):
        change(ledger_path(cache), "UPDATE runs SET spent = 0, reserved = 0")
        return Reply(FIVE, 10, 10)

    how = {"prices": {"m": (1.0, 10.0)}, "cache": cache, "concurrency": 1}
    judged = judge(rows, TONE, ScriptedChat(answer, model="m"), max_cost=1, **how)
    assert judged.scores["tone"].notna().tolist() == [True, False, False]
    assert "c.sqlite.spending is damaged" in " ".join(judged.notes)


def test_a_ledger_is_its_owners_alone_and_whole_from_its_first_moment(tmp_path, monkeypatch):
    ledger = budget(1000, tmp_path / "spending")

    def stop(*_, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr("rageval_report.judges.ledger.connect", stop)
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve(1)
    assert list(tmp_path.iterdir()) == []  # an empty file would be a ledger that lost its runs
    assert ledger.reserve(1)
    assert (tmp_path / "spending").stat().st_mode & 0o777 == 0o600


def test_a_full_disk_stops_neither_the_work_nor_the_budget(tmp_path):
    path = tmp_path / "spending"
    earlier = budget(1000, path)
    assert earlier.reserve(300)
    ledger = budget(1000, path)
    assert ledger.reserve(100)
    ledger._file._database.execute("PRAGMA query_only = 1")  # SQLite refuses to write from here on
    with pytest.warns(RagevalWarning, match="cannot be used") as warned:
        ledger.settle(100, 50)
    assert len(warned) == 1
    assert not ledger.reserve(651)
    assert ledger.reserve(650)

import sys

import pytest

from rageval_report.errors import DataError
from rageval_report.judges import Reply, ScriptedChat
from rageval_report.judges.judge_jobs import Progress, run_jobs
from rageval_report.judges.sessions import Brake, open_session
from rageval_report.judges.spending import Meter
from rageval_report.metrics.performance import Price


@pytest.mark.parametrize("concurrency", [1, 3, 50])
def test_every_job_is_done_once(concurrency):
    found = []
    run_jobs(
        lambda job: job * job,
        range(40),
        concurrency=concurrency,
        brake=Brake(10),
        keep=found.append,
    )
    assert sorted(found) == [job * job for job in range(40)]


def test_jobs_are_taken_as_they_are_needed():
    taken, done = [], []

    def jobs():
        for job in range(100):
            taken.append(job)
            assert len(taken) - len(done) <= 2 * 3 + 1  # memory stays flat, however many there are
            yield job

    run_jobs(lambda job: job, jobs(), concurrency=3, brake=Brake(10), keep=done.append)
    assert len(done) == 100


def test_a_bug_in_the_work_is_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        run_jobs(lambda job: 1 / job, [0], concurrency=1, brake=Brake(10), keep=print)


@pytest.mark.parametrize("concurrency", [0, -1, 2.5, True, None])
def test_concurrency_is_a_whole_number(concurrency):
    session = open_session(ScriptedChat([]), concurrency=concurrency)
    with pytest.raises(DataError, match="concurrency must be an integer >= 1; got"), session:
        pass


def test_the_bar_shows_what_failed_and_what_it_cost(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    meter = Meter(Price(1.0, 10.0))
    bar = Progress(2, meter, is_shown=True)
    meter.count_answer("tone", Reply("", 1000, 100))
    meter.count_failure("tone", "refused")
    bar._bar.mininterval = 0
    bar.advance()
    bar._bar.refresh()
    bar.close()
    assert "failed=1, cost=0.0020 USD" in capsys.readouterr().err


def test_no_bar_is_drawn_where_nobody_looks(capsys):
    bar = Progress(2, Meter(None), is_shown=True)
    bar.advance()
    bar.close()
    assert capsys.readouterr().err == ""

"""A few scenarios of the fault room; the script runs as many as are wanted."""

import sys

import pytest
from fault_jobs import JOBS, n_lines
from fault_room import TROUBLES, FaultRoom, is_part_of, jobs_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and limits of files")


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    with FaultRoom(tmp_path_factory.mktemp("faults")) as room:
        yield room


def faults_of(room, job, trouble, *seeds):
    """What does not hold in these scenarios."""
    room.findings.faults.clear()
    for seed in seeds:
        room.run(JOBS[job], trouble, seed)
    return room.findings.faults


@pytest.mark.parametrize("job", JOBS)
def test_a_job_that_is_killed_loses_doubles_and_tears_nothing(room, job):
    kills = room.findings.seen["kills"]
    assert faults_of(room, job, "kill in a call", 3) == []
    assert room.findings.seen["kills"] > kills


@pytest.mark.parametrize("job", ["judge", "save"])
def test_a_job_that_is_killed_in_the_middle_of_a_file_leaves_no_half_file(room, job):
    assert faults_of(room, job, "kill in a file", 5) == []


@pytest.mark.parametrize("job", ["eval", "judge"])
def test_a_full_disk_is_one_line_and_the_work_goes_on_when_there_is_space(room, job):
    assert faults_of(room, job, "file too large", 2) == []


@pytest.mark.parametrize(("job", "trouble"), [("eval", "clock forward"), ("judge", "clock back")])
def test_a_clock_that_jumps_changes_nothing(room, job, trouble):
    assert faults_of(room, job, trouble, 1) == []


def test_a_time_out_ends_although_the_clock_goes_back(room):
    assert faults_of(room, "eval", "silent server, clock back", 1) == []
    assert room.server.n_silent == 1


@pytest.mark.parametrize(
    ("job", "trouble"),
    [("eval", "server dies"), ("judge", "server resets"), ("golden evaluate", "server resets")],
)
def test_a_server_that_dies_and_returns_costs_no_answer(room, job, trouble):
    assert faults_of(room, job, trouble, 4) == []
    assert room.server.n_reset > 0


# -- each of these mistakes would be noticed


@pytest.mark.parametrize(
    ("job", "trouble", "mistake", "words"),
    [
        ("save", "kill in a file", "writes in place", "is torn"),
        ("eval", "kill in a call", "keeps answers in a buffer", "answers are lost"),
        ("judge", "kill in a call", "keeps no replies", "answers are lost"),
    ],
)
def test_a_mistake_would_be_noticed(room, monkeypatch, job, trouble, mistake, words):
    monkeypatch.setattr(room, "mistake", mistake)
    faults = (fault for seed in range(1, 13) for fault in faults_of(room, job, trouble, seed))
    assert any(words in fault for fault in faults)


def test_a_part_of_the_scores_is_told_from_other_scores():
    whole = {"recall": {"a": 0.5, "b": 1.0}}
    assert is_part_of({"recall": {"a": 0.5, "b": None}}, whole)
    assert not is_part_of({"recall": {"a": 0.0, "b": None}}, whole)
    assert not is_part_of({"recall": {"a": 0.5, "c": None}}, whole)
    assert is_part_of([{"error": "down"}, 2], [1, 2])
    assert not is_part_of([3, 2], [1, 2])
    summary = {"question_count": 16, "error_count": 0}
    assert is_part_of({"question_count": 16, "error_count": 2}, summary)
    assert not is_part_of({"question_count": 14, "error_count": 2}, summary)
    assert not is_part_of(summary, {"question_count": 16, "error_count": 2})
    assert not is_part_of("cannot be read", whole)


def test_only_whole_lines_with_an_answer_are_kept(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"format": 1}\n{"row": 0}\n{"row": 1, "error": "down"}\n{"row": 2}')
    assert n_lines(path, skip="format") == 1


def test_every_trouble_meets_a_job():
    assert all(jobs_for(trouble) for trouble in TROUBLES)

"""A few tries of each attack, and a mistake that each would notice; the scripts try more."""

import json
import random
import subprocess
import sys
from pathlib import Path

import flip_bits
import fuzz_readers
import hanging_commands
import interrupted_commands
import pytest
import spend_budgets
from attack import Found
from fault_room import FaultRoom, is_part_of

import rageval_report as rr
from rageval_report.judges import chats, sessions

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork, limits and /proc")


# -- kills, a full disk, a server that dies


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    with FaultRoom(tmp_path_factory.mktemp("faults")) as room:
        yield room


@pytest.mark.parametrize(
    ("job", "trouble", "seed"),
    [
        *(("eval", "kill in a call", 3), ("judge", "kill in a call", 3)),
        *(("save", "kill in a file", 5), ("judge", "disk full", 2), ("eval", "server dies", 4)),
    ],
)
def test_nothing_is_lost_doubled_or_torn(room, monkeypatch, job, trouble, seed):
    monkeypatch.setattr(room, "found", Found())
    room.run(job, trouble, seed)
    assert room.found.faults == []


@pytest.mark.parametrize(
    ("job", "trouble", "mistake", "words"),
    [
        ("save", "kill in a file", "writes in place", "is torn"),
        ("judge", "kill in a call", "keeps no replies", "answers are lost"),
    ],
)
def test_a_mistake_would_be_noticed(room, monkeypatch, job, trouble, mistake, words):
    monkeypatch.setattr(room, "mistake", mistake)
    monkeypatch.setattr(room, "found", Found())
    for seed in range(1, 13):
        room.run(job, trouble, seed)
        if any(words in fault for fault in room.found.faults):
            return
    pytest.fail(f"not noticed: {mistake}")


def test_a_part_of_the_scores_is_told_from_other_scores():
    whole = {"recall": {"a": 0.5, "b": 1.0}}
    assert is_part_of({"recall": {"a": 0.5, "b": None}}, whole)
    assert not is_part_of({"recall": {"a": 0.0, "b": None}}, whole)
    assert is_part_of([{"error": "down"}, 2], [1, 2])
    assert not is_part_of([3, 2], [1, 2])
    assert not is_part_of("cannot be read", whole)


# -- damaged files


def test_no_damage_is_silent_but_to_one_that_believes_everything():
    found, rng = Found(), random.Random(3)
    for name in ("cache", "journal of a run"):
        flip_bits.flip(name, flip_bits.KINDS[name], 60, rng, found)
    assert found.faults == []
    assert sum(found.counts[name] for name in found.counts if "unchanged" not in name) > 50

    def read(path):
        return {"text": path.read_bytes()}, []

    believes = flip_bits.Kind("a.txt", lambda path: path.write_text("0.5"), read)
    flip_bits.flip("text", believes, 20, rng, found)
    assert len(found.faults) == found.counts["text: SILENT"] == 20


def test_no_number_of_a_damaged_parquet_file_changes_without_a_word():
    # Its footer, with the names and descriptions, has no checksum: the script counts those too.
    def read(path):
        entries, notes = flip_bits.read_scores(path)
        return {"scores": entries[flip_bits.PARTS.index("scores")]}, notes

    kind, found = flip_bits.KINDS["saved Parquet"], Found()
    kind = flip_bits.Kind(kind.name, kind.write, read, asks_again=False)
    flip_bits.flip("scores", kind, 60, random.Random(3), found)
    assert found.faults == []


# -- hostile inputs


def test_an_input_is_read_or_refused_and_tables_are_read_as_others_do():
    found = fuzz_readers.attack(250, 11)
    assert found.faults == []
    for outcome, n in (("read", 50), ("refused", 50), ("compared", 10)):
        assert sum(v for k, v in found.counts.items() if k.endswith(outcome)) > n


def test_a_wrong_reading_and_another_exception_would_be_noticed():
    rows = [{"query_id": "q1", "recall": 0.5}, {"query_id": "q2", "recall": 1.0}]
    ours = {"x": rr.RAGPipelineEvaluation("x", rows)}
    assert fuzz_readers.difference(ours, rows) is None
    wrong = [
        ([{**rows[0], "query_id": "q3"}, rows[1]], "the id 'q1' is 'q3'"),
        ([{**row, "recall": 0.25} for row in rows], "recall: 0.5 is 0.25"),
        (rows[:1], "2 rows, not 1"),
    ]
    for others, words in wrong:
        assert words in fuzz_readers.difference(ours, others)
    found = Found()
    fuzz_readers.run_input("csv", b"x", lambda: 1 / 0, found)
    assert "ZeroDivisionError" in found.faults[0]


# -- budgets


def test_no_bill_exceeds_its_budget_and_every_run_ends():
    found = spend_budgets.attack(8, 11)
    assert found.faults == []
    assert found.counts["more than nine tenths of the budget billed"] > 0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("was_not_billed", lambda exc: True),
        ("max_request_tokens", lambda *args: chats.max_request_tokens(*args) // 4),
    ],
)
def test_a_cost_that_is_not_counted_would_be_noticed(monkeypatch, name, wrong):
    monkeypatch.setattr(sessions, name, wrong)
    assert any("bill" in fault for fault in spend_budgets.attack(6, 11).faults)


# -- commands that hang, and commands that are interrupted

# In a process of its own: others of this one may open and close files and threads meanwhile.
ASK = (
    "import hanging_commands as h, json; f = h.attack(len(h.DEEDS), 3); print(json.dumps(f.faults))"
)


def test_no_command_hangs_and_nothing_is_left():
    here, words = Path(hanging_commands.__file__).parent, [sys.executable, "-c", ASK]
    done = subprocess.run(words, cwd=here, capture_output=True, check=True, text=True)
    assert json.loads(done.stdout) == []
    found = Found()
    hanging_commands.judge("answers", "timeout", 1.0, found)
    hanging_commands.judge("does not read", "timeout", 62.5, found)
    assert found.faults == ["answers: timeout", "does not read: 61.5 s after the time-out"]


def test_commands_that_are_interrupted_end_with_one_line_and_whole_files():
    found = interrupted_commands.attack(1, 5, ("eval",))
    assert found.faults == []


@pytest.mark.parametrize(
    ("code", "stderr", "kind"),
    [
        (130, "note: x\nrageval-report: interrupted: kept in run\n", "interrupted"),
        (0, "", "finished"),
        (1, 'Traceback\n  File "<frozen site>"\nKeyboardInterrupt\n', "before"),
        (130, "", "fault"),
        (130, "rageval-report: interrupted\nrageval-report: interrupted\n", "fault"),
        (1, 'Traceback\n  File "/x/click/core.py", line 9, in invoke\nKeyboard...\n', "fault"),
        (2, "rageval-report: interrupted\n", "fault"),
    ],
)
def test_what_an_interruption_left_wrong_would_be_noticed(code, stderr, kind):
    assert interrupted_commands.fault_of(code, stderr)[0] == kind


def test_half_a_file_would_be_noticed(tmp_path):
    (tmp_path / "a.csv").write_text("x" * 50)
    case = interrupted_commands.Case((), "a.csv", is_run=True)
    assert "not whole" in interrupted_commands.wrong_files(case, tmp_path, 100)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "journal.jsonl").write_text('{"row": 1}\n{"ro')
    assert "last line of the journal" in interrupted_commands.wrong_files(case, tmp_path, 50)

"""monitor: what cron sees."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation


@pytest.fixture
def lives(folder):
    """A folder of runs that get worse, and one of runs that do not."""
    for name, last in (("bad", 0.3), ("good", 0.9)):
        for day in range(1, 9):
            rng = np.random.default_rng(day)
            share = 0.9 if day < 6 else last
            rows = {
                "query_id": [f"{day}-{i}" for i in range(100)],
                "faithfulness": (rng.random(100) < share).astype(float),
                "topic": ["law", "tax"] * 50,
            }
            run = RAGPipelineEvaluation("rag", rows, metrics=["faithfulness"])
            run.save(folder / name / f"2026-08-0{day}.json", created=f"2026-08-0{day}")
    return folder


def test_an_alarm_is_exit_code_1_and_says_since_when(lives, run):
    result = run("history monitor bad")
    assert result.exit_code == 1, result.stderr
    assert "faithfulness is worse since 2026-08-06" in result.stdout


def test_without_an_alarm_the_exit_code_is_0(lives, run):
    result = run("history monitor good --format json")
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)["rows"]
    assert [row["metric"] for row in rows] == ["faithfulness"]
    assert not any(row["alarm"] for row in rows)


def test_the_reference_the_tolerance_and_the_rate_are_options(lives, run):
    assert run("history monitor bad --tolerance faithfulness=0.7").exit_code == 0
    assert run("history monitor bad --reference 2026-08-06").exit_code == 0
    assert run("history monitor bad --alpha 0.000001 --metric faithfulness").exit_code == 1
    result = run("history monitor bad --tolerance faithfulness=much")
    assert result.exit_code == 2
    assert "expected NAME=NUMBER" in result.stderr


def test_a_picture_is_drawn(lives, run):
    result = run("history monitor bad --plot alarm.png --quiet")
    assert result.exit_code == 1
    assert Path("alarm.png").read_bytes().startswith(b"\x89PNG")


def test_files_may_stand_in_the_place_of_a_folder(lives, run):
    files = [f"d{day}=bad/2026-08-0{day}.json" for day in (1, 2, 7)]
    result = run("history", "monitor", *files)
    assert result.exit_code == 1
    assert "faithfulness is worse since d7" in result.stdout

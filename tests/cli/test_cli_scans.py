"""Commands whose files an engine counts: the same tables, said on standard error, or an error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from rageval_report.demo import write_demo_files

# What an engine changes in a result: that it is named, and notes on how files were read.
SETTINGS_OF_ENGINES = {"engine"}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """The example data as CSV files, and as folders of four Parquet files each."""
    folder = tmp_path_factory.mktemp("scans")
    write_demo_files(folder)
    for name in ("bm25", "hybrid"):
        frame = pd.read_csv(folder / f"{name}.csv", dtype={"query_id": str})
        (folder / name).mkdir()
        for part in range(4):
            frame.iloc[part * 50 : (part + 1) * 50].to_parquet(folder / name / f"{part}.parquet")
    return folder


@pytest.fixture
def files(written, tmp_path, monkeypatch) -> Path:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGEVAL_SCAN_ABOVE", raising=False)
    return tmp_path


def tables(text: str) -> list[dict]:
    """The parts of a JSON document that no engine may change."""
    document = json.loads(text)
    parts = document if isinstance(document, list) else [document]
    return [
        {
            "rows": part["rows"],
            "settings": {
                name: value
                for name, value in part["settings"].items()
                if name not in SETTINGS_OF_ENGINES
            },
            "title": part["title"],
        }
        for part in parts
    ]


def assert_same(row: dict, expected: dict) -> None:
    """Two rows with the same names and texts, and numbers that differ by rounding alone."""
    assert row.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, float | int) and not isinstance(value, bool):
            # Of a CSV file the details stay texts.
            assert float(row[name]) == pytest.approx(value, rel=1e-9, abs=1e-12), name
        else:
            assert row[name] == value, name


COMMANDS = [
    "report {a} {b} --metric faithfulness --percentiles 5,95 --confidence-level 0.9",
    "report --thresholds {b} --metric latency_ms --percentiles 10,90",
    "failures {a} --metric latency_ms --threshold p95 --limit 4",
    "compare old={a} new={b} --metric faithfulness --missing worst --tried 4",
    "compare {a} {b} --metric mrr --clusters domain",
    "regressions --improvements {a} {b} --metric latency_ms --limit 7",
    "slices {a} {b} --by question_type --metric exact_match --correction bh",
    "gate {b} --baseline {a} --rule no_regression(exact_match,margin=0.1) --rule wins(mrr)>=1",
    "rank --pairs {a} {b} c={b}",
    "history {a} {b} c={b} --baseline c --correction bh --confidence-level 0.9 --metric mrr",
    "history monitor {a} {b} c={b} --metric faithfulness",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_engine_changes_no_number(files, run, command):
    line = command.format(a="bm25.csv", b="hybrid.csv") + " --format json"
    whole, parts = run(line), run(f"{line} --engine duckdb")
    assert (whole.exit_code, parts.exit_code) in [(0, 0), (1, 1), (3, 3)], parts.stderr
    for expected, got in zip(tables(whole.stdout), tables(parts.stdout), strict=True):
        assert got["title"] == expected["title"]
        assert got["settings"] == expected["settings"]
        assert len(got["rows"]) == len(expected["rows"])
        # Equal changes are in the order of the rows in memory, and of the ids of files.
        rows, same_rows = got["rows"], expected["rows"]
        if command.startswith("regressions"):
            rows, same_rows = (
                sorted(r, key=lambda row: row["query_id"]) for r in (rows, same_rows)
            )
        for row, same in zip(rows, same_rows, strict=True):
            assert_same(row, same)


EVERY_SCORE = [
    "rank --weighted {a} {b} --metric mrr",
    "rank --pareto {a} {b} --metric mrr --metric latency_ms",
]


@pytest.mark.parametrize("command", EVERY_SCORE)
def test_what_needs_every_score_says_so(files, run, refused, command):
    line = command.format(a="bm25.csv", b="hybrid.csv")
    assert run(line).exit_code in (0, 1)
    told = refused(f"{line} --engine duckdb")
    assert "needs every score in memory: " in told
    assert "--engine memory" in told


def test_the_size_of_the_files_decides_and_a_note_says_so(files, run, monkeypatch):
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "50kB")
    small = run("report bm25.csv --format json")
    assert "engine" not in json.loads(small.stdout)["settings"]
    assert "part by part" not in small.stderr
    large = run("compare bm25.csv hybrid.csv --format json")
    assert json.loads(large.stdout)["settings"]["engine"] == "duckdb"
    assert large.stderr.splitlines()[0] == (
        "note: the files have 76.2 kB, more than RAGEVAL_SCAN_ABOVE=50kB, so they are read part "
        "by part; --engine memory reads them whole"
    )


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("report run.json", "only Parquet, CSV and JSON-lines files are, and run.json is not"),
        ("report bm25.csv::x hybrid.csv", "'x' is one of several pipelines in bm25.csv"),
    ],
)
def test_what_cannot_be_read_so_is_read_whole_with_a_note(files, run, monkeypatch, words, reason):
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "1kB")
    shutil.copy("bm25.csv", "run.csv")
    run("export run.csv --to json -o run.json")
    pd.read_csv("bm25.csv").to_json("run.json", orient="records")
    stderr = run(words).stderr
    assert f"; they are read whole all the same, because {reason}" in stderr


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("report bm25.csv --duplicates mean", "--duplicates does not apply to files that are read"),
        ("report bm25.csv --totals keep", "--totals does not apply to files that are read part by"),
        ("report bm25.csv --reader csv", "--reader does not apply to files that are read part by"),
        ("report bm25.csv --qrels q.txt", "--qrels does not apply to files that are read part by"),
        (
            "failures bm25.csv --metric mrr --threshold 0.5 --query q1",
            "--query does not apply to files that are read part by",
        ),
        ("outcomes bm25.csv hybrid.csv", "outcomes needs every score in memory"),
        ("report bm25.csv --option sheet=2", "--option sheet does not apply to files that are rea"),
        ("report bm25.csv::x", "bm25.csv::x: a pipeline cannot be read part by part; name Parquet"),
        ("report -", "standard input cannot be read part by part; name Parquet or CSV files of on"),
        ("report sqlite:///a.db?table=t", "a database or a service cannot be read part by part"),
        ("compare bm25.csv", "Missing argument 'CANDIDATE...': bm25.csv holds one pipeline"),
        (
            "compare bm25.csv bm25.csv",
            "two runs are named 'bm25.csv'; give each its own",
        ),
    ],
)
def test_what_does_not_apply_to_parts_is_an_error(files, refused, command, reason):
    assert reason in refused(f"{command} --engine duckdb")

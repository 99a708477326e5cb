"""What Tab completes, asked as the scripts of the shells ask, and typed in a real bash."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from rageval_report.cli.completing import columns_of
from rageval_report.plots import PLOTS
from rageval_report.render import RENDERERS


@pytest.fixture
def suggested(demo_folder, run, monkeypatch):
    """What is suggested for the last of some words."""

    def ask(*words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", " ".join(["rageval-report", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        monkeypatch.setenv("_RAGEVAL_REPORT_COMPLETE", "bash_complete")
        lines = run("").stdout.splitlines()
        monkeypatch.delenv("_RAGEVAL_REPORT_COMPLETE")
        return [line for line in lines if line]

    return ask


def plain(*names: str) -> list[str]:
    return [f"plain,{name}" for name in names]


def test_commands_are_completed(suggested):
    assert suggested("comp") == plain("compare", "compare-judged", "completion")
    assert suggested("golden", "ch") == plain("check")
    assert suggested("golden", "e") == plain("evaluate")
    assert suggested("plan-") == plain("plan-repeats", "plan-interval", "plan-labels")


def test_options_are_completed(suggested):
    assert suggested("compare", "bm25.csv", "hybrid.csv", "--cl") == plain("--clusters")


def test_arguments_and_some_options_are_files(suggested):
    for words in (("report", "bm"), ("compare", "bm25.csv", "h"), ("gate", "a", "--baseline", "b")):
        assert suggested(*words) == [f"file,{words[-1]}"]
    assert suggested("report", "bm25.csv", "-o", "a") == ["file,a"]


@pytest.mark.parametrize(
    "words",
    [
        ("report", "bm25.csv", "--metric"),
        ("compare", "bm25.csv", "hybrid.csv", "--metric"),
        ("failures", "nightly=bm25.csv", "--metric"),
        ("regressions", "bm25.csv::bm25", "hybrid.csv", "--metric"),
        ("report", "bm25", "--lower"),  # a folder
    ],
)
def test_metrics_are_those_of_the_files_on_the_line(suggested, words):
    assert suggested(*words, "f") == plain("faithfulness")
    assert suggested(*words, "re") == plain("reciprocal_rank", "recall@5")


def test_without_a_file_no_metric_is_suggested(suggested):
    assert suggested("report", "--metric", "f") == []
    assert suggested("report", "nowhere.csv", "--metric", "f") == []


def test_columns_of_texts_are_completed_where_groups_are(suggested):
    expected = plain("question", "question_type")
    assert suggested("slices", "bm25.csv", "--by", "qu") == expected
    assert suggested("compare", "bm25.csv", "hybrid.csv", "--clusters", "qu") == expected


def test_kinds_formats_engines_and_shells_are_completed(suggested):
    assert suggested("plot", "bm25.csv", "--kind", "d") == plain(
        *(kind for kind in PLOTS if kind.startswith("d"))
    )
    formats = [renderer.cli_name for renderer in RENDERERS.values()]
    assert suggested("report", "bm25.csv", "--format", "m") == plain(
        *(name for name in formats if name.startswith("m"))
    )
    assert suggested("report", "bm25.csv", "--engine", "d") == plain("duckdb", "dask")
    assert suggested("completion", "f") == plain("fish")


# -- the columns of files


ROWS = [
    {"query_id": "q1", "recall@5": 0.5, "hit": True, "topic": "law", "n": None, "ids": ["a"]},
    {"query_id": "q2", "recall@5": 1, "hit": False, "topic": "tax", "n": 3, "ids": []},
]
EXPECTED = {"recall@5": True, "hit": True, "topic": False, "n": True}


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.json", "a.jsonl", "a.parquet"])
def test_columns_are_read_from_every_kind_of_table(tmp_path, name):
    path, frame = tmp_path / name, pd.DataFrame(ROWS).drop(columns="ids")
    if name.endswith("parquet"):
        frame.to_parquet(path, index=False)
    elif name.endswith("jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif name.endswith("json"):
        path.write_text(json.dumps({"name": "run", "results": ROWS}))
    else:
        frame.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    assert columns_of(path) == EXPECTED


def test_the_scores_of_a_run_file_are_metrics(demo_folder):
    columns = columns_of(Path("runs/2026-08-01.json"))
    assert [name for name, is_number in columns.items() if is_number] == [
        "faithfulness",
        "exact_match",
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"{"),
        ("a.json", b"[[[[" * 100_000),
        ("a.json", b"3"),
        ("a.jsonl", b"\xff\xfe\n{\n"),
        ("a.csv", b""),
        ("a.csv", b"\x00\x01"),
        ("a.csv.gz", b"no gzip"),
        ("a.parquet", b"no parquet"),
        ("a.csv", b'"' * 300_000),
    ],
)
def test_a_damaged_file_has_no_columns(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    assert not any(columns_of(path).values())


def test_a_large_file_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("query_id,recall\n" + "q1,0.5\n" * 60_000 + "q2,not a number\n")
    assert columns_of(path) == {"recall": True}


# -- the scripts


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_is_printed(run, shell):
    result = run(f"completion {shell}")
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"_RAGEVAL_REPORT_COMPLETE={shell}_complete" in result.stdout
    assert "rageval-report" in result.stdout


def test_another_shell_is_refused(refused):
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in refused("completion tcsh")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_takes_its_script(run, tmp_path):
    path = tmp_path / "script"
    path.write_text(run("completion zsh").stdout)
    subprocess.run(["zsh", "-n", str(path)], check=True)


def read_until(terminal: int, wanted: str) -> str:
    """What a terminal shows, until it shows a text; it has a minute."""
    shown = b""
    while wanted.encode() not in shown:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, shown.decode(errors="replace")
        shown += os.read(terminal, 4096)
    return shown.decode(errors="replace")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_real_bash_completes_what_is_typed(demo_folder, run, monkeypatch):
    program = Path("bin/rageval-report")
    program.parent.mkdir()
    start = (
        "import sys; sys.argv[0] = 'rageval-report'; from rageval_report.cli import main; main()"
    )
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{start}" "$@"\n')
    program.chmod(0o755)
    Path("script").write_text(run("completion bash").stdout)
    Path("rc").write_text('PS1="ready> "\nPATH="$PWD/bin:$PATH"\n. ./script\n')
    root = Path(__file__).parents[2]
    environment = {**os.environ, "TERM": "dumb", "PYTHONPATH": str(root), "INPUTRC": "/dev/null"}
    ours, theirs = pty.openpty()
    words = ["bash", "--noprofile", "--rcfile", "rc", "-i"]
    with subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    ) as bash:
        os.close(theirs)
        try:
            read_until(ours, "ready> ")
            for typed, completed in (
                ("rageval-report thresh\t", "olds "),
                ("bm25.c\t", "sv "),
                ("--metric faith\t", "fulness "),
                ("--format mark\t", "down "),
            ):
                os.write(ours, typed.encode())
                read_until(ours, typed.rstrip("\t") + completed)
            os.write(ours, b"\n")
            shown = read_until(ours, "ready> ")
            assert "faithfulness" in shown
            assert "| metric" in shown
            os.write(ours, b"exit\n")
        finally:
            os.close(ours)
            bash.terminate()

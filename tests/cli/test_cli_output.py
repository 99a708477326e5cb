"""Where results go: files are whole, kept unless forced, and of the format that their name says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.cli.output import Output
from rageval_report.errors import DataError
from rageval_report.reports.formats import RENDERERS

REPORT = "report old.csv"


@pytest.mark.parametrize("renderer", RENDERERS.values(), ids=RENDERERS)
def test_the_suffix_chooses_the_format(folder, run, renderer):
    path = f"out{renderer.suffixes[0]}"
    command = "slices old.csv --by topic"  # of report, a file of HTML is the whole page
    result = run(f"{command} -o {path}")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert f"note: wrote {path}\n" in result.stderr
    shown = run(f"{command} --verbose --format {renderer.cli_name}").stdout
    assert Path(path).read_bytes().decode() == shown


def test_the_format_that_is_named_wins_over_the_suffix(folder, run):
    run(f"{REPORT} -o out.txt --format json")
    assert Path("out.txt").read_text().startswith("{")


def test_quiet_writes_the_file_and_says_nothing(folder, run):
    result = run(f"{REPORT} -o out.csv --quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert Path("out.csv").stat().st_size > 0


def test_a_file_that_is_there_is_kept(folder, refused):
    Path("out.md").write_text("mine")
    assert refused(f"{REPORT} -o out.md").endswith("replace it with --force")
    assert Path("out.md").read_text() == "mine"


def test_force_replaces_the_file(folder, run):
    Path("out.md").write_text("mine")
    assert run(f"{REPORT} -o out.md --force").exit_code == 0
    assert "Evaluation of old" in Path("out.md").read_text()


def test_a_suffix_that_says_nothing_asks_for_a_format(folder, refused):
    assert "choose with --format" in refused(f"{REPORT} -o out.doc")


def test_a_folder_is_no_file(folder, refused):
    assert "is a folder" in refused(f"{REPORT} -o . --force")


def test_a_folder_that_is_missing_is_made(folder, run):
    assert run(f"{REPORT} -o pages/of/today/out.csv").exit_code == 0
    assert (folder / "pages" / "of" / "today" / "out.csv").stat().st_size > 0


def test_a_run_that_fails_leaves_nothing_behind(folder, refused):
    before = sorted(folder.iterdir())
    refused("report old.csv --metric nothing -o out.csv")
    assert sorted(folder.iterdir()) == before


def test_the_check_comes_before_the_work(folder):
    Path("out.csv").write_text("mine")
    with pytest.raises(DataError, match="exists already"):
        Output.to(Path("out.csv"), None)


@pytest.mark.parametrize(("columns", "widest"), [("70", 70), ("200", 100), ("20", 60)])
def test_a_table_fits_the_terminal(folder, monkeypatch, capsys, columns, widest):
    result = RAGPipelineEvaluation.load("old", "old.csv").evaluation_report()
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    Output.to(None).write(result)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= widest


def test_an_unknown_format_is_answered_with_the_known_ones(folder, refused):
    assert "'doc' is not one of 'table', 'markdown'," in refused(f"{REPORT} --format doc")

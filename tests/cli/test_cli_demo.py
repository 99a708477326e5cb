"""demo: what it shows is what the commands show, and what it proposes works."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rageval_report.cli import rageval_report

PICTURES = ("demo_distribution.png", "demo_forest.png", "demo_differences.png")


@pytest.fixture(scope="module")
def first_run(tmp_path_factory) -> tuple[Path, Result]:
    """The folder in which the demo ran once, and what it showed."""
    folder = tmp_path_factory.mktemp("demo")
    with contextlib.chdir(folder):
        return folder, CliRunner().invoke(rageval_report, ["demo"])


@pytest.fixture
def shown(first_run, monkeypatch) -> str:
    folder, result = first_run
    monkeypatch.chdir(folder)
    return result.stdout


def test_the_demo_runs_without_a_note(first_run):
    _, result = first_run
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_demo_shows_report_failures_comparison_and_groups(shown):
    commands = re.findall(r"^\$ rageval-report (\w+)", shown, flags=re.MULTILINE)
    assert commands == ["report", "failures", "compare", "slices"]


def test_what_the_demo_shows_is_what_its_commands_show(shown, run):
    steps = re.split(r"^\$ rageval-report (.+)\n\n", shown.partition("\nWritten to")[0], flags=re.M)
    for command, output in zip(steps[1::2], steps[2::2], strict=True):
        assert run(*shlex.split(command)).stdout.rstrip() == output.rstrip()


def test_what_the_demo_proposes_works(shown, run):
    Path("mine.csv").write_text("query_id,recall\nq1,0.5\nq2,1\n")
    _, _, proposed = shown.partition("Try next:")
    Path("before.csv").write_text("query_id,recall\nq1,0.5\nq2,0.5\n")
    lines = [line.strip() for line in proposed.splitlines() if line.strip()]
    assert len(lines) == 3
    for line in lines:
        named = line.replace("YOUR_SCORES.csv", "mine.csv")
        words = shlex.split(named.replace("YOUR_OLD_SCORES.csv", "before.csv"))
        assert words[0] == "rageval-report"
        result = run(*words[1:])
        assert result.exit_code == 0
        assert "is now the command" not in result.stderr


def test_the_demo_says_which_page_to_open(shown):
    assert "\nOpen rageval-demo/report.html in a browser: " in shown
    page = Path("rageval-demo/report.html").read_text()
    assert "<title>hybrid against bm25</title>" in page
    assert 'id="queries"' in page


def test_what_readme_types_in_the_folder_of_the_demo_replaces_nothing_of_others(
    first_run, run, tmp_path, monkeypatch
):
    """README says cd rageval-demo; its commands there write report.html and forest.png."""
    shutil.copytree(first_run[0] / "rageval-demo", tmp_path / "rageval-demo")
    monkeypatch.chdir(tmp_path / "rageval-demo")
    for words in (
        "report bm25.csv hybrid.csv -o report.html",
        "plot bm25.csv hybrid.csv --kind forest -o forest.png",
        "plot bm25.csv hybrid.csv --kind forest -o demo_forest.png",
    ):
        assert run(words).exit_code == 0


def test_the_demo_says_which_files_it_wrote(shown):
    [told] = re.findall(r"^Written to (\S+): (.+?)\n\n", shown, flags=re.MULTILINE | re.DOTALL)
    assert told[0] == "rageval-demo"
    names = " ".join(told[1].split()).split(", ")
    assert names == ["bm25.csv", "hybrid.csv", "report.html", *PICTURES]
    assert {path.name for path in Path("rageval-demo").iterdir()} == set(names)


def test_the_demo_fits_a_hundred_columns(shown):
    lines = [line for line in shown.splitlines() if not line.startswith("$ ")]
    assert max(map(len, lines)) <= 100


def test_the_demo_has_verdicts_of_several_kinds(shown):
    assert "hybrid is better than bm25 on 3 of 8 metrics and worse on latency_ms" in shown
    for verdict in ("better", "worse", "undecided"):
        assert re.search(rf"  {verdict}$", shown, re.MULTILINE), verdict


def test_the_demo_can_be_run_again(shown, run):
    before = {path: path.read_bytes() for path in Path("rageval-demo").iterdir()}
    assert run("demo").stdout == shown
    assert {path: path.read_bytes() for path in Path("rageval-demo").iterdir()} == before


def test_the_demo_writes_where_it_is_told_and_is_quiet(folder, run):
    result = run("demo --output some/where --quiet")
    assert result.exit_code == 0
    assert result.stdout.startswith("Written to some/where: ")
    assert all(Path("some/where", name).stat().st_size > 0 for name in PICTURES)
    assert not Path("rageval-demo").exists()


def test_a_folder_that_cannot_be_made_is_told_in_one_line(folder, refused):
    assert refused("demo -o old.csv/demo").startswith("old.csv/demo cannot be created")


def test_the_live_demo_names_all_extras_that_it_misses_before_it_starts(
    folder, refused, monkeypatch
):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *args: None if name in ("httpx2", "bm25s") else find_spec(name, *args),
    )
    assert refused("demo --live") == (
        "demo --live needs packages that are not installed (httpx2, bm25s): "
        'pip install "rageval-report[http,server]"'
    )
    assert not Path("rageval-demo").exists()


def test_a_folder_that_is_named_for_the_live_demo_is_the_one_that_is_written_to(folder, run):
    assert run("demo --live --quiet --output asked").exit_code == 0
    assert {"k1.json", "k3.json", "queries.jsonl"} <= {
        path.name for path in Path("asked").iterdir()
    }
    assert not Path("asked/live").exists()


def test_the_live_demo_says_where_its_files_go(run):
    told = " ".join(run("demo --help").stdout.split()).replace("rageval- demo", "rageval-demo")
    assert "If omitted, rageval-demo, or rageval-demo/live with --live" in told

"""The drawing beside the table of compare, and the commands that it proposes."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.cli import rageval_report
from rageval_report.cli.next_steps import drill_down, plan_for_undecided
from rageval_report.cli.terminal_forest import (
    ASCII_GLYPHS,
    COLUMNS,
    UNICODE_GLYPHS,
    StandardisedRow,
    axis_of,
    draw_row,
    forest_lines,
    glyphs_for,
    standardised_rows,
)
from rageval_report.render.display import display_width

DEMO = "compare bm25.csv hybrid.csv"


def two_runs(n=40, seed=1, **metrics):
    """A baseline and a candidate whose metrics differ by a mean and a spread."""
    rng = np.random.default_rng(seed)
    ids = [f"q{i}" for i in range(n)]
    old = {name: rng.uniform(0, 1, n) for name in metrics}
    new = {name: old[name] + rng.normal(*metrics[name], n) for name in metrics}
    return tuple(
        RAGPipelineEvaluation(
            name, {"query_id": ids, **rows}, metrics={m: {"bounds": (-99, 99)} for m in metrics}
        )
        for name, rows in (("old", old), ("new", new))
    )


# -- the axis and the characters


def test_the_unit_is_the_standard_deviation_of_the_differences():
    old, new = two_runs(recall=(0.3, 0.5))
    differences = (new.scores - old.scores)["recall"]
    comparison = compare(old, new)
    [row], [drawn] = comparison.frame.itertuples(), standardised_rows(comparison)
    # pandas' std is that of n - 1.
    assert drawn.point == pytest.approx(differences.mean() / differences.std())
    assert drawn.low == pytest.approx(row.ci_low / differences.std())
    assert drawn.high == pytest.approx(row.ci_high / differences.std())


def test_swapped_pipelines_are_drawn_mirrored():
    old, new = two_runs(recall=(0.3, 0.5), latency_ms=(0.1, 0.5))
    forth, back = (standardised_rows(compare(*pair)) for pair in ((old, new), (new, old)))
    for row, other in zip(forth, back, strict=True):
        assert row[:3] == pytest.approx([-value for value in other[2::-1]])


def test_right_is_better_where_lower_is_better():
    old, new = two_runs(latency_ms=(1.0, 0.5))
    [row] = standardised_rows(compare(old, new))
    assert row.high < 0
    assert row.outcome == "worse"


def test_equal_differences_are_drawn_at_the_edge():
    ids = [f"q{i}" for i in range(10)]
    runs = [
        RAGPipelineEvaluation(name, {"query_id": ids, "recall": np.repeat(score, 10)})
        for name, score in (("old", 0.25), ("new", 0.5))
    ]
    [row] = rows = standardised_rows(compare(*runs))
    assert row.point == np.inf
    assert draw_row(row, axis_of(rows), ASCII_GLYPHS).endswith("^")


@pytest.mark.parametrize("outcome", ["better", "worse", "equivalent", "undecided"])
def test_a_row_has_twenty_columns_and_one_mark(outcome):
    row = StandardisedRow(-0.4, 0.1, 0.6, outcome)
    drawn = draw_row(row, (-1.0, 1.0), UNICODE_GLYPHS)
    assert display_width(drawn) == COLUMNS
    assert drawn.count(UNICODE_GLYPHS.mark(outcome)) == 1


@pytest.mark.parametrize("low", [1e-9, 0.001, 0.1, 3.0])
@pytest.mark.parametrize("ends", [(-1.0, 0.1), (-0.15, 2.0), (-1.0, 1.0)])
def test_an_interval_beside_zero_never_touches_its_line(low, ends):
    row = StandardisedRow(low, low + 0.05, low + 0.1, "better")
    zero = draw_row(StandardisedRow(*[np.nan] * 3, "undecided"), ends, ASCII_GLYPHS).index("|")
    for drawn, places in (
        (draw_row(row, ends, ASCII_GLYPHS), slice(0, zero)),
        (
            draw_row(StandardisedRow(*(-v for v in row[2::-1]), "worse"), ends, ASCII_GLYPHS),
            slice(zero + 1, None),
        ),
    ):
        assert drawn[zero] == "|"
        assert drawn[places].strip() == ""


def test_an_interval_around_zero_crosses_its_line():
    assert "+" in draw_row(StandardisedRow(-0.5, 0.3, 0.6, "undecided"), (-1, 1), ASCII_GLYPHS)


def test_without_an_interval_there_is_the_point_alone():
    row = StandardisedRow(np.nan, 0.5, np.nan, "undecided")
    assert draw_row(row, (-1.0, 1.0), ASCII_GLYPHS).split() == ["|", "o"]


def test_an_extreme_effect_does_not_squeeze_the_others():
    usual = StandardisedRow(-0.1, 0.1, 0.3, "undecided")
    ends = axis_of([usual, usual, StandardisedRow(40.0, 50.0, 60.0, "better")])
    assert ends[1] == pytest.approx(2 * 0.4)  # twice the median width of the intervals


def test_an_encoding_without_the_characters_gets_ascii():
    assert glyphs_for("utf-8") is UNICODE_GLYPHS
    assert glyphs_for("cp1252") is glyphs_for("no such one") is glyphs_for(None) is ASCII_GLYPHS


@pytest.mark.parametrize("width", [60, 70, 80, 100, 120, 200])
def test_the_table_keeps_the_width_and_every_number(demo_folder, width):
    runs = [RAGPipelineEvaluation.load(name, f"{name}.csv") for name in ("bm25", "hybrid")]
    lines = forest_lines(compare(*runs), width, UNICODE_GLYPHS)
    if width == 60:
        assert lines == []
        return
    assert max(map(display_width, lines)) <= width
    text = "\n".join(lines)
    assert all(number in text for number in ("0.599", "+0.126", "253.5 to 387.1", "undecided"))


# -- when it is drawn


def test_a_pipe_gets_the_table_without_the_drawing(demo_folder, run):
    assert "Drawn:" not in run(DEMO).stdout
    assert "Next:" not in run(DEMO).stdout


def test_plot_draws_in_a_pipe_too(demo_folder, run):
    drawn = run(f"{DEMO} --plot").stdout
    assert "▼" in drawn
    assert "Drawn: the improvement and its 95 % CI in standard deviations" in drawn


@pytest.mark.parametrize("more", ["--format csv", "-o out.txt"])
def test_plot_is_refused_where_nothing_is_drawn(demo_folder, refused, more):
    assert "--plot draws in the table on standard output only" in refused(f"{DEMO} --plot {more}")


def in_a_terminal(folder: Path, *words: str, columns: int = 120) -> str:
    """What a command writes to a terminal of that width."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"}
    command = (sys.executable, "-m", "rageval_report", *words)
    process = subprocess.Popen(
        command, cwd=folder, stdout=theirs, stderr=theirs, stdin=theirs, env=environment
    )
    os.close(theirs)
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError:  # Linux: the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0, b"".join(parts)
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_a_terminal_gets_the_drawing_and_the_next_steps(demo_folder):
    drawn = in_a_terminal(demo_folder, *DEMO.split())
    assert "worse │ better" in drawn
    last = drawn.splitlines()[-2]
    assert last.startswith("  rageval-report regressions bm25.csv hybrid.csv --metric ")
    assert "Drawn:" not in in_a_terminal(demo_folder, *DEMO.split(), "--no-plot")


def test_a_narrow_terminal_gets_the_table_alone(demo_folder):
    drawn = in_a_terminal(demo_folder, *DEMO.split(), columns=60)
    assert "Drawn:" not in drawn
    assert "Next:" in drawn


# -- what to do next


def next_lines(text: str) -> list[str]:
    return [line.strip() for line in text.partition("Next:\n")[2].splitlines()]


def test_the_next_steps_run_as_they_are(demo_folder, run):
    Path("bm25.csv").rename("my old $run.csv")
    words = ["compare", "my old $run.csv", "hybrid.csv", "--lower", "latency_ms", "--plot"]
    worst, plan = next_lines(run(*words).stdout)
    for line in (worst, plan):
        program, *arguments = shlex.split(line)
        assert program == "rageval-report"
        result = CliRunner().invoke(rageval_report, arguments)
        assert result.exit_code == 0, result.stderr
    assert "--metric latency_ms" in worst
    assert "--lower latency_ms" in worst


def test_a_shell_reads_the_name_of_the_file(demo_folder, run):
    Path("bm25.csv").rename("it's $(one).csv")
    worst, _ = next_lines(run("compare", "it's $(one).csv", "hybrid.csv", "--plot").stdout)
    told = subprocess.run(
        ["bash", "-c", worst.replace("rageval-report", "printf '%s\\n'")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines()[1] == "it's $(one).csv"


def test_reading_options_are_repeated(demo_folder, run):
    text = run(
        "compare bm25.run dense.run --qrels qrels.txt --metric ndcg@10 --metric mrr "
        "--option ties=input --plot"
    ).stdout
    assert all("--option ties=input --qrels qrels.txt" in line for line in next_lines(text))


def test_pipelines_of_one_file_are_named(demo_folder, run):
    lines = next_lines(run("compare promptfoo.json --plot").stdout)
    assert all("promptfoo.json::gpt-4o" in line for line in lines)


def test_standard_input_cannot_be_read_again(demo_folder, run):
    text = run("compare old.csv new=- --plot", stdin=Path("new.csv").read_bytes()).stdout
    assert "Next:" not in text


def test_a_metric_shown_to_be_worse_comes_first():
    # Most is lost on b, but with a spread that shows nothing.
    old, new = two_runs(a=(-0.1, 0.05), b=(-0.3, 5.0), c=(0.5, 0.1))
    words = drill_down(compare(old, new), {"old": "x.csv", "new": "y.csv"})
    assert words[:5] == ["regressions", "x.csv", "y.csv", "--metric", "a"]


def test_no_losses_need_no_drill_down():
    old, new = two_runs(a=(0.5, 0.001))
    assert drill_down(compare(old, new), {"old": "x.csv", "new": "y.csv"}) == []
    assert plan_for_undecided(compare(old, new), {"old": "x.csv", "new": "y.csv"}) == []


def test_undecided_metrics_are_planned():
    old, new = two_runs(80, a=(0.02, 0.3), b=(0.01, 0.3), c=(0.5, 0.1))
    comparison = compare(old, new)
    files = {"old": "x.csv", "new": "y.csv"}
    words = plan_for_undecided(comparison, files)
    assert words == "plan x.csv --candidate y.csv --metric a --metric b".split()


def test_several_candidates_are_planned_at_the_level_of_the_table():
    old, new = two_runs(80, a=(0.02, 0.3), b=(0.01, 0.3))
    again = RAGPipelineEvaluation("again", pd.DataFrame(new.scores).reset_index())
    words = plan_for_undecided(
        compare(old, new, again), dict.fromkeys(("old", "new", "again"), "f")
    )
    assert words[-2:] == ["--tests", "4"]

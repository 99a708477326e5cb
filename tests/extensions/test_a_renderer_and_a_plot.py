"""A format and a plot added from outside are choices of the command line as well."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from click.testing import CliRunner

from rageval_report.cli import rageval_report
from rageval_report.plots import PLOTS, Plot
from rageval_report.reports.formats import RENDERERS, Renderer

OLD = "query_id,recall@5,mrr\na,0.5,1\nb,1,0.5\n"
NEW = "query_id,recall@5,mrr\na,1,1\nb,1,0.25\n"


def render_rst(result):
    title = f"{result.title}\n{'=' * len(result.title)}\n"
    return title + "".join(f"\n:{row.metric}: {row.mean:g}" for row in result.frame.itertuples())


def draw_bars(evaluation, metrics=None, *, threshold=None, ax=None):
    ax = ax or plt.figure().add_subplot()
    names = [metrics] if isinstance(metrics, str) else metrics or list(evaluation.metrics)
    ax.bar(names, [evaluation.scores[name].mean() for name in names])
    return ax


def draw_gaps(comparison, metrics=None, *, ax=None):
    ax = ax or plt.figure().add_subplot()
    ax.bar(comparison.frame["metric"], comparison.frame["difference"])
    return ax


@pytest.fixture(autouse=True)
def _members():
    RENDERERS.add("rst", Renderer("rst", render_rst, (".rst",), cli_name="my_format"))
    PLOTS.add("my_kind", Plot("my_kind", draw_bars, subject="evaluation", most_metrics=1))
    PLOTS.add("gaps", Plot("gaps", draw_gaps, subject="comparison", metric_parameters=()))
    yield
    del RENDERERS._entries["rst"], PLOTS._entries["my_kind"], PLOTS._entries["gaps"]
    plt.close("all")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("old.csv").write_text(OLD)
    Path("new.csv").write_text(NEW)
    return lambda line: CliRunner().invoke(rageval_report, line.split())


def test_a_result_is_printed_in_the_format(run):
    told = run("report old.csv --format my_format").stdout
    assert told == "Evaluation of old\n=================\n\n:recall@5: 0.75\n:mrr: 0.75\n"


def test_its_suffix_chooses_the_format(run):
    assert run("report old.csv -o out.rst --quiet").exit_code == 0
    assert Path("out.rst").read_text() == run("report old.csv --format my_format").stdout


def test_help_and_errors_list_the_format(run):
    help_page = " ".join(run("report --help").stdout.split())
    assert "junit|my_format]" in help_page
    assert ".xml .rst)" in help_page
    assert "'junit', 'my_format'." in run("report old.csv --format doc").stderr
    assert ".md .rst .tex" in run("report old.csv -o out.doc").stderr


def test_the_plot_is_drawn_of_its_subject(run):
    for line in (
        "plot old.csv --kind my_kind --metric mrr --threshold 0.5 -o a.png",
        "plot old.csv new.csv --kind gaps -o b.png",
    ):
        result = run(line)
        assert result.exit_code == 0, result.stderr
    assert all(Path(name).read_bytes().startswith(b"\x89PNG") for name in ("a.png", "b.png"))


def test_its_entry_says_what_it_takes(run):
    for line, message in {
        "plot old.csv new.csv --kind my_kind -o a.png": "draws one pipeline; got 2",
        "plot old.csv --kind gaps -o a.png": "name a second file",
        "plot old.csv --kind my_kind --metric mrr --metric recall@5 -o a.png": "at most 1 metric",
        "plot old.csv --kind my_kind --scale own -o a.png": "--scale does not belong",
    }.items():
        result = run(line)
        assert result.exit_code == 2
        assert message in result.stderr
    assert "trends, my_kind, gaps. Kinds" in " ".join(run("plot --help").stdout.split())

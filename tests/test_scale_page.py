"""The examples of docs/scale.md run as they stand."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from rageval_report.cli import rageval_report

pytest.importorskip("narwhals")
pytest.importorskip("duckdb")

pytestmark = pytest.mark.docs

PAGE = (Path(__file__).parents[1] / "docs" / "scale.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Two folders of two Parquet files each."""
    monkeypatch.chdir(tmp_path)
    for name, share in (("bm25", 3), ("hybrid", 2)):
        Path(name).mkdir()
        for part in range(2):
            ids = [f"q{number:03d}" for number in range(50 * part, 50 * part + 50)]
            scores = [float(number % share > 0) for number in range(50)]
            frame = pd.DataFrame({"query_id": ids, "recall@5": scores})
            frame.to_parquet(Path(name, f"part-{part}.parquet"))


def test_the_page_is_short():
    assert len(PAGE.split()) <= 700


def test_the_example_runs_as_it_stands(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/scale.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "Evaluation of bm25" in printed
    assert "hybrid is worse than bm25 on 1 of 1 metric" in printed
    assert "34 of 100 scored queries" in printed


def test_each_command_runs_and_names_its_engine():
    (block,) = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    commands = block.splitlines()
    assert len(commands) == 6
    for command in commands:
        result = CliRunner().invoke(rageval_report, shlex.split(command)[1:])
        assert result.exit_code == (1 if " gate " in command else 0), result.output
        is_listed = any(word in command for word in (" regressions ", " plot "))
        whole = CliRunner().invoke(rageval_report, [*shlex.split(command)[1:], "--verbose"])
        assert "engine:duckdb" in result.stdout + whole.stdout or is_listed
    assert Path("forest.svg").stat().st_size > 1000


def test_the_tables_of_plots_are_those_that_are_drawn():
    from rageval_report import RAGPipelineEvaluation, compare, rank
    from rageval_report.errors import DataError

    scans = [RAGPipelineEvaluation.scan(name) for name in ("bm25", "hybrid")]
    of = {"a scan": scans[0], "`compare`": compare(*scans), "`rank`": rank(*scans)}
    for what, subject in of.items():
        (row,) = re.findall(rf"^\| {what} \| (.*) \|$", PAGE, re.MULTILINE)
        for kind in re.findall(r"`(\w+)`", row.partition(";")[0]):
            if kind != "slices":  # needs a column of groups
                subject.plot(kind)
        with pytest.raises(DataError, match="needs every score in memory"):
            subject.plot({"a scan": "strip", "`compare`": "differences", "`rank`": "pareto"}[what])

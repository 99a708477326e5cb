"""The example of docs/scale.md runs as it stands."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from rageval_report.cli import rageval_report

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
            questions = [f"What is {query_id}?" for query_id in ids]
            frame = pd.DataFrame({"query_id": ids, "question": questions, "recall@5": scores})
            frame.to_parquet(Path(name, f"part-{part}.parquet"))


def test_the_example_runs_as_it_stands(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/scale.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "Evaluation of bm25" in printed
    assert "hybrid against bm25" in printed
    assert len(pd.read_parquet("failures.parquet")) == 34


def test_each_command_runs_and_reads_part_by_part():
    (block,) = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    commands = block.splitlines()
    assert len(commands) == 10
    for command in commands:
        result = CliRunner().invoke(rageval_report, shlex.split(command)[1:])
        assert result.exit_code == (1 if " gate " in command else 0), result.output
        is_listed = any(word in command for word in (" regressions ", " -o page", " plot "))
        assert "engine:stream" in result.stdout or is_listed
    assert len(pd.read_parquet("all_failures.parquet")) == 34
    assert "the page shows" in Path("page.html").read_text(encoding="utf-8")
    assert Path("forest.svg").stat().st_size > 1000

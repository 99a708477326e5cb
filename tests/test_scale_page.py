"""The example of docs/scale.md runs as it stands."""

import re
from pathlib import Path

import pandas as pd
import pytest

pytestmark = pytest.mark.docs

PAGE = (Path(__file__).parents[1] / "docs" / "scale.md").read_text(encoding="utf-8")


def test_the_example_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, share in (("bm25", 3), ("hybrid", 2)):
        Path(name).mkdir()
        for part in range(2):
            ids = [f"q{number:03d}" for number in range(50 * part, 50 * part + 50)]
            scores = [float(number % share > 0) for number in range(50)]
            frame = pd.DataFrame({"query_id": ids, "recall@5": scores})
            frame.to_parquet(Path(name, f"part-{part}.parquet"))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/scale.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "Evaluation of bm25" in printed
    assert "hybrid against bm25" in printed
    assert len(pd.read_parquet("failures.parquet")) == 34

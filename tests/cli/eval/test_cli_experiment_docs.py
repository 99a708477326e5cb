"""What docs/experiment.md shows runs as it stands, against a server on this machine."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from rageval_report.demo.server import ExtractiveRag, ReferenceServer, demo_documents, demo_queries

pytestmark = pytest.mark.docs

PAGE = (Path(__file__).parents[3] / "docs" / "experiment.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_the_blocks_of_python_run_one_after_another(folder, capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "experiment.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "Effects of top_k and rerank" in printed
    assert "Interactions of top_k and rerank" in printed
    assert Path("first.html").read_text(encoding="utf-8").startswith("<!")


def test_the_command_runs(folder, run):
    [command] = re.findall(r"^rageval-report .*$", PAGE, re.MULTILINE)
    lines = [json.dumps(query) for query in demo_queries()]
    Path("queries.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with ReferenceServer(ExtractiveRag(demo_documents())) as server:
        words = shlex.split(command.replace("http://localhost:8001", server.url))
        result = run(*words[1:])
    assert result.exit_code == 0, result.stderr
    assert "Effects of k and rerank" in result.stdout
    assert len([*Path("tuned").glob("*/report.html")]) == 4

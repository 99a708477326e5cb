"""README's examples run as they stand, on the demonstration data under the names that it uses."""

import contextlib
import json
import re
import shlex
import shutil
from pathlib import Path

import matplotlib as mpl
import pytest
from click.testing import CliRunner

from rageval_report.cli import rageval_report
from rageval_report.cli.demo import FOLDER
from rageval_report.demo import demo_evaluations, write_demo_files

pytestmark = pytest.mark.docs

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
EVERY_COMMAND = re.findall(r"^rageval-report .*$", README, re.MULTILINE)
COMMANDS = [command for command in EVERY_COMMAND if "http://" not in command]


@pytest.fixture(scope="module")
def example_files(tmp_path_factory):
    """What the examples read, written once: each test gets a copy."""
    folder = tmp_path_factory.mktemp("readme")
    with contextlib.chdir(folder):
        _write_example_files()
    return folder


def _write_example_files():
    baseline, candidate = demo_evaluations()
    baseline.save("bm25.csv")
    candidate.save("hybrid.csv")
    gold = {"qid": "a", "answerable": True, "gold_claim_substr": ["Paris"]}
    trace = {"qid": "a", "answer_json": {"claim": "It is Paris.", "citations": []}}
    for name, row in (("gold", gold), ("trace", trace)):
        Path(f"{name}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    for day, run in enumerate((baseline, candidate), 2):  # 1.json is the examples' own
        run.save(f"runs/{day}.json", created=f"2026-03-0{day}")
    record = {"query_id": "a", "answer": "Paris", "reference": "Paris"}
    record |= {"retrieved": ["d1"], "relevant": ["d1"]}
    Path("answered.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    candidate.save("judged.json")
    candidate.save("hybrid.json")  # as the Python example does
    candidate.scores["faithfulness"].dropna().head(8).round().to_csv("sheet.csv")
    item = {"query_id": "a", "question": "Where is the Louvre?", "relevant": ["louvre.md"]}
    Path("golden.jsonl").write_text(json.dumps(item) + "\n", encoding="utf-8")
    Path("docs").mkdir()
    Path("docs/louvre.md").write_text("The Louvre is in Paris.\n", encoding="utf-8")
    Path("bm25.run").write_text("q1 Q0 d1 1 0.9 bm25\n", encoding="utf-8")
    Path("dense.run").write_text("q1 Q0 d2 1 0.9 dense\nq1 Q0 d1 2 0.5 dense\n", encoding="utf-8")
    Path("qrels.txt").write_text("q1 0 d1 1\n", encoding="utf-8")


@pytest.fixture(autouse=True)
def folder(tmp_path, example_files, monkeypatch):
    shutil.copytree(example_files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    return tmp_path


def test_the_python_examples_run_one_after_the_other(capsys):
    assert PYTHON
    exec(compile("\n".join(PYTHON), "README.md", "exec"), {})
    assert "hybrid" in capsys.readouterr().out


def test_the_files_of_the_examples_are_those_that_the_demo_writes(folder):
    written = write_demo_files(folder / FOLDER)
    assert f"`cd {FOLDER}`" in README
    assert set(re.findall(r'"(\w+\.csv)"', PYTHON[0])) == {path.name for path in written}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_runs(command):
    arguments = shlex.split(command, comments=True)[1:]
    result = CliRunner().invoke(rageval_report, arguments)
    assert result.exit_code == 0, result.output

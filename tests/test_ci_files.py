"""The GitHub action and the hooks of pre-commit, run as far as this machine can run them."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rageval_report.demo import write_demo_files

yaml = pytest.importorskip("yaml")

REPOSITORY = Path(__file__).parents[1]
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text("utf-8"))
HOOKS = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
INSTALL, CHECK, COMMENT = (
    *("Install rageval-report", "Check the gates", "Comment on the pull request"),
)
HOSTILE = (
    '"; touch pwned; echo "',
    "'; touch pwned; echo '",
    "$(touch pwned)",
    "`touch pwned`",
    "x; touch pwned",
    "--help",
    "a b\tc  d",
)
OURS = "import sys\nfrom rageval_report.__main__ import main\nsys.exit(main())\n"
# Writes its arguments, one list per call; `venv` makes a folder with a python like itself.
RECORDER = """
import json, pathlib, shutil, sys
with open({log!r}, "a") as file:
    file.write(json.dumps([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]]) + "\\n")
if "venv" in sys.argv:
    programs = pathlib.Path(sys.argv[-1], "bin")
    programs.mkdir(parents=True)
    shutil.copy(sys.argv[0], programs / "python")
"""


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A checkout with scores and rules, and programs that are found before all others."""
    for folder in ("checkout", "programs", "temp"):
        (tmp_path / folder).mkdir()
    checkout = tmp_path / "checkout"
    write_demo_files(checkout)
    (checkout / "hybrid.csv").rename(checkout / "scores.csv")
    (checkout / "gates.toml").write_text('rules = ["mean(recall@5) >= 0.5"]\n')
    monkeypatch.chdir(checkout)
    return tmp_path


def program(folder, name, text):
    """A program in Python; it uses the packages of this interpreter."""
    path = folder / "programs" / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return path


def recorder(folder, name):
    return program(folder, name, RECORDER.format(log=str(folder / "log")))


def calls(folder):
    return [json.loads(line) for line in (folder / "log").read_text().splitlines()]


def environment(folder, **variables):
    paths = f"{folder / 'programs'}{os.pathsep}{os.environ['PATH']}"
    files = {name: str(folder / name) for name in ("GITHUB_ENV", "GITHUB_OUTPUT")}
    summary = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "GITHUB_ACTIONS": "true"}
    return {
        **os.environ,
        "PATH": paths,
        "RUNNER_TEMP": str(folder / "temp"),
        "PYTHONPATH": str(REPOSITORY),
        **files,
        **summary,
        **variables,
    }


def run_step(folder, name, values, **variables):
    """Run a step as GitHub does: the expressions of its environment are replaced, then bash."""
    step = STEPS[name]
    known = {f"inputs.{key}": item.get("default", "") for key, item in ACTION["inputs"].items()}
    known |= {"github.action_path": "/action", **values}
    filled = {
        key: EXPRESSION.sub(lambda match: known[match[1]], text)
        for key, text in step["env"].items()
    }
    script = folder / "script.sh"
    script.write_text(step["run"])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
        env=environment(folder, **filled, **variables),
        capture_output=True,
        text=True,
    )


def outputs(folder):
    return dict(line.split("=", 1) for line in (folder / "GITHUB_OUTPUT").read_text().splitlines())


# -- the action


def test_no_expression_is_put_into_a_script():
    scripts = [step["run"] for step in STEPS.values() if "run" in step]
    assert len(scripts) == 3
    assert not any("${{" in script for script in scripts)


def test_every_input_is_used_and_every_used_one_is_declared():
    steps = json.dumps(ACTION["runs"])
    assert set(re.findall(r"inputs\.([\w-]+)", steps)) == set(ACTION["inputs"])
    assert all(item["description"] for item in ACTION["inputs"].values())
    assert set(re.findall(r"steps\.gate\.outputs\.([\w-]+)", json.dumps(ACTION["outputs"]))) == {
        *("passed", "comment-file", "junit-file")
    }


@pytest.mark.parametrize(
    ("version", "package"), [("", "/action[yaml]"), ("1.2.0", "rageval-report[yaml]==1.2.0")]
)
def test_the_package_is_installed_in_an_environment_of_its_own(workspace, version, package):
    recorder(workspace, "python")
    result = run_step(workspace, INSTALL, {"inputs.version": version})
    assert result.returncode == 0, result.stderr
    folder = workspace / "temp" / "rageval-report"
    made, installed = calls(workspace)
    assert made == ["python", "-I", "-m", "venv", str(folder)]
    assert installed[:5] == ["python", "-I", "-m", "pip", "install"]
    assert installed[-1] == package
    line = f"RAGEVAL_REPORT={folder}/bin/rageval-report\n"
    assert (workspace / "GITHUB_ENV").read_text() == line


@pytest.mark.parametrize("version", [*HOSTILE, "1 --index-url=http://elsewhere", "1\ntouch pwned"])
def test_a_version_that_is_none_installs_nothing(workspace, version):
    recorder(workspace, "python")
    result = run_step(workspace, INSTALL, {"inputs.version": version})
    assert (result.returncode, result.stdout) == (
        2,
        "::error::version must be a version such as 1.2.0\n",
    )
    assert not (workspace / "log").exists()
    assert list(workspace.rglob("pwned")) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_inputs_reach_the_command_as_they_are_and_run_nothing(workspace, text):
    ours = recorder(workspace, "ours")
    values = {f"inputs.{name}": text for name in ("scores", "gates", "rules", "baseline")}
    result = run_step(workspace, CHECK, values, RAGEVAL_REPORT=str(ours))
    assert result.returncode == 0, result.stderr
    temp = workspace / "temp"
    assert calls(workspace) == [
        [
            *("ours", "gate", f"--comment={temp}/rageval-gates.md"),
            *(f"--junit={temp}/rageval-gates.xml", f"--gates={text}", f"--baseline={text}"),
            *(f"--rule={text}", "--force", "--", text),
        ]
    ]
    assert list(workspace.rglob("pwned")) == []


def test_rules_are_lines_and_what_is_left_out_is_no_option(workspace):
    ours = recorder(workspace, "ours")
    values = {"inputs.scores": "scores.csv", "inputs.rules": "n(mrr) > 3\n\n  \nmax(mrr) <= 1\n"}
    run_step(workspace, CHECK, values, RAGEVAL_REPORT=str(ours))
    [words] = calls(workspace)
    assert words[4:] == ["--rule=n(mrr) > 3", "--rule=max(mrr) <= 1", "--force", "--", "scores.csv"]


@pytest.mark.parametrize(
    ("rules", "code", "passed"), [("", 0, "true"), ("mean(recall@5) >= 0.99", 1, "false")]
)
def test_the_summary_the_comment_and_the_outputs_are_written(workspace, rules, code, passed):
    ours = program(workspace, "rageval-report", OURS)
    values = {"inputs.scores": "scores.csv", "inputs.gates": "gates.toml", "inputs.rules": rules}
    result = run_step(workspace, CHECK, values, RAGEVAL_REPORT=str(ours))
    assert result.returncode == code, result.stderr
    written = outputs(workspace)
    assert written.pop("passed") == passed
    comment, junit = written["comment-file"], written["junit-file"]
    shown = (workspace / "summary.md").read_bytes()
    assert Path(comment).read_bytes() == shown
    assert "Gates of scores" in Path(comment).read_text("utf-8")
    assert Path(junit).read_text("utf-8").startswith("<?xml")
    assert ("::error title=mean(recall@5) >= 0.99::" in result.stderr) == bool(code)


@pytest.mark.parametrize("scores", ['"; touch pwned"', "--help"])
def test_a_file_that_is_not_there_ends_with_2_and_no_outputs(workspace, scores):
    ours = program(workspace, "rageval-report", OURS)
    values = {"inputs.scores": scores, "inputs.gates": "gates.toml"}
    result = run_step(workspace, CHECK, values, RAGEVAL_REPORT=str(ours))
    assert result.returncode == 2
    assert f"{scores}: there is no such file" in result.stderr
    assert not (workspace / "GITHUB_OUTPUT").exists()
    assert list(workspace.rglob("pwned")) == []


def test_the_comment_is_written_by_the_program_of_github(workspace):
    recorder(workspace, "gh")
    values = {
        "github.event.pull_request.number": "7; touch pwned",
        "steps.gate.outputs.comment-file": "gates.md",
        "inputs.token": "secret",
    }
    assert run_step(workspace, COMMENT, values).returncode == 0
    words = ["gh", "pr", "comment", "7; touch pwned", "--body-file", "gates.md"]
    assert calls(workspace) == [[*words, "--edit-last", "--create-if-none"]]
    assert list(workspace.rglob("pwned")) == []


def test_forks_get_no_comment():
    condition = STEPS[COMMENT]["if"]
    assert "github.event.pull_request.head.repo.full_name == github.repository" in condition
    assert "inputs.comment == 'true'" in condition


# -- the hooks of pre-commit


def run_hook(workspace, hook, *files):
    """Run a hook as pre-commit does: entry, then arguments, then the changed files."""
    program(workspace, "rageval-report", OURS)
    passed = files if hook.get("pass_filenames", True) else ()
    words = [*shlex.split(hook["entry"]), *hook.get("args", []), *passed]
    variables = environment(workspace, GITHUB_ACTIONS="", GITHUB_STEP_SUMMARY="", GITHUB_OUTPUT="")
    return subprocess.run(words, env=variables, capture_output=True, text=True)


@pytest.mark.parametrize(("rule", "code"), [("n(mrr) >= 1", 0), ("n(mrr) >= 1000", 1)])
def test_the_hook_of_gates_passes_and_fails_with_its_rules(workspace, rule, code):
    Path("gates.toml").write_text(f'rules = ["{rule}"]\n')
    hook = HOOKS[0]
    assert all(re.search(hook["files"], name) for name in ("scores.csv", "gates.toml"))
    assert not re.search(hook["files"], "other/scores.csv")
    result = run_hook(workspace, hook, "gates.toml")
    assert result.returncode == code, result.stderr
    (row,) = re.findall(r"^n\(mrr\) >= .*$", result.stdout, re.MULTILINE)
    assert row.endswith("200.0        –  200         0  " + ("failed" if code else "passed"))

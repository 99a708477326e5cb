"""The plug-in in sessions of pytest of its own, in this process and in others."""

import subprocess
import sys
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report import pytest as plugin
from rageval_report.errors import GateError
from rageval_report.pytest import assert_gates, rule_items

# Sessions in this process forget what they import, and compiled modules load only once.

pytest_plugins = ["pytester"]

REPOSITORY = Path(__file__).parents[2]
PLUGIN = "rageval_report.pytest"
assert {rule_items.__package__} == {PLUGIN}
RULES = ("mean(mrr) >= 0.5", "min(mrr) >= 0.5", "n(mrr) == 4")
SCORES = "query_id,mrr,faithfulness\nq1,0.25,0.5\nq2,0.5,\nq3,0.75,1\nq4,1,0.75\n"
BASELINE = "query_id,mrr,faithfulness\nq1,0.5,1\nq2,1,\nq3,1,1\nq4,1,1\n"
FILES = ("--rageval-scores", "scores.csv", "--rageval-gates", "gates.toml")


def gates_text(*rules):
    return f"rules = {list(rules)}\n"


@pytest.fixture
def project(pytester):
    """A folder with scores, a baseline, three rules, and a test that passes."""
    (pytester.path / "scores.csv").write_text(SCORES)
    (pytester.path / "baseline.csv").write_text(BASELINE)
    (pytester.path / "gates.toml").write_text(gates_text(*RULES))
    pytester.makepyfile(test_usual="def test_usual(): pass")
    return pytester


@pytest.fixture
def run(project):
    def run_(*words):
        return project.runpytest_inprocess("-p", "no:cacheprovider", *words, plugins=[plugin])

    return run_


def ids(result):
    """The ids of the tests, as `--co -q` lists them."""
    return [line for line in result.outlines if "::" in line and not line.startswith("  ")]


# -- what it costs when it is not used


def test_loading_the_plugin_imports_nothing_heavy():
    program = (
        "import sys, pytest, rageval_report.pytest\n"
        "ours = {n for n in sys.modules if n.startswith('rageval_report')}\n"
        "assert not {'numpy', 'pandas', 'scipy', 'click'} & set(sys.modules)\n"
        "assert len(ours) <= 8, ours\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# -- what is collected


def test_each_rule_is_a_test_beside_the_usual_ones(run):
    result = run(*FILES, "--co", "-q")
    assert ids(result) == [
        "test_usual.py::test_usual",
        *(f"gates.toml::{rule}" for rule in RULES),
    ]


def test_the_configuration_file_names_the_files_for_every_folder(project, run, monkeypatch):
    lines = (
        "[pytest]\naddopts = --rageval\nrageval_scores = scores.csv\n"
        "rageval_gates = gates.toml\nrageval_baseline = baseline.csv\n"
    )
    (project.path / "pytest.ini").write_text(lines)
    (project.path / "gates.toml").write_text(gates_text("losses(mrr) == 3"))
    monkeypatch.chdir(project.mkdir("elsewhere"))
    run("../test_usual.py").assert_outcomes(passed=2)


# -- what a rule does


def test_rules_are_compared_with_a_baseline_and_adjusted_together(project, run):
    for name in ("scores.csv", "baseline.csv"):  # twice the queries: three are too few for a test
        header, *rows = (project.path / name).read_text().splitlines()
        again = [row.replace("q", "r", 1) for row in rows]
        (project.path / name).write_text("\n".join([header, *rows, *again]) + "\n")
    rules = ("no_regression(mrr, margin=0.5)", "no_regression(faithfulness, margin=0.1)")
    (project.path / "gates.toml").write_text(gates_text(*rules))
    result = run("gates.toml", *FILES, "--rageval-baseline", "baseline.csv", "-k", "faithfulness")
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(
        [
            "rageval-report: gates of scores.csv against baseline.csv",
            "too few queries: the true loss of scores on faithfulness*"
            "Holm-adjusted over 2 rules p*; about * more queries would decide",
        ]
    )


def test_a_doubt_about_the_scores_is_a_warning_of_pytest(project, run):
    rows = "".join(f"q{i},0,{i / 100}\n" for i in range(40))
    (project.path / "scores.csv").write_text(f"query_id,recall@5,mrr\n{rows}")
    (project.path / "gates.toml").write_text(gates_text("mean(recall@5) <= 0.1"))
    # This process turns warnings into errors, and the session inside would inherit that.
    result = run("gates.toml", "-W", "default", *FILES)
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*RagevalWarning: Doubt: scores: recall@5 is 0 for all 40*"])


# -- what is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('rules = ["mean(mrr) => 0.5"]', "*gates.toml, rule 1: *did you mean >=?*"),
        ("rules = [", "*gates.toml*: not TOML*"),
        (None, "*gates.toml: cannot be read: No such file*"),
    ],
)
def test_a_broken_file_of_gates_is_an_error_of_collection(project, run, text, message):
    path = project.path / "gates.toml"
    path.unlink() if text is None else path.write_text(text)
    result = run(*FILES)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([message])
    result.assert_outcomes(errors=1)


# -- fixtures

TESTS = """
    from rageval_report.pytest import assert_gates

    def test_gates(rageval_evaluation, rageval_gates, rageval_baseline):
        assert_gates(rageval_evaluation, rageval_gates, rageval_baseline)

    def test_without_a_baseline(rageval_baseline):
        assert rageval_baseline is None
"""


def test_fixtures_read_the_files(project, run):
    project.makepyfile(test_gates=TESTS)
    (project.path / "gates.toml").write_text(gates_text("n(mrr) == 4", "max(mrr) <= 0.9"))
    result = run("--rageval-scores", "scores.csv", "--rageval-gates", "gates.toml", "test_gates.py")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            ">*assert_gates(rageval_evaluation, rageval_gates, rageval_baseline)",
            "E*GateError: 1 of 2 gates does not hold",
            "E*max(mrr) is 1, not at most 0.9 (4 scored)",
        ]
    )
    assert "def assert_gates" not in result.stdout.str()  # the test's own line is shown instead


# -- other processes


def test_it_works_in_several_processes_when_it_is_installed(project):
    # As a wheel is installed: pytest then compiles every module of the package itself.
    folder = project.mkdir("rageval_report-9.dist-info")
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: rageval-report\nVersion: 9\n")
    (folder / "entry_points.txt").write_text(f"[pytest11]\n{PLUGIN} = {PLUGIN}\n")
    (folder / "RECORD").write_text("rageval_report/__init__.py,,\n")
    result = project.runpytest_subprocess("-n", "2", "-W", "error", *FILES)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["min(mrr) is 0.25, not at least 0.5 (4 scored)"])


@pytest.fixture
def evaluation():
    data = {"query_id": ["q1", "q2", "q3"], "mrr": [0.25, 0.5, 1], "faithfulness": [1, None, 0]}
    return RAGPipelineEvaluation("v2", data)


@pytest.fixture
def baseline():
    data = {"query_id": ["q1", "q2", "q3"], "mrr": [1, 0.5, 1], "faithfulness": [1, None, 0]}
    return RAGPipelineEvaluation("v1", data)


def test_the_result_is_returned_if_all_rules_hold(evaluation):
    result = assert_gates(evaluation, ["mean(mrr) >= 0.5", "n(mrr) == 3"])
    assert result.frame["value"].tolist() == [pytest.approx(1.75 / 3), 3]


def test_the_error_has_every_rule_that_does_not_hold_and_no_other(evaluation):
    rules = ["min(mrr) >= 0.3", "n(mrr) == 3", "unscored(faithfulness) <= 10%"]
    with pytest.raises(GateError) as caught:
        assert_gates(evaluation, rules)
    assert str(caught.value).splitlines() == [
        "2 of 3 gates do not hold",
        "min(mrr) >= 0.3",
        "  min(mrr) is 0.25, not at least 0.3 (3 scored)",
        "  1 query below 0.3 on mrr: 'q1'",
        "unscored(faithfulness) <= 10%",
        # SciPy 1.17: binomtest(1, 3).proportion_ci("exact") is 0.0084 to 0.9057
        "  unscored(faithfulness) is 0.3333, not at most 0.1 (2 scored, 1 unscored; 95 % CI 0.008 "
        "to 0.906); the interval contains the threshold",
    ]


def test_a_baseline_answers_rules_that_need_one(evaluation, baseline):
    assert assert_gates(evaluation, ["losses(mrr) == 1"], baseline=baseline).passed


def test_a_comparison_of_three_queries_does_not_open_a_gate(evaluation, baseline):
    with pytest.raises(GateError, match="too few queries for a test: 3, at least 6 are needed"):
        assert_gates(evaluation, ["ci_low(difference(mrr)) >= -1"], baseline)

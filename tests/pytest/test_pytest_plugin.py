"""The plug-in in sessions of pytest of its own, in this process and in others."""

import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rageval_report import pytest as plugin

# Sessions in this process forget what they import, and compiled modules load only once.
from rageval_report.pytest import rule_items

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


def test_nothing_is_collected_unless_the_command_line_says_so(project, run):
    lines = "[pytest]\nrageval_scores = scores.csv\nrageval_gates = gates.toml\n"
    (project.path / "pytest.ini").write_text(lines)
    result = run("--co", "-q")
    assert ids(result) == ["test_usual.py::test_usual"]
    assert "rageval-report: gates of" not in result.stdout.str()


def test_loading_the_plugin_imports_nothing_heavy():
    program = (
        "import sys, pytest, rageval_report.pytest\n"
        "ours = {n for n in sys.modules if n.startswith('rageval_report')}\n"
        "assert not {'numpy', 'pandas', 'scipy', 'click'} & set(sys.modules)\n"
        "assert len(ours) <= 8, ours\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_entry_point_has_the_name_of_the_module():
    # With another name, `-p rageval_report.pytest` would register the module twice.
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}


# -- what is collected


def test_each_rule_is_a_test_beside_the_usual_ones(run):
    result = run(*FILES, "--co", "-q")
    assert ids(result) == [
        "test_usual.py::test_usual",
        *(f"gates.toml::{rule}" for rule in RULES),
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("gates.toml", "--rageval", "--rageval-scores", "scores.csv"),
        ("gates.toml", *FILES),
        (".", "gates.toml", "--deselect", "test_usual.py", *FILES),
    ],
)
def test_a_file_of_gates_can_be_an_argument_and_is_collected_once(run, words):
    result = run(*words, "--co", "-q")
    assert ids(result) == [f"gates.toml::{rule}" for rule in RULES]


def test_an_argument_goes_before_the_configuration(project, run):
    (project.path / "pytest.ini").write_text("[pytest]\nrageval_gates = gates.toml\n")
    (project.path / "other.yaml").write_text("rules: ['n(mrr) == 4']\n")
    words = ("--rageval", "--rageval-scores", "scores.csv", "--co", "-q")
    assert ids(run("other.yaml", *words)) == ["other.yaml::n(mrr) == 4"]
    assert ids(run("test_usual.py", *words))[1:] == [f"gates.toml::{rule}" for rule in RULES]


def test_a_file_of_another_plugin_is_left_to_it(project, run):
    (project.path / "test_api.yaml").write_text("url: http://127.0.0.1\n")
    project.makeconftest(
        """
        import pytest

        class Api(pytest.Item):
            def runtest(self):
                pass

        class ApiFile(pytest.File):
            def collect(self):
                yield Api.from_parent(self, name="api")

        def pytest_collect_file(file_path, parent):
            if file_path.name == "test_api.yaml":
                return ApiFile.from_parent(parent, path=file_path)
        """
    )
    result = run("test_api.yaml", *FILES, "--co", "-q")
    assert ids(result) == ["test_api.yaml::api", *(f"gates.toml::{rule}" for rule in RULES)]


def test_one_rule_can_be_named(run):
    result = run(f"gates.toml::{RULES[2]}", *FILES, "--co", "-q")
    assert ids(result) == [f"gates.toml::{RULES[2]}"]


def test_an_expression_selects_rules(run):
    result = run(*FILES, "-k", "min or usual", "--co", "-q")
    assert ids(result) == ["test_usual.py::test_usual", f"gates.toml::{RULES[1]}"]


def test_a_file_in_a_folder_that_pytest_skips_is_collected(project, run):
    folder = project.mkdir("build")
    (folder / "gates.yaml").write_text("rules: ['n(mrr) == 4']\n")
    result = run("--rageval-scores", "scores.csv", "--rageval-gates", "build/gates.yaml", "-q")
    result.assert_outcomes(passed=2)


def test_a_rule_that_is_written_twice_has_two_ids(project, run):
    (project.path / "gates.toml").write_text(gates_text("n(mrr) == 4", "n(mrr) == 4"))
    result = run("gates.toml", *FILES, "--co", "-q")
    assert ids(result) == ["gates.toml::n(mrr) == 4", "gates.toml::n(mrr) == 4 (2)"]


def test_other_files_of_toml_and_yaml_are_left_alone(project, run):
    (project.path / "other.toml").write_text("broken =")
    (project.path / "other.yaml").write_text("a: 1")
    run(*FILES, "--co", "-q").assert_outcomes()
    assert run(*FILES, "-k", "usual").ret == 0


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


def test_a_rule_that_fails_says_why_and_which_queries_to_read(run):
    result = run(*FILES)
    result.assert_outcomes(passed=3, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "rageval-report: gates of scores.csv",
            "*_ min(mrr) >= 0.5 _*",
            "min(mrr) is 0.25, not at least 0.5 (4 scored)",
            "1 query below 0.5 on mrr: 'q1'",
            "FAILED gates.toml::min(mrr) >= 0.5 - *",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_a_rule_on_a_limit_shows_the_interval(project, run):
    (project.path / "gates.toml").write_text(gates_text("ci_low(mrr) >= 0.6"))
    result = run("gates.toml", *FILES)
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines(
        [r"not enough queries to tell: ci_low\(mrr\) is 0\.\d+, not", r"95 % CI 0\.\d+ to \d\.\d+$"]
    )


def test_a_rule_that_cannot_be_evaluated_fails(project, run):
    (project.path / "gates.toml").write_text(gates_text("mean(recall@5) >= 0.5", "n(mrr) == 4"))
    (project.path / "scores.csv").write_text("query_id,mrr,recall@5\nq1,1,\nq2,1,\nq3,1,\nq4,1,\n")
    result = run("gates.toml", *FILES)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["mean(recall@5) is not evaluated: nothing is scored on recall@5*"])


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


def test_junit_has_the_rules_with_their_figures(project, run):
    run(*FILES, "--junitxml", "tests.xml")
    suite = ET.parse(project.path / "tests.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "0")
    case = next(case for case in suite.iter("testcase") if case.get("name") == RULES[1])
    assert "min(mrr) is 0.25, not at least 0.5" in case.find("failure").text
    properties = {item.get("name"): item.get("value") for item in case.iter("property")}
    assert properties["value"] == "0.25"
    assert (properties["threshold"], properties["n"]) == ("0.5", "4")


# -- what is wrong


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rageval-gates", "gates.toml"), "--rageval-scores is missing: name a file, or set "),
        (("--rageval", "--rageval-scores", "scores.csv"), "--rageval-gates is missing: name a"),
    ],
)
def test_a_missing_option_ends_the_session(run, words, message):
    result = run(*words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('rules = ["mean(mrr) => 0.5"]', "*gates.toml, line 1: *did you mean >=?*"),
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


@pytest.mark.parametrize(
    ("rule", "scores", "message"),
    [
        ("n(mrr) == 4", "nowhere.csv", "nowhere.csv: there is no such file*"),
        ("mean(recal) >= 0.5", "scores.csv", "*line 1: no metric is named 'recal'.*"),
        ("wins(mrr) >= 1", "scores.csv", "*needs a baseline: --rageval-baseline FILE"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_its_rules(project, run, rule, scores, message):
    (project.path / "gates.toml").write_text(gates_text(rule))
    result = run("--rageval-gates", "gates.toml", "--rageval-scores", scores)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([f"*ERROR at setup of {rule}*", message])
    assert "During handling" not in result.stdout.str()


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


def test_a_project_can_give_its_own_evaluation(project, run):
    project.makeconftest(
        """
        import pytest
        from rageval_report import RAGPipelineEvaluation

        @pytest.fixture(scope="session")
        def rageval_evaluation():
            return RAGPipelineEvaluation("mine", {"query_id": ["a"], "mrr": [1.0]})
        """
    )
    (project.path / "pytest.ini").write_text("[pytest]\nrageval_gates = gates.toml\n")
    (project.path / "gates.toml").write_text(gates_text("n(mrr) == 1"))
    project.makepyfile(
        test_mine="""
        from rageval_report.pytest import assert_gates

        def test_mine(rageval_evaluation, rageval_gates):
            assert assert_gates(rageval_evaluation, rageval_gates).frame["value"].item() == 1
        """
    )
    run("test_mine.py").assert_outcomes(passed=1)


def test_a_fixture_without_its_file_fails_with_one_line(project, run):
    project.makepyfile(test_gates="def test_it(rageval_evaluation): pass")
    result = run("test_gates.py")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["--rageval-scores is missing: *"])


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

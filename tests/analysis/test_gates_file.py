import sys

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.gates_file import read_gates
from rageval_report.analysis.rules import RuleError
from rageval_report.errors import MissingDependencyError, ReaderError

TOML = """\
# what must hold
rules = [
  "mean(recall) >= 0.5",   # a floor
  'share_below("Own Score", 0.5) <= 5%',
]
missing = "worst"
confidence_level = 0.9
seed = 7
n_resamples = 99
clusters = "document"

[correct]
recall = 0.8
"""
YAML = """\
# what must hold
rules:
  - mean(recall) >= 0.5   # a floor
  - share_below("Own Score", 0.5) <= 5%
missing: worst
confidence_level: 0.9
seed: 7
n_resamples: 99
clusters: document
correct: {recall: 0.8}
"""
SETTINGS = {
    "missing": "worst",
    "confidence_level": 0.9,
    "seed": 7,
    "n_resamples": 99,
    "clusters": "document",
}


@pytest.fixture
def yaml():
    return pytest.importorskip("yaml")


def refused(path) -> ReaderError:
    with pytest.raises(ReaderError) as error:
        read_gates(path)
    return error.value


@pytest.mark.parametrize("name", ["gates.toml", "gates.yaml", "gates.yml", "GATES.YAML"])
def test_toml_and_yaml_say_the_same(write, yaml, name):
    gates = read_gates(write(TOML if name.endswith("toml") else YAML, name))
    rules = ["mean(recall) >= 0.5", 'share_below("Own Score", 0.5) <= 5%']
    assert [rule.text for rule in gates.rules] == rules
    assert gates.settings == {**SETTINGS, "correct": {"recall": 0.8}}


def test_what_is_read_can_be_asked(write):
    gates = read_gates(write(TOML, "gates.toml"))
    data = {"query_id": ["a", "b"], "recall": [0.9, None], "Own Score": [0.9, 0.9]}
    data["document"] = ["x", "y"]
    result = RAGPipelineEvaluation("v1", data).gate(*gates.rules, **gates.settings)
    assert result.frame["value"].tolist() == [0.45, 0.0]
    assert result.settings["missing"] == "worst"
    assert result.settings["clusters"] == "document"


def test_windows_line_ends_and_a_byte_order_mark_are_read(write):
    gates = read_gates(write("\ufeff" + TOML.replace("\n", "\r\n"), "gates.toml"))
    assert len(gates.rules) == 2


@pytest.mark.parametrize(("content", "name"), [(TOML, "gates.toml"), (YAML, "gates.yaml")])
def test_a_rule_that_cannot_be_read_is_named_by_line_and_character(write, yaml, content, name):
    path = write(content.replace("0.5) <= 5%", "0.5) =< 5%"), name)
    with pytest.raises(RuleError) as error:
        read_gates(path)
    assert str(error.value).startswith(f"{path}, line 4: '=<' is not an operator; did you mean <=?")
    assert error.value.pointer[1].index("^") == 30


def test_a_rule_that_does_not_fit_the_scores_is_named_by_its_line(write):
    gates = read_gates(write(TOML, "gates.toml"))
    evaluation = RAGPipelineEvaluation("v1", {"query_id": ["a"], "recal": [1.0]})
    with pytest.raises(RuleError, match=r"gates\.toml, line 3: no metric is named 'recall'"):
        evaluation.gate(*gates.rules)


def test_a_rule_is_named_by_its_own_line_or_its_number(write):
    gates = read_gates(write('rules = [\n "mean(a) >= 1",\n "mean(a) >= 1",\n]\n', "gates.toml"))
    assert [rule.source.rpartition(", ")[2] for rule in gates.rules] == ["line 2", "line 3"]
    path = write('rules = ["mean(\\"Own Score\\") => 1"]\n', "gates.toml")
    with pytest.raises(RuleError, match=r"gates\.toml, rule 1: "):
        read_gates(path)


def test_the_method_of_margins_is_used_with_a_baseline_only(write):
    scores = {"query_id": range(60), "faithfulness": [0.4, 0.6] * 30}
    old, new = (RAGPipelineEvaluation(name, scores) for name in ("old", "new"))
    content = 'rules = ["no_regression(faithfulness, margin=0.1)"]\nmargin_method = "strict"\n'
    result = read_gates(write(content, "gates.toml")).check(new, old)
    assert result.frame["margin_method"].tolist() == ["strict"]
    assert "margin_method:strict" in result.signature
    alone = content.replace("no_regression(faithfulness, margin=0.1)", "n(faithfulness) > 1")
    assert read_gates(write(alone, "gates.toml")).check(new).passed


@pytest.mark.parametrize(
    ("content", "line", "told"),
    [
        ('rules = ["n(a) > 1"]\nmising = "worst"\n', 2, "Did you mean 'missing'?"),
        ('rules = ["n(a) > 1"]\n[extra]\nx = 1\n', 2, "no setting of gates is named 'extra'"),
        ('seed = 0\nrules = "n(a) > 1"\n', 2, "rules must be a list of rules; got 'n(a) > 1'"),
        ("rules = [\n1]\n", 1, "rule 1 must be a text; got 1"),
        ('rules = ["n(a) > 1"]\nmissing = "zero"\n', 2, 'missing must be "drop" or "worst"'),
        ('rules = ["n(a) > 1"]\nmissing = []\n', 2, "missing must be"),
        ('rules = ["n(a) > 1"]\nmargin_method = "exact"\n', 2, 'must be "auto", "t" or "strict"'),
        ('rules = ["n(a) > 1"]\nseed = true\n', 2, "seed must be an integer; got True"),
        ('rules = ["n(a) > 1"]\nseed = 1.5\n', 2, "seed must be an integer"),
        ('rules = ["n(a) > 1"]\n\nconfidence_level = "95"\n', 3, "must be a number, such as 0.95"),
        ('rules = ["n(a) > 1"]\ncorrect = 1\n', 2, "the name of a metric, or a table"),
        ('rules = ["n(a) > 1"]\ncorrect = {a = "b"}\n', 2, "the name of a metric, or a table"),
        ('rules = ["n(a) > 1"\nseed = 0\n', 2, "not TOML"),
        ('rules = ["n(a) > 1"]\nrules = []\n', 2, "not TOML"),
        ("", None, "there is no rule"),
        ("rules = []\n", None, "there is no rule"),
    ],
)
def test_what_makes_no_sense_is_named_by_its_line(write, content, line, told):
    error = refused(write(content, "gates.toml"))
    assert told in error.message
    assert error.line == line


@pytest.mark.parametrize(
    ("content", "line", "told"),
    [
        ("rules: [n(a) > 1]\nmising: worst\n", 2, "Did you mean 'missing'?"),
        ("rules: [n(a) > 1]\nseed: 0\nseed: 1\n", 3, "'seed' appears twice"),
        ("rules: [n(a) > 1\nseed: 0\n", 2, "not YAML"),
        ("- n(a) > 1\n", None, "got ['n(a) > 1']"),
        ("n(a) > 1\n", None, "got 'n(a) > 1'"),
        ("", None, "got nothing"),
        ("rules: !!python/object/apply:os.system [id]\n", 1, "could not determine a constructor"),
        ("rules: [n(a) > 1]\nseed: 2024-13-45\n", None, "not YAML"),
        ("rules:\n  - a: b\n", 1, "rule 1 must be a text; got {'a': 'b'}"),
        ("rules: " + "[" * 5000 + "\n", None, "not YAML"),
    ],
)
def test_yaml_that_makes_no_sense_is_named_by_its_line(write, yaml, content, line, told):
    error = refused(write(content, "gates.yaml"))
    assert told in error.message
    assert line is None or error.line == line


def test_a_file_that_cannot_be_one_of_gates_is_named(write, tmp_path):
    assert "must end in .toml, .yaml, .yml" in refused(write(TOML, "gates.ini")).message
    assert str(refused("nowhere.toml")) == "nowhere.toml: cannot be read: No such file or directory"
    assert "at most 1,000,000 bytes" in refused(write("#" * 1_000_001, "gates.toml")).message
    (tmp_path / "folder.toml").mkdir()
    assert "Is a directory" in refused(tmp_path / "folder.toml").message


def test_what_is_not_utf8_is_named_by_its_line(write):
    error = refused(write(b'rules = [\n"n(\xff) > 1"]', "gates.toml"))
    assert (error.message, error.line) == ("expected UTF-8", 2)


def test_without_the_package_yaml_says_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingDependencyError, match="yaml"):
        read_gates(write(YAML, "gates.yaml"))

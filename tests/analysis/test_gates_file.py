import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.gates_file import read_gates
from rageval_report.errors import ReaderError

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


@pytest.fixture
def yaml():
    return pytest.importorskip("yaml")


def refused(path) -> ReaderError:
    with pytest.raises(ReaderError) as error:
        read_gates(path)
    return error.value


def test_what_is_read_can_be_asked(write):
    gates = read_gates(write(TOML, "gates.toml"))
    data = {"query_id": ["a", "b"], "recall": [0.9, None], "Own Score": [0.9, 0.9]}
    data["document"] = ["x", "y"]
    result = RAGPipelineEvaluation("v1", data).gate(*gates.rules, **gates.settings)
    assert result.frame["value"].tolist() == [0.45, 0.0]
    assert result.settings["missing"] == "worst"
    assert result.settings["clusters"] == "document"


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

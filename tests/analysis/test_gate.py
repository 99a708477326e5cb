"""Rules and gates of an evaluation; values by hand, SciPy 1.16 and the library's own intervals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.gates_file import read_gates
from rageval_report.analysis.rules import LONGEST_RULE, RuleError
from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.stats import mean_interval, quantile_interval
from rageval_report.stats.units import clustered_interval

NAN = float("nan")
FAITHFULNESS = [0.9, 0.2, 0.6, NAN, 1.0, 0.4, 0.7, 0.8, NAN, 0.4]
PRESENT = np.array([0.9, 0.2, 0.6, 1.0, 0.4, 0.7, 0.8, 0.4])
LATENCY = [100.0, 200, 300, 400, 500, 600, 700, 800, 900, 1000]
RIGHT = [1, 0, 1, 1, 1, 0, 1, 1, 1, 0]
DOCUMENTS = list("aabbccddee")


def evaluation(metrics=None, **columns) -> RAGPipelineEvaluation:
    n = len(next(iter(columns.values())))
    data = {"query_id": [f"q{i}" for i in range(n)], **columns}
    return RAGPipelineEvaluation("v1", data, metrics=metrics)


COLUMNS = {
    "faithfulness": FAITHFULNESS,
    "latency_ms": LATENCY,
    "exact_match": RIGHT,
    "Own Score": [i / 10 for i in range(10)],
    "f1 (macro), =3": LATENCY,
}
OF, CLUSTERED = evaluation(**COLUMNS), evaluation(**COLUMNS, document=DOCUMENTS)
PERCENT = evaluation(faithfulness=[31.77, 20, 40, 25, 38, 59, 12, 28])
NOTHING = evaluation(recall=[NAN, NAN], mrr=[1, 0])


def row(*rules, of=OF, **options) -> pd.Series:
    return of.gate(*rules, **options).frame.iloc[0]


# -- figures


def test_the_intervals_are_those_of_the_report_and_of_order_statistics():
    found = row("ci_low(faithfulness) >= 0.5", "ci_low(mean(faithfulness)) >= 0.5")
    expected = mean_interval(PRESENT, bounds=(0, 1))
    assert found["value"] == found["ci_low"] == expected.low
    assert found["ci_high"] == row("ci_high(faithfulness) <= 1")["value"] == expected.high
    expected = mean_interval(PRESENT, bounds=(0, 1), confidence_level=0.8)
    assert row("ci_low(faithfulness) >= 0.5", confidence_level=0.8)["value"] == expected.low
    found = row("ci_high(median(latency_ms)) <= 3000")
    expected = quantile_interval(LATENCY, 0.5)
    assert (found["ci_low"], found["value"]) == (expected.low, expected.high)
    cost = row("ci_low(cost_usd) >= 0", of=evaluation(cost_usd=[0.01, 0.02, 0.5]))
    assert (cost["value"], cost["passed"]) == (0.0, True)


SHARES = [
    ("share_below(faithfulness, 0.6) <= 1", PRESENT < 0.6),
    ("share_above(faithfulness, 0.8) <= 1", PRESENT > 0.8),
    ("unscored(faithfulness) <= 1", np.isnan(FAITHFULNESS)),
    ("correct >= 0", np.array(RIGHT) == 1),
]


@pytest.mark.parametrize(("rule", "holds"), SHARES)
def test_the_interval_of_a_share_is_clopper_pearsons_or_that_of_clusters(rule, holds):
    expected = scipy_stats.binomtest(int(holds.sum()), holds.size).proportion_ci(method="exact")
    found = row(rule)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((expected.low, expected.high))
    labels = np.array(DOCUMENTS)[~np.isnan(FAITHFULNESS) if holds.size == 8 else slice(None)]
    expected = clustered_interval(holds.astype(float), labels, bounds=(0, 1))
    found = row(rule, of=CLUSTERED, clusters="document", correct="exact_match")
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((expected.low, expected.high))


@settings(max_examples=20)
@given(
    st.lists(st.floats(0, 1) | st.just(NAN), min_size=1, max_size=30).filter(
        lambda values: not np.isnan(values).all()
    )
)
def test_figures_agree_with_numpy_on_any_scores(values):
    of, kept = evaluation(recall=values), np.array(values)[~np.isnan(values)]
    rules = ("mean(recall) <= 1", "p90(recall) <= 1", "unscored(recall) <= 1", "n(recall) >= 0")
    found = of.gate(*rules).frame["value"].tolist()
    expected = [kept.mean(), np.percentile(kept, 90), np.isnan(values).mean(), kept.size]
    assert found == pytest.approx(expected)


# -- what becomes of a rule

EVEN = evaluation(f1=np.tile([0.2, 0.8], 20), latency_ms=np.full(40, 250.0))


@pytest.mark.parametrize(
    ("rule", "state", "of"),
    [
        ("median(faithfulness) >= 0.65", "passed", OF),
        ("median(faithfulness) > 0.65", "failed", OF),
        ("median(faithfulness) <= 0.65", "passed", OF),
        ("median(faithfulness) == 0.65", "passed", OF),
        ("unscored(faithfulness) <= 20%", "passed", OF),
        # The mean of three scores of 0.8 is 0.8000000000000002.
        ("mean(recall) <= 0.8", "passed", evaluation(recall=[0.8] * 3)),
        ("mean(recall) > 0.8", "failed", evaluation(recall=[0.8] * 3)),
        # A rule on a limit is undecided if the threshold is inside the interval.
        ("ci_low(f1) >= 0.3", "passed", EVEN),
        ("ci_low(f1) >= 0.5", "undecided", EVEN),
        ("ci_low(f1) >= 0.9", "failed", EVEN),
        ("ci_high(f1) <= 0.9", "passed", EVEN),
        ("ci_high(f1) <= 0.55", "undecided", EVEN),
        ("ci_high(f1) <= 0.2", "failed", EVEN),
        ("mean(f1) >= 0.51", "failed", EVEN),
        # No interval of zero width opens a gate; order statistics need no spread.
        ("ci_high(latency_ms) <= 300", "undecided", EVEN),
        ("ci_high(latency_ms) <= 200", "failed", EVEN),
        ("mean(latency_ms) <= 300", "passed", EVEN),
        ("ci_high(median(latency_ms)) <= 300", "passed", EVEN),
        ("std(recall) <= 1", "undecided", evaluation(recall=[0.5])),
        ("mean(recall) >= 0", "not evaluated", NOTHING),
        ("ci_low(recall) >= 0", "not evaluated", NOTHING),
        ("n(recall) == 0", "passed", NOTHING),
    ],
)
def test_the_state_of_a_rule(rule, state, of):
    result = of.gate(rule)
    assert result.frame["state"].tolist() == [state]
    assert (result.passed, bool(result)) == (state == "passed", state == "passed")
    assert result.state == state.replace("not evaluated", "failed")
    assert result.exit_code() == {"passed": 0, "undecided": 3}.get(state, 1)
    needs_more = state == "undecided" and of is EVEN and "f1" in rule
    assert ("too few queries to decide" in result.frame["why"][0]) == needs_more


def test_two_queries_pass_no_gate_on_a_mean_without_a_word():
    result = evaluation(recall=[0.9, 0.8]).gate("mean(recall) >= 0.1", "n(recall) >= 2")
    assert result.passed
    assert [why.endswith("; only 2 queries") for why in result.frame["why"]] == [True, False]
    [note] = result.notes
    assert note.startswith("mean(recall): only 2 queries")
    assert evaluation(recall=[0.9, 0.8, 0.7] * 2).gate("mean(recall) >= 0.1").notes == ()


# -- missing="worst", correct, clusters


def test_what_is_correct_is_the_callers_or_else_the_evaluations():
    of = RAGPipelineEvaluation(
        "v1", {"query_id": list("abcd"), "f1": [1, 0.9, 0.1, NAN]}, correct=("f1", 0.5)
    )
    assert row("correct >= 0", of=of)["value"] == pytest.approx(2 / 3)
    assert row("correct >= 0", of=of, missing="worst")["value"] == 0.5
    assert row("correct >= 0.5", correct=("faithfulness", 0.7))["value"] == pytest.approx(4 / 8)
    guessed = evaluation(answer_correctness=[0.5, 0.7, 0.1]).gate("correct >= 0.5")
    assert "correct: answer_correctness >= 0.5; 2 of 3 queries are correct" in guessed.notes
    with pytest.raises(DataError, match="Pass the rule for a correct answer"):
        evaluation(recall=[0.5, 0.7]).gate("correct >= 0.5")


def test_clusters_have_no_percentiles_no_zero_width_and_must_exist():
    found = row("ci_high(p95(latency_ms)) <= 900", of=CLUSTERED, clusters="document")
    assert found["state"] == "not evaluated"
    assert "the interval of a percentile assumes independent queries" in found["why"]
    perfect = evaluation(faithfulness=np.ones(40), document=np.repeat(np.arange(10), 4))
    rule = "ci_low(faithfulness) >= 0.9"
    assert perfect.gate(rule, clusters="document").state == "undecided"
    # Without clusters Gaffke's interval has a width: 0.025^(1/40) is 0.912.
    assert perfect.gate(rule).passed
    with pytest.raises(UnknownNameError, match="detail column"):
        OF.gate(rule, clusters="topic")


# -- the result


@pytest.mark.parametrize(
    ("rule", "title", "ids", "options"),
    [
        ("mean(faithfulness) >= 0.65", "4 queries below 0.65 on faithfulness", "1 5 9 2", {}),
        ("p95(latency_ms) <= 850", "2 queries above 850 on latency_ms", "9 8", {}),
        ("share_below(faithfulness, 0.5) <= 10%", "3 queries below 0.5 on ", "1 5 9", {}),
        ("share_above(faithfulness, 0.8) >= 90%", "5 queries below 0.8 on ", "1 5 9 2 6", {}),
    ],
)
def test_the_queries_to_look_at_are_shown_worst_first(rule, title, ids, options):
    [found] = OF.gate(rule, **options).failing_queries()
    assert found.title.startswith(title)
    assert found.frame.index.tolist() == [f"q{i}" for i in ids.split()]


# -- rules that make no sense


@pytest.mark.parametrize(
    ("rule", "place", "problem"),
    [
        ("mean(mrr >= 0.8", 9, 'expected "," or ")" here'),
        ("mean(mrr) = 0.8", 10, "did you mean ==?"),
        ("mean(mrr) ≥ 0.8", 10, "did you mean >=?"),
        ("mean(mrr) != 0.8", 10, "is not an operator; known: >= > <= < =="),
        ("mean(mrr) 0.8", 10, "expected one of >= > <= < == here"),
        ("mean(mrr) >= high", 13, "expected a number, such as 0.8 or 80%; got 'high'"),
        ("mean(mrr) >=", 12, "expected a number here"),
        ("mean(mrr) >= 0,8", 14, "expected the end of the rule"),
        ("mean('mrr) >= 0.8", 5, "never closed"),
        ("mean(, 0.5) >= 0.8", 5, "expected a metric or a number here"),
        (">= 0.8", 0, "expected a figure, such as mean(faithfulness), here"),
        ("ci_low(ci_low(mean(mrr))) >= 0.8", 18, "deeper than a figure of a figure"),
        ("", 0, "got nothing"),
        ("mean(faithfulnes) >= 0.8", 5, "no metric is named 'faithfulnes'. Did you mean"),
        ("meen(faithfulness) >= 0.8", 0, "no figure is named 'meen'. Did you mean 'mean'?"),
        ("faithfulness >= 0.8", 0, "such as mean(faithfulness)"),
        ("mean >= 0.8", 4, "mean needs a metric: mean(metric)"),
        ("mean(faithfulness, 0.5) >= 0.8", 19, "too many arguments; write mean(metric)"),
        ("share_below(faithfulness) <= 0.1", 24, "share_below needs a threshold"),
        ("share_below(faithfulness, thershold=1) <= 0.1", 26, "Did you mean 'threshold'?"),
        ("share_below(faithfulness, metric=mrr) <= 0.1", 26, "'metric' is given twice"),
        ("mean(p95(latency_ms)) <= 5", 5, "only ci_low and ci_high take a figure"),
        ("ci_low(ci_high(latency_ms)) <= 5", 7, "no interval of its own"),
        ("mean(faithfulness)", 18, "expected an operator and a threshold"),
        ("p101(faithfulness) >= 0.5", 0, "a percentile must be between 0 and 100; got 101"),
        ("no_regression(faithfulness, margin=0.1)", 0, "no_regression needs a baseline"),
        ("unscored(faithfulness) <= 2", 26, "so 2 cannot be right. Did you mean 2%?"),
        ("share_below(faithfulness, 1.5) <= 0.1", 26, "faithfulness is from 0 to 1, so 1.5 cannot"),
        ("mean(faithfulness) >= 80", 22, "Did you mean 80%?"),
        ("n(faithfulness) >= -1", 19, "is at least 0"),
        ("p95(latency_ms) <= 5%", 19, "is not a share, so write a number in its unit"),
    ],
)
def test_a_rule_that_makes_no_sense_is_pointed_at(rule, place, problem):
    with pytest.raises(RuleError) as error:
        OF.gate(rule)
    assert problem in error.value.problem
    assert error.value.place == place
    headline, *pointer = str(error.value).split("\n")
    assert (headline, *pointer) == (error.value.problem, f"  {rule}", "  " + " " * place + "^")


PIECES = (
    *("mean", "ci_low", "p95", "p", "share_below", "correct", "n", "losses", "no_regression"),
    *("(", ")", ",", "=", "faithfulness", "latency_ms", "nothing", "'Own Score'", "margin"),
    *("threshold", "metric", ">=", "<", "==", "0.5", "5%", "-1", "1e3", " "),
)


@settings(max_examples=120)
@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join) | st.text(max_size=40))
def test_any_rule_is_answered_or_refused_at_a_place_in_it(rule):
    error, n = None, 1
    try:
        n = len(OF.gate(rule).frame)
    except RuleError as exc:
        error = exc
    assert n == 1
    if error is not None:
        assert 0 <= error.place <= len(error.rule)
        assert error.pointer[1].endswith("^")


@pytest.mark.parametrize(
    ("rules", "options", "problem"),
    [
        ((), {}, "rules must hold at least one rule"),
        ((b"mean(mrr) >= 1",), {}, "a rule must be a text, such as"),
        (("(" * (LONGEST_RULE + 1),), {}, "at most 1000 characters"),
        (("n(mrr) >= 1",), {"missing": "zero"}, 'missing must be "drop" or "worst"; got "zero"'),
        (("n(mrr) >= 1",), {"confidence_level": 95}, "did you mean 0.95"),
        (("n(mrr) >= 1",), {"seed": -1}, "seed must be"),
        (("n(mrr) >= 1",), {"n_resamples": 0}, "n_resamples must be"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(rules, options, problem):
    with pytest.raises((DataError, UnknownNameError)) as error:
        OF.gate(*rules, **options)
    assert problem in str(error.value)


# -- units: no gate passes by one


@pytest.mark.parametrize(
    ("rule", "threshold", "value", "passed"),
    [
        ("mean(faithfulness) >= 80%", 80, 31.72125, False),
        ("share_below(faithfulness, 29%) <= 50%", 0.5, 0.5, True),  # a share runs from 0 to 1
        ("min(faithfulness) >= 0.8%", 0.8, 12, True),
        ("min(faithfulness) >= 0", 0, 12, True),
    ],
)
def test_a_percentage_is_read_on_the_scale_of_the_metric(rule, threshold, value, passed):
    found = row(rule, of=PERCENT)
    assert (found["threshold"], found["passed"]) == (threshold, passed)
    assert found["value"] == pytest.approx(value)


MARKS = evaluation(faithfulness=[1.0, 2.5, 5.0, 4.0, 3.5, 4.5])


@pytest.mark.parametrize(
    ("rule", "place", "problem", "of"),
    [
        ("mean(faithfulness) >= 0.8", 22, "Write 80 or 80%; for 0.8 of 100 write 0.8%", PERCENT),
        ("ci_low(faithfulness) >= 1", 24, "1 only fits a scale from 0 to 1", PERCENT),
        ("p5(faithfulness) >= 0.25", 20, "faithfulness runs from 0 to 100", PERCENT),
        ("share_below(faithfulness, 0.5) <= 20%", 26, "Write 50 or 50%", PERCENT),
        ("mean(faithfulness) >= 80%", 22, "where a percentage has two meanings", MARKS),
        ("mean(faithfulness) >= 0.8", 22, "Write a number from 1 to 5", MARKS),
    ],
)
def test_a_number_that_fits_another_scale_is_refused_and_both_are_named(rule, place, problem, of):
    with pytest.raises(RuleError) as error:
        of.gate(rule)
    assert problem in error.value.problem
    assert error.value.place == place


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
        ('rules = ["n(a) > 1"]\nmising = "worst"\n', None, "Did you mean 'missing'?"),
        ('rules = ["n(a) > 1"]\n[extra]\nx = 1\n', None, "no setting of gates is named 'extra'"),
        ('seed = 0\nrules = "n(a) > 1"\n', None, "rules must be a list of rules; got 'n(a) > 1'"),
        ("rules = [\n1]\n", None, "rule 1 must be a text; got 1"),
        ('rules = ["n(a) > 1"]\nmissing = "zero"\n', None, 'missing must be "drop" or "worst"'),
        (
            'rules = ["n(a) > 1"]\nmargin_method = "exact"\n',
            None,
            'must be "auto", "t" or "strict"',
        ),
        ('rules = ["n(a) > 1"]\nseed = true\n', None, "seed must be an integer; got True"),
        (
            'rules = ["n(a) > 1"]\n\nconfidence_level = "95"\n',
            None,
            "must be a number, such as 0.95",
        ),
        ('rules = ["n(a) > 1"]\ncorrect = 1\n', None, "the name of a metric, or a table"),
        ('rules = ["n(a) > 1"\nseed = 0\n', 2, "not TOML"),
        ("", None, "the file has no rule"),
        ("rules = []\n", None, "the file has no rule"),
    ],
)
def test_what_makes_no_sense_is_named(write, content, line, told):
    error = refused(write(content, "gates.toml"))
    assert told in error.message
    assert error.line == line


@pytest.mark.parametrize(
    ("content", "line", "told"),
    [
        ("rules: [n(a) > 1]\nmising: worst\n", None, "Did you mean 'missing'?"),
        ("rules: [n(a) > 1]\nseed: 0\nseed: 1\n", 3, "'seed' appears twice"),
        ("rules: [n(a) > 1\nseed: 0\n", 2, "not YAML"),
        ("- n(a) > 1\n", None, "got ['n(a) > 1']"),
        ("", None, "got nothing"),
        ("rules: !!python/object/apply:os.system [id]\n", 1, "could not determine a constructor"),
        ("rules: " + "[" * 1500 + "\n", None, "not YAML"),
    ],
)
def test_yaml_that_makes_no_sense_is_named(write, yaml, content, line, told):
    error = refused(write(content, "gates.yaml"))
    assert told in error.message
    assert line is None or error.line == line


def test_a_file_that_cannot_be_one_of_gates_is_named(write, tmp_path):
    assert "must end in .toml, .yaml, .yml" in refused(write(TOML, "gates.ini")).message
    assert str(refused("nowhere.toml")) == "nowhere.toml: cannot be read: No such file or directory"
    assert "at most 1,000,000 bytes" in refused(write("#" * 1_000_001, "gates.toml")).message
    (tmp_path / "folder.toml").mkdir()
    assert "Is a directory" in refused(tmp_path / "folder.toml").message


MARGIN = 0.16


@pytest.fixture(scope="module")
def runs(real_data):
    folder = real_data("haystack_aragog")
    paths = (folder / f"detailed_all-mpnet-base-v2__top_k={k}__chunk_size=128.csv" for k in (1, 3))
    return [
        RAGPipelineEvaluation.load(f"top {k}", path) for k, path in zip((1, 3), paths, strict=True)
    ]


def test_no_regression_is_scipys_permutation_test_of_the_differences_from_the_margin(runs):
    after, before = runs  # with one passage sas is 0.1 lower than with three
    pairs = pd.concat([before.scores["sas"], after.scores["sas"]], axis=1).dropna().to_numpy()
    witness = scipy_stats.permutation_test(  # scipy 1.17.1; single samples: signs are flipped
        (pairs[:, 1] - pairs[:, 0] + MARGIN,),
        np.mean,
        permutation_type="samples",
        alternative="greater",
        n_resamples=49_999,
        rng=np.random.default_rng(0),
    )
    found = compare(before, after).gate(f"no_regression(sas, margin={MARGIN})").frame
    assert witness.pvalue > 0.01  # so that more than 500 of 50,000 patterns count
    assert found["pvalue"][0] == pytest.approx(witness.pvalue, rel=0.1)
    assert found["passed"][0] == (witness.pvalue <= 0.05)

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import (
    METRICS,
    Metric,
    RAGPipelineEvaluation,
    compare,
    history,
    rank,
)
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import Catalogue, normalise_name
from rageval_report.scores.metric import infer_metric, override_metric

TABLES = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))
NAMES = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30) | st.from_regex(
    r"[ _-]*[A-Za-z]{1,5}([ _@-]{0,2}(at|cut)?[ _@-]{0,2}[0-9]{0,3})?[ _-]*", fullmatch=True
)


@pytest.fixture
def own_metric():
    """A metric added to the table for the length of a test."""
    METRICS.add("steps_saved", Metric("steps_saved", title="Steps Saved", bounds=(0.0, 9.0)))
    yield METRICS["steps_saved"]
    METRICS._entries.pop("steps_saved")


# -- names


@pytest.mark.parametrize(("name", "spellings"), TABLES["spelled"])
def test_every_spelling_of_a_name_is_one_name(name, spellings):
    assert {normalise_name(spelling) for spelling in spellings} == {name}


@given(NAMES)
def test_any_text_can_be_looked_up(name):
    found = Catalogue().find(name)
    assert found is None or found.name == normalise_name(name)


# -- the catalogue


def test_an_alias_is_found_under_its_own_name_with_the_title_of_the_metric():
    found = Catalogue().find("mrr@10")
    assert (found.name, found.known_as) == ("mrr@10", "reciprocal_rank@10")
    assert found.title == "Reciprocal Rank@10"


@pytest.mark.parametrize(("name", "aliases"), TABLES["known_as"])
def test_the_names_of_other_frameworks_are_known(name, aliases):
    assert {Catalogue().find(alias).known_as for alias in aliases} == {name}


def test_no_name_or_alias_means_two_metrics():
    owner = {}
    for metric in METRICS.values():
        for name in (metric.name, *metric.aliases):
            assert owner.setdefault(normalise_name(name), metric.name) == metric.name


@pytest.mark.parametrize("name", list(METRICS))
def test_each_known_metric_is_told_in_full(name):
    metric = METRICS[name]
    assert normalise_name(name) == name == metric.name == metric.known_as
    assert metric.description.endswith(".")
    assert metric.source
    assert metric.group != "other"
    assert Catalogue().find(metric.title).known_as == name


def test_an_unknown_metric_is_told_with_the_nearest_known_one():
    with pytest.raises(UnknownNameError, match=r"no metric is named 'recal'\. Did you mean 'recal"):
        METRICS["recal"]


# -- metrics of one's own


def test_a_metric_that_is_added_is_known_at_once_with_any_cutoff(own_metric):
    found = Catalogue().find("Steps Saved at 5")
    assert (found.name, found.known_as) == ("steps_saved@5", "steps_saved@5")
    assert (found.title, found.bounds) == ("Steps Saved@5", (0.0, 9.0))


PLUGIN = """
import json, importlib.metadata
from rageval_report.scores import Catalogue, score_table

real, asked = importlib.metadata.entry_points, []
def entry_points(**wanted):
    asked.append(wanted["group"])
    return real(**wanted)
importlib.metadata.entry_points = entry_points

table = score_table({"query_id": ["a"], "recall": [1.0], "question": ["why?"], "note": ["-"]})
before = list(asked)
found = score_table({"query_id": ["a"], "sparkle@3": [4.0]}).metrics["sparkle@3"]
alias = Catalogue().search("glitter")
print(json.dumps([before, found.title, found.bounds, alias.known_as, sorted(set(asked))]))
"""


def test_other_distributions_offer_metrics_and_are_asked_only_for_unknown_ones(tmp_path):
    """In a process of its own: what has been loaded once stays."""
    (tmp_path / "sparkling.py").write_text(
        "from rageval_report import Metric\n"
        "SPARKLE = Metric('sparkle', title='Sparkle!', bounds=(0, 5), aliases=('glitter',))\n"
    )
    info = tmp_path / "sparkling-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sparkling\nVersion: 1.0\n")
    entry = "[rageval_report.metrics]\nsparkle = sparkling:SPARKLE\n"
    (info / "entry_points.txt").write_text(entry)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{PLUGIN}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        [],
        "Sparkle!@3",
        [0.0, 5.0],
        "sparkle",
        ["rageval_report.metrics"],
    ]


# -- what is inferred of a metric that nobody knows


def metric_of(*values, name="vibes"):
    return infer_metric(name, np.array(values, dtype=float))


def test_scores_between_0_and_1_are_a_proportion():
    metric = metric_of(0, 0.5, np.nan, 1)
    assert (metric.kind, metric.bounds) == ("proportion", (0.0, 1.0))


@pytest.mark.parametrize("values", [(0.5, 1.5), (-0.5, 0.5), (0, 11), (np.nan, np.nan)])
def test_anything_else_is_a_real_number(values):
    metric = metric_of(*values)
    assert (metric.kind, metric.bounds) == ("real", None)


@pytest.mark.parametrize("name", ["retrieval_seconds", "judge_cost_usd", "n_tokens", "wall_time"])
@pytest.mark.parametrize("values", [(0.3, 0.9), (0, 1), (2, 9)])
def test_what_is_spent_has_no_scale_however_small_the_numbers_are(name, values):
    metric = metric_of(*values, name=name)
    assert (metric.kind, metric.bounds, metric.group) == ("real", None, "performance")
    assert not metric.greater_is_better


@pytest.mark.parametrize("name", ["word_error_rate", "rate_of_false_answers", "my_toxicity@5"])
def test_the_name_says_that_less_is_better(name):
    assert not metric_of(0.5, 0.7, name=name).greater_is_better


# -- checks and changes


@pytest.mark.parametrize(
    "bounds", [(1, 0), (0, 0), (0, np.inf), (np.nan, 1), (0,), (0, 1, 2), "01x", 5, ("a", "b")]
)
def test_bounds_are_two_numbers_the_lower_first(bounds):
    message = (
        r"bounds of the metric 'x' must be two numbers, the lower "
        r"first"
    )
    with pytest.raises(DataError, match=message):
        Metric("x", bounds=bounds)


def test_an_unknown_kind_or_group_is_told_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r'got "ordnal"\. Did you mean .ordinal.'):
        Metric("x", kind="ordnal")
    with pytest.raises(UnknownNameError, match=r"group of the metric 'x' must be .*; got .speed."):
        Metric("x", group="speed")


@pytest.mark.parametrize("bounds", [(0, 100), None])
def test_a_share_on_another_scale_is_a_real_number(bounds):
    metric = override_metric(Metric("x", kind="proportion"), {"bounds": bounds})
    assert (metric.kind, metric.bounds) == ("real", bounds)
    asked = override_metric(Metric("x", kind="proportion"), {"bounds": (1, 5), "kind": "ordinal"})
    assert (asked.kind, asked.bounds) == ("ordinal", (1.0, 5.0))
    assert override_metric(Metric("x", kind="proportion"), {"bounds": [0, 1]}).kind == "proportion"


@pytest.mark.parametrize("change", ["up", 3, None, ("lower",)])
def test_a_change_that_says_nothing_is_refused(change):
    with pytest.raises(DataError, match=r"the description of 'x' must be a Metric, a dict"):
        override_metric(Metric("x"), change)


def test_a_field_that_a_metric_does_not_have_is_told_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"'bound'\. Did you mean 'bounds'"):
        override_metric(Metric("x"), {"bound": (0, 1)})


# -- two pipelines


def run(name, cells, metric="groundedness", **options):
    rows = {"query_id": [f"q{i}" for i in range(len(cells))], metric: cells}
    return RAGPipelineEvaluation(name, rows, **options)


MARKS = [1, 4, 5, 3, 5, 4, 2, 3]


@pytest.mark.parametrize("other", [[0.5] * 8, [1] * 8, [50.0, 0, 80, 90, 20, 30, 40, 50]])
def test_runs_on_two_scales_are_not_compared(other):
    message = r"metric 'groundedness' has scores from 1 to 5 in 'a' and from 0 to 1(00)? in 'b', .*"
    with pytest.raises(DataError, match=message + r"metrics=\{'groundedness'"):
        compare(run("a", MARKS), run("b", other))
    with pytest.raises(DataError, match="cannot be compared"):
        rank(run("a", MARKS), run("b", other))


@pytest.mark.parametrize("larger", [[50.0, 0, 80, 90, 20, 30, 40, 50], MARKS])
def test_shares_of_an_unknown_metric_are_not_compared_with_larger_numbers(larger):
    shares = run("a", [0.5, 0.25, 1, 0, 0.75, 1, 1, 0.5], "my_metric")
    message = r"from 0 to 1 in 'a' and from [\d.]+ to [\d.]+ in 'b', which cannot be compared"
    with pytest.raises(DataError, match=message):
        compare(shares, run("b", larger, "my_metric"))
    with pytest.raises(DataError, match="cannot be compared"):
        compare(run("b", larger, "my_metric"), shares)


# -- bounds that are guessed from the scores of one run


def guessed_runs(**options):
    """Scores of an unknown metric: all from 0 to 1 in one run, one of them below 0 in the other."""
    rng = np.random.default_rng(0)
    inside = np.clip(rng.normal(0.5, 0.1, 60), 0.05, 1.0)
    beyond = inside - 0.1
    beyond[3], beyond[7] = -0.109761, np.nan
    ids = [f"q{number:02d}" for number in range(60)]
    return [
        RAGPipelineEvaluation(name, {"query_id": ids, "overlap": cells}, **options)
        for name, cells in (("inside", inside), ("beyond", beyond))
    ]


def test_bounds_that_are_guessed_for_one_run_do_not_hold_for_another_with_scores_beyond():
    inside, beyond = guessed_runs()
    assert [run.metrics["overlap"].bounds for run in (inside, beyond)] == [(0.0, 1.0), None]
    rows = [
        rank(*order).frame.set_index("pipeline")[["mean", "ci_low", "ci_high"]]
        for order in ((inside, beyond), (beyond, inside))
    ]
    pd.testing.assert_frame_equal(rows[0].sort_index(), rows[1].sort_index(), check_exact=True)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_strict_margin_is_refused_if_the_bounds_of_one_run_do_not_hold(reverse):
    runs = guessed_runs()[:: -1 if reverse else 1]
    with pytest.raises(DataError, match="smallest and largest possible score of overlap"):
        compare(*runs, margin=0.05, margin_method="strict")


def test_a_history_says_where_the_scale_of_an_unknown_metric_changes():
    ids, shares = ["q1", "q2", "q3"], np.array([0.25, 0.5, 1.0])
    runs = [
        RAGPipelineEvaluation(name, {"query_id": ids, "overlap": shares * unit})
        for name, unit in (("a", 1), ("b", 0.9), ("c", 100))
    ]
    notes = history(runs).notes
    expected = "c is not directly comparable with b: scale: from 0 to 1 → from 25 to 100"
    assert [note for note in notes if "scale" in note] == [expected]

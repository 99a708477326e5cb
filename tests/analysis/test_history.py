"""Witnesses: compare of the same two runs, the Holm table by statsmodels 0.15, by hand."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.history import DatedRun, config_changes, fields_of, pair_of, trends
from rageval_report.analysis.paired_metric import ComparisonPlan
from rageval_report.errors import UnknownNameError

NAN = float("nan")
N = 40
SKILL = np.random.default_rng(3).uniform(0.4, 0.9, N)
IDS = [f"q{i}" for i in range(N)]


# The t interval is the quickest; which interval is taken is tested by itself.
T = ComparisonPlan(interval="t")
quick = partial(trends, plan=T)


def run(name, drop=0.0, *, ids=IDS, seed=0, config=None, metrics=None, reference=None, **columns):
    """A run whose recall is that of every other, less a drop, give or take a little."""
    noise = np.random.default_rng(seed).normal(0, 0.03, len(ids))
    columns = columns or {"recall": np.clip(SKILL[: len(ids)] - drop + noise, 0, 1)}
    told = {} if reference is None else {"reference": reference}
    made = RAGPipelineEvaluation(
        "hybrid", {"query_id": list(ids), **columns, **told}, metrics=metrics
    )
    return DatedRun.of(made, name=name, config=config)


@pytest.fixture(scope="module")
def week():
    """Steady for three days, worse from thursday on."""
    drops = {"mon": 0.0, "tue": 0.0, "wed": 0.0, "thu": 0.2, "fri": 0.2}
    return [run(name, drop, seed=i) for i, (name, drop) in enumerate(drops.items())]


def by_run(history, metric="recall"):
    frame = history.frame
    return frame[frame["metric"] == metric].set_index("run")


def test_means_and_intervals_are_those_of_the_report(week):
    rows = by_run(quick(week))
    for one in week:
        report = one.evaluation.evaluation_report().frame.iloc[0]
        told = rows.loc[one.name, ["mean", "ci_low", "ci_high"]].tolist()
        assert told == report[["mean", "ci_low", "ci_high"]].tolist()


def test_changes_are_those_of_comparing_neighbours(week):
    rows = by_run(quick(week))
    for before, after in pairwise(week):
        expected = compare(
            before.evaluation, after.evaluation.with_name("b"), interval="t"
        ).frame.iloc[0]
        row = rows.loc[after.name]
        assert row["change"] == pytest.approx(expected["difference"])
        assert row["change_pvalue"] == pytest.approx(expected["pvalue"])
        assert row["change_ci_low"] == pytest.approx(expected["ci_low"])
        assert row["change_n"] == N


def test_differences_are_those_of_comparing_with_the_pinned_run(week):
    rows = by_run(quick(week, baseline="tue"))
    for after in week[2:]:
        expected = compare(week[1].evaluation, after.evaluation.with_name("b")).frame.iloc[0]
        assert rows.loc[after.name, "difference"] == pytest.approx(expected["difference"])
        assert rows.loc[after.name, "difference_pvalue"] == pytest.approx(expected["pvalue"])
    assert rows.loc[["mon", "tue"], "since_baseline"].isna().all()


def test_p_values_are_adjusted_over_all_tests_each_counted_once(week):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    history = quick(week)
    rows = by_run(history)
    changes, differences = rows["change_pvalue"].iloc[1:], rows["difference_pvalue"].iloc[2:]
    family = pd.concat([changes, differences])  # tuesday against monday is both, and one test
    _, expected, *_ = multitest.multipletests(family, method="holm")
    told = pd.concat(
        [rows["change_pvalue_adjusted"].iloc[1:], rows["difference_pvalue_adjusted"].iloc[2:]]
    )
    assert history.settings["family_size"] == len(family) == 7
    assert told.tolist() == pytest.approx(expected.tolist())


def test_the_first_run_with_a_shown_regression_is_marked(week):
    rows = by_run(quick(week))
    assert rows.index[rows["first_regression"]].tolist() == ["thu"]
    assert rows.loc["thu", "marks"] == "first regression; worse than before"
    assert rows.loc["fri", "marks"] == "worse than mon"


def test_the_sentence_speaks_of_the_last_run_and_says_since_when(week):
    [told] = quick(week).sentences
    assert told.startswith("fri is worse on recall than mon by 0.2")
    assert told.endswith("; it was first worse at thu")


def test_the_summary_names_what_is_worse(week):
    assert quick(week).summary == "Compared with mon, fri is worse on recall (of 1 metric)."
    assert quick(week[:3]).summary == "wed differs significantly from mon on none of 1 metric."


def test_a_fall_between_two_runs_is_told_though_the_last_is_no_worse_than_the_baseline():
    runs = [run("mon"), run("tue", -0.2, seed=1), run("wed", 0.0, seed=2)]
    [told] = quick(runs).sentences
    assert told.startswith("wed: recall is not significantly different from mon")
    assert "; wed is worse than tue by 0." in told


def test_a_gain_is_no_regression(week):
    rows = by_run(quick(week[::-1]))
    assert not rows["first_regression"].any()
    assert rows.loc["wed", "since_baseline"] == "better"
    turned = by_run(quick(week))
    assert rows.loc["wed", "change"] == pytest.approx(-turned.loc["thu", "change"])


def test_where_less_is_better_a_rise_is_a_regression():
    lower = {"latency_ms": "lower"}
    runs = [run(str(i), latency_ms=100 + 50 * i + SKILL, metrics=lower) for i in range(2)]
    assert by_run(quick(runs), "latency_ms").loc["1", "first_regression"]


@pytest.mark.parametrize(("n", "drop", "word"), [(N, 0.0, "identical"), (4, 0.1, "too few")])
def test_equal_runs_are_identical_and_few_queries_too_few(n, drop, word):
    runs = [run("a", ids=IDS[:n]), run("b", drop, ids=IDS[:n], seed=int(drop > 0))]
    assert by_run(quick(runs)).loc["b", "since_previous"] == word


# -- breaks


def test_a_changed_gold_set_breaks_the_line_and_common_queries_are_tested():
    moved = [*IDS[10:], *(f"x{i}" for i in range(10))]
    history = quick([run("a"), run("b", recall=[*SKILL[10:], *[0.5] * 10], ids=moved)])
    row = by_run(history).loc["b"]
    assert row["segment"] == 1
    assert row["change_n"] == 30
    assert row["differs"] == "query set: 10 added, 10 removed"
    assert "other query set" in row["marks"]
    assert any("is not directly comparable with a" in note for note in history.notes)


def test_a_query_with_another_reference_is_another_query():
    before = run("a", reference=["x"] * N)
    after = run("b", 0.1, seed=1, reference=["y"] * 5 + ["x"] * (N - 5))
    row = by_run(quick([before, after])).loc["b"]
    assert row["change_n"] == N - 5
    expected = (
        after.evaluation.scores["recall"][5:].mean() - before.evaluation.scores["recall"][5:].mean()
    )
    assert row["change"] == pytest.approx(expected)


def test_gold_sets_without_a_common_query_are_not_compared():
    other = [f"x{i}" for i in range(N)]
    history = quick([run("a"), run("b", ids=other, seed=1)])
    row = by_run(history).loc["b"]
    assert row["since_previous"] == "not compared"
    assert np.isnan(row["change"])
    assert history.settings["family_size"] == 0
    assert "not comparable with a on recall: query set" in history.sentences[0]


HIGHER, LOWER = ({"own": {"bounds": (0, 1), "greater_is_better": up}} for up in (True, False))
JUDGES = [{"config": {"judge": "x", "k": 5}}, {"config": {"judge": "y", "k": 9}}]


@pytest.mark.parametrize(
    ("options", "fixed", "segment", "differs", "unknown", "word", "mark"),
    [
        (JUDGES, None, 1, "judge: x → y", None, "not compared", "other judge"),
        (JUDGES, ["k"], 1, "k: 5 → 9", None, "not compared", "other k"),
        (JUDGES, (), 0, None, None, "identical", ""),
        (
            [{"config": {"judge": "x"}}, {"config": {"top_k": 5}}],
            *(None, 0, None, "judge: x → unknown", "identical", "perhaps not comparable"),
        ),
        (
            [{"metrics": HIGHER}, {"metrics": LOWER}],
            *(None, 1, "direction: higher is better → lower is better", None, "not compared"),
            "other direction",
        ),
    ],
)
def test_what_must_be_equal_breaks_the_line_and_nothing_is_tested(
    options, fixed, segment, differs, unknown, word, mark
):
    common = {"metrics": HIGHER, "own": SKILL}
    runs = [run(name, **{**common, **own}) for name, own in zip("ab", options, strict=True)]
    history = quick(runs, fixed=fixed)
    row = by_run(history, "own").loc["b"]
    found = [None if pd.isna(row[name]) else row[name] for name in ("differs", "unknown")]
    assert (row["segment"], *found, row["since_previous"]) == (segment, differs, unknown, word)
    assert mark in (row["marks"] if isinstance(row["marks"], str) else "")
    assert not row["first_regression"]
    notes = {"differs": "b is not directly comparable with a", "unknown": "whether b is comparable"}
    for change, note in zip((differs, unknown), notes.values(), strict=True):
        assert any(text.startswith(note) for text in history.notes) == (change is not None)


def test_only_the_metric_that_differs_breaks():
    runs = [
        run("a", own=SKILL, recall=SKILL, metrics={"own": {"bounds": (0, 1)}}),
        run("b", own=SKILL, recall=SKILL, metrics={"own": {"bounds": (0, 2)}}),
    ]
    history = quick(runs)
    assert by_run(history, "own").loc["b", "segment"] == 1
    assert by_run(history, "recall").loc["b", "segment"] == 0
    assert any(note.startswith("own: b is not directly comparable") for note in history.notes)


def test_a_run_without_the_metric_has_no_row_and_its_neighbours_are_compared():
    runs = [run("a"), run("b", bleu=SKILL), run("c", 0.1, seed=1)]
    history = quick(runs)
    rows = by_run(history)
    assert rows.index.tolist() == ["a", "c"]
    assert rows["place"].tolist() == [0, 2]
    assert rows.loc["c", "previous"] == "a"
    assert "recall is not in b" in history.notes


def test_a_baseline_without_the_metric_is_told():
    history = quick([run("a", bleu=SKILL), run("b"), run("c", 0.2, seed=1)])
    assert by_run(history)["since_baseline"].isna().all()
    assert any("no difference from the baseline a, which lacks it" in n for n in history.notes)


def test_unscored_queries_are_counted():
    gaps = SKILL.copy()
    gaps[:3] = NAN
    history = quick([run("a"), run("b", recall=gaps)])
    row = by_run(history).loc["b"]
    assert (row["n"], row["n_unscored"], row["change_n"]) == (N - 3, 3, N - 3)
    assert "missing scores in a run, not in the means: up to 3 of recall" in history.notes


def test_a_metric_scored_nowhere_is_drawn_from_nothing_and_told():
    history = quick([run("a", recall=[NAN] * N), run("b", recall=[NAN] * N)])
    assert by_run(history)["n"].tolist() == [0, 0]
    assert str(history)


# -- set-up, settings, bad input


def test_changes_of_the_set_up_stand_beside_the_runs():
    runs = [
        run("a", config={"top_k": 5, "model": "m"}),
        run("b", config={"top_k": 10}),
        run("c", config={"top_k": 10}),
    ]
    frame = quick(runs).changes().frame.set_index("run")
    assert frame.loc["b", "config"] == "top_k: 5 → 10; model: m → unknown"
    assert frame.loc["c", "config"] == "model: unknown"
    assert frame.loc["c", "gold_set"] == "the same"


def test_no_set_up_anywhere_is_told_as_unknown(week):
    assert any("what changed between runs is unknown" in note for note in quick(week).notes)
    assert quick(week).changes().frame["config"].tolist() == ["unknown"] * 5


def test_many_tests_take_the_t_interval_and_the_signature_says_so(monkeypatch, week):
    monkeypatch.setattr("rageval_report.analysis.history.MOST_INVERTED", 3)
    history = trends(week)
    assert history.settings["interval"] == "t"
    expected = compare(
        week[3].evaluation, week[4].evaluation.with_name("b"), interval="t"
    ).frame.iloc[0]
    assert by_run(history).loc["fri", "change_ci_low"] == pytest.approx(expected["ci_low"])
    assert (
        trends(week, plan=ComparisonPlan(interval="percentile")).settings["interval"]
        == "percentile"
    )


def test_few_tests_take_the_inversion_of_the_test(week):
    row = by_run(trends(week[2:4])).loc["thu"]
    expected = compare(week[2].evaluation, week[3].evaluation.with_name("b")).frame.iloc[0]
    assert row["change_ci_low"] == pytest.approx(expected["ci_low"])


def test_one_run_has_a_mean_and_nothing_to_compare(week):
    history = quick(week[:1])
    assert by_run(history)["since_previous"].isna().all()
    assert history.sentences == ()
    assert "only one run: there is nothing to compare it with yet" in history.notes


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"baseline": "moon"}, "Did you mean 'mon'"),
        ({"metrics": "recal"}, "Did you mean 'recall'"),
        ({"fixed": ["judge"]}, "no field of the configuration"),
        ({"correction": "hulm"}, "Did you mean 'holm'"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(week, options, told):
    with pytest.raises(UnknownNameError, match=told):
        trends(week, **options)


def test_a_doubt_of_several_runs_is_noted_once_with_their_names():
    doubt = "Doubt: no answer has a text. Look [no_answer]"
    ids = [f"q{i}" for i in range(8)]

    def night(name, *notes):
        evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ids, "exact_match": [1] * 8})
        return DatedRun.of(evaluation.with_notes(*notes), name=name)

    runs = [night("monday", doubt), night("tuesday", "2 rows left out"), night("friday", doubt)]
    history = trends(runs)
    assert history.notes[0] == "Doubt: monday and friday: no answer has a text. Look [no_answer]"
    assert sum(note.startswith("Doubt") for note in history.notes) == 1
    assert history.changes().notes[0] == history.notes[0]


CONFIGS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2))


@given(CONFIGS, CONFIGS)
def test_a_field_is_silent_only_where_both_tell_the_same(before, after):
    told = {change.field: change for change in config_changes(before, after, "abcd")}
    for field in "abcd":
        both = field in before and field in after
        assert (field in told) == (not both or before[field] != after[field])
        if field in told:
            assert told[field].is_known == both


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"model": "a"}, {"k": 5}, ["model: a → unknown", "k: unknown → 5"]),
        ({"r": {"k": 5, "i": {"x": 1}}}, {"r": {"k": 10, "i": {"x": 1}}}, ["r.k: 5 → 10"]),
        ({"stop": ("a", "b")}, {"stop": ["a", "b"]}, []),
        ({"p": "x" * 500}, {"p": "y" * 500}, [f"p: {'x' * 39}… → {'y' * 39}…"]),
    ],
)
def test_fields_are_compared_one_by_one(before, after, changes):
    runs = [run(name, config=config) for name, config in (("a", before), ("b", after))]
    found = config_changes(runs[0].config, runs[1].config, fields_of(runs))
    assert list(map(str, found)) == changes


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ({"a": "x", "b": "y"}, {"b": "y", "a": "x"}, ""),
        (
            {"a": "x", "b": "y", "c": "z"},
            {"b": "y", "c": "Z", "d": "w"},
            "query set: 1 added, 1 removed, 1 with another reference",
        ),
    ],
)
def test_what_changed_of_a_gold_set_is_counted(before, after, text):
    runs = [
        run(str(i), ids=own, recall=[0.5] * len(own), reference=[*own.values()])
        for i, own in enumerate((before, after))
    ]
    assert pair_of(*runs).gold_set == text


def test_the_answer_has_a_row_per_metric_and_says_since_when(week):
    answer = quick(week).printed()
    assert answer.summary == quick(week).summary
    [row] = answer.frame.to_dict("records")
    assert (row["metric"], row["verdict"]) == ("recall", "worse since thu")
    shown = answer.settings["headings"]
    assert [shown[f"run {i}"] for i in range(4)] == ["mon", "wed", "thu", "fri"]
    assert row["run 3"] - row["run 0"] == pytest.approx(row["difference"])


def test_what_is_worse_stands_first_and_eight_metrics_fit_on_a_screen():
    names = [f"own_{i}" for i in range(8)]
    flat = dict.fromkeys(names, SKILL)
    falls = flat | {"own_7": SKILL - 0.3}
    bounds = {name: {"bounds": (0, 1), "greater_is_better": True} for name in names}
    runs = [run("a", metrics=bounds, **flat), run("b", metrics=bounds, **falls)]
    answer = quick(runs).printed()
    assert answer.frame["metric"].iloc[0] == "own_7"
    assert len(answer.notes) <= 3
    assert len(str(quick(runs)).splitlines()) <= 22

"""Effects of the settings of a grid of pipelines, against least squares, SciPy and plain loops."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.effects import main_effects
from rageval_report.errors import DataError

GRID = {"top_k": (5, 10), "reranker": ("off", "on"), "chunk_size": (128, 256, 512)}
N = 40


def cell(settings, scores, **metrics):
    ids = [f"q{n}" for n in range(len(scores))]
    name = "-".join(map(str, settings.values()))
    return RAGPipelineEvaluation(
        name, {"query_id": ids, "recall@5": scores, **metrics}, config=settings
    )


def scores_of(settings, rng):
    """A hard query is hard for all; the reranker helps more where much is retrieved."""
    hard = np.random.default_rng(1).beta(3, 2, N)
    gain = 0.05 * (settings["top_k"] == 10) + 0.08 * (settings["reranker"] == "on")
    both = 0.10 * (settings["top_k"] == 10) * (settings["reranker"] == "on")
    return np.clip(0.6 * hard + gain + both + rng.normal(0, 0.05, N), 0, 1)


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(0)
    cells = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    return [cell(one, scores_of(one, rng)) for one in cells]


@pytest.fixture(scope="module")
def effects(runs):
    return main_effects(runs)


def long_frame(runs):
    return pd.concat(
        [run.scores.reset_index().assign(**run.config) for run in runs], ignore_index=True
    )


def test_effects_are_the_coefficients_of_least_squares_with_a_term_for_each_query(runs, effects):
    # NumPy's lstsq on the model score ~ query + top_k + reranker + chunk_size.
    long = long_frame(runs)
    columns = {f"q{n}": (long["query_id"] == f"q{n}").astype(float) for n in range(N)}
    for factor, (_, *others) in GRID.items():
        columns |= {f"{factor}={level}": (long[factor] == level).astype(float) for level in others}
    design = pd.DataFrame(columns)
    solved = np.linalg.lstsq(design.to_numpy(), long["recall@5"].to_numpy(), rcond=None)[0]
    by_name = dict(zip(design.columns, solved, strict=True))
    for row in effects.frame.itertuples():
        assert row.difference == pytest.approx(by_name[row.candidate], abs=1e-12)


def test_pvalues_are_those_of_a_paired_test_of_the_averages(runs, effects):
    long = long_frame(runs)
    for row in effects.frame.itertuples():
        levels = dict(zip(map(str, GRID[row.factor]), GRID[row.factor], strict=True))
        mean = long.groupby([row.factor, "query_id"])["recall@5"].mean()
        differences = (mean[levels[row.level]] - mean[levels[row.reference]]).to_numpy()
        # SciPy's permutation_test (signs, 29,999 drawn) and t-test see the same effect.
        drawn = stats.permutation_test(
            (differences,),
            np.mean,
            permutation_type="samples",
            n_resamples=29_999,
            rng=np.random.default_rng(0),
        ).pvalue
        assert row.pvalue == pytest.approx(drawn, abs=0.011)
        assert row.statistic == pytest.approx(differences.mean(), abs=1e-12)


def test_shares_of_zeros_and_ones_are_averaged():
    rng = np.random.default_rng(3)
    hits = [
        cell(
            {"a": a, "b": b},
            np.linspace(0, 1, 30),
            hit=(rng.random(30) < 0.4 + 0.4 * (b == "y")).astype(float),
        )
        for a, b in itertools.product("xy", "xy")
    ]
    row = main_effects(hits, metrics="hit").frame.set_index("factor").loc["b"]
    expected = np.mean([run.scores["hit"].mean() for run in hits if run.config["b"] == "y"])
    assert row["candidate_mean"] == pytest.approx(expected, abs=1e-12)
    assert row["test"] == "sign-flip-midp"  # halves are neither 0 nor 1, but ties are forced


def test_the_other_order_of_levels_turns_the_sign_and_that_of_queries_moves_nothing(runs, effects):
    turned = [
        RAGPipelineEvaluation(
            run.name, run.scores.sample(frac=1, random_state=n).reset_index(), config=run.config
        )
        for n, run in enumerate(runs[::-1])
    ]
    one, other = (found.frame.set_index("factor") for found in (effects, main_effects(turned)))
    for factor in ("top_k", "reranker"):
        ours, theirs = one.loc[factor], other.loc[factor]
        assert theirs["difference"] == pytest.approx(-ours["difference"], rel=1e-9, abs=1e-14)
        assert theirs["pvalue"] == pytest.approx(ours["pvalue"], rel=1e-9)
        assert theirs["ci_low"] == pytest.approx(-ours["ci_high"], rel=1e-9, abs=1e-14)
        assert (theirs["reference"], theirs["level"]) == (ours["level"], ours["reference"])


# -- what is no grid


def test_what_is_no_grid_is_refused(runs):
    with pytest.raises(DataError, match=r"1 of 12 are missing: 'top_k=10, reranker=on, .*=512'"):
        main_effects(runs[:-1])
    twin = runs[0].with_name("twin")
    with pytest.raises(DataError, match="'twin' and '5-off-128' have the same settings: top_k=5"):
        main_effects([*runs, twin])
    frame = runs[0].scores.reset_index()
    frame["query_id"] = "other-" + frame["query_id"]
    other = RAGPipelineEvaluation(runs[0].name, frame, config=runs[0].config)
    with pytest.raises(DataError, match="no query id is in all of them"):
        main_effects([other, *runs[1:]])


def test_settings_that_were_not_varied_are_no_factors(runs):
    named = [
        RAGPipelineEvaluation(
            run.name, run.scores.reset_index(), config={**run.config, "llm": "x", "seen": [1, 2]}
        )
        for run in runs
    ]
    assert main_effects(named).frame["factor"].unique().tolist() == list(GRID)
    with pytest.raises(DataError, match="'llm' has one value in all evaluations"):
        main_effects(named, ["llm"])
    with pytest.raises(DataError, match=r"'seen' is not in the config of .*that are: 'top_k'"):
        main_effects(named, "seen")


def test_evaluations_without_settings_are_refused():
    bare = [RAGPipelineEvaluation(name, {"query_id": ["a"], "recall": [0.5]}) for name in "xy"]
    with pytest.raises(DataError, match=r"must differ in a setting of their config.*theirs: none"):
        main_effects(bare)
    same = [run.with_name(f"{n}") for n, run in enumerate([cell({"k": 1}, [0.5, 0.6])] * 2)]
    with pytest.raises(DataError, match=r"must differ in a setting of their config.*theirs: 'k'"):
        main_effects(same)


def test_effects_take_clusters(runs, effects):
    clusters = {f"q{n}": f"d{n // 5}" for n in range(N)}
    clustered = main_effects(runs, clusters=clusters)
    assert clustered.settings["clusters"] == "given"
    assert (clustered.frame["n_clusters"] == N / 5).all()
    # Eight sums of five queries each: all 256 patterns of signs.
    signs = np.array(list(itertools.product([1, -1], repeat=N // 5)))
    row = clustered.frame.iloc[0]
    sums = clustered.differences("recall@5", row["candidate"]).to_numpy().reshape(-1, 5).sum(axis=1)
    expected = np.mean(np.abs(signs @ sums) >= abs(sums.sum()) * (1 - 1e-9))
    assert row["pvalue"] == pytest.approx(expected)
    assert row["test"] == "cluster-sign-flip"
    assert effects.frame["difference"].tolist() == clustered.frame["difference"].tolist()

"""The effects of settings on the page of ranked scans are those of the same tables in memory."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, rank
from rageval_report.evaluation.scanning import ranked
from rageval_report.scores.states import NOT_APPLICABLE
from tests.evaluation.scanning.conftest import memory_of, scans_of, scores_frame

NAMES = tuple(f"rag__top_k={k}__chunk={size}" for k in (10, 3) for size in (256, 512, 1024))
LATTICE = ["exact_match", "recall@5"]


def grid_of_frames(n=180):
    """Six pipelines on mostly the same queries, with gaps and queries without a right answer."""
    frames = []
    for place in range(len(NAMES)):
        frame = scores_frame(n, seed=place, shift=0.04 * (place % 3)).drop(columns="groundedness")
        refused = frame.index % 50 == 7
        frame.loc[refused, "recall@5"] = np.nan
        # To two of these queries the metric applies in some of the pipelines.
        state = np.where(refused & ((frame.index != 7) | (place > 3)), NOT_APPLICABLE, None)
        frame["recall@5_state"] = state
        frames.append(frame.drop(index=[place, 100]))
    return frames


@pytest.fixture(scope="module")
def frames():
    return grid_of_frames()


def effects_on(report):
    """The table of effects on a page, and what the page draws of it."""
    [section] = [section for section in report.sections if section.key == "effects"]
    [effects], [view] = section.results, section.views
    return effects, view


def assert_same_effects(report, expected):
    (found, ours), (known, theirs) = map(effects_on, (report, expected))
    assert (found.title, found.notes) == (known.title, known.notes)
    assert {**found.settings, "engine": 0} == {**known.settings, "engine": 0}
    texts = [name for name in known.frame if not pd.api.types.is_numeric_dtype(known.frame[name])]
    pd.testing.assert_frame_equal(found.frame[texts], known.frame[texts])
    is_lattice = known.frame["metric"].isin(LATTICE)
    exact = ["n", "n_dropped", "baseline_mean", "candidate_mean", "difference", "wins", "losses"]
    pd.testing.assert_frame_equal(
        found.frame.loc[is_lattice, exact], known.frame.loc[is_lattice, exact], rtol=1e-14
    )
    pd.testing.assert_frame_equal(found.frame, known.frame, rtol=1e-9, atol=1e-12)
    assert (ours.metrics, ours.factors, ours.grids) == (
        theirs.metrics,
        theirs.factors,
        theirs.grids,
    )
    assert ours.rows == theirs.rows


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
def test_effects_are_those_of_memory(frames, tmp_path, engine, kept_or_summed):
    # Of sums alone, as of millions of scores, the interval of few continuous ones is not known.
    metrics = LATTICE if kept_or_summed == "summed" else [*LATTICE, "latency_ms"]
    expected = rank(*memory_of(frames, NAMES), metrics=metrics).report(pictures=False)
    moved = frames
    if engine != "stream":  # which takes ids in order
        moved = [frame.sample(frac=1, random_state=3) for frame in frames]
    scans = scans_of(moved, tmp_path, NAMES, engine=engine)
    report = rank(*scans, metrics=metrics).report(pictures=False)
    assert_same_effects(report, expected)
    assert effects_on(report)[0].settings["engine"] == engine
    [keys, others] = [[own.key for own in each.sections] for each in (report, expected)]
    assert keys == [key for key in others if key != "spread"]


def test_effects_of_workers_are_those_of_memory(frames, tmp_path, scheduler):
    scans = scans_of(frames, tmp_path, NAMES, engine="dask", scheduler=scheduler)
    report = rank(*scans, metrics=["recall@5", "similarity"]).report(pictures=False)
    expected = rank(*memory_of(frames, NAMES), metrics=["recall@5", "similarity"])
    assert_same_effects(report, expected.report(pictures=False))


def test_no_number_depends_on_how_many_metrics_one_pass_reads(frames, tmp_path, monkeypatch):
    ranking = rank(*scans_of(frames, tmp_path, NAMES), metrics=["recall@5", "latency_ms"])
    at_once = effects_on(ranking.report(pictures=False))[0]
    monkeypatch.setattr(ranked, "_MOST_PAIRS", 1)
    one_by_one = effects_on(ranking.report(pictures=False))[0]
    pd.testing.assert_frame_equal(at_once.frame, one_by_one.frame, check_exact=True)


def test_the_mean_of_an_effect_is_arithmetic_by_hand(frames, tmp_path):
    ranking = rank(*scans_of(frames, tmp_path, NAMES), metrics="exact_match")
    effects = effects_on(ranking.report(pictures=False))[0].frame.set_index(["factor", "level"])
    scores = pd.concat(
        {
            tuple(part.split("=")[1] for part in name.split("__")[1:]): frame.set_index("query_id")[
                "exact_match"
            ]
            for name, frame in zip(NAMES, frames, strict=True)
        },
        axis=1,
        join="inner",
    )
    by_k = scores.T.groupby(level=0).mean().T.where(scores.notna().all(axis=1))
    change = (by_k["10"] - by_k["3"]).dropna()  # the smaller number is the first level
    row = effects.loc["top_k", "10"]
    assert row["n"] == len(change)
    assert row["difference"] == pytest.approx(change.mean(), rel=1e-12)
    assert row["wins"] == (change > 1e-9).sum()


def test_settings_in_the_configurations_of_saved_runs_count(frames, tmp_path):
    runs = [
        RAGPipelineEvaluation(f"run {place}", frame, config={"top_k": k, "rerank": rerank})
        for place, (frame, k, rerank) in enumerate(
            zip(frames, (5, 5, 20, 20), (False, True, False, True), strict=False)
        )
    ]
    paths = [run.save(tmp_path / f"{run.name}.parquet") for run in runs]
    scans = [
        RAGPipelineEvaluation.scan(path, name=run.name)
        for path, run in zip(paths, runs, strict=True)
    ]
    metrics = ["recall@5", "exact_match"]
    expected = rank(*runs, metrics=metrics).report(pictures=False)
    assert_same_effects(rank(*scans, metrics=metrics).report(pictures=False), expected)


def test_without_every_combination_there_are_no_effects(frames, tmp_path):
    ranking = rank(*scans_of(frames[:5], tmp_path, NAMES[:5]), metrics="exact_match")
    assert "effects" not in [section.key for section in ranking.report().sections]

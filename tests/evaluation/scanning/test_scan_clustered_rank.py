"""The ranking of scans by clusters is that of the same tables in memory.

The second witness is the ranking in memory, which `tests/analysis/ranking/test_ranking_clusters.py`
checks against all patterns of signs.
"""

import numpy as np
import pandas as pd
import pytest

from rageval_report import compare, rank
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.states.block_sums import BlockSums
from rageval_report.stats.units import Units
from tests.evaluation.scanning.conftest import memory_of, scans_of, scores_frame
from tests.evaluation.scanning.test_scan_rank import LATTICES, WEIGHED, assert_same_ranking


@pytest.fixture
def frames():
    """Three tables of some queries each, of 45 documents of different sizes."""
    frames = []
    for seed, dropped in enumerate(([3, 500], [8, 12, 13], [8, 600])):
        frame = scores_frame(seed=seed, shift=0.06 * (seed > 0))
        number = np.arange(len(frame))
        frame["document"] = [f"doc {n}" for n in np.minimum(number % 60, number % 45)]
        # Documents differ in how hard their questions are.
        frame["similarity"] += np.sin(number % 45) / 20
        frames.append(frame.drop(index=dropped))
    return frames


OPTIONS = [
    {},
    {"margins": {"latency_ms": 50, "recall@5": 0.01}, "tried": 5},
    {"margins": {"latency_ms": 50, "recall@5": 0.01}, "test": "t"},
    {"missing": "bounds", "metrics": ["recall@5", "exact_match"], "correction": "bh"},
    {"missing": "worst", "metrics": LATTICES, "confidence_level": 0.9},
]


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.usefixtures("kept_or_summed")
def test_a_ranking_by_clusters_is_that_of_memory(frames, tmp_path, options, engine):
    expected = rank(*memory_of(frames), clusters="document", **options)
    if engine != "stream":
        frames = [frame.sample(frac=1, random_state=n) for n, frame in enumerate(frames)]
    scanned = rank(*scans_of(frames, tmp_path, engine=engine), clusters="document", **options)
    assert_same_ranking(scanned, expected, engine)
    for metric, tests in expected.tests.items():
        assert scanned.tests[metric].n_units == tests.n_units == 45
        np.testing.assert_array_equal(scanned.tests[metric].wins, tests.wins)


def test_clusters_widen_the_intervals_of_correlated_scores(frames, tmp_path):
    shared = np.random.default_rng(0).normal(0, 0.5, 45)
    for frame in frames:
        number = frame["document"].str[4:].astype(int).to_numpy()
        frame["similarity"] = np.clip(frame["similarity"] / 4 + shared[number], -1, 1)
    scans = scans_of(frames, tmp_path)
    widths = [
        (each.frame["ci_high"] - each.frame["ci_low"]).to_numpy()
        for each in (rank(*scans, metrics="similarity", clusters=c) for c in (None, "document"))
    ]
    assert (widths[1] > 2 * widths[0]).all()


def test_clusters_of_one_query_are_queries(frames, tmp_path):
    frames = [frame.assign(own=frame["query_id"]) for frame in frames]
    scans = scans_of(frames, tmp_path)
    found, plain = (rank(*scans, metrics=LATTICES, clusters=c) for c in ("own", None))
    pd.testing.assert_frame_equal(found.pairs.frame, plain.pairs.frame, check_exact=True)
    assert_same_ranking(found, rank(*memory_of(frames), metrics=LATTICES, clusters="own"))


@pytest.mark.parametrize("labels", [["a"], list("abc")])
def test_too_few_clusters_are_not_tested(frames, tmp_path, labels):
    frames = [frame.assign(few=np.resize(labels, len(frame))) for frame in frames]
    expected = rank(*memory_of(frames), clusters="few")
    assert any("too few clusters to distinguish" in note for note in expected.notes)
    assert_same_ranking(rank(*scans_of(frames, tmp_path), clusters="few"), expected)


def test_only_the_first_pipeline_needs_the_column(frames, tmp_path):
    frames = [frames[0], *(frame.drop(columns="document") for frame in frames[1:])]
    expected = rank(*memory_of(frames), clusters="document")
    assert_same_ranking(rank(*scans_of(frames, tmp_path), clusters="document"), expected)
    with pytest.raises(UnknownNameError, match="no detail column is named 'document'"):
        rank(*scans_of(frames, tmp_path)[::-1], clusters="document")


def test_a_pipeline_without_any_score_is_not_ranked_by_clusters(frames, tmp_path):
    frames[1] = frames[1].assign(**{"recall@5": np.nan})
    options = {"metrics": ["recall@5", "exact_match"], "clusters": "document"}
    expected = rank(*memory_of(frames), **options)
    assert_same_ranking(rank(*scans_of(frames, tmp_path), **options), expected)


def test_a_query_without_a_cluster_is_refused(frames, tmp_path):
    frames[0].loc[frames[0].index[20], "document"] = None
    with pytest.raises(DataError, match="must have a label for every query; 'q00021' have none"):
        rank(*scans_of(frames, tmp_path), clusters="document")


def test_the_order_of_the_scans_changes_no_number(frames, tmp_path):
    scans = scans_of(frames, tmp_path)
    there, back = (
        rank(*order, metrics=LATTICES, clusters="document")
        .frame.drop(columns=["verdict", "letters"])
        .sort_values(["metric", "pipeline"], ignore_index=True)
        for order in (scans, scans[::-1])
    )
    pd.testing.assert_frame_equal(there, back, rtol=1e-12)


# -- Westfall and Young


def test_signs_of_clusters_of_two_scans_are_those_of_their_comparison(frames, tmp_path):
    scans = scans_of(frames[:2], tmp_path)
    options = {"correction": "westfall-young", "n_resamples": 700, "seed": 3}
    options["clusters"] = "document"
    pairs, compared = rank(*scans, **options).pairs.frame, compare(*scans, **options).frame
    ours, theirs = (each["pvalue_adjusted"].tolist() for each in (pairs, compared))
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_signs_of_clusters_agree_with_memory_within_monte_carlo_error(frames, tmp_path):
    options = {"correction": "westfall-young", "n_resamples": 4000, "clusters": "document"}
    found, expected = (
        rank(*runs, **options) for runs in (scans_of(frames, tmp_path), memory_of(frames))
    )
    assert found.notes == expected.notes
    assert found.settings == {**expected.settings, "engine": "stream"}
    ours, theirs = (each.pairs.frame["pvalue_adjusted"].to_numpy() for each in (found, expected))
    # Each of the two shares of patterns has a standard error of its own.
    error = np.sqrt(2 * theirs * (1 - theirs) / 4000)
    assert (np.abs(ours - theirs) <= 4 * error + 1 / 4000).all()


# -- weighted scores, fronts and pages


@pytest.mark.parametrize("kind", WEIGHED)
def test_weighted_scores_and_fronts_by_clusters_are_those_of_memory(frames, tmp_path, kind):
    options = {"metrics": ["recall@5", "exact_match"], "clusters": "document"}
    found, expected = (
        WEIGHED[kind](rank(*runs, **options))
        for runs in (scans_of(frames, tmp_path), memory_of(frames))
    )
    assert found.notes == expected.notes
    assert found.settings == {**expected.settings, "engine": "stream"}
    pd.testing.assert_frame_equal(found.frame, expected.frame, rtol=1e-9)


def test_the_page_of_a_ranking_by_clusters_has_its_sentences(frames, tmp_path):
    options = {"metrics": "recall@5", "clusters": "document"}
    ranking = rank(*scans_of(frames, tmp_path), **options)
    assert ranking.sentences == rank(*memory_of(frames), **options).sentences
    assert "45 clusters" in ranking.sentences[0]
    ranking.report().save(tmp_path / "page.html")
    assert "45 clusters" in (tmp_path / "page.html").read_text(encoding="utf-8")


# -- the state


def test_sums_of_parts_are_those_of_all_rows():
    rng = np.random.default_rng(5)
    rows, labels = rng.integers(0, 6, (400, 3)) / 5, rng.integers(0, 30, 400)
    keys, order = labels.astype(np.uint64), rng.permutation(400)
    parts = [BlockSums.of(keys[some], rows[some], 0.4) for some in np.array_split(order, 7)]
    total = sum(parts[1:], parts[0])
    # Of labels in ascending order the units have the order of the keys.
    units = Units(labels)
    np.testing.assert_allclose(total.rows(), units.sums(rows), rtol=1e-13)
    np.testing.assert_array_equal(total.sizes, np.bincount(labels))
    for sums, (first, second) in zip(total.pairs(), ((0, 1), (0, 2), (1, 2)), strict=True):
        expected = units.sums(rows[:, second] - rows[:, first])
        np.testing.assert_allclose(sums.sums, expected, atol=1e-13)
    # Their products give the spread of each pair: |a - b|^2 = a.a + b.b - 2 a.b.
    products = total.products()
    spread = products[0, 0] + products[1, 1] - 2 * products[0, 1]
    assert spread == pytest.approx(np.square(units.sums(rows[:, 1] - rows[:, 0])).sum())

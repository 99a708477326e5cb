"""The ranking of scans is that of the same tables in memory."""

import inspect
import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from rageval_report import compare, rank
from rageval_report.analysis.ranking.keywords import RankingKeywords
from rageval_report.errors import (
    AlignmentError,
    ArgumentKindError,
    DataError,
    UnknownNameError,
)
from rageval_report.evaluation.scanning import collected_scores
from rageval_report.scale.pairs import UnorderedIdsError
from tests.evaluation.scanning.conftest import (
    memory_of,
    scans_of,
    scores_frame,
)

LATTICES = ["exact_match", "recall@5", "groundedness"]


@pytest.fixture
def frames():
    first, second, third = (
        scores_frame(seed=seed, shift=shift) for seed, shift in enumerate((0.0, 0.06, 0.06))
    )
    return first.drop(index=[3, 500]), second.drop(index=[8, 12, 13]), third.drop(index=[8, 600])


def assert_same_ranking(scanned, expected, engine="stream", rtol=1e-9):
    assert scanned.title == expected.title
    assert scanned.notes == expected.notes
    assert scanned.settings == {**expected.settings, "engine": engine}
    pd.testing.assert_frame_equal(scanned.frame, expected.frame, rtol=rtol)
    pd.testing.assert_frame_equal(scanned.pairs.frame, expected.pairs.frame, rtol=rtol)
    pd.testing.assert_frame_equal(scanned.friedman.frame, expected.friedman.frame, rtol=rtol)
    for metric in expected.metrics:
        assert scanned.groups(metric) == expected.groups(metric)
        assert scanned.best(metric) == expected.best(metric)


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"margins": {"latency_ms": 50, "recall@5": 0.01}, "tried": 5},
        {"missing": "bounds", "metrics": ["recall@5", "exact_match"], "correction": "bh"},
        {"missing": "worst", "metrics": LATTICES, "confidence_level": 0.9},
    ],
)
@pytest.mark.usefixtures("kept_or_summed")
def test_a_ranking_of_scans_is_that_of_memory(frames, tmp_path, options, engine):
    expected = rank(*memory_of(frames), **options)
    scanned = rank(*scans_of(frames, tmp_path, engine=engine), **options)
    assert_same_ranking(scanned, expected, engine)


def test_a_pipeline_without_any_score_is_not_ranked(frames, tmp_path):
    frames = [frames[0], frames[1].assign(**{"recall@5": np.nan}), frames[2]]
    # The only scores of the second pipeline are of a query that the others lack.
    frames[1].loc[700] = {**frames[1].iloc[0], "query_id": "q00700", "recall@5": 0.4}
    options = {"metrics": ["recall@5", "exact_match"]}
    expected = rank(*memory_of(frames), **options)
    assert "not scored at all by dense" in "; ".join(expected.notes)
    assert_same_ranking(rank(*scans_of(frames, tmp_path), **options), expected)


@pytest.mark.parametrize("missing", ["drop", "worst"])
def test_queries_to_which_a_metric_does_not_apply_are_left_out(frames, tmp_path, missing):
    stated = []
    for place, frame in enumerate(frames):
        is_outside = frame.index.isin([20, 30 + place, 40])
        states = np.where(is_outside, "not applicable", "scored")
        scores = frame["recall@5"].mask(is_outside)
        stated.append(frame.assign(**{"recall@5": scores, "recall@5_state": states}))
    options = {"metrics": "recall@5", "missing": missing}
    expected = rank(*memory_of(stated), **options)
    assert any("does not apply to" in note for note in expected.notes)
    assert_same_ranking(rank(*scans_of(stated, tmp_path), **options), expected)


def test_many_metrics_are_read_in_several_passes(frames, tmp_path, monkeypatch):
    expected = rank(*memory_of(frames))
    monkeypatch.setattr("rageval_report.evaluation.scanning.ranked._MOST_PAIRS", 6)
    assert_same_ranking(rank(*scans_of(frames, tmp_path)), expected)


def test_ids_in_any_order_are_joined(frames, tmp_path):
    expected = rank(*memory_of(frames))
    shuffled = [frame.sample(frac=1, random_state=2) for frame in frames[1:]]
    scans = scans_of([frames[0], *shuffled], tmp_path)
    assert_same_ranking(rank(*scans), expected, "join")
    stream = scans_of([frames[0], *shuffled], tmp_path, engine="stream")
    with pytest.raises(UnorderedIdsError, match=r"'bm25', 'dense' and 'hybrid' sorted.*join"):
        rank(*stream)


def test_equal_ids_in_no_order_need_no_sorting(frames, tmp_path):
    order = np.random.default_rng(0).permutation(len(frames[0]))
    same = [
        frame.assign(query_id=frames[0]["query_id"].to_numpy()).iloc[order]
        for frame in (frames[0], *(frame.head(len(frames[0])) for frame in frames[1:]))
        if len(frame) == len(frames[0])
    ]
    assert_same_ranking(rank(*scans_of(same, tmp_path)), rank(*memory_of(same)))


def test_the_order_of_the_scans_changes_no_number(frames, tmp_path):
    scans = scans_of(frames, tmp_path)
    there, back = (
        rank(*order, metrics=LATTICES)
        .frame.drop(columns=["verdict", "letters"])
        .sort_values(["metric", "pipeline"], ignore_index=True)
        for order in (scans, scans[::-1])
    )
    pd.testing.assert_frame_equal(there, back, rtol=1e-12)


def test_an_id_that_occurs_twice_is_refused(frames, tmp_path):
    twice = pd.concat([frames[1], frames[1].head(1)])
    for engine in ("stream", "join", "duckdb"):
        scans = scans_of([frames[0], twice, frames[2]], tmp_path, engine=engine)
        with pytest.raises(DataError, match=r"query ids must be unique.*'q00000'"):
            rank(*scans)


# -- Westfall and Young


def test_westfall_young_of_two_scans_is_that_of_their_comparison(frames, tmp_path):
    scans = scans_of(frames[:2], tmp_path)
    options = {"correction": "westfall-young", "n_resamples": 700, "seed": 3}
    pairs, compared = rank(*scans, **options).pairs.frame, compare(*scans, **options).frame
    assert (pairs["test"] == compared["test"]).all()
    assert pairs["pvalue_adjusted"].tolist() == compared["pvalue_adjusted"].tolist()


def test_westfall_young_of_scans_agrees_with_memory_within_monte_carlo_error(frames, tmp_path):
    options = {"correction": "westfall-young", "n_resamples": 4000}
    found, expected = (
        rank(*runs, **options) for runs in (scans_of(frames, tmp_path), memory_of(frames))
    )
    assert found.notes == expected.notes
    assert found.settings == {**expected.settings, "engine": "stream"}
    ours, theirs = (each.pairs.frame["pvalue_adjusted"].to_numpy() for each in (found, expected))
    # Each of the two shares of patterns has a standard error of its own.
    error = np.sqrt(2 * theirs * (1 - theirs) / 4000)
    assert (np.abs(ours - theirs) <= 4 * error + 1 / 4000).all()


@pytest.mark.parametrize("engine", ["join", "duckdb"])
def test_westfall_young_does_not_depend_on_order_or_engine(frames, tmp_path, engine):
    options = {"correction": "westfall-young", "n_resamples": 600}
    expected = rank(*scans_of(frames, tmp_path), **options).pairs.frame
    shuffled = [frame.sample(frac=1, random_state=place) for place, frame in enumerate(frames)]
    scans = scans_of(shuffled, tmp_path / "shuffled", engine=engine)
    found = rank(*scans, **options).pairs.frame
    assert found["pvalue_adjusted"].tolist() == expected["pvalue_adjusted"].tolist()


@pytest.mark.parametrize("options", [{"margins": {"latency_ms": 50}}, {"tried": 9}])
def test_westfall_young_is_holm_where_memory_says_so(frames, tmp_path, options):
    expected = rank(*memory_of(frames), correction="westfall-young", **options)
    found = rank(*scans_of(frames, tmp_path), correction="westfall-young", **options)
    assert found.settings["correction"] == "holm"
    assert_same_ranking(found, expected)


# -- weighted scores and fronts

WEIGHED = {
    "weighted": lambda ranking: ranking.weighted(n_resamples=400),
    "weights": lambda ranking: ranking.weighted({"recall@5": 1, "latency_ms": 2}, n_resamples=99),
    "front": lambda ranking: ranking.pareto(n_resamples=400),
    "margins": lambda ranking: ranking.pareto(
        ["recall@5", "similarity"], margins={"similarity": 0.05}, n_resamples=400
    ),
}


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.parametrize("kind", WEIGHED)
def test_weighted_scores_and_fronts_are_those_of_memory(frames, tmp_path, kind, engine):
    if engine != "stream":
        frames = [frame.sample(frac=1, random_state=n) for n, frame in enumerate(frames)]
    found, expected = (
        WEIGHED[kind](rank(*runs, metrics=["recall@5", "exact_match"]))
        for runs in (scans_of(frames, tmp_path, engine=engine), memory_of(frames))
    )
    assert (found.title, found.notes, found.settings) == (
        expected.title,
        expected.notes,
        {**expected.settings, "engine": engine},
    )
    pd.testing.assert_frame_equal(found.frame, expected.frame, rtol=1e-9)
    if kind in ("weighted", "weights"):
        pd.testing.assert_frame_equal(found.pairs.frame, expected.pairs.frame, rtol=1e-9)


AIMS = [
    {"weights": {"recall@5": 1, "exact_match": 2}},
    {"objectives": ["recall@5", "latency_ms"], "margins": {"latency_ms": 40}},
    {
        "objectives": {"speed": "p95(latency_ms), worst=5000, best=0", "hits": ["recall@5"]},
        "weights": {"hits": 3, "speed": 1},
        "margins": {"hits": 0.02, "score": 0.01},
    },
]


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.parametrize("aims", AIMS)
def test_weights_and_objectives_of_a_ranking_are_its_defaults(frames, tmp_path, aims, engine):
    options = {"metrics": ["recall@5", "exact_match"], "n_resamples": 199, **aims}
    found, expected = (
        rank(*runs, **options)
        for runs in (scans_of(frames, tmp_path, engine=engine), memory_of(frames))
    )
    assert_same_ranking(found, expected, engine)
    for view in ("weighted", "pareto"):
        ours, theirs = (getattr(ranking, view)() for ranking in (found, expected))
        assert ours.settings == {**theirs.settings, "engine": engine}
        assert ours.notes == theirs.notes
        pd.testing.assert_frame_equal(ours.frame, theirs.frame, rtol=1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"weights": {"recal": 1}},
        {"weights": {"recall@5": -1}},
        {"weights": {"recall@5": 0}},
        {"objectives": {"quality": ["recal@5"]}},
        {"objectives": ["recall@5"], "margins": {"precision": 0.1}},
    ],
)
def test_a_mistake_in_weights_is_reported_as_in_memory(frames, tmp_path, wrong):
    messages = []
    for runs in (scans_of(frames, tmp_path), memory_of(frames)):
        with pytest.raises((DataError, UnknownNameError)) as refused:
            rank(*runs, **wrong)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def test_more_scores_than_can_be_resampled_are_refused(frames, tmp_path, monkeypatch):
    ranking = rank(*scans_of(frames, tmp_path), metrics="recall@5")
    monkeypatch.setattr(collected_scores, "MOST_SCORES", 10_000)
    for call in (ranking.weighted, ranking.pareto):
        with pytest.raises(DataError, match=r"needs every score in memory: 0 MB, and at most 0 MB"):
            call()


def test_what_needs_every_score_says_so(frames, tmp_path):
    scans = scans_of(frames, tmp_path)
    ranking = rank(*scans, metrics="recall@5")
    with pytest.raises(DataError, match="plot 'strip' needs every score"):
        ranking.plot("strip")


def test_the_leaderboard_of_scans_is_drawn(frames, tmp_path):
    both, every = (scans_of(frames, tmp_path), memory_of(frames)), ["leaderboard", "heat", "groups"]
    for kind in (*every, "pareto"):
        metrics = ["recall@5", "latency_ms"] if kind == "pareto" else ["recall@5"]
        ranking, expected = (rank(*runs, metrics=metrics, n_resamples=199) for runs in both)
        drawn, known = (
            [text.get_text() for text in each.plot(kind).findobj(Text)]
            for each in (ranking, expected)
        )
        assert drawn == known
        assert any("hybrid" in text for text in drawn)


def test_wrong_arguments_of_a_ranking_of_scans_are_refused(frames, tmp_path):
    scans = scans_of(frames, tmp_path)
    with pytest.raises(DataError, match="rank needs at least two pipelines; got only 'bm25'"):
        rank(scans[0])
    with pytest.raises(DataError, match="two scans are named 'bm25'; give each its own name"):
        rank(scans[0], scans[0])
    with pytest.raises(ArgumentKindError, match="'bm25' is a scan, and 'dense' is not"):
        rank(scans[0], memory_of(frames)[1])
    with pytest.raises(UnknownNameError, match="no metric is named 'mrr'"):
        rank(*scans, metrics="mrr")
    other = frames[1].assign(query_id="x" + frames[1]["query_id"])
    apart = scans_of([frames[0], other], tmp_path / "apart")
    with pytest.raises(
        AlignmentError, match=r"no query is in all 2 pipelines.*'bm25' has 'q00000'"
    ):
        rank(*apart)


def test_the_keywords_of_a_ranking_are_those_of_rank():
    parameters = inspect.signature(rank).parameters.values()
    keywords = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    assert sorted(RankingKeywords.__annotations__) == sorted(keywords)


@pytest.mark.parametrize("engine", ["join", "duckdb"])
def test_limits_that_are_drawn_are_those_of_memory_to_the_last_bit(tmp_path, engine):
    frames = [scores_frame(n=199, seed=seed).sample(frac=1, random_state=seed) for seed in (0, 1)]
    options = {"metrics": ["latency_ms"], "n_resamples": 499}
    expected = rank(*memory_of([frame.sort_index() for frame in frames]), **options)
    found = rank(*scans_of(frames, tmp_path, engine=engine), **options)
    for name in ("ci_low", "ci_high"):
        assert found.frame[name].tolist() == expected.frame[name].tolist()


# -- tables without a score


def small_tables(**columns):
    """Three tables of two queries; each column has the scores of each table."""
    ids = ["q1", "q2"]
    return [
        pd.DataFrame({"query_id": ids, **{name: cells[place] for name, cells in columns.items()}})
        for place in range(3)
    ]


NONE = [np.nan, np.nan]


@pytest.mark.parametrize("missing", ["drop", "worst"])
def test_a_metric_that_no_table_scores_is_not_ranked(tmp_path, missing):
    frames = small_tables(f1=[[0.5, 1.0], [0.25, 0.5], [1.0, 0.0]], faithfulness=[NONE] * 3)
    scanned = rank(*scans_of(frames, tmp_path), missing=missing)
    known = rank(*memory_of(frames), missing=missing)
    pd.testing.assert_frame_equal(scanned.frame, known.frame)
    assert scanned.notes == known.notes
    assert not [note for note in known.notes if "()" in note]
    is_unscored = known.frame["metric"] == "faithfulness"
    assert known.frame.loc[is_unscored, ["rank", "mean"]].isna().all(axis=None)


def test_a_table_without_scores_needs_no_worst_score(tmp_path):
    frames = small_tables(f1=[[0.5, 1.0]] * 3, latency_ms=[[3.0, 5.0], NONE, [4.0, 8.0]])
    scanned = rank(*scans_of(frames, tmp_path), missing="worst")
    known = rank(*memory_of(frames), missing="worst")
    pd.testing.assert_frame_equal(scanned.frame, known.frame)
    means = known.frame.set_index(["metric", "pipeline"])["mean"]["latency_ms"]
    assert means.dropna().to_dict() == {"bm25": 4.0, "hybrid": 6.0}


def test_a_table_with_some_scores_needs_a_worst_score(tmp_path):
    frames = small_tables(f1=[[0.5, 1.0]] * 3, latency_ms=[[3.0, np.nan], NONE, [4.0, 8.0]])
    for some in (scans_of(frames, tmp_path), memory_of(frames)):
        with pytest.raises(DataError, match="'latency_ms' has no bounds"):
            rank(*some, missing="worst")


@pytest.mark.parametrize("places", list(itertools.permutations(range(3))))
def test_scales_are_compared_between_all_tables_and_only_of_metrics_that_all_have(tmp_path, places):
    shares, larger, small = [0.25, 0.5], [40.0, 80.0], [1.5, -1.0]
    frames = small_tables(f1=[[0.5, 1.0]] * 3, overlap=[small, larger, shares])
    chosen = [frames[place] for place in places]
    for some in (scans_of(chosen, tmp_path / "all"), memory_of(chosen)):
        with pytest.raises(DataError, match=r"'overlap' has scores from .* cannot be compared"):
            rank(*some)
    chosen = [frame if frame is not frames[0] else frame[["query_id", "f1"]] for frame in chosen]
    for some in (scans_of(chosen, tmp_path / "two"), memory_of(chosen)):
        assert set(rank(*some).frame["metric"]) == {"f1"}

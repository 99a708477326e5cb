"""The comparison of scans is that of the same tables in memory."""

import inspect

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.analysis.comparing.keywords import ComparisonKeywords
from rageval_report.errors import (
    AlignmentError,
    ArgumentKindError,
    DataError,
    UnknownNameError,
    UnknownOptionError,
)
from tests.evaluation.scanning.conftest import (
    NAMES,
    memory_of,
    scans_of,
    scores_frame,
    write_parquet,
)


@pytest.fixture
def frames():
    first, second = scores_frame(), scores_frame(seed=1, shift=0.06)
    return first.drop(index=[3, 500]), second.drop(index=[8, 12, 13])


def assert_same_comparison(scanned, expected, engine="stream"):
    assert scanned.title == expected.title
    assert scanned.notes == expected.notes
    assert scanned.settings == {**expected.settings, "engine": engine}
    # Continuous differences are summed in another order than in memory.
    pd.testing.assert_frame_equal(scanned.frame, expected.frame, rtol=1e-9)


LATTICES = ["exact_match", "recall@5", "groundedness"]


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"margin": 0.05, "margin_method": "strict", "metrics": LATTICES},
        {"missing": "bounds", "metrics": ["recall@5", "exact_match"]},
        {"missing": "worst", "metrics": LATTICES, "rare_loss": 0.5, "tried": 5},
    ],
)
def test_a_comparison_of_scans_is_that_of_memory(frames, tmp_path, options, engine):
    expected = compare(*memory_of(frames), **options)
    first, second = scans_of(frames, tmp_path, engine=engine)
    assert_same_comparison(compare(first, second, **options), expected, engine)
    again = first.comparative_summary(second, **options)
    pd.testing.assert_frame_equal(again.frame, compare(first, second, **options).frame)


@pytest.mark.parametrize("clusters", [None, "topic"])
def test_missing_scores_that_count_as_the_worst_are_counted(frames, tmp_path, clusters):
    frames = [frame.assign(topic="topic " + frame["query_id"].str[-1]) for frame in frames]
    ids = set(frames[0]["query_id"]) & set(frames[1]["query_id"])
    common = [frame[frame["query_id"].isin(ids)] for frame in frames]
    n = sum(int(frame["exact_match"].isna().sum()) for frame in common)
    options = {"missing": "worst", "metrics": LATTICES, "clusters": clusters}
    comparison = compare(*scans_of(frames, tmp_path), **options)
    note = f"exact_match: {n} unscored queries count as the worst possible score"
    assert note in comparison.notes
    assert_same_comparison(comparison, compare(*memory_of(frames), **options))


def test_several_candidates_are_compared_with_one_baseline(frames, tmp_path):
    third = scores_frame(seed=4)
    expected = compare(*memory_of(frames), RAGPipelineEvaluation("third", third))
    scan = RAGPipelineEvaluation.scan(write_parquet(third, tmp_path / "third.parquet"))
    assert_same_comparison(compare(*scans_of(frames, tmp_path), scan), expected)


@pytest.mark.parametrize("missing", ["drop", "worst"])
def test_queries_to_which_a_metric_does_not_apply_are_left_out(frames, tmp_path, missing):
    stated = []
    for place, frame in enumerate(frames):
        is_outside = frame.index.isin([20, 30 + place, 40])
        states = np.where(is_outside, "not applicable", "scored")
        scores = frame["recall@5"].mask(is_outside)
        stated.append(frame.assign(**{"recall@5": scores, "recall@5_state": states}))
    expected = compare(*memory_of(stated), metrics="recall@5", missing=missing)
    assert any("does not apply to" in note for note in expected.notes)
    scanned = compare(*scans_of(stated, tmp_path), metrics="recall@5", missing=missing)
    assert_same_comparison(scanned, expected)


def test_ids_in_any_order_are_joined(frames, tmp_path):
    shuffled = (frames[0], frames[1].sample(frac=1, random_state=2))
    expected = compare(*memory_of(frames))
    assert_same_comparison(compare(*scans_of(shuffled, tmp_path)), expected, "join")


def test_swapped_scans_have_the_opposite_differences(frames, tmp_path):
    first, second = scans_of(frames, tmp_path)
    there, back = first.comparative_summary(second).frame, second.comparative_summary(first).frame
    pd.testing.assert_series_equal(there["difference"], -back["difference"], rtol=1e-12)
    pd.testing.assert_series_equal(there["pvalue"], back["pvalue"], rtol=1e-9)


def test_scans_without_a_common_query_are_refused(frames, tmp_path):
    other = frames[1].assign(query_id="x" + frames[1]["query_id"])
    first, second = scans_of((frames[0], other), tmp_path)
    with pytest.raises(AlignmentError, match="share no query id; ids of the first: 'q00000'"):
        first.comparative_summary(second)


def with_details(frames):
    """Answers that differ between the runs, and topics that do not; ids in order."""
    return [
        frame.assign(answer=[f"{name} says {n % 7}" for n in range(len(frame))], source="wiki")
        for frame, name in zip(frames, NAMES, strict=False)
    ]


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.parametrize("metric", ["recall@5", "similarity", "latency_ms"])
@pytest.mark.parametrize("method", ["regressions", "improvements"])
def test_changed_queries_are_those_of_memory(frames, tmp_path, engine, metric, method):
    frames = with_details(frames)
    expected = getattr(compare(*memory_of(frames)), method)(metric)
    comparison = compare(*scans_of(frames, tmp_path, engine=engine))
    found = getattr(comparison, method)(metric)
    assert found.attrs.pop("n") == len(expected)
    pd.testing.assert_frame_equal(found, expected)
    path = tmp_path / "changed.parquet"
    few = getattr(comparison, method)(metric, NAMES[1], k=7, path=path)
    pd.testing.assert_frame_equal(few, expected.head(7))
    written = pd.read_parquet(path).set_index("query_id").loc[expected.index]
    pd.testing.assert_frame_equal(expected, written)


def test_changed_queries_of_csv_files_are_those_of_memory(frames, tmp_path):
    frames = [frame.assign(n_words=range(len(frame))) for frame in with_details(frames)]
    expected = compare(*memory_of(frames)).regressions("recall@5")
    scans = []
    for name, frame in zip(NAMES, frames, strict=False):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        scans.append(RAGPipelineEvaluation.scan(tmp_path / f"{name}.csv"))
    pd.testing.assert_frame_equal(compare(*scans).regressions("recall@5"), expected)


def test_no_changed_query_is_an_empty_table(frames, tmp_path):
    same = (frames[0], frames[0].assign(topic="law"))
    comparison = compare(*scans_of(same, tmp_path))
    path = tmp_path / "changed.parquet"
    found = comparison.regressions("recall@5", path=path)
    expected = compare(*memory_of(same)).regressions("recall@5")
    assert list(found) == ["bm25_recall@5", "dense_recall@5", *list(expected)[2:]]
    assert (len(found), found.attrs["n"], len(pd.read_parquet(path))) == (0, 0, 0)


def test_differences_of_a_scan_say_what_to_do(frames, tmp_path):
    comparison = compare(*scans_of(frames, tmp_path))
    with pytest.raises(DataError, match=r"'similarity' .* not in memory.*regressions\(\)"):
        comparison.differences("similarity")
    with pytest.raises(UnknownNameError, match="no candidate is named 'third'"):
        comparison.regressions("similarity", "third")
    with pytest.raises(DataError, match="k must be an integer >= 1; got 0"):
        comparison.regressions("similarity", k=0)


def test_a_scan_and_an_evaluation_in_memory_are_not_compared(frames, tmp_path):
    scan, memory = scans_of(frames, tmp_path)[0], memory_of(frames)[1]
    message = "'bm25' is a scan, and 'dense' is not. Scan its file as well"
    for pair in ((scan, memory), (memory, scan)):
        with pytest.raises(ArgumentKindError, match=message):
            compare(*pair)
    with pytest.raises(ArgumentKindError, match="and the number 5 is not"):
        compare(scan, 5)
    with pytest.raises(ArgumentKindError, match=r"comparative_summary\(\) takes either"):
        scan.comparative_summary(memory)


def test_wrong_options_of_a_comparison_of_scans_are_refused(frames, tmp_path):
    first, second = scans_of(frames, tmp_path)
    with pytest.raises(UnknownOptionError, match="has no option 'corection'"):
        first.comparative_summary(second, corection="holm")
    with pytest.raises(DataError, match="two scans are named 'bm25'; give each its own name"):
        compare(first, first)
    with pytest.raises(DataError, match="got none"):
        first.comparative_summary()
    with pytest.raises(DataError, match="'latency_ms' has no bounds, so a missing score"):
        compare(first, second, missing="worst")


def test_the_keywords_of_a_comparison_are_those_of_compare():
    parameters = inspect.signature(compare).parameters.values()
    keywords = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    assert sorted(ComparisonKeywords.__annotations__) == sorted(keywords)


# -- Westfall and Young


def test_westfall_young_of_scans_agrees_with_memory_within_monte_carlo_error(frames, tmp_path):
    third = scores_frame(seed=4)
    options = {"correction": "westfall-young", "n_resamples": 4000}
    expected = compare(*memory_of(frames), RAGPipelineEvaluation("third", third), **options)
    scan = RAGPipelineEvaluation.scan(write_parquet(third, tmp_path / "third.parquet"))
    found = compare(*scans_of(frames, tmp_path), scan, **options)
    assert found.notes == expected.notes
    ours, theirs = (each.frame["pvalue_adjusted"].to_numpy() for each in (found, expected))
    # Each of the two shares of patterns has a standard error of its own.
    error = np.sqrt(2 * theirs * (1 - theirs) / 4000)
    assert (np.abs(ours - theirs) <= 4 * error + 1 / 4000).all()
    # Other seeds are other signs.
    other = compare(*scans_of(frames, tmp_path), scan, **options, seed=1)
    assert (other.frame["pvalue_adjusted"] != found.frame["pvalue_adjusted"]).any()


def test_westfall_young_does_not_depend_on_order_or_engine(frames, tmp_path):
    options = {"correction": "westfall-young", "n_resamples": 600}
    expected = compare(*scans_of(frames, tmp_path), **options).frame["pvalue_adjusted"]
    shuffled = [frame.sample(frac=1, random_state=place) for place, frame in enumerate(frames)]
    found = compare(*scans_of(shuffled, tmp_path / "shuffled"), **options)
    assert found.settings["engine"] == "join"
    pd.testing.assert_series_equal(found.frame["pvalue_adjusted"], expected, rtol=0, atol=0)


# -- clusters


def clustered(frames):
    """Queries about 40 documents, whose scores move together."""
    shifts = np.random.default_rng(5).normal(0, 0.1, 40)
    for place, frame in enumerate(frames):
        document = frame["query_id"].str[1:].astype(int) % 40
        similarity = frame["similarity"] + place * shifts[document]
        yield frame.assign(document=[f"doc {n}" for n in document], similarity=similarity)


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.usefixtures("kept_or_summed")
@pytest.mark.parametrize(
    "options", [{}, {"margin": 0.1, "metrics": LATTICES}, {"missing": "worst", "metrics": LATTICES}]
)
def test_a_comparison_by_clusters_is_that_of_memory(frames, tmp_path, engine, options):
    frames = list(clustered(frames))
    expected = compare(*memory_of(frames), clusters="document", **options)
    assert expected.frame["test"].str.startswith("cluster-").all()
    scans = scans_of(frames, tmp_path, engine=engine)
    assert_same_comparison(compare(*scans, clusters="document", **options), expected, engine)


def test_clusters_of_one_query_each_are_queries(frames, tmp_path):
    frames = [frame.assign(row=frame["question"]) for frame in frames]
    expected = compare(*memory_of(frames), clusters="row")
    assert_same_comparison(compare(*scans_of(frames, tmp_path), clusters="row"), expected)


def test_westfall_young_flips_clusters_together(frames, tmp_path):
    frames = list(clustered(frames))
    options = {"correction": "westfall-young", "n_resamples": 4000, "clusters": "document"}
    theirs = compare(*memory_of(frames), **options).frame["pvalue_adjusted"].to_numpy()
    ours = compare(*scans_of(frames, tmp_path), **options).frame["pvalue_adjusted"].to_numpy()
    error = np.sqrt(2 * theirs * (1 - theirs) / 4000)
    assert (np.abs(ours - theirs) <= 4 * error + 1 / 4000).all()


def test_clusters_that_scans_cannot_have_are_refused(frames, tmp_path):
    first, second = scans_of(list(clustered(frames)), tmp_path)
    with pytest.raises(DataError, match=r"must have a label for every query; .* have none"):
        compare(first, second, clusters={"q1": "doc 1"})
    with pytest.raises(ArgumentKindError, match="or a dict of labels by query id; got a list"):
        compare(first, second, clusters=["doc 1", "doc 2"])
    with pytest.raises(UnknownNameError, match="no detail column is named 'chapter'"):
        compare(first, second, clusters="chapter")
    gaps = [frame.assign(document=frame["topic"].where(frame.index != 7)) for frame in frames]
    holes = scans_of(gaps, tmp_path / "gaps")
    with pytest.raises(DataError, match="must have a label for every query; 'q00007' have none"):
        compare(*holes, clusters="document")


@pytest.mark.parametrize("reverse", [False, True])
def test_bounds_that_are_guessed_for_one_table_do_not_hold_for_another(tmp_path, reverse):
    frames = [scores_frame(300, seed)[["query_id", "latency_ms"]] for seed in (0, 1)]
    for frame, low in zip(frames, (0.05, -0.1), strict=True):
        shares = frame.pop("latency_ms")
        frame["overlap"] = (shares - shares.min()) / (shares.max() - shares.min()) * 0.9 + low
        # Behind the first rows, which decide what the columns are.
        frame.loc[250:260, "overlap"] = np.nan
    frames[1]["overlap"] = frames[1]["overlap"].where(frames[1].index > 200, 0.5)
    frames[1].loc[270, "overlap"] = -0.1
    order = slice(None, None, -1 if reverse else 1)
    scans, runs = scans_of(frames, tmp_path)[order], memory_of(frames)[order]
    for some in (scans, runs):
        with pytest.raises(DataError, match="'overlap' has no bounds"):
            compare(*some, missing="worst")
        with pytest.raises(DataError, match="'overlap' has no bounds"):
            rank(*some, missing="worst")
    pd.testing.assert_frame_equal(rank(*scans).frame, rank(*runs).frame, rtol=1e-12)

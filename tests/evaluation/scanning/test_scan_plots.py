"""The pictures of scans show what those of the same tables in memory show."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import ArgumentKindError, DataError, UnknownNameError
from rageval_report.evaluation.scanning import drawn_scan
from tests.evaluation.scanning.conftest import scores_frame, write_parquet


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def frames():
    return scores_frame(), scores_frame(seed=1, shift=0.06)


def scan_of(frame, folder, name="a"):
    return RAGPipelineEvaluation.scan(write_parquet(frame, folder / f"{name}.parquet"))


def shown(axes):
    """The texts, bars and points of a picture."""
    texts = [text.get_text() for text in axes.texts]
    bars = [(bar.get_x(), bar.get_height()) for bar in axes.patches if hasattr(bar, "get_height")]
    labels = [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
    return texts, labels, np.array(bars)


def assert_same_picture(ours, theirs):
    (texts, labels, bars), (texts_2, labels_2, bars_2) = shown(ours), shown(theirs)
    assert (texts, labels) == (texts_2, labels_2)
    np.testing.assert_allclose(bars, bars_2)
    assert len(ours.lines) == len(theirs.lines)


@pytest.mark.parametrize(
    ("kind", "args", "options"),
    [
        ("distribution", ["exact_match"], {}),
        ("distribution", ["recall@5"], {"threshold": 0.5}),
        ("distribution", ["similarity"], {"percentiles": (5, 95), "threshold": "p10"}),
        ("distribution", [], {}),
        ("ecdf", ["latency_ms"], {}),
        ("box", [["recall@5", "exact_match"]], {}),
        ("slices", [], {"by": "topic", "metrics": "recall@5"}),
    ],
)
def test_pictures_are_those_of_memory(frames, tmp_path, kind, args, options):
    expected = RAGPipelineEvaluation("a", frames[0]).plot(kind, *args, **options)
    assert_same_picture(scan_of(frames[0], tmp_path).plot(kind, *args, **options), expected)


@pytest.mark.usefixtures("kept_or_summed")
def test_a_distribution_of_sums_has_the_bars_of_memory(frames, tmp_path):
    expected = RAGPipelineEvaluation("a", frames[0]).plot("distribution", "latency_ms")
    ours = scan_of(frames[0], tmp_path).plot("distribution", "latency_ms")
    heights = [shown(axes)[2][:, 1] for axes in (ours, expected)]
    np.testing.assert_array_equal(*heights)


def test_pictures_of_two_scans_are_those_of_memory(frames, tmp_path):
    runs = [RAGPipelineEvaluation(name, f) for name, f in zip("ab", frames, strict=True)]
    scans = [scan_of(f, tmp_path, name) for name, f in zip("ab", frames, strict=True)]
    expected = compare(*runs).plot("forest")
    assert_same_picture(compare(*scans).plot("forest"), expected)
    assert_same_picture(scans[0].plot("forest", other=scans[1]), expected)
    by_topic = {"by": "topic", "metrics": "recall@5"}
    sliced = compare(*scans).plot("slices", **by_topic)
    assert_same_picture(sliced, compare(*runs).plot("slices", **by_topic))
    ecdf = scans[0].plot("ecdf", "recall@5", other=scans[1])
    assert_same_picture(ecdf, runs[0].plot("ecdf", "recall@5", other=runs[1]))


def test_distributions_never_list_the_scores(frames, tmp_path, monkeypatch):
    """So a picture of 50,000,000 rows takes no more memory than one of 1,000,000."""
    monkeypatch.setattr(drawn_scan, "MOST_MARKS", 100)
    memory, scan = RAGPipelineEvaluation("a", frames[0]), scan_of(frames[0], tmp_path)
    for kind in ("distribution", "ecdf"):
        for args in ([], ["recall@5"], ["exact_match"]):
            assert_same_picture(scan.plot(kind, *args), memory.plot(kind, *args))


def test_pictures_that_need_every_score_say_so(frames, tmp_path, monkeypatch):
    scans = [scan_of(f, tmp_path, name) for name, f in zip("ab", frames, strict=True)]
    memory = RAGPipelineEvaluation("c", frames[0])
    for kind in ("correlation", "scatter", "differences"):
        with pytest.raises(DataError, match=rf"plot '{kind}' needs every score .*collect"):
            scans[0].plot(kind)
    for kind in ("differences", "outcomes"):
        with pytest.raises(DataError, match=rf"plot '{kind}' needs every score .*collect"):
            compare(*scans).plot(kind)
    with pytest.raises(UnknownNameError, match="no plot is named 'bars'"):
        scans[0].plot("bars")
    with pytest.raises(DataError, match="pass the second one as other="):
        scans[0].plot("forest")
    with pytest.raises(ArgumentKindError, match=r"plot\('ecdf'\) takes either scans"):
        scans[0].plot("ecdf", "recall@5", other=memory)
    monkeypatch.setattr(drawn_scan, "MOST_MARKS", 100)
    with pytest.raises(DataError, match="has 700 scores, and this plot draws at most 100"):
        scans[0].plot("box", "recall@5")

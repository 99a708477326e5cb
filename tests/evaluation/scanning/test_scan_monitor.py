"""The monitoring of scans is that of the same tables in memory."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, monitor
from rageval_report.errors import ArgumentKindError, DataError, UnknownNameError
from rageval_report.stats.sequential.change_detection import change_evalues
from tests.evaluation.scanning.conftest import memory_of, scans_of
from tests.evaluation.scanning.test_scan_properties import DIVISIONS

DAYS = ("good", "monday", "tuesday", "wednesday", "thursday")
LATTICE = ["exact_match", "recall@5"]


def day(seed, share, n=180):
    """Scores of 0 and 1, of shares, continuous ones and one without bounds, in three topics."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "query_id": [f"{seed}-{number:04d}" for number in range(n)],
            "exact_match": (rng.random(n) < share).astype(float),
            "recall@5": rng.binomial(5, share, n) / 5,
            "faithfulness": np.clip(rng.normal(share / 2, 0.2, n), 0, 1),
            "latency_ms": rng.lognormal(6, 1, n),
            "topic": rng.choice(["tax", "law", "trade"], n),
            "conversation": [f"{seed}-{number // 3}" for number in range(n)],
        }
    )
    for name in ("exact_match", "faithfulness"):
        frame.loc[rng.random(n) < 0.1, name] = np.nan
    return frame


@pytest.fixture
def frames():
    """A reference and four days; the last two are worse, and the first has no topics."""
    shares = (0.9, 0.9, 0.88, 0.55, 0.5)
    days = [day(seed, share) for seed, share in enumerate(shares)]
    days[1] = days[1].drop(columns="topic")
    days[2] = days[2].drop(columns="recall@5")
    days[3].loc[5, "topic"] = "ports"
    days[4].loc[[1, 2], "topic"] = None
    return days


def assert_same_monitoring(found, expected, engine="stream"):
    """Lattice metrics to the last bit, others up to 1e-12."""
    assert found.title == expected.title
    assert found.notes == expected.notes
    assert found.settings == {**expected.settings, "engine": engine}
    assert found.sentences == expected.sentences
    for ours, theirs in ((found.frame, expected.frame), (found.batches, expected.batches)):
        is_lattice = theirs["metric"].isin(LATTICE)
        pd.testing.assert_frame_equal(ours[is_lattice], theirs[is_lattice], check_exact=True)
        # The logarithm of the evidence is a sum; what it is the logarithm of is larger.
        pd.testing.assert_frame_equal(
            ours.drop(columns="evidence"), theirs.drop(columns="evidence"), rtol=1e-12, atol=1e-13
        )
        logs = [np.log(each["evidence"]) for each in (ours, theirs)]
        pd.testing.assert_series_equal(*logs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"by": "topic", "alpha": 0.1},
        {"metrics": ["exact_match", "faithfulness"], "tolerance": {"faithfulness": 0.1}},
        {"reference": "monday", "metrics": "exact_match"},
    ],
)
def test_monitoring_of_scans_is_that_of_memory(frames, tmp_path, options, engine):
    expected = monitor(memory_of(frames, DAYS), **options)
    found = monitor(scans_of(frames, tmp_path, DAYS, engine=engine), **options)
    assert expected.has_alarm
    assert_same_monitoring(found, expected, engine)


def test_the_evidence_is_that_of_the_statistics(frames, tmp_path):
    result = monitor(scans_of(frames, tmp_path, DAYS), metrics="exact_match", alpha=0.1)
    reference, *batches = (frame["exact_match"].dropna().to_numpy() for frame in frames)
    evidence = change_evalues(
        batches,
        result.frame["limit"].item(),
        bounds=(0, 1),
        variance=float(reference.var()),
        alpha=0.05,
    )
    np.testing.assert_allclose(result.batches["evidence"], evidence.evalues, rtol=1e-10)


def test_a_summed_reference_has_the_same_alarms(frames, tmp_path, kept_or_summed):
    """Of sums alone the limit is an interval of a histogram."""
    expected = monitor(memory_of(frames, DAYS), by="topic")
    found = monitor(scans_of(frames, tmp_path, DAYS), by="topic")
    columns = ["metric", "slice", "alarm", "since", "alarm_at", "n"]
    pd.testing.assert_frame_equal(found.frame[columns], expected.frame[columns])
    close = 1e-12 if kept_or_summed == "kept" else 1e-3
    pd.testing.assert_series_equal(found.frame["limit"], expected.frame["limit"], rtol=close)


@pytest.mark.parametrize("by", [None, "topic"])
def test_clusters_count_once_as_in_memory(frames, tmp_path, by):
    labels = pd.concat([frame.set_index("query_id")["conversation"] for frame in frames])
    for clusters in ("conversation", labels):
        expected = monitor(memory_of(frames, DAYS), clusters=clusters, by=by)
        found = monitor(scans_of(frames, tmp_path, DAYS), clusters=clusters, by=by)
        assert found.notes == expected.notes
        assert found.settings == {**expected.settings, "engine": "stream"}
        assert found.sentences == expected.sentences
        pd.testing.assert_frame_equal(found.frame, expected.frame, rtol=1e-10)
        pd.testing.assert_frame_equal(found.batches, expected.batches, rtol=1e-10)


def test_a_cluster_in_several_batches_is_refused_as_in_memory(frames, tmp_path):
    frames[3].loc[[4, 5], "conversation"] = ["2-7", "2-9"]
    labels = pd.concat([frame.set_index("query_id")["conversation"] for frame in frames])
    for clusters in ("conversation", labels):
        with pytest.raises(DataError) as expected:
            monitor(memory_of(frames, DAYS), clusters=clusters)
        with pytest.raises(DataError) as found:
            monitor(scans_of(frames, tmp_path, DAYS), clusters=clusters)
        assert str(found.value) == str(expected.value)
        assert "'2-7', '2-9' are in several" in str(found.value)


def wrong_calls(frames):
    rows = frames[2].assign(topic=[f"topic {n}" for n in range(len(frames[2]))])
    beyond = frames[3].assign(rating=7.0)
    return [
        (frames, {"by": "area"}, UnknownNameError),
        (frames, {"metrics": "latency_ms"}, DataError),
        (frames, {"metrics": "precision"}, UnknownNameError),
        (frames, {"clusters": "topic"}, UnknownNameError),
        (frames, {"clusters": {"0-0000": "a"}}, DataError),
        (frames, {"tolerance": -1.0}, DataError),
        (frames[:1], {}, DataError),
        ([frames[0], rows], {"by": "topic"}, DataError),
        ([frames[0].assign(rating=3.0), beyond], {"metrics": "rating"}, DataError),
        ([frames[0].assign(recall=np.nan), frames[1]], {"metrics": "recall"}, DataError),
    ]


@pytest.mark.parametrize("place", range(10))
def test_errors_are_those_of_memory(frames, tmp_path, place):
    wrong, options, kind = wrong_calls(frames)[place]
    with pytest.raises(kind) as expected:
        monitor(memory_of(wrong, DAYS), **options)
    with pytest.raises(kind) as found:
        monitor(scans_of(wrong, tmp_path, DAYS), **options)
    # Of queries without a cluster those of a part are counted, and of memory all.
    messages = [re.sub(r"and \d+ more", "", str(error.value)) for error in (found, expected)]
    assert messages[0] == messages[1]


def test_scans_and_evaluations_in_memory_are_not_mixed(frames, tmp_path):
    with pytest.raises(ArgumentKindError, match="takes either scans or evaluations in memory"):
        monitor([*scans_of(frames[:2], tmp_path, DAYS), memory_of(frames, DAYS)[2]])


def test_the_batches_are_drawn(frames, tmp_path):
    axes = monitor(scans_of(frames, tmp_path, DAYS), by="topic").plot()
    expected = monitor(memory_of(frames, DAYS), by="topic").plot()
    assert axes.get_title() == expected.get_title()


# -- random divisions


def check_division(seed, divisions, **options):
    """The monitoring of files, and of the rows of these files in memory."""
    frames = [day(seed + place, share, 60) for place, share in enumerate((0.9, 0.8, 0.3))]
    with TemporaryDirectory() as folder:
        scans, memory = [], []
        for name, frame, division in zip(DAYS, frames, divisions, strict=False):
            source = division.write(frame, Path(folder, name))
            scans.append(RAGPipelineEvaluation.scan(source, name=name, **options))
            read = pd.read_csv if division.is_csv else pd.read_parquet
            rows = [read(path) for path in sorted(Path(folder, name).iterdir())]
            memory.append(RAGPipelineEvaluation(name, pd.concat(rows, ignore_index=True)))
        metrics = [*LATTICE, "faithfulness"]
        found, expected = (monitor(runs, by="topic", metrics=metrics) for runs in (scans, memory))
        engine = "stream" if options["engine"] == "auto" else options["engine"]
        assert_same_monitoring(found, expected, engine)
        found, expected = (
            monitor(runs, clusters="conversation", metrics=metrics) for runs in (scans, memory)
        )
        pd.testing.assert_frame_equal(found.frame, expected.frame, rtol=1e-10)


@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    divisions=st.lists(DIVISIONS, min_size=3, max_size=3),
    engine=st.sampled_from(["auto", "join", "duckdb"]),
)
def test_no_division_into_files_moves_a_number(seed, divisions, engine):
    check_division(seed, divisions, engine=engine)


@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 2**16), divisions=st.lists(DIVISIONS, min_size=3, max_size=3))
def test_workers_of_a_cluster_monitor_as_memory_does(scheduler, seed, divisions):
    check_division(seed, divisions, engine="dask", scheduler=scheduler)

"""Random small tables: scans and memory say the same, and so do all orders of the pipelines."""

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, compare, history, monitor, rank
from rageval_report.errors import AlignmentError, RagevalError
from tests.evaluation.scanning.conftest import write_parquet

NAMES = ["overlap", "faithfulness", "recall@5", "latency_ms", "my_judge", "grade", "exact_match"]
KINDS = {
    "zeros and ones": lambda rng, n: (rng.random(n) < 0.7).astype(float),
    "fifths": lambda rng, n: rng.integers(0, 6, n) / 5,
    "shares": lambda rng, n: rng.random(n),
    "of both signs": lambda rng, n: rng.normal(0.0, 1.0, n),
    "percent": lambda rng, n: 100.0 * rng.random(n),
    "marks": lambda rng, n: rng.integers(1, 6, n).astype(float),
    "times": lambda rng, n: rng.lognormal(5.0, 1.0, n),
    "one number": lambda rng, n: np.full(n, rng.choice([0.0, 0.5, 1.0, -2.0])),
    "nothing": lambda rng, n: np.full(n, np.nan),
    "tiny": lambda rng, n: 1e-12 * rng.normal(0.0, 1.0, n),
    # Of one sign: whether most of them are at least 2 is judged by the first rows of a scan.
    "huge": lambda rng, n: 1e12 * rng.random(n),
    "near one": lambda rng, n: np.clip(rng.normal(0.9, 0.2, n), -0.05, 1.02),
}
# Which of two faults is named first may differ: ids are known to scans after all rows were read.
FAULT_OF_IDS = AlignmentError


@st.composite
def tables(draw):
    """Three tables of the same metrics, each with scores of any kind, gaps and missing queries."""
    n = draw(st.sampled_from([1, 2, 3, 5, 12, 40, 150]))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frames = []
    for _ in range(3):
        columns = {}
        for name in names:
            cells = KINDS[draw(st.sampled_from([*KINDS]))](rng, n)
            gaps = draw(st.sampled_from([0.0, 0.0, 0.1, 0.5]))
            columns[name] = np.where(rng.random(n) < gaps, np.nan, cells)
        ids = [f"q{number:03d}" for number in range(n)]
        topics = [f"topic {number % 3}" for number in range(n)]
        frame = pd.DataFrame({"query_id": ids, **columns, "topic": topics})
        some = rng.random(n) < draw(st.sampled_from([1.0, 1.0, 0.8]))
        frames.append(frame[some] if some.any() else frame)
    return frames


def outcome(function):
    """The table, or the kind of the error; anything but an error of ours fails the test."""
    try:
        result = function()
    except RagevalError as exc:
        return type(exc)
    return getattr(result, "frame", result)


def difference(found, known):
    """What two outcomes do not have in common; nothing if they are the same."""
    if isinstance(found, type) or isinstance(known, type):
        is_same = found is known or (
            isinstance(found, type) and isinstance(known, type) and (FAULT_OF_IDS in (found, known))
        )
        return "" if is_same else f"{found} and {known}"
    try:
        pd.testing.assert_frame_equal(found, known, rtol=1e-9, atol=1e-12)
    except AssertionError as exc:
        return str(exc)
    return ""


def loaded(load):
    try:
        return [load(place) for place in range(3)]
    except RagevalError as exc:
        return type(exc)


def results_of(runs, missing):
    """What is said of three pipelines, by the name of the work."""
    works = {
        "report": lambda: runs[0].evaluation_report(),
        "thresholds": lambda: runs[0].find_thresholds(),
        "slices": lambda: runs[0].slices("topic"),
        "comparison": lambda: compare(*runs[:2], missing=missing),
        "ranking": lambda: rank(*runs, missing=missing),
        "history": lambda: history(runs),
        "monitor": lambda: monitor(runs),
    }
    return {name: outcome(work) for name, work in works.items()}


@settings(max_examples=25)
@given(frames=tables(), missing=st.sampled_from(["drop", "worst", "bounds"]))
def test_scans_say_what_memory_says(frames, missing):
    with TemporaryDirectory() as folder:
        paths = [
            write_parquet(frame, Path(folder, f"{name}.parquet"))
            for name, frame in zip("abc", frames, strict=True)
        ]
        runs = loaded(lambda place: RAGPipelineEvaluation("abc"[place], frames[place]))
        scans = loaded(lambda place: RAGPipelineEvaluation.scan(paths[place]))
        # Such as a table without a column of scores: then both are refused.
        assert isinstance(runs, type) == isinstance(scans, type)
        if isinstance(runs, type):
            return
        known, found = results_of(runs, missing), results_of(scans, missing)
    differences = {name: difference(found[name], known[name]) for name in known}
    assert {name: text for name, text in differences.items() if text} == {}


@settings(max_examples=25)
@given(frames=tables(), missing=st.sampled_from(["drop", "worst", "bounds"]))
def test_the_order_of_the_pipelines_decides_nothing(frames, missing):
    runs = loaded(lambda place: RAGPipelineEvaluation("abc"[place], frames[place]))
    if isinstance(runs, type):
        return
    first, *others = (ranked_in_order(order, missing) for order in itertools.permutations(runs))
    assert [text for other in others if (text := difference(other, first))] == []
    there, back = (
        outcome(lambda pair=pair: compare(*pair, missing=missing))
        for pair in (runs[:2], runs[1::-1])
    )
    if isinstance(there, type) or isinstance(back, type):
        assert there is back
    else:
        assert there["metric"].tolist() == back["metric"].tolist()
        np.testing.assert_allclose(there["difference"], -back["difference"], rtol=1e-12)
        np.testing.assert_allclose(there["pvalue"], back["pvalue"], rtol=1e-9)


def ranked_in_order(runs, missing):
    """The means of a ranking, in an order of their own."""
    ranked = outcome(lambda: rank(*runs, missing=missing))
    if isinstance(ranked, type):
        return ranked
    columns = ["mean", "ci_low", "ci_high", "n"]
    return ranked.set_index(["metric", "pipeline"])[columns].sort_index()

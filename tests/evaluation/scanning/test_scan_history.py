"""The history of scans is that of the same tables in memory, whatever the order of the rows."""

import functools

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, history
from rageval_report.errors import ArgumentKindError, DataError, UnknownNameError
from rageval_report.run_history.runs import read_runs, to_store
from tests.evaluation.scanning import conftest
from tests.evaluation.scanning.conftest import scores_frame, write_parquet

NIGHTS = ("monday", "tuesday", "wednesday", "thursday")
LATTICES = ["exact_match", "recall@5", "groundedness"]
INTERVALS = [
    f"{which}ci_{end}" for which in ("", "change_", "difference_") for end in ("low", "high")
]


@pytest.fixture
def frames():
    """Four nights; the third has other queries, and some of the fourth have other references."""
    nights = [
        scores_frame(seed=seed, shift=shift).assign(
            reference=[f"answer {number}" for number in range(700)]
        )
        for seed, shift in enumerate((0.0, 0.06, -0.08, 0.02))
    ]
    nights[2] = nights[2].drop(index=[3, 500, 501])
    nights[2].loc[700] = {**nights[2].iloc[0], "query_id": "q00700", "reference": "new"}
    nights[3].loc[[5, 6, 7], "reference"] = ["edited", None, "too"]
    return nights


scans_of = functools.partial(conftest.scans_of, names=NIGHTS)
memory_of = functools.partial(conftest.memory_of, names=NIGHTS)


def assert_same_history(scanned, expected, engine="stream"):
    """Lattice metrics to the last bit, others up to 1e-12; ends of intervals up to 1e-9."""
    assert scanned.title == expected.title
    assert scanned.notes == expected.notes
    assert scanned.settings == {**expected.settings, "engine": engine}
    assert scanned.sentences == expected.sentences
    found, known = scanned.frame, expected.frame
    assert list(found.columns) == list(known.columns)
    pd.testing.assert_frame_equal(found[INTERVALS], known[INTERVALS], rtol=1e-9, atol=1e-12)
    others = [name for name in known if name not in INTERVALS]
    is_lattice = known["metric"].isin(LATTICES)
    pd.testing.assert_frame_equal(
        found.loc[is_lattice, others], known.loc[is_lattice, others], check_exact=True
    )
    pd.testing.assert_frame_equal(
        found.loc[~is_lattice, others], known.loc[~is_lattice, others], rtol=1e-12, atol=1e-13
    )
    pd.testing.assert_frame_equal(scanned.changes().frame, expected.changes().frame)
    assert scanned.changes().notes == expected.changes().notes


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
@pytest.mark.usefixtures("kept_or_summed")
def test_a_history_of_scans_is_that_of_memory(frames, tmp_path, engine):
    expected = history(memory_of(frames))
    assert {"better", "worse"} <= set(expected.frame["since_previous"])
    assert "1 added, 3 removed" in "; ".join(expected.notes)
    assert "3 with another reference" in "; ".join(expected.notes)
    assert_same_history(history(scans_of(frames, tmp_path, engine=engine)), expected, engine)


@pytest.mark.parametrize(
    "options",
    [
        {"metrics": ["recall@5", "latency_ms"], "correction": "bh", "confidence_level": 0.9},
        {"baseline": "tuesday", "metrics": LATTICES, "correction": "none", "interval": "t"},
    ],
)
def test_options_are_those_of_memory(frames, tmp_path, options):
    expected = history(memory_of(frames), **options)
    assert_same_history(history(scans_of(frames, tmp_path), **options), expected)


@pytest.mark.parametrize("seed", range(4))
def test_no_division_and_no_order_of_rows_moves_a_number(frames, tmp_path, seed):
    rng = np.random.default_rng(seed)
    scans = []
    for name, frame in zip(NIGHTS, frames, strict=True):
        rows = rng.permutation(len(frame))
        cuts = np.sort(rng.choice(np.arange(1, len(rows)), rng.integers(0, 4), replace=False))
        for place, part in enumerate(np.split(rows, cuts)):
            path = tmp_path / name / f"part-{place}.parquet"
            write_parquet(frame.iloc[part], path, int(rng.integers(20, 200)))
        scans.append(RAGPipelineEvaluation.scan(str(tmp_path / name / "*.parquet"), name=name))
    assert_same_history(history(scans), history(memory_of(frames)), "join")


def test_the_identity_of_queries_is_that_of_memory(frames, tmp_path):
    plain = [frame.drop(columns="reference") for frame in frames[:2]]
    numbered = [frame.assign(reference=np.arange(len(frame)) + 0.5) for frame in frames[:2]]
    lists = [frame.assign(reference=[["a", str(n)] for n in range(700)]) for frame in frames[:2]]
    gaps = [frame.assign(reference=[None, *range(1, len(frame))]) for frame in frames[:2]]
    found = []
    for place, nights in enumerate((frames, plain, numbered, lists, gaps)):
        folder = tmp_path / str(place)
        expected = history(memory_of(nights), metrics="recall@5")
        scanned = history(scans_of(nights, folder), metrics="recall@5")
        assert_same_history(scanned, expected)
        found.append(scanned.frame["query_set"].tolist()[:2])
    assert all(first == second for first, second in found)
    assert len({first for first, _ in found}) == len(found)


def test_numbers_and_gaps_among_references_of_csv_files_are_those_of_memory(frames, tmp_path):
    for place, references in enumerate((range(700), [0.5, *range(699)], ["", *range(699)])):
        paths = []
        for name, frame in zip(NIGHTS, frames[:2], strict=False):
            paths.append(tmp_path / f"{name}{place}.csv")
            frame.assign(reference=list(references)).to_csv(paths[-1], index=False)
        expected = history([RAGPipelineEvaluation.load(None, path) for path in paths])
        scanned = history([RAGPipelineEvaluation.scan(path) for path in paths])
        assert (scanned.frame["query_set"] == expected.frame["query_set"]).all()
        assert scanned.notes == expected.notes


def test_runs_without_a_common_query_are_not_compared(frames, tmp_path):
    other = frames[1].assign(query_id=[f"x{number:05d}" for number in range(700)])
    nights = [frames[0], other]
    expected = history(memory_of(nights))
    assert set(expected.frame["since_previous"].dropna()) == {"not compared"}
    assert_same_history(history(scans_of(nights, tmp_path)), expected)


def test_a_metric_that_one_run_lacks_is_compared_where_it_is(frames, tmp_path):
    nights = [frames[0], frames[1].drop(columns=["similarity", "recall@5"]), frames[3]]
    assert_same_history(history(scans_of(nights, tmp_path)), history(memory_of(nights)))


def test_one_scan_is_a_history(frames, tmp_path):
    assert_same_history(history(scans_of(frames[:1], tmp_path)), history(memory_of(frames[:1])))


def test_a_history_of_scans_is_drawn(frames, tmp_path):
    drawn, expected = (
        [
            [float(value) for value in line.get_ydata()]
            for line in history(runs, metrics=LATTICES).plot().figure.axes[0].lines
        ]
        for runs in (scans_of(frames, tmp_path), memory_of(frames))
    )
    assert drawn == expected
    assert drawn


@pytest.mark.parametrize("engine", ["auto", "join"])
def test_a_folder_of_tables_is_read_part_by_part(frames, tmp_path, engine):
    scans_of(frames, tmp_path / "files")
    for name, frame in zip(NIGHTS, frames, strict=True):
        for place in range(3):
            part = frame.iloc[place * 300 : (place + 1) * 300]
            write_parquet(part, tmp_path / "folders" / name / f"part-{place}.parquet")
    expected = history(tmp_path / "files")
    files, folders, glob = (
        history(read_runs(where, engine=engine))
        for where in (tmp_path / "files", tmp_path / "folders", f"{tmp_path}/files/*.parquet")
    )
    for found in (files, folders, glob):
        pd.testing.assert_frame_equal(found.frame, expected.frame, rtol=1e-9)
        assert found.settings["engine"] == ("stream" if engine == "auto" else engine)
    assert files.notes == expected.notes
    one = history(read_runs(tmp_path / "folders" / "monday", engine=engine, files="parts"))
    assert one.frame["n"].tolist() == history(memory_of(frames[:1])).frame["n"].tolist()


def test_what_does_not_apply_to_a_folder_of_scans_is_an_error(frames, tmp_path):
    scans_of(frames[:2], tmp_path)
    for options in ({"duplicates": "mean"}, {"totals": "keep"}, {"sheet": "1"}):
        (name,) = options
        with pytest.raises(DataError, match=rf"{name}= does not apply to runs.*without engine="):
            read_runs(tmp_path, engine="stream", **options)
    with pytest.raises(DataError, match="does not exist"):
        read_runs(tmp_path / "other", engine="stream")


def test_what_needs_every_score_says_so(frames, tmp_path):
    scans = scans_of(frames[:2], tmp_path)
    [first, _] = to_store(scans).runs
    for read in (lambda: first.scores, lambda: first.details):
        with pytest.raises(DataError, match=r"of the run 'monday'.*\.collect\(\)"):
            read()
    with pytest.raises(ArgumentKindError, match=r"history\(\) takes either scans or evaluations"):
        history([scans[0], *memory_of(frames[:2])])
    with pytest.raises(UnknownNameError, match="no run is named 'friday'"):
        history(scans, baseline="friday")

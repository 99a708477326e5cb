"""No division into files and groups of rows, no order and no engine moves a number of a scan.

Scores on a lattice are equal to those in memory to the last bit, continuous ones up to 1e-12.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.stats.states import block_state, pair_state
from rageval_report.stats.states.column_state import ColumnRules, ColumnState
from tests.evaluation.scanning.conftest import write_parquet

NAMES = ("bm25", "dense", "hybrid")
LATTICE = ["exact_match", "recall@5"]
CONTINUOUS = ["similarity", "latency_ms"]
# Numbers that are found by a search, whose last digits depend on where it stops.
SEARCHED = 1e-9


def table(seed, n, share, gaps):
    """Scores of some of n queries, with gaps, and a column of groups."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "query_id": [f"q{number:04d}" for number in range(n)],
            "exact_match": (rng.random(n) < 0.5).astype(float),
            "recall@5": rng.integers(0, 6, n) / 5,
            "similarity": rng.normal(0.3, 0.3, n),
            "latency_ms": rng.lognormal(6, 1, n),
            "topic": rng.choice(["law", "tax", "trade"], n),
            "batch": [f"batch {number % 17}" for number in range(n)],
            "area": [f"area {number % 5}" for number in range(n)],
        }
    )
    frame.loc[[0, 1], "similarity"] = [-1.5, 1.5]  # as all tables, so that it has no bounds
    for name in (*LATTICE, *CONTINUOUS):
        frame.loc[rng.random(n) < gaps, name] = np.nan
    frame.loc[[2, 3], [*LATTICE, *CONTINUOUS]] = [[1.0, 0.4, 0.1, 9.5], [0.0, 0.6, 0.2, 8.5]]
    return frame[(rng.random(n) < share) | (frame.index < 8)].reset_index(drop=True)


@dataclass(frozen=True)
class Division:
    """How the rows of a table are written.

    Parameters
    ----------
    seed : int
        The seed of the cuts and of the order.
    n_files : int
        The number of files.
    rows_of_group : int
        The rows of a group in a file.
    is_shuffled : bool
        Whether the rows are in no order.
    is_csv : bool
        Whether the files are CSV, and not Parquet.
    """

    seed: int
    n_files: int
    rows_of_group: int
    is_shuffled: bool
    is_csv: bool

    def write(self, frame, folder):
        rng = np.random.default_rng(self.seed)
        rows = rng.permutation(len(frame)) if self.is_shuffled else np.arange(len(frame))
        cuts = np.sort(rng.choice(np.arange(1, len(rows)), self.n_files - 1, replace=False))
        folder.mkdir()
        for place, part in enumerate(np.split(rows, cuts)):
            path = folder / f"part-{place}"
            if self.is_csv:
                frame.iloc[part].to_csv(path.with_suffix(".csv"), index=False)
            else:
                write_parquet(frame.iloc[part], path.with_suffix(".parquet"), self.rows_of_group)
        return str(folder / "*.*")


@dataclass(frozen=True)
class Tables:
    """Three pipelines in memory and as scans.

    Parameters
    ----------
    frames : list of DataFrame
        Their scores.
    scans : list of EvaluationScan
        Their files.
    is_summed : bool
        Whether only counts and sums are kept, of which no interval can be resampled.
    folder : Path
        Where more files can be written.
    """

    frames: list
    scans: list
    is_summed: bool
    folder: Path

    @cached_property
    def whole(self):
        """Scans of one file each, in the order of the ids."""
        return [
            RAGPipelineEvaluation.scan(write_parquet(frame, self.folder / f"{name}.parquet"))
            for name, frame in zip(NAMES, self.frames, strict=True)
        ]

    @cached_property
    def memory(self):
        return [
            RAGPipelineEvaluation(name, frame)
            for name, frame in zip(NAMES, self.frames, strict=True)
        ]


DIVISIONS = st.builds(
    Division,
    seed=st.integers(0, 2**16),
    n_files=st.integers(1, 4),
    rows_of_group=st.integers(3, 60),
    is_shuffled=st.booleans(),
    is_csv=st.booleans(),
)
TABLES = {
    "seed": st.integers(0, 2**16),
    "n": st.integers(40, 90),
    "share": st.sampled_from([1.0, 0.9, 0.6]),
    "gaps": st.sampled_from([0.0, 0.1]),
    "divisions": st.lists(DIVISIONS, min_size=3, max_size=3),
}
FEW = settings(max_examples=5, deadline=None)


def check_with_tables(check):
    """Runs a check on tables that are written as the example says."""

    @FEW
    @given(**TABLES, engine=st.sampled_from(["auto", "join", "duckdb"]), is_summed=st.booleans())
    def run(seed, n, share, gaps, divisions, engine, is_summed):
        frames = [table(seed + place, n, share, gaps) for place in range(3)]
        check_tables(check, frames, divisions, is_summed=is_summed, engine=engine)

    return run


def check_with_workers(check):
    """The same with the workers of a cluster, where states are made as in other programs."""

    @settings(max_examples=2, deadline=None)
    @given(**TABLES)
    def run(scheduler, seed, n, share, gaps, divisions):
        frames = [table(seed + place, n, share, gaps) for place in range(3)]
        check_tables(check, frames, divisions, engine="dask", scheduler=scheduler)

    return run


def check_tables(check, frames, divisions, *, is_summed=False, **options):
    """Runs a check on frames, and on scans of files that hold them."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if is_summed:  # as of millions
            rules = (ColumnRules(2, 0, 0, has_bins=True),)
            patch.setattr(ColumnState.of.__func__, "__defaults__", rules)
            patch.setattr(pair_state, "FEW_VALUES", 20)
            patch.setattr(block_state, "FEW_VALUES", 20)
        scans = [
            RAGPipelineEvaluation.scan(
                division.write(frame, Path(folder, name)), name=name, **options
            )
            for name, frame, division in zip(NAMES, frames, divisions, strict=True)
        ]
        check(Tables(frames, scans, is_summed, Path(folder)))


def assert_equal_rows(found, expected, searched=(), *, key="metric"):
    """Lattice metrics equal to the last bit, others up to 1e-12; what is searched up to 1e-9."""
    assert list(found.columns) == list(expected.columns)
    texts = [name for name in expected if not pd.api.types.is_numeric_dtype(expected[name])]
    pd.testing.assert_frame_equal(found[texts], expected[texts])
    numbers = [name for name in expected if name not in texts]
    exact = [name for name in numbers if name not in searched]
    is_lattice = expected[key].isin(LATTICE)
    pd.testing.assert_frame_equal(
        found.loc[is_lattice, exact], expected.loc[is_lattice, exact], check_exact=True
    )
    pd.testing.assert_frame_equal(
        found.loc[~is_lattice, exact], expected.loc[~is_lattice, exact], rtol=1e-12, atol=1e-13
    )
    pd.testing.assert_frame_equal(
        found[[*searched]], expected[[*searched]], rtol=SEARCHED, atol=1e-12
    )


LIMITS = ["ci_low", "ci_high"]


@check_with_tables
def test_reports_are_those_of_memory(tables):
    scan, evaluation = tables.scans[0], tables.memory[0]
    # Of sums alone, as of millions of scores, an interval cannot be resampled.
    found, expected = (each.evaluation_report(interval="t") for each in (scan, evaluation))
    assert found.notes == expected.notes
    assert_equal_rows(found.frame, expected.frame, LIMITS)
    assert_equal_rows(scan.find_thresholds().frame, evaluation.find_thresholds().frame)
    lowest, known = (each.failures("recall@5", 0.5).frame for each in (scan, evaluation))
    pd.testing.assert_frame_equal(lowest.sort_index(), known.sort_index())


def check_causes(tables):
    scan, evaluation = tables.scans[0], tables.memory[0]
    for method in ("breakdown", "retrieval_by_generation"):
        found, expected = (getattr(each, method)() for each in (scan, evaluation))
        assert found.notes == expected.notes
        pd.testing.assert_frame_equal(found.frame, expected.frame, check_exact=True)
    lost, known = (each.failures("recall@5", 1, cause="generation") for each in (scan, evaluation))
    assert lost.notes == known.notes
    pd.testing.assert_frame_equal(lost.frame.sort_index(), known.frame.sort_index())


test_causes_are_those_of_memory = check_with_tables(check_causes)
test_causes_of_workers_are_those_of_memory = check_with_workers(check_causes)


@check_with_tables
def test_slices_are_those_of_memory(tables):
    found, expected = (
        each.slices("topic", [*LATTICE, "similarity"], interval="t").frame
        for each in (tables.scans[0], tables.memory[0])
    )
    assert_equal_rows(found, expected, LIMITS)


COMPARED = [
    *(*LIMITS, "statistic", "pvalue", "pvalue_adjusted", "hedges_g_z", "effect_size"),
    *("min_detectable_difference", "n_needed", "n_needed_smaller", "level_left"),
    "rare_loss_difference",  # a sum of what is left
]


def check_comparison(tables):
    found, expected = (compare(*runs) for runs in (tables.scans[:2], tables.memory[:2]))
    assert found.notes == expected.notes
    assert_equal_rows(found.frame, expected.frame, COMPARED)
    assert_equal_rows(found.frame[["metric", "pvalue"]], expected.frame[["metric", "pvalue"]])
    # The p-value of another metric may be the one that counts for a metric on a lattice.
    adjusted = found.frame["pvalue_adjusted"].to_numpy()
    assert adjusted == pytest.approx(expected.frame["pvalue_adjusted"].to_numpy(), rel=1e-12)
    lost, known = (each.regressions("similarity") for each in (found, expected))
    pd.testing.assert_frame_equal(lost, known)


test_comparisons_are_those_of_memory = check_with_tables(check_comparison)
test_comparisons_of_workers_are_those_of_memory = check_with_workers(check_comparison)


def check_answers(tables):
    found, expected = (
        first.comparative_detailed_summary(second, {"recall@5": 0.4, "similarity": 0.2})
        for first, second in (tables.scans[:2], tables.memory[:2])
    )
    assert found.attrs["notes"] == expected.attrs["notes"]
    assert found.attrs["n"] == expected.attrs["n"]
    assert list(found.columns) == list(expected.columns)
    for name in expected:
        assert found[name].dropna().tolist() == sorted(expected[name].dropna())


def check_pages(tables):
    options = {"by": [], "pictures": False, "interval": "t", "k": 5}
    rule = {"recall@5": 0.4, "similarity": 0.2}
    found, expected = (
        compare(*runs, metrics=["recall@5", "similarity"]).report(correct=rule, **options)
        for runs in (tables.scans[:2], tables.memory[:2])
    )
    assert found.verdicts == expected.verdicts
    for key in ("outcomes", "causes"):
        ours, theirs = (
            next(section for section in report.sections if section.key == key)
            for report in (found, expected)
        )
        # The cards have the same queries in the same order.
        assert ours.views == theirs.views
        for table, known in zip(ours.results, theirs.results, strict=True):
            assert table.notes == known.notes
            pd.testing.assert_frame_equal(table.frame, known.frame, check_exact=True)


test_pages_are_those_of_memory = check_with_tables(check_pages)
test_pages_of_workers_are_those_of_memory = check_with_workers(check_pages)

test_correct_answers_are_those_of_memory = check_with_tables(check_answers)
test_correct_answers_of_workers_are_those_of_memory = check_with_workers(check_answers)


@check_with_tables
def test_comparisons_by_clusters_are_those_of_memory(tables):
    found, expected = (
        compare(*runs, clusters="batch") for runs in (tables.scans[:2], tables.memory[:2])
    )
    assert found.notes == expected.notes
    assert_equal_rows(found.frame, expected.frame, COMPARED)


def check_ranking(tables):
    metrics = LATTICE if tables.is_summed else [*LATTICE, "latency_ms"]
    found, expected = (rank(*runs, metrics=metrics) for runs in (tables.scans, tables.memory))
    assert found.notes == expected.notes
    # The interval of few continuous scores is resampled, in the order of the rows.
    rows = [each.frame[each.frame["metric"].isin(LATTICE)] for each in (found, expected)]
    assert_equal_rows(*rows, [*LIMITS, "gain_of_noise"])
    assert_equal_rows(
        found.pairs.frame, expected.pairs.frame, [*LIMITS, "min_detectable_difference"]
    )
    assert_equal_rows(found.friedman.frame, expected.friedman.frame)


test_rankings_are_those_of_memory = check_with_tables(check_ranking)
test_rankings_of_workers_are_those_of_memory = check_with_workers(check_ranking)


def check_ranking_by_clusters(tables):
    metrics = LATTICE if tables.is_summed else [*LATTICE, *CONTINUOUS]
    for options in ({}, {"margins": {"recall@5": 0.05}, "test": "t", "confidence_level": 0.9}):
        found, expected = (
            rank(*runs, clusters="batch", metrics=metrics, **options)
            for runs in (tables.scans, tables.memory)
        )
        assert found.notes == expected.notes
        assert {**found.settings, "engine": 0} == {**expected.settings, "engine": 0}
        assert_equal_rows(found.frame, expected.frame, [*LIMITS, "gain_of_noise"])
        searched = [*LIMITS, "min_detectable_difference"]
        # The mean of a t test is divided by a root of squares, in the order of the clusters.
        pvalues = ["pvalue", "pvalue_adjusted"] if options else []
        assert_equal_rows(found.pairs.frame, expected.pairs.frame, [*searched, *pvalues])
        assert_equal_rows(found.friedman.frame, expected.friedman.frame)


test_rankings_by_clusters_are_those_of_memory = check_with_tables(check_ranking_by_clusters)
test_rankings_by_clusters_of_workers_are_those_of_memory = check_with_workers(
    check_ranking_by_clusters
)


def check_signs(tables):
    options = {"correction": "westfall-young", "n_resamples": 199}
    columns = ["metric", "pvalue", "pvalue_adjusted"]
    compared = [compare(*scans, **options) for scans in (tables.scans, tables.whole)]
    assert_equal_rows(*(each.frame[[*columns, "verdict"]] for each in compared))
    metrics = LATTICE if tables.is_summed else None  # a mean of few continuous scores is resampled
    ranked = [rank(*scans, metrics=metrics, **options) for scans in (tables.scans, tables.whole)]
    assert_equal_rows(*(each.pairs.frame[columns] for each in ranked))
    for found, expected in (compared, ranked):
        assert found.notes == expected.notes


test_signs_of_ids_are_those_of_any_division = check_with_tables(check_signs)
test_signs_of_ids_of_workers_are_those_of_one_process = check_with_workers(check_signs)


def check_details(tables):
    """Shuffled rows and rows of several files have no order, so they are compared by id."""
    for method, n_others in (("detailed_report", 0), ("comparative_detailed_report", 1)):
        reports = []
        for runs in (tables.scans, tables.memory):
            path = {"path": tables.folder / "all.parquet"} if runs is tables.scans else {}
            report = getattr(runs[0], method)(*runs[1 : 1 + n_others], output_format="df", **path)
            reports.append(report.sort_values("query_id", ignore_index=True))
        found, expected = reports
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)
        written = pd.read_parquet(tables.folder / "all.parquet")
        written = written.sort_values("query_id", ignore_index=True)
        pd.testing.assert_frame_equal(written, expected, check_dtype=False)


test_detailed_reports_are_those_of_memory = check_with_tables(check_details)
test_detailed_reports_of_workers_are_those_of_memory = check_with_workers(check_details)

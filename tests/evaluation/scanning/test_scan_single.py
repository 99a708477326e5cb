"""The report, thresholds and failures of a scan are those of the same table in memory."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, ReaderError, UnknownValueError
from tests.evaluation.scanning.conftest import scores_frame, write_parquet

# Continuous scores are summed in another order than in memory.
TOLERANCE = 1e-12
LATTICES = ["exact_match", "recall@5", "groundedness"]


def assert_same_result(scanned, expected):
    assert scanned.title == expected.title
    assert scanned.headline == expected.headline
    assert scanned.notes == expected.notes
    assert scanned.settings == {**expected.settings, "engine": "stream"}
    pd.testing.assert_frame_equal(scanned.frame, expected.frame, rtol=TOLERANCE)
    lattices = expected.frame["metric"].isin(LATTICES)
    exact = [name for name in expected.frame if name not in ("ci_low", "ci_high")]
    pd.testing.assert_frame_equal(
        scanned.frame.loc[lattices, exact], expected.frame.loc[lattices, exact], rtol=0, atol=0
    )


@pytest.fixture(params=["parquet", "folder", "csv", "glob", "list"])
def source(request, frame, tmp_path):
    middle = len(frame) // 3
    parts = [frame[:middle], frame[middle:]]
    if request.param == "parquet":
        return write_parquet(frame, tmp_path / "scores.parquet")
    if request.param == "csv":
        frame.to_csv(tmp_path / "scores.csv", index=False)
        return tmp_path / "scores.csv"
    paths = [
        write_parquet(part, tmp_path / "scores" / f"part-{place}.parquet", 40 + 30 * place)
        for place, part in enumerate(parts)
    ]
    return {
        "folder": tmp_path / "scores",
        "glob": f"{tmp_path}/scores/*.parquet",
        "list": paths,
    }[request.param]


def test_a_scan_gives_the_report_of_memory(source, frame):
    expected = RAGPipelineEvaluation("hybrid", frame).evaluation_report()
    report = RAGPipelineEvaluation.scan(source, name="hybrid").evaluation_report()
    assert_same_result(report, expected)
    assert report.correct == expected.correct
    assert report.counts == expected.counts
    assert "engine:stream" in report.signature


@pytest.mark.parametrize("method", ["linear", "exclusive", "upper"])
def test_thresholds_are_those_of_memory(source, frame, method):
    expected = RAGPipelineEvaluation("hybrid", frame).find_thresholds(None, (1, 33, 99), method)
    scan = RAGPipelineEvaluation.scan(source, name="hybrid")
    assert_same_result(scan.find_thresholds(None, (1, 33, 99), method), expected)


@pytest.mark.parametrize(
    ("metric", "threshold"),
    [("recall@5", 0.5), ("similarity", "p10"), ("latency_ms", "median"), ("groundedness", "mean")],
)
def test_failures_are_those_of_memory(source, frame, tmp_path, metric, threshold):
    expected = RAGPipelineEvaluation("hybrid", frame).failures(metric, threshold)
    scan = RAGPipelineEvaluation.scan(source, name="hybrid")
    pd.testing.assert_frame_equal(scan.failures(metric, threshold).frame, expected.frame)
    shown = scan.failures(metric, threshold, k=7, path=tmp_path / "all.parquet")
    pd.testing.assert_frame_equal(shown.frame, expected.frame.head(7))
    assert shown.notes[: len(expected.notes)] == expected.notes
    assert shown.notes[-1].startswith("the table has the 7 worst; all are in ")
    written = pq.read_table(tmp_path / "all.parquet").to_pandas()
    assert sorted(written["query_id"]) == sorted(expected.frame.index)


@pytest.mark.parametrize("metric", ["recall@5", "similarity", "latency_ms"])
def test_failures_beyond_a_number_need_no_score_by_score(frame, tmp_path, metric, kept_or_summed):
    cut = float(frame[metric].quantile(0.3))
    expected = RAGPipelineEvaluation("a", frame).failures(metric, cut)
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet"))
    found = scan.failures(metric, cut)
    assert found.notes == expected.notes
    pd.testing.assert_frame_equal(found.frame, expected.frame)


def test_failures_of_named_queries_are_those_of_memory(frame, tmp_path):
    ids = [f"q{number:05d}" for number in range(0, 700, 40)]
    expected = RAGPipelineEvaluation("a", frame).failures("similarity", "p25", query_ids=ids)
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet"))
    found = scan.failures("similarity", "p25", query_ids=ids)
    assert 0 < len(found.frame) < len(ids)
    assert found.notes == expected.notes
    pd.testing.assert_frame_equal(found.frame, expected.frame)
    with pytest.raises(DataError, match="no query has the id 'q9'"):
        scan.failures("similarity", 0.5, query_ids=["q9", "q00001"])


def test_aggregated_scores_are_those_of_memory(frame, tmp_path):
    memory = RAGPipelineEvaluation("a", frame)
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet"))
    expected = memory.get_aggregated_scores()
    pd.testing.assert_series_equal(scan.get_aggregated_scores(), expected, rtol=1e-12)
    assert scan.get_aggregated_scores("recall@5") == pytest.approx(expected["recall@5"], rel=1e-12)


def test_the_report_of_haystack_is_that_of_memory(frame, tmp_path):
    memory = RAGPipelineEvaluation("a", frame)
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet"))
    found, expected = (run.aggregated_report() for run in (scan, memory))
    assert found["metrics"] == expected["metrics"]
    assert found["score"] == pytest.approx(expected["score"], rel=1e-12)
    table = scan.aggregated_report("df")
    pd.testing.assert_frame_equal(table, memory.aggregated_report("df"), rtol=1e-12)
    path = tmp_path / "means.csv"
    assert scan.aggregated_report("csv", path) == path.read_text(encoding="utf-8")
    with pytest.raises(UnknownValueError, match="output_format must be"):
        scan.aggregated_report("xml")


def test_what_columns_are_is_decided_by_all_rows(tmp_path):
    n = 400
    frame = pd.DataFrame(
        {
            "query_id": [f"q{number}" for number in range(n)],
            "late_share": [1.0] * (n - 1) + [0.25],
            "marks": [3.0] * (n - 1) + [2.5],
            "seldom": [0.0] * (n - 1) + [7.0],
            "groundedness": [1.0] * (n - 1) + [5.0],
        }
    )
    memory = RAGPipelineEvaluation("a", frame)
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet"))
    assert scan.metrics == memory.metrics
    assert scan.notes == memory.notes
    pd.testing.assert_frame_equal(scan.roles, memory.roles)


def test_scores_just_outside_their_bounds_are_moved(frame, tmp_path):
    frame.loc[650, "recall@5"] = 1.0000004
    memory = RAGPipelineEvaluation("a", frame)
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet"))
    expected = memory.evaluation_report().frame
    pd.testing.assert_frame_equal(scan.evaluation_report().frame, expected, rtol=TOLERANCE)


def test_scores_outside_their_bounds_are_refused(frame, tmp_path):
    frame.loc[650, "recall@5"] = 1.7
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet"))
    with pytest.raises(ReaderError, match=r"must lie between 0 and 1; got 1\.7 at 'q00650'"):
        scan.evaluation_report()


def test_infinite_scores_are_refused(frame, tmp_path):
    frame.loc[650, "similarity"] = np.inf
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet"))
    with pytest.raises(DataError, match="finite"):
        scan.evaluation_report()


def test_repeated_ids_are_named(frame, tmp_path):
    frame.loc[699, "query_id"] = "q00003"
    frame.loc[650, "query_id"] = "q00017"
    path = write_parquet(frame, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="appear more than once: 'q00003', 'q00017'"):
        RAGPipelineEvaluation.scan(path).evaluation_report()


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_fault_of_ids_in_the_first_rows_names_the_file_and_what_a_scan_can_do(tmp_path, suffix):
    def write(name, ids):
        table = pd.DataFrame({"query_id": ids, "recall": 0.5})
        path = tmp_path / name / f"part_{len(list((tmp_path / name).iterdir()))}.{suffix}"
        table.to_parquet(path) if suffix == "parquet" else table.to_csv(path, index=False)

    for name, ids in (("repeated", ["q1", "q9"]), ("missing", ["q8", None])):
        (tmp_path / name).mkdir()
        write(name, [f"q{number}" for number in range(6)])
        write(name, ids)
    with pytest.raises(DataError, match=r"more than once: 'q1'\. A scan cannot average"):
        RAGPipelineEvaluation.scan(tmp_path / "repeated")
    message = rf"missing.part_1\.{suffix}: every row needs a query id; row 1 of this file is the"
    with pytest.raises(DataError, match=message):
        RAGPipelineEvaluation.scan(tmp_path / "missing")


def test_rows_in_any_order_give_the_same_report(frame, tmp_path):
    shuffled = frame.sample(frac=1, random_state=1)
    paths = [
        write_parquet(part, tmp_path / f"{place}.parquet")
        for place, part in enumerate((frame, shuffled))
    ]
    reports = [RAGPipelineEvaluation.scan(path, name="a").evaluation_report() for path in paths]
    pd.testing.assert_frame_equal(reports[0].frame, reports[1].frame, rtol=TOLERANCE)


def test_a_damaged_file_among_many_is_named(frame, tmp_path):
    for place in range(20):
        write_parquet(frame[place * 35 : place * 35 + 35], tmp_path / f"part-{place:02d}.parquet")
    (tmp_path / "part-13.parquet").write_bytes(b"PAR1 cut")
    with pytest.raises(ReaderError, match=r"part-13\.parquet: this file is damaged or cut"):
        RAGPipelineEvaluation.scan(tmp_path)


def test_a_damaged_page_is_named_and_nothing_is_written(frame, tmp_path):
    path = write_parquet(frame, tmp_path / "scores" / "a.parquet")
    content = bytearray(path.read_bytes())
    scan = RAGPipelineEvaluation.scan(path)
    scan.evaluation_report()
    middle = len(content) // 2
    content[middle : middle + 400] = bytes(400)
    path.write_bytes(content)
    with pytest.raises(ReaderError, match=r"a\.parquet: this file is damaged"):
        scan.failures("recall@5", 0.5, path=tmp_path / "failures.parquet")
    assert not (tmp_path / "failures.parquet").exists()


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_file_that_lacks_a_column_is_named(frame, tmp_path, suffix):
    parts = {"part-0": frame[:300], "part-1": frame[300:].drop(columns=["recall@5"])}
    for name, part in parts.items():
        if suffix == "csv":
            part.to_csv(tmp_path / f"{name}.csv", index=False)
        else:
            write_parquet(part, tmp_path / f"{name}.parquet")
    with pytest.raises(ReaderError, match=rf"part-1\.{suffix}: the columns 'recall@5' are missing"):
        RAGPipelineEvaluation.scan(tmp_path)


def test_empty_parts_and_single_precision(frame, tmp_path):
    write_parquet(frame[:0], tmp_path / "part-0.parquet")
    columns = dict.fromkeys(("recall@5", "groundedness"), np.float32)
    single = frame.astype(columns)
    write_parquet(single, tmp_path / "part-1.parquet")
    expected = RAGPipelineEvaluation("a", single).evaluation_report()
    report = RAGPipelineEvaluation.scan(tmp_path, name="a").evaluation_report()
    pd.testing.assert_frame_equal(report.frame, expected.frame, rtol=TOLERANCE)


def test_a_table_without_rows_is_refused(frame, tmp_path):
    path = write_parquet(frame[:0], tmp_path / "a.parquet")
    with pytest.raises(DataError, match="no rows"):
        RAGPipelineEvaluation.scan(path)


def test_folders_state_columns(frame, tmp_path):
    for topic, part in frame.groupby("topic"):
        rows = part.drop(columns=["topic"])
        write_parquet(rows, tmp_path / "scores" / f"topic={topic}" / "part-0.parquet")
    scan = RAGPipelineEvaluation.scan(tmp_path / "scores")
    assert scan.name == "scores"
    failures = scan.failures("recall@5", 0.5).frame
    expected = frame.set_index("query_id")["topic"].loc[failures.index]
    assert failures["topic"].tolist() == expected.tolist()


def test_words_in_cells_are_unscored_as_in_memory(frame, tmp_path):
    frame["faithfulness"] = np.linspace(0, 1, len(frame)).round(2)
    text = frame.astype({"faithfulness": object})
    text.loc[[333, 420], "faithfulness"] = "(Failed)"
    text.to_csv(tmp_path / "a.csv", index=False)
    scan = RAGPipelineEvaluation.scan(tmp_path / "a.csv", name="a")
    expected = RAGPipelineEvaluation.load("a", tmp_path / "a.csv").evaluation_report()
    report = scan.evaluation_report()
    pd.testing.assert_frame_equal(report.frame, expected.frame, rtol=TOLERANCE)


def test_a_long_table_is_refused(tmp_path):
    rows = [(f"q{n}", metric, 0.5) for n in range(40) for metric in ("recall", "mrr")]
    pd.DataFrame(rows, columns=["query_id", "metric", "value"]).to_csv(
        tmp_path / "a.csv", index=False
    )
    with pytest.raises(ReaderError, match="a scan"):
        RAGPipelineEvaluation.scan(tmp_path / "a.csv")


def test_collect_brings_the_table_into_memory(source, frame):
    expected = RAGPipelineEvaluation("hybrid", frame)
    collected = RAGPipelineEvaluation.scan(source, name="hybrid").collect()
    pd.testing.assert_frame_equal(collected.scores, expected.scores)
    assert collected.metrics == expected.metrics


def test_a_frame_in_memory_is_not_scanned(frame):
    with pytest.raises(TypeError, match=r"source must be files .* or a lazy frame"):
        RAGPipelineEvaluation.scan(frame)


def test_a_lazy_frame_of_polars_is_scanned(frame):
    import polars

    expected = RAGPipelineEvaluation("a", frame).evaluation_report()
    scan = RAGPipelineEvaluation.scan(polars.LazyFrame(frame.to_dict("list")), name="a")
    pd.testing.assert_frame_equal(scan.evaluation_report().frame, expected.frame, rtol=TOLERANCE)


def test_ids_of_integers_and_of_an_index(frame, tmp_path):
    numbered = frame.assign(query_id=range(len(frame)))
    scan = RAGPipelineEvaluation.scan(write_parquet(numbered, tmp_path / "a.parquet"), name="a")
    expected = RAGPipelineEvaluation("a", numbered).failures("recall@5", 0.1)
    assert list(scan.failures("recall@5", 0.1).frame.index) == list(expected.frame.index)
    indexed = frame.set_index("query_id")
    pq.write_table(pa.Table.from_pandas(indexed), tmp_path / "b.parquet")
    report = RAGPipelineEvaluation.scan(tmp_path / "b.parquet", name="a").evaluation_report()
    again = RAGPipelineEvaluation("a", scores_frame()).evaluation_report()
    pd.testing.assert_frame_equal(report.frame, again.frame, rtol=TOLERANCE)


@pytest.mark.parametrize("query_id", [None, "", "  "])
def test_a_row_without_an_id_is_refused(frame, tmp_path, query_id):
    frame.loc[600, "query_id"] = query_id
    path = write_parquet(frame, tmp_path / "a.parquet")
    with pytest.raises(ReaderError, match=r"a\.parquet: every row needs a query id"):
        RAGPipelineEvaluation.scan(path).evaluation_report()

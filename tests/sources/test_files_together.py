"""Folders, globs and lists: parts of one table, or evaluations; the ids decide, aloud."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, history, inspect, rank, read_scores
from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.sources.base import split_address

N = 12
FRAME = pd.DataFrame(
    {
        "query_id": [f"{i:03}" for i in range(N)],
        "recall": np.arange(N) / N,
        "exact_match": [i % 2 for i in range(N)],
        "topic": ["a", "b", "c"] * (N // 3),
    }
)
FRAME.loc[3, "recall"] = np.nan


def write(folder, name, rows=FRAME, **options):
    folder.mkdir(parents=True, exist_ok=True)
    rows.to_csv(folder / name, index=False, **options)
    return folder / name


@pytest.fixture
def parts(tmp_path):
    """One table in three files."""
    for number, rows in enumerate(np.array_split(np.arange(N), 3)):
        write(tmp_path / "hybrid", f"part-{number}.csv", FRAME.iloc[rows])
    return tmp_path / "hybrid"


@pytest.fixture
def runs(tmp_path):
    """Two pipelines on the same queries, and a file that holds no scores."""
    write(tmp_path / "runs", "a.csv")
    write(tmp_path / "runs", "b.csv", FRAME.assign(recall=FRAME["recall"] / 2))
    (tmp_path / "runs" / "README.md").write_text("two runs")
    return tmp_path / "runs"


def assert_same(actual, expected):
    pd.testing.assert_frame_equal(actual.scores, expected.scores)
    pd.testing.assert_frame_equal(actual.details, expected.details)
    assert actual.metrics == expected.metrics


@pytest.mark.parametrize("name", ["folder", "glob", "list"])
def test_parts_of_one_table_are_read_as_the_whole_table(parts, tmp_path, name):
    path = {"folder": parts, "glob": f"{parts}/*.csv", "list": sorted(parts.iterdir())}[name]
    [(pipeline, together)] = read_scores(path).items()
    assert_same(together, RAGPipelineEvaluation.load(None, write(tmp_path, "whole.csv")))
    assert pipeline == ("part" if name == "list" else "hybrid")
    assert "are parts of one table: no query id appears in two of them" in together.notes[0]


@settings(max_examples=15, deadline=None)
@given(cuts=st.sets(st.integers(1, N - 1), max_size=5), seed=st.integers(0, 9))
def test_any_split_in_any_order_gives_the_same_scores(tmp_path_factory, cuts, seed):
    folder = tmp_path_factory.mktemp("split")
    order = np.random.default_rng(seed).permutation(N)
    places = np.split(order, sorted(cuts))
    files = [write(folder, f"{i}.csv", FRAME.iloc[rows]) for i, rows in enumerate(places)]
    [together] = read_scores(files, files="parts").values()
    whole = RAGPipelineEvaluation("whole", FRAME)
    pd.testing.assert_frame_equal(together.scores.sort_index(), whole.scores.sort_index())


def test_files_of_one_query_set_are_evaluations_and_say_so(runs):
    evaluations = read_scores(runs)
    assert list(evaluations) == ["a", "b"]
    assert_same(evaluations["a"], RAGPipelineEvaluation.load(None, runs / "a.csv"))
    notes = evaluations["b"].notes
    assert "one evaluation per file: 12 of 12 query ids appear in more than one" in notes[0]
    assert notes[1] == f"{runs}: skipped because of their endings: 'README.md'"


def test_the_decision_can_be_overruled_both_ways(parts, runs):
    assert list(read_scores(parts, files="evaluations")) == ["part-0", "part-1", "part-2"]
    with pytest.raises(DataError, match=r"more than once: '000'.* duplicates=\"mean\""):
        read_scores(runs, files="parts")
    [mean] = read_scores(runs, files="parts", duplicates="mean").values()
    half = FRAME.set_index("query_id")["recall"] * 0.75  # the mean of r and r / 2
    np.testing.assert_allclose(mean.scores["recall"], half)


def test_a_few_shared_ids_are_no_silent_choice(tmp_path):
    files = [write(tmp_path, "a.csv", FRAME[:7]), write(tmp_path, "b.csv", FRAME[6:])]
    with pytest.raises(DataError, match=r"1 of 12 query ids .*'006' in .*a\.csv and .*b\.csv"):
        read_scores(files)
    assert len(read_scores(files, files="evaluations")) == 2


def test_a_column_that_a_part_lacks_is_named_with_the_file(parts):
    write(parts, "part-1.csv", FRAME[4:8].drop(columns="recall"))
    with pytest.raises(DataError, match=r"column 'recall' is missing in '.*part-1\.csv'"):
        read_scores(parts)


def test_a_damaged_file_among_many_is_named(parts):
    (parts / "part-1.csv").write_text('query_id,recall\n001,"0.5\n')
    with pytest.raises(ReaderError, match=r"part-1\.csv"):
        read_scores(parts)


def test_totals_at_the_end_of_each_part_are_left_out(parts, tmp_path):
    for path in sorted(parts.iterdir()):
        rows = pd.read_csv(path, dtype={"query_id": str})
        means = {"query_id": "mean", **rows[["recall", "exact_match"]].mean()}
        pd.concat([rows, pd.DataFrame([means])]).to_csv(path, index=False)
    [together] = read_scores(parts).values()
    assert together.n_queries == N


def test_the_place_of_a_cell_names_its_file(parts):
    text = (parts / "part-2.csv").read_text().replace("008,0.6666666666666666", "008,lots")
    (parts / "part-2.csv").write_text(text)
    [together] = read_scores(parts, metrics=["recall"]).values()
    assert np.isnan(together.scores.loc["008", "recall"])


def test_files_of_one_name_in_two_folders_are_named_after_the_folders(tmp_path):
    files = [write(tmp_path / "a", "scores.csv"), write(tmp_path / "b", "scores.csv")]
    assert list(read_scores(files)) == ["a/scores", "b/scores"]


def test_run_files_that_state_one_name_are_named_after_the_files(tmp_path):
    for night in ("monday", "tuesday"):
        RAGPipelineEvaluation("hybrid", FRAME).save(tmp_path / f"{night}.json")
    assert list(read_scores(tmp_path)) == ["monday", "tuesday"]


def test_several_evaluations_are_not_one(runs):
    with pytest.raises(DataError, match="holds 2 pipelines: 'a', 'b'"):
        RAGPipelineEvaluation.load("x", runs)
    assert RAGPipelineEvaluation.load("x", runs, pipeline="b").name == "x"


def test_a_role_may_be_of_a_column_that_one_file_has(runs):
    write(runs, "b.csv", FRAME.rename(columns={"topic": "theme"}))
    assert len(read_scores(runs, roles={"theme": "detail"})) == 2
    with pytest.raises(Exception, match="thema"):
        read_scores(runs, roles={"thema": "detail"})


def test_inspect_shows_the_decision(parts, runs):
    assert inspect(parts).pipelines == ("hybrid",)
    assert any("parts of one table" in note for note in inspect(parts).notes)
    assert inspect(runs).pipelines == ("a", "b")
    assert inspect(runs).settings["rows"] == 2 * N


def test_a_folder_goes_into_rank_and_history(runs):
    ranking = rank(runs)
    direct = rank(*(RAGPipelineEvaluation.load(None, path) for path in sorted(runs.glob("*.csv"))))
    pd.testing.assert_frame_equal(ranking.frame, direct.frame)
    assert any("one evaluation per file" in note for note in ranking.notes)
    by_metric = history(f"{runs}/*.csv").frame.query("metric == 'recall'")
    expected = [FRAME["recall"].mean(), FRAME["recall"].mean() / 2]
    assert by_metric["mean"].tolist() == pytest.approx(expected)
    assert history(runs).frame["run"].unique().tolist() == ["a", "b"]


def test_files_must_be_a_known_word(runs):
    with pytest.raises(
        UnknownNameError, match='files must be "auto", "parts" or "evaluations"; got'
    ):
        read_scores(runs, files="both")


@pytest.mark.parametrize(
    ("text", "place", "parameters"),
    [
        ("sqlite:///a.db?table=t", "a.db", {"table": "t"}),
        ("sqlite:////tmp/a.db?table=my%20t", "/tmp/a.db", {"table": "my t"}),
        ("sqlite:///a.db?query=SELECT%201", "a.db", {"query": "SELECT 1"}),
        ("sqlite:///a.db?query=SELECT a=1&b", "a.db", {"query": "SELECT a=1&b"}),
        ("s3://bucket/a.csv", "bucket/a.csv", {}),
        ("runs:/123/a.csv", "123/a.csv", {}),
    ],
)
def test_the_parts_of_an_address(text, place, parameters):
    address = split_address(text)
    assert (address.place, dict(address.parameters)) == (place, parameters)


def test_a_password_is_in_no_name_and_no_representation():
    text = "postgresql://eva:p@ss/w:rd@db:5432/rag?table=t&sslpassword=geheim"
    address = split_address(text)
    assert address.name == "postgresql://eva:***@db:5432/rag?table=t&sslpassword=***"
    for shown in (repr(address), str(address.error("no"))):
        assert "geheim" not in shown
        assert "w:rd" not in shown
    assert split_address("sqlite:///a:b@c.db").name == "sqlite:///a:b@c.db"

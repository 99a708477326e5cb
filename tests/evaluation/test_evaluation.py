"""The object a user holds: what the wings' own tests do not see, the handing over."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rageval_report import RAGPipelineEvaluation, read_scores
from rageval_report.errors import DataError, RagevalWarning, UnknownNameError
from rageval_report.scores.write import scores_text

# The example of the proposal from which the class comes, as printed: one text holds the four ids.
PROPOSAL = {
    "query_id": ["53c3b3e6, 225f87f7, 8ac473ec, 97d284ca"],
    "reciprocal_rank": [0.378064, 0.534964, 0.216058, 0.778642],
    "single_hit": [1, 1, 0, 1],
    "multi_hit": [0.706125, 0.454976, 0.445512, 0.250522],
    "context_relevance": [0.805466, 0.410251, 0.750070, 0.361332],
    "faithfulness": [0.135581, 0.695974, 0.749861, 0.041999],
    "semantic_answer_similarity": [0.971241, 0.159320, 0.019722, 1],
    "exact_match": [1, 0, 0, 0],
}
ROWS = {"query_id": ["q1", "q2", "q3"], "recall": [0.2, None, 0.9], "question": ["a", "b", "c"]}


@pytest.fixture
def evaluation():
    return RAGPipelineEvaluation("a", ROWS)


def test_the_proposals_example_works_as_printed():
    with pytest.warns(RagevalWarning, match="'query_id' is one text that holds 4 values"):
        evaluation = RAGPipelineEvaluation("hybrid", PROPOSAL)
    assert evaluation.n_queries == 4
    assert evaluation.get_aggregated_scores("Reciprocal Rank") == pytest.approx(0.476932)
    assert list(evaluation.evaluation_report())[-2:] == [
        "nr_correct_queries",
        "nr_incorrect_queries",
    ]


def test_classification_report_is_the_same_report():
    evaluation = RAGPipelineEvaluation("a", {"query_id": ["q"], "exact_match": [1]})
    assert evaluation.classification_report() == evaluation.evaluation_report()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(pd.DataFrame(ROWS), id="pandas"),
        pytest.param(pl.DataFrame(ROWS), id="polars"),
        pytest.param(pa.table(ROWS), id="pyarrow"),
        pytest.param(ROWS, id="dict of lists"),
        pytest.param(pd.DataFrame(ROWS).to_dict("records"), id="list of dicts"),
    ],
)
def test_all_kinds_of_rows_make_the_same_evaluation(data, evaluation):
    other = RAGPipelineEvaluation("a", data)
    pd.testing.assert_frame_equal(other.scores, evaluation.scores)
    assert other.details["question"].tolist() == ["a", "b", "c"]


def test_one_metric_has_one_mean_under_any_of_its_names(evaluation):
    for name in ("recall", "Recall", "retrieval recall"):
        assert evaluation.get_aggregated_scores(name) == pytest.approx(0.55)


def test_all_means_come_as_a_series(evaluation):
    assert evaluation.get_aggregated_scores().to_dict() == pytest.approx({"recall": 0.55})


def test_an_unknown_metric_is_told_the_nearest(evaluation):
    with pytest.raises(UnknownNameError, match="Did you mean 'recall'"):
        evaluation.get_aggregated_scores("recal")
    with pytest.raises(UnknownNameError, match="Did you mean 'recall'"):
        evaluation.get_detailed_scores("recal")


def test_detailed_scores_come_in_the_order_asked(evaluation):
    frame = evaluation.get_detailed_scores("recall", ["q3", "q1"])
    assert frame["recall"].tolist() == [0.9, 0.2]


def test_unknown_query_ids_are_named_at_most_five(evaluation):
    with pytest.raises(DataError, match="'x0', 'x1', 'x2', 'x3', 'x4' and 2 more"):
        evaluation.get_detailed_scores(query_ids=["q1", *(f"x{i}" for i in range(7))])


def test_what_is_taken_out_can_be_changed_without_changing_the_evaluation(evaluation):
    frame = evaluation.get_detailed_scores()
    frame.loc["q1", "recall"] = 9
    evaluation.metrics.clear()
    assert evaluation.scores.loc["q1", "recall"] == 0.2
    assert list(evaluation.metrics) == ["recall"]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (("recall", 0.5), [False, None, True]),
        ({"recall": 0.1}, [True, None, True]),
        ("ok", [True, False, True]),
        (lambda rows: rows["recall"] > 0.5, [False, False, True]),
    ],
)
def test_what_is_correct_is_a_rule(rule, expected):
    evaluation = RAGPipelineEvaluation(
        "a", ROWS | {"ok": [True, False, True]}, correct=rule, metrics=["recall"]
    )
    assert evaluation.correct.astype(object).where(evaluation.correct.notna(), None).tolist() == (
        expected
    )


def test_a_rule_that_makes_no_sense_is_told_at_once():
    with pytest.raises(UnknownNameError):
        RAGPipelineEvaluation("a", ROWS, correct=("recal", 0.5))


@pytest.mark.parametrize("name", ["", "  ", None, 3])
def test_an_evaluation_needs_a_name(name):
    with pytest.raises(DataError, match="name must be a text such as"):
        RAGPipelineEvaluation(name, ROWS)


def test_a_metrics_direction_can_be_told():
    evaluation = RAGPipelineEvaluation("a", ROWS, metrics={"recall": "lower"})
    assert evaluation.failures("recall", 0.5).frame.index.tolist() == ["q3"]


def test_repeated_runs_are_averaged_on_request():
    rows = {"query_id": ["q1", "q1", "q2"], "recall": [0.2, 0.4, 1.0]}
    with pytest.raises(DataError, match="appear more than once: 'q1'"):
        RAGPipelineEvaluation("a", rows)
    evaluation = RAGPipelineEvaluation("a", rows, duplicates="mean")
    assert evaluation.scores["recall"].tolist() == pytest.approx([0.3, 1.0])
    assert "3 rows of 2 queries" in evaluation.notes[0]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet"])
def test_what_is_saved_is_read_back(evaluation, tmp_path, suffix):
    path = evaluation.save(tmp_path / f"a{suffix}")
    back = RAGPipelineEvaluation.load(None, path)
    assert back.name == "a"
    pd.testing.assert_frame_equal(back.scores, evaluation.scores)
    assert back.details["question"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_scores_that_are_saved_already_are_replaced_or_kept(evaluation, tmp_path, suffix):
    path = evaluation.save(tmp_path / "runs" / f"a{suffix}")  # the folder is made
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"exists already; replace it with force=True"):
        evaluation.with_name("b").save(path, force=False)
    assert path.read_bytes() == before
    evaluation.with_notes("later").save(path)


def test_a_gzipped_file_is_read_like_any_other(evaluation, tmp_path):
    plain = evaluation.save(tmp_path / "a.csv")
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    back = RAGPipelineEvaluation.load("a", packed)
    pd.testing.assert_frame_equal(back.scores, evaluation.scores)


def test_read_scores_gives_each_pipeline_by_its_name(evaluation, tmp_path):
    path = evaluation.save(tmp_path / "hybrid.csv")
    assert [one.name for one in read_scores(path).values()] == ["a"]
    # Without its description it is a table like any other, which is named after its file.
    (tmp_path / "hybrid.csv.meta.json").unlink()
    assert [one.name for one in read_scores(path).values()] == ["hybrid"]
    with pytest.raises(UnknownNameError, match="hybrid"):
        read_scores(path, pipeline="bm25")


def test_notes_of_reading_stand_in_the_report(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("question,recall\nwhy?,0.5\nwho?,1\n", encoding="utf-8")
    report = RAGPipelineEvaluation.load("a", path).evaluation_report()
    assert any("derived from the text of column 'question'" in note for note in report.notes)


def test_an_evaluation_shows_its_report_in_a_notebook(evaluation):
    assert "<table" in evaluation._repr_html_()
    assert repr(evaluation) == "RAGPipelineEvaluation('a', 3 queries, 1 metrics)"


def test_the_rows_given_are_kept_and_never_changed():
    given = pd.DataFrame(ROWS)
    before = given.copy()
    evaluation = RAGPipelineEvaluation("a", given)
    evaluation.evaluation_report()
    evaluation.scores.iloc[0, 0] = 7
    pd.testing.assert_frame_equal(given, before)
    pd.testing.assert_frame_equal(evaluation.data, before)


def test_numbers_in_the_columns_of_texts_are_no_metrics():
    evaluation = RAGPipelineEvaluation(
        "a", {"query_id": ["a", "b"], "answer": [7, 8], "f1": [1, 0]}
    )
    assert list(evaluation.scores) == ["f1"]
    assert list(evaluation.details) == ["answer"]


def test_a_comparative_summary_takes_this_one_for_the_baseline(evaluation):
    other = RAGPipelineEvaluation("b", ROWS | {"recall": [0.4, 1.0, 0.9]})
    row = evaluation.comparative_summary(other).frame.iloc[0]
    assert (row["baseline"], row["candidate"]) == ("a", "b")
    assert row["difference"] == pytest.approx(np.mean([0.2, 0.0]))


def test_what_the_file_says_of_a_metric_holds_under_what_the_caller_says(real_data):
    path = real_data("mtrag_human_eval") / "reference_subset_with_human_evaluations.json"
    metric = next(iter(next(iter(read_scores(path).values())).scores))
    (run, *_) = read_scores(path, metrics=[metric]).values()
    assert list(run.scores) == [metric]
    assert run.metrics[metric] == next(iter(read_scores(path).values())).metrics[metric]


def test_a_run_file_holds_the_text_that_is_printed_of_it(evaluation, tmp_path):
    noted = evaluation.with_notes("half \ud83d of a letter, é")
    told = scores_text(noted, ".json", notes=noted.notes)
    assert noted.save(tmp_path / "a.json").read_bytes() == told.encode("utf-8", "surrogatepass")

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from rageval_report import METRICS, Metric
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import resolver, score_table
from rageval_report.scores.roles import MOST_METRICS, numbers_of


def table_of(cells, name="my_metric", **options):
    ids = [f"q{i}" for i in range(len(cells))]
    return score_table({"query_id": ids, "recall": [1.0] * len(cells), name: cells}, **options)


# -- texts that are numbers


def test_a_column_of_texts_that_are_numbers_is_a_metric():
    table = table_of(["0.5", " 1 ", "+.25", "1e-3"])
    assert table.scores["my_metric"].tolist() == [0.5, 1.0, 0.25, 0.001]


def test_numbers_in_texts_are_read_to_the_last_bit():
    values = np.random.default_rng(0).random(500)
    table = table_of([repr(value) for value in values.tolist()])
    np.testing.assert_array_equal(table.scores["my_metric"].to_numpy(), values)


def test_true_and_false_are_1_and_0():
    assert table_of(["true", "False", "TRUE"]).scores["my_metric"].tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "word", ["(Failed)", "n/a", "NA", "null", "None", "nan", "-", "error", "FAILED", ""]
)
def test_what_frameworks_write_for_no_score_is_unscored(word):
    scores = table_of(["0.5", word, "1", None]).scores["my_metric"]
    assert scores.isna().tolist() == [False, True, False, True]


def test_words_for_no_score_are_counted_in_a_note():
    table = table_of(["0.5", "(Failed)", "n/a", "(Failed)", None, " "])
    assert table.notes == ("3 cells of 'my_metric' say '(Failed)', 'n/a': unscored",)


def test_a_metric_of_text_is_told_cell_by_cell():
    cells = ["0.8 (pass)", "0.5", "0.2 (fail)", "1"]
    message = (
        r"metric 'faithfulness' must hold numbers; got '0.8 \(pass\)' at 'q0', '0.2 \(fail\)' at "
        r"'q2'\. Make them numbers, leave them empty .* metrics=\[\.\.\.\]"
    )
    with pytest.raises(DataError, match=message):
        table_of(cells, name="faithfulness")


def test_at_most_five_wrong_cells_are_told():
    with pytest.raises(DataError, match=r"'x4' at 'q4' and 3 more\. Make"):
        table_of([f"x{i}" for i in range(8)], name="faithfulness")


def test_a_known_metric_of_nothing_but_text_is_not_dropped_without_a_word():
    with pytest.raises(DataError, match=r"metric 'Faithfulness' must hold numbers; got 'good'"):
        table_of(["good", "bad"], name="Faithfulness")


def test_a_column_of_which_half_is_numbers_is_not_dropped_without_a_word():
    with pytest.raises(DataError, match=r"'my_metric' must hold numbers; got 'good' at 'q1'"):
        table_of(["0.5", "good", "0.25"])


def test_a_column_of_texts_with_a_few_numbers_is_a_detail():
    table = table_of(["42", "the answer", "a question", "a book"])
    assert list(table.details) == ["my_metric"]


def test_a_column_that_mostly_failed_is_still_a_metric():
    cells = ["(Failed)"] * 5000
    cells[4321] = "0.5"
    table = table_of(cells)
    assert int(table.scores["my_metric"].notna().sum()) == 1
    assert table.notes == ("4999 cells of 'my_metric' say '(Failed)': unscored",)


@pytest.mark.parametrize("cell", ["1_00", "0x10", "1,5,5", "½", "1 2", "6/5", "half"])
def test_what_python_or_people_read_as_a_number_is_not_guessed(cell):
    with pytest.raises(DataError, match=r"metric 'faithfulness' must hold numbers; got"):
        table_of(["0.5", cell], name="faithfulness")


def test_infinity_in_a_text_is_refused_like_any():
    with pytest.raises(DataError, match=r"must be finite, .* 'my_metric' has inf at 'q1'"):
        table_of(["0.5", "inf"])


@pytest.mark.parametrize("name", ["question", "answer", "contexts", "reference", "reason"])
def test_texts_are_details_whatever_they_hold(name):
    assert name in table_of(["1", "2"], name=name).details


# -- columns that could be a metric or not


@pytest.mark.parametrize("name", ["turn", "Top K", "row id", "doc_id", "Unnamed: 0", "chunk_idx"])
def test_numbers_that_say_nothing_of_the_answer_are_details(name):
    assert list(table_of([1, 2], name=name).details) == [name]


def test_an_empty_column_that_nobody_knows_is_a_detail_and_noted():
    table = table_of([np.nan, np.nan])
    assert list(table.details) == ["my_metric"]
    assert table.notes == ("column 'my_metric' is empty and becomes a detail",)


@pytest.mark.parametrize("cells", [[np.nan, np.nan], [None, None], ["", "n/a"]])
def test_an_empty_column_that_is_a_known_metric_is_a_metric_with_nothing_scored(cells):
    assert table_of(cells, name="faithfulness").scores["faithfulness"].isna().all()


def test_complex_numbers_dates_and_decimals_are_told_apart():
    assert "my_metric" in table_of([1j, 2j]).details
    assert "my_metric" in table_of([pd.Timestamp("2026-01-01")] * 2).details
    assert "my_metric" in table_of(pd.to_timedelta([1, 2], unit="s")).details
    assert "my_metric" in table_of([Decimal("0.5"), Decimal("0.25")]).scores
    assert "my_metric" in table_of([[0.1, 0.2], [0.3]]).details


def test_booleans_with_gaps_are_a_metric():
    scores = table_of([True, None, False, np.bool_(True)]).scores["my_metric"]
    np.testing.assert_array_equal(scores.to_numpy(), [1.0, np.nan, 0.0, 1.0])


# -- the caller names the metrics


def test_only_the_named_columns_are_metrics():
    table = table_of([1, 2], metrics=["my metric"])
    assert (list(table.scores), list(table.details)) == (["my_metric"], ["recall"])


def test_an_alias_of_a_column_names_it():
    table = table_of([0.5, 1.0], name="reciprocal_rank", metrics=["MRR"])
    assert list(table.scores) == ["reciprocal_rank"]


def test_one_name_may_be_given_as_a_text():
    assert list(table_of([1, 2], metrics="recall").scores) == ["recall"]


def test_a_named_column_is_a_metric_whatever_its_name():
    assert list(table_of([1, 2], name="turn", metrics=["turn"]).scores) == ["turn"]


def test_a_name_that_is_no_column_is_told_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"named 'recal'\. Did you mean 'recall'\?"):
        table_of([1, 2], metrics=["recal"])


def test_the_named_metrics_of_a_table_of_vectors_can_be_had():
    wide = pd.DataFrame(np.zeros((2, MOST_METRICS + 1))).add_prefix("dimension_")
    frame = wide.assign(query_id=["a", "b"], recall=[0.5, 1.0])
    assert list(score_table(frame, metrics=["recall"]).scores) == ["recall"]


# -- tables without metrics, and with too many


def test_a_table_without_a_metric_is_told_what_its_columns_hold():
    message = (
        r"no column holds scores: expected at least one column of numbers\. Columns: "
        r"'question' \(such as 'why\?'\), 'note' \(empty\)\. If the rows are records .* compute "
        r"scores from them: score\(read_records\(path\), metrics\)\. "
        r".* name it with metrics=\[\.\.\.\]"
    )
    with pytest.raises(DataError, match=message):
        score_table({"query_id": ["a"], "question": ["why?"], "note": [None]})


def test_a_table_of_nothing_but_ids_is_told_so():
    with pytest.raises(DataError, match=r"Columns: only the ids\. If"):
        score_table({"query_id": ["a"]})


def test_many_columns_without_a_metric_are_told_up_to_eight():
    columns = {f"note_{i}": ["x"] for i in range(12)}
    with pytest.raises(DataError, match=r"'note_7' \(such as 'x'\) and 4 more\. If"):
        score_table({"query_id": ["a"], **columns})


def test_ten_thousand_columns_of_numbers_are_no_metrics():
    wide = pd.DataFrame(np.zeros((2, 10_000))).add_prefix("d")
    message = (
        r"10,000 columns hold numbers; expected at most 1,000 metrics\. Is the table "
        r"transposed, or does it hold vectors\?"
    )
    with pytest.raises(DataError, match=message):
        score_table(wide.assign(query_id=["a", "b"]))


def test_two_columns_that_are_one_metric_are_both_named():
    message = r"columns 'Recall@5' and 'recall_at_5' are both the metric 'recall@5'; rename"
    with pytest.raises(DataError, match=message):
        score_table({"query_id": ["a"], "Recall@5": [1.0], "recall_at_5": [0.5]})


def test_two_names_of_one_metric_may_stand_side_by_side():
    table = score_table({"query_id": ["a"], "mrr": [1.0], "reciprocal_rank": [0.5]})
    assert [metric.known_as for metric in table.metrics.values()] == ["reciprocal_rank"] * 2


# -- names are resolved


def test_a_name_means_the_column_that_is_spelled_like_it_before_one_that_means_the_same():
    resolve = resolver(["mrr", "reciprocal_rank", "recall@5"])
    assert resolve("MRR") == "mrr"
    assert resolve("Reciprocal Rank") == "reciprocal_rank"
    assert resolve("recall_at_5") == "recall@5"


def test_a_cutoff_belongs_to_the_name():
    with pytest.raises(UnknownNameError, match=r"no metric is named 'recall@10'"):
        resolver(["recall@5"])("recall@10")


def test_a_name_that_may_mean_two_columns_is_refused():
    with pytest.raises(DataError, match=r"'rr' may mean any of 'mrr', 'document_mrr'; use one of"):
        resolver(["mrr", "document_mrr"])("rr")


def test_a_metric_of_ones_own_is_known_in_a_table_at_once():
    METRICS.add("sparkle", Metric("sparkle", title="Sparkle!", kind="ordinal", bounds=(0, 5)))
    try:
        metric = table_of([1, 4], name="Sparkle at 3").metrics["sparkle@3"]
    finally:
        METRICS._entries.pop("sparkle")
    assert (metric.title, metric.bounds, metric.kind) == ("Sparkle!@3", (0.0, 5.0), "ordinal")


# -- numbers


def test_numbers_that_are_float64_are_not_copied():
    frame = pd.DataFrame({"recall": [0.5, 1.0]})
    assert np.shares_memory(numbers_of(frame["recall"]), frame["recall"].to_numpy())


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "Int64", "boolean", "Float32"])
def test_numbers_of_any_type_become_float64(dtype):
    numbers = numbers_of(pd.Series([1, 0], dtype=dtype))
    assert numbers.dtype == np.float64
    assert numbers.tolist() == [1.0, 0.0]


# -- what is no metric


@pytest.mark.parametrize("counter", ["query_run", "run", "trial", "repeat_no", "Epoch"])
def test_a_counter_beside_repeated_ids_is_no_metric(counter):
    rows = {"query_id": ["a", "a", "b"], counter: [1, 2, 1], "recall": [1.0, 0.5, 0.0]}
    table = score_table(rows, duplicates="mean")
    assert list(table.metrics) == ["recall"]
    assert counter in table.details


def test_a_name_that_ends_like_a_counter_is_a_metric_where_no_id_repeats():
    table = score_table({"query_id": ["a", "b"], "dry_run": [0.5, 1.0]})
    assert list(table.metrics) == ["dry_run"]


def test_a_misspelt_metric_is_met_with_metrics_and_not_with_texts():
    rows = {
        "query_id": ["a", "b"],
        "question": ["x?", "y?"],
        "domain": ["tax", "law"],
        "recall": [1.0, 0.5],
        "recall_reason": ["2", "3"],
        "seed": [1, 2],
    }
    with pytest.raises(UnknownNameError) as error:
        score_table(rows, metrics=["recal"])
    assert error.value.known == ["recall"]


def test_a_text_of_nearly_that_name_is_offered_all_the_same():
    rows = {"query_id": ["a"], "human_label": ["good"], "recall": [1.0]}
    with pytest.raises(UnknownNameError, match="Did you mean 'human_label'"):
        score_table(rows, metrics=["human_lable"])


def test_where_nothing_can_be_a_metric_all_columns_are_named():
    with pytest.raises(UnknownNameError, match="Known: domain, question"):
        score_table({"query_id": ["a"], "question": ["x?"], "domain": ["tax"]}, metrics=["f1"])


def test_the_title_of_a_percentage_that_became_a_share_has_no_percent_sign():
    titles = {
        cells: table_of([cells, cells], name="Answer Rel %").metrics["answer_rel_%"].title
        for cells in ("90 %", "90")
    }
    assert titles == {"90 %": "Answer Rel", "90": "Answer Rel %"}

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import resolver, score_table


def table_of(cells, name="my_metric", **options):
    ids = [f"q{i}" for i in range(len(cells))]
    return score_table({"query_id": ids, "recall": [1.0] * len(cells), name: cells}, **options)


# -- texts that are numbers


def test_a_column_of_texts_that_are_numbers_is_a_metric():
    table = table_of(["0.5", " 1 ", "+.25", "1e-3"])
    assert table.scores["my_metric"].tolist() == [0.5, 1.0, 0.25, 0.001]


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


def test_a_column_of_which_half_is_numbers_is_not_dropped_without_a_word():
    with pytest.raises(DataError, match=r"'my_metric' must hold numbers; got 'good' at 'q1'"):
        table_of(["0.5", "good", "0.25"])


def test_a_column_of_texts_with_a_few_numbers_is_a_detail():
    table = table_of(["42", "the answer", "a question", "a book"])
    assert list(table.details) == ["my_metric"]


@pytest.mark.parametrize("cell", ["1_00", "0x10", "1,5,5", "½", "1 2", "6/5", "half"])
def test_what_python_or_people_read_as_a_number_is_not_guessed(cell):
    with pytest.raises(DataError, match=r"metric 'faithfulness' must hold numbers; got"):
        table_of(["0.5", cell], name="faithfulness")


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


# -- the caller names the metrics


def test_only_the_named_columns_are_metrics():
    table = table_of([1, 2], metrics=["my metric"])
    assert (list(table.scores), list(table.details)) == (["my_metric"], ["recall"])


def test_a_name_that_is_no_column_is_told_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"named 'recal'\. Did you mean 'recall'\?"):
        table_of([1, 2], metrics=["recal"])


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


# -- names are resolved


def test_a_name_means_the_column_that_is_spelled_like_it_before_one_that_means_the_same():
    resolve = resolver(["mrr", "reciprocal_rank", "recall@5"])
    assert resolve("MRR") == "mrr"
    assert resolve("Reciprocal Rank") == "reciprocal_rank"
    assert resolve("recall_at_5") == "recall@5"


def test_a_name_that_may_mean_two_columns_is_refused():
    with pytest.raises(DataError, match=r"'rr' may mean any of 'mrr', 'document_mrr'; use one of"):
        resolver(["mrr", "document_mrr"])("rr")


# -- numbers


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


def test_the_title_of_a_percentage_that_became_a_share_has_no_percent_sign():
    titles = {
        cells: table_of([cells, cells], name="Answer Rel %").metrics["answer_rel_%"].title
        for cells in ("90 %", "90")
    }
    assert titles == {"90 %": "Answer Rel", "90": "Answer Rel %"}

import pandas as pd
import pytest

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.render.text_table import RowGroup, column_heading, table_of
from rageval_report.results import Result


def headings(result, **options):
    return [column.heading for column in table_of(result, **options).columns]


def cells_of(result, **options):
    return {column.heading: column.cells for column in table_of(result, **options).columns}


def test_all_columns_are_shown_where_there_is_no_headline():
    result = Result("t", pd.DataFrame({"metric": ["mrr"], "n": [3], "own_name": [0.5]}))
    assert headings(result) == ["metric", "n", "own_name"]


def test_the_headline_chooses_and_orders_and_skips_what_is_not_there():
    frame = pd.DataFrame({"metric": ["mrr"], "n": [3], "mean": [0.5]})
    assert headings(Result("t", frame, headline=("mean", "gone", "metric"))) == ["mean", "metric"]


def test_a_named_index_comes_first_and_an_unnamed_one_not_at_all():
    frame = pd.DataFrame({"score": [0.5]}, index=pd.Index(["q1"], name="query_id"))
    assert cells_of(Result("t", frame)) == {"query": ("q1",), "score": ("0.500",)}
    assert headings(Result("t", frame.reset_index(drop=True))) == ["score"]


def test_every_named_level_of_an_index_is_a_column():
    index = pd.MultiIndex.from_tuples([("q1", "a", 0)], names=["query_id", "run", None])
    assert headings(Result("t", pd.DataFrame({"score": [0.5]}, index=index))) == [
        *("query", "run", "score")
    ]


def test_verdicts_are_sentences_and_no_column():
    frame = pd.DataFrame({"metric": ["mrr"], "verdict": ["better"]})
    assert headings(Result("t", frame)) == ["metric"]
    assert headings(Result("t", frame, headline=("metric", "verdict"))) == ["metric"]


def test_the_caller_may_ask_for_any_column():
    frame = pd.DataFrame({"metric": ["mrr"], "verdict": ["better"]})
    assert headings(Result("t", frame), columns=["verdict", "metric"]) == ["verdict", "metric"]


def test_an_unknown_column_is_named():
    result = Result("t", pd.DataFrame({"metric": ["mrr"]}))
    with pytest.raises(UnknownNameError, match=r"'metrics'. Did you mean 'metric'\?"):
        table_of(result, columns=["metrics"])


def test_a_negative_limit_is_an_error():
    with pytest.raises(DataError, match="max_rows must be an integer >= 0; got -1"):
        table_of(Result("t", pd.DataFrame({"metric": ["mrr"]})), max_rows=-1)


def test_the_ends_of_an_interval_become_one_column_at_its_level():
    frame = pd.DataFrame({"metric": ["mrr"], "ci_low": [0.4], "ci_high": [0.5]})
    result = Result("t", frame, {"confidence_level": 0.9})
    assert cells_of(result) == {"metric": ("mrr",), "90 % CI": ("0.400 to 0.500",)}


def test_rows_that_say_their_own_level_head_the_interval_with_it():
    frame = pd.DataFrame({"mean": [0.4], "ci_low": [0.4], "ci_high": [0.5]})
    result = Result("t", frame.assign(confidence_level=0.9), {"confidence_level": 0.95})
    shown = table_of(result, columns=["ci_low", "ci_high"]).columns
    assert [(column.heading, column.cells) for column in shown] == [
        ("90 % CI", ("0.400 to 0.500",))
    ]


def test_rows_of_different_levels_say_them_one_by_one():
    frame = pd.DataFrame({"ci_low": [0.4, 0.1, None], "ci_high": [0.5, 0.2, None]})
    frame["confidence_level"] = [0.9, 0.95, None]
    result = Result("t", frame, {"confidence_level": 0.95}, headline=("ci_low", "ci_high"))
    assert cells_of(result) == {"CI": ("90 %: 0.400 to 0.500", "95 %: 0.100 to 0.200", "–")}


def test_a_column_of_texts_named_like_the_level_is_none():
    frame = pd.DataFrame({"ci_low": [0.4], "ci_high": [0.5], "confidence_level": ["high"]})
    result = Result("t", frame, {"confidence_level": 0.95}, headline=("ci_low", "ci_high"))
    assert headings(result) == ["95 % CI"]


def test_an_interval_of_something_says_of_what():
    frame = pd.DataFrame({"p50_ci_low": [0.4], "p50_ci_high": [0.5]})
    assert headings(Result("t", frame, {"confidence_level": 0.95})) == ["median 95 % CI"]


def test_ends_that_are_apart_stay_apart():
    frame = pd.DataFrame({"ci_low": [0.4], "mean": [0.45], "ci_high": [0.5]})
    assert headings(Result("t", frame)) == ["ci_low", "mean", "ci_high"]


def test_ends_that_are_no_numbers_stay_apart():
    frame = pd.DataFrame({"ci_low": ["low"], "ci_high": ["high"]})
    assert headings(Result("t", frame)) == ["ci_low", "ci_high"]


def test_wins_ties_and_losses_become_one_column():
    frame = pd.DataFrame({"metric": ["mrr"], "wins": [12], "ties": [3.0], "losses": [5]})
    assert cells_of(Result("t", frame)) == {"metric": ("mrr",), "W/T/L": ("12/3/5",)}


def test_rows_of_one_group_stand_together_in_the_order_of_first_appearance():
    frame = pd.DataFrame({"group": ["b", "a", "b", None], "metric": ["m1", "m2", "m3", "m4"]})
    table = table_of(Result("t", frame, grouped_by="group"))
    assert table.groups == (RowGroup("b", 0, 2), RowGroup("a", 2, 3), RowGroup("–", 3, 4))
    assert table.columns[0].cells == ("m1", "m3", "m2", "m4")


def test_groups_may_come_from_the_index():
    index = pd.Index(["a", "a"], name="group")
    table = table_of(Result("t", pd.DataFrame({"n": [1, 2]}, index=index), grouped_by="group"))
    assert table.groups == (RowGroup("a", 0, 2),)
    assert [column.heading for column in table.columns] == ["n"]


def test_groups_of_lists_are_told_apart_by_what_is_in_them():
    frame = pd.DataFrame({"group": [["a"], ["b"], ["a"]], "n": [1, 2, 3]})
    table = table_of(Result("t", frame, grouped_by="group"))
    assert [group.heading for group in table.groups] == ["a", "b"]


def test_a_grouping_that_is_not_there_groups_nothing():
    table = table_of(Result("t", pd.DataFrame({"n": [1, 2]}), grouped_by="gone"))
    assert table.groups == (RowGroup("", 0, 2),)


def test_what_is_left_out_is_counted():
    frame = pd.DataFrame({"a": range(5), "b": range(5), "c": range(5)})
    table = table_of(Result("t", frame), max_rows=3, max_columns=1)
    assert (table.n_rows, len(table.columns)) == (3, 1)
    assert table.left_out == "2 more rows and 2 more columns"
    assert table_of(Result("t", frame), max_rows=4).left_out == "1 more row"
    assert table_of(Result("t", frame)).left_out == ""


def test_groups_without_a_row_on_the_page_have_no_heading_there():
    frame = pd.DataFrame({"group": ["a", "a", "b"], "n": [1, 2, 3]})
    table = table_of(Result("t", frame, grouped_by="group"), max_rows=2)
    assert table.groups == (RowGroup("a", 0, 2),)


def test_two_columns_of_one_name_are_both_shown():
    frame = pd.DataFrame([[1, 2]], columns=["n", "n"])
    assert [column.cells for column in table_of(Result("t", frame)).columns] == [("1",), ("2",)]


def test_names_of_columns_may_be_numbers_or_nothing():
    assert headings(Result("t", pd.DataFrame([[1, 2]], columns=[0, ""]))) == ["0", ""]


@pytest.mark.parametrize(
    ("values", "is_numeric"),
    [
        ([0.5, None], True),
        (pd.array([1, None], dtype="Int64"), True),
        ([True, False], False),
        (["0.5", "0.6"], False),
        (pd.Categorical(["a", "b"]), False),
        ([1, "a"], False),
    ],
)
def test_numbers_are_told_from_texts_by_value(values, is_numeric):
    (column,) = table_of(Result("t", pd.DataFrame({"x": values}))).columns
    assert column.is_numeric is is_numeric


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("n_unscored", {}, "unscored"),
        ("p50", {}, "median"),
        ("p25", {}, "p25"),
        ("pvalue", {}, "p"),
        ("pvalue_adjusted", {"correction": "bh"}, "p (bh)"),
        ("pvalue_adjusted", {"correction": "none"}, "p (uncorrected)"),
        ("pvalue_adjusted", {}, "p (adjusted)"),
        ("recall@5", {}, "recall@5"),
        ("x\ny" * 50, {}, ("x y" * 50)[:39] + "…"),
    ],
)
def test_headings_are_in_the_words_of_the_field(name, settings, told):
    assert column_heading(name, settings) == told

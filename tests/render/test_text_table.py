import pandas as pd

from rageval_report.render.text_table import RowGroup, table_of
from rageval_report.results import Result


def cells_of(result, **options):
    return {column.heading: column.cells for column in table_of(result, **options).columns}


def test_the_ends_of_an_interval_become_one_column_at_its_level():
    frame = pd.DataFrame({"metric": ["mrr"], "ci_low": [0.4], "ci_high": [0.5]})
    result = Result("t", frame, {"confidence_level": 0.9})
    assert cells_of(result) == {"metric": ("mrr",), "90 % CI": ("0.400 to 0.500",)}


def test_rows_of_one_group_stand_together_in_the_order_of_first_appearance():
    frame = pd.DataFrame({"group": ["b", "a", "b", None], "metric": ["m1", "m2", "m3", "m4"]})
    table = table_of(Result("t", frame, grouped_by="group"))
    assert table.groups == (RowGroup("b", 0, 2), RowGroup("a", 2, 3), RowGroup("–", 3, 4))
    assert table.columns[0].cells == ("m1", "m3", "m2", "m4")

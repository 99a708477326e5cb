"""Plain text as laid out by hand, on a page of any width."""

import pandas as pd

from rageval_report._version import __version__
from rageval_report.reports.cells import display_width
from rageval_report.reports.plain import render
from rageval_report.reports.tables import RowGroup, table_of
from rageval_report.results import Result

FRAME = pd.DataFrame(
    {
        "metric": ["recall@5", "mrr", "faithfulness"],
        "group": ["retrieval", "retrieval", "generation"],
        "n": [412, 412, 410],
        "difference": [0.1, -0.0123, float("nan")],
        "ci_low": [0.05, -0.04, float("nan")],
        "ci_high": [0.15, 0.01, float("nan")],
        "pvalue_adjusted": [0.0001, 0.3, float("nan")],
        "wins": [60, 20, 0],
        "ties": [340, 360, 410],
        "losses": [12, 32, 0],
        "verdict": ["hyde is better on recall@5", "no difference shown on mrr", "untested"],
    }
)
SETTINGS = {"confidence_level": 0.95, "correction": "holm"}

GOLDEN = f"""\
hyde against plain

- hyde is better on recall@5
- no difference shown on mrr
- untested

  metric          n  difference          95 % CI  p (holm)      W/T/L
  ------------  ---  ----------  ---------------  --------  ---------
retrieval
  recall@5      412      +0.100   0.050 to 0.150   < 0.001  60/340/12
  mrr           412      -0.012  -0.040 to 0.010     0.300  20/360/32
generation
  faithfulness  410           –                –         –    0/410/0

Note: 2 queries were dropped

confidence_level:0.95|correction:holm|version:{__version__}"""


def lines_of(result, **options):
    return render(result, **options).splitlines()


def test_a_comparison_prints_as_laid_out_by_hand():
    notes = ("2 queries were dropped",)
    result = Result("hyde against plain", FRAME, SETTINGS, notes, grouped_by="group")
    assert render(result, signature=True) == GOLDEN  # as in files
    assert render(result) == GOLDEN.rpartition("\n\n")[0]


def test_texts_are_wrapped_before_anything_is_cut():
    frame = pd.DataFrame({"question": ["one two three four"], "answer": ["x" * 50], "n": [1]})
    lines = lines_of(Result("t", frame), width=60)
    assert lines[2:6] == [
        "question            answer                                 n",
        "------------------  -------------------------------------  -",
        "one two three four  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx  1",
        "                    xxxxxxxxxxxxx",
    ]


def test_a_cell_of_more_than_three_lines_is_cut():
    text = "abcdefgh " * 6  # two words a line, because three columns share 56 as 18, 19, 19
    frame = pd.DataFrame({"a": [text + "i"], "b": [text], "c": [text]})
    lines = lines_of(Result("t", frame), width=60)
    assert len(lines[4:]) == 3
    assert lines[6] == "abcdefgh abcdefgh…  abcdefgh abcdefgh    abcdefgh abcdefgh"


def test_columns_that_cannot_stand_side_by_side_stand_in_blocks_after_the_label():
    frame = pd.DataFrame({"metric": ["mrr"]} | {f"column_{i:02}": [i / 100] for i in range(20)})
    lines = lines_of(Result("t", frame))
    heads = [line for line in lines if line.startswith("metric")]
    assert len(heads) == 3  # 6 + 9 * (2 + 9) = 105 > 100: eight columns a block
    assert " ".join(heads).split().count("metric") == 3
    assert [word for head in heads for word in head.split() if word != "metric"] == [
        f"column_{i:02}" for i in range(20)
    ]


def test_wide_characters_are_aligned_by_their_width():
    frame = pd.DataFrame({"question": ["再現率", "recall"], "n": [1, 22]})
    assert lines_of(Result("t", frame))[4:6] == ["再現率     1", "recall    22"]


def test_a_narrow_page_is_kept_to():
    notes = ("再現率 " * 40,)
    told = render(Result("t" * 300, FRAME, SETTINGS, notes, grouped_by="group"), width=60)
    assert max(map(display_width, told.splitlines())) <= 60


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

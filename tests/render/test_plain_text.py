import re

import pandas as pd
import pytest

from rageval_report._version import __version__
from rageval_report.errors import DataError
from rageval_report.render.display import display_width
from rageval_report.render.plain_text import render
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
    assert render(result) == GOLDEN


def test_a_result_prints_itself_as_text():
    result = Result("hyde against plain", FRAME, SETTINGS)
    assert str(result) == repr(result) == render(result)


def test_texts_are_wrapped_before_anything_is_cut():
    frame = pd.DataFrame({"question": ["one two three four"], "answer": ["x" * 50], "n": [1]})
    lines = lines_of(Result("t", frame), width=60)
    assert lines[2:6] == [
        "question            answer                                 n",
        "------------------  -------------------------------------  -",
        "one two three four  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx  1",
        "                    xxxxxxxxxxxxx",
    ]


def test_headings_are_wrapped_before_texts():
    frame = pd.DataFrame({"metric": ["a" * 45], "baseline_mean": [0.5], "n": [1]})
    assert lines_of(Result("t", frame), width=60)[2:6] == [
        " " * 47 + "baseline",
        "metric" + " " * 45 + "mean  n",
        "-" * 45 + "  --------  -",
        "a" * 45 + "     0.500  1",
    ]


def test_a_cell_of_more_than_three_lines_is_cut():
    text = "abcdefgh " * 6  # two words a line, because three columns share 56 as 18, 19, 19
    frame = pd.DataFrame({"a": [text + "i"], "b": [text], "c": [text]})
    lines = lines_of(Result("t", frame), width=60)
    assert len(lines[4:-2]) == 3
    assert lines[6] == "abcdefgh abcdefgh…  abcdefgh abcdefgh    abcdefgh abcdefgh"


def test_columns_move_together_before_a_table_is_split():
    frame = pd.DataFrame({"metric": ["mrr"]} | {f"c{i:02}": [f"{i:018}"] for i in range(3)})
    assert lines_of(Result("t", frame), width=68)[2] == (
        "metric  c00                 c01                 c02"  # 6 + 3 * (2 + 18) = 66
    )
    numbers = pd.DataFrame({"metric": ["mrr"]} | {f"c{i}": [0.125] for i in range(10)})
    assert lines_of(Result("t", numbers), width=66)[4] == "mrr   " + " 0.125" * 10
    assert lines_of(Result("t", numbers), width=65)[6] == "metric     c8     c9"


def test_columns_that_cannot_stand_side_by_side_stand_in_blocks_after_the_label():
    frame = pd.DataFrame({"metric": ["mrr"]} | {f"column_{i:02}": [i / 100] for i in range(20)})
    lines = lines_of(Result("t", frame))
    heads = [line for line in lines if line.startswith("metric")]
    assert len(heads) == 3  # 6 + 9 * (2 + 9) = 105 > 100: eight columns a block
    assert " ".join(heads).split().count("metric") == 3
    assert [word for head in heads for word in head.split() if word != "metric"] == [
        f"column_{i:02}" for i in range(20)
    ]


def test_an_empty_frame_says_so():
    assert lines_of(Result("t", FRAME.iloc[:0]))[2] == "no rows"
    assert lines_of(Result("t", pd.DataFrame()))[2] == "no rows"


def test_a_frame_of_verdicts_alone_is_sentences_alone():
    told = render(Result("t", pd.DataFrame({"verdict": ["better"]})))
    assert told == f"t\n\n- better\n\nversion:{__version__}"


def test_rows_that_are_not_shown_are_counted():
    lines = lines_of(Result("t", pd.DataFrame({"n": range(300)})))
    assert lines[-3] == "... and 100 more rows"


def test_no_more_verdicts_than_rows_are_shown():
    frame = pd.DataFrame({"n": range(9), "verdict": ["better"] * 9})
    assert render(Result("t", frame), max_rows=4).count("better") == 4


def test_wide_characters_are_aligned_by_their_width():
    frame = pd.DataFrame({"question": ["再現率", "recall"], "n": [1, 22]})
    assert lines_of(Result("t", frame))[4:6] == ["再現率     1", "recall    22"]


def test_long_sentences_and_notes_hang_under_their_first_word():
    note = "word " * 30
    lines = lines_of(Result("t", FRAME.iloc[:0], notes=(note,)))
    assert lines[4].startswith("Note: word")
    assert lines[5].startswith("      word")
    frame = pd.DataFrame({"verdict": [note]})
    assert lines_of(Result("t", frame))[3].startswith("  word")


def test_a_signature_is_never_cut():
    settings = {"metrics": [f"metric_{i}" for i in range(100)]}
    result = Result("t", FRAME, settings)
    assert "".join(lines_of(result)).endswith(result.signature)


def test_a_page_too_narrow_for_a_number_is_an_error():
    with pytest.raises(DataError, match="width must be an integer >= 60; got 20"):
        render(Result("t", FRAME), width=20)


def test_a_narrow_page_is_kept_to():
    notes = ("再現率 " * 40,)
    told = render(Result("t" * 300, FRAME, SETTINGS, notes, grouped_by="group"), width=60)
    assert max(map(display_width, told.splitlines())) <= 60


@pytest.mark.parametrize(
    "heading",
    [
        "configuration heterogeneity",
        "context_entity_recall@10",
        "all-pipelines share-of-resamples",
        "min. detectable",
    ],
)
def test_a_narrow_heading_breaks_between_words_or_parts_of_a_name(heading):
    frame = pd.DataFrame({name: [0.5] for name in (heading, *(f"{heading} {n}" for n in range(6)))})
    lines = lines_of(Result("t", frame), width=60)
    parts = {*re.findall(r"[^\s_@-]+[_@-]?", heading), *map(str, range(6))}
    headings = [line for line in lines[2:-1] if re.search("[a-z]", line)]
    assert headings
    for line in headings:
        assert set(re.findall(r"[^\s_@-]+[_@-]?", line)) <= parts

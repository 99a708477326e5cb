import re

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report._version import __version__
from rageval_report.files.outgoing_text import escape_markdown
from rageval_report.render.markdown import (
    code,
    escape_sentence,
    render,
    render_file,
)
from rageval_report.results import Result

GOLDEN = f"""\
### hyde against plain

- hyde is better on recall@5
- no difference shown on mrr

#### retrieval

| metric   |   n |   difference |
|:---------|----:|-------------:|
| recall@5 | 412 |       +0.100 |

#### a\\|b

| metric   |   n |   difference |
|:---------|----:|-------------:|
| mrr      |  40 |       -0.012 |

- 2 queries were dropped

`seed:0|version:{__version__}`"""


def test_a_comparison_is_written_as_laid_out_by_hand():
    frame = pd.DataFrame(
        {
            "group": ["retrieval", "a|b"],
            "metric": ["recall@5", "mrr"],
            "n": [412, 40],
            "difference": [0.1, -0.0123],
            "verdict": ["hyde is better on recall@5", "no difference shown on mrr"],
        }
    )
    notes = ("2 queries were dropped",)
    result = Result("hyde against plain", frame, {"seed": 0}, notes, grouped_by="group")
    assert render(result) == GOLDEN


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a|b", r"a\|b"),
        (r"a\|b", r"a\\\|b"),
        ("`code`", r"\`code\`"),
        ("<b>&amp;</b>", "&lt;b&gt;&amp;amp;&lt;/b&gt;"),
        ("exact_match", "exact_match"),
        ("_leaning_ words_", r"\_leaning\_ words\_"),
        ("**bold** ~~gone~~", r"\*\*bold\*\* \~\~gone\~\~"),
        ("![x](javascript:y)", r"!\[x\](javascript:y)"),
        ("$x$", r"\$x\$"),
    ],
)
def test_marks_lose_their_meaning(text, written):
    assert escape_markdown(text) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("# 1", r"\# 1"),
        ("- a", r"\- a"),
        ("+ a", r"\+ a"),
        ("12. a", r"12\. a"),
        ("12) a", r"12\) a"),
        ("=== a", r"\=== a"),
        ("12 queries", "12 queries"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_sentence_opens_no_list_and_no_heading(text, written):
    assert escape_sentence(text) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [("a:1|b:2", "`a:1|b:2`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("a\nb", "`a b`")],
)
def test_code_is_fenced_by_more_backticks_than_it_holds(text, written):
    assert code(text) == written


def test_a_cell_with_line_breaks_stays_one_row():
    frame = pd.DataFrame({"answer": ["one\n| --- |\r\ntwo\u2028three"], "n": [1]})
    rows = [line for line in render(Result("t", frame)).splitlines() if line.startswith("|")]
    assert len(rows) == 3
    assert re.split(r"(?<!\\)\|", rows[2])[1].strip() == r"one \| --- \| two three"


def test_an_empty_frame_says_so():
    assert render(Result("t", pd.DataFrame({"a": []}))).splitlines()[2] == "no rows"


def test_rows_that_are_not_shown_are_counted_unless_all_are_asked_for():
    result = Result("t", pd.DataFrame({"n": range(300)}))
    assert "... and 100 more rows" in render(result)
    assert render_file(result).count("\n|") == 2 + 300


# -- texts of the data do nothing

ARMED = (
    "@team <img src=x> ![i](http://h/i.png) [l](https://h) www.h.org a@h.org #12 !3 GH-4 "
    "mailto:x javascript:x [^1]"
)
# What GitHub or GitLab would act on, if no backslash, entity or zero-width space disarmed it.
LIVE = re.compile(
    r"(?<!\w)@\w|\w@[\w-]+\.\w|<\w|(?<!\\)\]\(|://|www\.|#\d|(?<!\w)!\d|GH-\d"
    r"|(?:mailto|javascript):\w|(?<!\\)\[\^"
)


def armed_result():
    frame = pd.DataFrame(
        {
            "group": [f"group {ARMED}"] * 2,
            "query_id": [f"first {ARMED}", ARMED],
            ARMED: [ARMED, ARMED],
            "verdict": [ARMED, f"second {ARMED}"],
        }
    )
    return Result(f"of {ARMED}", frame, {"name": ARMED}, (ARMED,), grouped_by="group")


def without_code(text):
    """The text without inline code, in which nothing is live."""
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


@pytest.mark.parametrize("write", [render, render_file, Result.to_markdown, Result._repr_markdown_])
def test_no_text_of_the_data_is_live(write):
    text = write(armed_result())
    # Title, note, two sentences, a heading of a group, a heading of a column, four cells.
    assert text.count("first") == 1
    assert without_code(text).count("\u200bteam") >= 9
    assert LIVE.findall(without_code(text)) == []


def test_the_search_for_live_texts_finds_each_of_them():
    assert len(LIVE.findall(ARMED)) == 14


def test_columns_that_are_left_out_are_not_live():
    frame = pd.DataFrame({f"@team{n} www.h.org": [1.0] for n in range(60)})
    text = without_code(render(Result("Wide", frame), max_columns=5))
    assert "... and" in text
    assert LIVE.findall(text) == []


def test_a_report_in_markdown_is_not_live(tmp_path):
    rows = {"query_id": [ARMED, "b"], "recall": [0.5, 1.0], "question": [ARMED, "Who?"]}
    run = RAGPipelineEvaluation(f"rag {ARMED}", rows)
    page = run.report(title=f"Of {ARMED}").save(tmp_path / "report.md")
    text = without_code(page.read_text(encoding="utf-8"))
    assert "\u200bteam" in text
    assert LIVE.findall(text) == []

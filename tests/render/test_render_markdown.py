import re

import pandas as pd
import pytest

from rageval_report._version import __version__
from rageval_report.files.outgoing_text import escape_markdown
from rageval_report.render.markdown import (
    code,
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
    [("a:1|b:2", "`a:1|b:2`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("a\nb", "`a b`")],
)
def test_code_is_fenced_by_more_backticks_than_it_holds(text, written):
    assert code(text) == written


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

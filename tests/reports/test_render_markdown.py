"""Markdown as laid out by hand; texts of the data stay texts; the comment on gates."""

import re

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report._version import __version__
from rageval_report.files.outgoing_text import escape_markdown
from rageval_report.reports.markdown import (
    MOST_CHARACTERS,
    code,
    pull_request_comment,
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
    assert render(result, signature=True) == GOLDEN  # as in files


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


COLUMNS = ["rule", "value", "ci_low", "ci_high", "n", "n_unscored", "passed", "state", "why"]


def gates(*told, notes=(), title="Gates of v1") -> Result:
    rows = [
        (rule, 0.7, 0.6, 0.8, 10, 1, state == "passed", state, f"{rule} is 0.7")
        for rule, state in told
    ]
    return Result(title, pd.DataFrame(rows, columns=COLUMNS), {"seed": 0}, notes)


def queries(n=3, text="Why?", title="3 queries below 0.8 on recall") -> Result:
    index = pd.Index([f"q{i}" for i in range(n)], name="query_id")
    frame = pd.DataFrame({"recall": [0.1] * n, "question": [text] * n}, index=index)
    return Result(title, frame, {"rule": "mean(recall) >= 0.8"})


GOOD, BAD, UNKNOWN = (
    ("n(a) >= 1", "passed"),
    ("mean(a) >= 0.8", "failed"),
    ("n(b)", "not evaluated"),
)


def test_what_failed_stands_first_with_its_sign_and_its_reason():
    told = pull_request_comment(gates(GOOD, UNKNOWN, BAD))
    rows = [line for line in told.splitlines() if line.startswith("| ")][1:]
    assert [row.split("|")[1].strip() for row in rows] == ["❌", "⚠️", "✅"]
    assert "- mean(a) &gt;= 0.8 is 0.7" in told
    assert "- n(a)" not in told


def test_a_comment_never_exceeds_its_room():
    many = [queries(200, "long " * 400, f"{i} queries") for i in range(300)]
    told = pull_request_comment(gates(*[BAD] * 400, notes=("note " * 100,) * 400), many)
    assert len(told) <= MOST_CHARACTERS < 65_000
    assert told.count("<details>") == told.count("</details>") > 2


@pytest.mark.parametrize(
    ("text", "live"),
    [
        ("ask @octocat", "@octocat"),
        ("fixes #12", "#12"),
        ("owner/repo#12", "#12"),
        ("GH-12", "GH-12"),
        ("https://example.com", "https://"),
        ("www.example.com", "www.example"),
        ("<script>alert(1)</script>", "<script"),
        ("</details>", "\n</details>\nx"),
        ("![x](http://a/b.png)", "![x]("),
        ("[x](javascript:alert(1))", "[x]("),
        ("a | b", " | b |"),
    ],
)
def test_texts_of_queries_are_only_texts(text, live):
    told = pull_request_comment(gates(BAD), [queries(1, text)])
    [row] = [line for line in told.splitlines() if line.startswith("| q0")]
    assert live not in row.removesuffix(" |") + "\n"
    assert len(re.findall(r"(?<!\\)\|", row)) == 4


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.text(max_size=30), st.sampled_from(["passed", "failed"])), min_size=1),
    st.text(max_size=60),
    st.integers(1500, 5000),
)
def test_any_texts_keep_their_places_and_the_room(told, text, longest):
    comment = pull_request_comment(gates(*told), [queries(3, text)], longest=longest)
    assert len(comment) <= longest
    assert comment.count("<details>") == comment.count("</details>")
    assert "<script" not in comment

import re

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.render.markdown import LONGEST, pull_request_comment
from rageval_report.results import Result

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
    assert len(told) <= LONGEST < 65_000
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
